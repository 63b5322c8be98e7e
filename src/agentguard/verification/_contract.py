"""A profile compiled into what ``verify`` runs: patterns, schema, field paths and echoes prepared once."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from typing import Any, Final, Literal, NamedTuple

import orjson

from agentguard._linear_patterns import LinearPattern
from agentguard.verification._arguments import Arguments
from agentguard.verification._canonical import plain
from agentguard.verification._document import Document, Limits
from agentguard.verification._output_schema import MOST_SEARCHED, backtracking, compiled
from agentguard.verification._read_back import ReadBack
from agentguard.verification._sides import normal
from agentguard.verification.profile import EACH, FieldPath, ToolProfile, place_of
from agentguard.verification.types import NotLookedAt

SECONDS: Final = 0.1  # that one search for a pattern by backtracking may take
SHORTEST: Final = 3  # characters of a part that is found within a word by more than chance
LONG: Final = 32  # characters, from which on a text comes back with other breaks and quotes
MAX_FINDS: Final = 100  # of a part in one value
MAX_COMPARED: Final = 10_000  # pairs of an argument and another value; beyond them values are equal or not
_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?", re.ASCII)
_NO_WORD = re.compile(r"[\W_]+")


class Rows(NamedTuple):
    """The number of values at a declared place, and of those that are the argument's."""

    total: int
    alike: int


class EchoRule(NamedTuple):
    """A declared echo, compiled.

    Attributes:
        argument, path: where the argument stands and where the result repeats it, as declared.
        rows: of several values, whether ``any`` or ``every`` one must be the argument's; None: as in the past.
        place: the argument's place as a walk names it (see ``FieldPath.place``).
        where: the name under which the past of its rows is learned.
        steps: those of ``path``.
        result_place: the path's place as a walk names it.
    """

    argument: str
    path: str
    rows: Literal["any", "every"] | None
    place: str
    where: str
    steps: tuple[str, ...]
    result_place: str

    @classmethod
    def compile(cls, argument: str, path: str, rows: Literal["any", "every"] | None) -> EchoRule:
        """The rule of one entry of a profile's ``echoes``."""
        place = place_of(path)
        asked = place_of(argument)
        return cls(argument, path, rows, asked, f"{asked} {place}", FieldPath.parse(path).steps, place)

    def rows_of(self, arguments: Arguments, args: Any, document: Document) -> Rows | None:
        """Count the values at the declared place; None where the argument or the place is absent, which says nothing.

        ``args`` are the arguments as they were given: of many values ``arguments`` holds the first.
        """
        texts = [text for path, text in arguments.values if path == self.place]
        if not arguments.complete:
            steps = FieldPath.parse(self.argument).steps
            texts = [text for value in values_at(plain(args), self.argument, steps) if (text := normal(value))]
        if not texts:
            return None
        asked = frozenset(texts)
        total = alike = compared = 0
        for value in self._values(document):
            if value is None or (isinstance(value, str) and not value.strip()):
                continue
            total += 1
            if normal(value) in asked:
                alike += 1
            elif compared < MAX_COMPARED:
                compared += len(texts)
                alike += any(repeats(text, value) for text in texts)
        return Rows(total, alike) if total else None

    def _values(self, document: Document) -> Sequence[Any]:
        if document.is_structured:
            return values_at(document.value, self.path, self.steps)
        return document.leaves.get(place_of(self.path), ())


def values_at(value: Any, name: str, steps: tuple[str, ...]) -> list[Any]:
    """The scalars at a path; at the end of it a list stands for its elements, and a key of that very name counts too.

    >>> values_at({"rows": [{"id": 1}, {"id": None}, {}]}, "rows[].id", ("rows", "[]", "id"))
    [1, None]
    """
    values: list[Any] = []
    if isinstance(value, dict) and name in value and len(steps) > 1:
        _take_scalars(value[name], values)
    _take_below(value, steps, values)
    return values


def _take_below(value: Any, steps: tuple[str, ...], values: list[Any]) -> None:
    for position, step in enumerate(steps):
        if step == EACH:
            if isinstance(value, list):
                below = steps[position + 1 :]
                for item in value:
                    _take_below(item, below, values)
            return
        if not isinstance(value, dict) or step not in value:
            return
        value = value[step]
    _take_scalars(value, values)


def _take_scalars(value: Any, values: list[Any]) -> None:
    if isinstance(value, list):
        values += [item for item in value if not isinstance(item, (dict, list))]
    elif not isinstance(value, dict):
        values.append(value)


