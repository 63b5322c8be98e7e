"""LiteLLM's generic guardrail API: results of tools, judged on their way from an agent to a model.

LiteLLM's proxy sends the conversation of a request before the model gets it. Each of its tool messages is a result; the
assistant's message before it has the call. What is to be changed goes back as ``texts``, in the order in which it came;
where texts do not tell all (the Responses API, several parts, images), as ``structured_messages``.

An agent sends its whole conversation with each request: a result is learned from once, when it is the newest, and is
shown in the same way from then on.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any, Final, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from agentguard import _forks as forks
from agentguard.content._findings import Kind
from agentguard.guard._guard import Guard, Judgement, Outcome
from agentguard.guard._wording import appended, lined
from agentguard.guard.api._calls import action_of
from agentguard.guard.api._texts import findings_in
from agentguard.serving._app import Model, ProblemError

PATH: Final = "/beta/litellm_basic_guardrail_api"
#: Characters of a conversation's texts that are looked through for content. A judgement: more than models take, and to
#: look through them takes about a second.
MOST_SEARCHED: Final = 1 << 20
_MEDIA: Final = frozenset({"image", "image_url", "input_audio", "input_image"})
MOST_KEPT: Final = 10_000  # judgements of results that may come again, some hundred bytes each


class Parameters(BaseModel):
    """The parameters of the guardrail's configuration that are for this server; others are left alone."""

    content: dict[Kind, Literal["block", "redact"]] = Field(
        default={}, description="What to do with kinds of content in every text of requests and answers."
    )


class GuardrailRequest(BaseModel):
    """What LiteLLM sends; fields that are not named here are left alone."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "input_type": "request",
                    "texts": ["How warm is it in Oslo?", '{"city": "Oslo", "degrees": 18}'],
                    "structured_messages": [
                        {"role": "user", "content": "How warm is it in Oslo?"},
                        {
                            "role": "assistant",
                            "content": None,
                            "tool_calls": [
                                {
                                    "id": "call-3",
                                    "type": "function",
                                    "function": {"name": "get_weather", "arguments": '{"city": "Oslo"}'},
                                }
                            ],
                        },
                        {"role": "tool", "tool_call_id": "call-3", "content": '{"city": "Oslo", "degrees": 18}'},
                    ],
                    "litellm_trace_id": "chat-17",
                    "request_data": {},
                }
            ]
        }
    )

    input_type: Literal["request", "response"]
    texts: list[str] | None = Field(None, description="The texts of the messages, or of the answer, in their order.")
    structured_messages: list[dict[str, Any]] | None = Field(
        None, description="The conversation in OpenAI's form; missing with an answer."
    )
    litellm_trace_id: str | None = Field(None, description="The conversation, as far as LiteLLM knows; the session.")
    additional_provider_specific_params: Parameters | None = None


class GuardrailResponse(Model):
    """What LiteLLM is to do."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"action": "NONE"}]})

    action: Literal["NONE", "BLOCKED", "GUARDRAIL_INTERVENED"]
    blocked_reason: str | None = None
    texts: list[str] | None = Field(default=None, description="All texts, where some were changed.")
    structured_messages: list[dict[str, Any]] | None = Field(
        default=None, description="All messages, where some were changed in a way that texts do not tell."
    )


class _Blocked(Exception):
    """The request must not go on; the text says why."""


class _Result(NamedTuple):
    """The result of a tool in a conversation; ``is_new``: the model has not answered to it yet."""

    position: int
    tool: str
    args: Any
    call_id: str | None
    content: Any
    is_new: bool


