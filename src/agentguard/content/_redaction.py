"""Placeholders in the place of what was found: the same for the same value, undone by whoever holds the vault.

A vault is a table in memory. It is the only place where the values are; ``seal`` writes it down encrypted.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass
from itertools import count
from string import Formatter
from typing import Any

from agentguard._limits import LIMITS
from agentguard.content._findings import LABEL, Finding
from agentguard.errors import ConfigurationError, DataError

TEMPLATE = "<{kind}_{number}>"
MAX_DEPTH = 200
MOST_DIGITS = 12  # of a placeholder's number
GOES_ON = 16  # characters: a finding goes on in a text that is no element of the same list where it covers as many


@dataclass(frozen=True, slots=True)
class Redaction:
    """A text with placeholders.

    Attributes:
        text: the text, with a placeholder for each finding.
        findings: what was replaced, at its place in the text as it was given; of more than 10,000 the first.
        count: how many places were replaced, all of them; findings that overlap share one.
    """

    text: str
    findings: tuple[Finding, ...]
    count: int


@dataclass(frozen=True, slots=True)
class ValueRedaction:
    """A value with placeholders.

    Attributes:
        value: a copy of the value, of the same structure.
        kinds: the kind of each place that was replaced, in the order of the value.
        count: how many places were replaced.
    """

    value: Any
    kinds: tuple[str, ...]
    count: int


class Vault:
    """Which value each placeholder stands for.

    Args:
        template: what placeholders look like: ``{kind}`` is the kind in capitals, ``{number}`` counts the kind's values
            from 1. Without ``{number}``, placeholders of a kind are alike and nothing can be put back.

    Raises:
        ConfigurationError: a template with other fields.

    >>> vault = Vault()
    >>> vault.placeholder("email", "ada@example.org"), vault.placeholder("email", "ada@example.org")
    ('<EMAIL_1>', '<EMAIL_1>')
    >>> vault.restore("I wrote to <EMAIL_1>."), vault
    ('I wrote to ada@example.org.', <Vault of 1 value>)
    """

    def __init__(self, template: str = TEMPLATE) -> None:
        try:
            self._reversible = template.format(kind="A", number=1) != template.format(kind="A", number=2)
        except (LookupError, ValueError) as error:
            raise ConfigurationError(
                f"the template {template!r} must hold no fields but {{kind}} and {{number}}"
            ) from error
        self.template = template
        self._placeholders: dict[tuple[str, str], str] = {}
        self._values: dict[str, str] = {}
        self._numbers: dict[str, count[int]] = {}

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"<Vault of {len(self)} value{'' if len(self) == 1 else 's'}>"

    def placeholder(self, kind: str, value: str, text: Container[str] = "") -> str:
        """The placeholder of a value, the same each time; a new one does not occur in ``text``.

        Args:
            kind: the value's kind.
            value: the value.
            text: a text, or what ``occurring`` found in it.
        """
        known = self._placeholders.get((kind, value))
        if known is not None:
            return known
        name = _name(kind)
        if not self._reversible:
            return self.template.format(kind=name, number=1)
        # Two threads may each make one for the same value: one of them is kept, a number is left out.
        numbers = self._numbers.setdefault(name, count(1))
        possible = (self.template.format(kind=name, number=number) for number in numbers)
        new = next(each for each in possible if each not in text and each not in self._values)
        kept = self._placeholders.setdefault((kind, value), new)
        self._values[kept] = value
        return kept

    def occurring(self, kind: str, text: str) -> Container[str]:
        """Find the strings of a text that could be taken for placeholders of a kind, once for all values."""
        parts = list(Formatter().parse(self.template))
        fields = [field for _, field, _, _ in parts if field is not None]
        formed = any(form or conversion for _, _, form, conversion in parts)
        if formed or fields.count("number") != 1 or not {"kind", "number"}.issuperset(fields):
            return text
        name = _name(kind)
        fillings = {"kind": re.escape(name), "number": f"([0-9]{{1,{MOST_DIGITS}}})", None: ""}
        pattern = "".join(re.escape(before) + fillings[field] for before, field, _, _ in parts)
        result: set[str] = set()
        for match in re.finditer(f"(?={pattern})", text):
            digits = match[1]
            # Where no sign follows the number, the placeholder of a shorter one stands there too.
            result.update(self.template.format(kind=name, number=digits[:end]) for end in range(1, len(digits) + 1))
        return result

    def restore(self, text: str) -> str:
        """Put the values back in the place of their placeholders; placeholders of other vaults stay."""
        if not self._values:
            return text
        # Longest first: without a closing sign in the template, one placeholder can begin another.
        names = sorted(self._values, key=len, reverse=True)
        return re.sub("|".join(map(re.escape, names)), lambda match: self._values[match.group()], text)

    def seal(self, key: bytes) -> bytes:
        """Encrypt and authenticate the vault (Fernet: AES-128-CBC, HMAC-SHA-256).

        Args:
            key: 32 random bytes in URL-safe base64, as ``cryptography.fernet.Fernet.generate_key()`` gives them.

        Raises:
            ConfigurationError: the key is none, or the package ``cryptography`` is missing.
        """
        table = [[kind, value, placeholder] for (kind, value), placeholder in self._placeholders.items()]
        # ASCII throughout: lone surrogates have no UTF-8.
        document = json.dumps({"template": self.template, "table": table})
        return bytes(_fernet(key).encrypt(document.encode("ascii")))

    @classmethod
    def unseal(cls, sealed: bytes, key: bytes) -> Vault:
        """Decrypt a vault that was sealed with this key.

        Raises:
            ConfigurationError: as for ``seal``.
            DataError: it was sealed with another key, or changed since.
        """
        fernet = _fernet(key)
        from cryptography.fernet import InvalidToken

        try:
            document = json.loads(fernet.decrypt(sealed))
        except InvalidToken:
            message = (
                "the vault was sealed with another key, or changed since: unseal it with the key it was sealed with"
            )
            raise DataError(message) from None
        vault = cls(document["template"])
        for kind, value, placeholder in document["table"]:
            vault._placeholders[kind, value] = placeholder
            vault._values[placeholder] = value
        return vault


def _fernet(key: bytes) -> Any:
    try:
        from cryptography.fernet import Fernet
    except ImportError as error:
        message = "sealing a vault needs the package cryptography: pip install 'agentguard[content]'"
        raise ConfigurationError(message) from error
    try:
        return Fernet(key)
    except ValueError as error:
        raise ConfigurationError(
            "a vault's key is 32 bytes in URL-safe base64: Fernet.generate_key() makes one"
        ) from error


def replace(text: str, findings: Iterable[Finding], vault: Vault | None = None) -> Redaction:
    """Put a placeholder in the place of each finding.

    Findings that overlap are replaced as one, under the name of the longest, so that nothing of either is left.

    Args:
        text: the text that the findings are of.
        findings: in any order; parts that lie outside the text are left alone.
        vault: where the placeholders are kept; None for one of its own, which is forgotten.

    >>> replace("pw: tea4two", [Finding("password", "", 4, 11)]).text
    'pw: <PASSWORD_1>'
    """
    vault = Vault() if vault is None else vault
    ordered = sorted((each for each in findings if 0 <= each.start < each.end <= len(text)), key=_place)
    taken: dict[str, Container[str]] = {}
    pieces, done, number = [], 0, 0
    for kind, start, end in _merged(ordered):
        if kind not in taken:
            taken[kind] = vault.occurring(kind, text)
        pieces += [text[done:start], vault.placeholder(kind, text[start:end], taken[kind])]
        done, number = end, number + 1
    return Redaction("".join([*pieces, text[done:]]), tuple(ordered[: LIMITS.findings]), number)


def complete(findings: tuple[Finding, ...], *, more: bool) -> tuple[Finding, ...]:
    """Return the findings of a search that came to its end.

    Raises:
        DataError: where there may be more.
    """
    if more:
        raise DataError(f"the text holds more than {LIMITS.values:,} findings: it cannot be redacted in one piece")
    return findings


def _name(kind: str) -> str:
    """The name of a kind in its placeholders."""
    return re.sub(r"\W", "_", kind).upper()


def _place(finding: Finding) -> tuple[int, int]:
    return finding.start, finding.end


def _merged(ordered: Iterable[Finding]) -> Iterator[tuple[str, int, int]]:
    """Kind, start and end of the places that overlapping findings cover together."""
    kind, start, end, longest = "", 0, 0, 0
    for each in ordered:
        if each.start >= end:
            if end:
                yield kind, start, end
            start, longest = each.start, 0
        if each.end - each.start > longest:
            kind, longest = each.kind, each.end - each.start
        end = max(end, each.end)
    if end:
        yield kind, start, end


def redact_value(
    value: Any, find: Callable[[str], Iterable[Finding]], vault: Vault | None = None, max_depth: int = MAX_DEPTH
) -> ValueRedaction:
    """Put placeholders into the texts of a value made of JSON's types; its structure stays.

    Each text is looked through behind the name of the field it stands in, so that the name counts as a word nearby. A
    whole number that is found from end to end becomes a placeholder; names of fields are looked through too.

    Args:
        value: dicts, lists, tuples, texts, numbers, booleans and None; anything else is left as it is.
        find: the findings in a text; it is called once.
        vault: as for ``replace``.
        max_depth: what lies deeper is left out as an empty text, for it has not been looked through.

    >>> find = lambda text: [Finding("email", "", start := text.index("ada@"), start + 15)]
    >>> redact_value({"to": ["ada@example.org"], "n": 2}, find).value
    {'to': ['<EMAIL_1>'], 'n': 2}
    """
    leaves = _Leaves(max_depth)
    leaves.gather(value, "", ())
    redacted = _Redacted(leaves, find, Vault() if vault is None else vault)
    return ValueRedaction(redacted.rebuild(value, ()), tuple(redacted.kinds), len(redacted.kinds))


class _Leaves:
    """The texts of a value, each behind its field's name, in one text of a line each."""

    def __init__(self, max_depth: int) -> None:
        self.max_depth = max_depth
        self.text: list[str] = []
        self.places: list[tuple[int, int, int]] = []  # start, end, and a number that elements of a list share
        self._length = 0

    def add(self, label: str, leaf: str, within: int = 0) -> None:
        start = self._length + len(label)
        self.places.append((start, start + len(leaf), within or -start))
        self.text += [label, leaf, "\n"]
        self._length = start + len(leaf) + 1

    def gather(self, value: Any, label: str, above: tuple[int, ...], within: int = 0) -> None:
        if isinstance(value, str) or _is_number(value):
            self.add(label, str(value), within)
        elif isinstance(value, (dict, list, tuple)) and not self.beyond(value, above):
            inside = (*above, id(value))
            if isinstance(value, dict):
                for key, item in value.items():
                    self.add("", str(key))
                    self.gather(item, f"{key}: ", inside)
            else:
                within = self._length + 1
                for item in value:
                    self.gather(item, label[-LABEL:], inside, within)

    def beyond(self, value: Any, above: tuple[int, ...]) -> bool:
        """Tell whether a value lies too deep, or within itself."""
        return len(above) >= self.max_depth or id(value) in above