def repeats(text: str, value: Any) -> bool:
    """A value is the argument's (``text``, as ``normal`` makes it), or one of them is a part of the other.

    Numbers are compared as numbers, and are no part of longer ones; what is shorter than three characters is a part
    only as a word of its own.

    >>> repeats("s-1", "S-1 (blue)"), repeats("s-1", "S-10"), repeats("4711", "ORD-0004711"), repeats("12.5", 12.50)
    (True, False, True, True)
    """
    other = value.strip().lower() if isinstance(value, str) else normal(value)
    if text == other or not other:
        return text == other
    if _NUMBER.fullmatch(text) and _NUMBER.fullmatch(other):
        return Decimal(text) == Decimal(other)
    if _is_part(text, other) or _is_part(other, text):
        return True
    if len(text) <= LONG or len(other) <= LONG:
        return False
    text, other = _NO_WORD.sub("", text), _NO_WORD.sub("", other)
    return text in other or other in text


def _is_part(part: str, whole: str) -> bool:
    start = whole.find(part)
    for _ in range(MAX_FINDS):
        if start < 0:
            return False
        before, after = start - 1, start + len(part)
        if part[0].isdigit():
            while before >= 0 and whole[before] == "0":  # 4711 is 0004711
                before -= 1
        begins = before < 0 or not _goes_on(whole[before], part[0], part)
        if begins and (after == len(whole) or not _goes_on(whole[after], part[-1], part)):
            return True
        start = whole.find(part, start + 1)
    return False


def _goes_on(neighbour: str, edge: str, part: str) -> bool:
    """The number, or the short word, that a part ends in does not end there."""
    if edge.isdigit():
        return neighbour.isdigit()
    return len(part) < SHORTEST and neighbour.isalnum()


UNREGISTERED_LATENCY_MS = (2.0, 60_000.0)  # the document's, for a tool without a profile
INSTANT_MS: Final = 2.0  # the document's: no answer over a network is sooner
MAX_REWRITTEN: Final = 1 << 20  # bytes: to write a large result anew takes ten times as long as to read it


class Patterns:
    """Some declared patterns, of which at least one is to be found, in bounded time.

    ``re2`` takes linear time. What needs lookaround or backreferences is searched by ``regex``, which knows Python's
    syntax and can be stopped: the first 20,000 bytes, a tenth of a second a pattern.
    """

    __slots__ = ("_compiled", "_linear")

    def __init__(self, patterns: tuple[str, ...], engine: str) -> None:
        self._linear = engine == "re2"
        self._compiled: list[Any] = [LinearPattern(each) if self._linear else backtracking(each) for each in patterns]

    def found_in(self, text: bytes) -> bool:
        """At least one is found in the text, or in the part of it that is searched.

        Raises:
            NotLookedAt: where none was found, and one could not be searched to the end.
        """
        if self._linear:
            # One by one, since a search ends at its first match, while re2's Set reads the whole text every time.
            return any(pattern.search(text) is not None for pattern in self._compiled)
        readable = text[:MOST_SEARCHED].decode("utf-8", "replace")
        stopped = False
        for pattern in self._compiled:
            try:
                if pattern.search(readable, timeout=SECONDS) is not None:
                    return True
            except TimeoutError:
                stopped = True
        if stopped:
            raise NotLookedAt(f"a pattern was not searched to its end within {SECONDS} s")
        return False

    def covers(self, size: int) -> bool:
        """All of a text of this size is searched."""
        return self._linear or size <= MOST_SEARCHED


