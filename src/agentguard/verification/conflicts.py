"""Where a result contradicts what its tool's results had at the same path: another type, or a value for a structure.

A new field beside the old ones is what interfaces come by. A field that was a number in all of ``n`` results and is a
string now is something else: before it happened, its chance in the next genuine result is put at
``(0 + 1/2) / (n + 3/2)``, and how often such things do happen in this tool's genuine calls is left to the signal's
recalibration. Null says that there is no value, and contradicts nothing. NaN and the infinities are of the type of
numbers and are none: such a value where there were ``n`` numbers, ``k`` of them of that sort, has the chance
``(k + 1/2) / (n + 3/2)``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from .document import Document
from .formats import NOT_FINITE, not_finite
from .layout import Fact
from .statistics import Categories

__all__ = ["contradicted", "no_number"]

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


def no_number(
    document: Document, known: Mapping[Fact, int], formats: Mapping[str, Categories | None]
) -> tuple[float, str]:
    """The chance of the most unusual NaN or infinity among the numbers of a result, and its path; (1, "") without.

    Args:
        document: the result.
        known: how many results had what.
        formats: by path, how values there were written.
    """
    least, where = 1.0, ""
    for path in not_finite(document):
        numbers, written = known.get((path, float), 0), formats.get(path)
        such = 0 if written is None else sum(written.counts.get(name, 0) for name in NOT_FINITE)
        p = min((such + 0.5) / (numbers + 1.5), 1.0)
        if numbers and p < least:
            least, where = p, path
    return least, where


def _was_scalar(path: str, gone: set[Fact], known: Mapping[Fact, int]) -> tuple[int, str]:
    """The new path lies within what used to be a scalar, or an element of a list of scalars."""
    end = len(path)
    while end > 0:
        end = max(path.rfind(".", 0, end), path.rfind("[]", 0, end))
        if end <= 0:
            break
        above = path[:end]
        for kind in _SCALARS:
            if (above, kind) in gone or ("[]" in above and (above, kind) in known):
                return known.get((above, kind), 0), above  # other elements of a list still have it
    return 0, path


def _was_structure(path: str, gone: set[Fact], known: Mapping[Fact, int]) -> int:
    """A scalar stands where an object or a list used to."""
    seen, length = 0, len(path)
    for below, kind in gone:
        if len(below) > length and below[length] in ".[" and below.startswith(path):
            seen = max(seen, known.get((below, kind), 0))
    return seen
