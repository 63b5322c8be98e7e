"""What phone numbers look like: international, North American, national behind a 0, or any groups that a word names.

Numbers are not held to each country's numbering plan: a tool result seldom says which country a number is of.
"""

from __future__ import annotations

import re

from agentguard.content.forms import Form
from agentguard.content.validators import digits_of

__all__ = ["PHONE_FORMS"]

# Calling codes of one and two digits; every other code has three (ITU-T E.164).
ONE_DIGIT_CODES = frozenset("17")
TWO_DIGIT_CODES = frozenset(
    """20 27 30 31 32 33 34 36 39 40 41 43 44 45 46 47 48 49 51 52 53 54 55 56 57 58 60 61 62 63 64 65 66 81 82 84 86 90
    91 92 93 94 95 98""".split()
)
THREE_DIGIT_STARTS = frozenset("21 22 23 24 25 26 29 35 37 38 42 50 59 67 68 69 80 85 87 88 96 97 99".split())
# Something that is written with digits and separators too, and is no phone number.
DATE_OR_TIME = re.compile(
    r"(?:19|20)\d\d([-./ ])(?:0?[1-9]|1[0-2])\1(?:[0-2]?\d|3[01])(?!\d)"
    r"|(?:[0-2]?\d|3[01])([-./ ])(?:[0-2]?\d|3[01])\2(?:19|20)\d\d(?!\d)"
)
EXTENSION = re.compile(r" ?(?:x|ext\.?|#) ?\d{1,6}$", re.IGNORECASE)

NAMES = (
    r"tele?phone(?: ?(?:number|no|nr))?|phones?(?: ?(?:number|no|nr))?|\btel\b|mobile(?: ?(?:phone|number|no|nr))?|"
    r"cell(?:phone|ular)?(?: ?number)?|fax(?: ?number)?|landline|hotline|whatsapp|\bsms\b|contact (?:number|no)|"
    r"\bcall(?: (?:me|us|him|her|them|back))?(?: (?:at|on))?|calling|\bdial\b|"
    r"reach(?: (?:me|us|him|her|them))? (?:at|on)|"
    r"messages to|texts? (?:me|us|to)|answering(?: at| on)?|contact(?: (?:me|us))? (?:at|on)|registered|"
    r"telefon[a-z]*|handy(?:nummer)?|rufnummer|teléfono|téléphone|móvil|celular|cellulare|telefono|"
    r"電話(?:番号)?|电话|手机|전화(?:번호)?|телефон"
)
# They name a phone only as its label, before it or behind.
LABELS = r"\b(?:desk|office|work|home|direct)\b"
# "My number is" may be about anything.
NUMBER_IS = r"(?:my|your|his|her|their|our) (?:[a-z]{2,10} )?number is|international one is"
EXT = r"(?: ?(?:x|ext\.?|#) ?[0-9]{1,6})?\b"
INTERNATIONAL = (
    r"(?:\+ ?|\b00[ -]?)[1-9][0-9]{0,2}[ .-]?(?:\(0?[0-9]{0,4}\)[ .-]?)?[0-9]{1,12}(?:[ ./-][0-9]{1,8}){0,5}" + EXT
)
NORTH_AMERICAN = r"(?:\b1[ .-])?(?:\([2-9][0-9]{2}\) ?-?|\b[2-9][0-9]{2}[ .-])[2-9][0-9]{2}[ .-][0-9]{4}" + EXT
TRUNK = (
    r"(?:\(0[0-9]{1,4}\) ?|\b0[1-9][0-9]{0,3}[ ./-])"
    r"(?:[0-9]{5,8}|[0-9]{2,4}[ .-][0-9]{3,4}(?:[ .-][0-9]{2,4}){0,2}|[0-9]{2,3}(?:[ .-][0-9]{2}){2,3})" + EXT
)
GROUPS = r"(?:\([0-9]{1,5}\) ?|\b[0-9]{2,5}[ ./-])[0-9]{2,8}(?:[ ./-][0-9]{2,4}){0,4}" + EXT
PLAIN = r"\b[0-9]{7,13}\b"


def international(text: str) -> bool:
    """Digits behind a calling code that exists: 8 to 15 in all, and ten behind the 1 of North America.

    >>> international("+44 7700 900123"), international("+28 7700 900123"), international("+1 555 0132")
    (True, False, False)
    """
    digits = digits_of(EXTENSION.sub("", text)).removeprefix("00")
    code = digits[:2]
    if digits[0] == "1":
        return len(digits) == 11 and digits[1] > "1"
    known = digits[0] in ONE_DIGIT_CODES or code in TWO_DIGIT_CODES or code in THREE_DIGIT_STARTS
    return known and 8 <= len(digits) <= 15


def national(text: str) -> bool:
    """Seven to twelve digits that are no date.

    >>> national("0494 92 82 32"), national("05-12-2024"), national("12 34")
    (True, False, False)
    """
    return 7 <= len(digits_of(EXTENSION.sub("", text))) <= 12 and DATE_OR_TIME.match(text) is None


def trunk(text: str) -> bool:
    """Nine to eleven digits, the trunk prefix 0 first, that are no date.

    >>> trunk("0494 92 82 32"), trunk("01 02 03")
    (True, False)
    """
    return national(text) and 9 <= len(digits_of(EXTENSION.sub("", text))) <= 11


PHONE_FORMS = (
    Form("phone", INTERNATIONAL, 0.85, 0.95, NAMES, international),
    Form("phone", NORTH_AMERICAN, 0.7, 0.95, NAMES, national),
    Form("phone", TRUNK, 0.55, 0.9, NAMES, trunk),
    Form("phone", GROUPS, 0.1, 0.8, NAMES, national),
    Form("phone", GROUPS, 0.1, 0.7, LABELS, national, reach=3),
    Form("phone", GROUPS, 0.1, 0.6, NUMBER_IS, national, reach=1),
    Form("phone", PLAIN, 0.05, 0.7, NAMES, national),
    Form("phone", PLAIN, 0.05, 0.6, LABELS, national, reach=3),
    Form("phone", PLAIN, 0.05, 0.55, NUMBER_IS, national, reach=1),
)
