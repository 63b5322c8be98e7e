"""Whether holding a result against a JSON Schema may take far longer than the two are long.

A validator walks a schema along with the result, and where two branches of an ``anyOf`` lead to the same part of the
schema at the same place of the result, it walks that part twice. In a schema that refers to itself it does so again one
level below: two to the power of the result's depth. ``Expression = And | Or``, both with operands that are expressions,
is such a schema.

The schema is taken for an automaton: a state for each part, a transition for each step into the result (a key, an
element). What is asked is whether some word leads from one state to another by two ways, on a cycle: with two pebbles
that read the same word and part company.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

__all__ = ["takes_too_many_routes"]

MOST_ROUTES: Final = 1_000  # to what a part of the schema holds against the same place of a result
MOST_IN_ALL: Final = 10_000  # to all parts of a schema without cycles
MOST_STEPS: Final = 1_000_000  # of the search
ANY, LATER, NAMES = "any", "later", "names"

_LISTS: Final = ("allOf", "anyOf", "oneOf")
_SINGLES: Final = ("not", "if", "then", "else")
_MAPS: Final = ("dependentSchemas", "dependencies")
#: What refers to other parts of a schema in ways that are not followed here.
_UNUSUAL: Final = ("$dynamicRef", "$recursiveRef", "$anchor", "$dynamicAnchor")


class _Untold(Exception):
    """It cannot be told, or not soon enough."""


class _Step(NamedTuple):
    """A step from a value to one within it, and the part of the schema that holds there.

    Attributes:
        kind: ``key``, ``element``, ``names`` (of the keys themselves).
        which: the key, the element's number; ``any`` for all, ``later`` for all but ``others``.
        others: the keys that are others', or how many elements are.
        target: the part of the schema.
    """

    kind: str
    which: str | int
    others: frozenset[str] | int
    target: Any

    @property
    def is_general(self) -> bool:
        """It is not of one key or element alone."""
        return self.which in (ANY, LATER)

    def meets(self, other: _Step) -> bool:
        """Whether some step is both."""
        if self.kind != other.kind:
            return False
        if self.which == ANY or other.which == ANY:
            return True
        if self.which == LATER:
            return other.which == LATER or _is_beyond(other.which, self.others)
        return self.which == other.which if other.which != LATER else _is_beyond(self.which, other.others)


def _is_beyond(which: str | int, others: frozenset[str] | int) -> bool:
    if isinstance(others, int):
        return not isinstance(which, int) or which >= others
    return which not in others


def takes_too_many_routes(schema: Any) -> bool:
    """A part of the schema may be held against the same place of a result more than a thousand times.

    Also where that cannot be told: a schema with anchors, dynamic references or parts with an ``$id`` of their own.

    >>> tree = {"properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}}}
    >>> takes_too_many_routes(tree), takes_too_many_routes({"anyOf": [tree, {"type": "null"}]})
    (False, False)
    >>> takes_too_many_routes({"anyOf": [tree, {**tree, "required": ["right"]}]})
    True
    """
    if not isinstance(schema, dict) or not _refers(schema):
        return False  # it is a tree, and walked as often as it is large
    try:
        return _Automaton(schema).is_ambiguous()
    except (_Untold, RecursionError):
        return True


class _Automaton:
    """A schema as states and steps; a state is the ``id`` of a part of the schema."""

    def __init__(self, root: dict[str, Any]) -> None:
        self._root = root
        self._left = MOST_STEPS
        self._steps: dict[int, list[_Step]] = {}
        self._index: dict[int, tuple[dict[tuple[Any, ...], list[int]], list[int]]] = {}
        pending = [root]
        while pending:
            part = pending.pop()
            if id(part) not in self._steps:
                found: list[dict[str, Any]] = []
                self._in_place(part, (), found)
                steps = [step for each in found for step in self._into(each)]
                self._spend(len(found) + len(steps))
                self._steps[id(part)] = steps
                pending += [step.target for step in steps]

    def _spend(self, steps: int) -> None:
        self._left -= steps
        if self._left < 0:
            raise _Untold

    def _in_place(self, part: Any, above: tuple[int, ...], found: list[dict[str, Any]]) -> None:
        """All that holds at the same place of a result, each as often as there are routes to it."""
        if not isinstance(part, dict) or id(part) in above:
            return
        if len(found) >= MOST_ROUTES or any(name in part for name in _UNUSUAL) or (above and "$id" in part):
            raise _Untold
        found.append(part)
        inside = (*above, id(part))
        if "$ref" in part:
            self._in_place(self._resolved(part["$ref"]), inside, found)
        for name in _LISTS:
            for each in _listed(part.get(name)):
                self._in_place(each, inside, found)
        for name in _SINGLES:
            self._in_place(part.get(name), inside, found)
        for name in _MAPS:
            for each in _mapped(part.get(name)).values():
                self._in_place(each, inside, found)

    def _resolved(self, reference: Any) -> Any:
        if not isinstance(reference, str) or not (reference == "#" or reference.startswith("#/")):
            raise _Untold
        part: Any = self._root
        for step in reference.split("/")[1:]:
            name = unquote(step).replace("~1", "/").replace("~0", "~")
            try:
                part = part[int(name)] if isinstance(part, list) else part[name]
            except (LookupError, ValueError, TypeError):
                raise _Untold from None
        return part

    @staticmethod
    def _into(part: dict[str, Any]) -> Iterator[_Step]:
        """The steps from a value to those within it."""
        nothing: frozenset[str] = frozenset()
        named = _mapped(part.get("properties"))
        for name, each in named.items():
            if isinstance(each, dict):
                yield _Step("key", f"={name}", nothing, each)  # a key may be called "any"
        for each in _mapped(part.get("patternProperties")).values():
            if isinstance(each, dict):
                yield _Step("key", ANY, nothing, each)
        if isinstance(part.get("additionalProperties"), dict):
            others = frozenset(f"={name}" for name in named)
            yield _Step("key", LATER, others, part["additionalProperties"])
        if isinstance(part.get("propertyNames"), dict):
            yield _Step("names", ANY, nothing, part["propertyNames"])
        for name, kind in (
            ("unevaluatedProperties", "key"),
            ("contains", "element"),
            ("unevaluatedItems", "element"),
        ):
            if isinstance(part.get(name), dict):
                yield _Step(kind, ANY, nothing, part[name])
        first = [*_listed(part.get("prefixItems")), *_listed(part.get("items"))]
        for number, each in enumerate(first):
            if isinstance(each, dict):
                yield _Step("element", number, 0, each)
        for name in ("items", "additionalItems"):
            if isinstance(part.get(name), dict):
                yield _Step("element", LATER, len(first), part[name])

    def is_ambiguous(self) -> bool:
        """Some word leads from one state to another by too many ways."""
        lasting = self._lasting()
        if self._meets_again(lasting, lasting):
            return True
        return self._meets_again({id(self._root)}, set(self._steps)) and self._routes(self._root, {}) > MOST_IN_ALL

    def _lasting(self) -> set[int]:
        """The states on cycles, and those on the way from one to another."""
        after = {state: {id(step.target) for step in steps} for state, steps in self._steps.items()}
        left = set(after)
        while True:
            self._spend(len(left))
            entered = {target for state in left for target in after[state]}
            kept = {state for state in left if state in entered and not left.isdisjoint(after[state])}
            if kept == left:
                return left
            left = kept

    def _meets_again(self, starts: set[int], targets: set[int]) -> bool:
        """Two pebbles on one of these states part, read the same word, and meet on one of those."""
        pending = [(start, start, False) for start in starts]
        known = set(pending)
        while pending:
            one, other, apart = pending.pop()
            for number, step in enumerate(self._steps[one]):
                for place in self._beside(step, other):
                    # Where they have not parted yet, one order of the two is enough.
                    if (place < number and not apart) or not step.meets(self._steps[other][place]):
                        continue
                    target = self._steps[other][place].target
                    parted = apart or place != number
                    below = (id(step.target), id(target), parted)
                    if parted and step.target is target and below[0] in targets:
                        return True
                    if below not in known:
                        known.add(below)
                        pending.append(below)
        return False

    def _beside(self, step: _Step, state: int) -> Sequence[int]:
        """The steps from a state that may meet this one, by their places."""
        named, general = self._indexed(state)
        places = range(len(self._steps[state])) if step.is_general else [*named.get(step[:2], ()), *general]
        self._spend(1 + len(places))
        return places

    def _indexed(self, state: int) -> tuple[dict[tuple[Any, ...], list[int]], list[int]]:
        if state not in self._index:
            named: dict[tuple[Any, ...], list[int]] = {}
            general: list[int] = []
            for place, step in enumerate(self._steps[state]):
                (general if step.is_general else named.setdefault(step[:2], [])).append(place)
            self._index[state] = named, general
        return self._index[state]

    def _routes(self, part: Any, known: dict[int, int]) -> int:
        """How many parts the schema has when what is referred to is written out, cycles once."""
        state = id(part)
        if state not in known:
            known[state] = 0  # of a cycle
            found: list[dict[str, Any]] = []
            self._in_place(part, (), found)
            below = sum(self._routes(step.target, known) for step in self._steps[state])
            known[state] = min(len(found) + below, MOST_IN_ALL + 1)
        return known[state]


def _refers(schema: dict[str, Any]) -> bool:
    """Some object in the schema has a key of a reference, whatever it means there."""
    pending: list[Any] = [schema]
    while pending:
        part = pending.pop()
        if isinstance(part, dict):
            if any(name in part for name in ("$ref", *_UNUSUAL)):
                return True
            pending += part.values()
        elif isinstance(part, list):
            pending += part
    return False


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _mapped(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