class Guardrail:
    """Answers LiteLLM by the judgements of a guard. Thread-safe."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._lock = forks.lock(forks.Rank.LEAF)
        self._judged: OrderedDict[bytes, Judgement] = OrderedDict()

    def answer(self, request: GuardrailRequest) -> GuardrailResponse:
        """Judge what is new in a conversation, and say how all of it is to be shown."""
        parameters = request.additional_provider_specific_params or Parameters()
        texts = request.texts or []
        messages = (request.structured_messages or []) if request.input_type == "request" else []
        try:
            rows = self._rows(messages, request.litellm_trace_id)
            before = [text for row in messages for text in _slots(row.get("content"))]
            if messages and (before != texts or not _alike(messages, rows)):
                shown = _looked_through([_slots(row.get("content")) for row in rows], parameters)
                rows = [_filled(row, slots) for row, slots in zip(rows, shown, strict=True)]
                return GuardrailResponse(action="NONE") if rows == messages else _changed(structured_messages=rows)
            after = [text for row in rows for text in _slots(row.get("content"))] if messages else texts
            (after,) = _looked_through([after], parameters)
            return GuardrailResponse(action="NONE") if after == texts else _changed(texts=after)
        except _Blocked as reason:
            return GuardrailResponse(action="BLOCKED", blocked_reason=str(reason))

    def _rows(self, messages: Sequence[dict[str, Any]], trace: str | None) -> list[dict[str, Any]]:
        """The messages, with the results as they may be shown."""
        rows = list(messages)
        for result in _results(messages):
            judgement = self._judgement(result, trace)
            if action_of(self._guard, judgement) == "raise":
                raise _Blocked(judgement.notice)
            content = judgement.notice if judgement.action == "replace" else _shown(result.content, judgement)
            rows[result.position] = {**rows[result.position], "content": content}
        return rows

    def _judgement(self, result: _Result, trace: str | None) -> Judgement:
        key = _key(result)
        with self._lock:
            known = self._judged.get(key)
            if known is not None:
                self._judged.move_to_end(key)
                return known
        slots = _slots(result.content)
        judgement = self._guard.judge(
            Outcome(
                result.tool, result.args, "\n".join(slots) if slots else result.content,
                session_id=trace, call_id=result.call_id, learn=result.is_new,
                beside=[rest for rest in _rests(result.content) if rest] or None if slots else None,
            )
        )  # fmt: skip
        if judgement.result is not None:  # else the guard failed, and may not the next time
            with self._lock:
                self._judged[key] = judgement._replace(result=None)
                if len(self._judged) > MOST_KEPT:
                    self._judged.popitem(last=False)
        return judgement


def _changed(**fields: Any) -> GuardrailResponse:
    return GuardrailResponse(action="GUARDRAIL_INTERVENED", **fields)


def _results(messages: Sequence[Mapping[str, Any]]) -> Iterator[_Result]:
    """The results in a conversation whose calls are known."""
    answers = [index for index, message in enumerate(messages) if message.get("role") == "assistant"]
    last = answers[-1] if answers else -1
    calls: dict[Any, tuple[str, Any]] = {}
    for index, message in enumerate(messages):
        if message.get("role") == "assistant":
            calls.update(_calls(message))  # ids are not always unique: the latest call of an id is meant
        elif message.get("role") in ("tool", "function") and message.get("content"):
            id_, name = message.get("tool_call_id"), message.get("name")
            tool, args = calls.get(id_ if isinstance(id_, str) else None, (name, None))
            if isinstance(tool, str) and tool:
                known = id_ if isinstance(id_, str) else None
                yield _Result(index, tool, args, known, message["content"], index > last)


def _calls(message: Mapping[str, Any]) -> Iterator[tuple[str | None, tuple[str, Any]]]:
    """The calls of an assistant's message by their ids; by None the one of the older form, which has none."""
    calls = message.get("tool_calls")
    functions = [(call.get("id"), call.get("function")) for call in _list(calls) if isinstance(call, dict)]
    functions.append((None, message.get("function_call")))
    for id_, function in functions:
        if isinstance(function, dict) and isinstance(function.get("name"), str):
            yield (id_ if isinstance(id_, str) else None), (function["name"], _arguments(function.get("arguments")))


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _arguments(text: Any) -> Any:
    """The arguments of a call, which models write as text."""
    try:
        return json.loads(text) if isinstance(text, str) else text
    except (ValueError, RecursionError):
        return text


