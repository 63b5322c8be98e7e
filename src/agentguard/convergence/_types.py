"""The records of a convergence evaluation: the session that goes in, the settings, and the judgement that comes out."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

from agentguard.errors import ConfigurationError, DataError

Confidence = Literal["high", "medium", "low", "uncertain"]

#: How many of several judges must pass a session: more than half, or all.
Agreement = Literal["majority", "unanimous"]

#: ``advise``: the judges decide, and see which rules are met. ``veto``: the rules may also hold back a session that the
#: judges pass. ``off``: there are no rules.
RulesMode = Literal["advise", "veto", "off"]

#: How judges and rules stand to each other; ``no_model`` where no judge gave a usable answer.
Accord = Literal["both_pass", "both_fail", "model_veto", "rules_veto", "rules_overruled", "no_model"]


class Criterion(NamedTuple):
    """One rule: its name, whether the session meets it, and the figures in words."""

    name: str
    met: bool
    detail: str


class RuleAssessment(NamedTuple):
    """The rules' judgement of a session; ``passed`` where every criterion is met."""

    passed: bool
    criteria: tuple[Criterion, ...]

    @property
    def unmet(self) -> tuple[str, ...]:
        """The details of the criteria that are not met."""
        return tuple(criterion.detail for criterion in self.criteria if not criterion.met)


class JudgeReply(NamedTuple):
    """A model's answer. Scores are in [0, 100]; None where the model gave none that can be read.

    Attributes:
        notes: fields that were not written as asked for: what was read all the same, and what was left out. They
            quote nothing of the answer.
    """

    passed: bool
    confidence: Confidence
    reasoning: str
    evidence: tuple[str, ...]
    quality_score: float | None
    category_scores: Mapping[str, float | None]
    gaps: tuple[str, ...]
    more_rounds_recommended: bool
    recommended_focus_areas: tuple[str, ...]
    notes: tuple[str, ...] = ()


class Opinion(NamedTuple):
    """The reply of one judge, or None and the fault.

    Attributes:
        asked: how often the judge was asked.
        answered: the judge answered the last request, readably or not.
    """

    judge: str
    reply: JudgeReply | None
    fault: str
    asked: int = 1
    answered: bool = True

    @property
    def passed(self) -> bool:
        """The judge passed the session; a judge without a usable reply did not."""
        return self.reply is not None and self.reply.passed


class SamplingRequest(NamedTuple):
    """The argument of a sampling function: any function, sync or async, that has a model answer.

    It returns the reply as text, as ``{"content": text}``, ``{"content": {"text": text}}``, or an object with
    ``content``.

    Attributes:
        messages: one message, ``{"role": "user", "content": {"type": "text", "text": prompt}}``.
        system_prompt: for the model's system message.
        max_tokens: most tokens of the reply; None leaves the model's own.
        temperature: of the model; None leaves the model's own.
    """

    messages: list[dict[str, Any]]
    system_prompt: str
    max_tokens: int | None
    temperature: float | None


class ConvergenceEvaluation(NamedTuple):
    """The evaluation of a verification session, and its grounds.

    Attributes:
        passed: the judges pass the session, and by ``rules="veto"`` the rules too. False on any failure.
        confidence: how sure the judges are of their own answer; ``low`` where there is none.
        reasoning: the judges' reasons, and the rules that are not met.
        evidence: what the judges point to.
        quality_score: in [0, 100], the judges' median; None where no judge gave one.
        category_scores: the same by category.
        gaps: what is missing, by judges and rules.
        more_rounds_recommended: a judge recommends it, none answered, or by ``rules="veto"`` a rule is not met.
        recommended_focus_areas: where another round should look, if one is recommended.
        accord: how judges and rules stand to each other.
        rules: what the rules alone say.
        opinions: each judge's own answer.
        cut_chars: how many characters were cut from the middle of the outputs that the judges saw.
    """

    passed: bool
    confidence: Confidence
    reasoning: str
    evidence: tuple[str, ...]
    quality_score: float | None
    category_scores: Mapping[str, float | None]
    gaps: tuple[str, ...]
    more_rounds_recommended: bool
    recommended_focus_areas: tuple[str, ...]
    accord: Accord
    rules: RuleAssessment
    opinions: tuple[Opinion, ...]
    cut_chars: int

    @property
    def asked_again(self) -> int:
        """How often a judge was asked once more, because its answer could not be read."""
        return sum(max(0, opinion.asked - 1) for opinion in self.opinions)

    def as_dict(self) -> dict[str, Any]:
        """The evaluation as plain JSON, for a graph's state or a log."""
        plain: dict[str, Any] = _plain(self)
        return {**plain, "asked_again": self.asked_again}


