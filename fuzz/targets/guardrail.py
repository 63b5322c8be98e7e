"""What comes to the guard over HTTP: conversations from LiteLLM, and values whose findings are to be placed."""

from __future__ import annotations

import json
from contextlib import suppress
from functools import cache
from typing import Any

from agentguard.content import KINDS, Finding
from agentguard.guard import Guard
from agentguard.guard.api._litellm import Guardrail, GuardrailRequest, Parameters
from agentguard.guard.api._texts import Spread
from agentguard.verification import VerificationEngine
from fuzz import grammar, tokens
from fuzz.harness import Harness
from fuzz.source import Source
from fuzz.trial import Trial, require

__all__ = ["HARNESSES"]

ROLES = ("user", "assistant", "tool", "tool", "function", "system", None, 7)
IDS = ("call-1", "call-2", "", None, 3)
TOOLS = ("declared", "get_order", "", None, 5)
TEXT = (tokens.JSON, tokens.WORDS, tokens.SECRETS, tokens.PERSONAL, tokens.INSTRUCTIONS, tokens.UNICODE)


@cache
def _guard(on_block: Any) -> Guard:
    engine = VerificationEngine()
    engine.register_tool_profile("declared", required_fields=["a"], content={"pii": "redact", "secrets": "flag"})
    return Guard(engine, on_block=on_block)


def _content(source: Source) -> Any:
    kind = source.integer(0, 5)
    if kind < 3:
        return grammar.text(source, TEXT, 6)
    if kind == 3:
        return [
            {"type": "text", "text": grammar.text(source, TEXT, 4)}
            if source.integer(0, 3)
            else grammar.value(source, 1)
            for _ in range(source.integer(0, 3))
        ]
    return None if kind == 4 else grammar.value(source, 2)


def _message(source: Source) -> dict[str, Any]:
    message: dict[str, Any] = {"role": source.choice(ROLES), "content": _content(source)}
    if source.integer(0, 1):
        message["tool_call_id"] = source.choice(IDS)
    if not source.integer(0, 3):
        message["name"] = source.choice(TOOLS)
    if message["role"] == "assistant" and source.integer(0, 3):
        arguments: Any = grammar.value(source, 2)
        with suppress(ValueError, RecursionError):
            arguments = json.dumps(arguments) if source.integer(0, 3) else arguments
        function = {"name": source.choice(TOOLS), "arguments": arguments}
        message["tool_calls"] = [{"id": source.choice(IDS), "type": "function", "function": function}]
    return message


def _conversation(trial: Trial) -> None:
    source = trial.source
    messages = [_message(source) for _ in range(source.integer(0, 5))]
    try:
        messages = json.loads(json.dumps(messages))  # as they come over HTTP
    except (ValueError, RecursionError):
        return
    texts = [row["content"] for row in messages if isinstance(row["content"], str)]
    content = {kind: source.choice(("block", "redact")) for kind in KINDS if not source.integer(0, 2)}
    guardrail = Guardrail(_guard(source.choice(("replace", "raise"))))
    request = GuardrailRequest.model_construct(
        input_type=source.choice(("request", "response")), texts=texts, structured_messages=messages,
        litellm_trace_id="trace", additional_provider_specific_params=Parameters.model_construct(content=content),
    )  # fmt: skip
    answer = trial.call(guardrail.answer, request)
    require((answer.blocked_reason is not None) is (answer.action == "BLOCKED"), "blocked without a reason")
    require(answer.texts is None or len(answer.texts) == len(texts), "another number of texts")
    rows = answer.structured_messages
    require(rows is None or len(rows) == len(messages), "another number of messages")
    for before, after in zip(messages, rows or (), strict=False):
        require({**before, "content": 0} == {**after, "content": 0}, "more than the content of a message is changed")
    require(trial.call(guardrail.answer, request) == answer, "shown otherwise the second time")


def _place(trial: Trial) -> None:
    source = trial.source
    value = grammar.value(source, 4)
    text = trial.call(lambda: Spread.of(value).text)
    if not text:
        return
    spread = Spread.of(value)
    start = source.integer(0, len(text) - 1)
    end = source.integer(start + 1, len(text))
    place = trial.call(spread.place, "pii", Finding("email", "", start, end)).shown(())
    require(0 <= place.start <= place.end, "an end before its beginning")
    require(place.path == "" or place.path.startswith("/"), "no JSON Pointer")


HARNESSES = (
    Harness("guardrail", "guard.api: conversations of LiteLLM, judged and shown", _conversation),
    Harness("places", "guard.api: the places of findings in values", _place),
)
