"""A model of entailment as a judge of claims of action."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentguard.content.actions import Judge, Opinion


def claim_judge(folder: str | Path) -> Judge:
    """Make a judge for ``agentguard.content.actions.check`` of a model in a folder; needs the extra ``onnx``.

    Args:
        folder: Has ``model.onnx``, ``tokenizer.json`` and ``config.json``, as the gate's judge of type ``onnx`` does.

    Raises:
        ConfigurationError: If a file or a library is missing, or a file cannot be read.
    """
    from agentguard.content.actions import Opinion
    from agentguard.gate.models._entailment import EntailmentModel

    model = EntailmentModel(Path(folder))

    def judge(premise: str, claims: Sequence[str], /) -> list[Opinion]:
        short = [claim for claim in claims if model.can_read(claim)]
        read = dict(zip(short, model.infer([(premise, claim) for claim in short]), strict=True))
        opinions = []
        for claim in claims:
            # The model reads a long ledger in parts. A part that shows the claim counts before one that contradicts it,
            # since a failed first try and a good second one may stand in different parts. The model gives no opinion on
            # a claim that is too long for it.
            parts = sorted(read.get(claim, ()), key=lambda part: (part.entailment, -part.contradiction))
            if parts and parts[-1].entailment < max(parts[-1].neutral, parts[-1].contradiction):
                parts.sort(key=lambda part: part.contradiction)
            opinions.append(Opinion(parts[-1].entailment, parts[-1].contradiction) if parts else Opinion(0.0, 0.0))
        return opinions

    return judge