def _plain(value: Any) -> Any:
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {name: _plain(item) for name, item in zip(value._fields, value, strict=True)}
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


# --- Settings: limits of the model call, and thresholds of the rules ---


DEFAULT_CATEGORIES = ("SECURITY", "CORRECTNESS", "RELIABILITY", "MAINTAINABILITY", "PERFORMANCE")


@dataclass(frozen=True, slots=True)
class ConvergenceConfig:
    """The settings of an evaluation.

    Attributes:
        temperature: of the model, in [0, 2]; None leaves the model's own.
        max_tokens: most tokens of a reply, at least 1; None leaves the model's own.
        max_output_chars: most characters of the outputs that a judge sees, at least 2; longer ones are cut to head and
            tail.
        timeout_s: seconds to wait for one judge in all, above 0; None waits for ever.
        categories: what a session must have looked at: distinct names of 1 to 64 printable characters.
        min_rounds: fewest rounds before a session may pass, at least 1.
        min_stable_rounds: rounds in a row without a new issue that it takes to pass, at least 0.
        structured: use the model's structured output where it has any; False asks for text at once.
        rules: ``advise`` lets the judges decide, and shows them which rules are met; ``veto`` lets the rules hold back
            what the judges pass; ``off`` applies none.
        attempts: how often one judge is asked until its answer can be read, at least 1.

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
    rules: RulesMode = "advise"
    attempts: int = 2

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
            ("rules", lambda it: it in get_args(RulesMode), "'advise', 'veto' or 'off'"),
            ("attempts", lambda it: _whole(it, 1), "a whole number of at least 1"),
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


# --- The session and its issues, checked when they are built ---


# Anything else is treated as the worse case: an unknown status is open, an unknown severity blocks.
_CLOSED = frozenset({"RESOLVED", "FIXED", "CLOSED", "DISMISSED", "ACCEPTED_RISK"})
_TOLERABLE = frozenset({"MEDIUM", "LOW", "INFO"})


@dataclass(frozen=True, slots=True)
class Issue:
    """One finding of a verifier.

    Attributes:
        id: names the issue across rounds.
        severity: CRITICAL, HIGH, MEDIUM, LOW or INFO, in any case of letters. Any other word blocks like CRITICAL.
        category: for instance SECURITY.
        description: in the verifier's words.
        status: RESOLVED, FIXED, CLOSED, DISMISSED or ACCEPTED_RISK (known and lived with), in any case of letters. Any
            other word means open.

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
        """Nobody has closed it, or accepted its risk."""
        return re.sub(r"[\s-]+", "_", self.status.strip().upper()) not in _CLOSED

    @property
    def blocking(self) -> bool:
        """Open, and CRITICAL or HIGH (or of a severity that nobody knows)."""
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
        stable_rounds: rounds in a row, up to now, in which no issue was raised or reopened. None: not known, counted
            as 0.
        categories_examined: the categories that were looked at. None: those named in the outputs or by an issue.

    Raises:
        DataError: naming every field that cannot be used.
    """

    requirements: str
    target_files: tuple[str, ...]
    current_round: int
    all_outputs: str
    issues: tuple[Issue, ...] = ()
    stable_rounds: int | None = None
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
            if not (_whole(getattr(self, name), 0) or (name == "stable_rounds" and self.stable_rounds is None))
        ]
        if not all(isinstance(path, str) for path in self.target_files):
            faults.append("target_files must be a list of paths as text")
        if not all(isinstance(issue, Issue) for issue in self.issues):
            faults.append("issues must be a list of Issue")
        if not all(isinstance(name, str) for name in self.categories_examined or ()):
            faults.append("categories_examined must be a set of names")
        if not faults and (self.stable_rounds or 0) > self.current_round:
            faults.append(f"stable_rounds ({self.stable_rounds}) cannot exceed current_round ({self.current_round})")
        if faults:
            raise DataError(f"the session cannot be evaluated: {'; '.join(faults)}")


def _items(value: Any) -> tuple[Any, ...]:
    """Make a tuple of a collection; of anything else, a tuple that fails the check of its items."""
    return tuple(value) if isinstance(value, (list, tuple, set, frozenset)) else (None,)
