"""The learned shape of a tool's results, one for each kind of result (object, prose, …).

A shape is a bag of *facts*: this path is there with this type, this object has these keys, this word is said. A
result is unusual where it says what no result said before, or leaves out what all results said.

Most results of a tool have one of a few layouts. A layout in which nothing is unusual is remembered as such until
the counts have grown by an eighth; results that have it are counted by layout, and their facts are added up then. A
p-value rests on what was added up last: at worst on an eighth less than was seen, which errs on the safe side.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Container, Hashable, Iterable, Mapping, Set
from typing import Any, Final, Literal
from zlib import crc32

from agentguard.verification._document import Document
from agentguard.verification._sides import normal
from agentguard.verification._walk import Fact, Layout, last_name
from agentguard.verification.statistics import Categories, Rate
from agentguard.verification.types import Trait

NOT_FINITE: Final = ("NaN", "Infinity", "-Infinity")

RIGID: Final = 8  # strings, all of them numbers with marks between
MAX_RIGID: Final = 4  # formats of these
FORMATS_READ: Final = 3  # of the values at one path, until one is a string
_DATA = re.compile(r"[+-]?9+(?:[^9a]{1,3}9+)+A{0,3}")  # the format of a date, a time, a decimal number, an address
_RUN = re.compile(r"([9aA])\1+")
_DIGITS_AND_LETTERS = bytes.maketrans(
    b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", b"9" * 10 + b"a" * 26 + b"A" * 26
)
_NONE: Mapping[str, Categories | None] = {}


def string_format(value: str) -> str:
    """The format of a short string: letters as ``a`` and ``A``, digits as ``9``, the rest as it is.

    >>> string_format("HAT069"), string_format("2024-05-20")
    ('AAA999', '9999-99-99')
    """
    # A table of 256 bytes is quicker than one of characters; it leaves the bytes of non-ASCII characters as they are.
    text = value[:32].encode("utf-8", "surrogatepass")
    return text.translate(_DIGITS_AND_LETTERS).decode("utf-8", "surrogatepass")


def not_finite(document: Document) -> dict[str, str]:
    """The paths at which a number is none, and the name of what it is: ``NaN``, ``Infinity`` or ``-Infinity``.

    >>> from agentguard.verification._document import read
    >>> not_finite(read({"price": float("nan"), "sold": 7}))
    {'price': 'NaN'}
    """
    if document.not_finite is None:
        names: dict[str, str] = {}
        if document.layout is not None:
            for path in document.layout.numbers:
                for value in document.leaves[path]:
                    if type(value) is float and not math.isfinite(value):
                        names[path] = NOT_FINITE[0] if math.isnan(value) else NOT_FINITE[1 if value > 0.0 else 2]
                        break
        document.not_finite = names
    return document.not_finite


def formats_of(document: Document, known: Mapping[str, Categories | None] = _NONE) -> dict[str, str]:
    """The format of the first string at each path, but for the paths of free text: those for which None is known.

    A number that is none has its name as a format. Worked out once for a document, with what is known then.
    """
    if document.formats is None:
        leaves = document.leaves
        document.formats = {}
        strings = ("",) if document.kind == "word" else () if document.layout is None else document.layout.strings
        for path in strings:
            if path in known and known[path] is None:
                continue
            values = leaves[path]
            value = values[0]
            if type(value) is not str:
                value = next((other for other in values[1:FORMATS_READ] if type(other) is str), None)
            if value is not None:
                document.formats[path] = string_format(value)
        document.formats.update(not_finite(document))
    return document.formats


def built(format_: str) -> str:
    """The build of a format, whatever the lengths of its numbers and words.

    >>> built("9999-99-99A99:99:99A"), built("9-9-9A99:99:99A")
    ('9-9-9A9:9:9A', '9-9-9A9:9:9A')
    """
    return _RUN.sub(r"\1", format_)


def is_written_alike(format_: str, known_formats: Iterable[str]) -> bool:
    """As a known one, or more or less precise: hours added to a date, parts of a second, a time zone."""
    build = built(format_).rstrip("A")
    for known in known_formats:
        other = built(known).rstrip("A")
        if build == other:
            return True
        shorter, longer = (build, other) if len(build) < len(other) else (other, build)
        if longer.startswith(shorter) and (len(shorter) > 2 or longer == "9.9"):
            return True
    return False


def has_grown(format_: str, known_formats: Iterable[str]) -> bool:
    """As the longest known one of its build, and one character longer, as numbers are that count up."""
    build = built(format_)
    return len(format_) - 1 == max([len(known) for known in known_formats if built(known) == build], default=0)


def is_rigid(formats: Categories) -> bool:
    """All of these strings, eight or more, are numbers with marks between, in at most four formats."""
    known = formats.counts
    return formats.total >= RIGID and len(known) <= MAX_RIGID and all(_DATA.fullmatch(format_) for format_ in known)


# --- Contradictions: another type than before, or a value for a structure ---
#
# A new field beside the old ones is what interfaces come by. A field that was a number in all of ``n`` results and is a
# string now is something else: before it happened, its chance in the next genuine result is put at
# ``(0 + 1/2) / (n + 3/2)``, and how often such things do happen in this tool's genuine calls is left to the signal's
# recalibration. Null says that there is no value, and contradicts nothing. NaN and the infinities are of the type of
# numbers and are none: such a value where there were ``n`` numbers, ``k`` of them of that sort, has the chance
# ``(k + 1/2) / (n + 3/2)``.

_SCALARS: tuple[type, ...] = (float, str, bool)


def contradicted(new: Iterable[Fact], missing: Iterable[Fact], known: Mapping[Fact, int]) -> tuple[int, str]:
    """In how many results a path had a value of another type, and the path; (0, "") without a contradiction.

    ``new`` was never seen, ``missing`` most results have and this one has not, ``known`` counts the results with each.

    >>> contradicted([("price", str)], [("price", float)], {("price", float): 40})
    (40, 'price')
    >>> contradicted([("price.amount", float)], [("price", float)], {("price", float): 40})
    (40, 'price')
    >>> contradicted([("currency", str)], [], {("price", float): 40})
    (0, '')
    """
    most, contradicted_path = 0, ""
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
        if seen > most or (seen == most and seen and at < contradicted_path):
            most, contradicted_path = seen, at
    return most, contradicted_path


def no_number(
    document: Document, known: Mapping[Fact, int], formats: Mapping[str, Categories | None]
) -> tuple[float, str]:
    """The chance of the most unusual NaN or infinity among the numbers of a result, and its path; (1, "") without.

    ``known`` counts the results with each fact, ``formats`` by path how values there were written.
    """
    least, least_path = 1.0, ""
    for path in not_finite(document):
        numbers, written = known.get((path, float), 0), formats.get(path)
        such = 0 if written is None else sum(written.counts.get(name, 0) for name in NOT_FINITE)
        p = min((such + 0.5) / (numbers + 1.5), 1.0)
        if numbers and p < least:
            least, least_path = p, path
    return least, least_path


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


MAX_FACTS: Final = 600  # of one kind of result
MAX_WORDS: Final = 40  # of one text
FORM: Final = 0.9  # of the texts that say a word which is form
FEWEST_WORDS: Final = 3  # that are missing
MAX_FORMATS: Final = 64  # paths whose strings are followed
MAX_LAYOUTS: Final = 8  # that are remembered as usual
MAX_PATHS: Final = 160  # of a layout that is remembered as usual
MAX_OBJECTS: Final = 200  # paths at which objects stand
NEVER_NULL: Final = 12  # results with a value, after which the first null is odd
MAP_FORMS: Final = 5  # sets of keys at one path
MAX_TRAITS: Final = 6  # of what is new, and of what is missing, by which calls alike are known
MAX_NAMES: Final = 1_500  # of all orders of keys together
_WORD = re.compile(r"[A-Za-z]{3,}")

AnyFact = Hashable  # a path with a type, or a word


def _nothing(name: str) -> bool:
    """Whether a name was asked for, where none was."""
    return False


def facts_of(document: Document) -> Set[AnyFact]:
    """The facts of a result: its paths with their types, or the words of a text.

    >>> from agentguard.verification._document import read
    >>> sorted(map(str, facts_of(read({"id": 7}))))
    ["('id', <class 'float'>)"]
    """
    if document.facts is None:
        if document.layout is not None:
            document.facts = document.layout.facts
        else:
            text = document.text[:2000].decode("utf-8", "replace")
            document.facts = {word.lower() for word in _WORD.findall(text)[:MAX_WORDS]}
    return document.facts


class Shape:
    """The facts of one kind of result, counted."""

    __slots__ = (
        "_added_up", "_as_usual", "_names_left", "_novel", "_rigid", "_to_count", "_usual", "_usual_at", "count",
        "facts", "formats", "keys",
    )  # fmt: skip

    def __init__(self) -> None:
        self.count = 0
        self.facts: Counter[Any] = Counter()  # by fact
        self.keys: dict[str, Categories] = {}
        self._names_left = MAX_NAMES
        self.formats: dict[str, Categories | None] = {}
        self._rigid: tuple[str, ...] = ()  # paths of dates and the like, all written in one way
        self._novel = Rate()
        self._usual: frozenset[Any] = frozenset()  # facts of more than half of the results
        self._usual_at = 0
        self._added_up = 0  # results counted in ``facts`` and ``keys``
        self._as_usual: set[Layout] = set()
        self._to_count: Counter[Layout] = Counter()  # results of such a layout, not yet in ``facts`` and ``keys``

    @property
    def usual(self) -> frozenset[Any]:
        """What more than half of the results have."""
        return self._usual

    def surprise(
        self, document: Document, asked: Callable[[str], bool] = _nothing
    ) -> tuple[float, float, str, tuple[Trait, ...]]:
        """``-ln p`` of the most unusual trait, its extent, what it is, and all traits; zeros where nothing is unusual.

        The extent is the share of the result concerned, in (0, 1]: a field more is what interfaces come by, a result
        of which nothing is known is another tool's.
        """
        if document.layout in self._as_usual:
            return 0.0, 0.0, "", ()
        return self._surprise(document, facts_of(document), asked)

    def _surprise(
        self, document: Document, facts: Set[AnyFact], asked: Callable[[str], bool] = _nothing
    ) -> tuple[float, float, str, tuple[Trait, ...]]:
        count, known = self._added_up, self.facts
        worst, extent, why = 0.0, 0.0, ""
        traits: list[Trait] = []
        new, missing = [fact for fact in facts if fact not in known], self._usual - facts
        if new or missing:
            emptied = () if document.layout is None else document.layout.empty
            new = [fact for fact in new if not self._is_free(fact)]
            missing = frozenset(fact for fact in missing if not self._is_free(fact) and not _lies_below(fact, emptied))
        # What was never seen,
        if new and asked is not _nothing:
            new = [fact for fact in new if not (isinstance(fact, tuple) and asked(last_name(fact[0])))]
        if new:
            worst, extent = -math.log(self._novel.mean()), len(new) / len(facts)
            descriptions = sorted(map(_say, new))
            traits += [_trait(fact, "added") for fact in sorted(new, key=_say)[:MAX_TRAITS]]
            why = f"{len(new)} trait{'s' if len(new) > 1 else ''} never seen: {descriptions[0]}"
        # what most results have,
        if missing:
            extent = max(extent, len(missing) / len(self._usual))
            traits += [_trait(fact, "lost") for fact in sorted(missing, key=_say)[:MAX_TRAITS]]
            seen = max(known[fact] for fact in missing)
            p = (count - seen + 0.5) / (count + 1.5)
            if document.layout is None:  # of many words some are missing by chance
                p = _simes(sorted([(count - known[word] + 0.5) / (count + 1.5) for word in missing]), len(self._usual))
            if -math.log(p) > worst:
                rarest = min(_say(fact) for fact in missing if known[fact] == seen)
                worst, why = -math.log(p), f"{rarest} is missing, there in {seen} of {count}"
        # and objects whose keys, or their order, are unusual.
        odd, least, least_path = 0, 1.0, ""
        for path, names in document.forms:
            categories = self.keys.get(path)
            if categories is not None and categories.total >= 2:
                p = categories.p(names)
                wanted = names not in categories.counts and all(map(asked, names))
                if p < 1.0 and not wanted and not _is_map(categories):
                    odd += 1
                    traits.append(Trait("keys", path, _mark(names)))
                    if p < least:
                        least, least_path = p, path
        if odd:
            extent = max(extent, 0.5 * odd / len(document.forms))
            x = -math.log(min(least * (1.0 + 0.5 * (len(document.forms) - 1)), 1.0))
            if x > worst:
                worst, why = x, f"unusual keys at {least_path or 'the top'}"
        return worst, extent, why, tuple(traits)

    def _is_free(self, fact: AnyFact) -> bool:
        """The fact is of a key that is data: a key of a map."""
        if not isinstance(fact, tuple):
            return False
        categories = self.keys.get(fact[0].removesuffix("[]").rpartition(".")[0])
        return categories is not None and _is_map(categories)

    def contradiction(self, document: Document) -> tuple[float, str, str]:
        """``-ln p`` of the path at which most results had another type, what it is and where; (0, "", "")."""
        if document.layout is None or not document.is_structured or document.layout in self._as_usual:
            return 0.0, "", ""  # text of ``key: value`` lines has one type only, and writes an empty list as a text
        facts = document.layout.facts
        new = [fact for fact in facts if fact not in self.facts]
        if not new:
            return 0.0, "", ""
        seen, path = contradicted(new, self._usual - facts, self.facts)
        if not seen:
            seen, path = self._nulled(new, facts)
        if not seen:
            return 0.0, "", ""
        return -math.log(0.5 / (seen + 1.5)), f"{path or 'the value'} is of another type than in {seen} results", path

    def _nulled(self, new: Iterable[AnyFact], facts: Set[AnyFact]) -> tuple[int, str]:
        """In how many results a path had a value that is null now for the first time, and the path; (0, "")."""
        for fact in sorted(new, key=_say):
            if isinstance(fact, tuple) and fact[1] is type(None) and not fact[0].endswith("[]"):
                seen = sum(self.facts[fact[0], kind] for kind in (float, str, bool))
                if seen >= NEVER_NULL and not any((fact[0], kind) in facts for kind in (float, str, bool)):
                    return seen, fact[0]
        return 0, ""

    def format_surprise(self, document: Document, asked: Container[str] = ()) -> tuple[float, str, str]:
        """``-ln p`` of the most unusual string format, over the paths whose strings have one; without ``rigid``.

        How a value in ``asked`` is written is not of the tool's choosing, and numbers that count up grow a digit.
        """
        least, least_path, written, judged = 1.0, "", "", 0
        for path, format_ in formats_of(document, self.formats).items():
            formats = self.formats.get(path)
            if formats is not None and formats.total >= 3:
                judged += 1
                p = formats.p(format_)
                free = path in self._rigid or normal(document.leaves[path][0]) in asked
                if p < least and not free and not has_grown(format_, formats.counts):
                    least, least_path, written = p, path, format_
        if not least_path:
            return 0.0, "", ""
        x = -math.log(min(least * (1.0 + 0.5 * (judged - 1)), 1.0))
        return x, f"{least_path} is written in an unusual way", f"{_mark(written)} at {least_path}"

    def broken_format(self, document: Document) -> tuple[float, str, str]:
        """``-ln p`` of a string that is written otherwise than all at its path, where those are dates or the like."""
        least, least_path = 1.0, ""
        if self._rigid:
            written = formats_of(document, self.formats)
            for path in self._rigid:
                format_ = written.get(path)
                formats = self.formats.get(path)
                if format_ and formats is not None and format_ not in formats.counts:
                    p = 0.5 * (1.0 + 0.5 * (len(self._rigid) - 1)) / (formats.total + 1.5)
                    if p < least and not is_written_alike(format_, formats.counts):
                        least, least_path = p, path
        if least == 1.0:
            return 0.0, "", ""
        return -math.log(least), f"{least_path or 'the value'} is written in another way than before", least_path

    def is_cut_object(self, path: str, names: tuple[str, ...]) -> bool:
        """The object's keys are the first few of an order of keys that is known here, and were never all there was."""
        known = self.keys.get(path)
        if known is None or names in known.counts:
            return False
        return any(len(other) > len(names) and other[: len(names)] == names for other in known.counts)

    def learn(self, document: Document) -> None:
        layout = document.layout
        self.count += 1
        if layout in self._as_usual:
            self._novel.push(False)
            self._to_count[layout] += 1
        else:
            self._add_up()
            self._learn(document, facts_of(document))
        if self.count - self._usual_at > self.count // 8:
            self._take_stock()
        for path, format_ in formats_of(document, self.formats).items():
            self._learn_format(path, format_)
        if layout is None or layout in self._as_usual or len(layout) > MAX_PATHS:
            return
        if self._surprise(document, layout.facts)[0] == 0.0:
            if len(self._as_usual) >= MAX_LAYOUTS:
                self._as_usual.clear()
            self._as_usual.add(layout)

    def absorb(
        self, results: int, facts: Mapping[AnyFact, int], keys: Iterable[tuple[str, tuple[str, ...], int]]
    ) -> None:
        """Count results that were seen elsewhere: how many have each fact, and each order of keys at a path."""
        self._add_up()
        for fact, times in facts.items():
            if fact in self.facts or len(self.facts) < MAX_FACTS:
                self.facts[fact] += times
        for path, names, times in keys:
            self._count_keys(path, names, times)
        self.count += results
        self._added_up = self.count
        self._take_stock()

    def _take_stock(self) -> None:
        """Take down what is usual, by all that was counted."""
        self._add_up()
        self._as_usual.clear()
        most = self.count
        self._usual = frozenset(
            fact for fact, seen in self.facts.items() if (seen >= FORM * most if type(fact) is str else 2 * seen > most)
        )
        self._usual_at = self.count
        self._rigid = tuple(path for path, formats in self.formats.items() if formats and is_rigid(formats))

    def _learn(self, document: Document, facts: Set[AnyFact]) -> None:
        known = self.facts
        if self._added_up:
            self._novel.push(any(fact not in known for fact in facts))
        if len(known) < MAX_FACTS:
            known.update(facts)
        else:
            known.update(fact for fact in facts if fact in known)
        for path, names in document.forms:
            self._count_keys(path, names, 1)
        self._added_up = self.count

    def _count_keys(self, path: str, names: tuple[str, ...], times: int) -> None:
        categories = self.keys.get(path)
        if categories is None:
            if len(self.keys) >= MAX_OBJECTS:
                return
            categories = self.keys[path] = Categories()
        if names not in categories.counts:
            self._names_left -= len(names)
        categories.push(names, times, keep=self._names_left >= 0)

    def _add_up(self) -> None:
        """Count the facts of the results that were counted by layout; all of them are known here."""
        for layout, times in self._to_count.items():
            for fact in layout.facts:
                self.facts[fact] += times
            for path, names in layout.forms:
                if path in self.keys:
                    self.keys[path].push(names, times)
            self._added_up += times
        self._to_count.clear()

    def _learn_format(self, path: str, format_: str) -> None:
        """Formats of free text are all distinct: such a path is given up for good, and costs nothing from then on."""
        if path not in self.formats:
            if len(self.formats) >= MAX_FORMATS:
                return
            self.formats[path] = Categories()
        formats = self.formats[path]
        if formats is not None:
            formats.push(format_)
            distinct = len(formats.counts)
            if distinct > 12 and distinct * 3 > formats.total:
                self.formats[path] = None


