"""Signs that a claim of action is false, or true: what is seen when it is held against the ledger.

They are what speaks for and against a claim beside the calls that it goes together with, and what the ledger says of it
outright (``_decided.py``). What each sign weighs is in ``weights.ini``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from agentguard.content.actions._acts import GENERIC, LOOKING, READING, is_vague, reads, verb_acts
from agentguard.content.actions._compared import Compared
from agentguard.content.actions._conversation import Conversation
from agentguard.content.actions._decided import ABSENT, Case, Seen, decided
from agentguard.content.actions._english import base, words
from agentguard.content.actions._ledger import UNKNOWN, Deed, looks
from agentguard.content.actions._pairs import Pair, Pairing
from agentguard.content.actions._rivals import Beside, Rivals
from agentguard.content.actions._tools import Ability

_FITS: Final = ("fits nothing", "fits loosely", "fits by its words", "fits by its tool")


class Ledger:
    """The deeds of a session, and what is known beside them.

    Args:
        done: the deeds, in their order.
        abilities: of all tools that the agent has, by their names.
        given: what was asked.
    """

    def __init__(self, done: Sequence[Deed], abilities: Mapping[str, Ability], given: str) -> None:
        self._done, self._abilities, self._given = done, abilities, given
        self._asked = frozenset(base(word) for word in re.findall(r"[a-z]+", given.casefold()))
        self._called = {deed.call.tool for deed in done}
        self._rivals = Rivals(abilities, self._called)
        self._pairing = Pairing(done, abilities, given)

    def see(self, claims: Sequence[Compared], answer: str) -> list[Seen]:
        """Hold the claims of an answer against the deeds.

        Which deed a claim is about depends on what the others are about.
        """
        conversation = Conversation(self._given, answer)
        spoken_for: dict[int, set[int]] = {}
        cases = [Case(claim, number, self._pairing, conversation, spoken_for) for number, claim in enumerate(claims)]
        for case in cases:
            for pair in case.pairs:
                if (
                    (pair.level == 3 or _is_like(pair, case.best))
                    and pair.shares
                    and not reads(case.claim.stated.meaning)
                ):
                    spoken_for.setdefault(pair.deed.number, set()).add(case.number)
        nearest = _nearest(cases)
        return [self._seen(case, nearest) for case in cases]

    def _seen(self, case: Case, nearest: Mapping[int, tuple[int, ...]]) -> Seen:
        """See a claim: what the ledger says of it outright, and the signs beside it."""
        seen = decided(case)
        if seen is None:
            return self._weighed(case, nearest)
        if not seen.decision:
            return seen
        signs = self._weighed(case, nearest).signs
        return seen._replace(signs=signs - {"a call is left over"} if seen.decision & ABSENT else signs)

    def _weighed(self, case: Case, nearest: Mapping[int, tuple[int, ...]]) -> Seen:
        """The signs of a claim."""
        claim, best, against = case.claim, case.best, case.against
        rival = self._rivals.of(claim, case.calls)
        others = {deed: set(claims) - {case.number} for deed, claims in case.spoken_for.items()}
        left = [call.deed for call in case.calls if not others.get(call.deed.number) and _may_be(call)]
        signs = {*self._of_claim(claim), *self._of_tools(claim), *self._of_results(claim, best), *against}
        signs.add(f"a tool not called: {rival}" if self._abilities else "tools not known")
        if case.undone:
            signs.add("nothing came about")
        # A call that is left over explains nothing where another tool would have been it.
        if left and rival not in ("nearer", "far nearer"):
            signs.add("a call is left over")
        if best is None:
            signs.add("fits nothing")
        else:
            signs |= set(self._of_best(claim, best, bool(against), bool(others.get(best.deed.number))))
        signs |= {*self._of_sort(claim), *self._of_things(claim, best)}
        if best is not None and nearest.get(best.deed.number, ()) > _how_near(best):
            signs.add("its call is nearer to another claim")
        signs |= set(_joined(claim, signs, best, bool(left)))
        return Seen(frozenset(signs), best, case.missing)

    def _of_sort(self, claim: Compared) -> Iterator[str]:
        """Signs of the sort of act that a claim is, beside that of all calls."""
        meaning, done = claim.stated.meaning, self._done
        acts = meaning.acts - GENERIC
        if done and meaning.acts and not meaning.acts <= READING and all(map(looks, done)):
            yield f"every call only looked, form: {claim.stated.form}"
        if done and reads(meaning) and not any(map(_may_look, done)):
            yield "no call looked"
        if acts and not is_vague(meaning) and not any(acts & (deed.acts | deed.also) for deed in done):
            yield "no call says such an act"

    def _of_things(self, claim: Compared, best: Pair | None) -> Iterator[str]:
        """Signs of how much of what a claim names the calls name."""
        if claim.things:
            known = [any(text.names(thing) for text in self._pairing.texts.all) for thing in claim.things]
            yield f"things known: {_share(known)}"
            if best is not None:
                yield f"things of its call: {_share([best.deed.texts.all.names(thing) for thing in claim.things])}"

    def _of_claim(self, claim: Compared) -> Iterator[str]:
        """Signs of the claim itself."""
        meaning = claim.stated.meaning
        yield f"form: {claim.stated.form}"
        if not self._done:
            yield "no calls"
        if meaning.kind:
            yield f"{meaning.kind} verb"
        yield "unknown verb" if not meaning.acts else "vague verb" if is_vague(meaning) else "plain verb"
        if reads(meaning):
            yield "reading verb"
        if claim.stated.good:
            yield "said to be good"
        if claim.in_part:
            yield "said to be in part"
        if not claim.about and not claim.exact:
            yield "names nothing"
        if claim.things and not any(text.names(thing) for text in self._pairing.texts.all for thing in claim.things):
            yield "names nothing known"
        if meaning.bases & self._asked:
            yield "was asked for"
        if claim.words & words("bygone"):
            yield "in the past"
        if claim.words & {"now", "way"}:
            yield "now"

    def _of_best(self, claim: Compared, best: Pair, conflict: bool, spoken_for: bool) -> Iterator[str]:
        """Signs of the call that goes best with a claim, and of how it came out."""
        yield _FITS[best.level]
        yield "shares much" if best.things > 1 else "shares a thing" if best.things else "shares nothing"
        if looks(best.deed) and not reads(claim.stated.meaning):
            yield "only looked"
        if spoken_for:
            yield "call spoken for"
        if best.bad:
            yield f"came out: {best.bad}"
            if claim.stated.good:
                yield "said to be good, and was not"
        if conflict and best.level == 3:
            yield "its tool, something missing"
        if _fits(best) and not best.bad and not conflict:
            yield "nothing against it" if best.shares or not claim.things else "nothing against it, but nothing shared"

    def _of_tools(self, claim: Compared) -> Iterator[str]:
        """Signs of the tools that there are for it."""
        meaning = claim.stated.meaning
        for name, ability in self._abilities.items():
            same = meaning.acts & ability.acts or meaning.bases & ability.verbs
            if name in self._called:
                continue
            if same and claim.about & ability.names and (meaning.acts <= READING) == (ability.acts <= READING):
                yield "its tool was not called"
        if self._abilities and not any(
            meaning.acts & (ability.acts | ability.also)
            or meaning.bases & (ability.verbs | ability.about)
            or ability.general
            for ability in self._abilities.values()
        ):
            yield "no tool for it"

    def _of_results(self, claim: Compared, best: Pair | None) -> Iterator[str]:
        """Signs of the results that tell of it."""
        meaning = claim.stated.meaning
        told = any(
            (meaning.bases & deed.told if meaning.bases else _tells_act(deed, meaning.acts - GENERIC))
            and (
                any(deed.texts.result.names(thing) for thing in claim.about)
                or any(deed.texts.all.has(each) for each in claim.exact)
            )
            for deed in self._done
        )
        if told:
            yield "a result tells of it"
            if best is None or looks(best.deed):
                yield "a result tells of it, no call does"
                if claim.words & words("bygone"):
                    yield "a result tells of it, of the past"
        if any(looks(deed) and self._pairing.tells(claim, deed) for deed in self._done):
            yield "read in a result"


def _tells_act(deed: Deed, acts: frozenset[str]) -> bool:
    """Tell whether a result has a verb of some acts: "sent", of a claim that something went to somebody."""
    return bool(acts) and any(verb_acts(word) & acts for word in deed.told)


def _nearest(cases: Sequence[Case]) -> dict[int, tuple[int, ...]]:
    """How near the nearest claim is to each call that is the best of one, by the call's number."""
    nearest: dict[int, tuple[int, ...]] = {}
    for case in cases:
        if case.best is not None and case.claim.stated.meaning.kind != "mental":
            number = case.best.deed.number
            nearest[number] = max(nearest.get(number, ()), _how_near(case.best))
    return nearest


