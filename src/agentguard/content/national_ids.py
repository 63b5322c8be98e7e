"""Identity, tax and health numbers by country: what must hold of each beyond its form.

Each takes the number as it was written, with its separators, and never raises; the form itself is the pattern's, in
:mod:`agentguard.content.pii_kinds`.
"""

from __future__ import annotations

from datetime import date

from agentguard.content.validators import compact, digits_of, luhn, verhoeff, weighted

__all__ = [
    "au_abn",
    "au_acn",
    "au_medicare",
    "au_tfn",
    "br_cpf",
    "ca_sin",
    "de_health_insurance",
    "de_id_card",
    "de_pension_number",
    "de_steuer_id",
    "de_vat_id",
    "es_nie",
    "es_nif",
    "fi_hetu",
    "fr_nir",
    "in_aadhaar",
    "it_codice_fiscale",
    "kr_rrn",
    "nl_bsn",
    "pl_pesel",
    "se_organisationsnummer",
    "se_personnummer",
    "sg_nric",
    "sg_uen",
    "th_national_id",
    "uk_nhs",
    "uk_nino",
    "us_npi",
]

NIF_LETTERS = "TRWAGMYFPDXBNJZSQVHLCKE"
HETU_LETTERS = "0123456789ABCDEFHJKLMNPRSTUVWXY"
# Values of the characters at odd places of a codice fiscale (decree of 23 December 1976): the digits' are A to J's.
ODD_LETTERS = (1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23)
FISCAL_ODD = dict(zip("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", (*ODD_LETTERS[:10], *ODD_LETTERS), strict=True))
THAI_PROVINCES = frozenset(
    [*range(10, 28), *range(30, 59), *range(60, 68), *range(70, 78), *range(80, 87), *range(90, 97)]
)
NINO_UNUSED = frozenset("BG GB KN NK NT TN ZZ".split())


def _day(year: int, month: int, day: int) -> bool:
    try:
        date(year, month, day)
    except ValueError:
        return False
    return True


def uk_nino(text: str) -> bool:
    """A British National Insurance number: prefixes that are not used are none."""
    prefix = compact(text)[:2]
    return not (set(prefix) & set("DFIQUV") or prefix[1:] == "O" or prefix in NINO_UNUSED)


def uk_nhs(text: str) -> bool:
    """A British NHS number: weights 10 to 2, mod 11."""
    digits = digits_of(text)
    check = -weighted(digits[:9], range(10, 1, -1)) % 11
    return len(digits) == 10 and check < 10 and check == int(digits[9]) and any(map(int, digits))


def es_nif(text: str) -> bool:
    """A Spanish NIF of a person: the letter is the number mod 23."""
    number = compact(text)
    return len(number) == 9 and number[:8].isdigit() and NIF_LETTERS[int(number[:8]) % 23] == number[8]


def es_nie(text: str) -> bool:
    """A Spanish NIE of a foreigner: X, Y, Z stand for 0, 1, 2 before the NIF's letter is worked out."""
    number = compact(text)
    return len(number) == 9 and number[0] in "XYZ" and es_nif(str("XYZ".index(number[0])) + number[1:])


def it_codice_fiscale(text: str) -> bool:
    """An Italian codice fiscale: the last letter is the sum of its characters' values, mod 26."""
    number = compact(text)
    if len(number) != 16:
        return False
    odd = sum(FISCAL_ODD[character] for character in number[:15:2])
    even = sum(int(character) if character.isdigit() else ord(character) - 65 for character in number[1:15:2])
    return chr(65 + (odd + even) % 26) == number[15]


def iso7064_mod11_10(digits: str) -> bool:
    """ISO 7064, MOD 11,10: the check digit of German tax and VAT numbers."""
    product = 10
    for digit in digits[:-1]:
        total = (int(digit) + product) % 10 or 10
        product = total * 2 % 11
    return (11 - product) % 10 == int(digits[-1])


def de_steuer_id(text: str) -> bool:
    """A German tax identification number: one digit of the first ten comes two or three times, mod 11,10 holds."""
    digits = digits_of(text)
    if len(digits) != 11 or digits[0] == "0":
        return False
    times = [digits[:10].count(digit) for digit in set(digits[:10])]
    return sum(count > 1 for count in times) == 1 and max(times) <= 3 and iso7064_mod11_10(digits)


def de_vat_id(text: str) -> bool:
    """A German VAT number: nine digits, mod 11,10."""
    digits = digits_of(text)
    return len(digits) == 9 and digits[0] != "0" and iso7064_mod11_10(digits)


