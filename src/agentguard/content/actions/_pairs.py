"""Calls that go together with a claim, and which of them goes best.

A claim and a call go together where the call's acts are among those that the claim's verb can stand for, or where the
call says the same words. Of those that go together, the ones that have what the claim says exactly come first, then
those that name the same things.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from agentguard.content.actions._acts import CHECKING, LOOKING, are_opposite, is_vague, reads
from agentguard.content.actions._compared import Compared
from agentguard.content.actions._conflicts import AllTexts
from agentguard.content.actions._endings import is_under_way
from agentguard.content.actions._english import bases, words
from agentguard.content.actions._ledger import MOST_CHARACTERS, UNKNOWN, Deed, has_effect, leaves, looks
from agentguard.content.actions._links import LONGEST_ID, Links
from agentguard.content.actions._outcomes import falls_short
from agentguard.content.actions._rivals import Beside
from agentguard.content.actions._tools import Ability

SHORTEST: Final = 4  # letters of a name that may be a thing's short form


class Pair(NamedTuple):
    """A claim beside a call.

    Attributes:
        deed: the call.
        level: how they go together: 3 the tool or its command is such an act, 2 its words say so, 1 they may.
        things: how many of the claim's things the call names.
        exact: how much of what the claim says exactly, and of its numbers, the call has.
        bad: how it came out otherwise than the claim says; "" where it did not.
        said: its arguments or its name say the claim's very verb.
    """

    deed: Deed
    level: int
    things: int = 0
    exact: int = 0
    bad: str = ""
    said: bool = False

    @property
    def weight(self) -> tuple[int, int, bool, bool, bool, int]:
        """By which the best call is found."""
        near = self.level + min(self.things, 3)
        return (self.exact, near, not looks(self.deed), self.said, not self.bad, self.deed.number)

    @property
    def shares(self) -> bool:
        """Tell whether the call has anything that the claim names."""
        return self.things + self.exact > 0


class Pairing:
    """The deeds of a session, and how they go together with claims.

    Args:
        done: the deeds, in their order.
        abilities: of all tools that the agent has, by their names.
        given: what was asked.

    Attributes:
        done, abilities: as they were given.
        texts: of all deeds, and of what was asked.
        whole: all calls were read to their ends.
    """

    def __init__(self, done: Sequence[Deed], abilities: Mapping[str, Ability], given: str) -> None:
        self.done, self.abilities = done, abilities
        self.texts = AllTexts([deed.texts.all for deed in done], given.casefold(), Links(done))
        self.whole = all(max(len(deed.args), len(deed.result)) < MOST_CHARACTERS for deed in done)

    def beside(self, claim: Compared) -> list[Beside]:
        """All calls, each with how it goes together with a claim."""
        return [Beside(deed, deed.texts.all, self._level(claim, deed)) for deed in self.done]

    def pairs(self, claim: Compared, calls: Sequence[Beside]) -> list[Pair]:
        """The calls that go together with a claim, the best last."""
        found = []
        for deed, _, level in calls:
            if deed.ability.names & words("todo") and not claim.things & words("todo"):
                continue
            if level:
                exact, things = self.exact(claim, deed), self.things(claim, deed)
                if level > 1 or things + exact:
                    bad = self.falls_short(claim, deed, things + exact > 0)
                    said = bool(claim.stated.meaning.bases & (deed.said | deed.ability.verbs))
                    found.append(Pair(deed, level, things, exact, bad, said))
        return sorted(found, key=lambda pair: pair.weight)

    def best(self, claim: Compared, pairs: Sequence[Pair]) -> Pair | None:
        """The call that goes best with a claim; of several alike, one that came out well."""
        if not pairs:
            return None
        best = pairs[-1]
        named = self._named(claim, best)
        like = [pair for pair in pairs if pair.exact == best.exact and (pair.things or not best.things)]
        like = [pair for pair in like if pair.level == best.level] or like
        like = [pair for pair in like if self._named(claim, pair) >= named and pair.said >= best.said]
        call = (best.deed.call.tool, best.deed.args)
        again = [pair for pair in pairs if (pair.deed.call.tool, pair.deed.args) == call]
        return next((pair for pair in (*reversed(like), *reversed(again)) if not pair.bad), best)

    def _named(self, claim: Compared, pair: Pair) -> int:
        """How many names of a claim a call has."""
        return sum(name in pair.deed.texts.all.text for name in claim.names)

    def falls_short(self, claim: Compared, deed: Deed, shares: bool) -> str:
        """How a call came out otherwise than a claim says; a later call may have brought it through, or seen it so."""
        bad = falls_short(claim, deed, shares)
        if bad == "only prepared" and any(
            later.ending.outcome == "done" and not looks(later) for later in self.later(deed)
        ):
            return ""  # a draft that was then published
        if bad == "pending" and any(
            looks(later) and later.ending.outcome == "done" and not is_under_way(later.ending, later.result)
            for later in self.later(deed)
        ):
            return ""
        return "" if bad == "pending" and self._brought_through(deed) else bad

    def _brought_through(self, deed: Deed) -> bool:
        """Tell whether a later call of another tool, of the same thing, did what was still to be done."""
        own = {str(value).casefold() for _, value in leaves(deed.call.args) if isinstance(value, str)}
        return any(
            later.number > deed.number
            and later.call.tool != deed.call.tool
            and later.ending.outcome == "done"
            and not looks(later)
            and own & {str(value).casefold() for _, value in leaves(later.call.args)}
            for later in self.done
        )

    def later(self, deed: Deed) -> list[Deed]:
        """The later calls that were given what a call made: a draft that was then sent."""
        made = {str(value).casefold() for _, value in leaves(deed.call.result) if isinstance(value, str)}
        ids = {value for value in made if any(map(str.isdigit, value)) and len(value) <= LONGEST_ID}
        later = self.done[deed.number + 1 - self.done[0].number :] if ids else []
        return [other for other in later if any(value in other.texts.args.text for value in ids)]

    def again(self, deed: Deed) -> bool:
        """Tell whether a call was made again later, and came out well; a check is made again with any arguments."""
        checks = deed.acts <= CHECKING | {"run"}
        return any(
            later.number > deed.number
            and later.call.tool == deed.call.tool
            and (later.args == deed.args or (checks and later.acts == deed.acts))
            and later.ending.outcome == "done"
            for later in self.done
        )

    def last_look(self, claim: Compared) -> Deed | None:
        """The last look at what a claim names, or the last call if it is one."""
        looked = [
            (self.exact(claim, deed), self.things(claim, deed), number)
            for number, deed in enumerate(self.done)
            if looks(deed)
        ]
        exact, things, number = max(looked, default=(0, 0, -1))
        return self.done[number] if looked and (exact + things or number == len(self.done) - 1) else None

    def is_for(self, claim: Compared, deed: Deed) -> bool:
        """Tell whether the arguments of a call name something that a claim does."""
        args = deed.texts.args
        names = [name for name in deed.ability.names if len(name) >= SHORTEST]
        if any(thing.startswith(name) for name in names for thing in claim.things):
            return True  # "certificate", of certs.renew
        return any(args.names(thing) for thing in claim.things) or any(args.has(each) for each in claim.exact)

    def _level(self, claim: Compared, deed: Deed) -> int:
        """How a claim and a call go together; 0 where they do not."""
        meaning, ability, vague = claim.stated.meaning, deed.ability, is_vague(claim.stated.meaning)
        looked = looks(deed) and not meaning.acts & LOOKING
        if are_opposite(meaning.bases, deed.verbs):
            return 0
        if (meaning.acts & deed.acts or meaning.bases & ability.verbs) and not looked:
            return 3
        if has_effect(deed, meaning):
            return 3  # "they were told", where the result has "notified": 3
        if claim.things and claim.things <= bases("attempt") and self._is_retry(deed):
            return 3
        if vague and claim.about & ability.verbs:  # "a ban was issued", by mod_ban
            return 3
        text = deed.texts.all.text
        if meaning.bases & (deed.told | deed.said) or any(len(each) > 3 and each in text for each in meaning.bases):
            return 2
        if (vague or not ability.acts) and claim.about & ability.names and not looks(deed):
            return 2
        if meaning.acts & deed.also and (vague or ability.general or not ability.acts):
            return 1
        if claim.stated.form in ("outcome", "label"):
            return 2 if self.tells(claim, deed) else 1
        if any(deed.texts.args.has(each) for each in claim.exact) and not looks(deed):
            return 1
        open_to_any = ability.general and (deed.acts & UNKNOWN or not deed.acts - {"run"})
        return 1 if reads(meaning) or vague or open_to_any else 0

    def exact(self, claim: Compared, deed: Deed) -> int:
        text = deed.texts.all
        numbers = sum(bool(amount.values & text.numbers) for amount in claim.amounts)
        return numbers + sum(text.has(each) for each in claim.exact)

    def things(self, claim: Compared, deed: Deed) -> int:
        text = deed.texts.all
        unsaid = [thing for thing in claim.things if not text.names(thing)]
        linked = self.texts.links.of(deed).own if unsaid else frozenset()
        return len(claim.things) - len(unsaid) + sum(thing in linked for thing in unsaid)

    def tells(self, claim: Compared, deed: Deed) -> bool:
        """Tell whether a result says much of what the claim names, and all that it says exactly."""
        result = deed.texts.result
        things = sum(result.names(thing) for thing in claim.things)
        if not all(result.has(each) for each in claim.exact):
            return False
        if not all(amount.values & result.numbers for amount in claim.amounts):
            return False
        exact = len(claim.exact) + len(claim.amounts)
        return things + 2 * exact >= 2 and 2 * things >= len(claim.things)

    def _is_retry(self, deed: Deed) -> bool:
        """Tell whether a call follows one of the same tool that came out badly."""
        return any(
            earlier.number < deed.number and earlier.call.tool == deed.call.tool and earlier.ending.outcome == "failed"
            for earlier in self.done
        )
