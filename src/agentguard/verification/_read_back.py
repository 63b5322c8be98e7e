"""A call held against a second one: what a write has left behind, or what another source says of the same.

What a profile declares as ``confirm`` and ``against``, compiled. The second call is made by whoever can make calls (see
``guard._read_back``); what it is asked, and what its answer says of the first one, is told here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from decimal import Decimal, DecimalException
from typing import Any, Final, Literal, NamedTuple

from agentguard.verification._canonical import plain
from agentguard.verification._document import LONGEST_TEXT, Document, read
from agentguard.verification.profile import (
    EACH,
    CallReference,
    DeclaredConfirmation,
    DeclaredSecondSource,
    FieldPath,
    is_reference,
)
from agentguard.verification.types import ToolCall

SHOWN: Final = 3  # fields that a sentence names
MOST_LEVELS: Final = 64  # of a value that is compared
EXACT: Final = Decimal("1e-9")  # share of a number that a conversion to binary and back may cost
MISSING: Final[Any] = object()

_NUMBER = re.compile(r"[+-]?\d{1,40}(?:\.\d{1,40})?(?:e[+-]?\d{1,3})?", re.ASCII | re.IGNORECASE)
_NO_SUCH = re.compile(
    r"\b(?:not[ _-]?found|no such|(?:does|do|did)(?: not|n't) exist|(?:cannot|can't|could not) (?:be )?f(?:i|ou)nd"
    r"|no \w+(?: \w+){0,3} (?:found|exists?|with)|nothing found|404|nonexistent|unknown (?:\w+ )?id)\b",
    re.IGNORECASE,
)
#: What was not found is not what was asked for, but the way to ask.
_NO_WAY = re.compile(r"\b(?:tool|function|method|module|host|server|endpoint|route|command)s?\b", re.IGNORECASE)

State = Literal["agrees", "differs", "absent", "unknown", "not asked"]


class Reading(NamedTuple):
    """The answer of a second call on a first one.

    Attributes:
        kind: ``confirm`` for a write that was read back, ``against`` for a second source.
        tool: the tool that was asked.
        state: it ``agrees``, it ``differs``, what should be there is ``absent``; ``unknown`` where it could not be
            asked or its answer cannot be gone by, ``not asked`` where there is nothing to ask about.
        detail: in one sentence that holds no value of either answer.
        fields: the fields in which the two differ.
        calls: how often it was asked.
        milliseconds: the time that this took in all; None where it was not measured.
        told: it agrees in a value of its own, and not only in what it was asked with.
        confirmed: the places of the first call's result that it stands for where it agrees: those whose value it tells,
            and the ids that it was asked with.
    """

    kind: Literal["confirm", "against"]
    tool: str
    state: State
    detail: str
    fields: tuple[str, ...] = ()
    calls: int = 0
    milliseconds: float | None = None
    told: bool = False
    confirmed: tuple[str, ...] = ()

    @property
    def is_broken(self) -> bool:
        """It speaks against the call."""
        return self.state in ("absent", "differs")

    def as_dict(self) -> dict[str, Any]:
        """The same as plain data for a record: a call of the guard's own, and no content."""
        about = {} if self.milliseconds is None else {"milliseconds": round(self.milliseconds, 3)}
        return {"kind": self.kind, "tool": self.tool, "by": "guard", "state": self.state, "calls": self.calls, **about}


