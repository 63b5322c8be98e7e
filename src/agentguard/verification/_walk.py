"""A nested value as leaves by path: the one walk over a result that all checks share; and the layout that it has.

A path names a place in the result's structure, not in one result: list positions are ``[]`` and digits in keys are
``#``, so that ``{"rows": [{"id": 1}]}`` has the path ``rows[].id`` and ``{"card_12": 1}`` has ``card_#``.
"""

from __future__ import annotations

import gc
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, Generic, TypeVar
from zlib import crc32

from agentguard import _forks as forks
from agentguard.verification._canonical import digest

Value = TypeVar("Value")


class Remembered(Generic[Value]):
    """A thread-safe cache; all values together may have the weight ``room``, and none more than a hundredth of it.

    >>> squares: Remembered[int] = Remembered(room=300)
    >>> for n in range(200):
    ...     squares.put(n, n * n, weight=2)
    >>> squares.get(199), squares.get(0), len(squares)
    (39601, None, 150)
    """

    __slots__ = ("_lock", "_room", "_share", "_values", "_weights")

    def __init__(self, room: int) -> None:
        self._room = room
        self._share = room // 100
        self._values: dict[Any, Value] = {}
        self._weights: dict[Any, int] = {}
        self._lock = forks.lock(forks.Rank.LEAF)

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: Any) -> Value | None:
        return self._values.get(key)

    def put(self, key: Any, value: Value, weight: int) -> None:
        """Remember a value, and forget the oldest ones as far as it needs their room."""
        if weight > self._share:
            return
        with self._lock:
            if key in self._values:
                return
            self._values[key] = value
            self._weights[key] = weight
            self._room -= weight
            while self._room < 0:
                oldest = next(iter(self._values))
                del self._values[oldest]
                self._room += self._weights.pop(oldest)


MAX_LEAVES: Final = 1_500  # values of one result; profiles set it as ``max_nodes``
MAX_KEYS: Final = 200  # of one object
MAX_KEY_LENGTH: Final = 80  # characters
MAX_PATH_LENGTH: Final = 200  # beyond it a checksum stands for the beginning
MAX_CHARACTERS: Final = 1_000_000  # of the keys and paths of all objects that are remembered
HEAVY: Final = 1 << 26  # characters
LONG: Final = 100  # rows of a list, from which on texts in them may be too many
MAX_DEPTH: Final = 24  # levels
HEAD: Final = 10  # list elements looked at from the front,
TAIL: Final = 2  # list elements looked at from the front and from the back
MOST_REFERRED: Final = 1 << 18  # objects in what is left out of a walk, by all ways that lead to them
_DIGITS = re.compile(r"\d+")
_CONTAINERS: Final = frozenset({dict, list, tuple})

#: An object's path and its keys in order: what one object looks like from outside.
Form = tuple[str, tuple[str, ...]]

#: Paths and the types below them, by turns: a path and a collection of types, or two tuples of equal length.
Typed = tuple[Any, ...]


