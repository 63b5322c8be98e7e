"""One calibration, from labels to settings: what was found, what is to be changed, and why something is not.

Nothing is changed on too little. A fit is taken where there are labels of both kinds and it foretells labels that it
has not seen better than the guard did; a threshold is taken where its bound keeps to the wish.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from agentguard.errors import ConfigurationError

from .fitting import Fit, cross_posteriors, fit, parts_of
from .in_force import InForce
from .intervals import Share, effective_size, share_of
from .labels import Label
from .reliability import Reliability, reliability
from .remarks import sampled, too_few, was_accepted, why_not
from .thresholds import Threshold, lowest_threshold

__all__ = ["Outcome", "Tool", "Wish", "calibrate"]

EVEN_ODDS = 0.5


class Wish(NamedTuple):
    """What is asked of the thresholds.

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
    least_block_at: float = EVEN_ODDS

    def checked(self) -> Wish:
        """This wish.

        Raises:
            ConfigurationError: where it cannot be fulfilled by anything.
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
    """What the labels say.

    Attributes:
        wish: what was asked for.
        in_force: what the engine was set to when the labels were made.
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
        remarks: what else is to be known, and why something is left as it is; whole sentences.
    """

    wish: Wish
    in_force: InForce
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


def calibrate(labels: Sequence[Label], wish: Wish | None = None, in_force: InForce | None = None) -> Outcome:
    """Find out what the labels say.

    Args:
        labels: at least one.
        wish: None: at most 1% of genuine calls blocked and 3% flagged, at 95% confidence.
        in_force: what the engine was set to when they were made; None: its defaults.

    Raises:
        ConfigurationError: for a wish out of range, or without labels.
    """
    wish, in_force = (wish or Wish()).checked(), in_force or InForce()
    if not labels:
        raise ConfigurationError("there are no labels to calibrate from")
    confidence = wish.confidence
    labels, remarks = sampled(labels, in_force)
    weights = [label.weight for label in labels]
    given = [label.posterior for label in labels]
    accepted = [label for label in labels if was_accepted(label, in_force)]
    before = reliability(labels, given, confidence)
    posteriors, after, found = given, None, None
    reason = too_few(labels) if accepted else "without labels of accepted calls"
    if not reason:
        crossed = cross_posteriors(labels, in_force)
        after = reliability(labels, crossed, confidence, parts_of(labels))
        if after.log_loss < before.log_loss:
            posteriors, found = crossed, fit(labels, in_force, confidence)
        else:
            reason = f"a fit does not foretell labels better (log loss {after.log_loss:.4f}, was {before.log_loss:.4f})"
    if reason:
        remarks.append(f"Priors and ratios stay as they are: {reason}.")
    floor = min(wish.least_block_at, in_force.block_at)
    prior = in_force.prior if found is None else found.everywhere.prior.value  # a call with nothing against it
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
        f"{name} stays at {value:g}: {why_not(threshold, confidence, accepted=bool(accepted))}."
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
        found,
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


def _tools(labels: Sequence[Label], in_force: InForce, confidence: float) -> tuple[Tool, ...]:
    by_tool: dict[str, list[Label]] = {}
    for label in labels:
        by_tool.setdefault(label.tool, []).append(label)
    found = []
    for tool, mine in sorted(by_tool.items(), key=lambda item: (-len(item[1]), item[0])):
        fabricated = share_of([label.weight for label in mine], [label.fabricated for label in mine], confidence)
        if fabricated is not None:
            found.append(Tool(tool, len(mine), fabricated, _reached(mine, in_force.block_at, confidence)))
    return tuple(found)
