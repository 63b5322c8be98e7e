"""Claims that a command of the session must have done: that tests pass, that something was committed or pushed.

Tests are held against their last run: an earlier, narrower one says nothing of them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

from agentguard.content.actions._claims import Stated
from agentguard.content.actions._ledger import UNKNOWN, Deed, looks
from agentguard.content.actions._tools import Ability
from agentguard.content.grounding._values import NUMBER_WORDS

_TESTS: Final = frozenset("test tests testsuite suite suites spec specs".split())
OF_GIT: Final = frozenset(
    "branch commit commits change changes code fix main master origin remote repo tag work".split()
)
#: What commands act on without naming it.
OF_COMMANDS: Final = _TESTS | OF_GIT | {"file", "files", "project"}
_MENTIONS: Final = re.compile(r"test|spec|suite|check|pass|verif|valid", re.IGNORECASE)
LEAST: Final = 3  # letters of a word by which a run is told from others
_NUMBER: Final = re.compile(r"\d+")
_PART: Final = re.compile(r"\b\d+ (?:of|out of)\b|/")
_CHANGES: Final = frozenset({"update", "create", "delete", "move"})


class Run(NamedTuple):
    """The run of tests that decides about a claim.

    Attributes:
        deed: the last run; None where there is none, though the agent could have made one.
        failed: it did not come out as the claim says.
        edited: something was changed after it.
    """

    deed: Deed | None
    failed: bool = False
    edited: bool = False


def run_of(claim: Stated, text: str, done: Sequence[Deed], tools: Collection[Ability]) -> Run | None:
    """Find the run of tests that a claim is about; None where the claim says no such thing, or it cannot be told.

    Args:
        claim: the claim.
        text: its words.
        done: the calls, in their order.
        tools: what the tools of the agent can do; none where they are not known.
    """
    if not claim.good or "test" not in claim.meaning.acts or not {token.low for token in claim.objects} & _TESTS:
        return None
    runs = [deed for deed in done if "test" in deed.acts and not looks(deed)]
    words = [token.low for token in claim.objects]
    named = [token.low.strip("`") for token in claim.objects if token.kind == "code"]
    if named:
        runs = [deed for deed in runs if all(name in f"{deed.args} {deed.result}".casefold() for name in named)]
    told = [word for word in words if len(word) >= LEAST and word not in _TESTS]
    runs = [deed for deed in runs if any(word in deed.args.casefold() for word in told)] or runs
    if not runs:
        if any(_MENTIONS.search(f"{deed.args} {deed.result}") for deed in done):
            return None  # somebody else may have run them
        able = not done and not tools
        able = able or any(tool.general or "test" in tool.acts for tool in (*tools, *(deed.ability for deed in done)))
        return Run(None) if able and not named else None
    last = runs[-1]
    outcome = last.outcome
    said = {int(number) for number in _NUMBER.findall(text)} | {NUMBER_WORDS.get(word) for word in words}
    if outcome.state == "done" or _PART.search(text) or (outcome.done in said and "all" not in text.casefold().split()):
        edited = any(deed.acts & _CHANGES and "test" not in deed.acts for deed in done[done.index(last) + 1 :])
        return Run(last, edited=edited)
    return Run(last, failed=outcome.sure and outcome.state in ("failed", "nothing", "partly"))


# --- Commits and pushes ---


def unpushed(claim: Stated, done: Sequence[Deed]) -> str:
    """Name the command that a claim needs and no call of the session was; "" where there may be one.

    >>> from agentguard.content.actions import Call, check
    >>> check("I pushed the branch.", [Call("Bash", {"command": "git push --help"}, "GIT-PUSH(1)")]).claims[0].verdict
    'never called'
    """
    act = next(iter(claim.meaning.bases & {"push", "commit"}), "")
    if not act or claim.form not in ("active", "bare", "passive") or not {t.low for t in claim.objects} & OF_GIT:
        return ""
    shells = [deed for deed in done if deed.ability.general]
    is_there = any(act in deed.acts | deed.verbs or (deed.ability.general and not deed.acts) for deed in done)
    is_told = any(act in deed.result.casefold() or UNKNOWN & deed.acts for deed in done if not looks(deed))
    return "" if not shells or is_there or is_told else f"git {act}"
