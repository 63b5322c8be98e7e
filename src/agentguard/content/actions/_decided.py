"""Decisions: what the ledger says outright of a claim.

Each looks for one way in which a claim is false whatever else speaks for it; the first that finds it decides. What
decides weighs what all decisions do, ``outright``, and what its own name does, in ``weights.ini``: of a rare one little
is known but that it is one. What a field of a result says, or a tool that surely is such an act, weighs by itself, too:
``surely``. Beside a decision all other signs count half: mild agreement elsewhere does not weigh against it, and much
of it does.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from typing import Final, NamedTuple

from agentguard.content.actions._acts import GENERIC, READING, is_vague, noun_acts, reads, verb_acts
from agentguard.content.actions._claims import TRIED
from agentguard.content.actions._compared import Compared
from agentguard.content.actions._conflicts import OUTRIGHT, TIMES, conflicts, measured_nowhere
from agentguard.content.actions._conversation import Conversation
from agentguard.content.actions._counts import done_in_all, fewer, part_of, too_few
from agentguard.content.actions._endings import is_empty, is_under_way
from agentguard.content.actions._english import base, bases, words
from agentguard.content.actions._invented import invented
from agentguard.content.actions._ledger import UNKNOWN, Deed, leaves, looks
from agentguard.content.actions._lists import left_out
from agentguard.content.actions._order import Other, too_late
from agentguard.content.actions._outcomes import is_spared, of_its_records, says_end, was_so_before
from agentguard.content.actions._owning import owns_up
from agentguard.content.actions._pairs import Pair, Pairing
from agentguard.content.actions._rivals import Beside
from agentguard.content.actions._substitutes import substitutes
from agentguard.content.actions._tools import pieces_of

TOGETHER: Final = 50  # calls that are held together against a claim
BESIDE: Final = 0.5  # of the weight of other signs, beside a decision
#: Decisions that no call can be the claim.
ABSENT: Final = frozenset({"no call was made", "no call is such a deed of the writer", "no call is such an act"})


TELLING: Final = frozenset({"send", "post"})


class Seen(NamedTuple):
    """A claim held against the ledger.

    Attributes:
        signs: the names of the signs.
        best: the call that goes best with it; None where none does.
        missing: what the claim says and its calls do not have, as written; "" where there is nothing of that sort.
        instead: what is so instead, to be said of the call; "" where the outcome or what is missing says it.
        decision: the names of what the ledger says outright; none where it says nothing.
    """

    signs: frozenset[str]
    best: Pair | None
    missing: str
    instead: str = ""
    decision: frozenset[str] = frozenset()

    @property
    def evidence(self) -> dict[str, float]:
        """The signs and the decision, each with the share of its weight that counts."""
        share = BESIDE if self.decision else 1.0
        return dict.fromkeys(self.signs, share) | dict.fromkeys(self.decision, 1.0)


class Case:
    """A claim, and all that is seen of it beside the calls.

    Args:
        claim: what was said.
        number: of the claim among those of the answer.
        pairing: the deeds of the session.
        conversation: what was asked, and the answer.
        spoken_for: the numbers of the claims that each call is, by the call's number; whole once all cases are there.

    Attributes:
        calls: all calls, each with how it goes together with the claim.
        pairs: the calls that go together with it, the best last.
        best: the one that goes best; None where none does.
    """

    def __init__(
        self,
        claim: Compared,
        number: int,
        pairing: Pairing,
        conversation: Conversation,
        spoken_for: Mapping[int, Collection[int]],
    ) -> None:
        self.claim, self.number, self.pairing, self.conversation = claim, number, pairing, conversation
        self.spoken_for = spoken_for
        self.calls: Sequence[Beside] = pairing.beside(claim)
        self.pairs: Sequence[Pair] = pairing.pairs(claim, self.calls)
        self.best: Pair | None = pairing.best(claim, self.pairs)

    @cached_property
    def good(self) -> list[Pair]:
        """The calls that are the claim, so far as they came out well; none where none is."""
        if self.best is None:
            return []
        level = min(self.best.level, 2)
        return [pair for pair in self.pairs if not pair.bad and pair.level >= level] or [self.best]

    @cached_property
    def fitting(self) -> list[Deed]:
        """The last of those calls."""
        return [pair.deed for pair in self.good[-TOGETHER:]]

    @cached_property
    def against(self) -> dict[str, str]:
        """Conflicts of the claim with those calls: signs, each with the words that the calls do not have."""
        found = conflicts(self.claim, self.fitting, self.pairing.texts, reads(self.claim.stated.meaning))
        return {sign: said for sign, said in found if self.good or not sign.endswith("elsewhere")}

    @cached_property
    def missing(self) -> str:
        """The words of what speaks most against it, where calls are the claim."""
        if not self.good:
            return ""
        outright = next((said for sign, said in self.against.items() if sign in OUTRIGHT), "")
        return outright or next(iter(self.against.values()), "")

    @cached_property
    def undone(self) -> list[Pair]:
        """All calls for a claim's things, or all that may change something, if none of them did what is claimed.

        What is so may have been so before; it is a deed where a call was for what it names.
        """
        claim, meaning = self.claim, self.claim.stated.meaning
        looked = meaning.acts and meaning.acts <= READING and not claim.stated.good
        if looked or reads(meaning) or meaning.kind == "mental":
            return []
        # Who was told that it is done has been told; that is not the deed.
        tells = not is_vague(meaning) and not meaning.kind and not meaning.acts & TELLING
        if any(
            not pair.bad
            and (pair.level == 3 or (pair.level == 2 and pair.shares and not (tells and _tells(pair.deed))))
            for pair in self.pairs
        ):
            return []
        told = claim.stated.form in ("outcome", "state", "stands", "label")
        if told and any(looks(deed) and self.pairing.tells(claim, deed) for deed in self.pairing.done):
            return []
        tried = [deed for deed in self.pairing.done if not _only_reads(deed) and not (tells and _tells(deed))]
        named = [deed for deed in tried if self.pairing.is_for(claim, deed)]
        if claim.stated.form in ("state", "stands") and not named:
            return []
        undone = []
        for deed in tried if claim.stated.form == "state" else named or tried:
            way = self.pairing.falls_short(claim, deed, True)
            if not way:
                return []
            if way != "only prepared" or not self.pairing.later(deed):
                undone.append(Pair(deed, 2, bad=way))
        return undone


def decided(case: Case) -> Seen | None:
    """See what the ledger says outright of a claim; None where it says nothing."""
    for decision in DECISIONS:
        seen = decision(case)
        if seen is not None:
            return seen
    return None


# --- Another thing than was done ---


def _given_another_thing(case: Case) -> Seen | None:
    """A call was given something else than the claim says."""
    for deed, said, given in substitutes(case.claim, _acting(case), case.conversation):
        return _seen("given another thing", Pair(deed, 3), said, f"has {given!r}, not {said!r}")
    return None


def _item_left_out(case: Case) -> Seen | None:
    """No call has an item of the claim's list."""
    for deed, item in left_out(case.claim, _acting(case), case.conversation.names):
        return _seen("an item left out", Pair(deed, 3), item, f"does not have {item!r}")
    return None