class ReadBack:
    """One declared read-back, compiled.

    Attributes:
        kind: the field of the profile that declares it.
        tool: the tool that is asked.
        tolerance, within, timeout: as declared (see ``DeclaredConfirmation``).
    """

    __slots__ = ("_args", "_expected", "_places", "kind", "timeout", "tolerance", "tool", "within")

    def __init__(self, declared: DeclaredConfirmation | DeclaredSecondSource) -> None:
        self.tool: str = declared.tool
        self.tolerance: Decimal = Decimal(str(declared.tolerance))
        self.timeout: float | None = declared.timeout
        self.within: float = 0.0
        self._args: Mapping[str, Any] = declared.args
        self._expected: list[tuple[FieldPath, Any]] | None = None
        if isinstance(declared, DeclaredConfirmation):
            self.kind: Literal["confirm", "against"] = "confirm"
            self.within = declared.within
            expect = declared.expect
        else:
            self.kind = "against"
            expect = {theirs: str(CallReference("result", FieldPath.parse(own).steps))
                      for own, theirs in declared.fields.items()}  # fmt: skip
        if expect is not None:
            self._expected = [(FieldPath.parse(path), wanted) for path, wanted in expect.items()]
        # The places of the call's result that it asks with, or looks for in the answer.
        templates = _scalars([list(self._args.values()), list((expect or {}).values())])
        references = [CallReference.parse(text) for text in templates if isinstance(text, str) and is_reference(text)]
        places = [FieldPath(steps).place for side, steps in references if side == "result"]
        self._places: tuple[str, ...] = tuple(dict.fromkeys(places))

    # --- What is asked ---

    def question(self, call: ToolCall) -> dict[str, Any] | Reading:
        """The arguments of the second call; or why there is none."""
        document = read(call.result)
        if call.is_error or document.is_error:
            return self._reading("not asked", "the call says itself that it failed")
        sides = {"args": plain(call.args), "result": document.value}
        asked: dict[str, Any] = {}
        for name, template in self._args.items():
            value, gone = _filled(template, sides)
            if gone is None:
                asked[name] = value
            elif isinstance(template, str) and CallReference.parse(template).side == "args":
                continue  # an argument that was left out is left out here too
            elif self.kind == "against":
                return self._reading("not asked", f"the call has no {gone} to ask {self.tool} for")
            else:
                return self._reading("unknown", f"what it did cannot be looked up: it has no {gone}")
        return asked

    def _reading(self, state: State, detail: str, fields: tuple[str, ...] = ()) -> Reading:
        return Reading(self.kind, self.tool, state, detail, fields)

    @property
    def call(self) -> str:
        """The second call in words: its arguments by name, no values."""
        return f"{self.tool}({', '.join(f'{name}=…' for name in self._args)})"

    # --- What the answer says ---

    def failed(self, reason: str) -> Reading:
        """The reading where the second call could not be made, or has no answer that can be gone by."""
        what = "it could not be confirmed" if self.kind == "confirm" else "it could not be compared"
        return self._reading("unknown", f"{what}: {self.call} {reason}")

    def nothing(self, call: ToolCall) -> Reading:
        """The reading where the second call finds nothing."""
        if self.kind == "against":  # another source need not know all that the first one does
            return self._reading("not asked", f"{self.call} knows nothing of it")
        return self._reading("absent", f"{call.tool} answered as if it were done, but {self.call} finds no such thing")

    def held(self, call: ToolCall, answer: Any, *, is_error: bool = False) -> Reading:
        """Hold a call against the answer of the second one, which failed if its framework says so (``is_error``)."""
        document = read(answer)
        error = is_error or document.is_error
        if _finds_nothing(document, error=error):
            return self.nothing(call)
        if error:
            return self.failed("answered with an error")
        sides = {"args": plain(call.args), "result": read(call.result).value}
        if self._expected is None:
            compared, differ = self._unlike_arguments(sides["args"], document)
        else:
            compared = [_filled(template, sides)[0] for _, template in self._expected]
            differ = self._unlike_expected(self._expected, sides, document)
        if not differ:
            return self._agreement(sides, compared)
        named = f"{', '.join(differ[:SHOWN])}{', …' if len(differ) > SHOWN else ''}"
        if self.kind == "against":
            return self._reading("differs", f"{self.call} says otherwise: {named}", tuple(differ))
        said = f"{call.tool} answered as if it were done, but {self.call} does not read what was written"
        return self._reading("differs", f"{said}: {named}", tuple(differ))

    def _unlike_expected(
        self, expected: list[tuple[FieldPath, Any]], sides: Mapping[str, Any], answer: Document
    ) -> list[str]:
        """The declared paths at which the answer has not what it should; those of one list are held to one element."""
        groups: dict[tuple[str, ...], list[tuple[str, tuple[str, ...], Any]]] = {}
        for path, template in expected:
            value, gone = _filled(template, sides)
            if gone is not None:
                if self.kind == "confirm":
                    continue  # an argument that was not given writes nothing
                value = MISSING
            steps = path.steps
            last = max((place + 1 for place, step in enumerate(steps) if step == EACH), default=0)
            groups.setdefault(steps[:last], []).append((str(path), steps[last:], value))
        differ: list[str] = []
        for prefix, wanted in groups.items():
            if not answer.is_structured:
                differ += [name for name, steps, value in wanted if not self._said(value, (*prefix, *steps), answer)]
                continue
            # Of the elements of a list the one that is nearest counts.
            unlike: list[list[str]] = [
                [name for name, steps, value in wanted if not self._same(value, _value_at(element, steps))]
                for element in _elements(answer.value, prefix)
            ]
            everything = [name for name, _, _ in wanted]
            nearest: list[str] = min(unlike, key=len, default=everything)
            differ += nearest
        return differ

    def _said(self, value: Any, steps: tuple[str, ...], answer: Document) -> bool:
        """A text says the value: at its place where it has such, else anywhere in it."""
        there = answer.leaves.get(FieldPath(steps).place)
        if there:
            return any(self._same(value, each) for each in there)
        text = _as_text(answer.text.decode("utf-8", "replace"))
        if _as_number(value) is not None:
            return any(self._same(value, word) for word in _NUMBER.findall(text))
        return not isinstance(value, str) or re.search(rf"(?<!\w){re.escape(_as_text(value))}(?!\w)", text) is not None

    def _unlike_arguments(self, args: Any, answer: Document) -> tuple[list[Any], list[str]]:
        """The arguments that have a field of their name, and which it contradicts, in the likeliest object."""
        if not isinstance(args, dict) or not answer.is_structured:
            return [], []
        given = {name: value for name, value in args.items() if value not in (None, "", [], {})}
        best: tuple[list[Any], list[str]] | None = None
        for candidate in _objects(answer.value, given.keys()):
            shared = [name for name in given if name in candidate]
            unlike = [name for name in shared if not self._same(given[name], candidate[name])]
            if best is None or len(unlike) < len(best[1]):
                best = [given[name] for name in shared], unlike
        return best or ([], [])

    def _agreement(self, sides: Mapping[str, Any], compared: list[Any]) -> Reading:
        """The reading where nothing differs, given the values that were looked for in the answer."""
        said = "reads what was written" if self.kind == "confirm" else "says the same"
        asked = {_as_text(value) for value in _scalars([_filled(item, sides)[0] for item in self._args.values()])}
        if not any(_as_text(value) not in asked for value in _scalars(compared)):
            return self._reading("agrees", f"{self.call} {said}")
        named = ", ".join(filter(None, self._places[:SHOWN]))
        reading = self._reading("agrees", f"{self.call} {said}{': ' * bool(named)}{named}")
        return reading._replace(told=True, confirmed=self._places)

    def _same(self, written: Any, found: Any) -> bool:
        return agree(written, found, self.tolerance)


