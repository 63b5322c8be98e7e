"""How one claim came by its verdict."""

import json
from dataclasses import replace
from typing import Any

import pytest

from agentguard.errors import DataError
from agentguard.gate._run import GateRun, GateState
from agentguard.gate._types import Case, Passage
from agentguard.gate.models._judge import ask_for_verdict
from agentguard.gate.reports import explain


def test_from_the_answer_to_the_quote(run: GateRun) -> None:
    told = explain(run, "p1.c1")

    assert told.prompt.text == "How long?"
    assert told.response == ("", "It lasts three years.", " Returns take 30 days.")
    assert [(passage.chunk.id, passage.score, passage.decisive) for passage in told.passages] == [
        ("r1", 0.03, False), ("w1", 0.02, True),
    ]  # fmt: skip
    # The quote is on one line, the document has it on two.
    assert told.passages[1].text == ("", "The warranty lasts\ntwo years.", " Keep it.")
    assert told.passages[0].text.marked == ""


def test_as_json(run: GateRun) -> None:
    told = explain(run, "p1.c1").as_dict()

    assert json.loads(json.dumps(told))["response"] == {
        "text": "It lasts three years. Returns take 30 days.", "span": [0, 21],
    }  # fmt: skip
    assert (told["label"], told["judge"]) == ("unsupported", "rules")
    passage = told["passages"][1]
    start, end = passage["quote_span"]
    assert passage["text"][start:end] == "The warranty lasts\ntwo years."
    assert (passage["document"], passage["heading"]) == ("docs/warranty.md", "Warranty > How long")


def test_what_the_judge_was_asked_and_what_it_returned(run: GateRun) -> None:
    state = GateState(run.state.config)
    for key in ("prompts", "responses", "claims", "evidence"):
        state.write(key, run.state.read(key))
    state.verdicts = tuple(replace(verdict, answer='{"label": "maybe"}') for verdict in run.state.verdicts)

    told = explain(replace(run, state=state), "p1.c1")

    passages = tuple(Passage(passage.chunk, passage.score) for passage in told.passages)
    asked = ask_for_verdict(Case(told.claim, passages))
    assert told.as_dict()["answer"] == '{"label": "maybe"}'
    assert told.as_dict()["asked"] == {"system": asked.system, "user": asked.user}
    assert explain(run, "p1.c1").as_dict()["asked"] is None


def test_a_claim_without_a_place_and_without_passages(run: GateRun) -> None:
    told = explain(run, "p2.c1")

    assert told.response == ("We are nice.", "", "")
    assert told.passages == ()
    assert told.as_dict()["response"]["span"] is None


def test_a_claim_that_is_not_there(run: GateRun, build: Any) -> None:
    with pytest.raises(DataError, match=r"has no claim 'p1\.c9'; it has p1\.c"):
        explain(run, "p1.c9")
    with pytest.raises(DataError, match="it has none"):
        explain(build(claims=0), "p1.c1")
