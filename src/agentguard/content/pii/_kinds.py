"""Addresses of machines in a text: IPv4, and IPv6 also compressed or with an IPv4 tail."""

from __future__ import annotations

import re

from agentguard.content._recognizers import BARE_9, BARE_10, BARE_11, BARE_13, Form
from agentguard.content.pii import _validators as check
from agentguard.content.pii._validators import de_id_card, digits_of, us_itin, us_ssn

OCTET = r"(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
IPV4 = rf"\b{OCTET}(?:\.{OCTET}){{3}}(?:/(?:3[0-2]|[12]?[0-9]))?\b"
# Wider than the standard, to which `ip_address` holds it: anything of groups with "::" among them, or of eight groups.
IPV6 = r"[0-9a-fA-F:]*::[0-9a-fA-F:.]*(?:/[0-9]+)?|(?:[0-9a-fA-F]{1,4}:){6,7}[0-9a-fA-F.]+(?:/[0-9]+)?"


def ip_part(text: str) -> tuple[int, int]:
    """The address without the full stop of its sentence, and without a prefix length that cannot be one.

    >>> ip_part("2001:db8::1."), ip_part("2001:db8::/999"), ip_part("2001:db8::/32")
    ((0, 11), (0, 10), (0, 13))
    """
    address = text.rstrip(".")
    host, slash, prefix = address.partition("/")
    possible = slash and len(prefix) <= 3 and int(prefix) <= 128
    return 0, len(address if possible else host)


