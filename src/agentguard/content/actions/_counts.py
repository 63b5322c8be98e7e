"""Counts: how many of the things of a claim its calls say that they did.

``{"matched": 48, "archived": 31}`` is fewer than "all 48 files have been archived"; ``UPDATE 7`` fewer than "all 31
tenants".
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from agentguard.content.actions._acts import GENERIC, Meaning, reads, verb_acts
from agentguard.content.actions._compared import UNITS, Amount, Compared
from agentguard.content.actions._conflicts import TIMES
from agentguard.content.actions._endings import SHORT, counts_done
from agentguard.content.actions._english import base, is_past, words
from agentguard.content.actions._ledger import Deed, leaves, lengths, looks
from agentguard.content.actions._tools import pieces_of
from agentguard.content.grounding._values import NUMBER_WORDS

DEEPEST: Final = 3
MOST_FIELDS: Final = 100
MOST_COUNTED: Final = 20  # things of which a claim says "all"
LONGEST_VALUE: Final = 60  # characters of an argument that holds a name, and no text
_COMMANDS: Final = {"UPDATE": "updated", "DELETE": "deleted", "INSERT 0": "inserted", "COPY": "copied"}
#: "reformatted 26 files", "26 rows updated", "UPDATE 7"
_TOLD: Final = re.compile(
    r"\b([a-z]+ed|sent|written) ([1-9]\d*) [a-z]+s\b|(?<![\w./:-])([1-9]\d*) [a-z]+s ([a-z]+ed|sent|written)\b"
    r"|\b([a-z]+ed|sent) ([1-9]\d*)(?=[,;)]|\.\s|$)"
    r"|(?-i:\b(UPDATE|DELETE|INSERT 0|COPY) (\d+)\b)",
    re.IGNORECASE,
)
_COUNT: Final = r"(\d{1,3}(?:,\d{3})+|\d{1,9})"
#: "61,000 of 412,300", "lines 1-120 of 512"; not "4/5", which may be stars
_PART: Final = re.compile(
    rf"(?<![\w./,-])(?:\d{{1,9}}[-–])?{_COUNT} ?(?:of|out of|/(?!(?:5|10|100)\b)) ?{_COUNT}(?![\w/]|\.\d)"
)
_SINGLE: Final = re.compile(r"(?!.*\band\b)[\w@.:/+ -]{1,60}")
MANY: Final = re.compile(r"\*|\.\.|\{\d|\ball\b|\bfor\b|&&|\|")  # arguments that name more than stands in them


def fewer(claim: Compared, fitting: Sequence[Deed]) -> str:
    """Find a count of a claim of which its calls say that they did fewer; "" where there is none.

    A result counts what was done by the name of the act. Where a claim says "all", any count of a result counts that
    is smaller, if the claim's own is nowhere in the calls.

    Args:
        claim: what was said.
        fitting: the calls that go with it.
    """
    counted = [amount for amount in claim.amounts if _counts(amount)]
    if claim.in_part or not counted:
        return ""
    meaning = claim.stated.meaning
    done = [count for deed in fitting for name, count in _done(deed) if _names(name, meaning)]
    if done:
        agrees = any(amount.values & {*done, sum(done)} for amount in claim.amounts)
        less = next((_text(amount) for amount in counted if max(done) < min(amount.values)), "")
        if agrees or less:
            return "" if agrees else less
    if not claim.every:
        return ""
    have = {float(len(fitting))}.union(*(deed.texts.all.numbers | _lengths(deed) for deed in fitting))
    for amount in counted:
        every = [count for deed in fitting for name, count in _done(deed) if is_past(name) or counts_done(name)]
        if every and not amount.values & {*have, sum(every)} and max(every) < min(amount.values):
            return _text(amount)
    return ""


def done_in_all(claim: Compared, fitting: Sequence[Deed]) -> int:
    """Count what several calls say that they did."""
    return sum(count for deed in fitting for name, count in _done(deed) if _names(name, claim.stated.meaning))


def is_what_was_done(claim: Compared, deed: Deed) -> bool:
    """Tell whether a claim's count is that of what a call did, which left out others."""
    done = {count for name, count in _done(deed) if _names(name, claim.stated.meaning)}
    return any(amount.values & done for amount in claim.amounts)


def _counts(amount: Amount) -> bool:
    """Tell whether a number counts things."""
    things = amount.unit and not amount.money and amount.unit not in TIMES and amount.unit not in UNITS
    return bool(things) and all(value >= 2 and value == int(value) for value in amount.values)


def _text(amount: Amount) -> str:
    return f"{amount.text} {amount.unit}"


def _names(name: str, meaning: Meaning) -> bool:
    """Tell whether a participle names the act of a claim."""
    return is_past(name) and (base(name) in meaning.bases or bool(verb_acts(name) & meaning.acts - GENERIC))


