"""What must hold of personal data beyond its form: check digits, issuers' ranges, numbers that were never given out.

Each function takes the text as it was written, with its separators, and never raises. For the numbers whose rules
python-stdnum states alike, ``recognizers.ini`` names its modules.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from datetime import date
from itertools import cycle

# --- Digits ---


def digits_of(text: str) -> str:
    """The ASCII digits of a text."""
    return "".join(character for character in text if "0" <= character <= "9")


def compact(text: str) -> str:
    """The ASCII letters and digits of a text, in capitals."""
    return "".join(character for character in text if character.isascii() and character.isalnum()).upper()


def weighted(digits: Iterable[int | str], weights: Iterable[int]) -> int:
    """The sum of the digits, each times its weight; the weights repeat where they are fewer."""
    return sum(int(digit) * weight for digit, weight in zip(digits, cycle(weights), strict=False))


def luhn(text: str) -> bool:
    """The check digit of payment cards and many identity numbers (ISO/IEC 7812-1, annex B).

    >>> luhn("4111 1111 1111 1111"), luhn("4111 1111 1111 1112")
    (True, False)
    """
    digits = [int(digit) for digit in reversed(digits_of(text))]
    doubled = sum(sum(divmod(2 * digit, 10)) for digit in digits[1::2])
    return len(digits) > 1 and any(digits) and (sum(digits[::2]) + doubled) % 10 == 0


VERHOEFF_PERMUTE = (1, 5, 7, 6, 2, 8, 3, 0, 9, 4)


def verhoeff(text: str) -> bool:
    """The check digit that finds every transposition of neighbours (Verhoeff, 1969): Aadhaar's.

    >>> verhoeff("2363"), verhoeff("2336")
    (True, False)
    """
    check = 0
    for index, digit in enumerate(reversed(digits_of(text))):
        value = int(digit)
        for _ in range(index % 8):
            value = VERHOEFF_PERMUTE[value]
        check = _dihedral(check, value)
    return check == 0


def _dihedral(first: int, second: int) -> int:
    """The product of two symmetries of a pentagon: 0-4 turn it, 5-9 turn and mirror it."""
    turn = first % 5 + (second % 5 if first < 5 else -(second % 5))
    return turn % 5 + (5 if (first < 5) != (second < 5) else 0)


def enough_digits(text: str) -> bool:
    return sum(character.isdigit() for character in text) >= 4


# --- Money ---

# Issuers of payment cards: first and last prefix, and the lengths in use, as the networks state them.
ISSUERS = (
    ("Visa", 4, 4, (13, 16, 19)),
    ("American Express", 34, 34, (15,)),
    ("American Express", 37, 37, (15,)),
    ("Mastercard", 51, 55, (16,)),
    ("Mastercard", 2221, 2720, (16,)),
    ("Discover", 6011, 6011, (16, 17, 18, 19)),
    ("Discover", 644, 649, (16, 17, 18, 19)),
    ("Discover", 65, 65, (16, 17, 18, 19)),
    ("JCB", 3528, 3589, (16, 17, 18, 19)),
    ("JCB", 1800, 1800, (15,)),
    ("JCB", 2131, 2131, (15,)),
    ("Diners Club", 300, 305, (14, 16, 17, 18, 19)),
    ("Diners Club", 309, 309, (14, 16, 17, 18, 19)),
    ("Diners Club", 36, 36, (14, 15, 16, 17, 18, 19)),
    ("Diners Club", 38, 39, (14, 16, 17, 18, 19)),
    ("UnionPay", 62, 62, (16, 17, 18, 19)),
    ("Mir", 2200, 2204, (16, 17, 18, 19)),
    ("Dankort", 5019, 5019, (16,)),
    ("Maestro", 50, 50, (12, 13, 14, 15, 16, 17, 18, 19)),
    ("Maestro", 56, 58, (12, 13, 14, 15, 16, 17, 18, 19)),
    ("Maestro", 60, 69, (12, 13, 14, 15, 16, 17, 18, 19)),
    ("UATP", 1, 1, (15,)),
)
# Letters and digits of an IBAN by country (SWIFT's IBAN registry), "CC length".
IBAN_LENGTHS = {
    entry[:2]: int(entry[2:])
    for entry in """AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28
    EE20 EG29 ES24 FI18 FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HN28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30
    KZ20 LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29
    PT25 QA29 RO24 RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20
    YE30""".split()
}
BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
BECH32 = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
BECH32_GENERATORS = (0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)


def card(text: str) -> bool:
    return card_issuer(text) is not None and luhn(text)


def card_issuer(text: str) -> str | None:
    """The network whose range and lengths a card's number is in; None where there is none. Checks no check digit.

    >>> card_issuer("3782-822463-10005"), card_issuer("9782-822463-10005")
    ('American Express', None)
    """
    digits = digits_of(text)
    for name, first, last, lengths in ISSUERS:
        width = len(str(first))
        if len(digits) in lengths and first <= int(digits[:width]) <= last:
            return name
    return None


def iban_part(text: str) -> tuple[int, int]:
    """The span that an IBAN of its country takes, with separators; groups that follow belong to others.

    >>> iban_part("GB82 WEST 1234 5698 7654 32 by post")
    (0, 27)
    """
    left = IBAN_LENGTHS.get(text[:2].upper(), 0)
    for index, character in enumerate(text):
        left -= character.isalnum()
        if left == 0:
            return 0, index + 1
    return 0, len(text)


def iban(text: str) -> bool:
    """An IBAN of its country's length whose remainder by 97 is 1 (ISO 13616).

    >>> iban("GB82 WEST 1234 5698 7654 32"), iban("GB82 WEST 1234 5698 7654 33")
    (True, False)
    """
    letters = compact(text)
    if len(letters) != IBAN_LENGTHS.get(letters[:2]) or not letters[2:4].isdigit():
        return False
    return int("".join(str(int(character, 36)) for character in letters[4:] + letters[:4])) % 97 == 1


def aba_routing(text: str) -> bool:
    """A routing number of a US bank: 3-7-1 weights, and a prefix that is in use (00-12, 21-32, 61-72, 80).

    >>> aba_routing("021000021"), aba_routing("021000022")
    (True, False)
    """
    digits = digits_of(text)
    if len(digits) != 9 or not any(map(int, digits)):
        return False
    district = int(digits[:2])
    in_use = district <= 12 or 21 <= district <= 32 or 61 <= district <= 72 or district == 80
    return in_use and weighted(digits, (3, 7, 1)) % 10 == 0


def bitcoin_address(text: str) -> bool:
    """A Bitcoin address whose checksum holds: base58check (1…, 3…), bech32 and bech32m (bc1…; BIP 173, BIP 350).

    >>> bitcoin_address("1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa"), bitcoin_address("1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNb")
    (True, False)
    """
    return _bech32(text) if text[:3].lower() == "bc1" else _base58check(text)


def _base58check(text: str) -> bool:
    number = 0
    for character in text:
        value = BASE58.find(character)
        if value < 0:
            return False
        number = number * 58 + value
    if number >= 1 << 200:
        return False
    content = number.to_bytes(25, "big")
    zeros = len(text) - len(text.lstrip("1"))
    if len(content) - len(content.lstrip(b"\0")) != zeros:
        return False
    return hashlib.sha256(hashlib.sha256(content[:21]).digest()).digest()[:4] == content[21:]


def _bech32(text: str) -> bool:
    if text not in (text.lower(), text.upper()):
        return False
    values = [BECH32.find(character) for character in text.lower()[3:]]
    if min(values, default=-1) < 0:
        return False
    check = 1
    # "bc", the human-readable part, spread over its high and low bits.
    for value in (3, 3, 0, 2, 3, *values):
        top = check >> 25
        check = (check & 0x1FFFFFF) << 5 ^ value
        for bit, generator in enumerate(BECH32_GENERATORS):
            check ^= generator if top >> bit & 1 else 0
    # Version 0 of witness programs keeps bech32's constant; later versions have bech32m's.
    return check == (1 if values[0] == 0 else 0x2BC830A3)


# --- Machines ---


def mac_address(text: str) -> bool:
    """A hardware address that belongs to one device: neither all zeros nor the broadcast of all ones.

    >>> mac_address("00:1B:44:11:3A:B7"), mac_address("ff:ff:ff:ff:ff:ff")
    (True, False)
    """
    return compact(text) not in ("0" * 12, "F" * 12)


def mac_address_with_letters(text: str) -> bool:
    """A hardware address with at least one letter: digits alone may be any number.

    >>> mac_address_with_letters("00e0.fc12.3456"), mac_address_with_letters("1000.2000.3000")
    (True, False)
    """
    return mac_address(text) and not compact(text).isdigit()


def ip_part(text: str) -> tuple[int, int]:
    """The span of the address without its sentence's full stop and an impossible prefix length.

    >>> ip_part("2001:db8::1."), ip_part("2001:db8::/999"), ip_part("2001:db8::/32")
    ((0, 11), (0, 10), (0, 13))
    """
    address = text.rstrip(".")
    host, slash, prefix = address.partition("/")
    possible = slash and len(prefix) <= 3 and int(prefix) <= 128
    return 0, len(address if possible else host)


def ip_address(text: str) -> bool:
    """An IP address that the standard library reads, perhaps with a prefix length.

    >>> ip_address("2001:db8::1/32"), ip_address("2001::db8::1"), ip_address("10.0.0.0/33")
    (True, False, False)
    """
    from ipaddress import ip_interface  # rarely needed, and slow to load

    try:
        ip_interface(text)
    except ValueError:
        return False
    return True


def ip_address_with_digits(text: str) -> bool:
    """An IP address with a digit: ``a::b`` and ``::`` are written by programmers too.

    >>> ip_address_with_digits("fe80::1"), ip_address_with_digits("a::b")
    (True, False)
    """
    return any("0" <= character <= "9" for character in text.partition("/")[0]) and ip_address(text)


# --- Phones ---
# Not held to each country's numbering plan: a tool result seldom says which country a number is of.

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


def international(text: str) -> bool:
    """Digits behind a calling code that exists: 8 to 15 in all, and ten behind the 1 of North America.

    >>> international("+44 7700 900123"), international("+28 7700 900123"), international("+1 555 0132")
    (True, False, False)
    """
    digits = digits_of(EXTENSION.sub("", text)).removeprefix("00")
    code = digits[:2]
    if digits[:1] == "1":
        return len(digits) == 11 and digits[1] > "1"
    known = digits[:1] in ONE_DIGIT_CODES or code in TWO_DIGIT_CODES or code in THREE_DIGIT_STARTS
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


# --- Identity, tax and health numbers, by country ---

# Values of the characters at odd places of a codice fiscale (decree of 23 December 1976): the digits' are A to J's.
ODD_LETTERS = (1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23)
FISCAL_ODD = dict(zip("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", (*ODD_LETTERS[:10], *ODD_LETTERS), strict=True))
THAI_PROVINCES = frozenset(
    [*range(10, 28), *range(30, 59), *range(60, 68), *range(70, 78), *range(80, 87), *range(90, 97)]
)
NINO_UNUSED = frozenset("BG GB KN NK NT TN ZZ".split())
# Printed in advertisements and used by thousands since, so that they are nobody's.
ADVERTISED_SSNS = frozenset(["078051120", "219099999", "457555462"])


def _day(year: int, month: int, day: int) -> bool:
    try:
        date(year, month, day)
    except ValueError:
        return False
    return True


def _digit_sums(digits: str, weights: tuple[int, ...]) -> int:
    return sum(sum(divmod(int(digit) * weights[index % len(weights)], 10)) for index, digit in enumerate(digits))


def us_ssn(text: str) -> bool:
    """A US social security number that can have been given out: no 000, 666 or 900+ area, no group 00, no serial 0000.

    >>> us_ssn("219-09-9998"), us_ssn("666-09-9998"), us_ssn("219-00-9998"), us_ssn("987-65-4321")
    (True, False, False, False)
    """
    digits = digits_of(text)
    if len(digits) != 9 or digits in ADVERTISED_SSNS or len(set(digits)) == 1:
        return False
    area, group, serial = digits[:3], digits[3:5], digits[5:]
    return area not in ("000", "666") and area < "900" and group != "00" and serial != "0000"


def us_itin(text: str) -> bool:
    """A US individual taxpayer number: 9 first, and a group of those in use (50-65, 70-88, 90-92, 94-99).

    >>> us_itin("911-70-1234"), us_itin("911-89-1234")
    (True, False)
    """
    digits = digits_of(text)
    if len(digits) != 9 or digits[0] != "9":
        return False
    group = int(digits[3:5])
    return 50 <= group <= 65 or 70 <= group <= 88 or 90 <= group <= 92 or 94 <= group <= 99


def uk_nino(text: str) -> bool:
    """A British National Insurance number: prefixes that are not used are none."""
    prefix = compact(text)[:2]
    return not (set(prefix) & set("DFIQUV") or prefix[1:] == "O" or prefix in NINO_UNUSED)


def it_codice_fiscale(text: str) -> bool:
    """An Italian codice fiscale: the last letter is the sum of its characters' values, mod 26."""
    number = compact(text)
    if len(number) != 16:
        return False
    odd = sum(FISCAL_ODD[character] for character in number[:15:2])
    even = sum(int(character) if character.isdigit() else ord(character) - 65 for character in number[1:15:2])
    return chr(65 + (odd + even) % 26) == number[15]


