"""Conflicts: what a claim says and the calls that it goes with do not have, or have otherwise."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from datetime import timedelta
from itertools import combinations
from typing import Any, Final, NamedTuple

from agentguard.content.actions._compared import (
    MOST_READ,
    UNITS,
    Amount,
    Compared,
    Text,
    bare,
    clocked,
    decimals,
    is_in_other_units,
    kind_of,
    numbers_in,
    other_moment,
    sums,
)
from agentguard.content.actions._english import base, words
from agentguard.content.actions._ledger import Deed, leaves, lengths
from agentguard.content.actions._links import Links
from agentguard.content.actions._tools import bases_of, pieces_of

#: Seconds of the units of time, by the letters that they begin with.
_SECONDS: Final = {"s": 1, "mi": 60, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_DURATION: Final = re.compile(
    r"(?<![\w.-])(\d+(?:\.\d+)?) ?(s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|w|weeks?)(?![\w-])"
)
TIMES: Final = frozenset("second seconds minute minutes hour hours day days week weeks".split())
LONGEST_VALUE: Final = 60  # characters of an argument that holds a name or a number, and no text
SHORT_RESULT: Final = 60  # characters of a result that says no more than how many there were
MOST_MOMENTS: Final = 12  # dates and times of a call
MOST_TO_SUM: Final = 5  # numbers, of more nearly anything is the sum
LONGEST_NUMBER: Final = 12
LEAST_MEASURED: Final = 10  # of a smaller number too much may be made
MOST_TO_COMPARE: Final = 20  # numbers; a judgement, as all of these
LEAST_ROUNDED: Final = 10  # a smaller number without a point is a count, and exact

#: Conflicts that leave nothing to weigh: the call of this very act says otherwise.
OUTRIGHT: Final = frozenset({
    "another date, nowhere", "number: another by its name", "number: asked for alone",
    "number: its result counts others", "other of its kind in the arguments", "thing: of another record",
    "time: another in the arguments",
})  # fmt: skip


class AllTexts(NamedTuple):
    """The texts of all calls of a session, what was asked, and what links the calls."""

    all: Sequence[Text]
    given: str
    links: Links

    def anywhere(self, token: str) -> bool:
        """Tell whether any call has what is said exactly."""
        return any(text.has(token) for text in self.all)

    def was_asked(self, token: str) -> bool:
        """Tell whether the user's words have it."""
        return token in self.given or bare(token) in self.given


def conflicts(claim: Compared, fitting: Sequence[Deed], texts: AllTexts, reading: bool) -> Iterator[tuple[str, str]]:
    """Signs of what the claim says and its calls do not have, each with the words.

    Args:
        claim: what was said.
        fitting: the calls that go with it, and came out well.
        texts: of all calls.
        reading: the claim only says that something was looked at.
    """
    own, args = [deed.texts.all for deed in fitting], [deed.texts.args for deed in fitting]
    yield from _other_exact(claim, fitting, own, texts)
    yield from _other_names(claim, own, texts)
    yield from _other_numbers(claim, fitting, own, texts)
    yield from _other_records(claim, fitting, own, texts.links)
    if not reading and other_moment(claim, "\n".join(text.text for text in args)):
        everything = "\n".join(text.text for text in texts.all)
        yield f"another date, {'nowhere' if other_moment(claim, everything) else 'elsewhere'}", "that date"


def _other_exact(
    claim: Compared, fitting: Sequence[Deed], own: Sequence[Text], texts: AllTexts
) -> Iterator[tuple[str, str]]:  # fmt: skip
    """Identifiers, addresses and files that its calls do not have."""
    values = [leaf for deed in fitting for leaf in leaves(deed.call.args)]
    for each in claim.exact:
        if any(text.has(each) for text in own):
            continue
        if texts.anywhere(each):
            yield "exact: elsewhere", each
        else:
            yield f"exact: {'asked for alone' if texts.was_asked(each) else 'nowhere'}", each
        kind = kind_of(each)
        if any(kind_of(other) == kind and text.has(other) for other in claim.exact for text in own):
            continue
        numbered = each[1:].isdigit() and any(_is_digits(value) and _ids(name) for name, value in values)
        if numbered or any(kind in deed.texts.args.kinds for deed in fitting):
            yield "other of its kind in the arguments", each


def _other_names(claim: Compared, own: Sequence[Text], texts: AllTexts) -> Iterator[tuple[str, str]]:
    """Names that its calls do not have."""
    for name in claim.names:
        if any(name in text.text for text in own):
            continue
        if not any(name in text.text for text in texts.all):
            yield f"name: {'asked for alone' if name in texts.given else 'nowhere'}", name.capitalize()


