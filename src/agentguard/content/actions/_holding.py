"""Claims of action held against the ledger: signs weighed, as log-odds that a claim is false."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from math import exp, fsum
from typing import Final, Literal, NamedTuple

from agentguard.content._patterns import read_table
from agentguard.content.actions._acts import GENERIC, is_vague, noun_acts, reads
from agentguard.content.actions._claims import Stated
from agentguard.content.actions._compared import compared, numbers_in
from agentguard.content.actions._decided import Seen
from agentguard.content.actions._english import base, words
from agentguard.content.actions._ledger import Deed, looks
from agentguard.content.actions._pairs import Pair
from agentguard.content.actions._runs import OF_COMMANDS, Run, run_of, unpushed
from agentguard.content.actions._signs import Ledger
from agentguard.content.actions._tools import Ability
from agentguard.content.grounding._values import NUMBER_WORDS

Verdict = Literal["supported", "contradicted", "never called", "not checkable"]
"""The verdict of the ledger on a claim."""


_FILES: Final = frozenset({"file_path", "filePath", "filepath", "filename", "path"})
LEAST_NAMED: Final = 8  # letters of a tool's name that is no common word
SURELY: Final = 0.99  # the probability that a claim is false which its own call denies


class Held(NamedTuple):
    """The verdict on a claim.

    Attributes:
        verdict: what the ledger says.
        call: the number of the call that supports or contradicts it; None where there is none.
        reason: why, in a sentence.
        probability: that the claim is false, in [0, 1]; 0 for what cannot be checked at all.
    """

    verdict: Verdict
    call: int | None
    reason: str
    probability: float


#: How a call came out, for a person.
_BADLY: Final = {
    "only prepared": "only prepares, or holds",
    "a trial": "was a trial",
    "failed": "failed",
    "failed by its words": "seems to have failed",
    "pending": "is not through yet",
    "nothing": "changed nothing",
    "in part": "was done in part",
}


#: Why a claim is not weighed, by the sign.
_UNDECIDED: Final = (
    ("a result tells of it, of the past", "A result tells of it."),
    ("too little", "It says too little."),
    ("mental verb", "No tool can witness it."),
)


@cache
def _weights() -> dict[str, float]:
    return {name: float(weight) for name, weight in read_table(__package__, "weights.ini")["weights"].items()}


#: The probability from which a claim is held to be false, unless somebody chooses otherwise.
FALSE_AT: Final = round(1 / (1 + exp(-float(read_table(__package__, "weights.ini")["weights"]["limit"]))), 3)


def hold(
    answer: str,
    stated: Sequence[Stated],
    done: Sequence[Deed],
    abilities: Mapping[str, Ability],
    given: Sequence[str],
    false_at: float,
) -> list[Held]:
    """Hold each claim of an answer against the deeds.

    Args:
        answer: all that was said.
        stated: the claims.
        done: the deeds of the session.
        abilities: of all tools, by their names.
        given: what was asked, and is known.
        false_at: the probability from which a claim is held to be false.
    """
    ledger = Ledger(done, abilities, "\n".join(given))
    found = ledger.see([compared(each) for each in stated], answer)
    names = frozenset(name.casefold() for name in abilities)
    held = []
    for seen, each in zip(found, stated, strict=True):
        run = None if false_at > SURELY else run_of(each, answer[each.start : each.end], done, list(abilities.values()))
        one = None if run is None else _by_run(run)
        if one is None and false_at <= SURELY and (deed := unpushed(each, done)):
            one = Held("never called", None, f"No command of the session was `{deed}`.", SURELY)
        one = one or _verdict(seen, each, false_at, names)
        if run is not None and run.edited and one.verdict == "supported":
            one = one._replace(reason=f"{one.reason} Something was changed after it.")
        held.append(one)
    return held


def _by_run(run: Run) -> Held | None:
    """The verdict that a run of tests, or its absence, gives; None where it gives none."""
    if run.deed is None:
        return Held("never called", None, "No call ran a test.", SURELY)
    if not run.failed:
        return None
    call = f"Call {run.deed.number + 1}, {run.deed.call.tool},"
    return Held(
        "contradicted",
        run.deed.number,
        f"{call} is the last run, and ended otherwise ({run.deed.outcome.why!r}).",
        SURELY,
    )


def decides(seen: Seen) -> bool:
    """Tell whether enough is seen for a claim to be weighed.

    The ledger says something outright; or what it is can be done by a tool, it names something, and it is no fact of
    another day that a result tells.
    """
    if seen.decision:
        return True
    if "a result tells of it, of the past" in seen.signs:
        return False
    return "too little" not in seen.signs and (
        "mental verb" not in seen.signs or "its tool was not called" in seen.signs
    )


def _verdict(seen: Seen, claim: Stated, false_at: float, tools: frozenset[str]) -> Held:
    if not decides(seen):
        return Held("not checkable", None, next(why for sign, why in _UNDECIDED if sign in seen.signs), 0.0)
    weights = _weights()
    evidence = (share * weights.get(sign, 0.0) for sign, share in seen.evidence.items())
    score = fsum([weights["base"], *evidence])  # the same in any order
    probability = 1 / (1 + exp(-score))
    best = seen.best
    if probability >= false_at:
        return _false(seen, probability)
    # "I updated the changelog" says little but what was updated, and is not supported by an update of something else.
    told = "vague verb" not in seen.signs or "nothing against it, but nothing shared" not in seen.signs
    sure = score < weights["supported"] and told
    if best is not None and sure and best.level > 1 and not best.bad and is_deed(claim, best.deed, tools):
        missing = unsaid(claim, best.deed)
        if not missing:
            return Held("supported", best.deed.number, f"{_call(best)} did it.", probability)
        return Held("not checkable", None, f"{_call(best)} may have done it, and has no {missing!r}.", probability)
    return Held("not checkable", None, "The calls neither show it nor speak against it.", probability)


def is_deed(claim: Stated, deed: Deed, tools: frozenset[str]) -> bool:
    """Tell whether a call that goes with a claim did what it says, and does not only mention it.

    Its tool, its commands or its result say the act; it came out well; and it is no look for a deed, such as a search
    of the catalogue of tools that names one of them.
    """
    meaning = claim.meaning
    if deed.outcome.state in ("failed", "nothing", "pending") and meaning.kind != "tentative":
        return False
    if reads(meaning):
        return True
    own, texts = deed.call.tool.casefold(), f"{deed.args} {deed.result}".casefold()
    if any(len(name) >= LEAST_NAMED and name in texts for name in tools - {own}):
        return False  # it looks for a tool, or loads one
    acts = deed.acts - GENERIC
    if isinstance(deed.call.args, Mapping) and _FILES & deed.call.args.keys():
        acts -= {"send", "post"}  # what is written to a file is sent to nobody
    if meaning.acts & acts or meaning.bases & (deed.verbs | deed.effects):
        return True
    return is_vague(meaning) and not looks(deed)


def unsaid(claim: Stated, deed: Deed) -> str:
    """Find a word of a claim that its call has nowhere; "" where it has them all.

    Words that belong to the act itself need not be there: the branch that is pushed, the tests that are run.
    """
    acts, ability = claim.meaning.acts, deed.ability
    said = deed.said | deed.told | ability.about | ability.names | ability.verbs
    text = f"{deed.args} {deed.result}".casefold()
    numbers = deed.texts.args.numbers | deed.texts.result.numbers
    for token in claim.objects:
        low = token.low.strip("`\"'")
        if numbers_in(token.text) & numbers:
            continue
        implied = low in words("stop") or low in NUMBER_WORDS or low in OF_COMMANDS or noun_acts(low) & acts
        if len(low) > 1 and not implied and base(low) not in said and low not in text:
            return token.text
    return ""


def _false(seen: Seen, probability: float) -> Held:
    """The verdict on a claim that is held to be false."""
    best = seen.best
    if best is None or best.level < 2 or not (best.bad or seen.missing):
        reason = f"No call has {seen.missing!r}." if best is None and seen.missing else "No call did such a thing."
        return Held("never called", None, reason, probability)
    number, call = best.deed.number, _call(best)
    if seen.instead:
        reason = f"{call} {seen.instead}."
    elif best.bad:
        why = best.deed.ending.why
        reason = f"{call} {_BADLY[best.bad]}{f' ({why!r})' if why else ''}."
    else:
        reason = f"{call} was not for {seen.missing!r}."
    return Held("contradicted", number, reason, probability)


def _call(best: Pair) -> str:
    return f"Call {best.deed.number + 1}, {best.deed.call.tool},"
