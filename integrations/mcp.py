"""Guarding the tools of MCP servers: an interceptor for ``MultiServerMCPClient(tool_interceptors=[...])``."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

from agentguard.guard import Guard, Judgement, Outcome, Rules
from agentguard.guard._guard import Attempt, CallGuard, apart
from agentguard.guard._read_back import Answer, Call
from agentguard.guard._wording import lined
from agentguard.integrations._extras import needs
from agentguard.integrations._mcp_content import read, result_of, without_random_ids, without_redacted
from agentguard.verification import VerificationEngine

try:
    from langchain_core.messages import ToolMessage
    from langchain_mcp_adapters.interceptors import MCPToolCallRequest, MCPToolCallResult
    from mcp.types import CallToolResult, TextContent
except ImportError as error:
    raise needs("mcp", error) from error

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["MCPGuardInterceptor"]

_KEY = "agentguard"


class MCPGuardInterceptor:
    """Judges what MCP servers answer, before it becomes a message.

    List it last: the last interceptor is the one next to the server, and so sees its own answer and its true latency
    (which includes starting a session, where the client opens one for each call). Where another interceptor answered
    in the server's place, the latency counts as unknown.

    ``structuredContent`` is judged where the server sends it, the content blocks where it does not. What else a client
    may show its model (blocks beside ``structuredContent``, text in the bytes of a resource, the ``toolResult`` of old
    servers, the text of an exception, the error of another interceptor) is judged by the content rules of the tool's
    profile; ``_meta``, which is shown to none, is not. An answer with ``isError`` is the server's report of a failure
    and is judged as one. A flagged answer gets one more text after its content, a blocked one stays a
    ``CallToolResult`` with ``isError`` and a notice as its only content; the verdict is in ``_meta`` of both.

    Args:
        guard: the guard, or an engine.
        rules: rules of the guard by name, see ``Guard``.
        tool_name_prefix: call tools ``server_tool``, for servers that have tools of the same name.
        session: gives the session of a request; None: the LangGraph thread, where there is one.

    Raises:
        ConfigurationError: for a rule of the guard that cannot be acted on here.
    """

    def __init__(
        self,
        guard: Guard | VerificationEngine,
        *,
        tool_name_prefix: bool = False,
        session: Callable[[MCPToolCallRequest], str | None] | None = None,
        **rules: Unpack[Rules],
    ) -> None:
        self._guard = CallGuard.of(guard, "an MCP client", rules)
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
        described = Outcome(tool, request.args, None, None, session, call_id)

        async def attempt() -> Attempt[MCPToolCallResult]:
            started = perf_counter()
            answer = await handler(request)
            took = (perf_counter() - started) * 1000.0
            if isinstance(answer, CallToolResult):
                result, more = await read(
                    answer.content, answer.structuredContent, getattr(answer, "toolResult", None),
                    wholly=self._guard.searches(tool),
                )  # fmt: skip
                outcome = described._replace(
                    result=result, execution_time_ms=took, is_error=bool(answer.isError), beside=more
                )
            elif not isinstance(answer, ToolMessage):
                return answer, self._guard.error_text(described, _said_in(answer))  # a Command of another interceptor
            elif answer.status == "error":  # a failure of another interceptor
                return answer, self._guard.error_text(described, without_random_ids(answer.content))
            else:
                outcome = described._replace(result=without_random_ids(answer.content))
            return answer, await self._guard.read_back_async(outcome, find)

        def find(name: str) -> Call | None:
            given, own = self._guard.find(name), self._own_name(name, request.server_name)
            if given is not None or own is None:
                return given

            async def ask(args: dict[str, Any]) -> Answer:
                said = await handler(request.override(name=own, args=args))
                if not isinstance(said, CallToolResult):
                    raise TypeError("another interceptor has answered")
                return Answer(result_of(said.content, said.structuredContent), bool(said.isError))

            return ask

        answer, judgement = await self._guard.settle_async(attempt, described)
        if judgement is None or (judgement.action == "pass" and not judgement.redact):
            return answer
        if judgement.action == "replace" and self._guard.on_block == "raise":
            raise self._guard.error(judgement, tool)
        if answer is None:  # what was raised is withheld
            answer = CallToolResult(content=[], isError=True)
        return await apart(_marked, answer, judgement, about=answer if judgement.redact else None)

    def _own_name(self, tool: str, server: str) -> str | None:
        """The server's own name of a tool; None for a tool of another server, which cannot be called from here."""
        if not self._prefixed:
            return tool
        prefix = f"{server}_"
        return tool.removeprefix(prefix) if tool.startswith(prefix) else None


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
    if not isinstance(answer, CallToolResult):
        from agentguard.integrations._messages import rewritten
        from agentguard.integrations._messages import without_redacted as in_message

        if not blocked:
            shown = partial(in_message, judgement=judgement)
            command: MCPToolCallResult = rewritten(answer, shown, shown)
            return command
        answer = CallToolResult(content=[], isError=True)
    change = {"meta": {**(answer.meta or {}), _KEY: verdict}}
    if blocked:
        notice = TextContent(type="text", text=judgement.notice)
        return CallToolResult(content=[notice], isError=True, _meta=change["meta"])
    content = answer.content
    if judgement.redact:
        content = [without_redacted(block, judgement) for block in content]
        structured = judgement.shown(answer.structuredContent)  # a sentence in its place says that it is withheld
        change |= {"content": content, "structuredContent": structured if isinstance(structured, dict) else None}
        if hasattr(answer, "toolResult"):
            change["toolResult"] = judgement.shown(answer.toolResult)
    if judgement.line:
        line = TextContent(type="text", text=judgement.line)
        change["content"] = content if content[-1:] == [line] else [*content, line]
    return answer.model_copy(update=change)


def _said_in(command: Any) -> list[Any]:
    """The contents of the messages in a command."""
    from agentguard.integrations._messages import beside as messages_in  # who has made a command has LangGraph

    return [without_random_ids(message.content) for message in messages_in(command, None)]


def _thread_of(request: MCPToolCallRequest) -> str | None:
    config = getattr(request.runtime, "config", None) or {}
    thread = config.get("configurable", {}).get("thread_id")
    return None if thread is None else str(thread)
