"""A claim with all that belongs to it: what was asked, what was answered, what was decided and by which passage."""

from __future__ import annotations

from dataclasses import dataclass

from agentguard.gate.state import GateState
from agentguard.gate.types import Claim, ClaimVerdict, Passage, Prompt, Response

from .quotes import heading_at, place_of

__all__ = ["Finding", "findings"]


@dataclass(frozen=True, slots=True)
class Finding:
    """A claim of a finished run.

    Attributes:
        prompt, response, claim, verdict: as the stages of the run wrote them.
        passages: what the claim was held against, the best first.
    """

    prompt: Prompt
    response: Response
    claim: Claim
    verdict: ClaimVerdict
    passages: tuple[Passage, ...]

    @property
    def passage(self) -> Passage | None:
        """The passage that decided the verdict; None where none did."""
        return next((found for found in self.passages if found.chunk.id == self.verdict.chunk_id), None)

    @property
    def quoted(self) -> tuple[int, int] | None:
        """Where the deciding passage has the verdict's quote, in characters of its chunk; None where it has none."""
        return None if self.passage is None else place_of(self.verdict.quote, self.passage.chunk.text)

    @property
    def heading(self) -> str:
        """The headings above that quote, or above the deciding passage; empty where there are none."""
        if self.passage is None:
            return ""
        return heading_at(self.passage.chunk, self.quoted[0] if self.quoted else 0)


def findings(state: GateState) -> tuple[Finding, ...]:
    """All claims of a finished run, in their order.

    Raises:
        GateError: where the run has not got so far as to verify claims.
    """
    prompts = {prompt.id: prompt for prompt in state.prompts}
    responses = {response.prompt_id: response for response in state.responses}
    evidence = {found.claim_id: found.passages for found in state.evidence}
    verdicts = {verdict.claim_id: verdict for verdict in state.verdicts}
    return tuple(
        Finding(
            prompts[claim.prompt_id],
            responses[claim.prompt_id],
            claim,
            verdicts[claim.id],
            evidence.get(claim.id, ()),
        )
        for claim in state.claims
    )