def de_id_card(text: str) -> bool:
    """The number of a German identity card or passport: weights 7-3-1 (ICAO 9303), or the old form, T and 8 digits."""
    number = compact(text)
    if len(number) != 9:
        return False
    if number[0] == "T" and number[1:].isdigit():
        return True
    return number[8].isdigit() and weighted([int(each, 36) for each in number[:8]], (7, 3, 1)) % 10 == int(number[8])


def fi_hetu(text: str) -> bool:
    """A Finnish personal identity code, with the century marks of 2023, a temporary one (900 to 999) among them.

    >>> fi_hetu("131052-308T"), fi_hetu("131052X308T"), fi_hetu("131052-308S"), fi_hetu("010190-935U")
    (True, True, False, True)
    """
    from stdnum.fi import hetu  # loaded at the first number that has the form

    return bool(hetu.is_valid(text, allow_temporary=True))


def de_health_insurance(text: str) -> bool:
    """A German health insurance number: letter as two digits, weights 1-2, sums of digits, mod 10."""
    number = compact(text)
    if len(number) != 10 or not number[1:].isdigit() or not "A" <= number[0] <= "Z":
        return False
    return _digit_sums(f"{ord(number[0]) - 64:02}{number[1:9]}", (1, 2)) % 10 == int(number[9])


