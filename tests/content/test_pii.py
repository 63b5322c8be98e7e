"""Personal data: what is found and what is not, by the words around it, at the right place, in any text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.content import pii
from agentguard.content.pii import DETECTOR, KINDS
from agentguard.errors import ConfigurationError

from ..rows import over


def found(text, **options):
    return [(finding.kind, text[finding.start : finding.end]) for finding in pii.scan(text, **options).findings]


# One text a kind; the data stands between the brackets, which are taken out.
EXAMPLES = [
    ("au_abn", "ABN [51 824 753 556]"),
    ("au_acn", "ACN: [004 085 616]"),
    ("au_medicare", "Medicare card [2123 45670 1]"),
    ("au_tfn", "her TFN is [123 456 782]"),
    ("bic", "SWIFT/BIC: [DEUTDEFF500]"),
    ("br_cpf", "CPF [111.444.777-35]"),
    ("ca_sin", "Social insurance number [123-456-782]"),
    ("credit_card", "paid with [4111 1111 1111 1111] today"),
    ("credit_card", "paid with [378282246310005]."),
    ("crypto_address", "send it to [1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa]"),
    ("crypto_address", "send it to [bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4]"),
    ("crypto_address", "send it to [0x52908400098527886E0F7030069857D2E4169EE7]"),
    ("date_of_birth", '{"dateOfBirth": "[1984-02-29]"}'),
    ("date_of_birth", "born on [March 3rd, 1991] in Rome"),
    ("date_of_birth", "Geburtsdatum: [03.04.1991]"),
    ("de_health_insurance", "KVNR [A123456780]"),
    ("de_id_card", "Personalausweis [L01X00T44]"),
    ("de_pension_number", "Rentenversicherung [15070649C103]"),
    ("de_steuer_id", "Steuer-ID: [86 095 742 719]"),
    ("de_vat_id", "USt-IdNr. [DE136695976]"),
    ("driver_license", "Driver's license: [D1234-5678]"),
    ("email", "write to [o'hara+news@mail.example.co.uk]."),
    ("email", "sender: '[ada@example.org]'"),
    ("email", "write to [ada@xn--bcher-kva.xn--e1afmkfd]"),
    ("email", "schreib an [jürgen@bücher.example]"),
    ("es_nie", "NIE [X1234567L]"),
    ("es_nif", "DNI [12345678Z]"),
    ("fi_hetu", "hetu [131052-308T]"),
    ("fr_nir", "n° [2 55 08 14 168 025 38]"),
    ("iban", "transfer from [GB82 WEST 1234 5698 7654 32] to us"),
    ("iban", "my iban is [de89370400440532013000]"),
    ("in_aadhaar", "[2341 2341 2346]"),
    ("in_gstin", "GSTIN [27ABCDE1234F1Z5]"),
    ("in_pan", "PAN: [ABCPE1234F]"),
    ("in_voter_id", "voter id [ABC1234567]"),
    ("ip_address", "ping [192.168.0.254], please"),
    ("ip_address", "ping [2001:db8::8a2e:370:7334]."),
    ("ip_address", "ping [::ffff:192.0.2.1]"),
    ("ip_address", "route [10.0.0.0/8]"),
    ("it_codice_fiscale", "CF [RSSMRA85T10A562S]"),
    ("kr_rrn", "[960121-1234567]"),
    ("mac_address", "eth0 [00:1b:44:11:3a:b7]"),
    ("nl_bsn", "BSN [111222333]"),
    ("passport", "passport no. [AB1234567]"),
    ("passport", "Mi pasaporte es [AAA123456]"),
    ("passport", '{"passport_number": "[912803456]"}'),
    ("phone", "ring [+44 20 7946 0958] now"),
    ("phone", "ring [(415) 555-0132] now"),
    ("phone", "ring [415-555-0132 x12] now"),
    ("phone", "Telefon: [030 901820]"),
    ("phone", "call me at [5550 1234]"),
    ("phone", '{"phone": "[4155550132]"}'),
    ("pl_pesel", "PESEL [44051401359]"),
    ("se_organisationsnummer", "organisationsnummer [556016-0680]"),
    ("se_personnummer", "personnummer [811228-9874]"),
    ("sg_nric", "NRIC [S1234567D]"),
    ("sg_uen", "UEN [196800306E]"),
    ("th_national_id", "Thai ID [1101700230708]"),
    ("uk_nhs", "NHS number [943 476 5919]"),
    ("uk_nino", "NI [AB 12 34 56 C]"),
    ("us_bank_account", "account number [12345678901]"),
    ("us_bank_routing", "routing number [021000021]"),
    ("us_itin", "[911-70-1234]"),
    ("us_mbi", "MBI [1EG4-TE5-MK73]"),
    ("us_npi", "NPI [1234567893]"),
    ("us_ssn", "SSN [219-09-9998]"),
    ("us_ssn", '{"userSsn": "[219099998]"}'),
    ("url", "see [https://example.org/a?b=1]"),
]


@over(("kind", "marked"), EXAMPLES)
def test_each_kind_is_found_at_its_place(kind, marked):
    text = marked.replace("[", "").replace("]", "")
    value = marked[marked.index("[") + 1 : marked.index("]")]
    assert found(text, kinds=set(KINDS)) == [(kind, value)]


def test_there_is_an_example_of_every_kind():
    assert {kind for kind, _ in EXAMPLES} == set(KINDS)
    assert {recognizer.kind for recognizer in DETECTOR.recognizers} == set(KINDS)
    assert len(KINDS) >= 25


@over(
    "text",
    [
        "",
        "Order 4111111111111112 was shipped",  # Luhn fails
        "GB82 WEST 1234 5698 7654 33",
        "SSN 666-09-9998",
        "version 1.2.3.4 is out",
        "1.3.6.1.4.1.311",  # an object identifier
        "256.1.1.1",
        "std::cout << a::b",
        "2001::db8::1",
        "at 10:20:30 on 2024-05-15",
        "05-12-2024 10:00",
        "order 912803456",  # nine digits that nothing names
        "from 2024-05-15 to 2024-06-15",
        "id 3.078051121",
        "sold 219-09-99981",
        "user@localhost",
        "info@example.",
        "postgres://app:tea4two@db.internal/shop",
        "https://ada@example.org/",
        "sha1 da39a3ee5e6b4b0d3255bfef95601890afd80709",
        "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNb",
        "the shipment was international",
        "born in Rome; flight on 2024-05-15",
        "ff:ff:ff:ff:ff:ff",
        "NRIC S1234567A",
    ],
)
def test_what_looks_alike_is_left_alone(text):
    kinds = {kind for kind, _ in found(text)}
    # A date that stands near "born" may be of either.
    assert not kinds - ({"date_of_birth"} if "born" in text else set())


@over(
    ("text", "kinds"),
    [
        # The nearer name decides what nine digits are.
        ("passport 912803456, routing 021000021", ["passport", "us_bank_routing"]),
        # A name in another member of an object, or in another line, names something else.
        ('{"passport": null, "order": "912803456"}', []),
        ("passport: see below\norder 912803456", []),
        # A label on a line of its own names what is in the next.
        ("Passport:\n912803456", ["passport"]),
        # A card has sixteen digits though the words say account.
        ("account number 4111111111111111", ["credit_card"]),
    ],
)
def test_names_nearby(text, kinds):
    assert [kind for kind, _ in found(text)] == kinds


def test_below_a_half_numbers_count_that_nothing_names():
    assert found("021000021", kinds=["us_bank_routing"]) == []
    assert found("021000021", kinds=["us_bank_routing"], at_least=0.1) == [("us_bank_routing", "021000021")]
    assert found("021000022", kinds=["us_bank_routing"], at_least=0.1) == []


def test_a_higher_bar_leaves_the_surest():
    text = "10.0.0.1 and ada@example.org"
    assert [kind for kind, _ in found(text)] == ["ip_address", "email"]
    assert [kind for kind, _ in found(text, at_least=0.85)] == ["email"]
    # Named, the address is sure enough.
    assert [kind for kind, _ in found(f"IP {text}", at_least=0.85)] == ["ip_address", "email"]


def test_the_score_is_that_of_the_surest_finding():
    assert pii.scan("nothing here") == pii.ScanResult(0.0, "clean", ())
    # 0.7 for an address by its form, 0.9 for e-mail.
    assert pii.scan("10.0.0.1").score == 0.7
    assert pii.scan("10.0.0.1 and ada@example.org").score == 0.9


def test_only_the_wanted_kinds():
    text = "ada@example.org 10.0.0.1 https://example.org"
    assert found(text, kinds=["ip_address"]) == [("ip_address", "10.0.0.1")]
    assert "url" not in dict(found(text))


def test_an_unknown_kind_is_said_by_name():
    with pytest.raises(ConfigurationError, match="'shoe_size'"):
        pii.scan("", kinds=["email", "shoe_size"])


def test_a_finding_shows_nothing_of_the_text():
    shown = repr(pii.scan("write to ada@example.org, SSN 219-09-9998"))
    assert "ada" not in shown
    assert "219" not in shown


def test_places_count_characters_not_bytes():
    text = "Grüße 🙂 an ada@example.org"
    assert found(text) == [("email", "ada@example.org")]


ANY_TEXT = (
    st.text()
    | st.text(alphabet="0123456789-+. ()/:@aZxX\n\"'=", max_size=120)
    | st.text(st.characters(categories=["Cs", "Nd", "Po"]), max_size=40)
)


@given(ANY_TEXT, st.sampled_from([0.0, 0.1, 0.5, 0.9]))
def test_any_text_is_scanned(text, at_least):
    result = pii.scan(text, kinds=set(KINDS), at_least=at_least)
    end = 0
    for finding in result.findings:
        assert end <= finding.start < finding.end <= len(text)
        end = finding.end
    assert (result.label == "pii") == bool(result.findings)
    assert 0.0 <= result.score <= 1.0


@given(st.sampled_from(EXAMPLES), st.sampled_from(["", "Dear all,\n", "é " * 20, "{}; "]))
def test_what_stands_before_and_behind_does_not_matter(example, around):
    kind, marked = example
    text = marked.replace("[", "").replace("]", "")
    assert kind in dict(found(f"{around}{text}\n{around}", kinds=[kind]))


# Numbers whose check characters were worked out by hand: 020504935 leaves 16 when divided by 31, the seventeenth is H.
@over(
    ("text", "kind", "part"),
    [
        *((f"020504{mark}935H Maija", "fi_hetu", f"020504{mark}935H") for mark in "ABCDEF"),
        *((f"131052{mark}308T", "fi_hetu", f"131052{mark}308T") for mark in "-YXWVU"),
        ("Führerschein: B072RRE2I55", "driver_license", "B072RRE2I55"),
        ("Fahrerlaubnis Nr. N0704578035", "driver_license", "N0704578035"),
        ("patente U1H8NV8RT7", "driver_license", "U1H8NV8RT7"),
        ("DVLA record MORGA657054SM9IJ", "driver_license", "MORGA657054SM9IJ"),
        ("DL number: D1234562, CA", "driver_license", "D1234562"),
        ("UK holder MORGA657054SM9IJ", "driver_license", "MORGA657054SM9IJ"),
        ("Steuernummer: 21/815/08150", "de_steuer_id", "21/815/08150"),
        ("Steuer-ID 86095742719", "de_steuer_id", "86095742719"),
        ("passport M123A4567", "passport", "M123A4567"),
        ("여권번호 M12345678", "passport", "M12345678"),
        ("00e0.fc12.3456 DYNAMIC Gi0/1", "mac_address", "00e0.fc12.3456"),
        ("mac 1000.2000.3000", "mac_address", "1000.2000.3000"),
    ],
)
def test_numbers_of_more_countries_and_forms(text: str, kind: str, part: str) -> None:
    assert [(each.kind, text[each.start : each.end]) for each in pii.scan(text).findings] == [(kind, part)]


@over(
    "text",
    [
        "020504B935J Maija",
        "1000.2000.3000 m",
        "firmware 1a2b.3c4d.5e6f",
        "order id 987654321, call it done",
        "user registered id 12345678",
        '{"contact_id": 5550132, "mobile": true}',
        "call ref 12345678",
        "21/815/08150",
    ],
)
def test_what_only_looks_like_one(text: str) -> None:
    assert pii.scan(text).label == "clean"


LABELS = (
    "phone",
    "mobile",
    "born",
    "passport",
    "dob",
    "account number",
    "order",
    "tel",
    "licence no",
    "swift",
    "tax id",
)


@given(
    st.lists(
        st.tuples(st.sampled_from(LABELS), st.sampled_from([" ", ": ", "\n", "_", '", "']), st.integers(0, 10**12))
    )
)
def test_numbers_found_by_their_context_are_found_in_each_line(parts: list[tuple[str, str, int]]) -> None:
    """What a context word tells is the same in a long text as in its own three lines."""
    lines = [f"{label}{between}{number}" for label, between, number in parts]
    text = "\n\n".join(lines)
    whole = [text[each.start : each.end] for each in pii.scan(text).findings]
    assert whole == [line[each.start : each.end] for line in lines for each in pii.scan(line).findings]
