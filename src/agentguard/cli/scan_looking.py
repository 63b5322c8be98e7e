"""What ``agentguard scan`` finds in a piece of a file: findings with line and column, and the piece without them.

Nothing that is said of a finding holds a word of the text, but for what an injection says in code, once more looked
through and without what was found there.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping
from operator import itemgetter
from typing import Any, Literal, NamedTuple

from agentguard.content.findings import Finding
from agentguard.content.redaction import Vault
from agentguard.content.results import Kind
from agentguard.content.scanner import Scanner
from agentguard.errors import DataError
from agentguard.traces.row import parse_json

from .output import printable
from .scan_reading import Form, Piece
from .scan_texts import Leaf, Node, Part, json_parts, keys_above, plain_part

__all__ = ["Looked", "Looker", "Sighting"]

DECODED_SHOWN = 80  # characters
KEYS_SHOWN, DIGITS_SHOWN = 12, 3
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,39}")
PLACEHOLDER = re.compile(r"<[A-Z_]+_[0-9]+>")
KEYS_KNOWN, TOOLS_KNOWN = 4_096, 50
PRIVATE: tuple[Kind, ...] = ("pii", "secrets")


class Sighting(NamedTuple):
    """A finding in a file.

    Attributes:
        source: the file.
        line, column: where it begins, from 1, in characters.
        end_line, end_column: where it ends; the column is that of the character after it.
        path: where in its JSON it stands (``$.result.rows[3].mail``), with ``*`` for a name that might tell too much;
            "" in other text.
        kind: ``"injection"``, ``"pii"`` or ``"secrets"``.
        name: what it is, by the detector's own names.
        verdict: ``"block"`` for secrets and where the text is an injection, else ``"flag"``.
        detail: why it counts.
        decoded: what an injection says in code; None where it does not, and for every other kind.
    """

    source: str
    line: int
    column: int
    end_line: int
    end_column: int
    path: str
    kind: Kind
    name: str
    verdict: Literal["flag", "block"]
    detail: str
    decoded: str | None


class Looked(NamedTuple):
    """What was found in a piece.

    Attributes:
        sightings: in the order of the piece.
        raw: the piece, with placeholders for what was to be redacted.
        problem: why it is not what it was meant to be, in which case it was looked through as text; or None.
        texts: how many texts were looked through.
    """

    sightings: list[Sighting]
    raw: bytes
    problem: str | None
    texts: int


class Looker:
    """Looks through pieces.

    Args:
        kinds: what to look for.
        fields: the fields of objects to look through; none for all.
        redact: the kinds to put placeholders for, the same for the same value in all pieces.
    """

    def __init__(self, kinds: Collection[Kind], fields: Collection[str] = (), redact: Collection[Kind] = ()) -> None:
        self._scanner = Scanner(kinds)
        self._private = self._scanner if set(PRIVATE) <= set(kinds) else Scanner(PRIVATE)
        self._fields = frozenset(fields)
        self._redact = frozenset(redact)
        self._kinds = tuple(kinds)
        self._tools: dict[str, None] = {}  # of the calls so far: what an injection may ask for
        self._vault = Vault()
        self._names: dict[str, str] = {}

    def look(self, piece: Piece) -> Looked:
        """Look through a piece.

        Raises:
            DataError: where there is more to be redacted in it than can be.
        """
        if not piece.raw.strip():
            return Looked([], piece.raw, None, 0)
        problem = None
        if piece.form is Form.json:
            try:
                value = parse_json(piece.raw)
            except DataError as error:
                problem = f"{error}: looked through as text" if piece.certain else None
            else:
                text, fields = piece.raw.decode(), self._fields
                if fields and not isinstance(value, dict):
                    fields, problem = frozenset(), "no JSON object: looked through as a whole"
                if isinstance(value, dict) and isinstance(value.get("tool"), str) and len(self._tools) < TOOLS_KNOWN:
                    self._tools[value["tool"]] = None
                return self._looked(piece, text, json_parts(text, value, fields), problem)
        # Bytes that are no UTF-8 are kept as lone surrogates, which no pattern knows, and become the same bytes again.
        text = piece.raw.decode("utf-8", "surrogateescape")
        return self._looked(piece, text, [plain_part(text)], problem)

    def _looked(self, piece: Piece, text: str, parts: list[Part], problem: str | None) -> Looked:
        places: _Places | None = None
        found: list[tuple[int, Sighting]] = []
        changes: list[tuple[int, int, str]] = []
        for part in parts:
            tools = self._tools if part.is_result else None
            # All of an injection is taken out; to tell of it, some places are enough.
            every = "injection" in self._redact
            results: Mapping[str, Any] = self._scanner.scan(part.text, tools=tools, every=every)
            redacted: list[Finding] = []
            for kind in self._kinds:
                result = results[kind]
                if getattr(result, "more", False):
                    if kind in self._redact:
                        raise DataError(f"{piece.source} holds more {kind} than can be redacted in one piece")
                    problem = f"holds more {kind} than is listed"
                if not result.findings:
                    continue
                places = places or _Places(text, piece)
                verdict: Literal["flag", "block"] = "block" if _blocks(kind, result) else "flag"
                for finding in result.findings:
                    within = list(part.within(finding.start, finding.end))
                    if within:  # else it is in the name before a value, and found in the name itself
                        found.append(self._sighting(places, within, kind, finding, verdict))
                if kind in self._redact:
                    redacted += result.findings
            if redacted:
                changes += self._changes(part, redacted)
        raw = _changed(text, changes).encode("utf-8", "surrogateescape") if changes else piece.raw
        return Looked([sighting for _, sighting in sorted(found, key=itemgetter(0))], raw, problem, len(parts))

    def _sighting(
        self,
        places: _Places,
        within: list[tuple[Leaf, int, int]],
        kind: Kind,
        finding: Finding,
        verdict: Literal["flag", "block"],
    ) -> tuple[int, Sighting]:
        first, begin, _ = within[0]
        last, _, finish = within[-1]
        start = first.origin(begin)
        decoded = self._shown(finding.decoded) if kind == "injection" and finding.decoded else None
        path = self._path(first.node, hidden=first.is_key)
        place = (*places.at(start), *places.at(last.origin(finish)))
        said = Sighting(places.source, *place, path, kind, finding.kind, verdict, finding.detail, decoded)
        return start, said

    def _changes(self, part: Part, findings: list[Finding]) -> Iterator[tuple[int, int, str]]:
        taken = " ".join(set(PLACEHOLDER.findall(part.text)))
        for name, start, end in _merged(findings):
            placeholder = self._vault.placeholder(name, part.text[start:end], taken)
            for leaf, begin, finish in part.within(start, end):
                if not leaf.is_number:
                    yield leaf.origin(begin), leaf.origin(finish), placeholder
                    continue
                quote = '"'  # a part of a number cannot be text: all of it becomes a string
                for _ in range(leaf.depth):
                    quote = json.dumps(quote)[1:-1]
                yield leaf.origin(0), leaf.origin(len(leaf.text)), f"{quote}{placeholder}{quote}"

    def _path(self, node: Node | None, *, hidden: bool) -> str:
        keys = keys_above(node, KEYS_SHOWN + 1)
        if not keys:
            return ""
        shown = [f"[{key}]" if isinstance(key, int) else f".{self._name(key)}" for key in keys]
        if hidden:
            shown[-1] = ".*"
        return "".join(("$", *shown) if len(shown) <= KEYS_SHOWN else ("$…", *shown[1:]))

    def _name(self, key: str) -> str:
        """The name of a field, or ``*``: keys can be data."""
        known = self._names.get(key)
        if known is None:
            plain = NAME.fullmatch(key) is not None and sum(map(str.isdigit, key)) <= DIGITS_SHOWN
            known = key if plain and not any(self._secret_spans(key)) else "*"
            if len(self._names) < KEYS_KNOWN:
                self._names[key] = known
        return known

    def _shown(self, decoded: str) -> str:
        changes = [(start, end, f"<{name}>") for name, start, end in self._secret_spans(decoded)]
        shown = printable(_changed(decoded, changes))
        return shown if len(shown) <= DECODED_SHOWN else shown[: DECODED_SHOWN - 1] + "…"

    def _secret_spans(self, text: str) -> Iterator[tuple[str, int, int]]:
        results = self._private.scan(text)
        return _merged([finding for kind in PRIVATE for finding in results[kind].findings])


class _Places:
    """Lines and columns of offsets in a piece."""

    def __init__(self, text: str, piece: Piece) -> None:
        self.source = piece.source
        self._line = piece.line
        self._breaks = [match.start() for match in re.finditer("\n", text)]

    def at(self, offset: int) -> tuple[int, int]:
        number = bisect_left(self._breaks, offset)
        return self._line + number, offset - (self._breaks[number - 1] if number else -1)


def _blocks(kind: Kind, result: Any) -> bool:
    return kind == "secrets" or (kind == "injection" and bool(result.label == "injection"))


def _merged(findings: Iterable[Finding]) -> Iterator[tuple[str, int, int]]:
    """Places that overlapping findings cover together, under the name of the longest."""
    name, start, end, longest = "", 0, 0, 0
    for each in sorted(findings, key=lambda each: (each.start, each.end)):
        if each.start >= end:
            if end:
                yield name, start, end
            start, longest = each.start, 0
        if each.end - each.start > longest:
            name, longest = each.kind, each.end - each.start
        end = max(end, each.end)
    if end:
        yield name, start, end


def _changed(text: str, changes: list[tuple[int, int, str]]) -> str:
    pieces: list[str] = []
    done = 0
    for start, end, new in sorted(changes):
        if start >= done:  # else of a number that held more than one
            pieces += (text[done:start], new)
            done = end
    return "".join([*pieces, text[done:]])
