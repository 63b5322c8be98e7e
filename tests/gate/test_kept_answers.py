"""A run that is resumed asks for no answer again that it has already."""

import json
from collections import Counter
from pathlib import Path

import pytest

from agentguard.errors import GateError
from agentguard.gate import GateConfig, evaluate, ingest, open_services, parse_config
from agentguard.gate._config import ModelConfig
from agentguard.gate._kept import KeptAnswers
from agentguard.gate.models._asking import ChatModel, Question, ask_all

PROMPTS = [f"What is question {number}?" for number in range(6)]


@pytest.fixture
def config(tmp_path: Path) -> GateConfig:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/answers.md").write_text("The answer is 30 days.")
    (tmp_path / "prompts.txt").write_text("\n".join(PROMPTS))
    return parse_config(
        {
            "use_case": "quiz",
            "doc_sources": [{"type": "local", "path": "docs"}],
            "evaluation": {"prompts": "prompts.txt"},
        },
        tmp_path,
    )


class Target:
    """Answers every prompt alike; breaks down at those that are named."""

    def __init__(self, *broken: str) -> None:
        self.broken = set(broken)
        self.asked: list[str] = []

    def __call__(self, prompt: str) -> str:
        self.asked.append(prompt)
        if prompt in self.broken:
            raise TimeoutError
        return "The answer is 30 days."


def test_a_resumed_run_asks_only_what_was_not_answered(config: GateConfig) -> None:
    target = Target(PROMPTS[4])

    with open_services(config, target=target) as services:
        ingest(config, services)
        with pytest.raises(GateError, match="prompt p5") as caught:
            evaluate(config, services)
    target.broken.clear()
    with open_services(config, target=target) as services:
        run = evaluate(config, services, resume=caught.value.run_id)

    assert Counter(target.asked) == {**dict.fromkeys(PROMPTS, 1), PROMPTS[4]: 2}
    assert run.decision == "deploy"
    assert [response.prompt_id for response in run.state.responses] == [f"p{n}" for n in range(1, 7)]


class Model(ChatModel):
    """Answers with the question; fails on those that are named."""

    def __init__(self, *failing: str) -> None:
        self.failing = failing
        self.asked: list[str] = []

    def batch(self, inputs, config=None, *, return_exceptions=False):  # type: ignore[no-untyped-def]
        texts = [messages[-1]["content"] for messages in inputs]
        self.asked += texts
        return [TimeoutError() if text in self.failing else text for text in texts]


def test_answers_that_came_with_a_failure_are_kept() -> None:
    written: dict[str, str] = {}
    questions = [Question(f"prompt {text}", text) for text in "abc"]
    kept = KeptAnswers()
    kept.begin({}, written.__setitem__)

    with pytest.raises(GateError, match="prompt b"):
        ask_all(Model("b"), "m", questions, 4, kept)
    kept.begin(dict(written), written.__setitem__)
    again = Model()

    assert ask_all(again, "m", questions, 4, kept) == ["a", "b", "c"]
    assert again.asked == ["b"]
    assert sorted(written.values()) == ["a", "b", "c"]


def test_another_model_another_question_and_an_answer_of_no_use_are_asked_again() -> None:
    written: dict[str, str] = {}
    kept = KeptAnswers()
    kept.begin({}, written.__setitem__)
    question = Question("prompt p1", "a")
    ask_all(Model(), "m", [question], 1, kept)
    kept.begin(dict(written), written.__setitem__)

    for name, each in (("other", question), ("m", Question("prompt p2", "a")), ("m", Question("prompt p1", "a", "s"))):
        model = Model()
        ask_all(model, name, [each], 1, kept)
        assert model.asked == ["a"]

    written.clear()
    ask_all(Model(), "n", [question], 1, kept, lambda number, answer: False)
    assert written == {}


def test_the_trail_is_read_back_without_the_answers(config: GateConfig) -> None:
    with open_services(config, target=Target()) as services:
        ingest(config, services)
        run = evaluate(config, services)
        kinds = Counter(event.kind for event in services.records.events(run.run_id))

    assert kinds == {"started": 1, "answer": 6, "stage": 6, "finished": 1}
    assert json.dumps(run.state.to_json("responses"))


def test_an_incremental_run_asks_what_is_new(config: GateConfig) -> None:
    target = Target()
    with open_services(config, target=target) as services:
        ingest(config, services)
        first = evaluate(config, services)
    (config.folder / "prompts.txt").write_text("\n".join([*PROMPTS[:5], "What else?"]))
    target.asked.clear()
    with open_services(config, target=target) as services:
        second = evaluate(config, services, reuse=first.run_id)
        third = evaluate(config, services, reuse=second.run_id)
        fresh = evaluate(config, services)

    assert target.asked == ["What else?", *PROMPTS[:5], "What else?"]
    assert [run.score.reused for run in (first, second, third, fresh)] == [0, 5, 6, 0]
    assert second.state.responses == third.state.responses == fresh.state.responses


def test_a_model_with_other_settings_is_asked_everything(config: GateConfig) -> None:
    target = Target()
    with open_services(config, target=target) as services:
        ingest(config, services)
        first = evaluate(config, services)
        target.asked.clear()
        warmer = config.model_copy(update={"model": ModelConfig(provider="x", model_id="y", temperature=1.0)})
        run = evaluate(warmer, services, reuse=first.run_id)

    assert target.asked == PROMPTS
    assert run.score.reused == 0