def _filled(template: Any, sides: Mapping[str, Any]) -> tuple[Any, str | None]:
    """A template with the values of a call in it, and in words the first value that the call has not."""
    if isinstance(template, str):
        if not is_reference(template):
            return template, None
        side, steps = CallReference.parse(template)
        value = _value_at(sides[side], steps)
        if value is MISSING or value is None:
            path = str(FieldPath(steps))
            if side == "args":
                return None, f"argument {path}" if path else "arguments"
            return None, f"{path} in its result" if path else "result"
        return value, None
    if isinstance(template, Mapping):
        pairs = {name: _filled(item, sides) for name, item in template.items()}
        gone = next((missing for _, missing in pairs.values() if missing is not None), None)
        return {name: value for name, (value, _) in pairs.items()}, gone
    if isinstance(template, (list, tuple)):
        items = [_filled(item, sides) for item in template]
        return [value for value, _ in items], next((missing for _, missing in items if missing is not None), None)
    return template, None


def _scalars(value: Any) -> Iterator[Any]:
    """The scalars of a value, but null and empty text."""
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, Mapping):
            pending += item.values()
        elif isinstance(item, (list, tuple)):
            pending += item
        elif item is not None and item != "" and item is not MISSING:
            yield item


def _value_at(value: Any, steps: tuple[str, ...]) -> Any:
    """The value at a path, ``MISSING`` where there is none; behind ``[]`` the list of those that there are."""
    for position, step in enumerate(steps):
        if step == EACH:
            if not isinstance(value, list):
                return MISSING
            below = [_value_at(item, steps[position + 1 :]) for item in value]
            return [item for item in below if item is not MISSING]
        if not isinstance(value, dict):
            return MISSING
        dotted = ".".join(steps[position:])
        if dotted in value and EACH not in steps[position:]:
            return value[dotted]
        if step not in value:
            return MISSING
        value = value[step]
    return value