class _Redacted:
    """Rebuilds a value from its redacted texts, which come in the same order."""

    def __init__(self, leaves: _Leaves, find: Callable[[str], Iterable[Finding]], vault: Vault) -> None:
        self._beyond = leaves.beyond
        self._vault = vault
        self._text = "".join(leaves.text)
        self._places = iter(leaves.places)
        self._found = list(_merged(sorted(find(self._text), key=_place)))
        self._ends = [end for _, _, end in self._found]
        self._begun: dict[int, int] = {}  # by the number of a finding, the list in which it begins
        self.kinds: list[str] = []

    def next(self, leaf: Any) -> Any:
        first, last, within = next(self._places)
        number = bisect_right(self._ends, first)
        inside: list[Finding] = []
        while number < len(self._found) and self._found[number][1] < last:
            kind, start, end = self._found[number]
            part = Finding(kind, "", max(start, first) - first, min(end, last) - first)
            if self._begun.setdefault(number, within) == within or part.end - part.start >= GOES_ON:
                inside.append(part)
            number += 1
        if not inside:
            return leaf
        if not isinstance(leaf, str) and (inside[0].start, inside[0].end) != (0, last - first):
            return leaf
        self.kinds += [each.kind for each in inside]
        return replace(self._text[first:last], inside, self._vault).text

    def rebuild(self, value: Any, above: tuple[int, ...]) -> Any:
        if isinstance(value, str) or _is_number(value):
            return self.next(value)
        if not isinstance(value, (dict, list, tuple)):
            return value
        if self._beyond(value, above):
            return ""
        inside = (*above, id(value))
        if not isinstance(value, dict):
            items = [self.rebuild(item, inside) for item in value]
            return items if isinstance(value, list) else tuple(items)
        fields: dict[Any, Any] = {}
        for key, item in value.items():
            name = self.next(key if isinstance(key, str) else str(key))
            name = key if name == str(key) else name
            while name in fields:  # two keys, one placeholder: a template without numbers
                name = f"{name}_"
            fields[name] = self.rebuild(item, inside)
        return fields


def _is_number(value: Any) -> bool:
    """Tell whether a value is a whole number as long as those of cards, phones and accounts."""
    return isinstance(value, int) and not isinstance(value, bool) and value.bit_length() <= 128