class Walk:
    """One walk over a value, and the leaves and forms met.

    Objects that stand in one list are read column by column: rows of a table have the same keys, and the columns of
    such rows are taken apart and typed all at once.

    Attributes:
        leaves: the scalars at each path; none at that of the elements of an empty list. Sampled in long lists, bounded.
        lengths: the elements of all lists at a path, those too that were left out.
        forms: the objects met, each path and order of keys once.
        typed: the paths with the types below them, as ``Typed``; integers count as floats.
        complete: False where something had to be left out.
        is_heavy: it may hold the same object many times over: more nodes than the budget, a long list of long strings,
            or more than can be told in what was left out.
    """

    __slots__ = ("complete", "forms", "is_heavy", "leaves", "left", "lengths", "typed")

    def __init__(self, budget: int = MAX_LEAVES) -> None:
        self.leaves: dict[str, list[Any]] = {}
        self.lengths: dict[str, int] = {}
        self.forms: dict[Form, None] = {}
        self.complete = True
        self.is_heavy = False
        self.left = budget
        self.typed: list[Any] = []

    def visit(self, value: Any) -> None:
        """Walk a value that is JSON's own: dicts with text keys, lists, scalars."""
        if type(value) is dict:
            self._objects((value,), "", 0)
        elif type(value) is list:
            self._arrays((value,), "", 0)
        else:
            self._column("", (value,), 0)

    def _objects(self, values: Sequence[dict[str, Any]], path: str, depth: int) -> None:
        keys = tuple(values[0])
        for value in values:
            if tuple(value) != keys:
                break
        else:
            self._rows(keys, values, path, depth)
            return
        alike: dict[tuple[str, ...], list[dict[str, Any]]] = {}
        for value in values:
            alike.setdefault(tuple(value), []).append(value)
        for keys, rows in alike.items():
            self._rows(keys, rows, path, depth)

    def _rows(self, keys: tuple[str, ...], rows: Sequence[dict[str, Any]], path: str, depth: int) -> None:
        """Objects with the same keys in the same order."""
        if self.left < 0:
            self.is_heavy, self.complete = True, False
            return
        if len(keys) > MAX_KEYS:
            keys, self.complete = keys[:MAX_KEYS], False
            if not self.is_heavy:
                self.is_heavy = any(map(_is_deep, [tuple(row.values())[MAX_KEYS:] for row in rows]))
        names, paths = _inside(path, keys)
        self.forms[path, names] = None
        self.left -= (len(keys) or 1) * len(rows)
        if depth >= MAX_DEPTH or self.left < 0:
            self.is_heavy, self.complete = True, False
            return
        if len(rows) == 1:
            self._fields(paths, tuple(rows[0].values()), depth)
        else:
            for below, column in zip(paths, zip(*[row.values() for row in rows], strict=True), strict=False):
                self._column(below, column, depth)

    def _fields(self, paths: tuple[str, ...], values: tuple[Any, ...], depth: int) -> None:
        leaves = self.leaves
        kinds: list[type] = []
        for below, item in zip(paths, values, strict=False):
            kind = type(item)
            kinds.append(float if kind is int else kind)
            if kind is dict:
                self._objects((item,), below, depth + 1)
            elif kind is list:
                self._arrays((item,), below, depth + 1)
            elif below in leaves:
                leaves[below].append(item)
            else:
                leaves[below] = [item]
        self.typed.append(paths)
        self.typed.append(tuple(kinds))

    def _column(self, path: str, values: Sequence[Any], depth: int) -> None:
        first = type(values[0])
        for value in values:
            if type(value) is not first:
                self._mixed_column(path, values, depth)
                return
        if first is dict:
            self._objects(values, path, depth + 1)
        elif first is list:
            self._arrays(values, path, depth + 1)
        else:
            self._scalars(path, values, (float if first is int else first,))

    def _mixed_column(self, path: str, values: Sequence[Any], depth: int) -> None:
        kinds = {float if type(value) is int else type(value) for value in values}
        if dict not in kinds and list not in kinds:
            self._scalars(path, values, tuple(kinds) if len(kinds) == 1 else frozenset(kinds))
            return
        for part in (
            [value for value in values if type(value) is dict],
            [value for value in values if type(value) is list],
            [value for value in values if type(value) is not dict and type(value) is not list],
        ):
            if part:
                self._column(path, part, depth)

    def _scalars(self, path: str, values: Sequence[Any], kinds: tuple[type, ...] | frozenset[type]) -> None:
        if path in self.leaves:
            self.leaves[path] += values
        else:
            self.leaves[path] = list(values)
        self.typed.append(path)
        self.typed.append(kinds)

    def _arrays(self, values: Sequence[list[Any]], path: str, depth: int) -> None:
        below = _element_path(path)
        self.lengths[path] = self.lengths.get(path, 0) + sum(map(len, values))
        items: list[Any] = []
        for value in values:
            if len(value) > HEAD + TAIL:
                items += value[:HEAD]
                items += value[-TAIL:]
                self.complete = False
                if not self.is_heavy:
                    self.is_heavy = _is_deep(value[HEAD:-TAIL]) or len(value) * _longest(items, len(value)) > HEAVY
            else:
                items += value
        if depth >= MAX_DEPTH or len(items) > self.left:
            self.is_heavy, self.complete = True, False
            items = items[: max(self.left, 0)] if depth < MAX_DEPTH else []
        self.left -= len(items)
        if items:
            self._column(below, items, depth)
        elif not any(values):
            self._scalars(below, (), ())


def _is_deep(items: Iterable[Any]) -> bool:
    """Whether items left out of a walk hold more objects than can be told, counted by all ways that lead to them.

    The collector knows which objects hold others that do: not the rows of a table, of which there are most.
    """
    left = MOST_REFERRED
    inner = [item for item in filter(gc.is_tracked, items) if type(item) in _CONTAINERS]
    while inner:
        left -= len(inner) + sum(map(len, inner))
        if left < 0:
            return True
        inner = [item for item in filter(gc.is_tracked, gc.get_referents(*inner)) if type(item) in _CONTAINERS]
    return False


def _longest(items: Sequence[Any], rows: int) -> int:
    """The length of the longest text among the elements of a list, or in them where they are many objects."""
    first = type(items[0])
    if first is str:
        return max(map(_length, items))
    if first is not dict or rows <= LONG:
        return 0
    return max([max(map(_length, item.values()), default=0) for item in items if type(item) is dict])


def _length(item: Any) -> int:
    return len(item) if type(item) is str else 0


Inside = tuple[tuple[str, ...], tuple[str, ...]]

_known_insides: Remembered[Inside] = Remembered(room=MAX_CHARACTERS)


def _inside(path: str, keys: tuple[str, ...]) -> Inside:
    """The names of an object's keys, each once, and the path below each key: worked out once for each form."""
    inside = _known_insides.get((path, keys))
    if inside is None:
        if any(type(key) is not str for key in keys):
            raise TypeError("a key of a class of its own, whose comparisons would run wherever it is remembered")
        paths = tuple(child_path(path, key) for key in keys)
        inside = tuple(dict.fromkeys(_name(key) for key in keys)), paths
        _known_insides.put((path, keys), inside, weight=100 + sum(map(len, keys)) + sum(map(len, paths)))
    return inside


