"""What a credential must satisfy beyond its form: checksums, headers that decode, and that it is no placeholder."""

from __future__ import annotations

import binascii
import re
import zlib
from base64 import urlsafe_b64decode
from collections import Counter
from collections.abc import Callable, Collection
from math import log2
from typing import NamedTuple

import orjson

from agentguard.content._findings import Finding
from agentguard.content._patterns import Catalogue, Occurrences
from agentguard.content._recognizers import AT_LEAST, Form, Forms
from agentguard.content._redaction import Redaction, Vault, complete, replace
from agentguard.limits import LIMITS
from agentguard.linear_patterns import LinearPattern

MAX_LENGTH = 512
MARKUP = ("[", "<", "(", "**", "#", "http")  # a link or an instruction behind the word, and no password
BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
# What is written where a secret would stand: words that say so, variables, stars, one character over and over.
FILLER_WORDS = (
    "password|passwd|passphrase|pwd|pass|secret|token|keys?|credentials?|value|string|username|user|here|example|sample|"
    "test|dummy|fake|mock|demo|default|changeme|change|redacted|hidden|masked|removed|none|null|nil|true|false|undefined|"
    "required|optional|incorrect|invalid|expired|missing|unknown|empty|todo|tbd|your|my|the|an?|some|new|old|same|db|api|"
    "is|to|be|not|set|me|us"
)
# What is written where a secret would stand: words that say so, variables, calls, signs in its place.
PLACEHOLDER = LinearPattern(
    rf"(?i)^[^a-z0-9]*(?:(?:{FILLER_WORDS})[^a-z0-9]*)+[0-9]{{0,3}}[^a-z0-9]*$|^[<{{\[(%$].*[>}}\])%]$|^\$\w+$|^\{{\{{|"
    r"xxxx|\*\*\*|\.\.\.|…|•••|redacted|changeme|placeholder|^os\.|^process\.|^env[\[.]|getenv|^self\."
)
# Words joined by signs, perhaps with a number behind: a name, and nothing drawn by lot.
NAME = LinearPattern(r"(?i)^[a-z]+(?:[_. -][a-z]+)*[_. -]?[0-9]*$")
# A name, then a sign of assignment, then perhaps a quotation mark, which may be escaped.
ASSIGNMENT = re.compile(r"[^=:]*?(?:=>|:=|[=:]|\sis:?\s)\s*\\?[\"'`]?", re.IGNORECASE)


def entropy(text: str) -> float:
    """Shannon's entropy of the characters' frequencies, in bits per character; 0 for an empty text.

    >>> entropy("aaaa"), entropy("abcd")
    (0.0, 2.0)
    """
    if not text:
        return 0.0
    return sum(count / len(text) * log2(len(text) / count) for count in Counter(text).values())


def crc32_token(text: str) -> bool:
    """A token of GitHub's or npm's: its last six characters are the CRC-32 of those behind the prefix, in base 62.

    >>> crc32_token("ghp_" + "A" * 30 + "0uCPlr"), crc32_token("ghp_" + "A" * 30 + "0uCPls")
    (True, False)
    """
    content = text.partition("_")[2]
    number = zlib.crc32(content[:-6].encode("ascii", "replace"))
    digits = []
    for _ in range(6):
        number, digit = divmod(number, 62)
        digits.append(BASE62[digit])
    return len(content) > 6 and "".join(reversed(digits)) == content[-6:]


def json_web_token(text: str) -> bool:
    """A JSON Web Token: its first part decodes to a JSON object that names an algorithm (RFC 7515).

    >>> json_web_token("eyJhbGciOiJIUzI1NiJ9.e30.x"), json_web_token("eyJhbGciOiJIUzI1NiJ8.e30.x")
    (True, False)
    """
    header = text.partition(".")[0]
    try:
        fields = orjson.loads(urlsafe_b64decode(header + "=" * (-len(header) % 4)))
    except (ValueError, binascii.Error):
        return False
    return isinstance(fields, dict) and isinstance(fields.get("alg"), str)