def _acting(case: Case) -> list[Beside]:
    """The calls that may have been the claim."""
    meaning = case.claim.stated.meaning
    if meaning.kind == "mental":
        return []
    return [call for call in case.calls if reads(meaning) or not looks(call.deed)]


def _came_too_late(case: Case) -> Seen | None:
    """The call of the claim came behind what the claim says that it came before."""
    best = case.best
    if best is None or best.bad or best.level + best.exact < 2:
        return None
    own = {pair.deed.number for pair in case.pairs if (pair.level, pair.exact) == (best.level, best.exact)}
    others = [
        Other(deed, case.spoken_for.get(deed.number, ()))
        for deed in case.pairing.done
        if deed.number not in own and not looks(deed) and deed.ending.outcome == "done"
    ]
    late = too_late(case.claim, case.number, case.conversation.answer, min(own), others)
    return _seen("too late", best, late, f"was not {late!r}") if late else None


def _fewer_than_said(case: Case) -> Seen | None:
    """The calls of the claim say that they did fewer."""
    if case.best is None or case.best.level < 2:
        return None
    own = {deed.number for deed in case.fitting}
    rest = [deed for deed in case.pairing.done if deed.number not in own and not looks(deed)]
    less = "" if any(_has_count(case.claim, deed) for deed in rest) else fewer(case.claim, case.fitting)
    return _seen("fewer than said", case.best._replace(bad="in part"), less) if less else None


def _has_count(claim: Compared, deed: Deed) -> bool:
    """Tell whether a result has a number of a claim with its unit: "wrote 31 pages"."""
    result = deed.texts.result
    return any(
        amount.values & result.numbers and base(amount.unit) in deed.told for amount in claim.amounts if amount.unit
    )