def _done(deed: Deed) -> Iterator[tuple[str, int]]:
    """The counts of a result, each with the word that says of what, in small letters."""
    if isinstance(deed.call.result, str):
        for before, first, second, after, alone, third, command, rows in _TOLD.findall(deed.result[:SHORT]):
            said = before or after or alone or _COMMANDS[command]
            yield said.casefold(), int(first or second or third or rows)
    else:
        yield from _of_fields(deed.call.result, DEEPEST)


def _of_fields(value: Any, depth: int) -> Iterator[tuple[str, int]]:
    if not isinstance(value, Mapping) or not depth:
        return
    for name, held in list(value.items())[:MOST_FIELDS]:
        word = next(iter(pieces_of(str(name))[-1:]), "")
        if isinstance(held, int) and not isinstance(held, bool):
            yield word, held
        elif isinstance(held, list) and is_past(word):
            yield word, len(held)
        else:
            yield from _of_fields(held, depth - 1)


def _lengths(deed: Deed) -> set[float]:
    return lengths(deed.call.args) | lengths(deed.call.result)


# --- All of them ---


def too_few(claim: Compared, calls: Sequence[Deed], linked: Callable[[Deed], bool]) -> str:
    """Find a claim's "all three", where there are fewer calls for it, each for one thing; "" where there is none.

    Args:
        claim: what was said.
        calls: those that say the claim's verb.
        linked: tells whether a call was given one of several records of an earlier result.
    """
    said = _all(claim)
    tools = {deed.call.tool for deed in calls}
    if said is None or not 0 < len(calls) < said.number or len(tools) > 1:
        return ""
    several = any(
        _says(deed.args if looks(deed) else deed.texts.all.text, said.number)
        or max(_lengths(deed) | lengths(deed.call.args), default=0.0) > 1
        or MANY.search(deed.args.casefold())
        for deed in calls
    )
    told = Counter[str]()
    for deed in calls:
        for name, count in _done(deed):
            told[name] += count
    return said.text if _for_one_each(calls, linked) and not several and said.number not in told.values() else ""


def _for_one_each(calls: Sequence[Deed], linked: Callable[[Deed], bool]) -> bool:
    """Tell whether each of some calls is for one thing: what differs between them names no more."""
    given = [{name: str(value) for name, value in leaves(deed.call.args)} for deed in calls]
    if len(calls) == 1:
        short = [value for value in given[0].values() if len(value) <= LONGEST_VALUE]
        return not calls[0].ability.general and linked(calls[0]) and all(map(_SINGLE.fullmatch, short))
    differ = {name for one in given for name in one if any(other.get(name) != one[name] for other in given)}
    alike = all(len({len(one.get(name, "").split()) for one in given}) == 1 for name in differ)
    return bool(differ) and alike and all(_SINGLE.fullmatch(one[name]) for one in given for name in differ)


def part_of(claim: Compared, calls: Sequence[Deed]) -> tuple[Deed, str] | None:
    """Find a call that says that it did a part of what a claim says was done whole: "indexed 61 of 412".

    Args:
        claim: what was said.
        calls: those that go with it, in their order.
    """
    counted = [amount for amount in claim.amounts if not amount.money]
    if claim.in_part or not (claim.every or claim.words & words("entire")):
        return None
    if reads(claim.stated.meaning):  # what is read has numbers of its own
        counted = [amount for amount in counted if any(base(amount.unit) in deed.told for deed in calls)]
    values = frozenset[float]().union(*(amount.values for amount in counted))
    for deed in reversed(calls):
        parts = {(_number(part), _number(whole)) for part, whole in _PART.findall(deed.result[:SHORT])}
        short = {(part, whole) for part, whole in parts if part < whole and (whole, whole) not in parts}
        for part, whole in sorted(short):
            if whole in values and part not in values:
                return deed, f"{whole:g}"
        if parts:
            return None
    return None


class _All(NamedTuple):
    """How many a claim says that it did, and that they were all, as written."""

    number: int
    text: str


def _all(claim: Compared) -> _All | None:
    """Find "all three", "both", "each of the four" in a claim."""
    tokens = claim.stated.objects
    for at, token in enumerate(tokens):
        if token.low == "both" and not any(later.low == "and" for later in tokens[at:]):
            return _All(2, "both")
        if token.low in ("all", "each"):
            for later in tokens[at + 1 : at + 4]:
                number = NUMBER_WORDS.get(later.low) or (int(later.low) if later.low.isdecimal() else 0)
                if 1 < number <= MOST_COUNTED:
                    return _All(int(number), f"{token.text} {later.text}")
                if later.low not in ("of", "the", "your", "these", "those", "my", "our"):
                    break
    return None


def _says(text: str, number: int) -> bool:
    """Tell whether a text has a number, by itself."""
    found = (word.casefold() for word in re.findall(r"(?<![\w.,-])\w+(?!\w)", text))
    return any(word == str(number) or NUMBER_WORDS.get(word) == number for word in found)


def _number(text: str) -> float:
    return float(text.replace(",", ""))