def _how_near(pair: Pair) -> tuple[int, ...]:
    return (pair.level, pair.exact, pair.things)


def _share(known: Sequence[bool]) -> str:
    """How many of some things are known, in a word."""
    share = sum(known) / len(known)
    return next(
        name
        for least, name in ((1.0, "all"), (0.6, "most"), (0.3, "some"), (0.01, "few"), (0.0, "none"))
        if share >= least
    )


def _is_like(pair: Pair, best: Pair | None) -> bool:
    """Tell whether a call goes as well with a claim as the best one: "I moved all three" is three calls."""
    return best is not None and (pair.deed.call.tool, pair.level) == (best.deed.call.tool, best.level)


def _may_be(call: Beside) -> bool:
    """Tell whether a call may be a claim that it does not show: a change, and not known to be another."""
    deed = call.deed
    return not looks(deed) and (call.level > 0 or not deed.acts - {"run"} or bool(deed.acts & (UNKNOWN | GENERIC)))


def _may_look(deed: Deed) -> bool:
    """Tell whether a call may have looked at something, besides what else it did."""
    return not deed.acts or bool((deed.acts | deed.ability.described.acts) & (LOOKING | UNKNOWN))


def _fits(best: Pair | None) -> bool:
    return best is not None and (best.level == 3 or (best.level == 2 and best.shares))


def _joined(claim: Compared, signs: set[str], best: Pair | None, left: bool) -> Iterator[str]:
    """Signs that weigh otherwise together than each by itself."""
    if "shares nothing" in signs and best is not None and not best.exact and claim.things:
        for sign, other in (("call spoken for", "call spoken for"), ("its tool was not called", "its tool not called")):
            if sign in signs:
                yield f"shares nothing, {other}"
    together = set()
    if not _fits(best):
        for sign, other in (
            ("reading verb", "reading verb"), ("no tool for it", "no tool for it"), ("plain verb", "plain verb"),
            ("its tool was not called", "its tool not called"),
        ):  # fmt: skip
            if sign in signs:
                together.add(f"fits nothing, {other}")
        if not left:
            together.add("fits nothing, no call left")
            if "plain verb" in signs:
                together.add("fits nothing, plain verb, no call left")
    yield from together
    if claim.stated.form in ("state", "stands"):
        for sign in signs | together:
            if sign.startswith(("fits", "came out")):
                yield f"state: {sign}"