def de_id_card(text: str) -> bool:
    """The number of a German identity card or passport: weights 7-3-1 (ICAO 9303), or the old form, T and 8 digits."""
    number = compact(text)
    if len(number) != 9:
        return False
    if number[0] == "T" and number[1:].isdigit():
        return True
    return number[8].isdigit() and weighted([int(each, 36) for each in number[:8]], (7, 3, 1)) % 10 == int(number[8])


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


def _digit_sums(digits: str, weights: tuple[int, ...]) -> int:
    return sum(sum(divmod(int(digit) * weights[place % len(weights)], 10)) for place, digit in enumerate(digits))


def in_aadhaar(text: str) -> bool:
    """An Indian Aadhaar number: 2 to 9 first, no palindrome, Verhoeff."""
    digits = digits_of(text)
    return len(digits) == 12 and digits[0] > "1" and digits != digits[::-1] and verhoeff(digits)


def au_abn(text: str) -> bool:
    """An Australian business number: the first digit less 1, weights 10, 1, 3, …, 19, mod 89."""
    digits = [int(digit) for digit in digits_of(text)]
    # The two check digits come first, and are 11 at least.
    if len(digits) != 11 or digits[0] * 10 + digits[1] < 11:
        return False
    digits[0] -= 1
    return weighted(digits, (10, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19)) % 89 == 0


def au_acn(text: str) -> bool:
    """An Australian company number: weights 8 to 1, and the rest to ten."""
    digits = digits_of(text)
    return len(digits) == 9 and any(map(int, digits)) and -weighted(digits[:8], range(8, 0, -1)) % 10 == int(digits[8])


def au_tfn(text: str) -> bool:
    """An Australian tax file number of nine digits: weights 1, 4, 3, 7, 5, 8, 6, 9, 10, mod 11."""
    digits = digits_of(text)
    return len(digits) == 9 and any(map(int, digits)) and weighted(digits, (1, 4, 3, 7, 5, 8, 6, 9, 10)) % 11 == 0


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


def pl_pesel(text: str) -> bool:
    """A Polish PESEL: a day of birth (the month carries the century), weights 1, 3, 7, 9."""
    digits = digits_of(text)
    if len(digits) != 11:
        return False
    century, month = divmod(int(digits[2:4]), 20)
    born = _day((1900, 2000, 2100, 2200, 1800)[century] + int(digits[:2]), month, int(digits[4:6]))
    return born and -weighted(digits[:10], (1, 3, 7, 9)) % 10 == int(digits[10])


def fi_hetu(text: str) -> bool:
    """A Finnish personal identity code: a day of birth, and a character of 31."""
    number = text.upper().strip()
    if len(number) != 11 or not (number[:6] + number[7:10]).isdigit():
        return False
    century = {"+": 1800, **dict.fromkeys("-UVWXY", 1900), **dict.fromkeys("ABCDEF", 2000)}.get(number[6])
    if century is None or not _day(century + int(number[4:6]), int(number[2:4]), int(number[:2])):
        return False
    return "001" < number[7:10] < "900" and HETU_LETTERS[int(number[:6] + number[7:10]) % 31] == number[10]


def fr_nir(text: str) -> bool:
    """A French social security number: 97 less the number mod 97; Corsica's 2A and 2B count as 19 and 18."""
    number = compact(text).replace("2A", "19", 1).replace("2B", "18", 1)
    return len(number) == 15 and number.isdigit() and 97 - int(number[:13]) % 97 == int(number[13:])


def nl_bsn(text: str) -> bool:
    """A Dutch BSN: weights 9 to 2, the last digit less, mod 11."""
    digits = digits_of(text)
    return len(digits) == 9 and any(map(int, digits)) and weighted(digits, (9, 8, 7, 6, 5, 4, 3, 2, -1)) % 11 == 0


def br_cpf(text: str) -> bool:
    """A Brazilian CPF: two check digits, weights 10 to 2 and 11 to 2, mod 11."""
    digits = digits_of(text)
    if len(digits) != 11 or len(set(digits)) == 1:
        return False
    return all(
        weighted(digits[:place], range(place + 1, 1, -1)) * 10 % 11 % 10 == int(digits[place]) for place in (9, 10)
    )


def ca_sin(text: str) -> bool:
    """A Canadian social insurance number: neither 0 nor 8 first, Luhn."""
    digits = digits_of(text)
    return len(digits) == 9 and digits[0] not in "08" and luhn(digits)


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
