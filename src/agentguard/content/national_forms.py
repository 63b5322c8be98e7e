"""What identity, tax and health numbers look like, by country."""

from __future__ import annotations

from agentguard.content import national_ids as ids
from agentguard.content.forms import BARE_9, BARE_10, BARE_11, BARE_13, Form
from agentguard.content.validators import us_itin, us_ssn

__all__ = ["NATIONAL_FORMS", "NATIONAL_KINDS"]

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
    Form("au_abn", r"\b[0-9]{2} [0-9]{3} [0-9]{3} [0-9]{3}\b", 0.7, 0.9, ABN, ids.au_abn),
    Form("au_abn", BARE_11, 0.15, 0.9, ABN, ids.au_abn),
    Form("au_acn", r"\b[0-9]{3} [0-9]{3} [0-9]{3}\b", 0.2, 0.85, ACN, ids.au_acn),
    Form("au_acn", BARE_9, 0.1, 0.85, ACN, ids.au_acn),
    Form("au_medicare", r"\b[2-6][0-9]{3} ?[0-9]{5} ?[0-9](?:[ -/]?[1-9])?\b", 0.15, 0.85, "medicare", ids.au_medicare),
    Form("au_tfn", r"\b[0-9]{3} ?[0-9]{3} ?[0-9]{3}\b", 0.1, 0.85, r"\btfn\b|tax file[a-z ]*", ids.au_tfn),
    Form("br_cpf", r"\b[0-9]{3}\.[0-9]{3}\.[0-9]{3}-[0-9]{2}\b", 0.9, 0.95, CPF, ids.br_cpf),
    Form("br_cpf", BARE_11, 0.15, 0.9, CPF, ids.br_cpf),
    Form("ca_sin", r"\b[0-9]{3}[ -][0-9]{3}[ -][0-9]{3}\b", 0.3, 0.85, SIN, ids.ca_sin),
    Form("ca_sin", BARE_9, 0.1, 0.85, SIN, ids.ca_sin),
    Form(
        "de_health_insurance",
        r"(?i)\b[a-z][0-9]{9}\b",
        0.3,
        0.9,
        r"kvnr|\begk[a-z-]*|kranken[a-z]*|versichert[a-z]*",
        ids.de_health_insurance,
    ),
    Form("de_id_card", r"(?i)\b[lmnprtvwxycfghjk][0-9cfghjklmnprtvwxyz]{7}[0-9]\b", 0.2, 0.85, ID_CARD, ids.de_id_card),
    Form("de_id_card", r"(?i)\bt[0-9]{8}\b", 0.1, 0.8, ID_CARD),
    Form(
        "de_pension_number",
        r"(?i)\b[0-9]{8}[a-z][0-9]{3}\b",
        0.7,
        0.95,
        r"rvnr|renten[a-z]*|sozialversicherung[a-z]*",
        ids.de_pension_number,
    ),
    Form("de_steuer_id", r"\b[1-9][0-9](?: [0-9]{3}){3}\b", 0.5, 0.95, STEUER, ids.de_steuer_id),
    Form("de_steuer_id", BARE_11, 0.25, 0.9, STEUER, ids.de_steuer_id),
    Form(
        "de_vat_id",
        r"(?i)\bde[ -]?[1-9][0-9]{2}[ .-]?[0-9]{3}[ .-]?[0-9]{3}\b",
        0.7,
        0.95,
        r"ust[a-z.-]*|umsatzsteuer[a-z-]*|\bvat\b[a-z ]*",
        ids.de_vat_id,
    ),
    Form("es_nie", r"(?i)\b[xyz]-?[0-9]{7}-?[a-z]\b", 0.8, 0.95, r"\bnie\b|extranjero", ids.es_nie),
    Form("es_nif", r"(?i)\b[0-9]{8}[ -]?[a-z]\b", 0.7, 0.95, r"\b(?:nif|dni)\b", ids.es_nif),
    Form(
        "fi_hetu", r"(?i)\b[0-3][0-9][01][0-9]{3}[+a-fu-y-][0-9]{3}[0-9a-fhj-npr-y]\b", 0.9, 0.95, "hetu", ids.fi_hetu
    ),
    Form(
        "fr_nir",
        r"(?i)\b[12] ?[0-9]{2} ?[0-9]{2} ?[0-9][0-9ab] ?[0-9]{3} ?[0-9]{3} ?[0-9]{2}\b",
        0.7,
        0.95,
        r"\bnir\b|sécurité sociale|securite sociale|insee",
        ids.fr_nir,
    ),
    Form("in_aadhaar", r"\b[2-9][0-9]{3}([ :-])[0-9]{4}[ :-][0-9]{4}\b", 0.7, 0.9, AADHAAR, ids.in_aadhaar),
    Form("in_aadhaar", r"\b[2-9][0-9]{11}\b", 0.25, 0.9, AADHAAR, ids.in_aadhaar),
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
        ids.it_codice_fiscale,
    ),
    Form("kr_rrn", rf"\b{YEAR_MONTH_DAY}-[1-8][0-9]{{6}}\b", 0.7, 0.95, RRN, ids.kr_rrn),
    Form("kr_rrn", BARE_13, 0.2, 0.85, RRN, ids.kr_rrn),
    Form("nl_bsn", BARE_9, 0.1, 0.85, r"\bbsn\b|burgerservicenummer|sofinummer", ids.nl_bsn),
    Form("pl_pesel", BARE_11, 0.3, 0.9, "pesel", ids.pl_pesel),
    Form("se_organisationsnummer", r"\b[0-9]{6}-?[0-9]{4}\b", 0.25, 0.85, ORGNR, ids.se_organisationsnummer),
    Form("se_personnummer", r"\b(?:18|19|20)[0-9]{6}[+-][0-9]{4}\b", 0.7, 0.95, PERSONNUMMER, ids.se_personnummer),
    Form("se_personnummer", r"\b[0-9]{6}[+-][0-9]{4}\b", 0.5, 0.9, PERSONNUMMER, ids.se_personnummer),
    Form("se_personnummer", r"\b(?:[0-9]{2})?[0-9]{10}\b", 0.25, 0.9, PERSONNUMMER, ids.se_personnummer),
    Form("sg_nric", r"(?i)\b[stfgm][0-9]{7}[a-z]\b", 0.8, 0.95, r"\bnric\b|\bfin\b", ids.sg_nric),
    Form("sg_uen", r"(?i)\b(?:[0-9]{8,9}|[rst][0-9]{2}[a-z]{2}[0-9]{4})[a-z]\b", 0.3, 0.85, r"\buen\b", ids.sg_uen),
    Form("th_national_id", BARE_13, 0.25, 0.9, THAI, ids.th_national_id),
    Form("uk_nhs", r"\b[0-9]{3}[ -][0-9]{3}[ -][0-9]{4}\b", 0.3, 0.9, NHS, ids.uk_nhs),
    Form("uk_nhs", BARE_10, 0.1, 0.85, NHS, ids.uk_nhs),
    Form(
        "uk_nino",
        r"(?i)\b[a-z]{2} ?[0-9]{2} ?[0-9]{2} ?[0-9]{2} ?[a-d]\b",
        0.7,
        0.95,
        r"\bnino?\b|national insurance[a-z ]*",
        ids.uk_nino,
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
        ids.us_npi,
    ),
    Form(
        "us_npi",
        r"\b[12][0-9]{9}\b",
        0.1,
        0.9,
        r"\bnpi\b|provider (?:id|number|no)[a-z ]*|provider identifier",
        ids.us_npi,
    ),
    Form("us_ssn", r"\b[0-9]{3}-[0-9]{2}-[0-9]{4}\b", 0.85, 0.95, SSN, us_ssn),
    Form("us_ssn", r"\b[0-9]{3}[ .-]?[0-9]{2}[ .-]?[0-9]{4}\b", 0.2, 0.85, SSN, us_ssn),
)