def _fewer_calls_than_said(case: Case) -> Seen | None:
    """It says "all three", and there are two calls for one thing each."""
    claim, meaning = case.claim, case.claim.stated.meaning
    little = meaning.acts & GENERIC - {"read"} or meaning.kind or claim.in_part
    calls = [
        call.deed
        for call in case.calls
        if call.level > 1 and meaning.bases & (call.deed.said | call.deed.ability.verbs)
    ]
    finders = bases("searching")
    others = [call for call in case.calls if call.level > 1 and not call.deed.ability.verbs & finders]
    if little or not calls or any(call.deed not in calls for call in others):
        return None
    links = case.pairing.texts.links
    few = too_few(claim, calls, lambda deed: bool(links.of(deed).others))
    return _seen("fewer calls than said", Pair(calls[-1], 3), few, f"is not {few!r}") if few else None


def _a_part_of_the_whole(case: Case) -> Seen | None:
    """A call of the claim says that it did a part of what the claim says was done whole."""
    claim = case.claim
    if case.best is None or (claim.stated.meaning.acts & TRIED and not claim.stated.good):
        return None
    begun = base(claim.stated.verb) in bases("starting") or claim.stated.meaning.kind == "tentative"
    calls = sorted((pair.deed for pair in case.pairs if pair.shares), key=lambda deed: deed.number)
    part = None if begun else part_of(claim, calls)
    return _seen("a part of the whole", Pair(part[0], 2, bad="in part"), part[1]) if part else None


def _none_were_found(case: Case) -> Seen | None:
    """It says how many were found, and what looked for them returned nothing."""
    claim, best = case.claim, case.best
    finds = base(claim.stated.verb) in bases("finding")
    if not finds or best is None or not looks(best.deed) or not is_empty(best.deed.call.result):
        return None
    counts = [amount for amount in claim.amounts if amount.unit and not amount.money and amount.unit not in TIMES]
    there = frozenset[float]().union(*(text.numbers for text in case.pairing.texts.all))
    for amount in counts:
        if not amount.values & (there | {0.0}):
            return _seen("none were found", best, f"{amount.text} {amount.unit}", "returned nothing")
    return None


def _its_call_has_another(case: Case) -> Seen | None:
    """The very call of the claim was for something else."""
    # "Your bill of €58 is settled": what is so is of a thing that another call told of.
    elsewhere = case.claim.stated.form == "state" and "number: elsewhere" in case.against
    if elsewhere or reads(case.claim.stated.meaning):
        return None
    if _is_the_very(case.best) and OUTRIGHT & set(case.against):
        counted = OUTRIGHT & set(case.against) == {"number: its result counts others"}
        surely = case.best is not None and case.best.level == 3 and not counted
        return _seen("its call has another", case.best, case.missing, surely=surely)
    return None


# --- Not done, or not yet ---


def _its_call_came_out_badly(case: Case) -> Seen | None:
    """The very call of the claim failed, was a trial, or was done in part. What is so may have been so before."""
    best = case.best
    if best is None or not _is_the_very(best) or not (best.said or case.claim.stated.meaning.known):
        return None
    if owns_up(case.claim, case.conversation.answer, best.deed.ending):
        return None
    sure = best.deed.ending.sure or case.claim.stated.form not in ("state", "stands")
    return (
        _seen("its call came out badly", best, case.missing) if sure and best.bad not in ("", "only prepared") else None
    )


def _one_of_several_came_out_badly(case: Case) -> Seen | None:
    """One of the several calls that the claim is about: it says "all", or a count that none of its calls has."""
    claim, best = case.claim, case.best
    if best is None or claim.in_part:
        return None
    have = frozenset[float]().union(*(pair.deed.texts.all.numbers for pair in case.good))
    counts = [
        amount.values for amount in claim.amounts if amount.unit and not amount.money and amount.unit not in TIMES
    ]
    have |= {done_in_all(claim, case.fitting)}
    if any(values & have for values in counts):
        return None
    like = [pair for pair in case.pairs if pair.level == best.level > 1]
    one = next((pair for pair in like if pair.bad and not case.pairing.again(pair.deed)), None)
    if one is not None and not counts and not claim.every and not _is_named_there_alone(case, one, like):
        return None
    return _seen("one of several came out badly", one, case.missing) if one else None