def _simes(chances: list[float], of: int) -> float:
    """The p-value of words with these chances, the least first, that are missing of so many (Simes 1986).

    One word or two say nothing: there is hardly one that no text leaves out.
    """
    return min([1.0, *[of * chance / place for place, chance in enumerate(chances, 1) if place >= FEWEST_WORDS]])


def _is_map(keys: Categories) -> bool:
    """The keys of the objects at a path are data, as names of customers are: there are always others."""
    distinct = len(keys.counts)
    return distinct >= MAP_FORMS and (distinct * 6 >= keys.total or distinct >= 4 * MAP_FORMS)


def _lies_below(fact: AnyFact, emptied: tuple[str, ...]) -> bool:
    """The fact is of the elements of a list that is empty here."""
    return isinstance(fact, tuple) and fact[0].startswith(emptied)


def _mark(value: Any) -> str:
    """Eight hexadecimal digits that tell what may be data from other data."""
    return f"{crc32(repr(value).encode()):08x}"


def _trait(fact: AnyFact, kind: Literal["lost", "added"]) -> Trait:
    """A field that is gone or new, or a word of a text."""
    return Trait(kind, fact[0], fact[1].__name__) if isinstance(fact, tuple) else Trait("word", str(fact), kind)


def _say(fact: AnyFact) -> str:
    if isinstance(fact, tuple):
        path, kind = fact
        return f"{path or 'the value'} as {kind.__name__}"
    return f"the word {fact!r}"
