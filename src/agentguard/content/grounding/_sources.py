"""What tool results say, laid out for tracing: every leaf with its path, every value, and what stands together.

Results are read as they come: JSON-like values, or text that is JSON, a Python literal, lines of ``key: value``, or
prose. A *record* is what belongs together: one object, one item of a list, one line or sentence of prose.
"""

from __future__ import annotations

import ast
import math
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from sys import intern
from typing import Any, Final, NamedTuple

import orjson

from agentguard._foreign import raised_by
from agentguard._limits import LIMITS
from agentguard.content._text import written
from agentguard.content.grounding._values import (
    COUNTED,
    PERCENT,
    Moment,
    Quantity,
    Reading,
    Unit,
    decimal_mark,
    of_epoch,
    plain,
    read,
    stems,
    stems_of_key,
    unit_of_key,
    window,
)

# --- Numbers by value, and how likely one is met by chance ---


class Match(NamedTuple):
    """A number that a quantity can stand for.

    Attributes:
        place: its place in the numbers that were indexed.
        reading: the reading of the quantity that it fits.
        how: ``""`` as it stands, or ``"converted"``, ``"as a percentage"``, ``"without its sign"``.
    """

    place: int
    reading: Reading
    how: str


class NumberIndex:
    """Numbers with their units (or None), sorted by value, and by base value for each dimension.

    Attributes:
        numbers: The numbers as they were given.
    """

    def __init__(self, numbers: Sequence[tuple[float, Unit | None]]) -> None:
        self.numbers = numbers
        pairs = sorted((value, index) for index, (value, _) in enumerate(numbers))
        self._values, self._order = [value for value, _ in pairs], [index for _, index in pairs]
        bases: dict[str, list[tuple[float, int]]] = {}
        for index, (value, unit) in enumerate(numbers):
            if unit is not None:
                bases.setdefault(unit.dimension, []).append((value * unit.factor + unit.offset, index))
        self._bases = {name: sorted(found) for name, found in bases.items()}

    def __len__(self) -> int:
        return len(self.numbers)

    def within(self, quantity: Quantity, most: int = 200) -> Iterator[Match]:
        """The numbers that a quantity can stand for, as they stand first; at most so many of each reading.

        >>> from agentguard.content.grounding._values import UNITS
        >>> from agentguard.content.grounding._values import read
        >>> index = NumberIndex([(21.37, UNITS["°c"][0]), (0.125, None)])
        >>> [match.how for text in ("21.4", "70.5 °F", "12.5%") for match in index.within(read(text).quantities[0])]
        ['', 'converted', 'as a percentage']
        """
        for reading in quantity.readings:
            low, high = window(quantity, reading)
            unit = reading.unit
            for index in self._raw(low, high, most):
                if _fits(unit, quantity.noun, self.numbers[index][1]):
                    yield Match(index, reading, "")
            if unit is not None:
                for index in self._converted(unit, low, high, most):
                    if self.numbers[index][1] != unit:
                        yield Match(index, reading, "converted")
            if unit is not None and unit.dimension == PERCENT:
                for index in self._raw(low / 100, high / 100, most):
                    if self.numbers[index][1] is None and abs(self.numbers[index][0]) <= 1:
                        yield Match(index, reading, "as a percentage")
            if reading.value > 0:
                for index in self._raw(-high, -low, most):
                    if _fits(unit, quantity.noun, self.numbers[index][1]):
                        yield Match(index, reading, "without its sign")

    def nearest(self, value: float) -> int | None:
        """The number closest to a value; None where there is none."""
        at = bisect_left(self._values, value)
        near = range(max(0, at - 1), min(len(self._values), at + 1))
        best = min(near, key=lambda place: abs(self._values[place] - value), default=None)
        return None if best is None else self._order[best]

    def _raw(self, low: float, high: float, most: int) -> list[int]:
        slack = _slack(low, high)
        first = bisect_left(self._values, low - slack)
        return self._order[first : min(first + most, bisect_right(self._values, high + slack))]

    def _converted(self, unit: Unit, low: float, high: float, most: int) -> list[int]:
        pairs = self._bases.get(unit.dimension, [])
        slack = _slack(low, high) * unit.factor
        first = bisect_left(pairs, (low * unit.factor + unit.offset - slack, -1))
        last = bisect_right(pairs, (high * unit.factor + unit.offset + slack, len(self.numbers)))
        return [index for _, index in pairs[first : min(first + most, last)]]


