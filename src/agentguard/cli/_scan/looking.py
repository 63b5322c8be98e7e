"""The search for findings in a piece of a file: their lines and columns, and the piece with placeholders.

A report of a finding holds no word of the text, except what an injection says in code, searched once more and without
what was found there. A large piece is searched a window at a time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from operator import itemgetter
from typing import Any, Literal, NamedTuple

from agentguard._limits import LIMITS
from agentguard.cli._scan.json_texts import Leaf, Node, Part, Window, json_windows, keys_above, outline_of, plain_part
from agentguard.cli._scan.reading import Form, Piece
from agentguard.cli._terminal import printable
from agentguard.content._findings import Finding, Kind
from agentguard.content._redaction import Vault
from agentguard.content._scanner import Scanner
from agentguard.errors import DataError

DECODED_SHOWN = 80  # characters
KEYS_SHOWN, DIGITS_SHOWN = 12, 3
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,39}")
PLACEHOLDER = re.compile(r"<[A-Z_]+_[0-9]+>")
KEYS_KNOWN, TOOLS_KNOWN = 4_096, 50
LONGEST_NAME = 1_000  # characters
SPAN = 1 << 19  # characters of a text that are looked through at one time
OVERLAP = 1 << 13  # characters; what begins in one span and is no longer than this is found whole
GROUPS = 40  # characters: whole groups of base64, base32, base85 and hexadecimal digits
AROUND_CODE = " \n\t\r\"'`,;:=<>()[]{}\\"
PRIVATE: tuple[Kind, ...] = ("pii", "secrets")


class Places:
    r"""Lines and columns of offsets in a piece of a file, counted from the offset asked for last.

    >>> places = Places("one\ntwo", "a.txt", 7)
    >>> places.at(5), places.at(1)
    ((8, 2), (7, 2))
    """

    def __init__(self, text: str, source: str, line: int) -> None:
        self.source = source
        self._text = text
        self._offset, self._line, self._begin = 0, line, 0  # the last one, its line, and where that begins

    def at(self, offset: int) -> tuple[int, int]:
        """The line and the column of an offset, both from 1."""
        text, before = self._text, self._offset
        if offset >= before:
            feeds = text.count("\n", before, offset)
            if feeds:
                self._begin = text.rindex("\n", before, offset) + 1
        else:
            feeds = -text.count("\n", offset, before)
            if feeds:
                self._begin = text.rfind("\n", 0, offset) + 1
        self._offset, self._line = offset, self._line + feeds
        return self._line, offset - self._begin + 1


class Replaced:
    """A text with replacements, handed out as far as these are known."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._done = 0

    def upto(self, end: int, changes: Iterable[tuple[int, int, str]]) -> str:
        """The text from the last call's end up to an offset, or to the end of the replacement there.

        ``changes`` are begin, end and new words of the replacements, in any order. One that overlaps another is left
        out: of a number that held more than one finding, and of one that was seen twice.
        """
        pieces: list[str] = []
        for start, stop, new in sorted(changes):
            if start >= self._done:
                pieces += (self._text[self._done : start], new)
                self._done = stop
        if end > self._done:
            pieces.append(self._text[self._done : end])
            self._done = end
        return "".join(pieces)


def merged(findings: Iterable[Finding]) -> Iterator[tuple[str, int, int]]:
    """The spans that overlapping findings cover together, each under the name of the longest."""
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


class Sighting(NamedTuple):
    """A finding in a file.

    Attributes:
        line, column: where it begins, from 1, in characters.
        end_line, end_column: where it ends; the column is that of the character after it.
        path: where in its JSON it stands (``$.result.rows[3].mail``), with ``*`` for a name that might tell too much;
            "" in other text.
    """

    source: str  # the file
    line: int
    column: int
    end_line: int
    end_column: int
    path: str
    kind: Kind  # ``"injection"``, ``"pii"`` or ``"secrets"``
    name: str  # what it is, by the detector's own names
    verdict: Literal["flag", "block"]  # ``"block"`` for secrets and where the text is an injection, else ``"flag"``
    detail: str  # why it counts
    decoded: str | None  # what an injection says in code; None where it does not, and for every other kind


class Looked(NamedTuple):
    """The findings in a piece, or in a part of it."""

    sightings: list[Sighting]  # in the order of the piece
    raw: bytes  # the part with placeholders for the kinds to redact; empty where there are none
    problem: str | None  # why it is not of the form it was meant to be, in which case it was searched as text; or None
    texts: int  # how many texts were looked through