def de_pension_number(text: str) -> bool:
    """A German pension insurance number: a day of birth, and weights 2-1-2-5-7-1-2-1-2-1-2-1 with sums of digits."""
    number = compact(text)
    if len(number) != 12 or not (number[:8] + number[9:]).isdigit() or not "A" <= number[8] <= "Z":
        return False
    # Where two people would have the same number, the day goes up by 50.
    day, month = int(number[2:4]) % 50, int(number[4:6])
    spelled = f"{number[:8]}{ord(number[8]) - 64:02}{number[9:11]}"
    check = _digit_sums(spelled, (2, 1, 2, 5, 7, 1, 2, 1, 2, 1, 2, 1)) % 10
    return 1 <= day <= 31 and 1 <= month <= 12 and check == int(number[11])


def in_aadhaar(text: str) -> bool:
    """An Indian Aadhaar number: 2 to 9 first, no palindrome, Verhoeff."""
    digits = digits_of(text)
    return len(digits) == 12 and digits[0] > "1" and digits != digits[::-1] and verhoeff(digits)


def au_medicare(text: str) -> bool:
    """An Australian Medicare number: 2 to 6 first, weights 1, 3, 7, 9, and an issue number from 1."""
    digits = digits_of(text)
    if len(digits) not in (10, 11) or not "2" <= digits[0] <= "6" or digits[9] == "0":
        return False
    return weighted(digits[:8], (1, 3, 7, 9)) % 10 == int(digits[8])


