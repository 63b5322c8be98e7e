"""Labels that people give claims: how often each verdict is right, and the risk of a claim that follows from it."""

from __future__ import annotations

import random
import time
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from agentguard.errors import ConfigurationError
from agentguard.gate._history import wilson_interval
from agentguard.gate._run import LABEL_RISKS, GateRun, read_run
from agentguard.gate._types import Claim, ClaimVerdict, Label
from agentguard.gate.records._base import Event, RunRecords

LABELLED: Final = "labelled"  # the kind of event
ASSUMED: Final = 4.0  # labels' worth of the risk that is assumed without any; a judgement


class ClaimLabel(NamedTuple):
    """What a person said of a claim.

    Attributes:
        run_id, claim_id: The claim.
        verdict: What the gate had said of it.
        judge: Who had decided that.
        holds: Whether the claim is right, and the documents say so.
    """

    run_id: str
    claim_id: str
    verdict: Label
    judge: str
    holds: bool


class VerdictReliability(NamedTuple):
    """How often claims with one verdict do not hold.

    Attributes:
        verdict: Of these claims.
        labelled: How many of them were looked at.
        wrong: How many of those do not hold.
        low, high: The 95% Wilson interval of ``wrong / labelled``; (0, 1) without labels.
        risk: What a claim with this verdict adds to a run's risk, by these labels: in [0, 1], see ``reliability``.
    """

    verdict: Label
    labelled: int
    wrong: int
    low: float
    high: float
    risk: float


def label_claims(run_id: str, holds: Mapping[str, bool], records: RunRecords) -> None:
    """Record what a person says of claims of a finished run; of one labelled before, the new label counts.

    Args:
        run_id: The run.
        holds: By the claim's id whether it is right, and the documents say so.
        records: The audit trail, which keeps the labels.

    Raises:
        ConfigurationError: If the run is not finished, or has no such claim; nothing is recorded then.
        GateError, StoreError: If the run cannot be read, or the labels not be written.
    """
    run = read_run(run_id, records)
    if run.summary.status != "finished":
        raise ConfigurationError(f"run {run_id} is {run.summary.status}: only claims of a finished run can be labelled")
    known = {verdict.claim_id for verdict in run.state.verdicts}
    unknown = [claim_id for claim_id in holds if claim_id not in known]
    if unknown:
        raise ConfigurationError(f"run {run_id} has no claim {unknown[0]!r}; 'agentguard gate claims' lists them")
    records.append(run_id, Event(LABELLED, time.time(), {"holds": dict(holds)}))


def claim_labels(run_id: str, records: RunRecords) -> list[ClaimLabel]:
    """The labels of a run's claims, in the order of the claims; of each claim the last one."""
    holds: dict[str, bool] = {}
    for event in records.events(run_id):
        if event.kind == LABELLED:
            holds.update(event.body["holds"])
    verdicts = read_run(run_id, records).state.verdicts if holds else ()
    return [
        ClaimLabel(run_id, verdict.claim_id, verdict.label, verdict.judge, holds[verdict.claim_id])
        for verdict in verdicts
        if verdict.claim_id in holds
    ]


def to_be_labelled(run: GateRun, number: int, labelled: Iterable[ClaimLabel] = ()) -> list[tuple[Claim, ClaimVerdict]]:
    """Draw claims of a finished run that a person should look at next: by lot, so that they stand for the others.

    Args:
        run: The run; the same run and labels, the same claims.
        number: How many of each verdict.
        labelled: Labels there are already; their claims are left out.
    """
    done = {label.claim_id for label in labelled}
    verdicts = {verdict.claim_id: verdict for verdict in run.state.verdicts}
    claims = list(run.state.claims)
    random.Random(run.run_id).shuffle(claims)  # noqa: S311  # a sample, and the same one each time
    drawn: list[tuple[Claim, ClaimVerdict]] = []
    for label in LABEL_RISKS:
        left = [claim for claim in claims if verdicts[claim.id].label == label and claim.id not in done]
        drawn += [(claim, verdicts[claim.id]) for claim in left[:number]]
    return drawn


def reliability(labels: Iterable[ClaimLabel]) -> tuple[VerdictReliability, ...]:
    """Measure by labels how often each verdict is right, and the risk of a claim that has it.

    The risk is ``(wrong + 4 · assumed) / (labelled + 4)``, where ``assumed`` is 0, ½ or 1: the mean of a beta
    distribution that begins with four labels' worth of the published formula. A better verdict has at most the risk of
    a worse one: where labels say otherwise, both have what they have together.

    >>> labels = [ClaimLabel("r", f"c{n}", "weakly_supported", "rules", n != 0) for n in range(12)]
    >>> reliability(labels)[1]._replace(low=0, high=0)
    VerdictReliability(verdict='weakly_supported', labelled=12, wrong=1, low=0, high=0, risk=0.1875)
    """
    counted = list(labels)
    rows = []
    for verdict, assumed in LABEL_RISKS.items():
        own = [label for label in counted if label.verdict == verdict]
        wrong = sum(not label.holds for label in own)
        rows.append((verdict, len(own), wrong, wrong + ASSUMED * assumed, len(own) + ASSUMED))
    blocks: list[tuple[float, float, int]] = []  # pooled where they are out of order: wrong, of, how many verdicts
    for *_, wrong_worth, worth in rows:
        block = (wrong_worth, worth, 1)
        while blocks and blocks[-1][0] / blocks[-1][1] > block[0] / block[1]:
            last = blocks.pop()
            block = (last[0] + block[0], last[1] + block[1], last[2] + block[2])
        blocks.append(block)
    risks = [wrong_worth / worth for wrong_worth, worth, width in blocks for _ in range(width)]
    return tuple(
        VerdictReliability(
            verdict, labelled, wrong, *(wilson_interval(wrong / labelled, labelled) if labelled else (0.0, 1.0)), risk
        )
        for (verdict, labelled, wrong, *_), risk in zip(rows, risks, strict=True)
    )