def _other_records(
    claim: Compared, fitting: Sequence[Deed], own: Sequence[Text], links: Links
) -> Iterator[tuple[str, str]]:  # fmt: skip
    """Things that stand in another record than the one whose identifier its calls were given."""
    unsaid = [thing for thing in claim.things if not any(text.names(thing) for text in own)]
    linked = [links.of(deed) for deed in fitting] if unsaid else []
    for thing in unsaid:
        if any(thing in each.others for each in linked) and not any(thing in each.own for each in linked):
            yield "thing: of another record", _written(claim, thing)


def _written(claim: Compared, thing: str) -> str:
    """A thing as the claim writes it."""
    return next((token.text for token in claim.stated.objects if base(token.low) == thing), thing)


# --- Numbers ---


def _other_numbers(
    claim: Compared, fitting: Sequence[Deed], own: Sequence[Text], texts: AllTexts
) -> Iterator[tuple[str, str]]:  # fmt: skip
    """Numbers that its calls do not have, or have otherwise."""
    if not claim.amounts:
        return
    numbers = [(name, value) for deed in fitting for name, value in leaves(deed.call.args)]
    have = frozenset[float]().union(*(text.numbers for text in own))
    results = frozenset[float]().union(*(deed.texts.result.numbers for deed in fitting))
    spans = _spans(numbers)
    measured = {float(value) for name, value in numbers if _is_number(value) and not _ids(name)}
    named = [(amount, _by_its_name(claim, amount, numbers)) for amount in claim.amounts]
    agrees = any(amount.values & values for amount, values in named)
    some = any(amount.values & have for amount in claim.amounts)
    for amount, values in named:
        text = f"{amount.text} {amount.unit}".strip()
        if amount.unit in TIMES and any(_seconds(amount) & _between(deed) for deed in fitting):
            continue  # "four hours", from 13:00 to 17:00
        if amount.unit in TIMES and spans:
            if not _seconds(amount) & spans:
                yield "time: another in the arguments", text
            continue
        told = amount.values & results and not amount.money
        if values and not agrees and not told and not claim.in_part:
            yield "number: another by its name", text
            continue
        if claim.in_part and (amount.unit or amount.money):
            continue  # "two of the three"
        if not amount.values or _have(fitting, have, len(texts.all), amount):
            continue
        there = any(amount.values & text.numbers for text in texts.all)
        yield f"number: {'elsewhere' if there else 'nowhere'}", text
        if not there and measured - {0.0, 1.0} and amount.values & numbers_in(texts.given):
            yield "number: asked for alone", text
        if amount.unit and not there and not some and any(_counts_others(deed) for deed in fitting):
            yield "number: its result counts others", text
        if any(deed.texts.args.numbers - {0.0, 1.0} for deed in fitting):
            yield "number: others in the arguments", amount.text


def _have(fitting: Sequence[Deed], have: frozenset[float], calls: int, amount: Amount) -> bool:
    """Tell whether calls have a number, rounded or in another unit, or as a count or a sum."""
    if amount.values & have or _rounded(amount) & {round(number, decimals(amount)) for number in have}:
        return True
    if is_in_other_units(amount, have) or (amount.money and amount.values & _totals(fitting)):
        return True
    summed = sums(have) if len(have) <= MOST_TO_SUM else set()
    return amount.unit not in UNITS and bool(amount.values & (_counts(fitting, calls) | summed))


def measured_nowhere(claim: Compared, done: Sequence[Deed], texts: AllTexts) -> Iterator[Amount]:
    """Find numbers with a unit that no call has, nor anything of which they may have been made.

    Args:
        claim: what was said.
        done: all calls.
        texts: theirs.
    """
    if claim.stated.form == "state" or claim.in_part or "calculate" in claim.stated.meaning.acts:
        return
    measured = [
        amount
        for amount in claim.amounts
        if min(amount.values, default=0) >= LEAST_MEASURED
        and (amount.money or amount.text.endswith("%") or (amount.unit and amount.unit not in words("be")))
    ]
    have = frozenset[float]().union(*(text.numbers for text in texts.all)) if measured else frozenset()
    summed = _sums_of_fields(done) if measured else set()
    spans = _spans([leaf for deed in done for leaf in leaves(deed.call.args)]) if measured else set()
    for amount in measured:
        timed = amount.unit in TIMES and bool(_seconds(amount) & spans.union(*map(_between, done)))
        told = timed or amount.values & summed or _have(done, have, len(done), amount)
        if not told and not _is_made_of(amount, have):
            yield amount


def _is_made_of(amount: Amount, have: Collection[float]) -> bool:
    """Tell whether a number may be a difference, a product, a ratio or a percentage of two others, perhaps rounded."""
    if len(have) > MOST_TO_COMPARE:
        return True  # of so many nearly anything is one
    half = 0.5 / 10 ** decimals(amount)
    made = {abs(one - other) for one in have for other in have}
    made |= {one * other for one in have for other in have}
    made |= {factor * one / other for one in have for other in have if other for factor in (1, 100)}
    made |= {100 * abs(one - other) / other for one in have for other in have if other}
    return any(abs(value - number) <= half for value in amount.values for number in made)


