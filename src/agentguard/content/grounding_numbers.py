"""The numbers of an answer, one by one: as results say them, as they can be calculated, or reported."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

from .grounding_answer import Answer
from .grounding_arithmetic import CUES, Derived, combined, derived
from .grounding_index import Match, NumberIndex, chance
from .grounding_sources import Listing
from .grounding_units import PERCENT
from .grounding_values import Quantity
from .grounding_words import plain, stem, stems_of_key

__all__ = ["Numbers"]

MAX_CLAIMS: Final = 1_000
MAX_LEFT: Final = 50  # numbers that are looked for among what other numbers of the answer give
MAX_OPERANDS: Final = 8
MAX_LENGTHS: Final = 3  # of lists, up to which a count needs no word that names a list
WITH_WORDS: Final = 10.0  # how much more chance is put up with where the words around a calculated number agree
_MARKER = re.compile(r"(?:^|\n)[ \t>]{0,8}[(\[*]{0,2}$")
_COUNTED = re.compile(r"(?:^|\n)[ \t#*_-]{0,8}[A-Z][a-z]{1,20} $")
_BULLET = re.compile(r"^[ \t]{0,8}(?:[-*•]|\d{1,3}[.)])[ \t]", re.MULTILINE)
_COUNTING = re.compile(
    r"\b(?:there (?:are|is|were|was)|has|have|had|contains?|includes?|lists?|found|a total of|all|exactly|only)"
    r"(?: only| exactly| a total of)?\s$",
    re.IGNORECASE,
)
_NOUN = re.compile(r"\s([^\W\d_]{2,30})(?:\s([^\W\d_]{2,30}))?(?:\s([^\W\d_]{2,30}))?")
_ELEMENTS: Final = frozenset("result entry entrie row record match matche element".split())
_ENDING = re.compile(r"(?:ending|ends|end)(?: in| with)?\W{0,5}$|last (?:four|4|digits)[^.\n]{0,16}$", re.IGNORECASE)


class Numbers:
    """Traces the numbers of one answer when it is made.

    Args:
        answer: the answer; the account of its numbers is added to it.
        chance_at: how many chance hits to put up with where no words agree.
        small: integers up to this one need words that agree.

    Attributes:
        complete: whether all were looked for everywhere.
    """

    def __init__(self, answer: Answer, chance_at: float, small: int) -> None:
        self._answer, self._sources, self._chance_at, self._small = answer, answer.sources, chance_at, small
        self._derived = derived(self._sources)
        self._index = NumberIndex([(number.value, number.unit) for number in self._derived])
        self._alike = Counter(number.operation for number in self._derived)
        self._combined: dict[tuple[int, ...], tuple[list[Derived], NumberIndex, Counter[str]]] = {}
        self._lengths = len({listing.length for listing in self._sources.listings})
        self._units = Counter(number.unit.dimension for number in self._sources.numbers if number.unit is not None)
        self._years = {moment.year: leaf for moment, leaf in self._sources.moments}
        self._bullets = len(_BULLET.findall(answer.text))
        self._lists: dict[tuple[str, ...], list[Listing]] = {}
        for listing in self._sources.listings:
            name = tuple(stems_of_key(listing.path.rpartition(".")[2].partition("[")[0]))
            self._lists.setdefault(name, []).append(listing)
        claims = [
            quantity for quantity in answer.values.quantities if not self._counts(quantity) and self._is_claim(quantity)
        ]
        known: list[Quantity] = []
        left: list[Quantity] = []
        for quantity in claims[:MAX_CLAIMS]:
            found = self._direct(quantity)
            if found is None:
                found = self._calculated(quantity)
            if found is None:
                left.append(quantity)
            elif found:
                known.append(quantity)
        self.complete = len(claims) <= MAX_CLAIMS and len(left) <= MAX_LEFT
        for place, quantity in enumerate(left):
            if place < MAX_LEFT and self._of_the_answer(quantity, known):
                known.append(quantity)
            else:
                answer.report("number", quantity.start, quantity.end, self._nearest(quantity), _weight(quantity))

    def _counts(self, quantity: Quantity) -> bool:
        """Whether a number says how many elements a list has, which it names; that is then traced or reported.

        "There are 3 orders" is held to the length of ``orders``; "3 orders are late" may speak of some of them.
        """
        answer, start, end = self._answer, quantity.start, quantity.end
        noun = _NOUN.match(answer.text, end)
        if noun is None or not quantity.readings or quantity.bound or quantity.readings[0].unit is not None:
            return False
        words = tuple(stem(word) for word in noun.groups() if word)
        name = next((words[:size] for size in range(len(words), 0, -1) if words[:size] in self._lists), ())
        if not name and words[0] in _ELEMENTS:
            words = words[:1]
        elif not name:
            return False
        lists, value = self._lists.get(name, []), quantity.readings[0].value
        lengths = [listing.length for listing in lists]
        if value in {*lengths, sum(lengths)}:
            where = next((listing.path for listing in lists if listing.length == value), "")
            answer.calculated(start, end, None, f"elements of {where or 'a list'}", _weight(quantity))
            return True
        is_of_all = _COUNTING.search(answer.text, max(0, start - 32), start)
        if not lengths or not (is_of_all or value > sum(lengths)) or self._is_counted_elsewhere(value, words):
            return False
        detail = f"results have {min(lengths)}"
        detail += f" to {max(lengths)}" if min(lengths) != max(lengths) else ""
        answer.report("number", start, end, f"{detail} at {lists[0].path or 'the top'}", _weight(quantity))
        return True

    def _is_counted_elsewhere(self, value: float, words: tuple[str, ...]) -> bool:
        """Whether a field that has the name of what is counted says this number, or so many elements say one thing."""
        said = set(words)
        for number in self._sources.numbers:
            if number.value == value and number.whole:
                path = self._sources.leaves[number.leaf].path
                if not path.endswith("]") and said & set(stems_of_key(path.rpartition(".")[2])):
                    return True
        whole = self._answer.said(0, len(self._answer.text))
        return any(
            number.operation == "count" and number.narrow and number.value == value and number.words & whole
            for number in self._derived
        )

    def _is_claim(self, quantity: Quantity) -> bool:
        """Whether a number says something: no zero or one, no marker of a list, no number of a part of the answer."""
        if not quantity.readings:
            return False
        first, text = quantity.readings[0], self._answer.text
        if abs(first.value) <= 1 and first.step == 1.0 and not first.unit:
            return False
        follows, start = text[quantity.end : quantity.end + 1], quantity.start
        is_marker = start == 0 or _MARKER.search(text, max(0, start - 10), start)
        if is_marker and follows in {".", ")", "]", ":"} and quantity.digits < 4:
            return False
        # "Step 3: …" counts the answer's own parts.
        return not (follows == ":" and quantity.digits < 3 and _COUNTED.search(text, max(0, start - 40), start))

    def _direct(self, quantity: Quantity) -> bool | None:
        """Whether a number stands in a result as it is, rounded or converted; False where it is reported already."""
        sources, answer, start, end = self._sources, self._answer, quantity.start, quantity.end
        leaf = sources.tokens.get(plain(quantity.text))
        matches = list(sources.index.within(quantity))
        leaves = [sources.numbers[match.place].leaf for match in matches] or ([] if leaf is None else [leaf])
        other = answer.of_another(start, leaves)
        if other is not None:
            answer.report("number", start, end, other, wrong="misattributed")
            return False
        how = "as written"
        if leaf is None or end - start <= 3:
            leaf, how = self._of_a_date(quantity) or self._last_digits(quantity) or self._best(quantity, matches)
        if leaf is None:
            return None
        answer.found("number", start, end, leaf, how, _weight(quantity))
        return True

    def _of_a_date(self, quantity: Quantity) -> tuple[int, str] | None:
        value = quantity.readings[0].value
        is_year = value in self._years and 1900 <= value <= 2100 and quantity.end - quantity.start == 4
        return (self._years[int(value)], "the year of a date") if is_year else None

    def _last_digits(self, quantity: Quantity) -> tuple[int, str] | None:
        if _ENDING.search(self._answer.text, max(0, quantity.start - 30), quantity.start):
            for token, leaf in self._sources.tokens.items():
                if token.endswith(quantity.text) and len(token) > len(quantity.text):
                    return leaf, "as its last digits"
        return None

    def _best(self, quantity: Quantity, matches: Sequence[Match]) -> tuple[int | None, str]:
        """The match whose place has most words in common with the claim's, if that or its digits make it believed."""
        sources, around = self._sources, self._answer.around(quantity.start)
        best: Match | None = None
        shared = -1
        for match in matches:
            leaf = sources.numbers[match.place].leaf
            common = 1000 if sources.leaves[leaf].source < 0 else sources.common(around, leaf)
            if common > shared:
                best, shared = match, common
        if best is None:
            return None, ""
        number = sources.numbers[best.place]
        value, step, unit = best.reading
        # A stated unit that agrees leaves only the numbers of its dimension to be met by chance.
        is_same = number.unit is not None and unit is not None
        tried = self._units[number.unit.dimension] if is_same and number.unit else len(sources.numbers)
        is_small = abs(value) <= self._small and step >= 1 and not is_same
        if not shared and (is_small or chance(quantity, tried) > (1.0 if is_same else self._chance_at)):
            return None, ""
        is_exact = abs(value - number.value) <= 1e-12 * abs(number.value)
        return number.leaf, best.how or ("as written" if is_exact else "rounded")

    def _calculated(self, quantity: Quantity) -> bool | None:
        answer, start, end = self._answer, quantity.start, quantity.end
        said, around = answer.said(*answer.sentence(start)), answer.around(start)
        if quantity.readings[0].value == self._bullets:
            answer.calculated(start, end, None, "counted in the answer", _weight(quantity))
            return True
        for match in self._index.within(quantity):
            number = self._derived[match.place]
            if not _same_sort(match, number) or (number.narrow and not number.words & said):
                continue
            cue = bool(CUES[number.operation] & said)
            if number.operation == "count":
                believed = bool(number.words & said) or cue or self._lengths <= MAX_LENGTHS
            else:
                expected = chance(quantity, self._alike[number.operation] if cue else 4 * len(self._derived))
                shared = any(self._sources.common(around, leaf) for leaf in number.leaves[:3])
                believed = expected <= self._chance_at * (WITH_WORDS if cue and shared else 1.0)
            if believed:
                leaf = number.leaves[0] if number.leaves else None
                answer.calculated(start, end, leaf, number.detail, _weight(quantity))
                return True
        return None

    def _of_the_answer(self, quantity: Quantity, known: list[Quantity]) -> bool:
        """Whether other numbers of the answer, which were traced, give this one: its sentence's, then the nearest."""
        answer = self._answer
        begin, end = answer.sentence(quantity.start)
        said = answer.said(begin, end)
        is_written = any(mark in answer.text[begin:end] for mark in "+=×*−")
        inside = [other for other in known if begin <= other.start < end]
        nearest = sorted(known, key=lambda other: abs(other.start - quantity.start))[:MAX_OPERANDS]
        for operands in (inside[:MAX_OPERANDS], sorted(nearest)):
            if len(operands) < 2:
                continue
            found, index, alike = self._combinations(operands)
            for match in index.within(quantity):
                number = found[match.place]
                cue = is_written or bool(CUES[number.operation] & said)
                tried = alike[number.operation] if cue else 4 * len(found)
                if _same_sort(match, number) and chance(quantity, tried) <= self._chance_at:
                    answer.calculated(quantity.start, quantity.end, None, number.detail, _weight(quantity))
                    return True
        return False

    def _combinations(self, operands: Sequence[Quantity]) -> tuple[list[Derived], NumberIndex, Counter[str]]:
        key = tuple(operand.start for operand in operands)
        if key not in self._combined:
            found = combined([(operand.readings[0].value, operand.readings[0].unit) for operand in operands])
            index = NumberIndex([(number.value, number.unit) for number in found])
            self._combined[key] = found, index, Counter(number.operation for number in found)
        return self._combined[key]

    def _nearest(self, quantity: Quantity) -> str:
        value, numbers = quantity.readings[0].value, self._sources.numbers
        if not self._answer.explains:
            return ""
        index = self._sources.index.nearest(value)
        if index is None:
            return "results have no number"
        # The same digits at another power of ten are nearer than any neighbour; what is ten times as much is not near.
        is_near = 0.1 <= abs(numbers[index].value) / max(abs(value), 1e-300) <= 10.0
        for power in (10.0, 0.1, 100.0, 0.01, 1000.0, 0.001):
            shifted = self._sources.index.nearest(value * power)
            if shifted is not None and abs(numbers[shifted].value - value * power) <= abs(value * power) * 1e-9:
                index, is_near = shifted, True
        if not is_near:
            return "results have no number near it"
        return f"the nearest that results have is {numbers[index].value:.15g}{self._answer.at(numbers[index].leaf)}"


def _weight(quantity: Quantity) -> float:
    """A single digit counts half."""
    return 0.5 if quantity.digits < 2 else 1.0


def _same_sort(match: Match, number: Derived) -> bool:
    """Whether both are percentages, or neither: "32" is no change by 32%."""
    return number.unit is None or number.unit.dimension != PERCENT or match.reading.unit is not None