def ip_address(text: str) -> bool:
    """Whether the standard library reads it as an address, or as one with a prefix length.

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
    """The same, where it could hardly be a name of a program: ``a::b`` and ``::`` are written by programmers too.

    >>> ip_address_with_digits("fe80::1"), ip_address_with_digits("a::b")
    (True, False)
    """
    return any("0" <= character <= "9" for character in text.partition("/")[0]) and ip_address(text)


# --- phones ---
# What phone numbers look like: international, North American, national behind a 0, or any groups that a word names.
#
# Numbers are not held to each country's numbering plan: a tool result seldom says which country a number is of.


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


# --- national_forms ---
# What identity, tax and health numbers look like, by country.


NATIONAL_KINDS = {
    "au_abn": "an Australian business number",
    "au_acn": "an Australian company number",
    "au_medicare": "an Australian Medicare number",
    "au_tfn": "an Australian tax file number",
    "br_cpf": "a Brazilian CPF",
    "ca_sin": "a Canadian social insurance number",
    "de_health_insurance": "a German health insurance number",
    "de_id_card": "a German identity card's number",
    "de_pension_number": "a German pension insurance number",
    "de_steuer_id": "a German tax identification number",
    "de_vat_id": "a German VAT number",
    "es_nie": "a Spanish NIE",
    "es_nif": "a Spanish NIF",
    "fi_hetu": "a Finnish personal identity code",
    "fr_nir": "a French social security number",
    "in_aadhaar": "an Indian Aadhaar number",
    "in_gstin": "an Indian GST number",
    "in_pan": "an Indian PAN",
    "in_voter_id": "an Indian voter's number",
    "it_codice_fiscale": "an Italian codice fiscale",
    "kr_rrn": "a Korean resident number",
    "nl_bsn": "a Dutch BSN",
    "pl_pesel": "a Polish PESEL",
    "se_organisationsnummer": "a Swedish organisation number",
    "se_personnummer": "a Swedish personal number",
    "sg_nric": "a Singaporean NRIC or FIN",
    "sg_uen": "a Singaporean entity number",
    "th_national_id": "a Thai identity number",
    "uk_nhs": "a British NHS number",
    "uk_nino": "a British National Insurance number",
    "us_itin": "a US taxpayer number",
    "us_mbi": "a US Medicare beneficiary's number",
    "us_npi": "a US provider's number",
    "us_ssn": "a US social security number",
}

AADHAAR = r"aadha+r|uidai|\buid\b"
ABN = r"\babn\b|australian business number"
ACN = r"\bacn\b|australian company number"
CPF = r"cpf|cadastro de pessoas"
ID_CARD = r"personalausweis[a-z]*|ausweis[a-z]*|identity card|id card|reisepass|pass-?(?:nr|nummer)"
ITIN = r"\bitin\b|individual taxpayer[a-z]*|taxpayer|tax ?id"
NHS = r"\bnhs\b|national health[a-z ]*"
ORGNR = r"organi[sz]ations?nummer|org\.?nr|företag|company (?:identity|id) (?:code|number)"
PERSONNUMMER = r"personnummer|samordningsnummer|personal (?:identity|id) (?:code|number)|\bpnr\b"
RRN = r"\brrn\b|resident registration[a-z ]*|주민등록번호|주민번호"
SIN = r"\bsin\b|social insurance[a-z ]*"
SSN = r"ssns?|ss#|soc(?:ial)? ?sec(?:urity)?[a-z]*"
STEUER = r"steuer[a-z-]*|idnr|\btin\b|tax[a-z ]*"
THAI = r"thai[a-z ]*|เลขประจำตัวประชาชน|เลขบัตรประชาชน"
YEAR_MONTH_DAY = r"[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])"
# A beneficiary's number leaves out the letters that look like digits, and S.
MBI_LETTER, MBI_EITHER = "[AC-HJKMNP-RT-Y]", "[AC-HJKMNP-RT-Y0-9]"
MBI = rf"[1-9]{MBI_LETTER}{MBI_EITHER}[0-9]"

NATIONAL_FORMS = (
    Form("au_abn", r"\b[0-9]{2} [0-9]{3} [0-9]{3} [0-9]{3}\b", 0.7, 0.9, ABN, check.au_abn),
    Form("au_abn", BARE_11, 0.15, 0.9, ABN, check.au_abn),
    Form("au_acn", r"\b[0-9]{3} [0-9]{3} [0-9]{3}\b", 0.2, 0.85, ACN, check.au_acn),
    Form("au_acn", BARE_9, 0.1, 0.85, ACN, check.au_acn),
    Form(
        "au_medicare", r"\b[2-6][0-9]{3} ?[0-9]{5} ?[0-9](?:[ -/]?[1-9])?\b", 0.15, 0.85, "medicare", check.au_medicare
    ),
    Form("au_tfn", r"\b[0-9]{3} ?[0-9]{3} ?[0-9]{3}\b", 0.1, 0.85, r"\btfn\b|tax file[a-z ]*", check.au_tfn),
    Form("br_cpf", r"\b[0-9]{3}\.[0-9]{3}\.[0-9]{3}-[0-9]{2}\b", 0.9, 0.95, CPF, check.br_cpf),
    Form("br_cpf", BARE_11, 0.15, 0.9, CPF, check.br_cpf),
    Form("ca_sin", r"\b[0-9]{3}[ -][0-9]{3}[ -][0-9]{3}\b", 0.3, 0.85, SIN, check.ca_sin),
    Form("ca_sin", BARE_9, 0.1, 0.85, SIN, check.ca_sin),
    Form(
        "de_health_insurance",
        r"(?i)\b[a-z][0-9]{9}\b",
        0.3,
        0.9,
        r"kvnr|\begk[a-z-]*|kranken[a-z]*|versichert[a-z]*",
        check.de_health_insurance,
    ),
    Form(
        "de_id_card", r"(?i)\b[lmnprtvwxycfghjk][0-9cfghjklmnprtvwxyz]{7}[0-9]\b", 0.2, 0.85, ID_CARD, check.de_id_card
    ),
    Form("de_id_card", r"(?i)\bt[0-9]{8}\b", 0.1, 0.8, ID_CARD),
    Form(
        "de_pension_number",
        r"(?i)\b[0-9]{8}[a-z][0-9]{3}\b",
        0.7,
        0.95,
        r"rvnr|renten[a-z]*|sozialversicherung[a-z]*",
        check.de_pension_number,
    ),
    Form("de_steuer_id", r"\b[1-9][0-9](?: [0-9]{3}){3}\b", 0.5, 0.95, STEUER, check.de_steuer_id),
    Form("de_steuer_id", BARE_11, 0.25, 0.9, STEUER, check.de_steuer_id),
    Form(
        "de_vat_id",
        r"(?i)\bde[ -]?[1-9][0-9]{2}[ .-]?[0-9]{3}[ .-]?[0-9]{3}\b",
        0.7,
        0.95,
        r"ust[a-z.-]*|umsatzsteuer[a-z-]*|\bvat\b[a-z ]*",
        check.de_vat_id,
    ),
    Form("es_nie", r"(?i)\b[xyz]-?[0-9]{7}-?[a-z]\b", 0.8, 0.95, r"\bnie\b|extranjero", check.es_nie),
    Form("es_nif", r"(?i)\b[0-9]{8}[ -]?[a-z]\b", 0.7, 0.95, r"\b(?:nif|dni)\b", check.es_nif),
    Form(
        "fi_hetu", r"(?i)\b[0-3][0-9][01][0-9]{3}[+a-fu-y-][0-9]{3}[0-9a-fhj-npr-y]\b", 0.9, 0.95, "hetu", check.fi_hetu
    ),
    Form(
        "fr_nir",
        r"(?i)\b[12] ?[0-9]{2} ?[0-9]{2} ?[0-9][0-9ab] ?[0-9]{3} ?[0-9]{3} ?[0-9]{2}\b",
        0.7,
        0.95,
        r"\bnir\b|sécurité sociale|securite sociale|insee",
        check.fr_nir,
    ),
    Form("in_aadhaar", r"\b[2-9][0-9]{3}([ :-])[0-9]{4}[ :-][0-9]{4}\b", 0.7, 0.9, AADHAAR, check.in_aadhaar),
    Form("in_aadhaar", r"\b[2-9][0-9]{11}\b", 0.25, 0.9, AADHAAR, check.in_aadhaar),
    Form("in_gstin", r"(?i)\b(?:0[1-9]|[12][0-9]|3[0-7])[a-z]{5}[0-9]{4}[a-z][1-9a-z]z[0-9a-z]\b", 0.9, 0.95),
    Form("in_pan", r"(?i)\b[a-z]{3}[abcfghjlpt][a-z][0-9]{4}[a-z]\b", 0.7, 0.9, r"\bpan\b|permanent account[a-z ]*"),
    Form("in_pan", r"(?i)\b[a-z]{5}[0-9]{4}[a-z]\b", 0.25, 0.6, r"\bpan\b|permanent account[a-z ]*"),
    Form("in_voter_id", r"(?i)\b[a-z]{3}[0-9]{7}\b", 0.15, 0.8, r"voter[a-z ]*|\bepic\b|\bvote\b"),
    Form(
        "it_codice_fiscale",
        r"(?i)\b[a-z]{6}[0-9lmnp-v]{2}[abcdehlmprst][0-9lmnp-v]{2}[a-z][0-9lmnp-v]{3}[a-z]\b",
        0.95,
        0.99,
        "codice fiscale",
        check.it_codice_fiscale,
    ),
    Form("kr_rrn", rf"\b{YEAR_MONTH_DAY}-[1-8][0-9]{{6}}\b", 0.7, 0.95, RRN, check.kr_rrn),
    Form("kr_rrn", BARE_13, 0.2, 0.85, RRN, check.kr_rrn),
    Form("nl_bsn", BARE_9, 0.1, 0.85, r"\bbsn\b|burgerservicenummer|sofinummer", check.nl_bsn),
    Form("pl_pesel", BARE_11, 0.3, 0.9, "pesel", check.pl_pesel),
    Form("se_organisationsnummer", r"\b[0-9]{6}-?[0-9]{4}\b", 0.25, 0.85, ORGNR, check.se_organisationsnummer),
    Form("se_personnummer", r"\b(?:18|19|20)[0-9]{6}[+-][0-9]{4}\b", 0.7, 0.95, PERSONNUMMER, check.se_personnummer),
    Form("se_personnummer", r"\b[0-9]{6}[+-][0-9]{4}\b", 0.5, 0.9, PERSONNUMMER, check.se_personnummer),
    Form("se_personnummer", r"\b(?:[0-9]{2})?[0-9]{10}\b", 0.25, 0.9, PERSONNUMMER, check.se_personnummer),
    Form("sg_nric", r"(?i)\b[stfgm][0-9]{7}[a-z]\b", 0.8, 0.95, r"\bnric\b|\bfin\b", check.sg_nric),
    Form("sg_uen", r"(?i)\b(?:[0-9]{8,9}|[rst][0-9]{2}[a-z]{2}[0-9]{4})[a-z]\b", 0.3, 0.85, r"\buen\b", check.sg_uen),
    Form("th_national_id", BARE_13, 0.25, 0.9, THAI, check.th_national_id),
    Form("uk_nhs", r"\b[0-9]{3}[ -][0-9]{3}[ -][0-9]{4}\b", 0.3, 0.9, NHS, check.uk_nhs),
    Form("uk_nhs", BARE_10, 0.1, 0.85, NHS, check.uk_nhs),
    Form(
        "uk_nino",
        r"(?i)\b[a-z]{2} ?[0-9]{2} ?[0-9]{2} ?[0-9]{2} ?[a-d]\b",
        0.7,
        0.95,
        r"\bnino?\b|national insurance[a-z ]*",
        check.uk_nino,
    ),
    Form("us_itin", r"\b9[0-9]{2}-[0-9]{2}-[0-9]{4}\b", 0.7, 0.95, ITIN, us_itin),
    Form("us_itin", r"\b9[0-9]{2}-?[0-9]{2}-?[0-9]{4}\b", 0.15, 0.85, ITIN, us_itin),
    Form(
        "us_mbi",
        rf"(?i)\b{MBI}-{MBI_LETTER}{MBI_EITHER}[0-9]-{MBI_LETTER}{{2}}[0-9]{{2}}\b",
        0.8,
        0.95,
        r"\bmbi\b|medicare",
    ),
    Form(
        "us_mbi", rf"\b{MBI}{MBI_LETTER}{MBI_EITHER}[0-9]{MBI_LETTER}{{2}}[0-9]{{2}}\b", 0.4, 0.9, r"\bmbi\b|medicare"
    ),
    Form(
        "us_npi",
        r"\b[12][0-9]{3}[ -][0-9]{3}[ -][0-9]{3}\b",
        0.3,
        0.9,
        r"\bnpi\b|provider (?:id|number|no)[a-z ]*|provider identifier",
        check.us_npi,
    ),
    Form(
        "us_npi",
        r"\b[12][0-9]{9}\b",
        0.1,
        0.9,
        r"\bnpi\b|provider (?:id|number|no)[a-z ]*|provider identifier",
        check.us_npi,
    ),
    Form("us_ssn", r"\b[0-9]{3}-[0-9]{2}-[0-9]{4}\b", 0.85, 0.95, SSN, us_ssn),
    Form("us_ssn", r"\b[0-9]{3}[ .-]?[0-9]{2}[ .-]?[0-9]{4}\b", 0.2, 0.85, SSN, us_ssn),
)


# --- pii_kinds ---
# The kinds of personal data that can be told by their form, and what each looks like.


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