def _fits(unit: Unit | None, noun: str, own: Unit | None) -> bool:
    """Tell whether a claimed number and one of the results can be the same quantity, by their units.

    A bare number can be any; one that counts days and one that counts rooms are not the same.

    Args:
        unit: The claimed number's unit.
        noun: What the claimed number counts where it has no unit; empty if that is not said.
        own: The unit of the number in the results.
    """
    if own is None or own == unit:
        return True
    return unit is None and (own == COUNTED or not noun)


def _slack(low: float, high: float) -> float:
    """What floating point may add to a bound."""
    return 1e-14 * max(abs(low), abs(high)) + 1e-9 * (high - low)


def chance(quantity: Quantity, tried: int) -> float:
    """How many of so many unrelated numbers a quantity is expected to meet by chance.

    The digits of unrelated numbers are taken as spread evenly over the logarithm (Benford's law), within one order of
    magnitude: a window of relative width w is met by about w / ln 10 of them.

    >>> from agentguard.content.grounding._values import read
    >>> round(chance(read("650").quantities[0], 100), 3), round(chance(read("7").quantities[0], 10), 2)
    (0.067, 0.62)
    """
    widest = 0.0
    for reading in quantity.readings[:4]:
        low, high = window(quantity, reading)
        size = abs(reading.value)
        widest = max(widest, 1.0 if size == 0 else min(1.0, (high - low) / size / math.log(10)))
    return widest * tried


# --- Leaves and records ---


MAX_LEAVES: Final = 50_000
MAX_DEPTH: Final = 60
MAX_LITERAL: Final = 200_000  # characters of a Python literal that is parsed
MAX_CHARACTERS: Final = 2_000_000  # of all results together
MAX_PATH: Final = 400  # characters at the end of a path that are kept
MAX_CONTEXT: Final = 2_000  # words
LONG_TEXT: Final = 160  # characters beyond which a string is read sentence by sentence
KEPT: Final = 20_000  # texts of leaves that stay read, a judgement: what 500 calls of a session hold, in some 20 MB
LONGEST_KEPT: Final = 200  # characters of one of them
_PIECES = re.compile(r"(?:(?![.!?;]\s)[^\n]){1,600}[.!?;]?")
_LINE = re.compile(
    r"(?P<indent>[ \t]*)(?P<item>[-*•] +|\d{1,3}[.)] +)?(?:(?P<key>[A-Za-z_][\w .-]{0,39}?): *(?= |$))?(?P<rest>.*)"
)
_TIME_KEY = re.compile(r"time|date|_at$|^ts$|stamp|epoch|created|updated|expires|At$", re.IGNORECASE)


class Leaf(NamedTuple):
    """One scalar of one result, or one sentence of its prose.

    Attributes:
        source: which result, by its position; -1 is what was asked.
        path: where in the result (``rows[2].price``); empty for prose.
        group: the path with its indexes left out: what leaves of the same kind share.
        record: the number of the record that it belongs to.
        start, end: characters of the result, where it is text; -1 where it is not.
    """

    source: int
    path: str
    group: str
    record: int
    start: int
    end: int
    text: str


class Number(NamedTuple):
    """One number of a leaf; ``whole`` where the leaf says nothing else."""

    value: float
    unit: Unit | None
    leaf: int
    whole: bool


class Listing(NamedTuple):
    """One list: how many elements it has, and where it stands."""

    source: int
    path: str
    length: int
    record: int


class _Record(NamedTuple):
    parent: int
    words: set[str]


