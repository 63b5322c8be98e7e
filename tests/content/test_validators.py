"""Each check digit: a number that satisfies it, and the same number with one digit changed, which must not."""

from __future__ import annotations

import inspect

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.content import pii
from agentguard.content.pii import _validators as check

from ..rows import over

# Those that python-stdnum judges, by the kind of number.
LIBRARY = {
    recognizer.kind: recognizer.validate
    for recognizer in reversed(pii.DETECTOR.recognizers)  # of several of a kind, the first
    if recognizer.validate is not None and recognizer.validate.__name__.startswith("stdnum.")
}
# Numbers printed as examples by those who give them out, or worked out by hand where the comment shows it.
VALID = [
    # 3*(0+0+0) + 7*(2+0+2) + 1*(1+0+1) = 30
    (check.aba_routing, "021000021"),
    (check.luhn, "4111111111111111"),
    (check.luhn, "79927398713"),
    (check.verhoeff, "2363"),
    (check.iban, "GB82 WEST 1234 5698 7654 32"),
    (check.iban, "DE89 3704 0044 0532 0130 00"),
    (check.iban, "FR14 2004 1010 0505 0001 3M02 606"),
    (check.bitcoin_address, "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa"),
    (check.bitcoin_address, "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"),
    # Of BIP 350, version 1.
    (check.bitcoin_address, "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0"),
    # 1*10 + 8*9 + 7*8 + ... : the NHS's own example.
    (check.uk_nhs, "943 476 5919"),
    (LIBRARY["es_nif"], "12345678Z"),  # 12345678 mod 23 = 14, the fifteenth letter
    (LIBRARY["es_nie"], "X1234567L"),  # 1234567 mod 23 = 19
    (check.it_codice_fiscale, "RSSMRA85T10A562S"),
    (LIBRARY["de_steuer_id"], "86095742719"),
    (LIBRARY["de_vat_id"], "DE136695976"),
    (check.de_id_card, "L01X00T471"[:8] + "4"),  # 7*21+3*0+1*1+7*33+3*0+1*0+7*29+3*4 = 594, which ends in 4
    (check.de_pension_number, "15070649C103"),
    (check.de_health_insurance, "A123456780"),
    (check.in_aadhaar, "2341 2341 2346"),
    (LIBRARY["au_abn"], "51 824 753 556"),
    (check.au_acn, "004 085 616"),
    (check.au_tfn, "123 456 782"),
    (check.sg_nric, "S1234567D"),
    (LIBRARY["pl_pesel"], "44051401359"),
    (check.fi_hetu, "131052-308T"),
    (check.fi_hetu, "010190-935U"),  # 10190935 mod 31 = 26
    (LIBRARY["fr_nir"], "2 55 08 14 168 025 38"),
    (LIBRARY["nl_bsn"], "111222333"),
    (check.br_cpf, "111.444.777-35"),
    (LIBRARY["ca_sin"], "123 456 782"),
    (check.se_personnummer, "811228-9874"),
    (check.se_organisationsnummer, "556016-0680"),
    (check.th_national_id, "1101700230708"),
    (check.us_npi, "1234567893"),
    (check.sg_uen, "196800306E"),
]


@pytest.mark.parametrize(("valid", "number"), VALID, ids=[f"{valid.__name__}-{number}" for valid, number in VALID])
class TestCheckDigits:
    def test_a_valid_number_is_one(self, valid, number):
        assert valid(number)

    def test_no_other_last_digit_is_valid(self, valid, number):
        place = max(place for place, character in enumerate(number) if character.isdigit())
        others = [number[:place] + digit + number[place + 1 :] for digit in "0123456789" if digit != number[place]]
        assert not any(map(valid, others))


@over(
    ("valid", "number", "wrong"),
    [
        (check.us_ssn, "219-09-9998", "000-09-9998"),
        (check.us_ssn, "665-09-9998", "666-09-9998"),
        (check.us_ssn, "899-09-9998", "999-09-9998"),
        (check.us_ssn, "219-01-9998", "219-00-9998"),
        (check.us_ssn, "219-09-0001", "219-09-0000"),
        (check.us_ssn, "078-05-1121", "078-05-1120"),  # printed in a wallet's sample card in 1938
        (check.us_itin, "911-70-1234", "911-69-1234"),
        (check.us_itin, "911-92-1234", "911-93-1234"),
        (check.us_itin, "911-70-1234", "811-70-1234"),
        (check.uk_nino, "AB123456C", "AD123456C"),
        (check.uk_nino, "AB123456C", "GB123456C"),
        (check.kr_rrn, "960121-1234567", "961321-1234567"),
        (check.kr_rrn, "960121-1234567", "960121-9234567"),
        (check.mac_address, "00:00:00:00:00:01", "00:00:00:00:00:00"),
        (LIBRARY["pl_pesel"], "44051401359", "44131401359"),
        # 2*1+1*3+2*7+3*9+4*1+5*3+6*7+7*9 = 170; the last digit counts the cards that were issued
        (check.au_medicare, "2123 45670 1", "2123 45671 1"),
        (check.au_medicare, "2123 45670 1", "2123 45670 0"),
        (check.th_national_id, "1101700230708", "1091700230708"),
    ],
)
def test_numbers_that_are_never_given_out(valid, number, wrong):
    assert valid(number)
    assert not valid(wrong)


@over(
    ("number", "issuer"),
    [
        ("4111111111111111", "Visa"),
        ("5105105105105100", "Mastercard"),
        ("2221000000000009", "Mastercard"),
        ("2720990000000007", "Mastercard"),
        ("2721000000000000", None),
        ("2220990000000000", None),
        ("378282246310005", "American Express"),
        ("358282246310005", None),
        ("6011000990139424", "Discover"),
        ("3528000700000000", "JCB"),
        ("3527000700000000", None),
        ("30569309025904", "Diners Club"),
        ("6200000000000005", "UnionPay"),
        ("41111111111111111", None),  # seventeen digits: no Visa has so many
        ("", None),
    ],
)
def test_cards_belong_to_the_network_of_their_range_and_length(number, issuer):
    assert check.card_issuer(number) == issuer


def test_bech32_and_bech32m_are_not_exchanged():
    # Version 0 with bech32m's checksum, from the invalid examples of BIP 350.
    assert not check.bitcoin_address("bc1q0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqh2y7hd")
    assert not check.bitcoin_address("Bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4")


HELPERS = {"compact", "digits_of", "weighted", "iban_part", "ip_part", "card_issuer"}
FUNCTIONS = [
    *LIBRARY.values(),
    *(
        value
        for name, value in vars(check).items()
        if inspect.isfunction(value) and value.__module__ == check.__name__ and name[0] != "_" and name not in HELPERS
    ),
]


@given(st.text(max_size=40))
def test_any_text_is_judged(text):
    for valid in FUNCTIONS:
        assert valid(text) in (True, False)


@given(st.text(alphabet="0123456789", min_size=2, max_size=18), st.integers(0, 17), st.integers(1, 9))
def test_luhn_and_verhoeff_find_each_changed_digit(digits, place, step):
    place %= len(digits)
    changed = digits[:place] + str((int(digits[place]) + step) % 10) + digits[place + 1 :]
    for valid in (check.luhn, check.verhoeff):
        if any(map(int, digits)):
            assert not (valid(digits) and valid(changed))
