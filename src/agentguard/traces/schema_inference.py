"""JSON Schema from what was counted at the places of a tool's answers.

Only what no answer contradicts is declared, and only where enough different answers bear it out: of each place its
types, of strings that are all dates or the like their form, of labels that are always the same few which these are, of
objects the keys that each of them had, of lists what their elements have in common. What fewer answers bear out is
found too, and says how many are missing. A key that was never seen is never forbidden. Where keys are data (ids,
dates, or names of which each result has others), their values are described together.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from agentguard.verification.profile import FieldPath

from .anatomy import CHOICES, EACH, FORMATS, TYPES, UNDER_ANY, name_of
from .draft import Declaration, at_least, share
from .tool_state import PlaceCounts

__all__ = ["Evidence", "schema_declarations"]

ALMOST_ALL: Final = 0.999  # exceptions are passed over where at least this share of all results has none
MAP_KEYS: Final = 10  # distinct keys from which on they may be data
MAP_SHARE: Final = 0.5  # of the results, which then no key is in
NAMED_FORMATS: Final = frozenset({"date", "date-time", "uuid", "email", "uri"})
INTEGER_FACTOR: Final = 5
FIXED_FACTOR: Final = 5  # of enough: which values there are is a matter of content, and changes sooner than form
LEAST_TIMES: Final = 5  # results with each of the values; of values that are met once there are more

_ARRAY, _OBJECT, _STRING = TYPES.index("array"), TYPES.index("object"), TYPES.index("string")
_INTEGER, _NUMBER = TYPES.index("integer"), TYPES.index("number")


class Evidence:
    """What counts of one tool bear.

    Answers that are the same are one piece of evidence: a share counts as if it came of the distinct ones only. Where
    n of them have no exception, at most 3/n of all answers are one, at 95% confidence (the rule of three).

    Args:
        distinct_share: distinct answers among all, in (0, 1].
        enough: distinct answers from which on "all of them" is worth declaring.
        few: distinct answers from which on it is worth telling.
        arguments: distinct arguments among the calls; 1 or less: the tool takes none.
    """

    def __init__(self, distinct_share: float, enough: int, few: int = 0, arguments: int = 0) -> None:
        self.distinct_share = distinct_share
        self.enough = enough
        self.few = few or enough
        self.arguments = arguments

    def bears(self, hits: int, total: int, factor: int = 1) -> bool:
        """All of enough, or almost all of very many."""
        distinct = self.distinct(total)
        if hits == total:
            return distinct >= self.enough * factor
        return at_least(distinct - (total - hits), distinct) >= ALMOST_ALL

    def shows(self, hits: int, total: int) -> bool:
        """All of a few, or what bears."""
        return (hits == total and self.distinct(total) >= self.few) or self.bears(hits, total)

    def missing(self, total: int, factor: int = 1) -> int:
        """Distinct answers that are wanting where all of so many hit."""
        return max(self.enough * factor - self.distinct(total), 0)

    def distinct(self, total: int) -> int:
        """How many of so many answers are distinct, about."""
        return int(total * self.distinct_share + 1e-9)

    def say(self, hits: int, total: int) -> str:
        """The counts in words, with the confidence in them.

        >>> Evidence(distinct_share=0.5, enough=20).say(200, 200)
        '200 of 200 (100 distinct): at least 97%'
        """
        distinct = self.distinct(total)
        which = "" if distinct == total else f" ({distinct:,} distinct)"
        return f"{hits:,} of {total:,}{which}: at least {share(at_least(distinct - (total - hits), distinct))}"

    def varied(self, total: int) -> int:
        """How many of so many answers are distinct, and come of distinct arguments."""
        distinct = self.distinct(total)
        return distinct if self.arguments <= 1 else min(distinct, self.arguments)


def schema_declarations(
    places: Mapping[str, PlaceCounts], answers: int, evidence: Evidence
) -> tuple[list[Declaration], list[Declaration]]:
    """What the schema can say, and which fields are required at the top.

    Args:
        places: by place, as ``ToolState`` counts them.
        answers: results that were counted.
        evidence: what is enough.
    """
    children: dict[str, list[str]] = {}
    for where in places:
        if where:
            above, _, step = where.rpartition("/")
            children.setdefault(above, []).append(step)
    for steps in children.values():
        steps.sort(key=lambda step: (step == UNDER_ANY, step))
    root = places.get("")
    if root is None or root.results != answers:
        return [], []
    tree = _Tree(places, children, evidence)
    required = []
    if root.types[_OBJECT] == answers:
        required = [
            Declaration(
                "required_fields", (name,), name, f"in {evidence.say(answers, answers)} of all (95%)",
                evidence.missing(answers),
            )
            for name in tree.required(("",), answers)
            if _is_path(name)
        ]  # fmt: skip
    found = tree.describe(("",), answers, ())
    twice = {("required", *one.path) for one in required}
    return [one for one in found if one.path not in twice], required


def _is_path(name: str) -> bool:
    """The name, read as a path, is that one key."""
    try:
        return FieldPath.parse(name).steps == (name,)
    except ValueError:
        return False


class _Tree:
    """The places of answers, seen from any one of them; places that are described together go together."""

    def __init__(
        self, places: Mapping[str, PlaceCounts], children: Mapping[str, Sequence[str]], evidence: Evidence
    ) -> None:
        self.places = places
        self.children = children
        self.evidence = evidence

    def describe(self, group: tuple[str, ...], results: int, path: tuple[str, ...]) -> Iterator[Declaration]:
        """What can be said of the values at these places, which so many results have."""
        if not self.evidence.shows(results, results):
            return
        counts = [sum(self.places[where].types[bit] for where in group) for bit in range(len(TYPES))]
        yield from self._types(counts, results, path)
        yield from self._form(group, counts, path)
        yield from self._fixed(group, counts, results, path)
        if counts[_OBJECT]:
            yield from self._object(group, min(counts[_OBJECT], results), path)
        elements = tuple(f"{where}/{EACH}" for where in group if f"{where}/{EACH}" in self.places)
        if elements:
            yield from self.describe(elements, self._results(elements, results), (*path, "items"))

    def _results(self, group: tuple[str, ...], most: int) -> int:
        return min(sum(self.places[where].results for where in group), most)

    def _types(self, counts: list[int], results: int, path: tuple[str, ...]) -> Iterator[Declaration]:
        seen = {TYPES[bit] for bit, count in enumerate(counts) if count}
        if not path and "string" in seen:
            return  # a result given as text is what the text looks like, and another text may look like anything
        if seen == {"null"} or len(seen) >= len(TYPES) - 1:
            return  # what has always been null is yet to come
        if "number" in seen or ("integer" in seen and not self.evidence.bears(results, results, INTEGER_FACTOR)):
            seen = seen - {"integer"} | {"number"}
        types = [name for name in TYPES if name in seen]
        value = types[0] if len(types) == 1 else types
        why, missing = self.evidence.say(results, results), self.evidence.missing(results)
        yield Declaration("output_schema", (*path, "type"), value, why, missing)

    def _form(self, group: tuple[str, ...], counts: list[int], path: tuple[str, ...]) -> Iterator[Declaration]:
        strings = counts[_STRING]
        for bit, (name, pattern) in enumerate(FORMATS.items()):
            written = sum(self.places[where].formats[bit] for where in group)
            if written and self.evidence.shows(written, strings):
                why = self.evidence.say(written, strings)
                missing = self.evidence.missing(strings) if written == strings else 0
                if name in NAMED_FORMATS:
                    yield Declaration("output_schema", (*path, "format"), name, why, missing)
                yield Declaration("output_schema", (*path, "pattern"), f"^(?:{pattern})$", why, missing)

    def _fixed(
        self, group: tuple[str, ...], counts: list[int], results: int, path: tuple[str, ...]
    ) -> Iterator[Declaration]:
        """That the values here are always one of a few, as far as arguments do not choose them."""
        if not path:
            return  # a result that is a word may be another one
        places = [self.places[where] for where in group]
        values: Counter[str] = Counter()
        for place in places:
            if place.values is None or place.given:
                return
            values.update(place.values)
        named = {value: times for value, times in values.items() if value != "null"}
        are_labels = all(value.startswith('"') for value in named)
        if not 0 < len(named) <= CHOICES or (len(named) > 1 and not are_labels):
            return
        varied = self.evidence.varied(results)
        if varied < max(self.evidence.few, LEAST_TIMES * len(named)):
            return
        found: list[Any] = [json.loads(value) for value in sorted(named)]
        keyword, declared = ("const", found[0]) if len(values) == 1 else ("enum", found)
        if "null" in values:
            declared = [*found, None]
        is_enough = varied >= self.evidence.enough * FIXED_FACTOR and min(named.values()) >= LEAST_TIMES
        why = self.evidence.say(results, results)
        if not are_labels:  # a number or a boolean that has not changed is one that has not changed yet
            why += "; no label, so this is for you to declare"
        yield Declaration("output_schema", (*path, keyword), declared, why, 0 if are_labels and is_enough else None)

    def required(self, group: tuple[str, ...], objects: int) -> list[str]:
        """The keys that each object at these places had, as far as that can be said."""
        return [
            name_of(step)
            for step in self._steps(group)
            if step not in (EACH, UNDER_ANY) and self.evidence.shows(self._always(group, step), objects)
        ]

    def _always(self, group: tuple[str, ...], step: str) -> int:
        """Results in which no object at these places lacks the key; at most, where there are several places."""
        return sum(self.places[below].always for where in group if (below := f"{where}/{step}") in self.places)

    def _steps(self, group: tuple[str, ...]) -> list[str]:
        return list(dict.fromkeys(step for where in group for step in self.children.get(where, ())))

    def _object(self, group: tuple[str, ...], objects: int, path: tuple[str, ...]) -> Iterator[Declaration]:
        steps = self._steps(group)
        named = [step for step in steps if step not in (EACH, UNDER_ANY)]
        if self._is_map(group, named, objects):
            below = tuple(f"{where}/{step}" for where in group for step in steps if step != EACH)
            below = tuple(where for where in below if where in self.places)
            if below:
                yield from self.describe(below, self._results(below, objects), (*path, "additionalProperties"))
            return
        for name in self.required(group, objects):
            why, missing = self.evidence.say(objects, objects), self.evidence.missing(objects)
            yield Declaration("output_schema", (*path, "required", name), name, why, missing)
        for step in named:
            below = tuple(f"{where}/{step}" for where in group if f"{where}/{step}" in self.places)
            yield from self.describe(below, self._results(below, objects), (*path, "properties", name_of(step)))

    def _is_map(self, group: tuple[str, ...], named: list[str], objects: int) -> bool:
        """All keys are data, or there are many and none is in half of the objects."""
        if not named:
            return True
        most = max(
            self._results(tuple(p for w in group if (p := f"{w}/{step}") in self.places), objects) for step in named
        )
        return len(named) >= MAP_KEYS and most < MAP_SHARE * objects
