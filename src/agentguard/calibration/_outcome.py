"""A calibration, from labels to settings: the findings, the changes, and the reasons against a change.

Nothing is changed on too little. A fit is used where there are labels of both kinds and it predicts labels that it has
not seen better than the guard did; a threshold is used where its bound keeps to the wish.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from agentguard.calibration._fit import Fit, LabelSettings, cross_posteriors, fit, parts_of
from agentguard.calibration._labels import Label
from agentguard.calibration._statistics import (
    Reliability,
    Share,
    Threshold,
    effective_size,
    lowest_threshold,
    reliability,
    share_of,
)
from agentguard.errors import ConfigurationError

LEAST_LABELS: Final = 30
LEAST_OF_A_KIND: Final = 5


class Wish(NamedTuple):
    """Demands on the thresholds.

    Attributes:
        false_block_rate: share of genuine calls that may be blocked, in (0, 1).
        false_flag_rate: share of genuine calls that may be flagged or blocked, in [false_block_rate, 1).
        confidence: that this is kept to, and of all intervals, in (0, 1).
        least_block_at: the lowest ``block_at`` to propose, in (0, 1): at even odds nothing is blocked that is more
            likely genuine. One that was in force and is lower may stay.
    """

    false_block_rate: float = 0.01
    false_flag_rate: float = 0.03
    confidence: float = 0.95
    least_block_at: float = 0.5  # even odds

    def checked(self) -> Wish:
        """Return this wish.

        Raises:
            ConfigurationError: where nothing can fulfil it.
        """
        for name, value in self._asdict().items():
            if not 0.0 < value < 1.0:
                raise ConfigurationError(f"{name} must be a number in (0, 1), not {value!r}")
        if self.false_flag_rate < self.false_block_rate:
            raise ConfigurationError(
                f"false_flag_rate ({self.false_flag_rate}) must not be below false_block_rate "
                f"({self.false_block_rate}): what is blocked counts as flagged"
            )
        return self


class Tool(NamedTuple):
    """One tool's labels.

    Attributes:
        tool: its name.
        labels: how many there are.
        fabricated: the share of its calls that is fabricated.
        false_blocks: the share of its genuine calls that the threshold in force blocks; None without any.
    """

    tool: str
    labels: int
    fabricated: Share
    false_blocks: Share | None


class Outcome(NamedTuple):
    """The result of a calibration.

    Attributes:
        wish: the demands.
        in_force: the settings when the labels were made.
        labels: how many there are; ``fabricated_labels`` of them are of fabricated calls.
        accepted_labels: how many are of calls that the guard had accepted.
        calls: how many calls they stand for.
        effective: how many equally weighted labels say as much.
        fabricated: the share of all calls that is fabricated.
        before: how reliable the posteriors were.
        after: how reliable those of the fit are, on labels that it has not seen; None without a fit.
        fit: the fitted values; None where they are not to be used.
        blocks, flags: the thresholds ``block_at`` and ``accept_below``, on the fit's posteriors where there is a fit.
        false_blocks, false_flags: how many genuine calls those in force reach; None without genuine calls.
        tools: each tool, the one with the most labels first.
        remarks: reservations, and why something is left as it is; whole sentences.
    """

    wish: Wish
    in_force: LabelSettings
    labels: int
    fabricated_labels: int
    accepted_labels: int
    calls: float
    effective: float
    fabricated: Share
    before: Reliability
    after: Reliability | None
    fit: Fit | None
    blocks: Threshold
    flags: Threshold
    false_blocks: Share | None
    false_flags: Share | None
    tools: tuple[Tool, ...]
    remarks: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """The same as plain data."""
        return {str(name): _plain(value) for name, value in self._asdict().items()}


def _plain(value: Any) -> Any:
    fields = getattr(value, "_asdict", None)
    if fields is not None:
        return {name: _plain(item) for name, item in fields().items()}
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


def calibrate(labels: Sequence[Label], wish: Wish | None = None, in_force: LabelSettings | None = None) -> Outcome:
    """Measure the guard against labels, fit it to them, and find thresholds that keep to a wish.

    Args:
        labels: at least one.
        wish: None: at most 1% of genuine calls blocked and 3% flagged, at 95% confidence.
        in_force: the settings when they were made; None: the engine's defaults.

    Raises:
        ConfigurationError: for a wish out of range, or without labels.
    """
    wish, in_force = (wish or Wish()).checked(), in_force or LabelSettings()
    if not labels:
        raise ConfigurationError("there are no labels to calibrate from")
    confidence = wish.confidence
    labels, remarks = _sampled(labels, in_force)
    weights = [label.weight for label in labels]
    given = [label.posterior for label in labels]
    accepted = [label for label in labels if _was_accepted(label, in_force)]
    before = reliability(labels, given, confidence)
    # A fit, by the posteriors that each label has from the others.
    posteriors, after, fitted = given, None, None
    reason = _too_few(labels) if accepted else "without labels of accepted calls"
    if not reason:
        crossed = cross_posteriors(labels, in_force)
        after = reliability(labels, crossed, confidence, parts_of(labels))
        if after.log_loss < before.log_loss:
            posteriors, fitted = crossed, fit(labels, in_force, confidence)
        else:
            reason = f"a fit does not foretell labels better (log loss {after.log_loss:.4f}, was {before.log_loss:.4f})"
    if reason:
        remarks.append(f"Priors and ratios stay as they are: {reason}.")
    # Thresholds; that of flags may fall to the prior, which is the posterior of a call with nothing against it.
    floor = min(wish.least_block_at, in_force.block_at)
    prior = in_force.prior if fitted is None else fitted.everywhere.prior.value
    blocks = lowest_threshold(labels, posteriors, wish.false_block_rate, confidence, floor)
    flags = lowest_threshold(labels, posteriors, wish.false_flag_rate, confidence, min(prior, floor))
    lower = lowest_threshold(labels, posteriors, wish.false_block_rate, confidence, min(prior, floor)).value
    if not accepted:
        blocks, flags = blocks._replace(value=None), flags._replace(value=None)
    if flags.value is not None and flags.value > (in_force.block_at if blocks.value is None else blocks.value):
        flags = flags._replace(value=None)
    if blocks.value is not None and lower is not None and lower < blocks.value:
        remarks.append(f"block_at is held at {blocks.value:g}; the wish alone would let it be {lower:g}.")
    remarks += [
        f"{name} stays at {value:g}: {_why_not(threshold, confidence, accepted=bool(accepted))}."
        for name, value, threshold in (
            ("block_at", in_force.block_at, blocks),
            ("accept_below", in_force.accept_below, flags),
        )
        if threshold.value is None
    ]
    return Outcome(
        wish,
        in_force,
        len(labels),
        sum(label.fabricated for label in labels),
        len(accepted),
        sum(weights),
        effective_size(weights),
        share_of(weights, [label.fabricated for label in labels], confidence) or Share(0.0, 0.0, 1.0),
        before,
        after,
        fitted,
        blocks,
        flags,
        _reached(labels, in_force.block_at, confidence),
        _reached(labels, in_force.accept_below, confidence),
        _tools(labels, in_force, confidence),
        tuple(remarks),
    )


def _reached(labels: Sequence[Label], threshold: float, confidence: float) -> Share | None:
    genuine = [label for label in labels if not label.fabricated]
    hits = [label.posterior >= threshold for label in genuine]
    return share_of([label.weight for label in genuine], hits, confidence)


def _tools(labels: Sequence[Label], in_force: LabelSettings, confidence: float) -> tuple[Tool, ...]:
    by_tool: dict[str, list[Label]] = {}
    for label in labels:
        by_tool.setdefault(label.tool, []).append(label)
    tools = []
    for tool, mine in sorted(by_tool.items(), key=lambda item: (-len(item[1]), item[0])):
        fabricated = share_of([label.weight for label in mine], [label.fabricated for label in mine], confidence)
        if fabricated is not None:
            tools.append(Tool(tool, len(mine), fabricated, _reached(mine, in_force.block_at, confidence)))
    return tuple(tools)


# --- Remarks: which labels are a sample of all calls, and what too few of them leave open ---


def _was_accepted(label: Label, in_force: LabelSettings) -> bool:
    """True where the verdict was accept."""
    return label.posterior < in_force.accept_below if label.verdict is None else label.verdict == "accept"


def _sampled(labels: Sequence[Label], in_force: LabelSettings) -> tuple[Sequence[Label], list[str]]:
    """The labels of calls that were reviewed by a known chance, and remarks on them."""
    remarks = []
    accepted = [label for label in labels if _was_accepted(label, in_force)]
    if not accepted:
        remarks.append(
            "No label is of an accepted call, so nothing can be said about genuine calls at large: set audit_rate, "
            "and review what it samples."
        )
    elif all(label.propensity == 1.0 for label in accepted):
        remarks.append("No accepted call was sampled for review: it is taken that all of them were reviewed.")
    else:
        kept = [label for label in labels if label.propensity < 1.0 or not _was_accepted(label, in_force)]
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


def _too_few(labels: Sequence[Label]) -> str:
    """Why these labels are too few for a fit, or ""."""
    fabricated = sum(label.fabricated for label in labels)
    genuine = len(labels) - fabricated
    if len(labels) >= LEAST_LABELS and min(fabricated, genuine) >= LEAST_OF_A_KIND:
        return ""
    return (
        f"a fit takes {LEAST_LABELS} labels with {LEAST_OF_A_KIND} of each kind, "
        f"and there are {genuine:,} genuine and {fabricated:,} fabricated"
    )


def _why_not(threshold: Threshold, confidence: float, *, accepted: bool) -> str:
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
