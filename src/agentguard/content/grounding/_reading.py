"""One tool result, read for tracing: every leaf with its path, every value, and what stands together.

Results are read as they come: JSON-like values, or text that is JSON, a Python literal, lines of ``key: value``, or
prose. A *record* is what belongs together: one object, one item of a list, one line or sentence of prose.
"""

from __future__ import annotations

import ast
import math
import re
from collections import Counter
from collections.abc import Mapping
from functools import cached_property
from itertools import islice
from sys import intern
from typing import Any, Final, NamedTuple

import orjson

from agentguard._foreign import raised_by
from agentguard._limits import LIMITS
from agentguard.content._text import written
from agentguard.content.grounding._values import (
    COUNTED,
    SENTENCE_END,
    Moment,
    Unit,
    decimal_mark,
    of_epoch,
    plain,
    read,
    stems,
    stems_of_key,
    unit_of_key,
)

MAX_LEAVES: Final = 50_000
MAX_DEPTH: Final = 60
MAX_LITERAL: Final = 200_000  # characters of a Python literal that is parsed
MAX_CHARACTERS: Final = 2_000_000  # of all results together
MAX_PATH: Final = 400  # characters at the end of a path that are kept
MAX_CONTEXT: Final = 2_000  # words
LONG_TEXT: Final = 160  # characters beyond which a string is read sentence by sentence
LONGEST_KEPT: Final = 200  # characters of a leaf's text that is read once, however often it is said
_PIECES = re.compile(rf"(?:(?!{SENTENCE_END}|;\s)[^\n]){{1,600}}[.!?;]?")
_LINE = re.compile(
    r"(?P<indent>[ \t]*)(?P<item>[-*•] +|\d{1,3}[.)] +)?(?:(?P<key>[A-Za-z_][\w .-]{0,39}?): *(?= |$))?(?P<rest>.*)"
)
_TIME_KEY = re.compile(r"time|date|_at$|^ts$|stamp|epoch|created|updated|expires|At$", re.IGNORECASE)
_MINOR_KEY = re.compile(
    r"(?:^|_)(?:minor|cents?|pence)$|[a-z](?:Minor|Cents?|Pence)$"
)  # keys of amounts that an answer gives divided by 100


class Leaf(NamedTuple):
    """One scalar of one result, or one sentence of its prose.

    Attributes:
        path: where in the result (``rows[2].price``); empty for prose.
        group: the path with its indexes left out: what leaves of the same kind share.
        record: the number of the record that it belongs to.
        start, end: characters of the result, where it is text; -1 where it is not.
    """

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

    path: str
    length: int

    @property
    def name(self) -> tuple[str, ...]:
        """The stems of the words of its field's name."""
        return tuple(stems_of_key(self.path.rpartition(".")[2].partition("[")[0]))


class Record(NamedTuple):
    """A record of a result: the one that it is part of (-1: none), and the stems of its words."""

    parent: int
    words: set[str]


class Budget(NamedTuple):
    """How much is still read of all results together.

    Attributes:
        values: of their objects.
        characters: of their texts.
        leaves, records: how many are made of them.
    """

    values: int = LIMITS.values
    characters: int = MAX_CHARACTERS
    leaves: int = MAX_LEAVES
    records: int = 2 * MAX_LEAVES

    def less(self, used: Budget) -> Budget:
        """The part of it that is left."""
        return Budget(*(max(0, own - other) for own, other in zip(self, used, strict=True)))


class Stated(NamedTuple):
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


Texts = dict[tuple[str, str | None], Stated]
"""Short texts that were read already, by themselves and the mark before decimals."""