class Contract:
    """The declarations of one tool, ready to be held against a result.

    An unregistered tool has a contract too, with nothing declared in it; ``declared`` is False there.

    Attributes:
        declares: something is declared of what a result holds: fields, a schema, patterns, echoes, content, or of what
            another call says of it.
        read_backs: the calls that are to be made after one of this tool.
        closed: the profile's ``on_error`` is ``closed``.
        lengths: the least and the most bytes of a result, None where none is declared.
        declared_ms: the shortest and the longest time that the profile's user has set; 0 and infinity where none is.
        latency_ms: the range that reference mode holds a call to: its document has defaults of its own.
    """

    __slots__ = (
        "_patterns", "_schema", "closed", "declared", "declared_ms", "declares", "echoes", "forbidden", "has_patterns",
        "latency_ms", "lengths", "limits", "profile", "read_backs", "required",
    )  # fmt: skip

    def __init__(self, profile: ToolProfile, *, declared: bool = True) -> None:
        self.profile = profile
        self.closed = profile.on_error == "closed"
        self.lengths = profile.min_response_length, profile.max_response_length
        self.has_patterns = bool(profile.response_patterns)
        self.declared = declared
        self.limits = Limits(profile.max_bytes, profile.max_nodes)
        self.latency_ms = profile.expected_latency_ms
        self.declared_ms = _declared_ms(profile) if declared else (0.0, math.inf)
        self.required = [(name, FieldPath.parse(name).steps) for name in profile.required_fields]
        self.forbidden = [(name, FieldPath.parse(name).steps) for name in profile.forbidden_fields]
        self.echoes = tuple(EchoRule.compile(name, echo.path, echo.rows) for name, echo in profile.echoes.items())
        schema = profile.output_schema
        self._schema = None if schema is None else compiled(schema, profile.regex_engine)
        self._patterns = Patterns(profile.response_patterns, profile.regex_engine)
        self.read_backs = tuple(
            ReadBack(declared) for declared in (profile.confirm, profile.against) if declared is not None
        )
        self.declares = bool(
            self.has_fields or self.has_patterns or self.has_schema or self.echoes or profile.content
            or self.read_backs
        )  # fmt: skip

    @classmethod
    def unregistered(cls, tool: str) -> Contract:
        """The contract of a tool without a profile."""
        name = tool.encode("utf-8", "replace").decode() or "?"  # a lone surrogate is no text to pydantic
        return cls(ToolProfile(name=name, expected_latency_ms=UNREGISTERED_LATENCY_MS), declared=False)

    @property
    def has_fields(self) -> bool:
        return bool(self.required or self.forbidden)

    @property
    def has_schema(self) -> bool:
        return self._schema is not None

    def excuses(self, document: Document, *, flagged: bool) -> bool:
        """Whether the result is an error that is not held to what is declared of answers.

        It is where the framework itself has said so (``flagged``), or where the profile has ``allow_errors`` and the
        result reads like an error. Text that merely reads like one is no excuse: anything can be written so.
        """
        return flagged or (document.is_error and self.profile.allow_errors)

    def field_violations(self, document: Document) -> list[str]:
        """One sentence for each required field that is absent and each forbidden field that is there."""
        value = document.value
        missing = [name for name, steps in self.required if not _has(value, name, steps)]
        present = [name for name, steps in self.forbidden if _has(value, name, steps, any)]
        if not missing and not present:
            return []
        messages = [f"required field {name!r} is missing" for name in missing]
        return messages + [f"forbidden field {name!r} is present" for name in present]

    def schema_violation(self, document: Document) -> str | None:
        """Say where and why the result departs from the declared JSON Schema, without quoting the result.

        Raises:
            NotLookedAt: where that cannot be told within bounds.
        """
        try:
            if self._schema is None or self._schema.is_valid(document.value):
                return None
            return self._schema.departure(document.value, document.size) or None
        except NotLookedAt:
            raise
        except Exception as error:  # of the validator, on values that it was not made for
            raise NotLookedAt(f"output_schema could not be held against it: {type(error).__name__}") from None

    def matches_a_pattern(self, document: Document) -> bool:
        """At least one declared pattern is found in what is searched, compact or with JSON's usual spaces.

        Raises:
            NotLookedAt: where none was found, and one could not be searched to the end.
        """
        if self._patterns.found_in(document.text):
            return True
        if not document.is_structured or document.size > MAX_REWRITTEN:
            return False
        value = document.value if document.kind == "lines" else orjson.loads(document.text)  # lines may be cut off
        return self._patterns.found_in(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))

    def unsearched(self, document: Document) -> str:
        """Why a pattern that was not found may be there all the same, in words; "" where it is not."""
        if not self._patterns.covers(document.size):
            return f"regex_engine: re searches the first {MOST_SEARCHED:,} of {document.size:,} bytes"
        if document.is_structured and document.size > MAX_REWRITTEN:
            return f"of more than {MAX_REWRITTEN:,} bytes only the compact form is searched"
        return "" if document.kind == "large" else document.unread


def _declared_ms(profile: ToolProfile) -> tuple[float, float]:
    """The bounds that the profile's user has set; the documented 2 ms where a network is declared to be crossed."""
    given = profile.model_fields_set
    low, high = profile.expected_latency_ms if "expected_latency_ms" in given else (0.0, math.inf)
    if profile.has_network_io and "has_network_io" in given:
        low = max(low, INSTANT_MS)
    return 0.0 if profile.cacheable else low, high


Quantifier = Callable[[Iterable[object]], bool]


def _has(value: Any, name: str, steps: tuple[str, ...], of_elements: Quantifier = all) -> bool:
    """The field is there: as a key of that very name, or by path; ``[]`` asks it of every (or any) list element."""
    if isinstance(value, dict):
        if name in value:
            return True
        if len(steps) == 1 and steps[0] != EACH:
            return steps[0] in value
    return _reaches(value, steps, of_elements)


def _reaches(value: Any, steps: tuple[str, ...], of_elements: Quantifier) -> bool:
    for position, step in enumerate(steps):
        if step == EACH:
            below = steps[position + 1 :]
            return isinstance(value, list) and of_elements(_reaches(item, below, of_elements) for item in value)
        if not isinstance(value, dict) or step not in value:
            return False
        value = value[step]
    return True
