"""A judge and a model under test behind the real client libraries of three providers."""

import re
from collections.abc import Callable
from typing import Any

from agentguard.gate._config import ModelConfig
from agentguard.gate._types import Case, Chunk, Passage, Prompt, Response
from agentguard.gate.models._judge import ModelJudge
from agentguard.gate.models._opening import open_chat_model
from agentguard.gate.models._targets import ModelTarget

ANSWERS = {
    "How long are repairs free?": "Repairs are free for 24 months. Pick-up is free too.",
    "Until when are returns taken back?": "Returns are taken back within 30 days.",
    "Who pays for shipping?": "I do not know.",
}
TERMS = "Repairs are free for 24 months. Returns are taken back within 30 days."
PASSAGES = (Passage(Chunk("k1", "docs/terms.md", "Terms", "", TERMS, 0, len(TERMS)), 1.0),)


def test_a_whole_run_of_questions_answers_claims_and_verdicts(
    model_config: Callable[..., ModelConfig], model_server: Any, scripted_brain: Callable[..., Any]
) -> None:
    model_server.answer = scripted_brain(ANSWERS)
    config = model_config()
    judge = ModelJudge(open_chat_model(config, "judge"), "the judge")
    target = ModelTarget(open_chat_model(config), "the model")

    prompts = judge.write_prompts("a help desk", ["factual_recall"], 3)
    answers = target.respond(prompts)
    found = judge.extract_claims([Response(prompt.id, answer) for prompt, answer in zip(prompts, answers, strict=True)])
    verdicts = judge.verify([Case(claim, PASSAGES) for claims in found for claim in claims])

    assert prompts == [Prompt(f"p{number}", text, "factual_recall") for number, text in enumerate(ANSWERS, 1)]
    assert answers == list(ANSWERS.values())
    assert [[(claim.id, claim.text) for claim in claims] for claims in found] == [
        [("p1.c1", "Repairs are free for 24 months."), ("p1.c2", "Pick-up is free too.")],
        [("p2.c1", "Returns are taken back within 30 days.")],
        [],
    ]
    assert [(verdict.claim_id, verdict.label, verdict.chunk_id) for verdict in verdicts] == [
        ("p1.c1", "supported", "k1"),
        ("p1.c2", "unsupported", None),
        ("p2.c1", "supported", "k1"),
    ]
    assert {verdict.judge for verdict in verdicts} == {"the judge"}
    systems = {re.sub("[0-9a-f]{32}", "", asked.system) for asked in model_server.requests}
    assert len(systems) == 4  # of three tasks, and none for the model under test
