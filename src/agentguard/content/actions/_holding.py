"""Claims of action held against the ledger.

A claim and a call go together where the call's acts are among those that the claim's verb can stand for, or where the
tool calls itself by that verb. Of those that go together, the ones that name the same things come first. Then what the
claim says exactly (identifiers, addresses, amounts, names) has to stand in their arguments or results, and they have
to have come out well.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final, Literal, NamedTuple

from agentguard.content.actions._acts import noun_acts, verb_acts
from agentguard.content.actions._claims import Stated
from agentguard.content.actions._english import base, words
from agentguard.content.actions._ledger import Ability, Deed
from agentguard.content.actions._sentences import Token

Verdict = Literal["supported", "contradicted", "never called", "not checkable"]
"""What the ledger says of a claim."""

NEAR: Final = 5  # letters at the beginning that two words of one family share

READING: Final = frozenset({"read", "verify", "browse", "calculate", "download"})


class Held(NamedTuple):
    """The verdict on a claim; ``call`` is the number of the call that it rests on."""

    verdict: Verdict
    call: int | None
    reason: str


class _Claim(NamedTuple):
    """A claim, as it is compared.

    Attributes:
        stated: the claim.
        things: bases of the words that say what it was done to.
        names: capitalised words, in small letters.
        exact: identifiers, addresses and file names, in small letters.
        numbers: numbers as written.
    """

    stated: Stated
    things: frozenset[str]
    names: tuple[str, ...]
    exact: tuple[str, ...]
    numbers: tuple[str, ...]


class _Pair(NamedTuple):
    """A claim beside a call.

    Attributes:
        deed: the call.
        level: 3 the tool or its command is such an act, 2 its result says so, 1 a word of it may mean such an act.
        things: how many of the claim's things it names.
        exact: how many of what the claim says exactly it has.
    """

    deed: Deed
    level: int
    things: int
    exact: int

    @property
    def weight(self) -> tuple[int, int, int]:
        return (self.exact, self.level + min(self.things, 3), self.deed.number)


_EXACT = re.compile(
    r"[\w.+-]+@[\w.-]+\w|#[\w-]*[A-Za-z0-9][\w-]*|[A-Za-z]+[-_]?\d[\w.-]*|\d+[A-Za-z][\w]*|\d+\.\d+\.\d[\w.]*"
    r"|[\w.-]*/[\w./-]+|[\w-]+\.[a-z]\w{0,4}(?![\w])|\d{5,}"
)
_NUMBER = re.compile(r"[$€£¥]?\s?\d[\d.,]*%?")


def hold(
    stated: Sequence[Stated], done: Sequence[Deed], abilities: Mapping[str, Ability], given: Sequence[str] = ()
) -> list[Held]:
    """Hold each claim against the deeds."""
    claims = [_claim(each) for each in stated]
    ledger = _Ledger(done, abilities, "\n".join(given).casefold())
    pairs = [ledger.pairs(claim) for claim in claims]
    tied = {pair.deed.number for each in pairs for pair in each if pair.level == 3 and pair.things + pair.exact}
    return [ledger.hold(claim, each, tied) for claim, each in zip(claims, pairs, strict=True)]


def _claim(stated: Stated) -> _Claim:
    things, exact, numbers, names = set(), [], [], []
    stop = words("stop")
    for number, token in enumerate(stated.objects):
        text = token.text.strip("`\"“”'‘’()")  # noqa: RUF001
        found = [each.strip(".").casefold() for each in _EXACT.findall(text)] if token.kind != "quoted" else []
        exact.extend(found)
        if not found and _NUMBER.fullmatch(text):
            numbers.append(text)
        low = text.casefold()
        for piece in re.findall(r"[^\W\d_]+", text):
            if piece.casefold() not in stop and len(piece) > 1:
                things.add(base(piece))
        if token.kind == "word" and text[:1].isupper() and low not in stop and number and not found and low.isalpha():
            names.append(low)
    return _Claim(stated, frozenset(things), tuple(names), tuple(exact), tuple(numbers))


class _Ledger:
    """The deeds of a session, and what is known beside them."""

    def __init__(self, done: Sequence[Deed], abilities: Mapping[str, Ability], given: str) -> None:
        self._done, self._abilities, self._given = done, abilities, given
        self._called = {deed.call.tool for deed in done}
        self._texts = {deed.number: f"{deed.args}\n{deed.result}".casefold() for deed in done}

    def pairs(self, claim: _Claim) -> list[_Pair]:
        """The calls that go together with a claim, the best last."""
        found = []
        for deed in self._done:
            level = self._level(claim, deed)
            if level:
                text = self._texts[deed.number]
                exact = sum(_within(each, text) for each in claim.exact)
                found.append(_Pair(deed, level, self._things(claim, deed), exact))
        return sorted((pair for pair in found if pair.level > 1 or pair.things + pair.exact), key=lambda pair: pair.weight)

    def _level(self, claim: _Claim, deed: Deed) -> int:
        meaning = claim.stated.meaning
        if meaning.acts & deed.acts or meaning.bases & deed.ability.names:
            return 3
        if meaning.bases & deed.told:
            return 2
        if meaning.acts & deed.also or meaning.bases & deed.said:
            return 1
        return 0

    def _things(self, claim: _Claim, deed: Deed) -> int:
        known = deed.said | deed.told | deed.ability.names
        return sum(1 for thing in claim.things if thing in known or _near(thing, known))

    def hold(self, claim: _Claim, pairs: Sequence[_Pair], tied: set[int]) -> Held:
        """The verdict on one claim."""
        stated = claim.stated
        meaning = stated.meaning
        if meaning.kind == "mental" and not any(pair.level == 3 for pair in pairs):
            return Held("not checkable", None, "no tool can witness that")
        if not pairs:
            return self._never(claim)
        best = pairs[-1]
        together = [pair for pair in pairs if pair.level == best.level or pair.exact or pair.things]
        ended = [pair for pair in together if not self._ended_badly(claim, pair)]
        if not ended:
            deed = best.deed
            return Held("contradicted", deed.number, f"{deed.call.tool} did not do so: {deed.why}")
        if best.level < 3 and self._other_tool(claim):
            return self._never(claim)
        missing = self._missing(claim, ended)
        if missing:
            return Held("contradicted", best.deed.number, f"{best.deed.call.tool} was not called for {missing}")
        best = ended[-1]
        if not best.things and not best.exact and claim.things and stated.form not in ("outcome", "label"):
            free = any(pair.level == 3 and pair.deed.number not in tied for pair in ended)
            if not free:
                return self._never(claim)
        return Held("supported", best.deed.number, f"{best.deed.call.tool} did it")

    def _ended_badly(self, claim: _Claim, pair: _Pair) -> bool:
        deed = pair.deed
        if deed.ability.tentative and claim.stated.meaning.kind != "tentative":
            return True
        if deed.ending == "done":
            return False
        if claim.stated.meaning.acts <= READING and not deed.call.failed:
            return False
        return not (deed.acts and deed.acts <= READING and not deed.call.failed)

    def _other_tool(self, claim: _Claim) -> bool:
        """Whether there is a tool for such an act that was not called."""
        meaning = claim.stated.meaning
        return any(
            (meaning.acts & ability.acts or meaning.bases & ability.names) and name not in self._called
            for name, ability in self._abilities.items()
        )

    def _never(self, claim: _Claim) -> Held:
        meaning = claim.stated.meaning
        if not meaning.acts or meaning.kind in ("mental", "spoken"):
            return Held("not checkable", None, "no tool is known by these words")
        if claim.stated.form in ("state", "stands") and not self._other_tool(claim):
            return Held("not checkable", None, "it may describe what was so before")
        return Held("never called", None, "no call did such a thing")

    def _missing(self, claim: _Claim, pairs: Sequence[_Pair]) -> str:
        """What the claim says exactly and none of the calls has; "" where they have all."""
        text = "\n".join(self._texts[pair.deed.number] for pair in pairs)
        for each in claim.exact:
            if not _within(each, text):
                return each
        return ""


def _within(exact: str, text: str) -> bool:
    return exact in text or exact.lstrip("#v") in text


def _near(thing: str, known: frozenset[str]) -> bool:
    return len(thing) > NEAR and any(len(each) > NEAR and each[: NEAR + 1] == thing[: NEAR + 1] for each in known)