def _key(result: _Result) -> bytes:
    """A digest of a call and its result."""
    whole = json.dumps([result.tool, result.args, result.call_id, result.content])
    return blake2b(whole.encode(), digest_size=16).digest()


# --- The texts of a message's content ---


def _slots(content: Any) -> list[str]:
    """The texts of a message's content, as LiteLLM takes them: the content itself, or those of its parts."""
    if isinstance(content, str):
        return [content]
    return [part["text"] for part in _list(content) if isinstance(part, dict) and isinstance(part.get("text"), str)]


def _rests(content: Any) -> list[Any]:
    """What the parts of a message's content say beside their texts; nothing for pictures and sounds."""
    return [_rest(part) if isinstance(part, dict) else part for part in _list(content)]


def _rest(part: dict[str, Any]) -> dict[str, Any]:
    if part.get("type") in _MEDIA:
        return {}
    own = {"type", "text"} if isinstance(part.get("text"), str) else {"type"}
    return {key: value for key, value in part.items() if key not in own}


def _with_rest(part: Any, rest: Any) -> Any:
    """A part with another rest, in which a field may have another name."""
    if not isinstance(part, dict):
        return rest
    before = _rest(part)
    return {**{key: value for key, value in part.items() if key not in before}, **rest}


def _filled(row: dict[str, Any], slots: Sequence[str]) -> dict[str, Any]:
    """A message with other texts in the same places."""
    content, left = row.get("content"), iter(slots)
    if isinstance(content, str):
        return {**row, "content": next(left)}
    if not isinstance(content, list):
        return row
    has = [isinstance(part, dict) and isinstance(part.get("text"), str) for part in content]
    parts = [{**part, "text": next(left)} if text else part for part, text in zip(content, has, strict=True)]
    return {**row, "content": parts}


def _shown(content: Any, judgement: Judgement) -> Any:
    """A result's content without what is to be redacted, and with the line after it."""
    slots = [str(judgement.shown(text)) for text in _slots(content)]
    if judgement.redact and isinstance(content, list):
        rests = judgement.shown(_rests(content))
        if not isinstance(rests, list):  # a sentence that it is withheld
            return rests
        content = [_with_rest(part, rest) for part, rest in zip(content, rests, strict=True)]
    if not judgement.line:
        return _filled({"content": content}, slots)["content"]
    if not slots:  # pictures alone; anything else is no content that a model reads
        return lined(content, judgement.line) if isinstance(content, list) else content
    slots[-1] = appended(slots[-1], judgement.line)
    return _filled({"content": content}, slots)["content"]


def _alike(messages: Sequence[Mapping[str, Any]], rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether each message has its texts in the same places as before, and the same beside them."""
    return all(
        isinstance(before.get("content"), str) == isinstance(after.get("content"), str)
        and len(_slots(before.get("content"))) == len(_slots(after.get("content")))
        and _rests(before.get("content")) == _rests(after.get("content"))
        for before, after in zip(messages, rows, strict=True)
    )


def _looked_through(groups: Sequence[Sequence[str]], parameters: Parameters) -> list[list[str]]:
    """The texts without what is to be redacted in them.

    Raises:
        _Blocked: where one of them holds what is to be blocked.
        ProblemError: for more than is looked through at once.
    """
    if parameters.content and sum(len(text) for texts in groups for text in texts) > MOST_SEARCHED:
        detail = f"a conversation has at most {MOST_SEARCHED:,} characters of text to be looked through"
        raise ProblemError(413, "too-large", detail)
    blocked = [kind for kind, action in parameters.content.items() if action == "block"]
    hidden = [kind for kind, action in parameters.content.items() if action == "redact"]
    for text in (text for texts in groups for text in texts if blocked):
        for kind, result in findings_in(text, blocked).items():
            if result.label not in ("clean", "suspicious"):
                names = ", ".join(sorted({finding.kind for finding in result.findings}))
                raise _Blocked(f"A text was blocked: it holds {kind} ({names}).")
    without = Judgement("pass", None, "", tuple(hidden))
    return [[str(without.shown(text)) for text in texts] for texts in groups]
