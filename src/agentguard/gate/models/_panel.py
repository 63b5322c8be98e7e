"""Several judges of one claim: it is supported where all of them support it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from agentguard.errors import ConfigurationError, GateError
from agentguard.gate._types import DISAGREED, Case, Claim, ClaimVerdict, Judge, Label, Prompt, Reason, Response

_ORDER: Final[tuple[Label, ...]] = ("supported", "weakly_supported", "unsupported")


def agreed(verdicts: Sequence[ClaimVerdict], judge: str) -> ClaimVerdict:
    """Combine the verdicts of several judges on a claim.

    Where all labels are the same, it is the first one's. Where they differ, the claim is unsupported if more than half
    find it so, and weakly supported otherwise; the verdict is then that of a judge with this label, or else of the
    strictest, and says who found what.

    Args:
        verdicts: One a judge, at least one.
        judge: The name of all of them together.
    """
    labels = [verdict.label for verdict in verdicts]
    if len(set(labels)) == 1:
        return replace(verdicts[0], judge=judge)
    label: Label = "unsupported" if 2 * labels.count("unsupported") > len(labels) else "weakly_supported"
    strictest = max(verdicts, key=lambda verdict: _ORDER.index(verdict.label))
    speaker = next((verdict for verdict in verdicts if verdict.label == label), strictest)
    votes = ", ".join(f"{verdict.judge}: {verdict.label.replace('_', ' ')}" for verdict in verdicts)
    reason = Reason(DISAGREED, f"the judges do not agree ({votes})")
    return replace(speaker, label=label, reasons=(reason, *speaker.reasons), judge=judge)


class Panel:
    """Several judges as one. The first writes prompts and splits answers; each verifies every claim by itself.

    Args:
        judges: At least one.

    Raises:
        ConfigurationError: If there is none.
    """

    def __init__(self, judges: Sequence[Judge]) -> None:
        if not judges:
            raise ConfigurationError("a panel needs at least one judge")
        self._judges = tuple(judges)

    @property
    def name(self) -> str:
        """The names of all judges, joined by `` + ``."""
        return " + ".join(judge.name for judge in self._judges)

    def write_prompts(self, use_case: str, categories: Sequence[str], number: int) -> list[Prompt]:
        """Questions of the first judge's."""
        return self._judges[0].write_prompts(use_case, categories, number)

    def extract_claims(self, responses: Sequence[Response]) -> list[list[Claim]]:
        """Claims as the first judge splits the responses."""
        return self._judges[0].extract_claims(responses)

    def verify(self, cases: Sequence[Case]) -> list[ClaimVerdict]:
        """What the judges agree on, for each case.

        Raises:
            GateError: If one of them failed, or did not judge every case.
        """
        each = [judge.verify(cases) for judge in self._judges]
        if any([verdict.claim_id for verdict in verdicts] != [case.claim.id for case in cases] for verdicts in each):
            raise GateError(f"{self.name}: one of them did not give one verdict a claim, in their order")
        return [agreed(verdicts, self.name) for verdicts in zip(*each, strict=True)]
