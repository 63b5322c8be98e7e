"""The thresholds in force for a tool, checked when they are set."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from agentguard.errors import ConfigurationError

__all__ = ["Settings", "as_written", "is_ratio", "probability"]

_MOST: Final = sys.float_info.max
_LONG: Final = 1_000  # bits


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
                if not is_ratio(ratio):
                    said = f"likelihood_ratios[{as_written(signal)}] must be a positive number, not {as_written(ratio)}"
                    raise ConfigurationError(said)
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
        raise ConfigurationError(f"{name} must be a number in {interval}, not {as_written(value)}")
    return float(value)


def is_ratio(value: Any) -> bool:
    """A positive number that a float can hold.

    >>> is_ratio(11.3), is_ratio(0), is_ratio(10**400)
    (True, False, False)
    """
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value <= _MOST


def as_written(value: Any) -> str:
    """A faulty value in a message. Python does not write out integers without end, wherever they stand in it.

    >>> as_written("0.1"), as_written(-(10**5000)), as_written([10**5000])
    ("'0.1'", 'an integer of 16,610 bits', 'a list that cannot be written out')
    """
    if isinstance(value, int) and value.bit_length() > _LONG:
        return f"an integer of {value.bit_length():,} bits"
    try:
        return repr(value)
    except Exception:
        return f"a {type(value).__name__} that cannot be written out"
