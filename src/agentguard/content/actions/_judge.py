"""Ask a model of the user's own about the claims that the rules leave open, once an answer; off by default."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, Protocol

from agentguard.content._outcomes import outcome_of
from agentguard.content.actions._ledger import as_text
from agentguard.content.actions._tools import pieces_of

if TYPE_CHECKING:
    from agentguard.content.actions import ActionClaim, Call

SURE: Final = 0.9  # the probability from which an opinion is taken for a verdict
MOST: Final = 6_000  # characters of a ledger that a judge reads
NOTE: Final = 60  # of these, for the line that says how many calls are left out
LEAST: Final = 300  # characters that the line of a call may have, however many calls there are
LONGEST_NAME: Final = 60
_CAME_OUT = {"done": "was done", "partly": "was done in part", "failed": "failed", "nothing": "changed nothing"}
_CAME_OUT |= {"pending": "is not through yet", "simulated": "was a trial"}

_log: Final = logging.getLogger(__name__)


class Opinion(NamedTuple):
    """Probabilities that a judge gives a claim.

    Attributes:
        entailed: the probability that the calls show it, in [0, 1].
        contradicted: the probability that they show the contrary, in [0, 1].
    """

    entailed: float
    contradicted: float


class Judge(Protocol):
    """Function from the calls of a session and some claims to an opinion on each claim."""

    def __call__(self, premise: str, claims: Sequence[str], /) -> Sequence[Opinion]:
        """Give an opinion on each claim, in their order; the premise is the calls, a line each, the last at the end."""


def judged(found: tuple[ActionClaim, ...], calls: Sequence[Call], judge: Judge | None) -> tuple[ActionClaim, ...]:
    """Ask a judge about the claims that are not checkable; where it fails, they stay so."""
    left = [place for place, claim in enumerate(found) if claim.verdict == "not checkable"]
    if judge is None or not left:
        return found
    claims = list(found)
    try:
        told = judge(rendered(calls), [claims[place].text for place in left])
        opinions = [Opinion(float(one), float(two)) for one, two in islice(told, len(left) + 1)]
    except Exception as error:  # of whatever kind: its text may quote the claims
        _log.error("the judge of claims failed, and they stay not checkable: %s", type(error).__name__)
        return found
    if len(opinions) != len(left) or not all(0 <= number <= 1 for each in opinions for number in each):
        _log.error("the judge of claims did not give each claim two probabilities, and they stay not checkable")
        return found
    for place, (shown, denied) in zip(left, opinions, strict=True):
        if shown >= SURE > denied:
            claims[place] = _decided(claims[place], "supported", f"show it ({shown:.2f}).", 1 - shown)
        elif denied >= SURE > shown:
            claims[place] = _decided(claims[place], "contradicted", f"contradict it ({denied:.2f}).", denied)
    return tuple(claims)


def _decided(claim: ActionClaim, verdict: Literal["supported", "contradicted"], what: str, false: float) -> ActionClaim:
    reason = f"The judge says that the calls {what}"
    return claim._replace(verdict=verdict, call=None, reason=reason, probability=false)


def rendered(calls: Sequence[Call]) -> str:
    """Write the calls as a text for a judge, a line each; of many calls the last ones, each cut."""
    room = max(LEAST, (MOST - NOTE) // max(len(calls), 1)) - 1
    lines, left = list[str](), MOST - NOTE
    for call in reversed(calls):
        line = _line(call, room)
        left -= len(line) + 1
        if left < 0:
            lines.append(f"Earlier calls that are not shown: {len(calls) - len(lines):,}.")
            break
        lines.append(line)
    return "\n".join(reversed(lines)) or "No tool was called."


def _line(call: Call, room: int) -> str:
    outcome = outcome_of(call.args, call.result, call.failed, pieces_of(call.tool))
    given = "" if call.args in (None, "", {}, []) else f" with {_text(call.args, room // 3)}"
    # Where nothing surely says how it came out, the result has to speak for itself.
    came_out = f"It {_CAME_OUT[outcome.state]}. " if outcome.sure else ""
    line = f"{_text(call.tool, LONGEST_NAME)} was called{given}. {came_out}"
    return f"{line}It returned: {_text(call.result, room - len(line) - 13)}"


def _text(value: Any, most: int) -> str:
    """A value on one line, so that no result looks like a call; a long one without its middle."""
    text = " ".join(as_text(value).split())
    half = (most - 3) // 2
    return text if len(text) <= most else f"{text[:half]} … {text[-half:]}"
