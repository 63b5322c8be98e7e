"""The kinds of personal data that can be told by their form, and what each looks like."""

from __future__ import annotations

from agentguard.content import validators as check
from agentguard.content.addresses import IPV4, IPV6, ip_address, ip_address_with_digits, ip_part
from agentguard.content.forms import BARE_9, Form
from agentguard.content.national_forms import NATIONAL_FORMS, NATIONAL_KINDS
from agentguard.content.national_ids import de_id_card
from agentguard.content.phones import PHONE_FORMS

__all__ = ["FORMS", "KINDS", "OPTIONAL_KINDS"]

KINDS = {
    "bic": "a bank's BIC",
    "credit_card": "a payment card's number",
    "crypto_address": "a cryptocurrency address",
    "date_of_birth": "a date of birth",
    "driver_license": "a driving licence's number",
    "email": "an e-mail address",
    "iban": "an IBAN",
    "ip_address": "an IP address",
    "mac_address": "a hardware address",
    "passport": "a passport's number",
    "phone": "a phone number",
    "us_bank_account": "a bank account's number",
    "us_bank_routing": "a US bank's routing number",
    "url": "a web address",
    **NATIONAL_KINDS,
}
# Looked for where they are asked for by name only: most results hold them, and few are about a person.
OPTIONAL_KINDS = frozenset(["url"])

ACCOUNT = (
    r"(?:bank|checking|savings|current) ?account[a-z ]*|account (?:number|no|nr|#)|acct[a-z ]*|kontonummer|bankkonto"
)
CARD = (
    r"cards?|card ?(?:number|no|nr)|\bcc\b|visa|mastercard|amex|maestro|kreditkarte[a-z]*|kartennummer|tarjeta|"
    r"carte bancaire|carta di credito|cartão"
)
DOB = (
    r"date ?of ?birth|birth ?dates?|birth ?days?|dob|d\.o\.b|born|geburts[a-z]*|geboren|\bgeb\b|naissance|\bnée?\b|"
    r"nacimiento|nacid[oa]|nascita|nat[oa] il|nascimento|geboorte[a-z]*"
)
DRIVER = (
    r"driver'?s?'? ?licen[cs]es?(?: ?(?:number|no|nr|plate))?|driving ?licen[cs]es?|führerschein[a-z]*|"
    r"permis de conduire|permiso de conducir|patente di guida|licen[cs]e ?(?:number|no|nr)|my license"
)
PASSPORT = (
    r"passports?(?: ?(?:number|no|nr))?|reisepass[a-z]*|pass-?(?:nr|nummer)|passeport|pasaporte|passaporto|paspoort|"
    r"travel document"
)
ROUTING = r"routing(?: ?(?:number|no|nr))?|\baba\b|\brtn\b|transit number"
# Of the United States, Britain, India, Spain.
PASSPORT_SHAPES = "[a-z]?[0-9]{8}|[0-9]{9}|[a-z]{2}[0-9]{7}|[a-z][1-9][0-9]{6}|[a-z]{3}[0-9]{6}"
DAY, MONTH, YEAR = "(?:0?[1-9]|[12][0-9]|3[01])", "(?:0?[1-9]|1[0-2])", "(?:19|20)[0-9]{2}"
MONTH_NAME = "(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}"
NUMERIC_DATE = (
    rf"\b(?:{YEAR}[-./]{MONTH}[-./]{DAY}|(?:{DAY}[-./]{MONTH}|{MONTH}[-./]{DAY})[-./](?:{YEAR}|[0-9]{{2}}))\b"
)
WORDED_DATE = (
    rf"(?i)\b(?:{MONTH_NAME}\.? {DAY}[a-z]{{0,2}},? {YEAR}|{DAY}[a-z.]{{0,2}} (?:of )?{MONTH_NAME}\.?,? {YEAR})\b"
)
# Two letters of a country, two digits, then groups: `validators.iban` finds where it ends.
IBAN_START = rf"(?i)\b(?:{'|'.join(check.IBAN_LENGTHS)})[0-9]{{2}}"
IBAN = rf"{IBAN_START}(?:[a-z0-9]{{11,30}}|(?:[ -][a-z0-9]{{4}}){{2,7}}(?:[ -][a-z0-9]{{1,3}})?)\b"
BIC_COUNTRIES = "|".join(sorted({*check.IBAN_LENGTHS, *"US CA MX AU NZ JP CN HK SG IN KR TH MY ID PH ZA".split()}))
GROUPED_CARD = r"\b(?:[1-9][0-9]{3}(?:[ -][0-9]{4}){3}(?:[ -]?[0-9]{3})?|3[0-9]{3}[ -][0-9]{6}[ -][0-9]{4,5})\b"
USUAL_CARD = (
    r"\b(?:4[0-9]{15}|5[1-5][0-9]{14}|2[2-7][0-9]{14}|6[0-9]{15}|3[0-9]{13,15}|1[0-9]{14}|2131[0-9]{11}|50[0-9]{14})\b"
)
LETTER = r"a-zA-Z\x{C0}-\x{24F}"
LOCAL = rf"[{LETTER}0-9_](?:[{LETTER}0-9_%+.'-]*[{LETTER}0-9_%+-])?"
EMAIL = rf"{LOCAL}@(?:[{LETTER}0-9-]+\.)+(?:xn--[a-z0-9-]+|[{LETTER}]{{2,24}})"


