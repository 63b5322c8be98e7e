"""An argument's value decides values of the result: what came with it comes with it again."""

from __future__ import annotations

from typing import Final
from zlib import crc32

from agentguard.verification._relations._relation import MOST_FOREIGN, TRIED, counted, evidence
from agentguard.verification._sides import Side

MOST_ARGUMENTS: Final = 6
MOST_PLACES: Final = 48  # of the result
MOST_ROWS: Final = 192  # argument values that are remembered, of all arguments
MOST_VERSIONS: Final = 4  # results for each
SETTLED: Final = 40  # calls, after which it is looked over at each eighth what says something
LOOKED_OVER: Final = 8


class Counts:
    """How often one argument decided the value at each place: own calls and others', by the place's number."""

    __slots__ = ("foreign_held", "foreign_tried", "held", "telling", "tried")

    def __init__(self) -> None:
        self.telling: list[int] = []  # the places at which another value says something
        self.held = [0] * MOST_PLACES
        self.tried = [0] * MOST_PLACES
        self.foreign_held = [0] * MOST_PLACES
        self.foreign_tried = [0] * MOST_PLACES

    def strength(self, place: int) -> float:
        """Nats against a call that has another value at the place."""
        return evidence(self.held[place], self.tried[place], self.foreign_held[place], self.foreign_tried[place])

    def look_over(self) -> None:
        """Find the places at which another value says something."""
        tried = [place for place, times in enumerate(self.tried) if times >= TRIED]
        self.telling = [place for place in tried if self.strength(place) > 0.0]


class Deciders:
    """Which results each value of an argument had: 8 bits of each value, by place; bounded."""

    __slots__ = ("_paths", "counts", "places", "rows")

    def __init__(self) -> None:
        self.places: dict[str, int] = {}
        self._paths: list[str] = []
        self.counts: dict[str, Counts] = {}
        self.rows: dict[int, bytes] = {}

    def row_of(self, result: Side) -> bytes:
        """A byte for each known place of the result, 0 where it has not one value there; new places are made known."""
        row = bytearray(len(self.places))
        for path in result.paths:
            place = self.places.get(path, -1)
            if place < 0:
                if len(self.places) >= MOST_PLACES or not result.mark(path):
                    continue
                place = self.places[path] = len(row)
                row.append(0)
            row[place] = _byte_of(result.mark(path))
        return bytes(row)

    def broken(self, arguments: Side, result: Side) -> tuple[str, str, float, int, int]:
        """Argument, path, nats, and held of tried, of what says most; ("", "", 0, 0, 0) without."""
        best = ("", "", 0.0, 0, 0)
        paths = self._in_order()
        for path, counts in self.counts.items():
            mark = arguments.mark(path) if counts.telling else 0
            packed = self.rows.get(_key(path, mark)) if mark else None
            if packed is None:
                continue
            known = _unpacked(packed)
            for place in counts.telling:
                if place >= len(paths) or paths[place] not in result.paths:
                    continue
                value = _byte_of(result.mark(paths[place]))
                if value and _agrees(known, place, value) is False:
                    nats = counts.strength(place)
                    if nats > best[2]:
                        best = (path, paths[place], nats, counts.held[place], counts.tried[place])
        return best

    def learn(self, arguments: Side, result: Side, others: list[tuple[Side, bytes]]) -> bytes:
        """Take one genuine call; gives the row of its result.

        Args:
            arguments: its arguments,
            result: and its result.
            others: the arguments of earlier calls, and the rows of their results.
        """
        row = self.row_of(result)
        for path in arguments.paths:
            mark = arguments.mark(path)
            if not mark:
                continue
            counts = self.counts.get(path)
            if counts is None:
                if len(self.counts) >= MOST_ARGUMENTS:
                    continue
                counts = self.counts[path] = Counts()
            key = _key(path, mark)
            packed = self.rows.pop(key, None)  # and put at the end: the first is the one that came least lately
            if packed is None:
                self.rows[key] = _packed([row])
                if len(self.rows) > MOST_ROWS:
                    del self.rows[next(iter(self.rows))]
                continue
            known = _unpacked(packed)
            _count(counts.held, counts.tried, row, known)
            if max(counts.foreign_tried) < MOST_FOREIGN:
                for asked, other in others:
                    if asked.mark(path) != mark:
                        _count(counts.foreign_held, counts.foreign_tried, other, known)
            most = max(counts.tried)
            if most < SETTLED or most % LOOKED_OVER == 0:
                counts.look_over()
            if row in known:
                known.remove(row)
            elif len(known) >= MOST_VERSIONS:
                del known[0]
            known.append(row)
            self.rows[key] = _packed(known)
        return row

    def pack(self) -> None:
        """Close the gaps that what was forgotten has left among the rows, for which they take twice the room."""
        self.rows = dict(self.rows)

    def _in_order(self) -> list[str]:
        """The paths of the places, by their numbers."""
        if len(self._paths) != len(self.places):
            self._paths = sorted(self.places, key=self.places.__getitem__)
        return self._paths


def _byte_of(mark: int) -> int:
    """The eight bits of a mark that are kept; 0 of none alone."""
    return mark & 255 or 1 if mark else 0


def _key(path: str, mark: int) -> int:
    return mark << 32 | crc32(path.encode("utf-8", "surrogatepass"))


def _packed(rows: list[bytes]) -> bytes:
    """The rows as one: how wide they are, then one after the other."""
    width = len(rows[-1])
    return bytes((width,)) + b"".join([row.ljust(width, b"\0") for row in rows])


def is_whole(packed: bytes) -> bool:
    """No row of what was packed is cut off."""
    width = packed[0] if packed else 0
    return (len(packed) - 1) % width == 0 if width else packed == b"\0"


def _unpacked(packed: bytes) -> list[bytes]:
    width = packed[0]
    return [packed[begin : begin + width] for begin in range(1, len(packed), width)] if width else [b""]


def _agrees(known: list[bytes], place: int, value: int) -> bool | None:
    """A known row has this value there; None where none has any."""
    agrees: bool | None = None
    for row in known:
        if place < len(row):
            if row[place] == value:
                return True
            if row[place]:
                agrees = False
    return agrees


def _count(held: list[int], tried: list[int], row: bytes, known: list[bytes]) -> None:
    latest = known[-1]
    for place, value in enumerate(row):
        if value:
            agrees = True if place < len(latest) and latest[place] == value else _agrees(known, place, value)
            if agrees is not None:
                held[place], tried[place] = counted(held[place], tried[place], agrees)