def _is_digits(value: Any) -> bool:
    return (isinstance(value, int) and not isinstance(value, bool)) or (isinstance(value, str) and value.isdigit())


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _ids(name: str) -> bool:
    """Tell whether an argument's number says which thing it is, not how much."""
    return bool(bases_of(pieces_of(name)) & {"id", "number"})


def _counts_others(deed: Deed) -> bool:
    """Tell whether a result says no more than how many there were: "DELETE 14"."""
    return len(deed.result) <= SHORT_RESULT and re.search(r"(?<![\w-])[1-9]\d*(?![\w-])", deed.result) is not None


def _rounded(amount: Amount) -> set[float]:
    """A number that may be rounded: one that is not a small count."""
    return {value for value in amount.values if decimals(amount) or value >= LEAST_ROUNDED}


def _by_its_name(claim: Compared, amount: Amount, numbers: Sequence[tuple[str, Any]]) -> set[float]:
    """The numbers of arguments named as what a claim's number counts, "4 GPUs", ``gpus``; of money their sum, too."""
    values = []
    for name, value in numbers:
        if isinstance(value, bool) or not isinstance(value, (int, float, str)) or _ids(name):
            continue
        called = bases_of(pieces_of(name))
        if amount.money:
            fits = bool(called & bases_of(words("money")))
        elif amount.unit:
            fits = bool(called & bases_of([amount.unit]))
        else:
            fits = bool(called & claim.about)
        if fits and len(str(value)) <= LONGEST_NUMBER:
            with suppress(ValueError):
                values.append(float(value))
    return {*values, sum(values)} if values and amount.money else set(values)


def _spans(numbers: Sequence[tuple[str, Any]]) -> set[float]:
    """The lengths of time in arguments, in seconds: ``minutes=20``, ``dur="30m"``."""
    spans = set()
    for name, value in numbers:
        unit = next((piece for piece in pieces_of(name) if piece in TIMES), "")
        if unit and isinstance(value, (int, float)):
            spans.add(float(value) * _length(unit))
        elif isinstance(value, str) and len(value) <= LONGEST_VALUE:
            spans |= {float(number) * _length(unit) for number, unit in _DURATION.findall(value.casefold())}
    return spans


def _between(deed: Deed) -> frozenset[float]:
    """The lengths of time between the dates and times of a call, in seconds."""
    if deed.texts.spans is None:
        deed.texts.spans = frozenset(_spans_between(deed.texts.all.text[:MOST_READ]))
    return deed.texts.spans


def _spans_between(text: str) -> set[float]:
    """The lengths of time between the dates and times of a text, in seconds."""
    moments = [moment for readings in clocked(text) for moment in readings][:MOST_MOMENTS]
    stamps = [stamp for moment in moments if (stamp := moment.stamp)]
    hours = [timedelta(hours=moment.hour, minutes=moment.minute or 0) for moment in moments if moment.hour is not None]
    spans = [one - other for one, other in combinations(stamps, 2)]
    spans += [one - other for one, other in combinations(hours, 2)]
    return {abs(span.total_seconds()) for span in spans if span}


def _length(unit: str) -> int:
    return _SECONDS.get(unit[:2]) or _SECONDS[unit[0]]


def _seconds(amount: Amount) -> set[float]:
    return {value * _length(amount.unit) for value in amount.values}


def _sums_of_fields(done: Sequence[Deed]) -> set[float]:
    """The sums of the numbers that results have by one name: in each, and in all of them."""
    summed: set[float] = set()
    totals: dict[str, float] = {}
    for deed in done:
        own: dict[str, float] = {}
        for name, value in leaves(deed.call.result):
            if _is_number(value) and not _ids(name):
                own[name] = own.get(name, 0.0) + value
        for name, value in own.items():
            totals[name] = totals.get(name, 0.0) + value
        summed.update(own.values())
    return {round(value, 6) for value in (*summed, *totals.values())}


def _counts(fitting: Sequence[Deed], calls: int) -> set[float]:
    """Numbers of what calls were about: of the calls, the items of their lists, the lines and numbers they tell."""
    counts = {float(len(fitting)), float(calls)}
    for deed in fitting:
        counts |= {float(deed.result.count("\n") + 1), float(len(re.findall(r"\d+", deed.result)))}
        counts |= lengths(deed.call.args) | lengths(deed.call.result)
    return counts


def _totals(fitting: Sequence[Deed]) -> set[float]:
    """The sum of each argument over all calls: "€900 altogether"."""
    totals: dict[str, float] = {}
    for deed in fitting:
        for name, value in leaves(deed.call.args):
            if _is_number(value) and not _ids(name):
                totals[name] = totals.get(name, 0.0) + value
    return set(totals.values())
