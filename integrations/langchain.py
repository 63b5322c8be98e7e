"""LangChain: a middleware for ``create_agent`` that verifies every tool result before the model sees it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, get_args

from agentguard.integrations._extras import needs

try:
    from langchain.agents.middleware import AgentMiddleware, AgentState, hook_config
    from langchain_core.messages import ToolMessage
    from langgraph.prebuilt.tool_node import ToolCallRequest
    from langgraph.runtime import Runtime
    from langgraph.types import Command
except ImportError as error:
    raise needs("langchain", error) from error

from agentguard.guard import Guard, OnFlag, Rules
from agentguard.guard._guard import OnBlock
from agentguard.integrations._messages import blocked_in, messages_of
from agentguard.integrations._tool_calls import GuardedCalls
from agentguard.integrations.review import ReviewNode
from agentguard.verification import VerificationEngine
from agentguard.verification.receipts import ReceiptSigner

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["ToolGuardMiddleware"]


class ToolGuardMiddleware(AgentMiddleware[AgentState[Any], Any, Any]):
    """Verifies what tools return, in ``create_agent(..., middleware=[ToolGuardMiddleware(engine), ...])``.

    An agent's graph gets nodes of it (``before_model``, ``after_agent``) only where ``on_flag`` or ``on_block`` have it
    decide something there.

    List it first: what it shows then is what the other middlewares redact, summarise or retry around, and its review
    comes before them. An accepted result, and one that is not judged, is handed on as it came. One that is flagged,
    blocked or redacted, or could not be verified, carries its verdict in ``response_metadata["agentguard"]``, which no
    model is sent.

    A blocked result is replaced, under the same ids, by a notice that tells the model to call again or to say that
    the result is missing. The raw result is still to be seen by ``stream_mode="tools"``, by ``on_tool_end`` callbacks
    and in traces: they are told by the tool itself, before any guard. Failed calls (an unknown tool, bad arguments, an
    exception) are no results: where the profile has content rules, their text is judged by these alone, and so are
    further messages that a tool puts into a ``Command`` or a list. An exception that goes through has placeholders in
    its text, or is ``ResultBlocked`` in its place. Tools of the provider and structured output never come here.

    Args:
        guard: the guard, or an engine. ``on_flag="review"`` asks a person about all flagged results of a turn by one
            interrupt (see ``ReviewNode``; needs a checkpointer). ``on_block="end"`` ends the run before the model is
            called again; the notice stays in the messages. ``on_block="raise"`` raises ``ResultBlocked`` out of the
            run: before the model is called again, where no error handling of a tool node can turn it into a message,
            and after all tools of the turn have finished. Resuming the thread raises again; a new message of the user
            goes on. In shadow mode results are unstamped and unsigned.
        rules: rules of the guard by name, see ``Guard``.
        signer: signs what the model is shown, such as ``receipt_signer()``: every result carries its verdict and a
            receipt then, for ``verify_transcript``. None: ``receipt_signer()`` signs only what is not accepted.
        events: emit each verdict as an event of ``stream_mode="custom"``.

    Raises:
        ConfigurationError: for a value that is not one of these.
    """

    def __init__(
        self,
        guard: Guard | VerificationEngine,
        *,
        signer: ReceiptSigner | None = None,
        events: bool = False,
        **rules: Unpack[Rules],
    ) -> None:
        super().__init__()
        self.guard: Guard = Guard.of(guard, "an agent", rules, on_flag=get_args(OnFlag), on_block=get_args(OnBlock))
        self._calls = GuardedCalls(self.guard, signer, events=events)
        self._review = ReviewNode(self.guard.engine, signer=signer)
        decides = self.guard.on_flag == "review" or self.guard.on_block in ("raise", "end")
        if decides and not self.guard.shadow:
            # LangChain makes a node of each hook that a class has, and a node that decides nothing costs some
            # milliseconds a turn. Which hooks there are is known here, for classes that inherit too.
            self.__class__ = _deciding(type(self))

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]]
    ) -> ToolMessage | Command[Any]:
        """Run the call under the guard."""
        settled: ToolMessage | Command[Any] = self._calls.run(request, handler)
        return settled

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]]
    ) -> ToolMessage | Command[Any]:
        """Run the call under the guard."""
        settled: ToolMessage | Command[Any] = await self._calls.arun(request, handler)
        return settled


class _Decisions(AgentMiddleware[AgentState[Any], Any, Any]):
    """The hooks of a middleware whose rules stop for what was blocked, or ask about what was flagged."""

    guard: Guard
    _review: ReviewNode

    @hook_config(can_jump_to=["end"])
    def before_model(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Stop for what was blocked, or ask about what was flagged, as the rules say."""
        if self._stops(state):
            return {"jump_to": "end"}
        return self._reviewed(state)

    @hook_config(can_jump_to=["end"])
    async def abefore_model(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:
        """``before_model`` for asynchronous runs."""
        return self.before_model(state, runtime)

    def after_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:
        """The same for tools with ``return_direct``, after which no model is called."""
        return None if self._stops(state) else self._reviewed(state)

    async def aafter_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:
        """``after_agent`` for asynchronous runs."""
        return self.after_agent(state, runtime)

    def _stops(self, state: AgentState[Any]) -> bool:
        if self.guard.on_block in (None, "replace"):
            return False
        blocked = blocked_in(messages_of(state, "messages"))
        if blocked is not None and self.guard.on_block == "raise":
            raise blocked
        return blocked is not None

    def _reviewed(self, state: AgentState[Any]) -> dict[str, Any] | None:
        return self._review(state) if self.guard.on_flag == "review" else None


def _deciding(kind: type[ToolGuardMiddleware]) -> type[ToolGuardMiddleware]:
    """The class with the hooks, under its own name; where it has some of its own, these come first."""
    return type(kind.__name__, (kind, _Decisions), {"__module__": kind.__module__, "__doc__": kind.__doc__})