def _name(key: str) -> str:
    key = key[:MAX_KEY_LENGTH]
    return key if key.isalpha() else _DIGITS.sub("#", key)


@lru_cache(maxsize=8_192)
def child_path(parent: str, key: str) -> str:
    """The path of a key below a parent; remembered, so that equal paths are one object with one hash.

    >>> child_path("cards", "card_4421")
    'cards.card_#'
    """
    if len(key) > MAX_KEY_LENGTH:
        child_path.cache_clear()
    if len(parent) > MAX_PATH_LENGTH:
        parent = f"{crc32(parent.encode()):08x}"
    return f"{parent}.{_name(key)}" if parent else _name(key)


@lru_cache(maxsize=2_048)
def _element_path(parent: str) -> str:
    return f"{parent}[]"


@lru_cache(maxsize=2_048)
def last_name(path: str) -> str:
    """The key that a path ends in.

    >>> last_name("order.items[]")
    'items'
    """
    return path[path.rfind(".") + 1 :].removesuffix("[]")


# --- Layouts ---
#
# A tool's results have one of a few layouts: which objects with which keys, which types at which path. Everything that
# can be said from the layout alone is said here, once, so that a check goes straight to the values it is about.

MAX_PATHS: Final = 10_000  # of all layouts that are remembered
DEEPEST_NAMED: Final = 1  # dots in the path of a value that an argument of the same name is held against

_INNER = frozenset({dict, list})
_PLAIN = frozenset({str, float, bool, type(None), dict, list})

#: A path, and the type of a value there; integers and floats are one type, since JSON does not tell 20 from 20.0.
Fact = tuple[str, type[Any]]


class Layout:
    """One layout. Equal ones are one object while the process remembers it, and count as one afterwards too.

    Attributes:
        described: what ``layout_of`` was given.
        forms: each object's path and its keys in order.
        facts: each path with each type below it.
        empty: the paths of the elements of lists that have none.
        is_plain: all values are of JSON's own types.
        numbers, strings: the paths with numbers, and with strings.
        singles: the paths of numbers and strings outside of lists.
        named: the paths of the top two levels by the name they end in.
        outermost: 64 bits of the first object's path and keys; None where it has fewer than two keys.
    """

    __slots__ = (
        "_hash", "_paths", "described", "empty", "facts", "forms", "is_plain", "named", "numbers", "outermost",
        "singles", "strings",
    )  # fmt: skip

    def __init__(self, forms: tuple[Form, ...], typed: Typed) -> None:
        self.described = forms, typed
        self._hash = hash(self.described)
        self.forms = forms
        self.outermost = digest(repr(forms[0]).encode()) if forms and len(forms[0][1]) > 1 else None
        facts: dict[Fact, None] = {}
        for paths, kinds in zip(typed[::2], typed[1::2], strict=True):
            if type(paths) is str:
                facts.update(dict.fromkeys((paths, kind) for kind in kinds))
            else:
                facts.update(dict.fromkeys(zip(paths, kinds, strict=True)))
        self._paths = len(facts)
        self.empty = tuple(paths for paths, kinds in zip(typed[::2], typed[1::2], strict=True) if paths and not kinds)
        self.is_plain = all(kind in _PLAIN for _, kind in facts)
        self.facts = frozenset(fact for fact in facts if fact[1] not in _INNER)
        self.numbers = tuple(path for path, kind in facts if kind is float)
        self.strings = tuple(path for path, kind in facts if kind is str)
        self.singles = tuple(path for path, kind in facts if (kind is float or kind is str) and "[]" not in path)
        named: dict[str, dict[str, None]] = {}
        for path, kind in facts:
            if kind not in _INNER and path.count(".") <= DEEPEST_NAMED:
                named.setdefault(last_name(path), {})[path] = None
        self.named = {name: tuple(paths) for name, paths in named.items()}

    def __len__(self) -> int:
        """The number of paths, a path with two types counted twice: what the layout takes of memory."""
        return self._paths

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Layout) and self.described == other.described


def layout_of(forms: Iterable[Form], typed: Sequence[Any]) -> Layout:
    """The layout of what a walk has met: its forms, then paths and types by turns (see ``Walk.typed``)."""
    described = tuple(forms), tuple(typed)
    layout = _known.get(described)
    if layout is None:
        layout = Layout(*described)
        _known.put(described, layout, weight=len(layout) + 1)
    return layout


_known: Remembered[Layout] = Remembered(room=MAX_PATHS)


def text_layout_of(forms: Iterable[Form], leaves: Mapping[str, Sequence[Any]]) -> Layout:
    """The layout of what was read from text, where all values are strings."""
    return layout_of(forms, (tuple(leaves), (str,) * len(leaves)))
