"""Signs that a claim of action is false, or true: what is seen when it is held against the ledger.

A claim and a call go together where the call's acts are among those that the claim's verb can stand for, or where the
call says the same words. Of those that go together, the ones that have what the claim says exactly come first, then
those that name the same things. What speaks for and against the claim beside them are its signs; what each sign weighs
is in ``weights.ini``. Where the ledger says something outright, that is the claim's only sign: mild agreement elsewhere
does not weigh against it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from agentguard.content.actions._acts import GENERIC, LOOKING, READING, is_vague, reads
from agentguard.content.actions._claims import TRIED
from agentguard.content.actions._compared import Compared
from agentguard.content.actions._conflicts import OUTRIGHT, TIMES, AllTexts, conflicts, measured_nowhere
from agentguard.content.actions._conversation import Conversation
from agentguard.content.actions._counts import fewer
from agentguard.content.actions._endings import is_under_way
from agentguard.content.actions._english import base, bases, words
from agentguard.content.actions._invented import invented
from agentguard.content.actions._ledger import MOST_CHARACTERS, UNKNOWN, Deed, leaves, looks
from agentguard.content.actions._links import LONGEST_ID, Links
from agentguard.content.actions._lists import left_out
from agentguard.content.actions._order import Other, too_late
from agentguard.content.actions._outcomes import falls_short, is_spared, says_end
from agentguard.content.actions._rivals import Beside, Rivals
from agentguard.content.actions._substitutes import substitutes
from agentguard.content.actions._tools import Ability

TOGETHER: Final = 50  # calls that are held together against a claim
_FITS: Final = ("fits nothing", "fits loosely", "fits by its words", "fits by its tool")


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


class Seen(NamedTuple):
    """A claim held against the ledger.

    Attributes:
        signs: the names of the signs.
        best: the call that goes best with it; None where none does.
        missing: what the claim says and its calls do not have, as written; "" where there is nothing of that sort.
        instead: what is so instead, to be said of the call; "" where the outcome or what is missing says it.
    """

    signs: frozenset[str]
    best: Pair | None
    missing: str
    instead: str = ""


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
        self._whole = all(max(len(deed.args), len(deed.result)) < MOST_CHARACTERS for deed in done)
        self._texts = AllTexts([deed.texts.all for deed in done], given.casefold(), Links(done))

    def see(self, claims: Sequence[Compared], answer: str) -> list[Seen]:
        """Hold the claims of an answer against the deeds.

        Which deed a claim is about depends on what the others are about.
        """
        conversation = Conversation(self._given, answer)
        calls = [self._beside(claim) for claim in claims]
        pairs = [self._pairs(claim, beside) for claim, beside in zip(claims, calls, strict=True)]
        spoken_for: dict[int, set[int]] = {}
        for number, (claim, found) in enumerate(zip(claims, pairs, strict=True)):
            best = self._best(claim, found)
            for pair in found:
                if (pair.level == 3 or pair is best) and pair.shares and not reads(claim.stated.meaning):
                    spoken_for.setdefault(pair.deed.number, set()).add(number)
        return [
            self._replaced(claim, beside, conversation)
            or self._too_late(claim, found, spoken_for, number, answer)
            or self._seen(claim, found, beside, spoken_for, number)
            for number, (claim, beside, found) in enumerate(zip(claims, calls, pairs, strict=True))
        ]

    # --- Calls that go together with a claim ---

    def _beside(self, claim: Compared) -> list[Beside]:
        """All calls, each with how it goes together with a claim."""
        return [Beside(deed, deed.texts.all, self._level(claim, deed)) for deed in self._done]

    def _pairs(self, claim: Compared, calls: Sequence[Beside]) -> list[Pair]:
        """The calls that go together with a claim, the best last."""
        found = []
        for deed, _, level in calls:
            if deed.ability.names & words("todo") and not claim.things & words("todo"):
                continue
            if level:
                exact, things = self._exact(claim, deed), self._things(claim, deed)
                if level > 1 or things + exact:
                    bad = self._falls_short(claim, deed, things + exact > 0)
                    said = bool(claim.stated.meaning.bases & (deed.said | deed.ability.verbs))
                    found.append(Pair(deed, level, things, exact, bad, said))
        return sorted(found, key=lambda pair: pair.weight)

    def _level(self, claim: Compared, deed: Deed) -> int:
        """How a claim and a call go together; 0 where they do not."""
        meaning, ability, vague = claim.stated.meaning, deed.ability, is_vague(claim.stated.meaning)
        looked = looks(deed) and not meaning.acts & LOOKING
        if (meaning.acts & deed.acts or meaning.bases & ability.verbs) and not looked:
            return 3
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
            return 2 if self._tells(claim, deed) else 1
        if any(deed.texts.args.has(each) for each in claim.exact) and not looks(deed):
            return 1
        open_to_any = ability.general and (deed.acts & UNKNOWN or not deed.acts - {"run"})
        return 1 if reads(meaning) or vague or open_to_any else 0

    def _exact(self, claim: Compared, deed: Deed) -> int:
        text = deed.texts.all
        numbers = sum(bool(amount.values & text.numbers) for amount in claim.amounts)
        return numbers + sum(text.has(each) for each in claim.exact)

    def _things(self, claim: Compared, deed: Deed) -> int:
        text = deed.texts.all
        unsaid = [thing for thing in claim.things if not text.names(thing)]
        linked = self._texts.links.of(deed).own if unsaid else frozenset()
        return len(claim.things) - len(unsaid) + sum(thing in linked for thing in unsaid)

    def _tells(self, claim: Compared, deed: Deed) -> bool:
        """Tell whether a result says much of what the claim names, and all that it says exactly."""
        result = deed.texts.result
        things = sum(result.names(thing) for thing in claim.things)
        if not all(result.has(each) for each in claim.exact):
            return False
        if not all(amount.values & result.numbers for amount in claim.amounts):
            return False
        exact = len(claim.exact) + len(claim.amounts)
        return things + 2 * exact >= 2 and 2 * things >= len(claim.things)

    # --- Signs ---

    def _replaced(self, claim: Compared, calls: Sequence[Beside], conversation: Conversation) -> Seen | None:
        """See that a call was given something else than the claim says; None where none was."""
        meaning = claim.stated.meaning
        if meaning.kind == "mental":
            return None
        acting = [call for call in calls if reads(meaning) or not looks(call.deed)]
        for deed, said, given in substitutes(claim, acting, conversation):
            return Seen(frozenset({"outright"}), Pair(deed, 3), said, f"has {given!r}, not {said!r}")
        for deed, item in left_out(claim, acting, conversation.names):
            return Seen(frozenset({"outright"}), Pair(deed, 3), item, f"does not have {item!r}")
        return None

    def _too_late(
        self, claim: Compared, pairs: Sequence[Pair], spoken_for: Mapping[int, set[int]], number: int, answer: str
    ) -> Seen | None:
        """See that the call of a claim came behind what the claim says that it came before; None where none did."""
        best = self._best(claim, pairs)
        if best is None or best.bad or best.level + best.exact < 2:
            return None
        own = {pair.deed.number for pair in pairs if (pair.level, pair.exact) == (best.level, best.exact)}
        others = [
            Other(deed, spoken_for.get(deed.number, set()))
            for deed in self._done
            if deed.number not in own and not looks(deed) and deed.ending.outcome == "done"
        ]
        late = too_late(claim, number, answer, min(own), others)
        return Seen(frozenset({"outright"}), best, late, f"was not {late!r}") if late else None

    def _seen(
        self,
        claim: Compared,
        pairs: Sequence[Pair],
        calls: Sequence[Beside],
        spoken_for: Mapping[int, set[int]],
        number: int,
    ) -> Seen:
        meaning, best = claim.stated.meaning, self._best(claim, pairs)
        # 1. What says too little is not weighed.
        if not claim.things and not claim.exact and not claim.amounts and is_vague(meaning):
            return Seen(frozenset({"too little"}), best, "")
        # 2. What the ledger says outright decides.
        if self._is_absent(claim):
            return Seen(frozenset({"no call can have been it"}), best, "")
        missing = ""
        if best is None:
            said = conflicts(claim, (), self._texts, reads(meaning))
            against = {sign: words for sign, words in said if not sign.endswith("elsewhere")}
        else:
            good = [pair for pair in pairs if not pair.bad and pair.level >= min(best.level, 2)] or [best]
            fitting = [pair.deed for pair in good[-TOGETHER:]]
            against = dict(conflicts(claim, fitting, self._texts, reads(meaning)))
            less = fewer(claim, fitting)
            if less and best.level > 1:
                return Seen(frozenset({"outright"}), best._replace(bad="in part"), less)
            missing = next((said for sign, said in against.items() if sign in OUTRIGHT), "")
            missing = missing or next(iter(against.values()), "")
            if _is_outright(claim, best, against):
                return Seen(frozenset({"outright"}), best, missing)
            one = self._one_of_several(claim, best, pairs, good)
            if one is not None:
                return Seen(frozenset({"outright"}), one, missing)
        look = self._last_look(claim) if says_end(claim) else None
        if look is not None and is_under_way(look.ending, look.result) and not is_spared(claim, look):
            return Seen(frozenset({"outright"}), Pair(look, 2, bad="pending"), missing)
        undone = self._undone(claim, pairs, calls)
        if undone and self._says_enough(claim, {pair.bad for pair in undone}):
            return Seen(frozenset({"outright"}), undone[-1], missing)
        nowhere = self._nowhere(claim)
        if nowhere is not None:
            return nowhere._replace(best=best if best is not None and best.level == 3 and nowhere.instead else None)
        # 3. All else is weighed.
        rival = self._rivals.of(claim, calls)
        others = {deed: claims - {number} for deed, claims in spoken_for.items()}
        left = [deed for deed in self._done if not others.get(deed.number) and not looks(deed)]
        signs = {*self._of_claim(claim), *self._of_tools(claim), *self._of_results(claim, best), *against}
        signs.add(f"a tool not called: {rival}")
        if undone:
            signs.add("nothing came about")
        # A call that is left over explains nothing where another tool would have been it.
        if left and rival not in ("nearer", "far nearer"):
            signs.add("a call is left over")
        if best is None:
            signs.add("fits nothing")
        else:
            signs |= set(self._of_best(claim, best, bool(against), bool(others.get(best.deed.number))))
        signs |= set(_joined(claim, signs, best, bool(left)))
        return Seen(frozenset(signs), best, missing)

    def _nowhere(self, claim: Compared) -> Seen | None:
        """See that no call has what a claim says exactly; None where one has it, or where one was not read whole."""
        if not self._whole or claim.stated.meaning.kind == "mental":
            return None
        sign = frozenset({"no call can have been it"})
        for amount in measured_nowhere(claim, self._done, self._texts):
            missing = f"{amount.text} {amount.unit}".strip()
            return Seen(sign, None, missing, f"does not have {missing!r}")
        token = invented(claim, self._texts.all, self._texts.given)
        return Seen(sign, None, token) if token else None

    def _best(self, claim: Compared, pairs: Sequence[Pair]) -> Pair | None:
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
        if not claim.things and not claim.exact:
            yield "names nothing"
        if claim.things and not any(text.names(thing) for text in self._texts.all for thing in claim.things):
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

    def _one_of_several(
        self, claim: Compared, best: Pair, pairs: Sequence[Pair], good: Sequence[Pair]
    ) -> Pair | None:  # fmt: skip
        """Find a call that came out badly among the several that a claim is about.

        It is about several where it says "all", or a count that none of its calls has.
        """
        have = frozenset[float]().union(*(pair.deed.texts.all.numbers for pair in good))
        counts = [
            amount.values for amount in claim.amounts if amount.unit and not amount.money and amount.unit not in TIMES
        ]
        if any(values & have for values in counts):
            return None
        several = counts or claim.words & words("every")
        like = [pair for pair in pairs if pair.level == best.level > 1] if several else []
        return next((pair for pair in like if pair.bad and not self._again(pair.deed)), None)

    def _is_retry(self, deed: Deed) -> bool:
        """Tell whether a call follows one of the same tool that came out badly."""
        return any(
            earlier.number < deed.number and earlier.call.tool == deed.call.tool and earlier.ending.outcome == "failed"
            for earlier in self._done
        )

    def _again(self, deed: Deed) -> bool:
        """Tell whether a call was made again later, and came out well."""
        return any(
            later.number > deed.number
            and (later.call.tool, later.args) == (deed.call.tool, deed.args)
            and later.ending.outcome == "done"
            for later in self._done
        )

    def _of_tools(self, claim: Compared) -> Iterator[str]:
        """Signs of the tools that there are for it."""
        meaning = claim.stated.meaning
        for name, ability in self._abilities.items():
            same = meaning.acts & ability.acts or meaning.bases & ability.verbs
            if name in self._called:
                continue
            if same and claim.about & ability.names and (meaning.acts <= READING) == (ability.acts <= READING):
                yield "its tool was not called"
        if not any(
            meaning.acts & (ability.acts | ability.also)
            or meaning.bases & (ability.verbs | ability.about)
            or ability.general
            for ability in self._abilities.values()
        ):
            yield "no tool for it"

    def _is_absent(self, claim: Compared) -> bool:
        """Tell whether all calls are known for what they did, and none of it is the claim.

        A tool that does what its arguments say is known by commands, and so is what the claim says of such an act.
        """
        meaning = claim.stated.meaning
        if is_vague(meaning) or meaning.kind or claim.stated.form in ("state", "stands", "received"):
            return False
        if (meaning.acts <= READING and not meaning.acts <= TRIED) or claim.words & words("bygone"):
            return False
        if not claim.things and not claim.exact:
            return False
        return all(
            deed.acts - {"run"}
            and not deed.acts & UNKNOWN
            and not meaning.acts & (deed.acts | deed.ability.also)
            and not {*meaning.bases, base(claim.stated.verb)} & (deed.ability.verbs | deed.said | deed.told)
            and (looks(deed) or not (self._things(claim, deed) or self._exact(claim, deed)))
            for deed in self._done
        )

    def _undone(self, claim: Compared, pairs: Sequence[Pair], calls: Sequence[Beside]) -> list[Pair]:
        """All calls for a claim's things, or all that may change something, if none of them did what is claimed.

        What is so may have been so before; it is a deed where a call was for what it names.
        """
        meaning = claim.stated.meaning
        looked = meaning.acts and meaning.acts <= READING and not claim.stated.good
        if looked or reads(meaning) or meaning.kind == "mental":
            return []
        if any(not pair.bad and (pair.level == 3 or (pair.level == 2 and pair.shares)) for pair in pairs):
            return []
        tried = [call.deed for call in calls if not _reads(call.deed)]
        named = [deed for deed in tried if self._is_for(claim, deed)]
        if claim.stated.form in ("state", "stands") and not named:
            return []
        about = tried if claim.stated.form == "state" else named or tried
        undone = []
        for deed in about:
            way = self._falls_short(claim, deed, True)
            if not way:
                return []
            if way != "only prepared" or not self._later(deed):
                undone.append(Pair(deed, 2, bad=way))
        return undone

    def _falls_short(self, claim: Compared, deed: Deed, shares: bool) -> str:
        """How a call came out otherwise than a claim says; a later call may have brought it through, or seen it so."""
        bad = falls_short(claim, deed, shares)
        if bad == "only prepared" and any(
            later.ending.outcome == "done" and not looks(later) for later in self._later(deed)
        ):
            return ""  # a draft that was then published
        if bad == "pending" and any(
            looks(later) and later.ending.outcome == "done" and not is_under_way(later.ending, later.result)
            for later in self._later(deed)
        ):
            return ""
        return bad

    def _later(self, deed: Deed) -> list[Deed]:
        """The later calls that were given what a call made: a draft that was then sent."""
        made = {str(value).casefold() for _, value in leaves(deed.call.result) if isinstance(value, str)}
        ids = {value for value in made if any(map(str.isdigit, value)) and len(value) <= LONGEST_ID}
        later = self._done[deed.number + 1 - self._done[0].number :] if ids else []
        return [other for other in later if any(value in other.texts.args.text for value in ids)]

    def _says_enough(self, claim: Compared, undone: Collection[str]) -> bool:
        """Tell whether nothing is left to weigh where all calls came out otherwise.

        A verb that says little has to be said of a thing that a call was for. What the writer did itself has to be a
        deed of a tool: "I stopped after the first failure", "I wrote it down below" are none.
        """
        if "failed by its words" in undone or claim.words & (words("bad") | words("present")):
            return False
        if claim.stated.form == "active" and not self._is_of_a_tool(claim):
            return False
        if not is_vague(claim.stated.meaning):
            return True
        said = claim.stated.form in ("passive", "nominal", "stands") and "only prepared" not in undone
        return said and any(self._is_for(claim, deed) for deed in self._done if not _reads(deed))

    def _is_of_a_tool(self, claim: Compared) -> bool:
        """Tell whether the agent has a tool that does such an act, to something."""
        meaning = claim.stated.meaning
        if meaning.kind == "spoken" or not (claim.things or claim.exact or claim.amounts):
            return False
        return any(
            (meaning.acts & ability.acts) - GENERIC or meaning.bases & ability.verbs
            for ability in self._abilities.values()
        )

    def _last_look(self, claim: Compared) -> Deed | None:
        """The last look at what a claim names, or the last call if it is one."""
        looked = [
            (self._exact(claim, deed), self._things(claim, deed), number)
            for number, deed in enumerate(self._done)
            if looks(deed)
        ]
        exact, things, number = max(looked, default=(0, 0, -1))
        return self._done[number] if looked and (exact + things or number == len(self._done) - 1) else None

    def _is_for(self, claim: Compared, deed: Deed) -> bool:
        """Tell whether the arguments of a call name something that a claim does."""
        args = deed.texts.args
        return any(args.names(thing) for thing in claim.things) or any(args.has(each) for each in claim.exact)

    def _of_results(self, claim: Compared, best: Pair | None) -> Iterator[str]:
        """Signs of the results that tell of it."""
        meaning = claim.stated.meaning
        told = any(
            meaning.bases & deed.told
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
        if any(looks(deed) and self._tells(claim, deed) for deed in self._done):
            yield "read in a result"


def _is_outright(claim: Compared, best: Pair, against: Iterable[str]) -> bool:
    """Tell whether nothing is left to weigh: the very call of it came out badly, or was for something else."""
    if best.level < 3 and not (best.level == 2 and best.exact):
        return False
    sure = best.deed.ending.sure or claim.stated.form not in ("state", "stands")  # what is may have been before
    return bool(OUTRIGHT & set(against)) or (sure and best.bad not in ("", "only prepared"))


def _reads(deed: Deed) -> bool:
    """Tell whether a call changes nothing, whatever it is."""
    return bool(deed.acts & READING) and deed.acts <= READING | {"run"}


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
