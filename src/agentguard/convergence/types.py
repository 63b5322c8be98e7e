"""What comes out of a convergence evaluation: a judgement, and its grounds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

__all__ = [
    "Accord",
    "Agreement",
    "Confidence",
    "ConvergenceEvaluation",
    "Criterion",
    "Cut",
    "JudgeReply",
    "Opinion",
    "RuleAssessment",
]

Confidence = Literal["high", "medium", "low", "uncertain"]

#: How many of several judges must pass a session: more than half, or all.
Agreement = Literal["majority", "unanimous"]

#: How judges and rules stand to each other; ``no_model`` where no judge gave a usable answer.
Accord = Literal["both_pass", "both_fail", "model_veto", "rules_veto", "no_model"]


class Criterion(NamedTuple):
    """One rule: its name, whether the session meets it, and the figures in words."""

    name: str
    met: bool
    detail: str


class RuleAssessment(NamedTuple):
    """What the rules say of a session; ``passed`` where every criterion is met."""

    passed: bool
    criteria: tuple[Criterion, ...]

    @property
    def unmet(self) -> tuple[str, ...]:
        """The details of the criteria that are not met."""
        return tuple(criterion.detail for criterion in self.criteria if not criterion.met)


class JudgeReply(NamedTuple):
    """A model's answer, read strictly. Scores are in [0, 100]; None where the model gave none."""

    passed: bool
    confidence: Confidence
    reasoning: str
    evidence: tuple[str, ...]
    quality_score: float | None
    category_scores: Mapping[str, float | None]
    gaps: tuple[str, ...]
    more_rounds_recommended: bool
    recommended_focus_areas: tuple[str, ...]


class Opinion(NamedTuple):
    """What one judge said: its reply, or None and what went wrong instead."""

    judge: str
    reply: JudgeReply | None
    fault: str

    @property
    def passed(self) -> bool:
        """The judge passed the session; a judge without a usable reply did not."""
        return self.reply is not None and self.reply.passed


class Cut(NamedTuple):
    """A part of the session of which the judges saw head and tail only: ``removed`` of ``length`` characters."""

    section: str
    removed: int
    length: int


class ConvergenceEvaluation(NamedTuple):
    """Whether a verification session has converged, and on what grounds.

    Attributes:
        passed: judges and rules both pass. False on any failure.
        confidence: how sure the judges are of their own answer; ``low`` where there is none.
        reasoning: the judges' reasons, and what overrode them.
        evidence: what the judges point to.
        quality_score: in [0, 100], the judges' median; None where no judge gave one.
        category_scores: the same by category.
        gaps: what is missing, by judges and rules.
        more_rounds_recommended: True wherever ``passed`` is False, unless every judge who answered says otherwise and
            the rules are met.
        recommended_focus_areas: where another round should look.
        accord: how judges and rules stand to each other.
        rules: what the rules alone say.
        opinions: each judge's own answer.
        cuts: what the judges did not see for want of room.
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
    cuts: tuple[Cut, ...]

    def as_dict(self) -> dict[str, Any]:
        """The evaluation as plain JSON, for a graph's state or a log."""
        plain: dict[str, Any] = _plain(self)
        return plain


def _plain(value: Any) -> Any:
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {name: _plain(item) for name, item in zip(value._fields, value, strict=True)}
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, tuple) else value
