"""Who takes part in a run: the model under test, and the judge of its claims, who also writes prompts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from agentguard.gate.types import Claim, ClaimVerdict, Passage, Prompt, Response

__all__ = ["Case", "Judge", "Target"]


class Case(NamedTuple):
    """A claim, and the passages that it is held against, the best first."""

    claim: Claim
    passages: tuple[Passage, ...]


class Target(Protocol):
    """The model under test."""

    @property
    def name(self) -> str:
        """What records and reports call it."""

    def respond(self, prompts: Sequence[Prompt]) -> list[str]:
        """The answers, one a prompt, in their order.

        Raises:
            GateError: where one of them could not be had.
        """


class Judge(Protocol):
    """Writes prompts, splits answers into claims, verifies claims. Each is asked by itself and remembers nothing."""

    @property
    def name(self) -> str:
        """What records and reports call it."""

    def write_prompts(self, use_case: str, categories: Sequence[str], number: int) -> list[Prompt]:
        """Questions that are likely to bring out false answers, ``number`` of them, spread over the categories.

        Raises:
            GateError: where they could not be had.
        """

    def extract_claims(self, responses: Sequence[Response]) -> list[list[Claim]]:
        """The atomic claims of each response, in the order of the text.

        Raises:
            GateError: where they could not be had.
        """

    def verify(self, cases: Sequence[Case]) -> list[ClaimVerdict]:
        """A verdict for each case, in their order; an answer that makes no sense counts as unsupported.

        Raises:
            GateError: where one of them could not be had.
        """
