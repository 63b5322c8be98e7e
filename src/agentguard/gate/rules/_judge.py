"""The judge that needs no model: splits answers by grammar, verifies by what claim and passage state."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from agentguard.errors import ConfigurationError
from agentguard.gate._types import Case, Chunk, Claim, ClaimVerdict, Prompt, Response
from agentguard.gate.evidence._index import EvidenceIndex
from agentguard.gate.rules._claims import split
from agentguard.gate.rules._prompts import write
from agentguard.gate.rules._reading import Reading
from agentguard.gate.rules._verdict import MAX_CLAIM, Thresholds, Weighed, verdict, weigh

MAX_READINGS: Final = 256  # passages that are kept read while others are judged


class RuleJudge:
    """A deterministic ``Judge``: the same texts, the same verdicts, whatever was judged before.

    It compares words and figures and reasons about nothing: a claim that says in new words what a passage says is
    easily called weakly supported, and a false one that only recombines the passage's words may pass. How often, is
    measured in ``docs/measurements.md``.

    Args:
        evidence: The index that prompts are written from; verifying needs none.
        supported_from: The support in [0, 1] from which on a claim is supported.
        weak_from: The support from which on a claim is weakly supported; below, it is unsupported.
        coverage: The share of a claim's words that its passage must say for it to be supported.
        weak_coverage: The share below which it is unsupported.

    Raises:
        ConfigurationError: Thresholds outside of [0, 1], or the weak ones above the others.

    >>> judge = RuleJudge()
    >>> [claim.text for claim in judge.extract_claims([Response("p1", "Yes. Returns are free.")])[0]]
    ['Returns are free.']
    """

    def __init__(
        self,
        evidence: EvidenceIndex | None = None,
        *,
        supported_from: float = Thresholds().supported,
        weak_from: float = Thresholds().weak,
        coverage: float = Thresholds().coverage,
        weak_coverage: float = Thresholds().weak_coverage,
    ) -> None:
        if not (0.0 <= weak_from <= supported_from <= 1.0 and 0.0 <= weak_coverage <= coverage <= 1.0):
            raise ConfigurationError(
                "thresholds must lie in [0, 1], weak_from not above supported_from and weak_coverage not above coverage"
            )
        self._evidence = evidence
        self._thresholds = Thresholds(supported_from, weak_from, coverage, weak_coverage)
        self._readings = lru_cache(maxsize=MAX_READINGS)(Reading)

    @property
    def name(self) -> str:
        """``rules``."""
        return "rules"

    def write_prompts(self, use_case: str, categories: Sequence[str], number: int) -> list[Prompt]:
        """Questions on what the indexed documents say; ``number`` of them, spread over the categories.

        Raises:
            GateError: If there are no documents, or too few for so many different questions.
        """
        return write(self._evidence, use_case, categories, number)

    def extract_claims(self, responses: Sequence[Response]) -> list[list[Claim]]:
        """The atomic claims of each response, in the order of the text.

        Raises:
            GateError: For a response that is too long, or claims too much, to be verified whole.
        """
        return [split(response) for response in responses]

    def verify(self, cases: Sequence[Case]) -> list[ClaimVerdict]:
        """A verdict for each case, in their order."""
        return [verdict(case, self.weigh(case), self._thresholds, self.name) for case in cases]

    def weigh(self, case: Case) -> Weighed:
        """The passage that says most of a claim, with all that is counted for and against."""
        claim = Reading(case.claim.text[:MAX_CLAIM])
        return weigh(claim, [(passage, self._read(passage.chunk)) for passage in case.passages])

    def _read(self, chunk: Chunk) -> Reading:
        return self._readings(chunk.text, f"{chunk.title}\n{chunk.heading}")
