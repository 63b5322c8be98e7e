"""What labels are good for, in sentences: which are a sample of all calls, and what too few of them leave open."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from .in_force import InForce
from .labels import Label
from .thresholds import Threshold

__all__ = ["sampled", "too_few", "was_accepted", "why_not"]

LEAST_LABELS: Final = 30
LEAST_OF_A_KIND: Final = 5


def was_accepted(label: Label, in_force: InForce) -> bool:
    """The guard let the call pass."""
    return label.posterior < in_force.accept_below if label.verdict is None else label.verdict == "accept"


def sampled(labels: Sequence[Label], in_force: InForce) -> tuple[Sequence[Label], list[str]]:
    """The labels of calls that came to be reviewed by a known chance, and what is to be said of that."""
    remarks = []
    accepted = [label for label in labels if was_accepted(label, in_force)]
    if not accepted:
        remarks.append(
            "No label is of an accepted call, so nothing can be said about genuine calls at large: set audit_rate, "
            "and review what it samples."
        )
    elif all(label.propensity == 1.0 for label in accepted):
        remarks.append("No accepted call was sampled for review: it is taken that all of them were reviewed.")
    else:
        kept = [label for label in labels if label.propensity < 1.0 or not was_accepted(label, in_force)]
        if len(kept) < len(labels):
            number = len(labels) - len(kept)
            remarks.append(
                f"Labels of accepted calls that no audit had sampled are left out, {number:,} of them: they were "
                "reviewed for a reason, and not by chance."
            )
        labels = kept
    capped = sum(label.propensity * label.weight < 1.0 - 1e-9 for label in labels)
    if capped:
        remarks.append(f"Figures lean to suspects: {capped:,} labels stand for more calls than the 200 that one may.")
    return labels, remarks


def too_few(labels: Sequence[Label]) -> str:
    """Why these labels are too few for a fit, or ""."""
    fabricated = sum(label.fabricated for label in labels)
    genuine = len(labels) - fabricated
    if len(labels) >= LEAST_LABELS and min(fabricated, genuine) >= LEAST_OF_A_KIND:
        return ""
    return (
        f"a fit takes {LEAST_LABELS} labels with {LEAST_OF_A_KIND} of each kind, "
        f"and there are {genuine:,} genuine and {fabricated:,} fabricated"
    )


def why_not(threshold: Threshold, confidence: float, *, accepted: bool) -> str:
    """Why a threshold stays as it is."""
    if not accepted:
        return "without labels of accepted calls"
    if threshold.bound is not None:
        return "what the labels bear out is above block_at"
    if threshold.attainable > threshold.wished:
        return (
            f"{threshold.genuine:,} genuine labels, even with none of them wrongly caught, show at {confidence:.0%} "
            f"confidence no rate below {threshold.attainable:.2%}; {threshold.wished:.2%} takes {threshold.needed:,} "
            "that weigh alike"
        )
    return f"at no threshold are at most {threshold.wished:.2%} of the genuine calls caught for certain"
