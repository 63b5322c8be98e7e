"""The thresholds in force for a tool, checked when they are set."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from agentguard.errors import ConfigurationError

__all__ = ["Settings", "probability"]


@dataclass(frozen=True, slots=True)
class Settings:
    """Probabilities in (0, 1], the prior in (0, 1); likelihood ratios by signal name, in (0, inf)."""

    prior: float = 0.15
    accept_below: float = 0.2
    block_at: float = 0.5
    max_false_block_rate: float = 0.01
    likelihood_ratios: Mapping[str, float] = field(default_factory=dict)

    def changed(self, **changes: Any) -> Settings:
        """These settings with changes; ratios are added to those that stand.

        Raises:
            ConfigurationError: naming the setting that is out of range.
        """
        for name, value in changes.items():
            if name != "likelihood_ratios":
                changes[name] = probability(name, value, high_open=name == "prior")
        if "likelihood_ratios" in changes:
            for signal, ratio in changes["likelihood_ratios"].items():
                number = isinstance(ratio, (int, float)) and not isinstance(ratio, bool)
                if not number or not 0 < ratio < math.inf:
                    raise ConfigurationError(f"likelihood_ratios[{signal!r}] must be a positive number, not {ratio!r}")
            changes["likelihood_ratios"] = {**self.likelihood_ratios, **changes["likelihood_ratios"]}
        settings = replace(self, **changes)
        if settings.accept_below > settings.block_at:
            raise ConfigurationError(
                f"accept_below ({settings.accept_below}) must not be above block_at ({settings.block_at})"
            )
        return settings


def probability(name: str, value: Any, *, low_open: bool = True, high_open: bool = False) -> float:
    """The value as a float where it is a probability, else a ``ConfigurationError`` that names it."""
    usable = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not usable or not 0 <= value <= 1 or (low_open and value == 0) or (high_open and value == 1):
        interval = f"{'(' if low_open else '['}0, 1{')' if high_open else ']'}"
        long = isinstance(value, int) and value.bit_length() > 1_000  # Python does not write out integers without end
        said = f"an integer of {value.bit_length():,} bits" if long else repr(value)
        raise ConfigurationError(f"{name} must be a number in {interval}, not {said}")
    return float(value)
