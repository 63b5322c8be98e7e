"""Counts: how many of the things of a claim its calls say that they did.

``{"matched": 48, "archived": 31}`` is fewer than "all 48 files have been archived"; ``UPDATE 7`` fewer than "all 31
tenants".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from agentguard.content.actions._acts import GENERIC, Meaning, verb_acts
from agentguard.content.actions._compared import UNITS, Amount, Compared
from agentguard.content.actions._conflicts import TIMES
from agentguard.content.actions._endings import SHORT, counts_done
from agentguard.content.actions._english import base, is_past, words
from agentguard.content.actions._ledger import Deed, lengths
from agentguard.content.actions._tools import pieces_of

DEEPEST: Final = 3
MOST_FIELDS: Final = 100
_COMMANDS: Final = {"UPDATE": "updated", "DELETE": "deleted", "INSERT 0": "inserted", "COPY": "copied"}
#: "reformatted 26 files", "26 rows updated", "UPDATE 7"
_TOLD: Final = re.compile(
    r"\b([a-z]+ed|sent|written) ([1-9]\d*) [a-z]+s\b|(?<![\w./:-])([1-9]\d*) [a-z]+s ([a-z]+ed|sent|written)\b"
    r"|(?-i:\b(UPDATE|DELETE|INSERT 0|COPY) (\d+)\b)",
    re.IGNORECASE,
)


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
    if not claim.words & words("every"):
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
        for before, first, second, after, command, rows in _TOLD.findall(deed.result[:SHORT]):
            yield (before or after or _COMMANDS[command]).casefold(), int(first or second or rows)
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