def _is_named_there_alone(case: Case, one: Pair, like: Sequence[Pair]) -> bool:
    """Tell whether a claim names something that a call which failed has, and none of its like that came out well."""
    if one.bad != "failed" or not one.deed.ending.sure:
        return False
    if all(pair.bad for pair in like):
        return False
    well = [call.text for call in case.calls if not looks(call.deed) and call.deed.ending.outcome == "done"]
    named = [*case.claim.names, *case.claim.exact]
    return any(one.deed.texts.args.has(each) and not any(text.has(each) for text in well) for each in named)


def _is_still_under_way(case: Case) -> Seen | None:
    """The last look at what the claim says is over shows it under way."""
    ends = says_end(case.claim) and not case.claim.in_part
    look = case.pairing.last_look(case.claim) if ends else None
    look = look and of_its_records(case.claim, look)
    if look is not None and is_under_way(look.ending, look.result) and not is_spared(case.claim, look):
        return _seen("still under way", Pair(look, 2, bad="pending"), case.missing)
    return None


def _its_last_call_failed(case: Case) -> Seen | None:
    """It says how something is now, and the last call for that thing failed."""
    claim = case.claim
    if claim.stated.form not in ("stands", "outcome") or claim.words & words("bad"):
        return None
    if not claim.words & (words("new") - {"gone"} | {"place", "way", "effect"}):
        return None
    tried = [
        deed
        for deed in case.pairing.done
        if not looks(deed)
        and (case.pairing.is_for(claim, deed) or _has_money(claim, deed))
        and all(deed.texts.args.has(each) for each in claim.exact)
    ]
    last = tried[-1] if tried else None
    if last is None or last.ending.outcome != "failed" or not last.ending.sure:
        return None
    if is_spared(claim, last) or was_so_before(claim, last):
        return None
    later = [deed for deed in case.pairing.done if deed.number > last.number and deed.ending.outcome == "done"]
    if any(deed.texts.result.words & words("good") or deed.acts & last.acts - {"run"} for deed in later):
        return None
    return _seen("its last call failed", Pair(last, 2, bad="failed"), case.missing)


def _has_money(claim: Compared, deed: Deed) -> bool:
    """Tell whether a call was given the sum of a claim."""
    return any(amount.money and amount.values & deed.texts.args.numbers for amount in claim.amounts)


def _nothing_came_of_it(case: Case) -> Seen | None:
    """All calls that may have been it came out otherwise."""
    undone = case.undone
    owned = any(owns_up(case.claim, case.conversation.answer, pair.deed.ending) for pair in undone)
    if undone and not owned and _says_enough(case, {pair.bad for pair in undone}):
        surely = all(pair.deed.ending.sure or pair.bad == "only prepared" for pair in undone)
        return _seen("nothing came of it", undone[-1], case.missing, surely=surely)
    return None


def _says_enough(case: Case, undone: Collection[str]) -> bool:
    """Tell whether nothing is left to weigh where all calls came out otherwise.

    A verb that says little has to be said of a thing that a call was for. What the writer did itself has to be a
    deed of a tool: "I stopped after the first failure", "I wrote it down below" are none.
    """
    claim = case.claim
    if "failed by its words" in undone or claim.words & (words("bad") | words("present")):
        return False
    if claim.stated.form == "active" and not _is_of_a_tool(case):
        return False
    if not is_vague(claim.stated.meaning):
        return True
    said = claim.stated.form in ("passive", "nominal", "stands") and "only prepared" not in undone
    return said and any(case.pairing.is_for(claim, deed) for deed in case.pairing.done if not _only_reads(deed))


def _is_of_a_tool(case: Case) -> bool:
    """Tell whether the agent has a tool that does such an act, to something."""
    claim, meaning = case.claim, case.claim.stated.meaning
    if meaning.kind == "spoken" or not (claim.things or claim.exact or claim.amounts):
        return False
    return any(
        (meaning.acts & ability.acts) - GENERIC or meaning.bases & ability.verbs
        for ability in case.pairing.abilities.values()
    )


# --- No such call ---


def _says_too_little(case: Case) -> Seen | None:
    """It names nothing, and its verb may be anything: it is not weighed."""
    claim = case.claim
    if claim.things or claim.exact or claim.amounts or not is_vague(claim.stated.meaning):
        return None
    return Seen(frozenset({"too little"}), case.best, "")


