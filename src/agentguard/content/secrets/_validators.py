"""What a credential must satisfy beyond its form: checksums, headers that decode, and that it is no placeholder."""

from __future__ import annotations

import binascii
import re
import zlib
from base64 import urlsafe_b64decode
from itertools import pairwise

import orjson

from agentguard._linear_patterns import LinearPattern
from agentguard.content._text import encodable, entropy

MAX_LENGTH = 512
LONGEST_PASSWORD = 128
MARKUP = ("[", "<", "(", "**", "#", "http")  # a link or an instruction behind the word, and no password
BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
# What is written where a secret would stand: words that say so, variables, stars, one character over and over.
FILLER_WORDS = (
    "password|passwd|passphrase|pwd|pass|secret|token|keys?|credentials?|value|string|username|user|here|example|sample|"
    "test|dummy|fake|mock|demo|default|changeme|change|redacted|hidden|masked|removed|none|null|nil|true|false|undefined|"
    "required|optional|incorrect|invalid|expired|missing|unknown|empty|todo|tbd|your|my|the|an?|some|new|old|same|db|api|"
    "is|to|be|not|set|me|us"
)
# Letters in the place of a secret: many in one case, or a run that stands alone. A key drawn by lot may have four.
CROSSES = r"(?-i:x{6,}|X{6,})|(?:^|[^a-z0-9])(?-i:x{4,}|X{4,})(?:$|[^a-z0-9])"
# What is written where a secret would stand: words that say so, variables, calls, signs in its place.
PLACEHOLDER = LinearPattern(
    rf"(?i)^[^a-z0-9]*(?:(?:{FILLER_WORDS})[^a-z0-9]*)+[0-9]{{0,3}}[^a-z0-9]*$|^[<{{\[(%$].*[>}}\])%]$|^\$\w+$|^\{{\{{|"
    rf"{CROSSES}|"
    r"\*\*\*|\.\.\.|…|•••|redacted|changeme|placeholder|^os\.|^process\.|^env[\[.]|getenv|^self\."
)
# The same of a value with the signs that a password may have: placeholders by their words, and variables.
LONG_WORDS = "|".join(word for word in FILLER_WORDS.split("|") if len(word) > 3)
WORDS = LinearPattern(
    rf"(?i)^[^a-z0-9]*(?:(?:{LONG_WORDS})[^a-z0-9]*)+[0-9]{{0,3}}[^a-z0-9]*$|{CROSSES}|redacted|changeme"
)
VARIABLE = LinearPattern(
    r"^\$(?:[A-Z0-9_]+|[a-z0-9_]+|[A-Za-z_]+[0-9]*)$|^\$[({].*[)}]$|^\{\{.*\}\}$|^<[\w .:|/-]*>$|^%[A-Za-z_]\w*%$"
)
PLAIN = re.compile(r"[^\s\"'`,;<>{}()\[\]&\\]*")
ESCAPES = re.compile(r"\\+[^\w\s]?")
WORD = re.compile(r"(?=\w{0,3}[aeiouyAEIOUY_])(?:[a-z_]{4}|[A-Z_]{4}|[A-Z][a-z]{3})")
ADDRESS = re.compile(r"[A-Za-z][A-Za-z+.-]*://")
PORT = re.compile(r"[0-9]{1,5}[/?]")
CODE = re.compile(r"[A-Za-z_][\w.]*(?:[(\[{]|->|&&)|[\[{(]")  # a call, an index, a condition
MEMBER = re.compile(r"[,;&{]\s*[\"']?[A-Za-z_]\w*[\"']?[:=(]")
# Words joined by signs, perhaps with a number behind: a name, and nothing drawn by lot.
NAME = LinearPattern(r"(?i)^[a-z]+(?:[_. -][a-z]+)*[_. -]?[0-9]*$")


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
    whole = text.rstrip("=")
    whole = whole[: len(whole) - (len(whole) % 4 == 1)]  # of a text that is cut
    try:
        pair = binascii.a2b_base64(whole.encode("ascii") + b"=" * (-len(whole) % 4))
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
    """A value that could be a password: six characters, not letters alone, no placeholder, no prose and no code.

    >>> [password_like(text) for text in ("tea4two", "a;9 B?c&2", "required", "at least 8 signs", "get_password(user)")]
    [True, True, False, False, False]
    >>> password_like("https://example.org/reset")
    False
    """
    if not 6 <= len(text) <= LONGEST_PASSWORD or text.isalpha():
        return False
    if ADDRESS.match(text) or VARIABLE.match(encodable(text)):
        return False
    if drawn(text):
        return WORDS.search(encodable(text)) is None
    head = PLAIN.match(text)
    plain = text if head is None else head[0]  # what stands before the first sign of code
    if len(plain) < len(text) and (len(plain) < 6 or plain.isalpha() or CODE.match(text)):
        return False
    return no_placeholder(plain) and quoted_password(text)


