"""The settings that follow from an outcome, as ``VerificationEngine.calibrate`` takes them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from agentguard.verification.calibration import Calibration

from .fitting import Fitted
from .outcome import Outcome
from .parameters import LEAST_RATIO

__all__ = ["proposal"]

RATIO_DIGITS = 3
PRIOR_DIGITS = 4


def proposal(outcome: Outcome, before: Calibration | None = None) -> Calibration | None:
    """What was in force, changed by what was found; None where nothing is to be changed.

    Args:
        outcome: of ``calibrate``.
        before: the calibration that was in force when the labels were made, whose settings stand where nothing is
            found. None: the engine's defaults were.
    """
    before = Calibration() if before is None else before
    changes: dict[str, Any] = {}
    if outcome.blocks.value is not None:
        changes |= {"block_at": outcome.blocks.value, "max_false_block_rate": outcome.wish.false_block_rate}
    if outcome.flags.value is not None:
        changes["accept_below"] = outcome.flags.value
    fit = outcome.fit
    if fit is not None:
        changes["prior"] = round(fit.everywhere.prior.value, PRIOR_DIGITS)
    if not changes:
        return None
    everywhere = {**before.everywhere, **changes}
    if "accept_below" in everywhere and "block_at" in everywhere:
        everywhere["accept_below"] = min(everywhere["accept_below"], everywhere["block_at"])
    elif "block_at" in everywhere:
        everywhere["accept_below"] = min(outcome.in_force.accept_below, everywhere["block_at"])
    elif "accept_below" in everywhere:
        everywhere["block_at"] = outcome.in_force.block_at
    if fit is not None:
        everywhere["likelihood_ratios"] = {
            **before.everywhere.get("likelihood_ratios", {}),
            **{name: round(found.value, RATIO_DIGITS) for name, found in fit.everywhere.ratios.items()},
        }
    tools: dict[str, dict[str, Any]] = {}
    for tool in dict.fromkeys((*before.tools, *(fit.tools if fit is not None else ()))):
        tools[tool] = _of_tool(before.tools.get(tool, {}), fit.tools.get(tool) if fit else None, fit and fit.everywhere)
        _keep_thresholds(tools[tool], before, outcome)
    return Calibration(everywhere, tools)


def _of_tool(before: Mapping[str, Any], own: Fitted | None, everywhere: Fitted | None) -> dict[str, Any]:
    settings = dict(before)
    ratios = dict(before.get("likelihood_ratios", {}))
    for name, weight in (everywhere.weights if everywhere is not None else {}).items():
        if ratios.get(name, 0.0) > LEAST_RATIO:  # what the tool had of its own moves as the signal does everywhere
            ratios[name] = round(max(math.pow(ratios[name], weight), LEAST_RATIO), RATIO_DIGITS)
    if own is not None:
        settings["prior"] = round(own.prior.value, PRIOR_DIGITS)
        ratios |= {name: round(found.value, RATIO_DIGITS) for name, found in own.ratios.items()}
    if ratios:
        settings["likelihood_ratios"] = ratios
    return settings


def _keep_thresholds(settings: dict[str, Any], before: Calibration, outcome: Outcome) -> None:
    """A tool that had one threshold of its own keeps both as they were: the new one of all may not go with it."""
    mine = {"accept_below", "block_at"} & settings.keys()
    if len(mine) == 1:
        settings.setdefault("accept_below", before.everywhere.get("accept_below", outcome.in_force.accept_below))
        settings.setdefault("block_at", before.everywhere.get("block_at", outcome.in_force.block_at))
