"""Credentials drawn by lot, and the texts in which tools show them: whole, or cut."""

from __future__ import annotations

import base64
import json
import random
import re
import shlex
import string
import textwrap
from collections.abc import Callable
from typing import Final, NamedTuple
from urllib.parse import quote

import yaml

__all__ = ["CARRIERS", "Carrier", "Shown", "left", "shown"]

RUN: Final = 6
"""Characters of a credential that may not be left."""

LETTERS: Final = string.ascii_letters + string.digits
PRINTABLE: Final = LETTERS + string.punctuation
NOTES: Final = ("", "", "...", "…", "\n", "\n[truncated]", " [truncated]")
_MARKED: Final = re.compile(r"^[\"'`<>\[({$%#*]|\.\.\.|\*\*\*|xxxx|://|^http|&[\w.-]+=|[\"'`]$", re.IGNORECASE)


class Carrier(NamedTuple):
    """A place in which a tool shows a credential.

    Attributes:
        name: for people.
        draws: makes the credential.
        writes: makes the text, with what stands before and behind.
        takes: tells whether the credential can stand there as it is.
    """

    name: str
    draws: Callable[[random.Random], str]
    writes: Callable[[str], str]
    takes: Callable[[str], bool] = lambda secret: True


class Shown(NamedTuple):
    """A text with a credential in it.

    Attributes:
        carrier: the name of its carrier.
        text: the text, perhaps cut.
        secret: the credential without what all of its kind share; its lines, where it has some.
    """

    carrier: str
    text: str
    secret: str


# --- Credentials ---


def password(draw: random.Random) -> str:
    """Printable characters: all four sorts among the first six, no four letters in a row, no quotation mark first."""
    while True:
        made = "".join(draw.choices(PRINTABLE, k=draw.randint(8, 32)))
        start = made[:RUN]
        sorts = (str.islower, str.isupper, str.isdigit, lambda sign: sign in string.punctuation)
        if all(any(map(sort, start)) for sort in sorts) and not re.search(r"[a-zA-Z_]{4}|^[\"'`]", made):
            return made


def plain(draw: random.Random) -> str:
    """A password of letters, digits and signs that no program text is made of."""
    made = "".join(draw.choice(LETTERS + "-_.!#+*~@^") for _ in range(draw.randint(8, 24)))
    return f"{draw.choice('kqxz')}{draw.randint(10, 99)}W{made}8"


def value(draw: random.Random) -> str:
    """A key without a form of its own."""
    return f"{draw.choice('kqxz')}{draw.randint(10, 99)}W" + "".join(draw.choices(LETTERS, k=draw.randint(16, 60)))


def token(draw: random.Random) -> str:
    prefix, length = draw.choice((("ghp_", 36), ("glpat-", 20), ("npm_", 36), ("sk-proj-", 48), ("sk_live_", 24)))
    return f"{prefix}{draw.choice('kqxz')}{draw.randint(10, 99)}W" + "".join(draw.choices(LETTERS, k=length - 4))


def pair(draw: random.Random) -> str:
    return base64.b64encode(f"ada:{plain(draw)}".encode()).decode()