def sg_nric(text: str) -> bool:
    """A Singaporean NRIC or FIN: weights 2, 7, 6, 5, 4, 3, 2, an offset for the later series, a letter of eleven."""
    number = compact(text)
    if len(number) != 9 or not number[1:8].isdigit() or number[0] not in "STFGM":
        return False
    total = weighted(number[1:8], (2, 7, 6, 5, 4, 3, 2)) + {"T": 4, "G": 4, "M": 3}.get(number[0], 0)
    series = {"S": "JZIHGFEDCBA", "T": "JZIHGFEDCBA", "M": "XWUTRQPNJLK"}.get(number[0], "XWUTRQPNMLK")
    return series[total % 11] == number[8]


def sg_uen(text: str) -> bool:
    """A Singaporean entity number: the letter that its weights give, in the form of its kind."""
    number = compact(text)
    if len(number) == 9 and number[:8].isdigit():
        return "XMKECAWLJDB"[weighted(number[:8], (10, 4, 9, 3, 8, 2, 7, 1)) % 11] == number[8]
    if len(number) == 10 and number[:9].isdigit():
        return "ZKCMDNERGWH"[weighted(number[:9], (10, 8, 6, 4, 9, 7, 5, 3, 1)) % 11] == number[9]
    if len(number) != 10 or number[0] not in "RST" or not (number[1:3] + number[5:9]).isdigit():
        return False
    order = "ABCDEFGHJKLMNPQRSTUVWX0123456789"
    if any(character not in order for character in number):
        return False
    return (
        order[(weighted([order.index(each) for each in number[:9]], (4, 3, 5, 3, 10, 2, 2, 5, 7)) - 5) % 11]
        == number[9]
    )


