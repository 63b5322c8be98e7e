"""What a number must satisfy beyond its form: check digits, issuers' ranges, numbers that were never given out.

Each takes the number as it was written, with its separators, and never raises.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from itertools import cycle

__all__ = [
    "aba_routing",
    "bitcoin_address",
    "card_issuer",
    "iban",
    "iban_length",
    "iban_part",
    "luhn",
    "mac_address",
    "us_itin",
    "us_ssn",
    "verhoeff",
    "weighted",
]

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
VERHOEFF_PERMUTE = (1, 5, 7, 6, 2, 8, 3, 0, 9, 4)
BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
BECH32 = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
BECH32_GENERATORS = (0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)
# Printed in advertisements and used by thousands since, so that they are nobody's.
ADVERTISED_SSNS = frozenset(["078051120", "219099999", "457555462"])


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


def verhoeff(text: str) -> bool:
    """The check digit that finds every transposition of neighbours (Verhoeff, 1969): Aadhaar's.

    >>> verhoeff("2363"), verhoeff("2336")
    (True, False)
    """
    check = 0
    for place, digit in enumerate(reversed(digits_of(text))):
        value = int(digit)
        for _ in range(place % 8):
            value = VERHOEFF_PERMUTE[value]
        check = _dihedral(check, value)
    return check == 0


def _dihedral(first: int, second: int) -> int:
    """The product of two symmetries of a pentagon: 0-4 turn it, 5-9 turn and mirror it."""
    turn = first % 5 + (second % 5 if first < 5 else -(second % 5))
    return turn % 5 + (5 if (first < 5) != (second < 5) else 0)


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


def iban_length(text: str) -> int | None:
    """How many letters and digits an IBAN of this one's country has; None for a country that has none."""
    return IBAN_LENGTHS.get(text[:2].upper())


def iban_part(text: str) -> tuple[int, int]:
    """As much of the text as an IBAN of its country takes, separators included; groups that follow belong to others.

    >>> iban_part("GB82 WEST 1234 5698 7654 32 by post")
    (0, 27)
    """
    left = iban_length(text) or 0
    for place, character in enumerate(text):
        left -= character.isalnum()
        if left == 0:
            return 0, place + 1
    return 0, len(text)


def iban(text: str) -> bool:
    """An IBAN of its country's length whose remainder by 97 is 1 (ISO 13616).

    >>> iban("GB82 WEST 1234 5698 7654 32"), iban("GB82 WEST 1234 5698 7654 33")
    (True, False)
    """
    letters = compact(text)
    if len(letters) != iban_length(letters) or not letters[2:4].isdigit():
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


def mac_address(text: str) -> bool:
    """A hardware address that belongs to one device: neither all zeros nor the broadcast of all ones.

    >>> mac_address("00:1B:44:11:3A:B7"), mac_address("ff:ff:ff:ff:ff:ff")
    (True, False)
    """
    return compact(text) not in ("0" * 12, "F" * 12)


def bitcoin_address(text: str) -> bool:
    """A Bitcoin address whose checksum holds: base58check (1…, 3…), bech32 and bech32m (bc1…; BIP 173, BIP 350).

    >>> bitcoin_address("1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa"), bitcoin_address("1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNb")
    (True, False)
    """
    return _bech32(text) if text[:3].lower() == "bc1" else _base58check(text)


def _base58check(text: str) -> bool:
    number = 0
    for character in text:
        place = BASE58.find(character)
        if place < 0:
            return False
        number = number * 58 + place
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
