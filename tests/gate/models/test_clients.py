"""The model under test through the real client libraries of three providers, against a server on loopback."""

import re
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from agentguard.errors import GateError
from agentguard.gate._config import ModelConfig
from agentguard.gate._types import Prompt
from agentguard.gate.models._opening import open_chat_model
from agentguard.gate.models._targets import ModelTarget

Config = Callable[..., ModelConfig]

PROMPTS = [Prompt(f"p{number}", f"question {number}") for number in range(1, 9)]


def target(config: ModelConfig, max_concurrency: int = 8) -> ModelTarget:
    return ModelTarget(open_chat_model(config, max_concurrency=max_concurrency), config.name, max_concurrency)


def failure(config: ModelConfig) -> str:
    with pytest.raises(GateError) as caught:
        target(config).respond([Prompt("p7", "How long is the warranty?")])
    assert caught.value.__cause__ is None
    return str(caught.value)


def test_answers_come_in_the_order_of_the_prompts(model_config: Config, model_server: Any) -> None:
    assert target(model_config()).respond(PROMPTS) == [f"You asked: question {number}" for number in range(1, 9)]
    assert sorted(asked.user for asked in model_server.requests) == [prompt.text for prompt in PROMPTS]
    assert {asked.system for asked in model_server.requests} == {""}


def test_the_order_is_kept_where_answers_overtake_each_other(model_config: Config, model_server: Any) -> None:
    """The first is answered after all others have been."""
    others = threading.Semaphore(0)

    def answer(system: str, user: str) -> str:
        if user == "question 1":
            for _ in range(7):
                assert others.acquire(timeout=20)
        else:
            others.release()
        return user.upper()

    model_server.answer = answer

    assert target(model_config()).respond(PROMPTS) == [prompt.text.upper() for prompt in PROMPTS]


def test_as_many_requests_are_under_way_as_is_allowed(model_config: Config, model_server: Any) -> None:
    """None of four is answered before all four are there, and a fifth is never there beside them."""
    four = threading.Barrier(4)

    def answer(system: str, user: str) -> str:
        four.wait(timeout=20)
        return user

    model_server.answer = answer

    assert target(model_config(), max_concurrency=4).respond(PROMPTS) == [prompt.text for prompt in PROMPTS]
    assert model_server.peak == 4


def test_one_at_a_time(model_config: Config, model_server: Any) -> None:
    target(model_config(), max_concurrency=1).respond(PROMPTS)

    assert model_server.peak == 1
    assert [asked.user for asked in model_server.requests] == [prompt.text for prompt in PROMPTS]


def test_the_request_says_what_the_configuration_says(model_config: Config, model_server: Any, provider: str) -> None:
    target(model_config(temperature=0.5, max_tokens=321)).respond(PROMPTS[:1])
    body = model_server.requests[0].body

    assert model_server.requests[0].model == model_config().model_id
    if provider == "openai":
        assert (body["temperature"], body["max_completion_tokens"], body["stream"]) == (0.5, 321, False)
    elif provider == "ollama":
        assert (body["options"]["temperature"], body["options"]["num_predict"], body["stream"]) == (0.5, 321, False)
    else:
        assert body["inferenceConfig"] == {"temperature": 0.5, "maxTokens": 321}
        assert model_server.requests[0].path.endswith("/converse")


