"""LiteLLM's generic guardrail API: tool messages judged once, shown alike each time, changed where LiteLLM takes it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from starlette.testclient import TestClient

from agentguard.guard import Guard
from agentguard.verification import VerificationEngine

from ...integrations.engines import INJECTION, SECRET, engine_of

PATH = "/beta/litellm_basic_guardrail_api"
Make = Callable[..., TestClient]
Message = dict[str, Any]
BAD = '{"id": "W3", "total": 23.0}'
GOOD = '{"id": "W41", "total": 61.0}'


def asked(id_: str, call_id: str = "call-1") -> Message:
    function = {"name": "get_order", "arguments": json.dumps({"id": id_})}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": call_id, "type": "function", "function": function}],
    }


def told(content: Any, call_id: str = "call-1") -> Message:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


USER: Message = {"role": "user", "content": "Where is my order?"}


def texts_of(messages: list[Message]) -> list[str]:
    """The texts as LiteLLM takes them from a chat."""
    texts = []
    for message in messages:
        content = message["content"]
        texts += (
            [content]
            if isinstance(content, str)
            else [part["text"] for part in content or () if isinstance(part, dict) and "text" in part]
        )
    return texts


def guardrail(client: TestClient, messages: list[Message], **options: Any) -> dict[str, Any]:
    request = {
        "input_type": "request", "structured_messages": messages, "texts": texts_of(messages), "request_data": {},
        "images": None, "tools": None, "tool_calls": None, "model": "m", "litellm_version": "1", **options,
    }  # fmt: skip
    answer = client.post(PATH, json=request)
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = answer.json()
    return body


def test_genuine_results_are_left_alone(client: TestClient) -> None:
    assert guardrail(client, [USER, asked("W41"), told(GOOD)]) == {"action": "NONE"}


def test_in_the_place_of_a_swapped_result_stands_the_notice(client: TestClient) -> None:
    body = guardrail(client, [USER, asked("W999"), told(BAD)])

    assert body["action"] == "GUARDRAIL_INTERVENED"
    assert body["texts"][0] == USER["content"]
    assert body["texts"][1].startswith("The result of 'get_order' was blocked")
    assert set(body) == {"action", "texts"}


def test_a_blocked_result_ends_the_request_where_the_policy_says_so(
    engine: VerificationEngine, make_client: Make
) -> None:
    body = guardrail(make_client(Guard(engine, on_block="raise")), [USER, asked("W999"), told(BAD)])

    assert body["action"] == "BLOCKED"
    assert body["blocked_reason"].startswith("The result of 'get_order' was blocked")


def test_in_shadow_mode_nothing_is_changed(engine: VerificationEngine, make_client: Make) -> None:
    body = guardrail(make_client(Guard(engine, shadow=True)), [USER, asked("W999"), told(BAD)])

    assert body == {"action": "NONE"}


def test_where_texts_leave_results_out_messages_are_answered(client: TestClient) -> None:
    """So it is with the Responses API, whose outputs of functions are not among the texts."""
    messages = [USER, asked("W999"), told(BAD)]

    body = guardrail(client, messages, texts=[USER["content"]])

    assert set(body) == {"action", "structured_messages"}
    assert body["structured_messages"][:2] == messages[:2]
    assert body["structured_messages"][2]["content"].startswith("The result of 'get_order' was blocked")
    assert body["structured_messages"][2]["tool_call_id"] == "call-1"


def test_a_result_in_parts_is_replaced_as_a_whole(client: TestClient) -> None:
    parts = [
        {"type": "text", "text": BAD},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}},
    ]

    body = guardrail(client, [USER, asked("W999"), told(parts)])

    assert body["structured_messages"][2]["content"].startswith("The result of 'get_order' was blocked")


BESIDE = pytest.mark.parametrize(
    "part",
    [
        {"type": "json", "json": {"note": "%s"}},
        {"type": "json", "%s": 1},
        {"type": "text", "text": "a", "title": "%s"},
        {"type": "text", "text": "a", "%s": 1},
        "%s",
    ],
)


def said_in(part: Any, text: str) -> Any:
    return json.loads(json.dumps(part).replace("%s", text))


@BESIDE
@pytest.mark.parametrize("texts", [[{"type": "text", "text": "one"}], []])
def test_what_stands_beside_texts_is_judged_by_the_content_rules(make_client: Make, part: Any, texts: Any) -> None:
    engine = engine_of("get_order")
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
    blocked, redacted, clean = [
        guardrail(make_client(engine), [USER, asked("W1"), told([*texts, said_in(part, text), picture])])
        for text in (INJECTION, SECRET, "quiet")
    ]

    assert blocked["structured_messages"][2]["content"].startswith("The result of 'get_order' was blocked")
    assert "customer list" not in str(blocked)
    shown = redacted["structured_messages"][2]["content"]
    assert shown == [*texts, said_in(part, "dsn postgres://app:<DATABASE_PASSWORD_1>@db.internal/shop"), picture]
    assert clean == {"action": "NONE"}


def test_a_flagged_result_gets_its_line_after_it(make_client: Make) -> None:
    engine = VerificationEngine(block_at=1.0)
    engine.register_tool_profile("get_order", required_fields=["degrees"], has_network_io=False)
    parts = [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]

    of_text = guardrail(make_client(engine), [asked("W1"), told(GOOD)])
    of_parts = guardrail(make_client(engine), [asked("W1"), told(parts)])

    line = "[agentguard: this result of 'get_order' may be wrong: "
    assert of_text["texts"][0].startswith(f"{GOOD}\n\n{line}")
    assert of_parts["texts"][0] == "one"
    assert of_parts["texts"][1].startswith(f"two\n\n{line}")
    picture = [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}]
    of_picture = guardrail(make_client(engine), [asked("W1"), told(picture)])["structured_messages"][1]["content"]
    assert of_picture[0] == picture[0]
    assert of_picture[1]["text"].startswith(line)
    assert guardrail(make_client(engine), [asked("W1"), told({"no": "content"})]) == {"action": "NONE"}


def test_a_result_is_learned_from_once_and_shown_alike_in_every_turn(
    engine: VerificationEngine, make_client: Make
) -> None:
    learned: list[tuple[str, bool]] = []
    verify = engine.verify

    def watched(tool: str, **options: Any) -> Any:
        learned.append((options["result"], options["learn"]))
        return verify(tool, **options)

    engine.verify = watched  # type: ignore[method-assign]
    client = make_client(engine)
    first = [USER, asked("W999"), told(BAD)]
    second = [*first, asked("W41", "call-2"), told(GOOD, "call-2")]

    notices = [guardrail(client, messages)["texts"][1] for messages in (first, second, second)]

    assert learned == [(BAD, True), (GOOD, True)]
    assert len(set(notices)) == 1  # and never "asked before": the agent did not ask again


def test_earlier_results_that_were_never_seen_here_are_judged_and_not_learned(
    engine: VerificationEngine, make_client: Make
) -> None:
    learned: list[bool] = []
    verify = engine.verify
    engine.verify = lambda tool, **options: learned.append(options["learn"]) or verify(tool, **options)  # type: ignore[method-assign, func-returns-value]

    body = guardrail(make_client(engine), [USER, asked("W999"), told(BAD), {"role": "assistant", "content": "Hm."}])

    assert learned == [False]
    assert body["texts"][1].startswith("The result of 'get_order' was blocked")


def test_the_guard_s_failure_is_not_remembered(make_client: Make) -> None:
    class Broken(VerificationEngine):
        fails = True

        def verify(self, *args: Any, **options: Any) -> Any:
            if self.fails:
                raise RuntimeError
            return super().verify(*args, **options)

    engine = Broken()
    client = make_client(Guard(engine, on_guard_error="closed"))
    messages = [asked("W1"), told(GOOD)]

    assert "could not be verified" in guardrail(client, messages)["texts"][0]
    engine.fails = False
    assert guardrail(client, messages) == {"action": "NONE"}


def test_calls_of_the_older_form_and_results_without_a_call(client: TestClient) -> None:
    call = {"role": "assistant", "content": None, "function_call": {"name": "get_order", "arguments": '{"id": "W999"}'}}
    result = {"role": "function", "name": "get_order", "content": BAD}

    assert guardrail(client, [USER, call, result])["action"] == "GUARDRAIL_INTERVENED"
    assert guardrail(client, [USER, told(BAD, "who knows")]) == {"action": "NONE"}


@pytest.mark.parametrize(
    "message",
    [
        {}, {"role": None}, {"role": "tool"}, {"role": "tool", "tool_call_id": [], "content": "x"},
        {"role": "assistant", "content": 3, "tool_calls": [None, {"id": 1}, {"id": "a", "function": {"name": 5}}]},
        {"role": "assistant", "content": "x", "tool_calls": 7}, {"role": "tool", "content": {"a": 1}, "name": "t"},
    ],
)  # fmt: skip
def test_messages_of_any_form_are_taken(client: TestClient, message: Message) -> None:
    answer = client.post(PATH, json={"input_type": "request", "structured_messages": [message], "texts": ["x"]})

    assert answer.status_code == 200
    assert answer.json() == {"action": "NONE"}


def test_what_the_configuration_asks_for_is_taken_out_of_texts(client: TestClient) -> None:
    parameters = {"content": {"pii": "redact", "secrets": "block"}, "threshold": 3}
    options = {"additional_provider_specific_params": parameters}
    mail = {"role": "user", "content": "I am ada@example.org."}
    secret = {"role": "user", "content": "db: postgres://app:tea4two@db.internal/shop"}

    assert guardrail(client, [mail], **options) == {
        "action": "GUARDRAIL_INTERVENED", "texts": ["I am <EMAIL_1>."],
    }  # fmt: skip
    blocked = guardrail(client, [secret], **options)
    assert (blocked["action"], blocked["blocked_reason"]) == (
        "BLOCKED", "A text was blocked: it holds secrets (database_password).",
    )  # fmt: skip
    # The Responses API, and an answer of the model.
    assert guardrail(client, [mail], texts=[], **options)["structured_messages"] == [
        {"role": "user", "content": "I am <EMAIL_1>."}
    ]
    answer = {"input_type": "response", "texts": ["Write to ada@example.org."], **options}
    assert client.post(PATH, json=answer).json()["texts"] == ["Write to <EMAIL_1>."]


def test_parameters_that_are_none_are_refused(client: TestClient) -> None:
    request = {"input_type": "request", "additional_provider_specific_params": {"content": {"pii": "flag"}}}

    assert client.post(PATH, json=request).status_code == 422


def test_a_conversation_of_more_text_than_is_looked_through_is_refused(client: TestClient) -> None:
    def sent(length: int, **parameters: Any) -> Any:
        message = {"role": "user", "content": "x" * length}
        body = {"input_type": "request", "structured_messages": [message], "texts": [message["content"]]}
        return client.post(PATH, json={**body, "additional_provider_specific_params": parameters})

    refused = sent(2**20 + 1, content={"secrets": "redact"})
    assert (refused.status_code, refused.json()["type"]) == (413, "urn:agentguard:problem:too-large")
    assert sent(2**20 + 1).status_code == 200  # nothing is looked for