def quoted_password(text: str) -> bool:
    """A value that stands between quotation marks, where there is no code: six characters, not letters alone."""
    if not 6 <= len(text) <= LONGEST_PASSWORD or text.isalpha() or text.startswith(MARKUP):
        return False
    return " " not in text and "://" not in text and no_placeholder(text)


def no_port(text: str) -> bool:
    """A password in an address, and no port with what stands behind it up to a sign @."""
    return stated(text) and PORT.match(text) is None


def stated(text: str) -> bool:
    """A password behind a user's name: whatever it says, but for a placeholder."""
    return no_placeholder(text) or (password_like(text) and drawn(text))


def any_word(text: str) -> bool:
    """A word that is assigned to a password, whatever it says, but for a placeholder."""
    return " " not in text and no_placeholder(text)


def drawn(text: str) -> bool:
    """Characters as if drawn by lot: of three sorts, six at least, which make no words or mostly change their sort.

    Program text has signs between its words, and so it counts only with all four sorts where a name follows a sign.

    >>> [drawn(text) for text in ("Kq9!Lm2#Pz4", "p@ss,word;99", "null,x:1", "request.form['User1']")]
    [True, True, False, False]
    """
    length, text = len(text), ESCAPES.sub("?", text)  # many backslashes are one sign, or none
    sorts = ["a" if each.islower() else "A" if each.isupper() else "1" if each.isdigit() else "?" for each in text]
    changes = sum(first != second for first, second in pairwise(sorts))
    many = 3 if MEMBER.search(text) is None else 4
    mostly = 2 * changes >= len(text) - 1
    return length >= 6 and len(set(sorts)) >= many and (mostly or WORD.search(text) is None)


def drawn_password(text: str) -> bool:
    """A password behind a word that says other things too: letters and digits, and drawn by lot."""
    return mixed(text) and drawn(text) and password_like(text)


def mixed(text: str) -> bool:
    return any(map(str.isdigit, text)) and any(map(str.isalpha, text))


def token_like(text: str) -> bool:
    """A value that could be a key or token: 16 characters as if drawn at random, no placeholder.

    >>> token_like("f3Kq9vT2xLr8Wm5Z"), token_like("customer_identifier_7"), token_like("aaaaaaaaaaaaaaa1")
    (True, False, False)
    """
    return 16 <= len(text) <= MAX_LENGTH and cut_token(text)


def secret_like(text: str) -> bool:
    """A value that could be a key or token, by what stands before its first sign of code, or drawn as a whole.

    >>> secret_like("f3Kq9vT2xLr8Wm5Z;q"), secret_like("get_token(request1)")
    (True, False)
    """
    head = PLAIN.match(text)
    if token_like(text if head is None else head[0]) and not CODE.match(text):
        return True
    return len(text) >= 16 and any(map(str.isupper, text)) and drawn_password(text)


def cut_token(text: str) -> bool:
    """The beginning of a key or token, six characters of it, as if drawn at random; the rest may be cut off."""
    several = len(text) >= 6 and (len(text) < 16 or entropy(text) >= 3.0)
    return several and mixed(text) and NAME.match(encodable(text)) is None and no_placeholder(text)


def aws_secret(text: str) -> bool:
    """Characters as if drawn by lot from base64's, and no hash: capitals, small letters and digits are among them.

    >>> aws_secret("0123456789abcdef0123456789abcdef01234567")
    False
    """
    cases = any(map(str.isupper, text)) and any(map(str.islower, text)) and any(map(str.isdigit, text))
    return cases and entropy(text) >= 4.0 and no_placeholder(text)
