"""Guarding the tools of MCP servers: an interceptor for ``MultiServerMCPClient(tool_interceptors=[...])``."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Collection
from time import perf_counter
from typing import Any, Literal

import orjson
from pydantic import ValidationError

from agentguard.guard import Judgement, OnFlagUnasked, Outcome
from agentguard.guard._guard import Attempt, CallGuard, OnJudgement, apart
from agentguard.guard._wording import FLAG_TEXT, lined
from agentguard.integrations._extras import needs
from agentguard.verification import VerificationEngine

try:
    from langchain_core.messages import ToolMessage
    from langchain_mcp_adapters.interceptors import MCPToolCallRequest, MCPToolCallResult
    from mcp.types import AudioContent, CallToolResult, EmbeddedResource, ImageContent, TextContent
except ImportError as error:
    raise needs("mcp", error) from error

__all__ = ["MCPGuardInterceptor"]

_KEY = "agentguard"


class MCPGuardInterceptor:
    """Judges what MCP servers answer, before it becomes a message.

    List it last: the last interceptor is the one next to the server, and so sees its own answer and its true latency
    (which includes starting a session, where the client opens one for each call). Where another interceptor answered
    in the server's place, the latency counts as unknown.

    ``structuredContent`` is judged where the server sends it, the content blocks where it does not. An answer with
    ``isError`` is the server's report of a failure and is judged as one. A flagged answer gets one more text after its
    content, a blocked one stays a ``CallToolResult`` with ``isError`` and a notice as its only content; the verdict is
    in ``_meta`` of both.

    Args:
        engine: judges the results.
        tools: names of the tools to guard; None: all.
        tool_name_prefix: call tools ``server_tool``, for servers that have tools of the same name.
        session: gives the session of a request; None: the LangGraph thread, where there is one.
        on_flag: ``annotate`` hands a flagged result on with a line after it that the model reads; ``observe`` hands it
            on with its verdict in ``_meta`` alone; ``block`` treats it as blocked.
        on_block: ``replace`` puts a notice in the result's place; ``raise`` raises ``ResultBlocked``.
        on_guard_error: when the guard itself fails: ``open`` hands the result on, ``closed`` treats it as blocked.
        shadow: judge and record, change nothing.
        max_retries: how often a blocked call is made again, for tools whose profile says ``idempotent: true``.
        on_judgement: is told of every judgement; what it raises is logged and changes nothing.
        flag_text: the line of ``annotate``, a format string with the fields ``{tool}``, ``{hazard}`` and
            ``{posterior}``.

    Raises:
        ConfigurationError: for a policy that cannot be used here.
    """

    def __init__(
        self,
        engine: VerificationEngine,
        *,
        tools: Collection[str] | None = None,
        tool_name_prefix: bool = False,
        session: Callable[[MCPToolCallRequest], str | None] | None = None,
        on_flag: OnFlagUnasked = "annotate",
        on_block: Literal["replace", "raise"] = "replace",
        on_guard_error: Literal["open", "closed"] = "open",
        shadow: bool = False,
        max_retries: int = 0,
        on_judgement: OnJudgement | None = None,
        flag_text: str = FLAG_TEXT,
    ) -> None:
        self._guard = CallGuard(
            engine, tools=tools, on_flag=on_flag, on_block=on_block, on_guard_error=on_guard_error, shadow=shadow,
            max_retries=max_retries, on_judgement=on_judgement, flag_text=flag_text,
        )  # fmt: skip
        self._prefixed = tool_name_prefix
        self._session = _thread_of if session is None else session

    async def __call__(
        self, request: MCPToolCallRequest, handler: Callable[[MCPToolCallRequest], Awaitable[MCPToolCallResult]]
    ) -> MCPToolCallResult:
        """Let the server answer, and judge what it answered.

        Raises:
            ResultBlocked: for a blocked result, where ``on_block`` is ``raise``.
        """
        tool = f"{request.server_name}_{request.name}" if self._prefixed else request.name
        if not self._guard.covers(tool):
            return await handler(request)
        session = self._session(request)
        call_id = getattr(request.runtime, "tool_call_id", None)

        async def attempt() -> Attempt[MCPToolCallResult]:
            started = perf_counter()
            answer = await handler(request)
            took: float | None = (perf_counter() - started) * 1000.0
            if isinstance(answer, CallToolResult):
                result, is_error = _result_of(answer), bool(answer.isError)
            elif isinstance(answer, ToolMessage) and answer.status != "error":
                result, took, is_error = _without_random_ids(answer.content), None, False
            else:
                return answer, None  # a failure, or a Command, of another interceptor
            return answer, Outcome(tool, request.args, result, took, session, call_id, is_error)

        answer, judgement = await self._guard.settle_async(attempt)
        if judgement is None or (judgement.action == "pass" and not judgement.redact):
            return answer
        if judgement.action == "replace" and self._guard.policy.on_block == "raise":
            raise self._guard.error(judgement, tool)
        return await apart(_marked, answer, judgement, about=answer if judgement.redact else None)


def _marked(answer: MCPToolCallResult, judgement: Judgement) -> MCPToolCallResult:
    """The answer with its verdict; a blocked one with a notice in place of all that it said."""
    verdict = judgement.as_dict()
    blocked = judgement.action == "replace"
    change: dict[str, Any]
    if isinstance(answer, ToolMessage):
        verdict |= {} if answer.artifact is None else {"artifact": "not judged"}
        change = {"response_metadata": {**answer.response_metadata, _KEY: verdict}}
        if blocked:
            change |= {"content": judgement.notice, "status": "error", "artifact": None}
            return answer.model_copy(update=change)
        if judgement.redact:
            change |= {"content": judgement.shown(answer.content), "artifact": judgement.shown(answer.artifact)}
        if judgement.line:
            change["content"] = lined(change.get("content", answer.content), judgement.line)
        return answer.model_copy(update=change)
    assert isinstance(answer, CallToolResult)  # noqa: S101 -- nothing else is judged
    change = {"meta": {**(answer.meta or {}), _KEY: verdict}}
    if blocked:
        notice = TextContent(type="text", text=judgement.notice)
        change |= {"content": [notice], "structuredContent": None, "isError": True}
        return answer.model_copy(update=change)
    content = answer.content
    if judgement.redact:
        content = [_without_redacted(block, judgement) for block in content]
        structured = judgement.shown(answer.structuredContent)  # a sentence in its place says that it is withheld
        change |= {"content": content, "structuredContent": structured if isinstance(structured, dict) else None}
    if judgement.line:
        line = TextContent(type="text", text=judgement.line)
        change["content"] = content if content[-1:] == [line] else [*content, line]
    return answer.model_copy(update=change)


def _without_redacted(block: Any, judgement: Judgement) -> Any:
    """A block with placeholders in whatever it says; one that is none any more with them, as text."""
    if isinstance(block, TextContent):
        return block.model_copy(update={"text": judgement.shown(block.text)})
    if isinstance(block, (AudioContent, ImageContent)):
        return block
    fields = block.model_dump(mode="json", by_alias=True, exclude_none=True)
    bytes_ = fields["resource"].pop("blob", None) if isinstance(block, EmbeddedResource) else None
    shown = judgement.shown(fields)
    if shown == fields:
        return block
    if bytes_ is not None and isinstance(shown, dict):
        shown["resource"]["blob"] = bytes_
    try:
        return type(block).model_validate(shown)
    except ValidationError:
        return TextContent(type="text", text=shown if isinstance(shown, str) else json.dumps(shown, ensure_ascii=False))


def _result_of(answer: CallToolResult) -> Any:
    """The tool's result: its structured form where the server gives one."""
    blocks = [_plain_block(block) for block in answer.content]
    content = blocks[0] if len(blocks) == 1 else blocks
    structured = answer.structuredContent
    if structured is None:
        return content
    if set(structured) == {"result"} and not _is_json_of(content, structured):
        return structured["result"]  # servers wrap what is no object, and then say it unwrapped in the text
    return structured


def _plain_block(block: Any) -> Any:
    if isinstance(block, TextContent):
        return block.text
    return _without_random_ids(block.model_dump(mode="json", exclude_none=True, exclude={"meta"}))


def _is_json_of(text: Any, value: Any) -> bool:
    try:
        return bool(orjson.loads(text) == value)
    except (ValueError, TypeError):
        return False


def _without_random_ids(value: Any) -> Any:
    """Content blocks without the ids that LangChain makes up (``lc_...``): another one at every call."""
    if isinstance(value, list):
        return [_without_random_ids(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: _without_random_ids(item)
        for key, item in value.items()
        if not (key == "id" and isinstance(item, str) and item.startswith("lc_"))
    }


def _thread_of(request: MCPToolCallRequest) -> str | None:
    config = getattr(request.runtime, "config", None) or {}
    thread = config.get("configurable", {}).get("thread_id")
    return None if thread is None else str(thread)
