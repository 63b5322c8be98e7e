"""Where a result contradicts what its tool's results had at the same path: another type, or a value for a structure.

A new field beside the old ones is what interfaces come by. A field that was a number in all of ``n`` results and is a
string now is something else: before it happened, its chance in the next genuine result is put at
``(0 + 1/2) / (n + 3/2)``, and how often such things do happen in this tool's genuine calls is left to the signal's
recalibration. Null says that there is no value, and contradicts nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from .layout import Fact

__all__ = ["contradicted"]

_SCALARS: tuple[type, ...] = (float, str, bool)


def contradicted(new: Iterable[Fact], missing: Iterable[Fact], known: Mapping[Fact, int]) -> tuple[int, str]:
    """In how many results a path had what it has not now, and the path; (0, "") without a contradiction.

    Args:
        new: what was never seen.
        missing: what most results have and this one has not.
        known: how many results had what.

    >>> contradicted([("price", str)], [("price", float)], {("price", float): 40})
    (40, 'price')
    >>> contradicted([("price.amount", float)], [("price", float)], {("price", float): 40})
    (40, 'price')
    >>> contradicted([("currency", str)], [], {("price", float): 40})
    (0, '')
    """
    most, where = 0, ""
    gone = set(missing)
    for path, kind in new:
        seen, at = 0, path
        for other in _SCALARS:
            if other is not kind and kind is not type(None):
                seen = max(seen, known.get((path, other), 0))
        if not seen:
            seen, at = _was_scalar(path, gone, known)
        if not seen and kind is not type(None):
            seen, at = _was_structure(path, gone, known), path
        if seen > most or (seen == most and seen and at < where):
            most, where = seen, at
    return most, where


def _was_scalar(path: str, gone: set[Fact], known: Mapping[Fact, int]) -> tuple[int, str]:
    """The new path lies within what used to be a scalar, or an element of a list of scalars."""
    end = len(path)
    while end > 0:
        end = max(path.rfind(".", 0, end), path.rfind("[]", 0, end))
        if end <= 0:
            break
        above = path[:end]
        for kind in _SCALARS:
            if (above, kind) in gone or (above.endswith("[]") and (above, kind) in known):
                return known.get((above, kind), 0), above
    return 0, path


def _was_structure(path: str, gone: set[Fact], known: Mapping[Fact, int]) -> int:
    """A scalar stands where an object or a list used to."""
    seen, length = 0, len(path)
    for below, kind in gone:
        if len(below) > length and below[length] in ".[" and below.startswith(path):
            seen = max(seen, known.get((below, kind), 0))
    return seen
