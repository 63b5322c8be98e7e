"""The documented sequence whole: a model under test, a judge, embeddings, and an Elasticsearch, each by its client."""

import json
from pathlib import Path
from typing import Any

import pytest

from agentguard.errors import GateError
from agentguard.gate import GateConfig, GateRun, evaluate, ingest, load_config, open_services, read_run
from agentguard.gate._history import regression
from agentguard.gate.reports import explain

# What the model under test answers: of six claims four stand in the documents word for word.
ANSWERS = {
    "How long may I return a lamp?": "Lamps may be returned within 30 days.",
    "What does shipping cost?": "Shipping is free above 50 euros. Express shipping costs 9 euros.",
    "How long is the warranty?": "The warranty of a lamp is 2 years. It covers water damage.",
    "Do you ship abroad?": "We ship to all countries of the world.",
}
DOCUMENTS = {
    "returns.md": "# Returns\n\nLamps may be returned within 30 days. The customer pays for sending them back.\n",
    "shipping.html": "<html><title>Shipping</title><body><nav>Home</nav><p>Shipping is free above 50 euros. Express "
    "shipping costs 9 euros.</p><p>We ship to France and Spain.</p></body></html>",
    "warranty.txt": "The warranty of a lamp is 2 years. Damage by water is not covered.\n",
}
CONFIG = """\
use_case: customer support for a shop of lamps
risk_tolerance: {{deploy_threshold: 0.10, warn_threshold: 0.25}}
evaluation:
  num_prompts: 4
doc_sources: [{{type: local, path: docs}}]
model: {{provider: ollama, model_id: lamp-model, base_url: "{models}"}}
judge: {{provider: bedrock, model_id: judge-model, base_url: "{models}"}}
embeddings: {{provider: ollama, model_id: embedding-model, base_url: "{models}"}}
elasticsearch: {{host: "{cluster}", index: "{index}"}}
"""


@pytest.fixture
def config(tmp_path: Path, model_server: Any, elasticsearch_url: str, request: pytest.FixtureRequest) -> GateConfig:
    docs = tmp_path / "docs"
    docs.mkdir()
    for name, text in DOCUMENTS.items():
        (docs / name).write_text(text)
    path = tmp_path / ".llm-reliability.yaml"
    index = f"lamps-{abs(hash((request.node.name, str(tmp_path)))):x}"
    path.write_text(CONFIG.format(models=model_server.url, cluster=elasticsearch_url, index=index))
    return load_config(path)


def run_once(config: GateConfig) -> GateRun:
    with open_services(config) as services:
        ingest(config, services)
        return evaluate(config, services)


def test_the_documented_sequence(config: GateConfig, model_server: Any, scripted_brain: Any) -> None:
    model_server.answer = scripted_brain(ANSWERS)

    run = run_once(config)

    assert {prompt.text for prompt in run.state.prompts} == set(ANSWERS)
    assert {response.text for response in run.state.responses} == set(ANSWERS.values())
    unsupported = {
        claim.text
        for claim, verdict in zip(run.state.claims, run.state.verdicts, strict=True)
        if verdict.label != "supported"
    }
    assert unsupported == {"It covers water damage.", "We ship to all countries of the world."}
    assert (run.score.total_claims, run.score.unsupported, run.decision) == (6, 2, "block")
    quoted = {
        passage.chunk.document
        for verdict, evidence in zip(run.state.verdicts, run.state.evidence, strict=True)
        for passage in evidence.passages
        if passage.chunk.id == verdict.chunk_id
    }
    assert {Path(uri).name for uri in quoted} == set(DOCUMENTS)


def test_each_model_is_asked_in_its_own_role(config: GateConfig, model_server: Any, scripted_brain: Any) -> None:
    model_server.answer = scripted_brain(ANSWERS)

    run = run_once(config)

    asked = [(request.protocol, request.model, bool(request.system)) for request in model_server.requests]
    assert asked.count(("ollama", "lamp-model", False)) == 4
    # Two kinds of question a request or more, four answers, six claims: each an invocation of its own.
    assert len([one for one in asked if one[1] == "judge-model" and one[2]]) >= 1 + 4 + 6
    verifying = [request.user for request in model_server.requests if "water damage" in request.user and request.system]
    assert verifying
    assert all("How long is the warranty?" not in user for user in verifying)
    # What the record tells of a verdict is what was sent, to the letter, and what came back.
    sent = {(request.system, request.user) for request in model_server.requests}
    for claim in run.state.claims:
        told = explain(run, claim.id).as_dict()
        assert (told["asked"]["system"], told["asked"]["user"]) in sent
        assert json.loads(told["answer"])["label"] == told["label"]


def test_trail_and_history_are_in_the_cluster(config: GateConfig, model_server: Any, scripted_brain: Any) -> None:
    true = {prompt: answer for prompt, answer in ANSWERS.items() if "return" in prompt or "shipping" in prompt}
    model_server.answer = scripted_brain(true)
    good = run_once(config.model_copy(update={"evaluation": config.evaluation.model_copy(update={"num_prompts": 2})}))
    model_server.answer = scripted_brain(ANSWERS)
    bad = run_once(config)

    with open_services(config) as services:
        history = services.records.runs()
        again = read_run(bad.run_id, services.records)

    assert [(run.run_id, run.decision) for run in history] == [(bad.run_id, "block"), (good.run_id, "deploy")]
    assert again.state.verdicts == bad.state.verdicts
    assert json.loads(json.dumps(again.state.to_json("evidence"))) == bad.state.to_json("evidence")
    fallen_back = regression(history[0], history)
    assert fallen_back is not None
    assert fallen_back.difference == pytest.approx(1 / 3)


def test_a_model_that_fails_fails_the_run_and_is_on_record(
    config: GateConfig, model_server: Any, scripted_brain: Any
) -> None:
    brain = scripted_brain(ANSWERS)
    model_server.answer = lambda system, user: brain(system, user) if system else model_server.fault(status=500)

    with pytest.raises(GateError, match="run_model"):
        run_once(config)

    with open_services(config) as services:
        (failed,) = services.records.runs()
        model_server.answer = brain
        resumed = evaluate(config, services, resume=failed.run_id)

    assert (failed.status, failed.error.split(":")[0]) == ("failed", "run_model")
    assert resumed.decision == "block"
