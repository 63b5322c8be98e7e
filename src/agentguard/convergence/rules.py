"""The criteria that need no model: severity, rounds, stability, categories.

They are necessary, not sufficient: a model may hold a session back that meets them, never pass one that does not.
"""

from __future__ import annotations

import re

from agentguard.convergence.config import ConvergenceConfig
from agentguard.convergence.session import ConvergenceContext
from agentguard.convergence.types import Criterion, RuleAssessment

__all__ = ["apply_rules"]


def apply_rules(context: ConvergenceContext, config: ConvergenceConfig | None = None) -> RuleAssessment:
    """Whether the session meets every rule.

    Args:
        context: the session.
        config: thresholds and categories; None: the defaults.

    >>> outputs = "Examined security, correctness, reliability, maintainability and performance."
    >>> apply_rules(ConvergenceContext("review", ("a.py",), 3, outputs, stable_rounds=2)).passed
    True
    >>> apply_rules(ConvergenceContext("review", ("a.py",), 2, outputs, stable_rounds=2)).unmet
    ('2 rounds done, 3 needed',)
    """
    config = ConvergenceConfig() if config is None else config
    blocking = [issue for issue in context.issues if issue.blocking]
    named = ", ".join(f"{issue.id[:40]!r} ({issue.severity[:16]})" for issue in blocking[:5])
    more = f" and {len(blocking) - 5} more" if len(blocking) > 5 else ""
    seen = _examined(context, config.categories)
    unseen = [name for name in config.categories if name not in seen]
    criteria = (
        Criterion(
            "severity", not blocking, f"open and severe: {named}{more}" if blocking else "nothing severe is open"
        ),
        Criterion(
            "stable_rounds",
            context.stable_rounds >= config.min_stable_rounds,
            f"{context.stable_rounds} rounds in a row without a new issue, {config.min_stable_rounds} needed",
        ),
        Criterion(
            "rounds",
            context.current_round >= config.min_rounds,
            f"{context.current_round} rounds done, {config.min_rounds} needed",
        ),
        Criterion(
            "categories", not unseen, f"not examined: {', '.join(unseen)}" if unseen else "every category was examined"
        ),
    )
    return RuleAssessment(all(criterion.met for criterion in criteria), criteria)


def _examined(context: ConvergenceContext, categories: tuple[str, ...]) -> set[str]:
    """The categories that the session declares as examined, or else names."""
    if context.categories_examined is not None:
        declared = {name.strip().casefold() for name in context.categories_examined}
        return {name for name in categories if name.casefold() in declared}
    by_issues = {issue.category.strip().casefold() for issue in context.issues}
    return {name for name in categories if name.casefold() in by_issues or _named(name, context.all_outputs)}


def _named(category: str, text: str) -> bool:
    # DATA_LOSS is written "data loss" or "data-loss" in prose.
    words = r"[\s_-]+".join(re.escape(word) for word in re.split(r"[\s_-]+", category) if word)
    return bool(words) and re.search(rf"(?<!\w){words}(?!\w)", text, re.IGNORECASE) is not None
