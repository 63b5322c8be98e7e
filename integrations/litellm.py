"""Guarding the MCP tools of a LiteLLM proxy: ``callbacks: [guarding.guard]``, a ``GuardLogger`` in a module of yours.

The trap: LiteLLM swallows whatever a callback raises, and hands the result on. So a block is always an answer, a notice
in the result's place, and nothing here relies on raising. Where a result has structured content, LiteLLM drops that and
marks the result as an error as soon as its text is changed: right for a block, wrong for a line after a flagged result,
which is therefore left as it is there.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from agentguard.guard import Guard, Judgement, Outcome, Rules
from agentguard.guard._guard import CallGuard, apart
from agentguard.guard._wording import notice_of
from agentguard.integrations._extras import needs
from agentguard.verification import VerificationEngine

try:
    from litellm.integrations.custom_logger import CustomLogger
    from mcp.types import TextContent

    from agentguard.integrations._mcp_content import read, without_redacted
except ImportError as error:
    raise needs("litellm", error) from error

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["GuardLogger"]

_log = logging.getLogger("agentguard")


class GuardLogger(CustomLogger):
    """Judges what MCP tools answer through a LiteLLM proxy, before it goes back to the client.

    Structured content is judged where the server sends it, the blocks of content where it does not, and an answer with
    ``isError`` as the report of a failure. What stands beside structured content, and text in the bytes of a resource,
    is judged by the content rules of the tool's profile. A flagged answer has one more text after its content, a
    blocked one is a notice as its only content. The time is that between the proxy's request and the answer.

    Args:
        guard: the guard, or an engine; proxies with several workers share what it learns by a store.
        rules: rules of the guard by name, see ``Guard``.
        server_prefix: call tools ``server-tool``, for servers that have tools of the same name.
        session: gives the session of a call from what LiteLLM tells its callbacks; None: the ``mcp-session-id`` of the
            client, else LiteLLM's trace id.

    Raises:
        ConfigurationError: for a rule of the guard that cannot be acted on here.
    """

    def __init__(
        self,
        guard: Guard | VerificationEngine,
        *,
        server_prefix: bool = False,
        session: Callable[[Mapping[str, Any]], str | None] | None = None,
        **rules: Unpack[Rules],
    ) -> None:
        super().__init__()
        self._guard = CallGuard.of(guard, "LiteLLM", rules, on_block=["replace"])
        self._prefixed, self._session = server_prefix, session

    async def async_post_mcp_tool_call_hook(
        self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any
    ) -> Any:
        """Judge an answer; None where it stands as it is."""
        call = kwargs.get("mcp_tool_call_metadata") or {}
        tool = str(call.get("name", ""))
        if self._prefixed:
            tool = f"{call.get('mcp_server_name')}-{tool}"
        if not self._guard.covers(tool):
            return None
        try:
            return await self._judged(tool, call, kwargs, response_obj, (end_time - start_time).total_seconds())
        except Exception as error:  # LiteLLM would swallow it, and hand the answer on
            _log.error("guarding an answer of %r failed: %s", tool, type(error).__name__)
            if self._guard.on_guard_error == "open" or self._guard.shadow:
                return None
            return _notice(response_obj, notice_of(f"The result of {tool!r} could not be verified and was withheld."))

    async def _judged(self, tool: str, call: Any, kwargs: Any, response: Any, seconds: float) -> Any:
        answer, blocks = kwargs.get("original_response"), response.mcp_tool_call_response
        structured = _field(answer, "structured_content", "structuredContent")
        failed = bool(_field(answer, "is_error", "isError"))
        by_default = call.get("mcp_session_id") or kwargs.get("litellm_trace_id")
        session = by_default if self._session is None else self._session(kwargs)
        result, beside = await read(blocks, structured, wholly=self._guard.searches(tool))
        outcome = Outcome(
            tool, call.get("arguments") or {}, result, seconds * 1000.0, session, kwargs.get("litellm_call_id"), failed,
            beside=beside,
        )  # fmt: skip
        judgement = await self._guard.judge_async(outcome)
        if judgement.action == "replace":
            return _notice(response, judgement.notice)
        if judgement.redact:
            blocks = await apart(_redacted, blocks, judgement, about=(result, beside))
            if structured is not None and blocks == response.mcp_tool_call_response:
                # It is the structured content that holds it, which LiteLLM drops where the text is another one.
                blocks = [*blocks, TextContent(type="text", text="The structured content is withheld.")]
        if judgement.line and (structured is None or judgement.redact):
            blocks = [*blocks, TextContent(type="text", text=judgement.line)]
        if blocks is response.mcp_tool_call_response:
            return None
        return response.model_copy(update={"mcp_tool_call_response": blocks})


def _redacted(blocks: list[Any], judgement: Judgement) -> list[Any]:
    return [without_redacted(block, judgement) for block in blocks]


def _notice(response: Any, notice: str) -> Any:
    return response.model_copy(update={"mcp_tool_call_response": [TextContent(type="text", text=notice)]})


def _field(answer: Any, *names: str) -> Any:
    """A field of the server's answer, as either of the SDK's generations has it."""
    return next((getattr(answer, name) for name in names if hasattr(answer, name)), None)