class Read:
    """A result, read as far as a budget goes. Its leaves, records, numbers and moments count from 0.

    Args:
        result: the result.
        budget: for what is read of it.
        texts: that were read already; those of this result are added.
        is_text: it is read as text, whatever it looks like.

    Attributes:
        leaves: all leaves, in the order in which they were met.
        numbers, moments: the numbers and dates, with the numbers of their leaves.
        tokens: the leaves of each identifier, number as written and short text, by its ``plain`` form.
        words: the leaves of each word, by its stem.
        key_words: the stems of the words of all keys.
        listings: the lists.
        records: the records.
        complete: whether all was read.
        used: what it took of the budget.
    """

    def __init__(self, result: Any, budget: Budget, texts: Texts, *, is_text: bool = False) -> None:
        self.leaves: list[Leaf] = []
        self.numbers: list[Number] = []
        self.moments: list[tuple[Moment, int]] = []
        self.tokens: dict[str, list[int]] = {}
        self.words: dict[str, list[int]] = {}
        self.key_words: set[str] = set()
        self.listings: list[Listing] = []
        self.records: list[Record] = []
        self.complete = True
        self._budget, self._texts = budget, texts
        self._left, self._room = budget.values, budget.characters
        self._is_cut = self._is_full = False  # it had more characters than there were; more values, leaves or records
        self._mark: str | None = None  # before decimals, in the text that is being read
        self._context: dict[int, set[str]] = {}
        self._said: dict[int, list[str]] = {}
        record = self._record(-1)
        parsed = _parsed(result) if isinstance(result, str) and not is_text else None
        if isinstance(result, str) and parsed is None:
            self._text(result, record)
        else:
            self._walk(result if parsed is None else parsed, record)
        self.used = Budget(
            budget.values - self._left, budget.characters - self._room, len(self.leaves), len(self.records)
        )

    def is_as_with(self, budget: Budget) -> bool:
        """Tell whether with another budget it would have been read no otherwise."""
        mine, used = self._budget, self.used
        enough = (
            used.values <= budget.values and used.leaves < budget.leaves and used.records < budget.records
        )  # fmt: skip
        if self._is_full or not enough:
            return mine == budget
        return mine.characters == budget.characters if self._is_cut else used.characters <= budget.characters

    def common(self, words: set[str], leaf: int) -> int:
        """How many stems stand with a leaf: in its path, in its record, or in the records that this one is part of."""
        own = self.leaves[leaf]
        context = self._context.get(own.record)
        if context is None:
            context, at = set(), own.record
            while at >= 0 and len(context) < MAX_CONTEXT:
                context |= self.records[at].words
                at = self.records[at].parent
            self._context[own.record] = context
        path = set(stems_of_key(own.path))
        return len(words & context) + len((words & path) - context)

    def said(self, leaf: int) -> list[str]:
        """The stems of what a leaf says, in their order."""
        said = self._said.get(leaf)
        if said is None:
            said = self._said[leaf] = stems(self.leaves[leaf].text)
        return said

    def line(self, record: int) -> list[int]:
        """A record and those that it is part of, innermost first."""
        records: list[int] = []
        while record >= 0 and len(records) <= MAX_DEPTH:
            records.append(record)
            record = self.records[record].parent
        return records

    @cached_property
    def clocks(self) -> dict[int, set[tuple[int | None, int | None]]]:
        """The times of day of each record."""
        clocks: dict[int, set[tuple[int | None, int | None]]] = {}
        for moment, leaf in self.moments:
            if moment.hour is not None:
                clocks.setdefault(self.leaves[leaf].record, set()).add((moment.hour, moment.minute))
        return clocks

    @cached_property
    def whole(self) -> list[Number]:
        """The numbers that are all their leaf says, each once."""
        whole: list[Number] = []
        for number in self.numbers:
            if number.whole and not (whole and number.leaf == whole[-1].leaf):
                whole.append(number)
        return whole

    # Reading

    def _record(self, parent: int) -> int:
        self.records.append(Record(parent, set()))
        return len(self.records) - 1

    def _walk(self, root: Any, record: int) -> None:
        stack: list[tuple[Any, str, str, int, int]] = [(root, "", "", record, 0)]
        while stack:
            value, path, group, record, depth = stack.pop()
            self._left -= 1
            leaves, records = len(self.leaves), len(self.records)
            if self._left < 0 or leaves >= self._budget.leaves or records >= self._budget.records:
                self.complete, self._is_full = False, True
                return
            if depth > MAX_DEPTH:
                self.complete = False
                continue
            try:
                stack.extend(self._visited(value, path, group, record, depth))
            except BaseException as error:
                if not raised_by(value, error):
                    raise
                self.complete = False

    def _visited(
        self, value: Any, path: str, group: str, record: int, depth: int
    ) -> list[tuple[Any, str, str, int, int]]:
        """Take in one value; what is in it, the last first."""
        inside: list[tuple[Any, str, str, int, int]] = []
        if isinstance(value, Mapping):
            own = self._record(record)
            items = list(islice(value.items(), MAX_LEAVES))
            self.complete = self.complete and len(items) == len(value)
            for key, inner in reversed(items):
                name = written(key)
                self._key(name, path, own)
                inside.append((inner, field_path(path, name), field_path(group, name), own, depth + 1))
        elif isinstance(value, (list, tuple, set, frozenset)):
            self.listings.append(Listing(path, len(value)))
            items = list(islice(value, MAX_LEAVES))
            self.complete = self.complete and len(items) == len(value)
            for index, inner in reversed(list(enumerate(items))):
                inside.append((inner, f"{path}[{index}]", f"{group}[]", record, depth + 1))
        elif isinstance(value, str):
            inner = _parsed(value) if depth < MAX_DEPTH else None
            if inner is not None:
                inside.append((inner, path, group, record, depth + 1))
            else:
                self._string(value, path, group, record)
        elif value is not None and not isinstance(value, bool):
            self._scalar(value, path, group, record)
        return inside

    def _key(self, name: str, path: str, record: int) -> None:
        """A key that is data itself (a date, a name, an id) is a leaf; any key's words describe its record."""
        self._name(name, record)
        if not name.isidentifier() or not name.islower() or any(map(str.isdigit, name)):
            self._add(name[:500], Leaf(path, "", record, -1, -1, name[:500]), "")

    def _name(self, key: str, record: int) -> None:
        words = stems_of_key(key)
        self.records[record].words.update(words)
        self.key_words.update(words)

    def _scalar(self, value: Any, path: str, group: str, record: int) -> None:
        text = _digits(value) if isinstance(value, int) else written(value)[:64]
        leaf = Leaf(path, group, record, -1, -1, text)
        key = path.rpartition(".")[2]
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            self._add(leaf.text, leaf, key)
            return
        index = self._leaf(leaf)
        if math.isfinite(number):
            self.numbers.append(Number(number, unit_of_key(key.partition("[")[0]), index, True))
            if _MINOR_KEY.search(key):
                self.numbers.append(Number(number / 100, None, index, False))
            self._token(plain(leaf.text), index)
            moment = of_epoch(number) if _TIME_KEY.search(key) else None
            if moment is not None:
                self.moments.append((moment, index))

    def _taken(self, text: str) -> str:
        """As much of a text as there is room for."""
        if len(text) > self._room:
            text, self.complete, self._is_cut = text[: self._room], False, True
        self._room -= len(text)
        return text

    def _string(self, text: str, path: str, group: str, record: int) -> None:
        text = self._taken(text)
        if len(text) <= LONG_TEXT:
            self._add(text, Leaf(path, group, record, -1, -1, text), path.rpartition(".")[2])
            return
        for match in _PIECES.finditer(text):
            if match[0].strip():
                self._add(match[0], Leaf(path, "", self._record(record), -1, -1, match[0]), "")

    def _text(self, text: str, outer: int) -> None:
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
                    leaf = Leaf(path, f"[].{last_key}", record, start + match.start("rest"), start + len(line), rest)
                    self._add(rest, leaf, last_key)
                else:
                    self._prose(line, start, path if item >= 0 else "", record)
            start += len(line) + 1
            if len(self.leaves) >= self._budget.leaves:
                self.complete, self._is_full = False, True
                break
        self._mark = None
        self.listings.extend(Listing(where, length) for (_, where), length in nested.items())
        if item >= 0:
            self.listings.append(Listing("", item + 1))

    def _prose(self, line: str, start: int, path: str, record: int) -> None:
        for match in _PIECES.finditer(line):
            if match[0].strip():
                leaf = Leaf(path, "", self._record(record), start + match.start(), start + match.end(), match[0])
                self._add(match[0], leaf, "")

    def _leaf(self, leaf: Leaf) -> int:
        self.leaves.append(leaf)
        return len(self.leaves) - 1

    def _add(self, text: str, leaf: Leaf, key: str) -> None:
        index = self._leaf(leaf)
        stated = self._stated(text)
        for token in stated.tokens:
            self._token(token, index)
        unit = unit_of_key(key.partition("[")[0])
        for value, own, whole, noun in stated.numbers:
            own = own or (unit if whole else COUNTED if noun else None)
            self.numbers.append(Number(value, own, index, whole))
        self.moments.extend((moment, index) for moment in stated.moments)
        for word in stated.words:
            self.words.setdefault(word, []).append(index)
        self.records[leaf.record].words.update(stated.words)

    def _token(self, token: str, index: int) -> None:
        leaves = self.tokens.setdefault(token, [])
        if not leaves or leaves[-1] != index:
            leaves.append(index)

    def _stated(self, text: str) -> Stated:
        if len(text) > LONGEST_KEPT:
            return stated(text, self._mark)
        key = (text, self._mark)
        known = self._texts.get(key)
        if known is None:
            known = self._texts[key] = stated(text, self._mark)
        return known


def stated(text: str, mark: str | None) -> Stated:
    """Read the statements of a leaf's text.

    Args:
        text: the text.
        mark: before decimals, where that is known.
    """
    values, stripped = read(text, mark), text.strip()
    tokens = [stripped] if 0 < len(stripped) <= 200 else []
    tokens += [quantity.text for quantity in values.quantities]
    tokens += [identifier.text for identifier in values.identifiers]
    numbers = tuple(
        (reading.value, reading.unit, len(quantity.text) >= len(stripped) - 2, bool(quantity.noun))
        for quantity in values.quantities
        for reading in quantity.readings[:4]
    )
    moments = tuple(moment for each in values.moments for moment in each.readings)
    words = tuple(dict.fromkeys(map(intern, stems(text))))
    return Stated(tuple(map(plain, tokens)), numbers, moments, words)


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
