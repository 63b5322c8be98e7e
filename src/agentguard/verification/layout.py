"""What results of one form have in common, worked out once for all of them.

A tool's results have one of a few layouts: which objects with which keys, which types at which path. Everything that
can be said from the layout alone is said here, once, so that a check goes straight to the values it is about.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from .canonical import digest
from .remembered import Remembered
from .walk import Form, Typed, last_name

__all__ = ["Layout", "layout_of", "text_layout_of"]

MAX_PATHS: Final = 10_000  # of all layouts that are remembered
DEEPEST_NAMED: Final = 1  # dots in the path of a value that an argument of the same name is held against

_CONTAINERS = frozenset({dict, list})
_PLAIN = frozenset({str, float, bool, type(None), dict, list})

#: A path, and the type of a value there; integers and floats are one type, since JSON does not tell 20 from 20.0.
Fact = tuple[str, type[Any]]


class Layout:
    """One layout. Equal layouts are, as a rule, one object: compare and hash by identity.

    Attributes:
        described: what ``layout_of`` was given.
        forms: each object's path and its keys in order.
        facts: each path with each type below it.
        is_plain: all values are of JSON's own types.
        numbers: the paths with numbers.
        strings: the paths with strings.
        singles: the paths of numbers and strings outside of lists.
        named: the paths of the top two levels by the name they end in.
        outermost: 64 bits of the first object's place and keys; None where it has fewer than two keys.
    """

    __slots__ = (
        "_paths",
        "described",
        "facts",
        "forms",
        "is_plain",
        "named",
        "numbers",
        "outermost",
        "singles",
        "strings",
    )

    def __init__(self, forms: tuple[Form, ...], typed: Typed) -> None:
        self.described: tuple[tuple[Form, ...], Typed] = forms, typed
        self.forms: tuple[Form, ...] = forms
        self.outermost: int | None = digest(repr(forms[0]).encode()) if forms and len(forms[0][1]) > 1 else None
        facts: dict[Fact, None] = {}
        for paths, kinds in zip(typed[::2], typed[1::2]):
            if type(paths) is str:
                facts.update(dict.fromkeys((paths, kind) for kind in kinds))
            else:
                facts.update(dict.fromkeys(zip(paths, kinds)))
        self._paths: int = len(facts)
        self.is_plain: bool = all(kind in _PLAIN for _, kind in facts)
        self.facts: frozenset[Fact] = frozenset(fact for fact in facts if fact[1] not in _CONTAINERS)
        self.numbers: tuple[str, ...] = tuple(path for path, kind in facts if kind is float)
        self.strings: tuple[str, ...] = tuple(path for path, kind in facts if kind is str)
        self.singles: tuple[str, ...] = tuple(
            path for path, kind in facts if (kind is float or kind is str) and "[]" not in path
        )
        named: dict[str, dict[str, None]] = {}
        for path, kind in facts:
            if kind not in _CONTAINERS and path.count(".") <= DEEPEST_NAMED:
                named.setdefault(last_name(path), {})[path] = None
        self.named: dict[str, tuple[str, ...]] = {name: tuple(paths) for name, paths in named.items()}

    def __len__(self) -> int:
        """How many paths, a path with two types counted twice: what the layout takes of memory."""
        return self._paths


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
