"""A nested value as leaves by path: the one walk over a result that all checks share.

A path names a place in the result's structure, not in one result: list positions are ``[]`` and digits in keys are
``#``, so that ``{"rows": [{"id": 1}]}`` has the path ``rows[].id`` and ``{"card_12": 1}`` has ``card_#``.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

__all__ = ["Form", "Walk", "child_path", "last_name"]

MAX_LEAVES = 1_500
MAX_KEYS = 200
MAX_KEY_LENGTH = 80
MAX_NAMES_LENGTH = 2_000  # of all keys of an object together
MAX_DEPTH = 24
HEAD, TAIL = 10, 2  # list elements looked at from the front and from the back
_DIGITS = re.compile(r"\d+")

#: An object's path and its keys in order: what one object looks like from outside.
Form = tuple[str, tuple[str, ...]]


class Walk:
    """What one walk has found.

    Attributes:
        leaves: the scalars at each path in order; an empty list counts as None. Sampled in long lists, bounded.
        forms: the objects met, each path and order of keys once.
        complete: False where something had to be left out.
    """

    __slots__ = ("complete", "forms", "leaves", "left")

    def __init__(self) -> None:
        self.leaves: dict[str, list[Any]] = {}
        self.forms: dict[Form, None] = {}
        self.complete = True
        self.left = MAX_LEAVES

    def visit(self, value: Any, path: str = "", depth: int = 0) -> None:
        """Walk a value that is JSON's own: dicts with text keys, lists, scalars."""
        kind = type(value)
        if kind is dict:
            self._object(value, path, depth)
        elif kind is list:
            self._array(value, path, depth)
        else:
            self.leaves.setdefault(path, []).append(value)

    def _object(self, value: dict[str, Any], path: str, depth: int) -> None:
        keys = tuple(value)
        if len(keys) > MAX_KEYS:
            keys, self.complete = keys[:MAX_KEYS], False
        names, paths = _inside(path, keys)
        self.forms[path, names] = None
        self.left -= len(keys) or 1
        if depth >= MAX_DEPTH or self.left < 0:
            self.complete = False
            return
        leaves = self.leaves
        for below, item in zip(paths, value.values(), strict=False):
            kind = type(item)
            if kind is dict:
                self._object(item, below, depth + 1)
            elif kind is list:
                self._array(item, below, depth + 1)
            elif below in leaves:
                leaves[below].append(item)
            else:
                leaves[below] = [item]

    def _array(self, value: list[Any], path: str, depth: int) -> None:
        below = _element_path(path)
        if not value:
            self.leaves.setdefault(below, []).append(None)
            return
        if len(value) > HEAD + TAIL:
            value, self.complete = value[:HEAD] + value[-TAIL:], False
        self.left -= len(value)
        if depth >= MAX_DEPTH or self.left < 0:
            self.complete = False
            return
        for item in value:
            kind = type(item)
            if kind is dict:
                self._object(item, below, depth + 1)
            elif kind is list:
                self._array(item, below, depth + 1)
            else:
                self.leaves.setdefault(below, []).append(item)


@lru_cache(maxsize=4_096)
def _inside(path: str, keys: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of an object's keys, each once, and the path below each key: worked out once for each form."""
    if sum(map(len, keys)) > MAX_NAMES_LENGTH:
        _inside.cache_clear()  # it keeps what it was asked for, and must not fill up with long keys
    paths = tuple(child_path(path, key) for key in keys)
    return tuple(dict.fromkeys(_name(key) for key in keys)), paths


def _name(key: str) -> str:
    key = key[:MAX_KEY_LENGTH]
    return key if key.isalpha() else _DIGITS.sub("#", key)


@lru_cache(maxsize=16_384)
def child_path(parent: str, key: str) -> str:
    """The path of a key below a parent; remembered, so that equal paths are one object with one hash.

    >>> child_path("cards", "card_4421")
    'cards.card_#'
    """
    if len(key) > MAX_KEY_LENGTH:
        child_path.cache_clear()
    return f"{parent}.{_name(key)}" if parent else _name(key)


@lru_cache(maxsize=8_192)
def _element_path(parent: str) -> str:
    return f"{parent}[]"


@lru_cache(maxsize=8_192)
def last_name(path: str) -> str:
    """The key that a path ends in.

    >>> last_name("order.items[]")
    'items'
    """
    return path[path.rfind(".") + 1 :].removesuffix("[]")
