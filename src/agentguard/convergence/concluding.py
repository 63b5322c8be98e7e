"""Joins the opinions of the judges with the rules: judges may hold a session back, never pass what the rules do not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median

from agentguard.convergence.types import (
    Accord,
    Agreement,
    Confidence,
    ConvergenceEvaluation,
    Cut,
    JudgeReply,
    Opinion,
    RuleAssessment,
)

__all__ = ["conclude"]

_LEAST_SURE_FIRST: tuple[Confidence, ...] = ("uncertain", "low", "medium", "high")


def conclude(
    opinions: Sequence[Opinion],
    rules: RuleAssessment,
    categories: Sequence[str],
    *,
    agreement: Agreement = "majority",
    cuts: Sequence[Cut] = (),
) -> ConvergenceEvaluation:
    """The evaluation that follows from opinions and rules.

    A judge without a usable reply counts among the judges and against passing.

    Args:
        opinions: of at least one judge.
        rules: what the rules say of the session.
        categories: those to report scores for.
        agreement: how many judges must pass the session.
        cuts: what the judges did not see.
    """
    replies = [opinion.reply for opinion in opinions if opinion.reply is not None]
    votes = sum(opinion.passed for opinion in opinions)
    carried = votes == len(opinions) if agreement == "unanimous" else 2 * votes > len(opinions)
    passed = carried and rules.passed
    focus = _distinct(area for reply in replies for area in reply.recommended_focus_areas)
    return ConvergenceEvaluation(
        passed=passed,
        confidence=_confidence(opinions, carried),
        reasoning=_reasoning(opinions, rules, votes, carried, agreement),
        evidence=_distinct(point for reply in replies for point in reply.evidence),
        quality_score=_median(reply.quality_score for reply in replies),
        category_scores={name: _median(reply.category_scores.get(name) for reply in replies) for name in categories},
        gaps=_distinct([*(gap for reply in replies for gap in reply.gaps), *_faults(opinions), *rules.unmet]),
        more_rounds_recommended=_more_rounds(replies, rules, passed),
        recommended_focus_areas=focus or rules.unmet,
        accord=_accord(carried, rules.passed) if replies else "no_model",
        rules=rules,
        opinions=tuple(opinions),
        cuts=tuple(cuts),
    )


def _accord(judges: bool, rules: bool) -> Accord:
    if judges:
        return "both_pass" if rules else "rules_veto"
    return "model_veto" if rules else "both_fail"


def _confidence(opinions: Sequence[Opinion], carried: bool) -> Confidence:
    """The least sure of the judges on the side that carried; low for one without a reply."""
    side = [opinion for opinion in opinions if opinion.passed == carried]
    levels = {"low" if opinion.reply is None else opinion.reply.confidence for opinion in side}
    if all(opinion.reply is None for opinion in side):
        return "low"
    return next(level for level in _LEAST_SURE_FIRST if level in levels)


def _more_rounds(replies: Sequence[JudgeReply], rules: RuleAssessment, passed: bool) -> bool:
    asked_for = any(reply.more_rounds_recommended for reply in replies)
    return asked_for if passed else asked_for or not replies or not rules.passed


def _reasoning(
    opinions: Sequence[Opinion], rules: RuleAssessment, votes: int, carried: bool, agreement: Agreement
) -> str:
    said = [
        f"No usable answer ({opinion.fault})." if opinion.reply is None else opinion.reply.reasoning
        for opinion in opinions
    ]
    if len(opinions) > 1:
        wanted = "all of them" if agreement == "unanimous" else "more than half"
        said = [f"{opinion.judge}: {text}" for opinion, text in zip(opinions, said, strict=True)]
        said.insert(0, f"{votes} of {len(opinions)} judges pass the session; {wanted} must.")
    if all(opinion.reply is None for opinion in opinions):
        met = "are met" if rules.passed else "are not met"
        said.append(f"Held back for want of an answer. The rules {met}.")
    elif carried and not rules.passed:
        said.append("The rules overrule this.")
    if not rules.passed:
        said.append(f"Rules not met: {'; '.join(rules.unmet)}.")
    return "\n".join(said)


def _faults(opinions: Sequence[Opinion]) -> list[str]:
    return [f"{opinion.judge} gave no usable answer" for opinion in opinions if opinion.reply is None]


def _median(scores: Iterable[float | None]) -> float | None:
    given = [score for score in scores if score is not None]
    return float(median(given)) if given else None


def _distinct(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))