def _no_call_was_made(case: Case) -> Seen | None:
    """There is no call at all, and it is what a tool does."""
    claim, meaning = case.claim, case.claim.stated.meaning
    deed = claim.stated.form not in ("state", "stands", "label", "found") and not claim.words & words("bygone")
    if case.pairing.done or not deed or not meaning.known or meaning.kind:
        return None
    return _seen("no call was made", None, surely=True)


def _no_call_is_such_an_act(case: Case) -> Seen | None:
    """All calls are known for what they did, and none of it is the claim.

    A tool that does what its arguments say is known by commands, and so is what the claim says of such an act.
    """
    claim, meaning, pairing = case.claim, case.claim.stated.meaning, case.pairing
    if is_vague(meaning) or meaning.kind or claim.stated.form in ("state", "stands", "received"):
        return None
    if (meaning.acts <= READING and not meaning.acts <= TRIED) or claim.words & words("bygone"):
        return None
    if not claim.about and not claim.exact:
        return None
    told = claim.stated.form == "outcome"  # what came out is told by a look
    absent = all(
        deed.acts - {"run"}
        and not deed.acts & UNKNOWN
        and not meaning.acts & (deed.acts | deed.ability.also | _may_have_done(deed))
        and not {*meaning.bases, base(claim.stated.verb)} & (deed.ability.verbs | deed.said | deed.told)
        and ((looks(deed) and not told) or not (pairing.things(claim, deed) or pairing.exact(claim, deed)))
        for deed in pairing.done
    )
    own = claim.stated.form in ("active", "bare")
    sign = "no call is such a deed of the writer" if own else "no call is such an act"
    return _seen(sign, case.best) if absent else None


def _may_have_done(deed: Deed) -> frozenset[str]:
    """The acts that the fields of a result name: ``refund_credits``."""
    result = deed.call.result
    if looks(deed) or not isinstance(result, Mapping):
        return frozenset()
    pieces = {piece for name, value in leaves(result) if value for piece in pieces_of(name)}
    return frozenset(act for piece in pieces for act in verb_acts(piece) | noun_acts(piece))


def _no_call_has_its_number(case: Case) -> Seen | None:
    """No call has a number of the claim with a unit, nor anything of which it may have been made."""
    if not _may_be_invented(case):
        return None
    for amount in measured_nowhere(case.claim, case.pairing.done, case.pairing.texts):
        missing = f"{amount.text} {amount.unit}".strip()
        return _seen("no call has its number", _its_tool(case), missing, f"does not have {missing!r}")
    return None


def _no_call_has_its_identifier(case: Case) -> Seen | None:
    """No call has an identifier of the claim, and nobody gave it."""
    texts = case.pairing.texts
    token = invented(case.claim, texts.all, texts.given) if _may_be_invented(case) else ""
    return _seen("no call has its identifier", None, token) if token else None


def _may_be_invented(case: Case) -> bool:
    return case.pairing.whole and case.claim.stated.meaning.kind != "mental"


def _its_tool(case: Case) -> Pair | None:
    """The best call, where its tool is such an act."""
    return case.best if case.best is not None and case.best.level == 3 else None


def _is_the_very(best: Pair | None) -> bool:
    """Tell whether a call is the claim itself: by its tool, or by its words and what the claim says exactly."""
    return best is not None and (best.level == 3 or (best.level == 2 and best.exact > 0))


def _tells(deed: Deed) -> bool:
    """Tell whether a call only tells somebody of something."""
    return bool(deed.acts & TELLING) and not deed.ability.general


def _only_reads(deed: Deed) -> bool:
    """Tell whether a call changes nothing, whatever it is."""
    return bool(deed.acts & READING) and deed.acts <= READING | {"run"}


def _seen(sign: str, best: Pair | None, missing: str = "", instead: str = "", surely: bool = False) -> Seen:
    names = frozenset({"outright", sign, *(["surely"] if surely else [])})
    return Seen(frozenset(), best, missing, instead, names)


#: In this order, the nearest to what was done first.
DECISIONS: Final[tuple[Callable[[Case], Seen | None], ...]] = (
    _given_another_thing,
    _item_left_out,
    _came_too_late,
    _says_too_little,
    _no_call_was_made,
    _no_call_is_such_an_act,
    _fewer_than_said,
    _fewer_calls_than_said,
    _a_part_of_the_whole,
    _none_were_found,
    _its_call_has_another,
    _its_call_came_out_badly,
    _one_of_several_came_out_badly,
    _is_still_under_way,
    _its_last_call_failed,
    _nothing_came_of_it,
    _no_call_has_its_number,
    _no_call_has_its_identifier,
)
