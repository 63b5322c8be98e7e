"""Profiles held against a log: what they name and no call of it has.

A path that no call has is a slip in nearly every case, and a silent one: a required field that is misspelt blocks every
result, an echo of an argument that is not there is never asked for.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from agentguard.errors import Problem
from agentguard.traces._read import BrokenLine, TraceRow
from agentguard.verification._arguments import Arguments
from agentguard.verification._contract import Contract
from agentguard.verification._document import Document, read
from agentguard.verification.profile import (
    CallReference,
    DeclaredConfirmation,
    DeclaredSecondSource,
    FieldPath,
    ProfileIndex,
    ToolProfile,
    in_order,
    is_reference,
    line_of,
    place_of,
)

if TYPE_CHECKING:
    from agentguard._yaml_files import RawFile


MAX_PATHS: Final = 5_000  # of one profile, that are remembered to tell what is near
SHOWN: Final = 5


class LogCheck:
    """Profiles, each with the file that it stands in, and the calls that are held against them.

    An error report has no answer's fields; a result too large to be read counts as one.
    """

    def __init__(self, profiles: Iterable[tuple[ToolProfile, RawFile]]) -> None:
        self.calls = 0  # calls of tools that have a profile
        self._tools: set[str] = set()
        self._reviews = [_Review(profile, file) for profile, file in profiles]
        self._by_name = {review.profile.name: review for review in self._reviews}
        self._index = ProfileIndex(review.profile for review in self._reviews)

    def push(self, row: TraceRow | BrokenLine) -> None:
        """Hold one line of a log against the profile of its tool."""
        if isinstance(row, BrokenLine):
            return
        _remember(self._tools, (row.call.tool,))
        profile = self._index.find(row.call.tool)
        if profile is None:
            return
        self.calls += 1
        document = read(row.call.result)
        is_answer = not (document.is_error or row.call.is_error or document.kind in ("large", "empty"))
        self._by_name[profile.name].push(Arguments(row.call.args), document if is_answer else None)

    def problems(self) -> list[Problem]:
        """One for each path that no call has, and for each tool that is to be asked and was never called."""
        return in_order(problem for review in self._reviews for problem in review.problems(self._tools))


class _Review:
    """The paths of one profile that calls had."""

    def __init__(self, profile: ToolProfile, file: RawFile) -> None:
        self.profile = profile
        self.file = file
        self.calls = 0
        self.answers = 0
        self._contracts = [Contract(ToolProfile(name="t", required_fields=(path,))) for path in profile.required_fields]
        self._required: Counter[int] = Counter()
        self._arguments: set[str] = set()
        self._places: set[str] = set()

    def push(self, arguments: Arguments, answer: Document | None) -> None:
        self.calls += 1
        _remember(self._arguments, (path for path, _ in arguments.values))
        if answer is None:
            return
        self.answers += 1
        _remember(self._places, answer.leaves)
        for position, contract in enumerate(self._contracts):
            if not self._required[position]:
                self._required[position] += not contract.field_violations(answer)

    def problems(self, tools: set[str]) -> Iterator[Problem]:
        yield from self._unread(tools)
        if self.answers:
            for position, path in enumerate(self.profile.required_fields):
                if not self._required[position]:
                    message = f"no result of {_counted(self.answers)} has {path!r}{_near(path, self._places)}"
                    yield self._problem(("required_fields", position), message)
        for argument, echo in self.profile.echoes.items():
            if self.calls and place_of(argument) not in self._arguments:
                message = f"no call of {_counted(self.calls)} has an argument {argument!r}"
                yield self._problem(("echoes", argument), message + _near(argument, self._arguments))
            if self.answers and place_of(echo.path) not in self._places:
                message = f"no result of {_counted(self.answers)} has a value at {echo.path!r}"
                yield self._problem(("echoes", argument, "path"), message + _near(echo.path, self._places))

    def _unread(self, tools: set[str]) -> Iterator[Problem]:
        """Read-backs of tools that the log does not have, and of values that its calls do not have."""
        for field in ("confirm", "against"):
            declared = getattr(self.profile, field)
            if declared is None or not self.answers:
                continue
            if declared.tool not in tools:
                near = _near(declared.tool, tools - {self.profile.name})
                yield self._problem((field, "tool"), f"no call in the log is of {declared.tool!r}{near}")
            for path, text in _references(declared):
                named = CallReference.parse(text)
                known = self._arguments if named.side == "args" else self._places
                place = FieldPath(named.steps).place
                if place and not any(other == place or other.startswith((f"{place}.", f"{place}[")) for other in known):
                    what = "call" if named.side == "args" else "result"
                    near = _near(place, known)
                    yield self._problem((field, *path), f"no {what} of {_counted(self.answers)} has {text!r}{near}")

    def _problem(self, key: tuple[Any, ...], message: str) -> Problem:
        return Problem(self.file.source, line_of(self.file, key), ".".join(map(str, key)), message)


def _references(declared: DeclaredConfirmation | DeclaredSecondSource) -> Iterator[tuple[tuple[str, ...], str]]:
    """The values of the call that a read-back names itself, each with its place in the declaration."""
    named: list[tuple[str, Mapping[str, Any]]] = [("args", declared.args)]
    if isinstance(declared, DeclaredConfirmation):
        named.append(("expect", declared.expect or {}))
    for field, values in named:
        for key, value in values.items():
            if isinstance(value, str) and is_reference(value):
                yield (field, key), value


def _remember(known: set[str], paths: Iterable[str]) -> None:
    if len(known) < MAX_PATHS:
        known.update(paths)


def _counted(calls: int) -> str:
    return f"{calls:,} in the log"


def _near(path: str, known: set[str]) -> str:
    """Similar paths that calls have, the likeliest first."""
    near = difflib.get_close_matches(path, sorted(known), n=SHOWN, cutoff=0.5) or sorted(known)[:SHOWN]
    return f"; there {'is' if len(near) == 1 else 'are'} {', '.join(near)}" if near else ""


# --- The difference between two sets of profiles, field by field, and whether it makes the guard stricter ---
#
# ``stricter``: a result may keep the old declaration and break the new one, never the other way round; ``looser``: the
# reverse. Where that cannot be told (one pattern in place of another, a part of a schema below ``not`` or ``anyOf``),
# the effect is empty.

Effect = Literal["stricter", "looser", ""]
Kind = Literal["added", "removed", "changed"]

_OPPOSITE: Final[dict[Effect, Effect]] = {"stricter": "looser", "looser": "stricter", "": ""}
_SETS: Final[dict[str, Effect]] = {
    "aliases": "", "required_fields": "stricter", "forbidden_fields": "stricter", "response_patterns": "looser",
}  # fmt: skip
"""Fields that are lists without an order, and what one member more does to a list that is not empty."""
_SWITCHES: Final[dict[str, Effect]] = {
    "has_network_io": "stricter", "cacheable": "looser", "stateful": "looser", "allow_errors": "looser",
}  # fmt: skip
_BOUNDS: Final[dict[str, Effect]] = {
    "min_response_length": "stricter", "max_response_length": "looser",
    "minimum": "stricter", "exclusiveMinimum": "stricter", "minLength": "stricter", "minItems": "stricter",
    "minProperties": "stricter",
    "max_blocks": "stricter", "max_flags": "stricter",
    "maximum": "looser", "exclusiveMaximum": "looser", "maxLength": "looser", "maxItems": "looser",
    "maxProperties": "looser",
}  # fmt: skip
"""Numbers, and what a higher one does. Without one there is no bound."""
_NAMED_SCHEMAS: Final = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
_SUBSCHEMAS: Final = frozenset(
    {"items", "additionalProperties", "contains", "propertyNames", "not", "if", "then", "else", "unevaluatedItems"}
    | {"unevaluatedProperties", "contentSchema"}
)
_CONJUNCTIVE: Final = frozenset({"properties", "patternProperties", "items", "additionalProperties", "propertyNames"})
_ASSERTIONS: Final = frozenset({"type", "enum", "const", "pattern", "required", "multipleOf", "uniqueItems", *_BOUNDS})
_ANNOTATIONS: Final = frozenset(
    {"title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "format"}
    | {"$comment", "$defs", "$id", "$schema", "definitions"}
)
_ABSENT: Final[Any] = object()


class Change(NamedTuple):
    """One difference. ``old`` and ``new`` are plain data; ``kind`` tells which of them is there."""

    field: str
    path: tuple[str, ...]
    kind: Kind
    old: Any
    new: Any
    effect: Effect

    @property
    def place(self) -> str:
        """Field and path, as a person would write it.

        >>> Change("output_schema", ("properties", "id", "type"), "added", None, "string", "stricter").place
        'output_schema.properties.id.type'
        """
        return ".".join((self.field, *self.path))


class ProfileDiff(NamedTuple):
    """The difference between two sets of profiles: tools by name, and the changed fields of those in both."""

    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: Mapping[str, tuple[Change, ...]]

    @property
    def is_same(self) -> bool:
        """Nothing differs."""
        return not (self.added or self.removed or self.changed)

    def as_dict(self) -> dict[str, Any]:
        """The same as plain data, ready for JSON."""
        return {
            "same": self.is_same,
            "added": list(self.added),
            "removed": list(self.removed),
            "changed": [
                {"tool": tool, "changes": [{**change._asdict(), "path": list(change.path)} for change in changes]}
                for tool, changes in self.changed.items()
            ],
        }


def diff_profiles(old: Iterable[ToolProfile], new: Iterable[ToolProfile]) -> ProfileDiff:
    """Compare profiles tool by tool; the order of profiles, and of lists that have none, does not matter."""
    before, after = ({profile.name: profile for profile in profiles} for profiles in (old, new))
    changed = {
        name: changes
        for name in sorted(before.keys() & after.keys())
        if (changes := tuple(_changes(before[name], after[name])))
    }
    return ProfileDiff(
        tuple(sorted(after.keys() - before.keys())), tuple(sorted(before.keys() - after.keys())), changed
    )


def _changes(old: ToolProfile, new: ToolProfile) -> Iterator[Change]:
    before, after = old.model_dump(mode="json"), new.model_dump(mode="json")
    for field in ToolProfile.model_fields:
        a, b = before[field], after[field]
        if field == "expected_latency_ms":
            yield from _latency(old, new)
        elif field in _SETS:
            yield from _members(field, (), a, b, _SETS[field] if a and b else "stricter" if _SETS[field] else "")
        elif field == "output_schema":
            yield from _schema(_ABSENT if a is None else a, _ABSENT if b is None else b, (), sure=True)
        elif isinstance(a, dict):
            yield from _mapping(field, a, b)
        elif a != b:
            yield Change(field, (), _kind(a is not None, b is not None), a, b, _effect_of_value(field, a, b))


def _latency(old: ToolProfile, new: ToolProfile) -> Iterator[Change]:
    """Whether it was declared matters too: below 2 ms, a declared time weighs more than the default one."""
    (low, high), (new_low, new_high) = old.expected_latency_ms, new.expected_latency_ms
    declared = ["expected_latency_ms" in profile.model_fields_set for profile in (old, new)]
    if (low, high) == (new_low, new_high) and declared[0] == declared[1]:
        return
    narrower = new_low >= low and new_high <= high and declared[1] >= declared[0]
    wider = new_low <= low and new_high >= high and declared[1] <= declared[0]
    effect: Effect = "stricter" if narrower else "looser" if wider else ""
    kind = _kind(declared[0] or not declared[1], declared[1] or not declared[0])
    yield Change("expected_latency_ms", (), kind, [low, high], [new_low, new_high], effect)


def _kind(was_there: bool, is_there: bool) -> Kind:
    return "changed" if was_there and is_there else "removed" if was_there else "added"


def _effect_of_value(field: str, old: Any, new: Any) -> Effect:
    if field in ("on_error", "on_change"):
        return "stricter" if new in ("closed", "hold") else "looser"
    if field in _SWITCHES:
        return _SWITCHES[field] if new else _OPPOSITE[_SWITCHES[field]]
    if field in _BOUNDS:
        if old is None or new is None:
            return "stricter" if old is None else "looser"
        return _BOUNDS[field] if new > old else _OPPOSITE[_BOUNDS[field]]
    return ""


def _members(field: str, path: tuple[str, ...], old: list[Any], new: list[Any], more: Effect) -> Iterator[Change]:
    for member in old:
        if member not in new:
            yield Change(field, path, "removed", member, None, _OPPOSITE[more])
    for member in new:
        if member not in old:
            yield Change(field, path, "added", None, member, more)


def _mapping(field: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Change]:
    """Echoes and content scanners: one more is one rule more."""
    for name in dict.fromkeys((*old, *new)):
        if name not in new:
            yield Change(field, (name,), "removed", old[name], None, "looser")
        elif name not in old:
            yield Change(field, (name,), "added", None, new[name], "stricter")
        elif old[name] != new[name]:
            yield Change(field, (name,), "changed", old[name], new[name], _effect_of_rule(old[name], new[name]))


def _effect_of_rule(old: Any, new: Any) -> Effect:
    """The effect of another reply to a finding, or of another number of rows that must repeat an argument."""
    if (old, new) in (("flag", "block"), ("block", "flag")):
        return "stricter" if new == "block" else "looser"
    (path, rows), (new_path, new_rows) = (
        (echo.get("path"), echo.get("rows")) if isinstance(echo, dict) else (echo, None) for echo in (old, new)
    )
    if path != new_path or None in (rows, new_rows):
        return ""  # the rows of the past may have been any or all of them
    return "stricter" if new_rows == "every" else "looser"


def _schema(old: Any, new: Any, path: tuple[str, ...], *, sure: bool) -> Iterator[Change]:
    """Differences of two schemas at one place; ``sure`` where a value that breaks the part breaks the whole."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        # What is no property's is an additional one's: a property more may free what had to keep a stricter rule.
        rest_matters = any(
            "additionalProperties" in schema or "unevaluatedProperties" in schema for schema in (old, new)
        )
        for keyword in dict.fromkeys((*old, *new)):
            a, b, below = old.get(keyword, _ABSENT), new.get(keyword, _ABSENT), (*path, keyword)
            if _same(a, b):
                continue
            clear = sure and keyword in _CONJUNCTIVE
            if keyword in _NAMED_SCHEMAS and all(isinstance(part, Mapping) or part is _ABSENT for part in (a, b)):
                named, new_named = ({} if part is _ABSENT else part for part in (a, b))
                for name in dict.fromkeys((*named, *new_named)):
                    both = name in named and name in new_named
                    one, other = named.get(name, _ABSENT), new_named.get(name, _ABSENT)
                    yield from _schema(one, other, (*below, name), sure=clear and (both or not rest_matters))
            elif keyword in _SUBSCHEMAS:
                yield from _schema(a, b, below, sure=clear)
            else:
                yield from _keyword(keyword, a, b, below, sure=sure)
        return
    if not _same(old, new):
        effect: Effect = ""
        if sure and _asserts(old) != _asserts(new):
            effect = "stricter" if _asserts(new) else "looser"
        elif sure and (old is False or new is False):
            effect = "stricter" if new is False else "looser"
        yield _change(path, old, new, effect)


