"""Two models on one set of prompts."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, Protocol

from agentguard.errors import ConfigurationError
from agentguard.gate.state import GateState
from agentguard.gate.types import ClaimVerdict, Label

from .base import RunSummary
from .proportions import sign_flip_p

__all__ = ["Comparison", "LabelChange", "PromptRisk", "Run", "compare"]

WEIGHTS: Final[Mapping[Label, float]] = {"supported": 0.0, "weakly_supported": 0.5, "unsupported": 1.0}
ALPHA: Final = 0.05

Lower = Literal["a", "b"]


class Run(Protocol):
    """A finished run, with all that its stages wrote, as ``read_run`` gives it."""

    @property
    def state(self) -> GateState:
        """What was written."""

    @property
    def summary(self) -> RunSummary:
        """Its line in the history."""


@dataclass(frozen=True, slots=True)
class PromptRisk:
    """One prompt in both runs.

    Attributes:
        prompt_id: as run a calls it.
        prompt: its text.
        risk_a, risk_b: of the claims in the answers; None where an answer claims nothing.
    """

    prompt_id: str
    prompt: str
    risk_a: float | None
    risk_b: float | None


@dataclass(frozen=True, slots=True)
class LabelChange:
    """A claim that both models made in answer to a prompt, and that was judged differently.

    Attributes:
        prompt_id: as run a calls it.
        claim: its text, as run a has it.
        label_a, label_b: how it was judged.
    """

    prompt_id: str
    claim: str
    label_a: Label
    label_b: Label


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs beside each other.

    Attributes:
        run_a, run_b: their summaries.
        prompts: those that both have, in the order of run a.
        compared: how many of them both models made claims in answer to.
        difference: the mean of risk_b − risk_a over these; None where there are none.
        p_value: of a difference as large, were it chance which model gave which answer to a prompt, two-sided.
        lower: the run with the lower risk, where that p-value is at most 0.05; None where chance explains it.
        changes: claims that both made and that were judged differently.
        notes: what else differs between the runs, which the difference may come from.
        explanation: the same in words.
    """

    run_a: RunSummary
    run_b: RunSummary
    prompts: tuple[PromptRisk, ...]
    compared: int
    difference: float | None
    p_value: float | None
    lower: Lower | None
    changes: tuple[LabelChange, ...]
    notes: tuple[str, ...]
    explanation: str


def compare(run_a: Run, run_b: Run, *, allow_different_prompts: bool = False) -> Comparison:
    """Two runs on the same prompts, prompt by prompt.

    Prompts count equally, however many claims an answer makes. The p-value is that of an exact permutation test in
    which the two answers to each prompt may change places (``proportions.sign_flip_p``).

    Args:
        run_a: a finished run, as ``read_run`` gives it.
        run_b: another one.
        allow_different_prompts: compare the prompts that both have, where they do not have all in common.

    Raises:
        ConfigurationError: where a run is not finished, or the prompts differ and that is not allowed.
    """
    a, b = run_a.summary, run_b.summary
    for run in (a, b):
        if run.status != "finished":
            raise ConfigurationError(f"run {run.run_id} is {run.status}: only finished runs can be compared")
    same_prompts = a.prompts_digest == b.prompts_digest
    if not same_prompts and not allow_different_prompts:
        raise ConfigurationError(
            f"runs {a.run_id} and {b.run_id} asked different prompts; run both models on one prompt set "
            "(evaluation.prompts), or allow different prompts to compare those that both have"
        )
    labels_a, labels_b = _labels(run_a.state), _labels(run_b.state)
    prompts, changes = [], []
    for key, (id_a, text) in _prompts(run_a.state).items():
        if key not in (others := _prompts(run_b.state)):
            continue
        of_a, of_b = labels_a[id_a], labels_b[others[key][0]]
        prompts.append(PromptRisk(id_a, text, _risk(of_a), _risk(of_b)))
        said_b = {_folded(claim): label for claim, label in of_b}
        changes += [
            LabelChange(id_a, claim, label, said_b[_folded(claim)])
            for claim, label in of_a
            if said_b.get(_folded(claim), label) != label
        ]
    differences = [p.risk_b - p.risk_a for p in prompts if p.risk_a is not None and p.risk_b is not None]
    difference = math.fsum(differences) / len(differences) if differences else None
    p_value = sign_flip_p(differences) if differences else None
    lower: Lower | None = None
    if difference and p_value is not None and p_value <= ALPHA:
        lower = "a" if difference > 0 else "b"
    notes = _notes(a, b, same_prompts, len(prompts))
    words = _in_words(a, b, len(differences), difference, p_value, lower) + "".join(f"; {note}" for note in notes)
    return Comparison(a, b, tuple(prompts), len(differences), difference, p_value, lower, tuple(changes), notes, words)


def _prompts(state: GateState) -> dict[tuple[str, int], tuple[str, str]]:
    """Id and text of each prompt, by its text and how often it came before."""
    seen: dict[str, int] = defaultdict(int)
    found = {}
    for prompt in state.prompts:
        found[prompt.text, seen[prompt.text]] = (prompt.id, prompt.text)
        seen[prompt.text] += 1
    return found


def _labels(state: GateState) -> defaultdict[str, list[tuple[str, Label]]]:
    """Claims and their labels, by prompt."""
    verdicts: dict[str, ClaimVerdict] = {verdict.claim_id: verdict for verdict in state.verdicts}
    found: defaultdict[str, list[tuple[str, Label]]] = defaultdict(list)
    for claim in state.claims:
        found[claim.prompt_id].append((claim.text, verdicts[claim.id].label))
    return found


def _risk(labels: list[tuple[str, Label]]) -> float | None:
    return math.fsum(WEIGHTS[label] for _, label in labels) / len(labels) if labels else None


def _folded(claim: str) -> str:
    return " ".join(claim.casefold().split()).rstrip(".")


def _notes(a: RunSummary, b: RunSummary, same_prompts: bool, common: int) -> tuple[str, ...]:
    said = []
    if not same_prompts:
        said.append(f"the prompts differ, and {common} of them are common to both")
    if a.evidence_digest != b.evidence_digest:
        said.append("the documents differ")
    if a.judge != b.judge:
        said.append(f"the judges differ ({a.judge}, {b.judge})")
    return tuple(said)


def _in_words(
    a: RunSummary, b: RunSummary, compared: int, difference: float | None, p_value: float | None, lower: Lower | None
) -> str:
    if difference is None or p_value is None:
        return f"{a.target} and {b.target} made no claims in answer to the same prompt; there is nothing to compare"
    over = f"over {compared} prompt{'s' * (compared != 1)}"
    if lower is None:
        return (
            f"{over} the mean risks of {a.target} and {b.target} are {abs(difference):.3f} apart, which chance "
            f"explains (p = {p_value:.3f})"
        )
    better, worse = (a.target, b.target) if lower == "a" else (b.target, a.target)
    return f"{over} the mean risk of {better} is {abs(difference):.3f} below that of {worse} (p = {p_value:.3f})"
