"""What is evaluated: a verification session and the issues it raised, checked when they are built."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agentguard.errors import DataError

__all__ = ["ConvergenceContext", "Issue"]

# Anything else is treated as the worse case: an unknown status is open, an unknown severity blocks.
_CLOSED = frozenset({"RESOLVED", "FIXED", "CLOSED", "DISMISSED"})
_TOLERABLE = frozenset({"MEDIUM", "LOW", "INFO"})


@dataclass(frozen=True, slots=True)
class Issue:
    """One finding of a verifier.

    Attributes:
        id: names the issue across rounds.
        severity: CRITICAL, HIGH, MEDIUM, LOW or INFO, in any case of letters. Any other word blocks like CRITICAL.
        category: for instance SECURITY.
        description: in the verifier's words.
        status: RESOLVED, FIXED, CLOSED or DISMISSED, in any case of letters. Any other word means open.

    Raises:
        DataError: for a field that is not text.

    >>> Issue("I1", "high", "SECURITY", "token in the log").blocking
    True
    >>> Issue("I1", "high", "SECURITY", "token in the log", status="resolved").blocking
    False
    """

    id: str
    severity: str
    category: str
    description: str = ""
    status: str = "OPEN"

    def __post_init__(self) -> None:
        wrong = [name for name in self.__slots__ if not isinstance(getattr(self, name), str)]
        if wrong:
            raise DataError(f"an issue's {', '.join(wrong)} must be text")

    @classmethod
    def from_mapping(cls, data: Mapping[str, Any]) -> Issue:
        """An issue written as JSON; ``id``, ``severity`` and ``category`` must be there, other keys may.

        Raises:
            DataError: naming what is missing or no text.

        >>> Issue.from_mapping({"id": "I1", "severity": "LOW"})
        Traceback (most recent call last):
        agentguard.errors.DataError: an issue must be an object with id, severity and category; missing: category
        """
        keys = ("id", "severity", "category")
        missing = [key for key in keys if key not in data] if isinstance(data, Mapping) else keys
        if missing:
            wanted = "an issue must be an object with id, severity and category"
            raise DataError(f"{wanted}; missing: {', '.join(missing)}")
        return cls(**{name: data[name] for name in cls.__slots__ if name in data})

    @property
    def is_open(self) -> bool:
        """Nobody has closed it."""
        return self.status.strip().upper() not in _CLOSED

    @property
    def blocking(self) -> bool:
        """It is open and CRITICAL or HIGH (or of a severity that nobody knows)."""
        return self.is_open and self.severity.strip().upper() not in _TOLERABLE


@dataclass(frozen=True, slots=True)
class ConvergenceContext:
    """A verification session as it stands after a round.

    Attributes:
        requirements: what was to be verified, in words.
        target_files: the files under verification.
        current_round: rounds done, from 0.
        all_outputs: what the verifier wrote in all rounds.
        issues: everything found so far.
        stable_rounds: rounds in a row, up to now, in which no issue was raised or reopened.
        categories_examined: the categories that were looked at. None: those named in the outputs or by an issue.

    Raises:
        DataError: naming every field that cannot be used.
    """

    requirements: str
    target_files: tuple[str, ...]
    current_round: int
    all_outputs: str
    issues: tuple[Issue, ...] = ()
    stable_rounds: int = 0
    categories_examined: frozenset[str] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "target_files", _items(self.target_files))
        object.__setattr__(self, "issues", _items(self.issues))
        if self.categories_examined is not None:
            object.__setattr__(self, "categories_examined", frozenset(_items(self.categories_examined)))
        faults = [
            f"{name} must be text" for name in ("requirements", "all_outputs") if type(getattr(self, name)) is not str
        ]
        faults += [
            f"{name} must be a whole number of at least 0, not {getattr(self, name)!r}"
            for name in ("current_round", "stable_rounds")
            if type(getattr(self, name)) is not int or getattr(self, name) < 0
        ]
        if not all(isinstance(path, str) for path in self.target_files):
            faults.append("target_files must be a list of paths as text")
        if not all(isinstance(issue, Issue) for issue in self.issues):
            faults.append("issues must be a list of Issue")
        if not all(isinstance(name, str) for name in self.categories_examined or ()):
            faults.append("categories_examined must be a set of names")
        if not faults and self.stable_rounds > self.current_round:
            faults.append(f"stable_rounds ({self.stable_rounds}) cannot exceed current_round ({self.current_round})")
        if faults:
            raise DataError(f"the session cannot be evaluated: {'; '.join(faults)}")


def _items(value: Any) -> tuple[Any, ...]:
    """A collection as a tuple; anything else (a lone text too) as a tuple that fails the check of its items."""
    return tuple(value) if isinstance(value, (list, tuple, set, frozenset)) else (None,)