def key(draw: random.Random) -> str:
    label = draw.choice(("", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED "))
    body = base64.b64encode(draw.randbytes(draw.randint(60, 900))).decode()
    begin, end = (f"-----{word} {label}PRIVATE KEY-----" for word in ("BEGIN", "END"))
    return "\n".join((begin, *textwrap.wrap(body, draw.choice((64, 64, 70, 76))), end))


def putty(draw: random.Random) -> str:
    public, private = (
        textwrap.wrap(base64.b64encode(draw.randbytes(draw.randint(60, 600))).decode(), 64) for _ in range(2)
    )
    return "\n".join(
        (
            "PuTTY-User-Key-File-3: ssh-rsa", "Encryption: none", "Comment: ada", f"Public-Lines: {len(public)}",
            *public, f"Private-Lines: {len(private)}", *private, f"Private-MAC: {draw.randbytes(32).hex()}",
        )
    )  # fmt: skip


# --- Where they stand ---


def _raw(secret: str) -> bool:
    return _MARKED.search(secret) is None and len(secret.rstrip(string.punctuation)) >= RUN


def _without(signs: str) -> Callable[[str], bool]:
    return lambda secret: _raw(secret) and not set(signs) & set(secret)


def _before(form: str) -> Callable[[str], str]:
    """Writes something before each line of a key; ``{n}`` is its number."""
    return lambda secret: "\n".join(form.format(n=number) + line for number, line in enumerate(secret.split("\n"), 8))


def _quotable(secret: str) -> bool:
    """Tell whether escapes stand behind the first characters, which are too few to be told when cut."""
    return not set("'\"\\") & set(secret[:RUN])


def _plainly(secret: str) -> bool:
    return _raw(secret) and _quotable(secret)


def _json(secret: str) -> str:
    return json.dumps({"user": "ada", "password": secret, "port": 5432})


def _key_json(secret: str) -> str:
    return json.dumps({"type": "service_account", "private_key": f"{secret}\n", "client_id": "17"})


def _wrapped(secret: str) -> str:
    return "\n".join(textwrap.wrap(base64.b64encode(secret.encode()).decode(), 76))


_VALUES: Final = (
    Carrier("env file", password, "HOME=/home/dev\nDB_PASSWORD={}\nPORT=80".format, _raw),
    Carrier("env file, quoted", password, lambda s: f"DB_PASSWORD={json.dumps(s)}\nPORT=80"),
    Carrier("shell", password, lambda s: f"$ export DB_PASSWORD={shlex.quote(s)}\n$ ls", _quotable),
    Carrier("shell, argument", password, lambda s: f"$ pg_dump --password={shlex.quote(s)} shop", _quotable),
    Carrier("shell, next argument", password, lambda s: f"$ mysqldump --password {shlex.quote(s)} shop", _quotable),
    Carrier("sshpass", password, lambda s: f"$ sshpass -p {shlex.quote(s)} ssh db.internal", _quotable),
    Carrier("curl", password, lambda s: f"$ curl -sS -u {shlex.quote(f'ada:{s}')} https://api.example/v1", _quotable),
    Carrier("curl, long", plain, "$ curl --user ada:{} https://api.example/v1".format, _raw),
    Carrier("grep", password, "deploy/app.env:12:DB_PASSWORD={}\ndeploy/app.env:13:PORT=80".format, _raw),
    Carrier("diff", password, "--- a\n+++ b\n+DB_PASSWORD={}\n-DB_PASSWORD=\n".format, _raw),
    Carrier("quoted mail", password, "> Hello,\n> the password: {}\n> Regards, Ada".format, _raw),
    Carrier("prose", plain, "Your password is {}. Keep it.".format, _raw),
    Carrier("log line", password, "2026-01-02T03:04:05Z INFO app[7]: user=ada password={} port=80".format, _raw),
    Carrier("log line, JSON", password, lambda s: "INFO sent " + _json(s)),
    Carrier("JSON", password, _json),
    Carrier("JSON, indented", password, lambda s: json.dumps({"db": {"password": s, "port": 1}}, indent=2)),
    Carrier("JSON in JSON", password, lambda s: json.dumps({"body": _json(s), "status": 200})),
    Carrier("JSON in JSON in JSON", password, lambda s: json.dumps({"log": json.dumps({"body": _json(s)})})),
    Carrier("JSON, list of variables", password, lambda s: json.dumps([f"DB_PASSWORD={s}", "HOME=/x"]), _plainly),
    Carrier("escaped lines", plain, lambda s: json.dumps(f"HOME=/x\nDB_PASSWORD={s}\nPORT=80"), _raw),
    Carrier("YAML", password, lambda s: yaml.safe_dump({"db": {"password": s, "port": 80}}, width=999)),
    Carrier("Python", password, lambda s: repr({"user": "ada", "password": s, "port": 80})),
    Carrier("TOML", password, lambda s: f"[db]\npassword = {json.dumps(s)}\nport = 80"),
    Carrier("INI", password, "[db]\npassword = {}\nport = 80".format, _raw),
    Carrier("Dockerfile", password, "FROM x\nENV DB_PASSWORD={}\nRUN y".format, _raw),
    Carrier("Windows", password, "C:\\> set DB_PASSWORD={}\r\nC:\\> dir".format, _raw),
    Carrier("Markdown", password, "The password: `{}` is new.".format, _without("`")),
    Carrier("query", password, lambda s: f"GET /login?user=ada&password={quote(s, safe='')}&next=/home HTTP/1.1"),
    Carrier("form", password, lambda s: f"user=ada&password={quote(s, safe='')}&remember=1"),
    Carrier("address", password, lambda s: f"git clone https://ada:{quote(s, safe='')}@git.example/x.git"),
    Carrier("database", password, lambda s: f"DATABASE_URL=postgres://app:{quote(s, safe='')}@db.internal:5432/shop"),
    Carrier("database, as it is", plain, "postgres://app:{}@db.internal:5432/shop".format, _raw),
    Carrier("connection string", plain, "Server=db;User Id=app;Password={};Database=shop".format, _raw),
    Carrier("netrc", password, "machine api.example login ada password {}\nmachine b".format, _raw),
    Carrier("header, Basic", pair, "> GET / HTTP/1.1\n> Authorization: Basic {}\n> Accept: */*".format),
    Carrier("Docker's settings", pair, '{{"auths": {{"ghcr.io": {{"auth": "{}"}}}}}}'.format),
    Carrier("header, Bearer", value, "Host: x\r\nAuthorization: Bearer {}\r\nAccept: */*".format),
    Carrier("header, key", value, "Host: x\nX-Api-Key: {}\nAccept: */*".format),
    Carrier("assigned key", value, 'api_key = "{}"  # of the shop'.format),
    Carrier("token", token, "remote: https://x.example/?t={} is used".format),
    Carrier("token in JSON", token, '{{"a": 1, "b": "{}", "c": 2}}'.format),
)  # fmt: skip
_KEYS: Final = tuple(
    Carrier(f"{name}, {draws.__name__}", draws, writes)
    for draws in (key, putty)
    for name, writes in (
        ("file", "$ cat k\n{}\n$ ls".format),
        ("CRLF", lambda s: s.replace("\n", "\r\n")),
        ("numbered", _before("{n}:")),
        ("grep", _before("conf/k.pem-{n}-")),
        ("cat -n", _before("    {n}\t")),
        ("quoted mail", _before("> ")),
        ("twice quoted", _before("> > ")),
        ("log lines", _before("2026-01-02T03:04:{n}Z INFO app[7]: ")),
        ("diff", _before("+")),
        ("indented", lambda s: "tls:\n  key: |\n" + _before("    ")(s) + "\n  port: 80"),
        ("JSON", _key_json),
        ("JSON in JSON", lambda s: json.dumps({"body": _key_json(s)})),
        ("JSON, list of lines", lambda s: json.dumps(s.split("\n"), indent=1)),
        ("JSON, list in a line", lambda s: json.dumps(s.split("\n"))),
        ("Python", lambda s: repr({"key": s, "port": 80})),
        ("in address", lambda s: "POST /?key=" + quote(s, safe="")),
        ("base64", lambda s: "tls.key: " + base64.b64encode(s.encode()).decode() + "\nkind: Secret"),
        ("base64, in lines", _wrapped),
    )
    if not (draws is putty and name.startswith(("base64", "in address")))
)
CARRIERS: Final = (*_VALUES, *_KEYS)


def shown(draw: random.Random, carrier: Carrier | None = None) -> Shown:
    """A credential in one of its places, or in this one; one text in two is cut, at any place."""
    carrier = carrier or draw.choice(CARRIERS)
    secret = carrier.draws(draw)
    while not carrier.takes(secret):
        secret = carrier.draws(draw)
    text = carrier.writes(secret)
    own = _own(carrier, secret)
    if draw.random() < 0.5:
        text = text[: draw.randint(0, len(text))]
        begun = next((own[:length] for length in range(len(own), 0, -1) if text.endswith(own[:length])), own)
        if len(begun.rstrip(string.punctuation)) < RUN:  # no more of it is there than any word has
            own = ""
        text += draw.choice(NOTES)
    return Shown(carrier.name, text, own)


def _own(carrier: Carrier, secret: str) -> str:
    """A credential without what others of its kind have too."""
    if carrier.draws is pair:
        return secret[8:]  # the user's name
    if carrier.draws is token:
        return secret[re.match(r"sk-proj-|sk_live_|[a-z]+[_-]", secret).end() :]  # type: ignore[union-attr]
    if carrier.name.startswith("base64"):
        body = secret.partition("\n")[2].rpartition("\n")[0]
        skipped = len(secret.partition("\n")[0]) + 1
        encoded = base64.b64encode(secret.encode()).decode()
        return encoded[(skipped + 2) // 3 * 4 : (skipped + len(body)) // 3 * 4]
    if carrier.draws is key:
        return secret.partition("\n")[2].rpartition("\n")[0]
    if carrier.draws is putty:
        return "\n".join(line for line in secret.split("\n")[-4:] if ": " not in line)
    return secret


def left(text: str, secret: str) -> list[str]:
    """The runs of a credential's characters that can be read in a text, as they are or as an escape writes them."""
    lines = secret.split("\n")
    runs = {line[at : at + RUN] for line in lines for at in range(len(line) - RUN + 1)}
    written = {form for run in runs for form in (run, quote(run, safe=""), json.dumps(run)[1:-1])}
    return sorted(form for form in written if form in text)
