"""LangGraph: wrappers for any tool node, a tool node with them built in; the guard and the review as nodes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Any, Literal

from agentguard.integrations.extras import needs

try:
    from langchain_core.messages import ToolMessage
    from langchain_core.runnables import RunnableConfig
    from langchain_core.tools import BaseTool
    from langgraph.prebuilt import ToolNode
    from langgraph.prebuilt.tool_node import ToolCallRequest
    from langgraph.types import Command
except ImportError as error:
    raise needs("langgraph", error) from error

from agentguard.errors import ConfigurationError
from agentguard.integrations.guard import Artifacts, OnFlagUnasked, Policy, ToolGuard
from agentguard.integrations.guard_node import GuardNode, GuardState, route_by_verdict
from agentguard.integrations.messages import blocked_in, rewritten
from agentguard.integrations.receipts import receipt_signer
from agentguard.integrations.review import ReviewNode
from agentguard.integrations.tool_calls import GuardedCalls
from agentguard.integrations.wording import FLAG_TEXT
from agentguard.verification import VerificationEngine
from agentguard.verification.receipts import ReceiptSigner

__all__ = ["GuardNode", "GuardState", "GuardedToolNode", "ReviewNode", "guard_wrappers", "route_by_verdict"]

OnError = Literal["open", "closed"]
ToolResult = ToolMessage | Command[Any]
Wrapper = Callable[[ToolCallRequest, Callable[[ToolCallRequest], ToolResult]], ToolResult]
AsyncWrapper = Callable[[ToolCallRequest, Callable[[ToolCallRequest], Awaitable[ToolResult]]], Awaitable[ToolResult]]


def guard_wrappers(
    engine: VerificationEngine,
    *,
    tools: Collection[str] | None = None,
    on_flag: OnFlagUnasked = "annotate",
    max_retries: int = 0,
    on_guard_error: OnError = "open",
    shadow: bool = False,
    signer: ReceiptSigner | None = None,
    flag_text: str = FLAG_TEXT,
    artifacts: Artifacts = "ignore",
) -> tuple[Wrapper, AsyncWrapper]:
    """``(wrap_tool_call, awrap_tool_call)`` for any ``ToolNode``; give it both.

    With one of them alone, a run of the other kind goes around the guard or waits for it. A wrapper cannot stop a run
    (what it raises becomes a message under ``handle_tool_errors``) nor ask a person (the tool would run again on
    resumption): ``GuardedToolNode`` and ``GuardNode`` can stop, ``ReviewNode`` asks.

    Args:
        engine: judges the results.
        tools: names of the tools to guard; None: all.
        on_flag: ``annotate`` hands a flagged result on with a line after it that the model reads, ``observe`` hands it
            on as it is, ``block`` blocks it.
        max_retries: how often a blocked call is made again, for tools whose profile says ``idempotent: true``.
        on_guard_error: when the guard itself fails: ``open`` hands the result on, ``closed`` withholds it.
        shadow: judge, learn and emit events; hand on every result as it is.
        signer: signs what the model is shown; None: ``receipt_signer()``.
        flag_text: the line of ``annotate``, as in ``Policy``.
        artifacts: ``judge`` judges the artifact of a message too, as the result of a tool ``<tool>#artifact``, and the
            worse verdict acts on both; ``ignore`` leaves it unjudged, and the verdict says so.

    Raises:
        ConfigurationError: for a value that is not one of these.
    """
    policy = Policy(on_flag, "replace", on_guard_error, shadow, max_retries, flag_text, artifacts)
    calls = _calls(engine, policy, tools, signer)
    return calls.run, calls.arun


class GuardedToolNode(ToolNode):
    """A ``ToolNode`` whose results are verified.

    Args:
        tools: the tools to execute, as for ``ToolNode``.
        engine: judges the results.
        guarded: names of the tools to guard; None: all.
        on_block: ``replace`` puts a notice in the result's place; ``raise`` raises ``ResultBlocked`` out of the node
            once all its calls are done, whatever ``handle_tool_errors`` says.
        on_flag, max_retries, on_guard_error, shadow, signer, flag_text, artifacts: as for ``guard_wrappers``.
        node: further arguments of ``ToolNode``: ``name``, ``tags``, ``handle_tool_errors``, ``messages_key``.

    Raises:
        ConfigurationError: for a value that is not one of these.
    """

    def __init__(
        self,
        tools: Sequence[BaseTool | Callable[..., Any]],
        engine: VerificationEngine,
        *,
        guarded: Collection[str] | None = None,
        on_flag: OnFlagUnasked = "annotate",
        on_block: Literal["replace", "raise"] = "replace",
        max_retries: int = 0,
        on_guard_error: OnError = "open",
        shadow: bool = False,
        signer: ReceiptSigner | None = None,
        flag_text: str = FLAG_TEXT,
        artifacts: Artifacts = "ignore",
        **node: Any,
    ) -> None:
        policy = Policy(on_flag, on_block, on_guard_error, shadow, max_retries, flag_text, artifacts)
        calls = _calls(engine, policy, guarded, signer)
        super().__init__(tools, wrap_tool_call=calls.run, awrap_tool_call=calls.arun, **node)
        self._raises = on_block == "raise" and not shadow

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Execute the calls, verify the results."""
        return self._unless_blocked(super().invoke(input, config, **kwargs))

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Execute the calls, verify the results."""
        return self._unless_blocked(await super().ainvoke(input, config, **kwargs))

    def _unless_blocked(self, output: Any) -> Any:
        if self._raises:
            shown: list[ToolMessage] = []

            def note(message: ToolMessage) -> ToolMessage:
                shown.append(message)
                return message

            rewritten(output, note)
            if (blocked := blocked_in(shown)) is not None:
                raise blocked
        return output


def _calls(
    engine: VerificationEngine, policy: Policy, tools: Collection[str] | None, signer: ReceiptSigner | None
) -> GuardedCalls:
    if policy.on_flag == "review":
        raise ConfigurationError("on_flag='review' is not for a tool node: let route_by_verdict lead to a ReviewNode")
    if policy.on_block == "end":
        raise ConfigurationError("on_block='end' is not for a tool node: route 'block' to END by route_by_verdict")
    return GuardedCalls(ToolGuard(engine, policy, tools), receipt_signer() if signer is None else signer)
