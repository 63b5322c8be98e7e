"""A finished run as JSON: the fields that the service answers with."""

import json
from typing import Any

import pytest

from agentguard.errors import GateError
from agentguard.gate._run import GateRun, GateState
from agentguard.gate.reports import evaluation, summary_as_dict


def test_the_outcome_and_every_claim(run: GateRun) -> None:
    told = evaluation(run)

    # (1 unsupported + ½ weakly supported) / 3 claims, above 0.4
    assert (told["score"], told["decision"], told["run_id"]) == (0.5, "block", run.run_id)
    assert (told["total_claims"], told["supported"], told["weakly_supported"], told["unsupported"]) == (3, 1, 1, 1)
    assert [(claim["claim_id"], claim["label"]) for claim in told["details"]] == [
        ("p1.c1", "unsupported"), ("p1.c2", "supported"), ("p2.c1", "weakly_supported"),
    ]  # fmt: skip
    first, _, last = told["details"]
    assert first["prompt"] == "How long?"
    assert first["passage"] == {
        "document": "docs/warranty.md", "title": "Warranty", "heading": "Warranty > How long", "chunk_id": "w1",
    }  # fmt: skip
    assert first["reasons"] == [
        {"kind": "number", "detail": "three is not two", "said": "three years", "found": "two years"}
    ]
    assert last["passage"] is None
    assert json.loads(json.dumps(told)) == told


def test_no_claim_is_a_warning(build: Any) -> None:
    told = evaluation(build(claims=0))

    assert (told["score"], told["decision"], told["details"]) == (0.0, "warn", [])


def test_a_run_that_is_not_finished_is_no_evaluation(run: GateRun) -> None:
    unfinished = GateRun(run.run_id, GateState(run.state.config), run.summary)

    with pytest.raises(GateError, match="'score' is read before"):
        evaluation(unfinished)


def test_a_line_of_the_history_calls_the_risk_score(run: GateRun) -> None:
    told = summary_as_dict(run.summary)

    assert told["score"] == 0.5
    assert "risk" not in told
    assert (told["status"], told["decision"], told["target"]) == ("finished", "block", "ollama:llama3.2")
