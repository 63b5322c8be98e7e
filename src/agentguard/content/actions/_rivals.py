"""Rivals: whether a tool that was not called is nearer to a claim than all calls that were made.

An agent that says "I put Emre on the waiting list" and has a tool ``addToWaitlist`` did not do it with another one. How
near a tool is to a claim is the sum of how near its verbs are, and of the claim's words among its own: a word counts
the more, the fewer tools of the agent have it (as inverse document frequency does; Spärck Jones, 1972).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from math import log
from typing import Final, Literal, NamedTuple

from agentguard.content.actions._acts import GENERIC, READING, is_vague
from agentguard.content.actions._compared import Compared, Text
from agentguard.content.actions._english import bases, words
from agentguard.content.actions._ledger import Deed
from agentguard.content.actions._tools import Ability

Rival = Literal["none", "further", "alike", "nearer", "far nearer"]
"""How near the nearest tool that was not called is, beside the nearest call."""

# How near verbs are, and a word: judgements, by what told false claims from true ones on the labelled turns.
_SAME_VERB: Final = 2.5
_SAME_ACT: Final = 2.0
_MAY_BE: Final = 1.0
_OTHER_SORT: Final = 0.5  # one reads and the other changes something
_IN_NAME: Final = 1.5
_IN_DESCRIPTION: Final = 0.7
_IN_CALL: Final = 0.7
_MOST_IN_CALL: Final = 2.1
_BY_LEVEL: Final = (0.0, 0.7, 1.5, 2.5)  # of a call, by how it goes together with the claim
_GENERAL: Final = 1.0  # a call of a tool that does what its arguments say
#: From which difference on a rival is called so, in the same unit.
_LIMITS: Final[tuple[tuple[float, Rival], ...]] = (
    (2.5, "far nearer"),
    (1.0, "nearer"),
    (0.0, "alike"),
    (-2.0, "further"),
)


class Beside(NamedTuple):
    """A call beside a claim: the deed, all of its text, and how both go together, 0 to 3."""

    deed: Deed
    text: Text
    level: int


class _Near(NamedTuple):
    """How near a tool is to a claim, by its verbs and by its other words."""

    verbs: float
    words: float


class Rivals:
    """The tools of an agent, those that were called and those that were not.

    Args:
        abilities: of all tools, by their names.
        called: the names of those that were called.
    """

    def __init__(self, abilities: Mapping[str, Ability], called: Collection[str]) -> None:
        # A tool that does anything is the rival of none.
        self._uncalled = [
            ability
            for name, ability in abilities.items()
            if name not in called and not ability.general and not ability.names & words("todo")
        ]
        self._many = len(abilities)
        self._in_names = Counter(word for each in abilities.values() for word in each.names | each.verbs)
        self._in_all = Counter(word for each in abilities.values() for word in each.about)

    def of(self, claim: Compared, calls: Collection[Beside]) -> Rival:
        """Tell how near the nearest tool that was not called is, beside the nearest call."""
        uncalled = max((sum(self._nearness(claim, ability)) for ability in self._uncalled), default=0.0)
        of_tools = {call.deed.call.tool: call.deed.ability for call in calls}
        near = {name: self._nearness(claim, ability) for name, ability in of_tools.items()}
        called = max((_with_call(claim, call, near[call.deed.call.tool]) for call in calls), default=0.0)
        return next((name for limit, name in _LIMITS if uncalled - called >= limit), "none")

    def _nearness(self, claim: Compared, ability: Ability) -> _Near:
        return _Near(_by_verbs(claim, ability), self._by_words(claim, ability))

    def _by_words(self, claim: Compared, ability: Ability) -> float:
        near = 0.0
        for word in claim.about | (claim.stated.meaning.bases - bases("vague")):
            if word in ability.names or word in ability.verbs:
                near += _IN_NAME * self._rarity(self._in_names[word])
            elif word in ability.about:
                near += _IN_DESCRIPTION * self._rarity(self._in_all[word])
        return near

    def _rarity(self, having: int) -> float:
        return 1 - log(max(having, 1)) / log(self._many + 2)


def _with_call(claim: Compared, call: Beside, near: _Near) -> float:
    """How near a call is: its tool, or what the call itself says."""
    ability = call.deed.ability
    verbs = max(near.verbs, _BY_LEVEL[call.level], _GENERAL if ability.general else 0.0)
    has = (
        sum(call.text.names(thing) for thing in claim.things)
        + sum(call.text.has(each) for each in claim.exact)
        + sum(bool(amount.values & call.text.numbers) for amount in claim.amounts)
    )
    return verbs + max(near.words, min(_MOST_IN_CALL, _IN_CALL * has))


def _by_verbs(claim: Compared, ability: Ability) -> float:
    meaning = claim.stated.meaning
    if (meaning.bases - bases("vague")) & (ability.verbs | ability.described.verbs):
        near = _SAME_VERB
    elif (meaning.acts - GENERIC) & ability.acts:
        near = _MAY_BE if is_vague(meaning) else _SAME_ACT
    else:
        near = _MAY_BE if meaning.acts & (ability.acts | ability.described.acts) else 0.0
    acts = ability.acts or ability.described.acts
    same_sort = (bool(acts) and acts <= READING) == (bool(meaning.acts) and meaning.acts <= READING)
    return near if same_sort else min(near, _OTHER_SORT)
