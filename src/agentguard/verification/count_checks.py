"""Whether counts of calls, from a file or from other workers, can be so: no part is more than its whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from agentguard.errors import DataError

from .census import field, parts

__all__ = ["MAX_COUNT", "check_counts", "is_count"]

MAX_COUNT: Final = 1 << 53
_CALLS: Final = field("calls")
_BUCKETS: Final = range(-1_000, 14_000)  # 1.05 to this power is a float
_FIELDS: Final[Mapping[str, tuple[Any, ...]]] = {
    "calls": (), "errors": (), "untimed": (), "left out": (), "latency": (int,), "kind": (str,), "size": (str, int),
    "fact": (str, str, str), "keys": (str, str, list), "word": (str, str), "ending": (str, str),
    "relation": (str, str, str, str, int),
}  # fmt: skip


def is_count(name: str, count: Any) -> bool:
    """A field of a census and how often it was counted; fields of newer versions are let pass.

    >>> is_count('["latency",95]', 3), is_count('["latency"]', 3), is_count('["calls"]', -1)
    (True, False, False)
    """
    if type(count) is not int or not 0 < count <= MAX_COUNT:
        return False
    what, *rest = parts(name)
    forms = _FIELDS.get(what)
    if forms is None:
        return bool(what)  # of a newer version, and passed over
    if len(rest) != len(forms):
        return False
    for part, form in zip(rest, forms):
        if type(part) is not form or (form is list and not all(type(one) is str for one in part)):
            return False
    return what not in ("latency", "size") or int(rest[-1]) in _BUCKETS


def check_counts(fields: Any) -> None:
    """The counts of a tool's calls: each is one, and none counts more than there were.

    Raises:
        DataError: naming the field that is wrong.

    >>> check_counts({'["calls"]': 3, '["errors"]': 1, '["kind","object"]': 2, '["fact","object","id","str"]': 2})
    """
    if not isinstance(fields, dict) or not fields:
        raise DataError("fields must be an object of counts")
    sums: Counter[tuple[Any, ...]] = Counter()
    for name, count in fields.items():
        if not is_count(name, count):
            raise DataError(f"{name[:60]!r} is no count of calls")
        what, *rest = parts(name)
        if what in _FIELDS:
            sums[_summed(what, rest, name)] += count
    for (_, kind, name), count in sums.items():
        of = fields.get(_CALLS, 0) if kind is None else fields.get(field("kind", kind), 0)
        if count > of:
            raise DataError(
                f"{name[:60]!r} is counted {count:,} times in {of:,} {'calls' if kind is None else 'results'}"
            )


def _summed(what: str, rest: Sequence[Any], name: str) -> tuple[Any, ...]:
    """What a field is added up with, of which kind of result (None: of calls), and by what name it is told of."""
    if what in ("fact", "keys", "word"):
        return what, rest[0], name
    if what == "relation":
        return (what, *rest[:4]), None, name
    if what in ("size", "ending"):
        return what, rest[0], what
    if what in ("untimed", "latency"):
        return "time", None, "latency"
    return ("answer", None, "kind") if what in ("kind", "errors") else (what, None, what)
