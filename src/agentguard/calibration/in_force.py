"""What an engine was set to when the labels were made: all that is fitted is a step from there."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from agentguard.verification.calibration import Calibration
from agentguard.verification.evidence import DEFAULT_RATIOS
from agentguard.verification.types import Settings

__all__ = ["InForce"]

_DEFAULTS = Settings()


class InForce(NamedTuple):
    """Settings of all tools, and the ratios and priors that single tools had of their own.

    >>> InForce.of(Calibration({"prior": 0.05})).prior
    0.05
    """

    prior: float = _DEFAULTS.prior
    accept_below: float = _DEFAULTS.accept_below
    block_at: float = _DEFAULTS.block_at
    ratios: Mapping[str, float] = DEFAULT_RATIOS
    tools: Mapping[str, Mapping[str, float]] = MappingProxyType({})

    @classmethod
    def of(cls, calibration: Calibration | None) -> InForce:
        """As a calibration file left them; None: the engine's defaults."""
        if calibration is None:
            return cls()
        given = calibration.everywhere
        thresholds = {name: given[name] for name in ("prior", "accept_below", "block_at") if name in given}
        ratios = {**DEFAULT_RATIOS, **given.get("likelihood_ratios", {})}
        own = {tool: values.get("likelihood_ratios", {}) for tool, values in calibration.tools.items()}
        return cls(**thresholds, ratios=ratios, tools=own)

    def ratio(self, tool: str | None, signal: str) -> float:
        """The likelihood ratio of a signal for a tool, or (None) for all."""
        own = self.tools.get(tool, {}) if tool is not None else {}
        return own.get(signal, self.ratios[signal])