class Looker:
    """Searches pieces of files for findings of these kinds.

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
        self._span = SPAN

    def look(self, piece: Piece) -> Iterator[Looked]:
        """Search a piece; yields window by window, and the first tells of problems.

        Raises:
            DataError: where more is found in a few thousand characters than detectors list.
        """
        if not piece.raw or piece.raw.isspace():
            yield Looked([], piece.raw if self._redact else b"", None, 0)
            return
        problem, fields = piece.problem, self._fields
        if piece.form is Form.json:
            try:
                text = piece.raw.decode()
                outline = outline_of(text)
            except (DataError, UnicodeDecodeError) as error:
                reason = f"not UTF-8 text (byte {error.start + 1})" if isinstance(error, UnicodeDecodeError) else error
                problem = f"{reason}: looked through as text" if piece.certain else None
            else:
                if fields and outline.kind != "object":
                    fields, problem = frozenset(), "no JSON object: looked through as a whole"
                if outline.tool is not None and len(self._tools) < TOOLS_KNOWN:
                    self._tools[outline.tool[:LONGEST_NAME]] = None
                yield from self._through(piece, text, json_windows(text, outline, fields), problem)
                return
        # Bytes that are no UTF-8 are kept as lone surrogates, which no pattern knows, and become the same bytes again.
        text = piece.raw.decode("utf-8", "surrogateescape")
        yield from self._through(piece, text, [Window([plain_part(text)])], problem)

    def _through(self, piece: Piece, text: str, windows: Iterable[Window], problem: str | None) -> Iterator[Looked]:
        places, replaced = Places(text, piece.source, piece.line), Replaced(text)
        for window in windows:
            located: list[tuple[int, Sighting]] = []
            changes: list[tuple[int, int, str]] = []
            for part in window.parts:
                for start, results in self._scanned(part):
                    redacted: list[Finding] = []
                    for kind in self._kinds:
                        blocks = kind == "secrets" or (kind == "injection" and results[kind].label == "injection")
                        verdict: Literal["flag", "block"] = "block" if blocks else "flag"
                        for finding in results[kind].findings:
                            within = list(part.within(start + finding.start, start + finding.end))
                            if within:  # else it is in the name before a value, and found in the name itself
                                located.append(self._sighting(places, within, kind, finding, verdict))
                        if kind in self._redact:
                            redacted += results[kind].findings
                    if redacted:
                        changes += self._changes(part, start, redacted)
            raw = b""
            if self._redact:
                upto = len(text) if window.last is None else window.last.origin(len(window.last.text))
                raw = replaced.upto(upto, changes).encode("utf-8", "surrogateescape")
            sightings = [sighting for _, sighting in sorted(located, key=itemgetter(0))]
            yield Looked(sightings, raw, problem, len(window.parts))
            problem = None

    def _scanned(self, part: Part) -> Iterator[tuple[int, Mapping[str, Any]]]:
        """The spans of a text: the offset of each, and the findings that begin in it.

        A detector gives up at so many findings in one text: where there are more, spans get shorter.
        """
        text = part.text
        begin = 0
        while True:
            stop = _stop(text, begin, self._span)
            results = self._findings(part, text[begin : stop + OVERLAP])
            if results is None and stop - begin > 1:
                self._span = (stop - begin) // 2
                continue
            if results is None:
                raise DataError(
                    f"more than {LIMITS.findings:,} findings in {OVERLAP:,} characters cannot be told apart"
                )
            most = max(len(results[kind].findings) for kind in self._kinds)
            if stop < len(text):
                # What begins behind the span is found again, whole, in the next one.
                results = {
                    kind: results[kind]._replace(
                        findings=tuple(one for one in results[kind].findings if one.start < stop - begin)
                    )
                    for kind in self._kinds
                }
            yield begin, results
            if most * 4 < LIMITS.findings:
                self._span = min(2 * self._span, SPAN)
            begin = stop
            if begin >= len(text):
                return

    def _findings(self, part: Part, text: str) -> Mapping[str, Any] | None:
        """The findings in a text; None where there are more than a detector lists."""
        tools = self._tools if part.is_result else None
        every = "injection" in self._redact  # of one that is only told of, some places are enough
        try:
            results: Mapping[str, Any] = self._scanner.scan(text, tools=tools, most=LIMITS.findings, every=every)
        except DataError:
            return None
        return None if any(getattr(results[kind], "more", False) for kind in self._kinds) else results

    def _sighting(
        self,
        places: Places,
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
        position = (*places.at(start), *places.at(last.origin(finish)))
        sighting = Sighting(places.source, *position, path, kind, finding.kind, verdict, finding.detail, decoded)
        return start, sighting

    def _changes(self, part: Part, offset: int, findings: list[Finding]) -> Iterator[tuple[int, int, str]]:
        last = max(finding.end for finding in findings)
        taken = " ".join(set(PLACEHOLDER.findall(part.text, offset, offset + max(last, SPAN))))
        for name, start, end in merged(findings):
            placeholder = self._vault.placeholder(name, part.text[offset + start : offset + end], taken)
            for leaf, begin, finish in part.within(offset + start, offset + end):
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
        if known is None and len(key) > LONGEST_NAME:
            return "*"
        if known is None:
            plain = NAME.fullmatch(key) is not None and sum(map(str.isdigit, key)) <= DIGITS_SHOWN
            known = key if plain and not any(self._secret_spans(key)) else "*"
            if len(self._names) < KEYS_KNOWN:
                self._names[key] = known
        return known

    def _shown(self, decoded: str) -> str:
        changes = [(start, end, f"<{name}>") for name, start, end in self._secret_spans(decoded)]
        shown = printable(Replaced(decoded).upto(len(decoded), changes))
        return shown if len(shown) <= DECODED_SHOWN else shown[: DECODED_SHOWN - 1] + "…"

    def _secret_spans(self, text: str) -> Iterator[tuple[str, int, int]]:
        results = self._private.scan(text)
        return merged([finding for kind in PRIVATE for finding in results[kind].findings])


def _stop(text: str, begin: int, span: int) -> int:
    """The end of a span: between two words if there are any near by, else between two groups of encoded characters."""
    stop = begin + span
    if stop >= len(text):
        return len(text)
    near = max(stop - OVERLAP, begin + span // 2)
    last = max(text.rfind("\n", near, stop), text.rfind(" ", near, stop))
    if last >= 0:
        return last + 1
    word = max(text.rfind(sign, begin, stop) for sign in AROUND_CODE)  # -1: it began with the span or before
    between = stop - (stop - max(word + 1, begin)) % GROUPS
    return between if between > begin else stop