class Sources:
    """Everything that several results say, indexed by value and by word.

    Args:
        results: the results, in the order of their calls.
        given: further texts that are known (the question, messages); their leaves have negative sources.

    Attributes:
        leaves: all leaves, in the order in which they were met.
        numbers, moments: the numbers and dates, with the numbers of their leaves.
        index: the numbers by value.
        tokens: the first leaf of each identifier, number as written and short text, by its ``plain`` form.
        repeated: the tokens that more than one record says.
        bare: the tokens without punctuation.
        words: the leaves of each word, by its stem.
        key_words: the stems of the words of all keys.
        listings: the lists.
        members: the leaves of each record.
        complete: whether all was read; False beyond ``MAX_LEAVES`` leaves, ``LIMITS.values`` values or
            ``MAX_CHARACTERS`` of text.
    """

    def __init__(self, results: Iterable[Any], given: Iterable[str] = ()) -> None:
        self.leaves: list[Leaf] = []
        self.numbers: list[Number] = []
        self.moments: list[tuple[Moment, int]] = []
        self.tokens: dict[str, int] = {}
        self.repeated: set[str] = set()
        self.words: dict[str, set[int]] = {}
        self.listings: list[Listing] = []
        self.key_words: set[str] = set()
        self.members: dict[int, list[int]] = {}
        self.complete = True
        self._left = LIMITS.values
        self._room = MAX_CHARACTERS
        self._mark: str | None = None  # before decimals, in the text that is being read
        self._records: list[_Record] = []
        self._context: dict[int, set[str]] = {}
        self._said: dict[int, list[str]] = {}
        for source, result in enumerate(results):
            self._result(source, result)
        for number, text in enumerate(given, 1):
            self._text(text, -number, self._record(-1))
        self.bare = {re.sub(r"[\W_]", "", token): leaf for token, leaf in reversed(self.tokens.items())}
        self.index = NumberIndex([(number.value, number.unit) for number in self.numbers])

    def common(self, words: set[str], leaf: int) -> int:
        """How many stems stand with a leaf: in its path, in its record, or in the records that this one is part of."""
        own = self.leaves[leaf]
        found = self._context.get(own.record)
        if found is None:
            found, at = set(), own.record
            while at >= 0 and len(found) < MAX_CONTEXT:
                found |= self._records[at].words
                at = self._records[at].parent
            self._context[own.record] = found
        path = set(stems_of_key(own.path))
        return len(words & found) + len((words & path) - found)

    def said(self, leaf: int) -> list[str]:
        """The stems of what a leaf says, in their order."""
        found = self._said.get(leaf)
        if found is None:
            found = self._said[leaf] = stems(self.leaves[leaf].text)
        return found

    def own_words(self, record: int) -> set[str]:
        """Stems of the words of one record alone."""
        return self._records[record].words

    def line(self, record: int) -> list[int]:
        """A record and those that it is part of, innermost first."""
        records: list[int] = []
        while record >= 0 and len(records) <= MAX_DEPTH:
            records.append(record)
            record = self._records[record].parent
        return records

    def _record(self, parent: int) -> int:
        self._records.append(_Record(parent, set()))
        return len(self._records) - 1

    def _result(self, source: int, result: Any) -> None:
        record = self._record(-1)
        if isinstance(result, str):
            parsed = _parsed(result)
            if parsed is None:
                self._text(result, source, record)
                return
            result = parsed
        self._walk(result, source, record)

    def _walk(self, root: Any, source: int, record: int) -> None:
        stack: list[tuple[Any, str, str, int, int]] = [(root, "", "", record, 0)]
        while stack:
            value, path, group, record, depth = stack.pop()
            self._left -= 1
            if self._left < 0 or len(self.leaves) >= MAX_LEAVES or len(self._records) >= 2 * MAX_LEAVES:
                self.complete = False
                return
            if depth > MAX_DEPTH:
                self.complete = False
                continue
            try:
                stack.extend(self._visited(value, path, group, source, record, depth))
            except BaseException as error:
                if not raised_by(value, error):
                    raise
                self.complete = False

    def _visited(
        self, value: Any, path: str, group: str, source: int, record: int, depth: int
    ) -> list[tuple[Any, str, str, int, int]]:
        """Take in one value; what is in it, the last first."""
        inside: list[tuple[Any, str, str, int, int]] = []
        if isinstance(value, Mapping):
            own = self._record(record)
            items = list(islice(value.items(), MAX_LEAVES))
            self.complete = self.complete and len(items) == len(value)
            for key, inner in reversed(items):
                name = written(key)
                self._key(name, source, path, own)
                inside.append((inner, field_path(path, name), field_path(group, name), own, depth + 1))
        elif isinstance(value, (list, tuple, set, frozenset)):
            self.listings.append(Listing(source, path, len(value), record))
            items = list(islice(value, MAX_LEAVES))
            self.complete = self.complete and len(items) == len(value)
            for index, inner in reversed(list(enumerate(items))):
                inside.append((inner, f"{path}[{index}]", f"{group}[]", record, depth + 1))
        elif isinstance(value, str):
            inner = _parsed(value) if depth < MAX_DEPTH else None
            if inner is not None:
                inside.append((inner, path, group, record, depth + 1))
            else:
                self._string(value, source, path, group, record)
        elif value is not None and not isinstance(value, bool):
            self._scalar(value, source, path, group, record)
        return inside

    def _key(self, name: str, source: int, path: str, record: int) -> None:
        """A key that is data itself (a date, a name, an id) is a leaf; any key's words describe its record."""
        self._name(name, record)
        if not name.isidentifier() or not name.islower() or any(map(str.isdigit, name)):
            self._add(name[:500], Leaf(source, path, "", record, -1, -1, name[:500]), "")

    def _name(self, key: str, record: int) -> None:
        words = stems_of_key(key)
        self._records[record].words.update(words)
        self.key_words.update(words)

    def _scalar(self, value: Any, source: int, path: str, group: str, record: int) -> None:
        leaf = Leaf(
            source, path, group, record, -1, -1, _digits(value) if isinstance(value, int) else written(value)[:64]
        )
        key = path.rpartition(".")[2]
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            self._add(leaf.text, leaf, key)
            return
        index = self._leaf(leaf)
        if math.isfinite(number):
            self.numbers.append(Number(number, unit_of_key(key.partition("[")[0]), index, True))
            self._token(plain(leaf.text), index)
            moment = of_epoch(number) if _TIME_KEY.search(key) else None
            if moment is not None:
                self.moments.append((moment, index))

    def _taken(self, text: str) -> str:
        """As much of a text as there is room for."""
        if len(text) > self._room:
            text, self.complete = text[: self._room], False
        self._room -= len(text)
        return text

    def _string(self, text: str, source: int, path: str, group: str, record: int) -> None:
        text = self._taken(text)
        if len(text) <= LONG_TEXT:
            self._add(text, Leaf(source, path, group, record, -1, -1, text), path.rpartition(".")[2])
            return
        for match in _PIECES.finditer(text):
            if match[0].strip():
                self._add(match[0], Leaf(source, path, "", self._record(record), -1, -1, match[0]), "")

    def _text(self, text: str, source: int, outer: int) -> None:
        record, item, item_indent, last_key, path = outer, -1, 1 << 30, "", ""
        start = 0
        nested: Counter[tuple[int, str]] = Counter()
        text = self._taken(text)
        self._mark = decimal_mark(text)
        for line in text.split("\n"):
            match = _LINE.match(line)
            if match is not None and line.strip():
                indent, key = len(match["indent"]), match["key"] or ""
                if match["item"] and indent <= item_indent:
                    item, item_indent, record = item + 1, indent, self._record(outer)
                elif match["item"]:
                    nested[record, path] += 1
                elif indent < item_indent and item >= 0 and indent == 0:
                    record, item_indent = outer, 1 << 30
                last_key = key or last_key
                prefix = f"[{item}]" if item >= 0 else ""
                path = f"{prefix}.{last_key}" if prefix and last_key else prefix or last_key
                if key:
                    self._name(key, record)
                if key or match["item"]:
                    rest = match["rest"].strip()
                    rest = rest[1:-1] if len(rest) > 1 and rest[0] == rest[-1] and rest[0] in "'\"" else rest
                    leaf = Leaf(
                        source, path, f"[].{last_key}", record, start + match.start("rest"), start + len(line), rest
                    )
                    self._add(rest, leaf, last_key)
                else:
                    self._prose(line, start, source, path if item >= 0 else "", record)
            start += len(line) + 1
            if len(self.leaves) >= MAX_LEAVES:
                self.complete = False
                break
        self._mark = None
        self.listings.extend(Listing(source, where, length, own) for (own, where), length in nested.items())
        if item >= 0:
            self.listings.append(Listing(source, "", item + 1, outer))

    def _prose(self, line: str, start: int, source: int, path: str, record: int) -> None:
        for match in _PIECES.finditer(line):
            if match[0].strip():
                leaf = Leaf(
                    source, path, "", self._record(record), start + match.start(), start + match.end(), match[0]
                )
                self._add(match[0], leaf, "")

    def _leaf(self, leaf: Leaf) -> int:
        self.leaves.append(leaf)
        index = len(self.leaves) - 1
        self.members.setdefault(leaf.record, []).append(index)
        return index

    def _add(self, text: str, leaf: Leaf, key: str) -> None:
        index = self._leaf(leaf)
        stated = (_stated if len(text) <= LONGEST_KEPT else _stated.__wrapped__)(text, self._mark)
        for token in stated.tokens:
            self._token(token, index)
        unit = unit_of_key(key.partition("[")[0])
        for value, own, whole, noun in stated.numbers:
            own = own or (unit if whole else COUNTED if noun else None)
            self.numbers.append(Number(value, own, index, whole))
        self.moments.extend((moment, index) for moment in stated.moments)
        for word in stated.words:
            self.words.setdefault(word, set()).add(index)
        self._records[leaf.record].words.update(stated.words)

    def _token(self, token: str, index: int) -> None:
        first = self.tokens.setdefault(token, index)
        if self.leaves[first].record != self.leaves[index].record:
            self.repeated.add(token)


