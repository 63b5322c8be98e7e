"""The state of a run: written once, read afterwards, never changed."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.errors import GateError
from agentguard.gate._config import parse_config
from agentguard.gate._run import GateState
from agentguard.gate._types import Chunk, Claim, ClaimVerdict, Evidence, Passage, Prompt, Reason, Response, Score


@pytest.fixture
def state() -> GateState:
    return GateState(parse_config({"use_case": "help desk", "doc_sources": [{"type": "local", "path": "docs"}]}))


def test_reading_what_no_stage_has_written(state: GateState) -> None:
    state.prompts = ()

    with pytest.raises(GateError, match="'claims' is read before a stage has written it; the state has prompts"):
        _ = state.claims


@pytest.mark.parametrize("key", ["prompts", "topics", "config"])
def test_nothing_is_written_twice(state: GateState, key: str) -> None:
    if key != "config":
        state.write(key, () if key == "prompts" else {"a": 1})

    with pytest.raises(GateError, match=f"the state is append-only: '{key}' is already written"):
        state.write(key, ())


def test_a_key_takes_its_own_type_only(state: GateState) -> None:
    with pytest.raises(GateError, match="'claims' cannot be written: 0"):
        state.claims = (Prompt("p1", "?"),)  # type: ignore[assignment]  # what is wrong here is what is tested
    with pytest.raises(GateError, match="'claims' cannot be written"):
        state.claims = [Claim("p1.c1", "p1", "x")]  # type: ignore[assignment]  # a list could be changed later

    assert state.written == ()


@pytest.mark.parametrize("value", [{1, 2}, float("nan"), object()])
def test_keys_of_ones_own_hold_json(state: GateState, value: object) -> None:
    with pytest.raises(GateError, match="'topics' must be JSON"):
        state.write("topics", value)


def test_what_is_read_cannot_change_what_is_written(state: GateState) -> None:
    topics = {"p1": ["warranty"]}
    state.write("topics", topics)
    topics["p1"].append("changed")
    state.read("topics")["p1"].append("changed")

    assert state.read("topics") == {"p1": ["warranty"]}


texts = st.text(st.characters(codec="utf-8"), max_size=20)


@given(texts, texts, st.floats(0, 1))
def test_everything_reads_back_from_json(text: str, other: str, score: float) -> None:
    config = parse_config({"use_case": "help desk", "doc_sources": [{"type": "local", "path": "docs"}]})
    first, second = GateState(config), GateState(config)
    passage = Passage(Chunk("c", "d.md", text, other, text, 0, len(text)), score)
    first.prompts = (Prompt("p1", text, other),)
    first.responses = (Response("p1", text),)
    first.claims = (Claim("p1.c1", "p1", text, 0, 1),)
    first.evidence = (Evidence("p1.c1", (passage,)),)
    first.verdicts = (ClaimVerdict("p1.c1", "supported", (Reason("number", text, other),), "c", text, "rules"),)
    first.score = Score(score, "warn", 1, 1, 0, 0, other)
    first.write("topics", {text: [other, score]})

    written = json.loads(json.dumps({key: first.to_json(key) for key in first.written}))
    second.restore(written)

    assert second.written == first.written
    assert all(second.read(key) == first.read(key) for key in first.written)


def test_a_passage_is_recorded_once_however_many_claims_it_was_found_for(state: GateState) -> None:
    near, far = (Chunk(name, "d.md", "", "", f"What {name} says.", 0, 12) for name in ("k1", "k2"))
    state.evidence = tuple(Evidence(f"p1.c{n}", (Passage(near, 1 / n), Passage(far, 0.5 / n))) for n in range(1, 1_001))

    recorded = json.dumps(state.to_json("evidence"))

    assert recorded.count("What k1 says.") == 1
    again = GateState(state.config)
    again.restore({"evidence": json.loads(recorded)})
    assert again.evidence == state.evidence


@pytest.mark.parametrize("place", [1, -1])
def test_a_record_whose_passage_is_missing_is_told(state: GateState, place: int) -> None:
    chunk = {"id": "k1", "document": "d.md", "title": "", "heading": "", "text": "It says.", "start": 0, "end": 8}

    with pytest.raises(GateError, match="the record of 'evidence' cannot be read back"):
        state.restore({"evidence": {"chunks": [chunk], "found": [["p1.c1", [[place, 1.0]]]]}})


def test_a_damaged_record_is_told(state: GateState) -> None:
    verdict = {"claim_id": "p1.c1", "label": "maybe", "reasons": [], "chunk_id": None, "quote": "", "judge": "rules"}

    with pytest.raises(GateError, match=r"the record of 'verdicts' cannot be read back: 0\.label"):
        state.restore({"verdicts": [verdict]})