def _asserts(schema: Any) -> bool:
    """There is a value that breaks the schema, as far as its keywords show."""
    if isinstance(schema, Mapping):
        return any(keyword not in _ANNOTATIONS for keyword in schema)
    return schema is False


def _keyword(keyword: str, old: Any, new: Any, path: tuple[str, ...], *, sure: bool) -> Iterator[Change]:
    if keyword == "required" and all(isinstance(value, list) or value is _ABSENT for value in (old, new)):
        before, after = ([] if value is _ABSENT else value for value in (old, new))
        yield from _members("output_schema", path, before, after, "stricter" if sure else "")
        return
    effect: Effect = ""
    if sure and keyword in _ASSERTIONS:
        if old is _ABSENT or new is _ABSENT:
            effect = "stricter" if old is _ABSENT else "looser"
        elif keyword == "type":
            effect = _effect_of_choice(_with_integers(old), _with_integers(new))
        elif keyword == "enum":
            effect = _effect_of_choice(old, new)
        elif keyword in _BOUNDS and all(isinstance(value, (int, float)) for value in (old, new)):
            effect = _BOUNDS[keyword] if new > old else _OPPOSITE[_BOUNDS[keyword]]
    yield _change(path, old, new, effect)


def _effect_of_choice(old: Any, new: Any) -> Effect:
    a, b = (value if isinstance(value, list) else [value] for value in (old, new))
    fewer, more = (all(any(_same(one, other) for other in of) for one in part) for part, of in ((b, a), (a, b)))
    return "" if fewer == more else "stricter" if fewer else "looser"


def _with_integers(types: Any) -> list[Any]:
    """The types, where every integer is a number."""
    named = types if isinstance(types, list) else [types]
    return [*named, "integer"] if "number" in named and "integer" not in named else named


def _change(path: tuple[str, ...], old: Any, new: Any, effect: Effect) -> Change:
    kind = _kind(old is not _ABSENT, new is not _ABSENT)
    return Change("output_schema", path, kind, None if old is _ABSENT else old, None if new is _ABSENT else new, effect)


def _same(old: Any, new: Any) -> bool:
    """Equal as JSON: true is not 1."""
    if isinstance(old, bool) or isinstance(new, bool):
        return old is new
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        return old.keys() == new.keys() and all(_same(old[name], new[name]) for name in old)
    if isinstance(old, list) and isinstance(new, list):
        return len(old) == len(new) and all(map(_same, old, new))
    return bool(old == new)