def _card(text: str) -> bool:
    return check.card_issuer(text) is not None and check.luhn(text)


def _enough_digits(text: str) -> bool:
    return sum(character.isdigit() for character in text) >= 4


FORMS = (
    Form(
        "bic", rf"\b[A-Z]{{4}}(?:{BIC_COUNTRIES})[A-Z0-9]{{2}}(?:[A-Z0-9]{{3}})?\b", 0.1, 0.85, r"\bbic\b|swift[a-z ]*"
    ),
    Form("credit_card", GROUPED_CARD, 0.85, 0.95, CARD, _card),
    Form("credit_card", USUAL_CARD, 0.75, 0.95, CARD, _card),
    Form("credit_card", r"\b[0-9]{12,19}\b", 0.2, 0.9, CARD, _card),
    # Networks open new ranges: with a word that names it and its check digit, it is a card's of whomever.
    Form("credit_card", r"\b[0-9]{12,19}\b", 0.0, 0.7, CARD, check.luhn),
    Form(
        "crypto_address",
        r"\b(?:[13][1-9A-HJ-NP-Za-km-z]{24,34}|(?i:bc1)[0-9a-zA-Z]{11,87})\b",
        0.95,
        0.99,
        "",
        check.bitcoin_address,
    ),
    Form("crypto_address", r"\b0x[0-9a-fA-F]{40}\b", 0.7, 0.9, "eth[a-z]*|wallet"),
    Form("date_of_birth", NUMERIC_DATE, 0.0, 0.85, DOB),
    Form("date_of_birth", WORDED_DATE, 0.0, 0.85, DOB),
    Form("driver_license", r"(?i)\b[a-z0-9]*[0-9][a-z0-9]*(?:-[a-z0-9]+)*\b", 0.0, 0.75, DRIVER, _enough_digits),
    Form("driver_license", r"\b(?:1[1-9]|2[0-8])[ -][0-9]{2}[ -][0-9]{6}[ -][0-9]{2}\b", 0.6, 0.9, DRIVER),
    # What stands before the @ of a web address is a name and a password.
    Form("email", EMAIL, 0.9, 0.95, unless=r"[a-z][a-z0-9+.-]*://(?:[^\s/@]*:)?", whole=False),
    Form("iban", IBAN, 0.95, 0.99, "iban", check.iban, check.iban_part),
    Form(
        "ip_address", IPV4, 0.7, 0.9, r"\bip\b|address", ip_address, unless="v|ver|version|release|build|firmware|oid"
    ),
    Form("ip_address", IPV6, 0.8, 0.9, r"\bip\b|address", ip_address_with_digits, ip_part),
    Form("ip_address", IPV6, 0.2, 0.6, r"\bip\b|ipv6|ip ?address", ip_address, ip_part),
    Form(
        "mac_address",
        r"\b(?:[0-9a-fA-F]{2}(?::[0-9a-fA-F]{2}){5}|[0-9a-fA-F]{2}(?:-[0-9a-fA-F]{2}){5})\b",
        0.8,
        0.9,
        r"\bmac\b",
        check.mac_address,
    ),
    Form("passport", rf"(?i)\b(?:{PASSPORT_SHAPES})\b", 0.1, 0.85, PASSPORT),
    Form("passport", r"(?i)\b[cfghjk][0-9cfghjklmnprtvwxyz]{7}[0-9]\b", 0.2, 0.9, PASSPORT, de_id_card),
    Form("passport", r"(?i)\b[a-z]{0,2}[0-9]{2}[a-z]{0,2}[0-9]{5,7}\b", 0.0, 0.75, PASSPORT),
    Form("us_bank_account", r"\b[0-9]{8,17}\b", 0.05, 0.7, ACCOUNT),
    Form("us_bank_routing", r"\b[0-9]{4}-[0-9]{4}-[0-9]\b", 0.3, 0.9, ROUTING, check.aba_routing),
    Form("us_bank_routing", BARE_9, 0.1, 0.85, ROUTING, check.aba_routing),
    Form("url", r"\bhttps?://[^\s<>\"'()\[\]{}]+", 0.9, 0.9, whole=False),
    *NATIONAL_FORMS,
    *PHONE_FORMS,
)