def test_further_options_reach_the_request(model_config: Config, model_server: Any, provider: str) -> None:
    target(model_config(options={"top_p": 0.25})).respond(PROMPTS[:1])
    body = model_server.requests[0].body
    places = {"openai": body, "ollama": body.get("options"), "bedrock": body.get("inferenceConfig")}
    sent = places[provider]

    assert (sent["topP"] if provider == "bedrock" else sent["top_p"]) == 0.25


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_refused_request_is_sent_once(
    model_config: Config, model_server: Any, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "5")
    model_server.answer = lambda system, user: model_server.fault(status)
    config = model_config()

    assert re.match(
        rf"{re.escape(config.name)} did not answer prompt p7 in 1 request: \w+ \(status {status}", failure(config)
    )
    assert len(model_server.requests) == 1


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses between requests, which take no time."""
    taken: list[float] = []
    monkeypatch.setattr(time, "sleep", taken.append)
    return taken


def test_a_request_is_sent_again_where_the_configuration_asks_for_it(
    model_config: Config, model_server: Any, pauses: list[float]
) -> None:
    answers = iter([model_server.fault(500), "Two years."])
    model_server.answer = lambda system, user: next(answers)

    assert target(model_config(max_retries=1)).respond(PROMPTS[:1]) == ["Two years."]
    assert len(model_server.requests) == 2
    assert pauses == [1.0]


def test_retries_come_to_an_end_after_pauses_that_grow(
    model_config: Config, model_server: Any, pauses: list[float]
) -> None:
    model_server.answer = lambda system, user: model_server.fault(429)

    assert re.search(r"did not answer prompt p7 in 7 requests: \w+ \(status 429", failure(model_config(max_retries=6)))
    assert len(model_server.requests) == 7
    assert pauses == [1.0, 2.0, 4.0, 8.0, 16.0, 16.0]


@pytest.mark.parametrize(("wished", "pause"), [(7, 7.0), (86_400, 60.0)])
def test_a_server_is_given_the_pause_that_it_asks_for(
    model_config: Config, model_server: Any, provider: str, pauses: list[float], wished: int, pause: float
) -> None:
    answers = iter([model_server.fault(503, retry_after=wished), "Two years."])
    model_server.answer = lambda system, user: next(answers)

    assert target(model_config(max_retries=1)).respond(PROMPTS[:1]) == ["Two years."]
    assert pauses == [1.0 if provider == "ollama" else pause]  # ollama's client keeps no headers


@pytest.mark.parametrize("status", [400, 403, 404])
def test_a_request_that_is_refused_for_good_is_not_sent_again(
    model_config: Config, model_server: Any, status: int, pauses: list[float]
) -> None:
    model_server.answer = lambda system, user: model_server.fault(status)

    assert "did not answer prompt p7 in 1 request: " in failure(model_config(max_retries=5))
    assert len(model_server.requests) == 1
    assert pauses == []


def test_an_answer_that_does_not_come_is_asked_for_again(
    model_config: Config, model_server: Any, pauses: list[float]
) -> None:
    model_server.answer = lambda system, user: model_server.fault(hang=True)

    said = failure(model_config(timeout_seconds=0.2, max_retries=2))
    assert re.search(r"p7 in 3 requests: \w*Timeout\w*: ", said)
    assert len(model_server.requests) == 3


def test_a_server_that_never_answers_is_not_waited_for(model_config: Config, model_server: Any) -> None:
    model_server.answer = lambda system, user: model_server.fault(hang=True)

    assert re.search(r"p7 in 1 request: \w*Timeout\w*: ", failure(model_config(timeout_seconds=0.2)))
    assert len(model_server.requests) == 1


def test_a_refused_connection_is_told_as_one(model_config: Config, model_server: Any) -> None:
    config = model_config()
    model_server.close()

    assert "Connection refused" in failure(config)


@pytest.mark.parametrize("body", ["<html>a secret answer</html>", '{"a secret answer": [', "[]", "null", ""])
def test_an_answer_in_another_protocol_fails_without_being_quoted(
    model_config: Config, model_server: Any, body: str
) -> None:
    model_server.answer = lambda system, user: model_server.fault(body=body)
    said = failure(model_config())

    assert said.startswith(f"{model_config().name} did not answer prompt p7 in 1 request: ")
    assert "secret" not in said
    assert len(model_server.requests) == 1


def test_the_server_s_reason_for_a_refusal_is_told_without_the_key(
    model_config: Config, model_server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "4e1243bd22c66e76c2ba9eddc1f91394")
    said = "no access with 4e1243bd22c66e76c2ba9eddc1f91394"
    model_server.answer = lambda system, user: model_server.fault(403, said)

    assert failure(model_config()).endswith("no access with [SOME_API_KEY]")


def test_a_refusal_that_quotes_the_prompt_is_not_told(model_config: Config, model_server: Any) -> None:
    model_server.answer = lambda system, user: model_server.fault(400, f"refused: {user}")

    assert "warranty" not in failure(model_config())
    assert "status 400" in failure(model_config())


def test_what_a_broken_server_says_is_not_told(model_config: Config, model_server: Any) -> None:
    model_server.answer = lambda system, user: model_server.fault(500, "while sampling: the warranty is")

    assert "sampling" not in failure(model_config())


def test_the_first_prompt_without_an_answer_is_named(model_config: Config, model_server: Any) -> None:
    broken = {"question 3", "question 6"}
    model_server.answer = lambda system, user: model_server.fault(500) if user in broken else user

    with pytest.raises(
        GateError, match=r"did not answer prompt p3 in 1 request: .*; 1 more of the requests sent together with it"
    ):
        target(model_config()).respond(PROMPTS)


def test_answers_are_not_cached(model_config: Config, model_server: Any) -> None:
    from langchain_core.caches import InMemoryCache
    from langchain_core.globals import set_llm_cache

    set_llm_cache(InMemoryCache())
    try:
        asked = target(model_config())
        assert asked.respond(PROMPTS[:1]) == asked.respond(PROMPTS[:1])
    finally:
        set_llm_cache(None)
    assert len(model_server.requests) == 2


def test_no_prompts_are_no_requests(model_config: Config, model_server: Any) -> None:
    assert target(model_config()).respond([]) == []
    assert model_server.requests == []


def test_text_that_no_server_could_be_sent_is_made_sendable(model_config: Config, model_server: Any) -> None:
    assert target(model_config()).respond([Prompt("p1", "a \ud800 b \U0001f600")]) == ["You asked: a ? b \U0001f600"]
