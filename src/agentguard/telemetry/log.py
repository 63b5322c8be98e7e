"""One line of JSON a verdict, for whatever collects a service's log."""

from __future__ import annotations

import json
import logging
from datetime import datetime, timezone
from typing import Final

from agentguard.verification.types import Verdict

from .disclosing import safe_text, warm_up
from .observation import Observation, Observer

__all__ = ["LEVELS", "LOGGER", "LogObserver"]

LOGGER: Final = "agentguard.verdicts"
LEVELS: Final[dict[Verdict, int]] = {"accept": logging.INFO, "flag": logging.WARNING, "block": logging.ERROR}


class LogObserver(Observer):
    """Logs accepted calls as INFO, flagged ones as WARNING, blocked ones as ERROR.

    The message is one JSON object in ASCII: no name, whatever is in it, makes a second line. It holds no arguments and
    no result, and placeholders in the place of personal data and credentials.

    Args:
        logger: where to; None: the logger ``agentguard.verdicts``.
    """

    def __init__(self, logger: logging.Logger | None = None) -> None:
        self._logger = logging.getLogger(LOGGER) if logger is None else logger
        warm_up()

    def __call__(self, observation: Observation, /) -> None:
        """Log a verdict, where its level is logged."""
        level = LEVELS[observation.result.verdict]
        if self._logger.isEnabledFor(level):
            self._logger.log(level, "%s", line_of(observation))


def line_of(observation: Observation) -> str:
    """A verdict as one line of JSON.

    Times are in milliseconds, ``at`` in UTC by ISO 8601.
    """
    result, call, _, at = observation
    return json.dumps(
        {
            "event": "agentguard.verdict",
            "at": datetime.fromtimestamp(at, timezone.utc).isoformat(timespec="milliseconds"),
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
