"""One line of JSON a verdict, and one a transition of a lasting change, for whatever collects a service's log."""

from __future__ import annotations

import json
import logging
from typing import Final

from agentguard.verification import VerificationEngine
from agentguard.verification.changes import Change
from agentguard.verification.types import Verdict

from .changes import CHANGE, ChangeStates, moment
from .disclosing import safe_text, warm_up
from .observation import Observation, Observer

__all__ = ["LEVELS", "LOGGER", "LogObserver"]

LOGGER: Final = "agentguard.verdicts"
LEVELS: Final[dict[Verdict, int]] = {"accept": logging.INFO, "flag": logging.WARNING, "block": logging.ERROR}


class LogObserver(Observer):
    """Logs accepted calls as INFO, flagged ones as WARNING, blocked ones as ERROR, changes as WARNING or INFO.

    The message is one JSON object in ASCII: no name, whatever is in it, makes a second line. It holds no arguments and
    no result, and placeholders in the place of personal data and credentials.

    Args:
        logger: where to; None: the logger ``agentguard.verdicts``.
    """

    def __init__(self, logger: logging.Logger | None = None) -> None:
        self._logger = logging.getLogger(LOGGER) if logger is None else logger
        self._changes = ChangeStates()
        warm_up()

    def __call__(self, observation: Observation, /) -> None:
        """Log a verdict, where its level is logged."""
        level = LEVELS[observation.result.verdict]
        if self._logger.isEnabledFor(level):
            self._logger.log(level, "%s", line_of(observation))

    def changed(self, change: Change, /) -> None:
        """Log that a lasting change took another state."""
        if self._changes.take(change):
            self._logger.log(logging.WARNING if change.state == "open" else logging.INFO, "%s", change_line(change))

    def watch(self, engine: VerificationEngine, /) -> None:
        """Take note of the changes that this engine knows already: they are not logged."""
        self._changes.watch(engine)


def change_line(change: Change) -> str:
    """A change's state as one line of JSON; ``at`` is when it began, in UTC by ISO 8601."""
    return json.dumps(
        {
            "event": CHANGE,
            "at": moment(change.since),
            "change": safe_text(change.id),
            "tool": safe_text(change.tool),
            "state": change.state,
            "what": safe_text(change.what),
            "reviewed": change.reviewed,
        }
    )


def line_of(observation: Observation) -> str:
    """A verdict as one line of JSON.

    Times are in milliseconds, ``at`` in UTC by ISO 8601.
    """
    result, call, _, at = observation
    return json.dumps(
        {
            "event": "agentguard.verdict",
            "at": moment(at),
            "tool": safe_text(result.tool),
            "verdict": result.verdict,
            "posterior": round(result.posterior, 6),
            "prior": round(result.prior, 6),
            "false_block_p": result.false_block_p,
            "tier": result.tier_reached.value,
            "fired": observation.fired,
            "call_id": None if call.call_id is None else safe_text(call.call_id),
            "session_id": None if call.session_id is None else safe_text(call.session_id),
            "execution_ms": call.milliseconds,
            "guard_ms": round(observation.guard_seconds * 1_000, 3),
            "explanation": safe_text(result.explanation),
        }
    )