def kr_rrn(text: str) -> bool:
    """A Korean resident number: a day of birth, a digit of sex and century, a region to 95.

    Numbers given since October 2020 have no check digit, so none is asked for.
    """
    digits = digits_of(text)
    if len(digits) != 13 or not "1" <= digits[6] <= "8":
        return False
    century = 1900 if digits[6] in "1256" else 2000
    return _day(century + int(digits[:2]), int(digits[2:4]), int(digits[4:6])) and int(digits[7:9]) <= 95


def se_personnummer(text: str) -> bool:
    """A Swedish personal number or coordination number (day + 60): a day of birth, Luhn over the last ten."""
    digits = digits_of(text)
    if len(digits) not in (10, 12):
        return False
    year = int(digits[:4]) if len(digits) == 12 else 1900 + int(digits[:2])
    born = _day(year, int(digits[-8:-6]), int(digits[-6:-4]) % 60) if 1800 < year < 2100 else False
    return born and luhn(digits[-10:])


def se_organisationsnummer(text: str) -> bool:
    """A Swedish organisation number: the third digit from 2, Luhn."""
    digits = digits_of(text)
    return len(digits) == 10 and digits[2] > "1" and luhn(digits)


def th_national_id(text: str) -> bool:
    """A Thai identity number: 1 to 8 first, a province that exists, weights 13 to 2, mod 11."""
    digits = digits_of(text)
    if len(digits) != 13 or digits[0] in "09" or int(digits[1:3]) not in THAI_PROVINCES:
        return False
    return (11 - weighted(digits[:12], range(13, 1, -1)) % 11) % 10 == int(digits[12])


def us_npi(text: str) -> bool:
    """A US national provider number: 1 or 2 first, Luhn behind the prefix 80840."""
    digits = digits_of(text)
    return len(digits) == 10 and digits[0] in "12" and luhn("80840" + digits)


def uk_nhs(text: str) -> bool:
    """A British NHS number: weights 10 to 2, mod 11."""
    digits = digits_of(text)
    check = -weighted(digits[:9], range(10, 1, -1)) % 11
    return len(digits) == 10 and check < 10 and check == int(digits[9]) and any(map(int, digits))


def au_acn(text: str) -> bool:
    """An Australian company number: weights 8 to 1, and the rest to ten."""
    digits = digits_of(text)
    return len(digits) == 9 and any(map(int, digits)) and -weighted(digits[:8], range(8, 0, -1)) % 10 == int(digits[8])


def au_tfn(text: str) -> bool:
    """An Australian tax file number of nine digits: weights 1, 4, 3, 7, 5, 8, 6, 9, 10, mod 11."""
    digits = digits_of(text)
    return len(digits) == 9 and any(map(int, digits)) and weighted(digits, (1, 4, 3, 7, 5, 8, 6, 9, 10)) % 11 == 0


def br_cpf(text: str) -> bool:
    """A Brazilian CPF: two check digits, weights 10 to 2 and 11 to 2, mod 11."""
    digits = digits_of(text)
    if len(digits) != 11 or len(set(digits)) == 1:
        return False
    return all(
        weighted(digits[:index], range(index + 1, 1, -1)) * 10 % 11 % 10 == int(digits[index]) for index in (9, 10)
    )