class _Stated(NamedTuple):
    """The statements of a leaf's text, as they are looked up.

    Attributes:
        tokens: short text, quantities and identifiers, in their ``plain`` form.
        numbers: of each reading of a number its value, its unit, whether it is the whole text, and whether a noun
            follows that it counts.
        moments: the dates and times.
        words: the stems, each once.
    """

    tokens: tuple[str, ...]
    numbers: tuple[tuple[float, Unit | None, bool, bool], ...]
    moments: tuple[Moment, ...]
    words: tuple[str, ...]


@lru_cache(maxsize=KEPT)  # an agent's next answer stands beside the same results, and some more
def _stated(text: str, mark: str | None) -> _Stated:
    values, stripped = read(text, mark), text.strip()
    tokens = [stripped] if 0 < len(stripped) <= 200 else []
    tokens += [quantity.text for quantity in values.quantities]
    tokens += [identifier.text for identifier in values.identifiers]
    numbers = tuple(
        (reading.value, reading.unit, len(quantity.text) >= len(stripped) - 2, bool(quantity.noun))
        for quantity in values.quantities
        for reading in quantity.readings[:4]
    )
    moments = tuple(moment for stated in values.moments for moment in stated.readings)
    words = tuple(dict.fromkeys(map(intern, stems(text))))
    return _Stated(tuple(map(plain, tokens)), numbers, moments, words)


def field_path(path: str, name: str) -> str:
    """The path of a field; of a long one its end."""
    return (f"{path}.{name}" if path else name)[-MAX_PATH:]


def _digits(value: int) -> str:
    return str(value) if value.bit_length() < 256 else "a very long integer"


def _parsed(text: str) -> Any:
    """The JSON or Python literal that a text is; None for prose, and for a bare scalar."""
    stripped = text.strip()
    if len(stripped) < 2 or stripped[0] not in "[{" or stripped[-1] not in "]}":
        return None
    try:
        return orjson.loads(stripped)
    except ValueError:
        pass
    if len(stripped) > MAX_LITERAL or "'" not in stripped:
        return None
    try:
        return ast.literal_eval(stripped)
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return None
