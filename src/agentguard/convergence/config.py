"""How sessions are evaluated: limits of the model call, and thresholds of the rules."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from agentguard.errors import ConfigurationError

__all__ = ["DEFAULT_CATEGORIES", "ConvergenceConfig", "refuse"]

DEFAULT_CATEGORIES = ("SECURITY", "CORRECTNESS", "RELIABILITY", "MAINTAINABILITY", "PERFORMANCE")


@dataclass(frozen=True, slots=True)
class ConvergenceConfig:
    """The settings of an evaluation.

    Attributes:
        temperature: of the model, in [0, 2]; None leaves the model's own.
        max_tokens: most tokens of a reply, at least 1; None leaves the model's own.
        max_output_chars: most characters of any one part of the session that a judge sees, at least 2; longer parts
            are cut to head and tail.
        timeout_s: seconds to wait for one judge, above 0; None waits for ever.
        categories: what a session must have looked at: distinct names of 1 to 64 printable characters.
        min_rounds: fewest rounds before a session may pass, at least 1.
        min_stable_rounds: rounds in a row without a new issue that it takes to pass, at least 0.
        structured: use the model's structured output where it has any; False asks for text at once.

    Raises:
        ConfigurationError: naming every setting that cannot be used.

    >>> ConvergenceConfig(temperature=3, min_rounds=0)
    Traceback (most recent call last):
    agentguard.errors.ConfigurationError: ConvergenceConfig has 2 faults:
      temperature must be None or a number in [0, 2], not 3
      min_rounds must be a whole number of at least 1, not 0
    """

    temperature: float | None = 0.3
    max_tokens: int | None = 2000
    max_output_chars: int = 8000
    timeout_s: float | None = 120.0
    categories: tuple[str, ...] = DEFAULT_CATEGORIES
    min_rounds: int = 3
    min_stable_rounds: int = 2
    structured: bool = True

    def __post_init__(self) -> None:
        if isinstance(self.categories, list):
            object.__setattr__(self, "categories", tuple(self.categories))
        rules: list[tuple[str, Callable[[Any], bool], str]] = [
            ("temperature", lambda it: it is None or (_number(it) and 0 <= it <= 2), "None or a number in [0, 2]"),
            ("max_tokens", lambda it: it is None or _whole(it, 1), "None or a whole number of at least 1"),
            ("max_output_chars", lambda it: _whole(it, 2), "a whole number of at least 2"),
            ("timeout_s", lambda it: it is None or (_number(it) and it > 0), "None or a number of seconds above 0"),
            ("categories", _names, "a tuple of distinct names of 1 to 64 printable characters"),
            ("min_rounds", lambda it: _whole(it, 1), "a whole number of at least 1"),
            ("min_stable_rounds", lambda it: _whole(it, 0), "a whole number of at least 0"),
            ("structured", lambda it: isinstance(it, bool), "True or False"),
        ]
        values = ((name, getattr(self, name), usable, wanted) for name, usable, wanted in rules)
        refuse(
            "ConvergenceConfig",
            [f"{name} must be {wanted}, not {value!r}" for name, value, usable, wanted in values if not usable(value)],
        )


def refuse(subject: str, faults: list[str]) -> None:
    """Raise one ``ConfigurationError`` for all faults; do nothing where there are none."""
    if faults:
        count = f"{len(faults)} fault{'s' if len(faults) != 1 else ''}"
        raise ConfigurationError("\n  ".join([f"{subject} has {count}:", *faults]))


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _whole(value: Any, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _names(value: Any) -> bool:
    return (
        isinstance(value, tuple)
        and bool(value)
        and all(isinstance(name, str) and name == name.strip() and name.isprintable() for name in value)
        and all(1 <= len(name) <= 64 for name in value)
        and len({name.casefold() for name in value}) == len(value)
    )
