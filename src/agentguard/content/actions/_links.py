"""Links: what an identifier in a call's arguments stands for, by the results of earlier calls.

A search returns ``[{"id": "e1", "title": "Lunch Jonas"}, {"id": "e2", "title": "Lunch Johanna"}]``; who then cancels
``e2`` has cancelled Johanna's lunch, whatever is said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final, NamedTuple

from agentguard.content.actions._ledger import Deed, leaves
from agentguard.content.actions._tools import bases_of, pieces_of

MOST_RECORDS: Final = 500
DEEPEST: Final = 5
LONGEST_ID: Final = 40
MOST_TEXT: Final = 5_000  # characters of a result whose lines are records
_ID: Final = re.compile(r"(?=[\w.@:/-]*\d)[\w.@:/-]*\w|[\w.+-]+@[\w.-]+\w")
_NAMED: Final = frozenset({"id", "number", "ref", "key", "code"})  # arguments whose bare number is an identifier


class Record(NamedTuple):
    """A record of a result: an object of a list, or a line.

    Attributes:
        ids: its identifiers, in small letters.
        bases: the bases of its words.
    """

    ids: frozenset[str]
    bases: frozenset[str]


class Linked(NamedTuple):
    """The things that the identifiers of a call stand for.

    Attributes:
        own: the bases of the words of the records that have one of them.
        others: those of the other records beside them.
    """

    own: frozenset[str]
    others: frozenset[str]


class Links:
    """The records of a session's results, by their identifiers.

    Args:
        done: the calls, in their order.
    """

    def __init__(self, done: Sequence[Deed]) -> None:
        self._done = done
        self._linked: dict[int, Linked] = {}

    def of(self, deed: Deed) -> Linked:
        """Find what the identifiers of a call's arguments stand for in the results before it."""
        if deed.number not in self._linked:
            self._linked[deed.number] = self._find(deed)
        return self._linked[deed.number]

    def _find(self, deed: Deed) -> Linked:
        ids = _ids_of(deed)
        numbers = {number for each in ids for number in self._having.get(each, ()) if number < deed.number}
        beside = [record for number in numbers for record in self._records[number]]
        return Linked(
            frozenset[str]().union(*(record.bases for record in beside if record.ids & ids)),
            frozenset[str]().union(*(record.bases for record in beside if not record.ids & ids)),
        )

    @cached_property
    def _records(self) -> dict[int, Sequence[Record]]:
        """The first records, by the numbers of their calls."""
        records: dict[int, Sequence[Record]] = {}
        left = MOST_RECORDS
        for deed in self._done:
            if left <= 0:
                break
            records[deed.number] = _records_of(deed)[:left]
            left -= len(records[deed.number])
        return records

    @cached_property
    def _having(self) -> dict[str, set[int]]:
        """The numbers of the calls that have a record with an identifier."""
        having: dict[str, set[int]] = {}
        for number, records in self._records.items():
            for record in records:
                for each in record.ids:
                    having.setdefault(each, set()).add(number)
        return having


def _ids_of(deed: Deed) -> frozenset[str]:
    """The identifiers in a call's arguments, read once."""
    if deed.texts.ids is None:
        deed.texts.ids = frozenset(_ids(deed.call.args))
    return deed.texts.ids


def _records_of(deed: Deed) -> tuple[Record, ...]:
    """The records of a call's result, read once."""
    if deed.texts.records is None:
        deed.texts.records = tuple(_records(deed))
    return deed.texts.records


def _records(deed: Deed) -> Iterator[Record]:
    """The records of a call's result; one alone tells nothing apart."""
    pieces: list[Any] = list(_objects(deed.call.result, DEEPEST))
    if not pieces and isinstance(deed.call.result, str):
        pieces = [piece for line in re.split(r"[;\n|]", deed.result[:MOST_TEXT]) for piece in _parted(line)]
    if len(pieces) > 1:
        for piece in pieces[:MOST_RECORDS]:
            text = " ".join(str(value) for _, value in leaves(piece))
            yield Record(frozenset(_ids(piece)), bases_of(re.findall(r"[a-z]+", text.casefold())))


def _parted(line: str) -> list[str]:
    """The records of a line: the pieces between its commas, where more than one has an identifier.

    >>> _parted("WO-702 leak, WO-703 blinds"), _parted("WO-702 leak, kitchen")
    (['WO-702 leak', ' WO-703 blinds'], ['WO-702 leak, kitchen'])
    """
    pieces = line.split(",")
    if sum(_ID.search(piece) is not None for piece in pieces) > 1:
        return pieces
    return [line] if line.strip() else []


def _objects(value: Any, depth: int) -> Iterator[Mapping[Any, Any]]:
    """The objects of a value's lists."""
    if depth and isinstance(value, Mapping):
        for held in list(value.values())[:100]:
            yield from _objects(held, depth - 1)
    elif depth and isinstance(value, list):
        for held in value[:MOST_RECORDS]:
            if isinstance(held, Mapping):
                yield held


def _ids(value: Any) -> Iterator[str]:
    """The identifiers in a value, in small letters."""
    for name, held in leaves(value):
        if isinstance(held, str) and len(held) <= LONGEST_ID and " " not in held:
            yield held.casefold()
        elif isinstance(held, str):
            yield from (each.casefold() for each in _ID.findall(held[:MOST_TEXT]))
        elif isinstance(held, int) and not isinstance(held, bool) and bases_of(pieces_of(name)) & _NAMED:
            yield str(held)