def basic_pair(text: str) -> bool:
    """What HTTP's Basic scheme sends: base64 of a name, a colon, a password (RFC 7617).

    >>> basic_pair("YWRhOnRlYTR0d28="), basic_pair("YWRhdGVhNHR3bw==")
    (True, False)
    """
    try:
        pair = binascii.a2b_base64(text.encode("ascii") + b"=" * (-len(text) % 4))
        name, colon, password = pair.decode("utf-8").partition(":")
    except ValueError:
        return False
    return bool(colon and password) and (name + password).isprintable()


def no_placeholder(text: str) -> bool:
    """Whether a text could be a secret, and does not only stand where one would.

    >>> [no_placeholder(text) for text in ("tea4two", "<password>", "YOUR_API_KEY", "********", "${DB_PASSWORD}")]
    [True, False, False, False, False]
    """
    return len(set(text)) > 1 and PLACEHOLDER.search(_readable(text[:MAX_LENGTH])) is None


def _readable(text: str) -> str:
    """Without lone surrogates, which re2 does not take."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def password_like(text: str) -> bool:
    """Something that is assigned to a password and could be one: six characters, not letters alone, no placeholder.

    >>> password_like("tea4two"), password_like("required"), password_like("https://example.org/reset")
    (True, False, False)
    """
    if not 6 <= len(text) <= 128 or text.isalpha() or " " in text or "://" in text or text.startswith(MARKUP):
        return False
    return no_placeholder(text)


def token_like(text: str) -> bool:
    """Something that is assigned to a key or token and could be one: 16 characters as if drawn by lot, no placeholder.

    >>> token_like("f3Kq9vT2xLr8Wm5Z"), token_like("customer_identifier_7"), token_like("aaaaaaaaaaaaaaa1")
    (True, False, False)
    """
    mixed = any(character.isdigit() for character in text) and any(character.isalpha() for character in text)
    drawn = mixed and entropy(text) >= 3.0 and NAME.match(_readable(text)) is None
    return 16 <= len(text) <= MAX_LENGTH and drawn and no_placeholder(text)


def aws_secret(text: str) -> bool:
    """Characters as if drawn by lot from base64's, and no hash: capitals, small letters and digits are among them.

    >>> aws_secret("0123456789abcdef0123456789abcdef01234567")
    False
    """
    cases = any(map(str.isupper, text)) and any(map(str.islower, text)) and any(map(str.isdigit, text))
    return cases and entropy(text) >= 4.0 and no_placeholder(text)


def assigned_part(text: str) -> tuple[int, int]:
    """Where the value of ``name = value`` stands, without its quotation marks and a full stop behind it.

    >>> text = 'password = "tea4two"'
    >>> text[slice(*assigned_part(text))]
    'tea4two'
    """
    match = ASSIGNMENT.match(text)
    start = 0 if match is None else match.end()
    return start, max(start, len(text.rstrip("\"'`").rstrip("\\.")))


def group_part(pattern: str) -> Callable[[str], tuple[int, int]]:
    r"""Where a pattern's first group stands in a text; the whole text where the pattern does not match.

    >>> group_part(r"=(\w+)")("key=abc;")
    (4, 7)
    """
    compiled = re.compile(pattern)

    def part(text: str) -> tuple[int, int]:
        match = compiled.search(text)
        return (0, len(text)) if match is None else match.span(1)

    return part


# --- secret_kinds ---
# The kinds of credentials, and what each looks like: most by the prefix that its issuer gives it.


KINDS = {
    "anthropic_key": "an Anthropic key",
    "atlassian_token": "an Atlassian token",
    "aws_access_key_id": "an AWS access key's id",
    "aws_secret_access_key": "an AWS secret access key",
    "azure_client_secret": "an Azure client secret",
    "azure_signature": "an Azure shared access signature",
    "azure_storage_key": "an Azure storage key",
    "basic_auth": "a name and password for HTTP's Basic scheme",
    "bearer_token": "a bearer token",
    "database_password": "a password in a database's address",
    "databricks_token": "a Databricks token",
    "digitalocean_token": "a DigitalOcean token",
    "discord_webhook": "a Discord webhook",
    "gcp_api_key": "a Google API key",
    "gcp_oauth_token": "a Google OAuth token or client secret",
    "gcp_service_account": "a Google service account's key",
    "github_token": "a GitHub token",
    "gitlab_token": "a GitLab token",
    "grafana_token": "a Grafana token",
    "huggingface_token": "a Hugging Face token",
    "json_web_token": "a JSON Web Token",
    "linear_key": "a Linear key",
    "mailgun_key": "a Mailgun key",
    "npm_token": "an npm token",
    "openai_key": "an OpenAI key",
    "password": "a password",
    "private_key": "a private key",
    "pypi_token": "a PyPI token",
    "secret_value": "a value assigned to a key, secret or token",
    "sendgrid_key": "a SendGrid key",
    "shopify_token": "a Shopify token",
    "slack_token": "a Slack token",
    "slack_webhook": "a Slack webhook",
    "stripe_key": "a Stripe key",
    "telegram_token": "a Telegram bot's token",
    "twilio_key": "a Twilio key",
    "url_password": "a password in an address",
    "vault_token": "a HashiCorp Vault token",
}

DATABASES = r"(?:postgres(?:ql)?|mysql|mariadb|mongodb|rediss?|amqps?|mssql|sqlserver|oracle|clickhouse|cockroachdb)"
USER_INFO = r"[^\s/:@\"'<>?#]*:[^\s/@\"'<>]+@[a-zA-Z0-9\[._-]"
IN_URL = group_part(r"//[^:@]*:([^@]+)@")
# A name, perhaps quoted and the quotation mark perhaps escaped, a sign of assignment, a value.
ASSIGNED = r"\\?[\"'`]?\s*(?:=>|:=|[:=]|\bis:?\s)\s*\\?"
QUOTED = r"(?:\"[^\"\s]+\"|'[^'\s]+'|`[^`\s]+`|[^\s\"'`,;<>{}()&\\]+)"
PW_NAMES = r"(?i)(?:passwor[dt]|passwd|pwd|passphrase|passcode|kennwort|contraseña|senha|mot de passe)"
KEY_NAMES = (
    r"(?i)(?:api[_ -]?key|secret[_ -]?key|access[_ -]?key|private[_ -]?key|account[_ -]?key|encryption[_ -]?key|"
    r"signing[_ -]?key|(?:client|app|webhook|shared|consumer)[_ -]?secret|"
    r"(?:access|auth|api|refresh|session|bot|bearer|personal|deploy|id|security)[_ -]?token|\bsecret|\btoken)"
)
LAST_WORD = group_part(r"(\S+)\Z")

KEY_NAME = r"(?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?"

# Every prefix here is stated by its issuer, so that hardly anything else looks like it.
DISTINCT = (
    ("anthropic_key", r"\bsk-ant-[a-z]+[0-9]{2}-[A-Za-z0-9_-]{20,}", 0.99, no_placeholder, None),
    ("atlassian_token", r"\bATATT3[A-Za-z0-9_=-]{50,}", 0.99, None, None),
    (
        "aws_access_key_id",
        r"\b(?:AKIA|ASIA|ABIA|ACCA|AGPA|AIDA|AROA|AIPA|ANPA|ANVA)[A-Z2-7]{16}\b",
        0.95,
        None,
        None,
    ),
    ("azure_client_secret", r"\b[A-Za-z0-9_.~-]{3}[0-9]Q~[A-Za-z0-9_.~-]{31,34}", 0.95, None, None),
    ("azure_signature", r"[?&]sig=[A-Za-z0-9%/+]{40,}(?:=|%3[dD])", 0.9, None, group_part("sig=(.+)")),
    ("azure_storage_key", r"AccountKey=[A-Za-z0-9+/]{40,}={0,2}", 0.99, None, group_part("AccountKey=(.+)")),
    ("basic_auth", r"(?i)\bbasic +[a-z0-9+/]{8,}={0,2}", 0.9, basic_pair, LAST_WORD),
    ("bearer_token", r"(?i)\bbearer +[a-z0-9_.~+/-]{16,}=*", 0.8, token_like, LAST_WORD),
    (
        "database_password",
        rf"(?i)\b{DATABASES}(?:\+[a-z0-9]+)?://{USER_INFO}",
        0.97,
        no_placeholder,
        IN_URL,
    ),
    ("databricks_token", r"\bdapi[0-9a-f]{32}\b", 0.99, None, None),
    ("digitalocean_token", r"\bdo[opr]_v1_[0-9a-f]{64}\b", 0.99, None, None),
    (
        "discord_webhook",
        r"https://(?:\w+\.)?discord(?:app)?\.com/api/webhooks/[0-9]+/[A-Za-z0-9_-]{60,}",
        0.99,
        None,
        None,
    ),
    ("gcp_api_key", r"\bAIza[0-9A-Za-z_-]{35}", 0.99, None, None),
    ("gcp_oauth_token", r"\bya29\.[0-9A-Za-z_-]{20,}|\bGOCSPX-[A-Za-z0-9_-]{28}", 0.99, None, None),
    (
        "gcp_service_account",
        r"\"private_key_id\\?\"\s*:\s*\\?\"[0-9a-f]{40}",
        0.95,
        None,
        group_part("([0-9a-f]{40})"),
    ),
    ("github_token", r"\bgh[pousr]_[A-Za-z0-9]{36,}\b", 0.99, crc32_token, None),
    ("github_token", r"\bgh[pousr]_[A-Za-z0-9]{36,}\b", 0.7, no_placeholder, None),
    ("github_token", r"\bgithub_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}\b", 0.99, None, None),
    (
        "gitlab_token",
        r"\bgl(?:pat|dt|rt|cbt|ptt|ft|agent|oas)-[0-9A-Za-z_-]{20,}",
        0.99,
        no_placeholder,
        None,
    ),
    ("grafana_token", r"\bgl(?:sa|c)_[A-Za-z0-9+/_]{32,}", 0.95, None, None),
    ("huggingface_token", r"\b(?:hf|api_org)_[A-Za-z]{34}\b", 0.99, no_placeholder, None),
    (
        "json_web_token",
        r"\beyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]*",
        0.95,
        json_web_token,
        None,
    ),
    ("linear_key", r"\blin_(?:api|oauth)_[A-Za-z0-9]{32,}\b", 0.99, None, None),
    ("mailgun_key", r"\bkey-[0-9a-f]{32}\b", 0.9, None, None),
    ("npm_token", r"\bnpm_[A-Za-z0-9]{36}\b", 0.99, crc32_token, None),
    ("npm_token", r"\bnpm_[A-Za-z0-9]{36}\b", 0.7, no_placeholder, None),
    ("openai_key", r"\bsk-(?:[a-z]+-)?[A-Za-z0-9_-]{20,}T3BlbkFJ[A-Za-z0-9_-]{20,}", 0.99, None, None),
    ("openai_key", r"\bsk-(?:proj-|svcacct-|admin-|or-v1-)?[A-Za-z0-9_-]{32,}", 0.9, token_like, None),
    ("password", rf"{PW_NAMES}{ASSIGNED}{QUOTED}", 0.7, password_like, assigned_part),
    ("password", rf"{PW_NAMES}{ASSIGNED}{QUOTED}", 0.3, no_placeholder, assigned_part),
    ("pypi_token", r"\bpypi-AgE[A-Za-z0-9_-]{50,}", 0.99, None, None),
    ("secret_value", rf"{KEY_NAMES}{ASSIGNED}{QUOTED}", 0.8, token_like, assigned_part),
    ("sendgrid_key", r"\bSG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{16,64}", 0.99, None, None),
    ("shopify_token", r"\bshp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}\b", 0.99, None, None),
    (
        "slack_token",
        r"\bxox[abeoprs]-[0-9A-Za-z-]{10,}|\bxapp-[0-9]-[0-9A-Za-z-]{20,}",
        0.99,
        no_placeholder,
        None,
    ),
    (
        "slack_webhook",
        r"https://hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9_/]{20,}",
        0.99,
        no_placeholder,
        None,
    ),
    (
        "stripe_key",
        r"\b(?:sk|rk)_(?:live|test)_[0-9A-Za-z]{16,}|\bwhsec_[0-9A-Za-z+/]{24,}",
        0.99,
        no_placeholder,
        None,
    ),
    ("telegram_token", r"\b[0-9]{8,10}:AA[0-9A-Za-z_-]{33}", 0.99, None, None),
    ("twilio_key", r"\bSK[0-9a-f]{32}\b", 0.9, None, None),
    ("url_password", rf"(?i)\b[a-z][a-z0-9+.-]*://{USER_INFO}", 0.95, no_placeholder, IN_URL),
    ("vault_token", r"\bhv[bs]\.[A-Za-z0-9_-]{24,}", 0.99, None, None),
)
FORMS = (
    *(Form(kind, shape, sure, sure, "", valid, part, whole=False) for kind, shape, sure, valid, part in DISTINCT),
    Form(
        "aws_secret_access_key",
        r"\b[A-Za-z0-9/+]{40}\b",
        0.2,
        0.9,
        r"aws[a-z ]*|secret[a-z ]*|secret ?access ?key",
        aws_secret,
    ),
    # To its end where that is there, else the line that says what follows.
    Form(
        "private_key",
        rf"-----BEGIN {KEY_NAME}-----(?:(?:-?[A-Za-z0-9+/=\s:,.()\\])*-----END {KEY_NAME}-----)?",
        0.99,
        0.99,
        whole=False,
    ),
    Form("private_key", r"PuTTY-User-Key-File-[23]:", 0.95, 0.95, whole=False),
)


# --- secrets ---
# Credentials in a text: keys and tokens by their issuers' forms, passwords in addresses and in assignments.


_FORMS = Forms(FORMS, KINDS, "secrets")
PATTERNS = _FORMS.patterns
_CATALOGUE = Catalogue(PATTERNS)


class SecretsResult(NamedTuple):
    """The credentials in a text.

    Attributes:
        score: how certain the surest finding is, 0 to 1; 0 where there is none.
        label: ``"clean"`` or ``"secret"``.
        findings: what was found, in the order of the text, not overlapping. They quote nothing of the text.
        more: there may be more: the search was given up at 200,000.
    """

    score: float
    label: str
    findings: tuple[Finding, ...]
    more: bool = False


def scan(text: str, kinds: Collection[str] | None = None, *, at_least: float = AT_LEAST) -> SecretsResult:
    """Look for credentials.

    Args:
        text: any text; a result as the agent sees it.
        kinds: names of ``secret_kinds.KINDS`` to look for; None for all.
        at_least: how certain a finding must be, 0 to 1. Below 0.3, words that are assigned to a password count too.

    Raises:
        ConfigurationError: a kind that does not exist.

    >>> scan("postgres://app:tea4two@db.internal/shop").findings[0][:4]
    ('database_password', "the form of a password in a database's address, and what must hold of one", 15, 22)
    >>> scan("postgres://app:${DB_PASSWORD}@db.internal/shop").label
    'clean'
    """
    return judge(_CATALOGUE.look(text), kinds, at_least=at_least)


def judge(
    found: Occurrences,
    kinds: Collection[str] | None = None,
    *,
    at_least: float = AT_LEAST,
    most: int = LIMITS.values,
) -> SecretsResult:
    """The same, of what a catalogue that holds ``PATTERNS`` found; the search ends at ``most`` findings."""
    kept, more = _FORMS.find(found, None if kinds is None else frozenset(kinds), at_least, most)
    score = max([each.certainty for each in kept], default=0.0)
    return SecretsResult(score, "secret" if kept else "clean", tuple([each.finding for each in kept]), more)


def redact(
    text: str,
    kinds: Collection[str] | None = None,
    *,
    findings: Collection[Finding] | None = None,
    vault: Vault | None = None,
    at_least: float = AT_LEAST,
) -> Redaction:
    """Put a placeholder in the place of each credential; arguments and errors as for ``pii.redact``.

    >>> redact("postgres://app:tea4two@db.internal/shop").text
    'postgres://app:<DATABASE_PASSWORD_1>@db.internal/shop'
    """
    if findings is None:
        found = scan(text, kinds, at_least=at_least)
        findings = complete(found.findings, more=found.more)
    return replace(text, findings, vault)