def _elements(value: Any, steps: tuple[str, ...]) -> Iterator[Any]:
    """The elements of the lists at a path that ends with ``[]``; the value itself for no path."""
    if not steps:
        yield value
        return
    if steps[0] == EACH:
        for item in value if isinstance(value, list) else ():
            yield from _elements(item, steps[1:])
    elif isinstance(value, dict) and steps[0] in value:
        yield from _elements(value[steps[0]], steps[1:])


def _objects(value: Any, names: Any) -> Iterator[dict[str, Any]]:
    """The objects of an answer that may be what was written: itself, its elements, or what it is wrapped around."""
    for _ in range(MOST_LEVELS):
        if isinstance(value, list):
            yield from (item for item in value if isinstance(item, dict))
            return
        if not isinstance(value, dict):
            return
        if any(name in value for name in names):
            yield value
            return
        inner = [item for item in value.values() if isinstance(item, (dict, list))]
        if len(inner) != 1:
            return
        value = inner[0]


def _finds_nothing(answer: Document, *, error: bool) -> bool:
    """The answer is empty, or says that there is no such thing."""
    value = answer.value
    if answer.kind == "empty":
        return True
    if isinstance(value, dict):
        if any(value.get(name) is False for name in ("found", "exists")):
            return True
        if len(value) == 1 and next(iter(value.values())) in (None, "", [], {}):
            return True
    return (error or not answer.is_structured) and says_no_such(answer.text.decode("utf-8", "replace"))


def says_no_such(text: str) -> bool:
    """A short text says that what was asked for is not there.

    >>> says_no_such("Order O-17 was not found"), says_no_such("rate limit exceeded"), says_no_such("no such tool")
    (True, False, False)
    """
    return len(text) <= LONGEST_TEXT and _NO_SUCH.search(text) is not None and _NO_WAY.search(text) is None


def agree(written: Any, found: Any, tolerance: Decimal = Decimal(0)) -> bool:
    """Tell whether what was found is what was written.

    Numbers are compared as numbers, also where one of them is written as text, times as instants, texts without case
    and outer space; null is as good as nothing. An object may have more fields than were written; a list has the same
    elements in the same order.

    >>> agree(12.5, "12.50"), agree({"a": 1}, {"a": 1, "id": 7}), agree([1, 2], [2, 1]), agree("x", MISSING)
    (True, True, False, False)
    >>> agree("2026-03-01T10:00:00Z", "2026-03-01T11:00:00+01:00"), agree(100, 99, Decimal("0.02"))
    (True, True)
    """
    pending = [(written, found, 0)]
    while pending:
        one, other, level = pending.pop()
        if level > MOST_LEVELS:
            return False
        if isinstance(one, dict) and isinstance(other, dict):
            pending += [(item, other.get(name, MISSING), level + 1) for name, item in one.items()]
        elif isinstance(one, list) and isinstance(other, list):
            if len(one) != len(other):
                return False
            pending += [(item, beside, level + 1) for item, beside in zip(one, other, strict=True)]
        elif not _same_scalar(one, other, tolerance):
            return False
    return True


def _same_scalar(one: Any, other: Any, tolerance: Decimal) -> bool:
    if one is MISSING or other is MISSING or one is None or other is None:
        return one in (MISSING, None) and other in (MISSING, None)
    if isinstance(one, (dict, list)) or isinstance(other, (dict, list)):
        return False
    left, right = _as_number(one), _as_number(other)
    if left is not None and right is not None:
        most = max(abs(left), abs(right))
        return abs(left - right) <= max(tolerance, EXACT) * most
    text, beside = _as_text(one), _as_text(other)
    if text == beside:
        return True
    instant = _as_instant(text)
    return instant is not None and instant == _as_instant(beside)


def _as_instant(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text.upper().replace("Z", "+00:00"))
    except ValueError:
        return None


def _as_number(value: Any) -> Decimal | None:
    if isinstance(value, bool):
        return None
    text = value.strip() if isinstance(value, str) else repr(value) if isinstance(value, (int, float)) else ""
    if not text or len(text) > 100 or _NUMBER.fullmatch(text) is None:
        return None
    try:
        return Decimal(text)
    except DecimalException:
        return None


def _as_text(value: Any) -> str:
    return " ".join(str(value).split()).lower()
