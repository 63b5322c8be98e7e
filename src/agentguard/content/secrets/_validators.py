"""What a credential must satisfy beyond its form: checksums, headers that decode, and that it is no placeholder."""

from __future__ import annotations

import binascii
import re
import zlib
from base64 import urlsafe_b64decode

import orjson

from agentguard._linear_patterns import LinearPattern
from agentguard.content._text import encodable, entropy

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
    """Credentials of HTTP's Basic scheme: base64 of a name, a colon, a password (RFC 7617).

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
    """A text that could be a secret, and no placeholder for one.

    >>> [no_placeholder(text) for text in ("tea4two", "<password>", "YOUR_API_KEY", "********", "${DB_PASSWORD}")]
    [True, False, False, False, False]
    """
    return len(set(text)) > 1 and PLACEHOLDER.search(encodable(text[:MAX_LENGTH])) is None


def password_like(text: str) -> bool:
    """A value that could be a password: six characters, not letters alone, no placeholder.

    >>> password_like("tea4two"), password_like("required"), password_like("https://example.org/reset")
    (True, False, False)
    """
    if not 6 <= len(text) <= 128 or text.isalpha() or " " in text or "://" in text or text.startswith(MARKUP):
        return False
    return no_placeholder(text)


def token_like(text: str) -> bool:
    """A value that could be a key or token: 16 characters as if drawn at random, no placeholder.

    >>> token_like("f3Kq9vT2xLr8Wm5Z"), token_like("customer_identifier_7"), token_like("aaaaaaaaaaaaaaa1")
    (True, False, False)
    """
    mixed = any(character.isdigit() for character in text) and any(character.isalpha() for character in text)
    drawn = mixed and entropy(text) >= 3.0 and NAME.match(encodable(text)) is None
    return 16 <= len(text) <= MAX_LENGTH and drawn and no_placeholder(text)


def aws_secret(text: str) -> bool:
    """Characters as if drawn by lot from base64's, and no hash: capitals, small letters and digits are among them.

    >>> aws_secret("0123456789abcdef0123456789abcdef01234567")
    False
    """
    cases = any(map(str.isupper, text)) and any(map(str.islower, text)) and any(map(str.isdigit, text))
    return cases and entropy(text) >= 4.0 and no_placeholder(text)


def assigned_part(text: str) -> tuple[int, int]:
    """The span of the value in ``name = value``, without quotation marks and a full stop behind it.

    >>> text = 'password = "tea4two"'
    >>> text[slice(*assigned_part(text))]
    'tea4two'
    """
    match = ASSIGNMENT.match(text)
    start = 0 if match is None else match.end()
    return start, max(start, len(text.rstrip("\"'`").rstrip("\\.")))
