"""Guarding the tools of a Strands agent: ``Agent(hooks=[GuardHooks(engine)])``.

The trap: what a hook raises after a tool call does not end the run. Strands makes an error result of it, which the
model reads, and asks the hooks once more. So a block replaces the result; where it is to be raised, it is raised again
when Strands asks again, and that ends the run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentguard.errors import ResultBlocked
from agentguard.guard import Guard, Judgement, Outcome, Rules
from agentguard.guard._exceptions import is_signal
from agentguard.guard._guard import CallGuard, apart
from agentguard.integrations._extras import needs
from agentguard.integrations._latency import stopwatch
from agentguard.verification import VerificationEngine

try:
    from strands.hooks import AfterToolCallEvent, BeforeToolCallEvent, HookOrder, HookProvider, HookRegistry
except ImportError as error:
    raise needs("strands", error) from error

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["GuardHooks"]

_OWN = ("content", "status", "toolUseId")  # a result's own fields; servers of MCP have more


@dataclass
class _Call:
    """One call under way: how often it was made, its stopwatch, what was raised for it."""

    made: int = 1
    stop: Callable[[], float] | None = None
    raised: ResultBlocked | None = None


class GuardHooks(HookProvider):
    """Judges what the tools of an agent return, before the model or any other hook sees it.

    A flagged result has one more text after its content, a blocked one is an error result with a notice as its only
    content. Of a tool that raised, what the model reads is judged by the profile's content rules alone; structured
    output is not judged, and a failure that the tool reports itself is judged as one. What a tool streams before it
    returns is not held back, and an answer that a middleware gives in a tool's place is taken for the tool's own.

    Args:
        guard: the guard, or an engine.
        rules: rules of the guard by name, see ``Guard``.
        session: gives the session of a call; None: the id of the agent's session manager, where it has one.

    Raises:
        ConfigurationError: for a rule of the guard that cannot be acted on here.
    """

    def __init__(
        self,
        guard: Guard | VerificationEngine,
        *,
        session: Callable[[AfterToolCallEvent], str | None] | None = None,
        **rules: Unpack[Rules],
    ) -> None:
        self._guard = CallGuard.of(guard, "Strands", rules)
        self._session = _session_of if session is None else session
        self._calls: dict[tuple[int, str], _Call] = {}

    def register_hooks(self, registry: HookRegistry, **kwargs: Any) -> None:
        """Come last before a call, and first after it."""
        registry.add_callback(BeforeToolCallEvent, self._before, order=HookOrder.SDK_LAST)
        registry.add_callback(AfterToolCallEvent, self._after, order=HookOrder.SDK_FIRST)

    async def _before(self, event: BeforeToolCallEvent) -> None:
        call = self._calls.setdefault(_key_of(event), _Call())
        call.stop = stopwatch(getattr(event.selected_tool, "__wrapped__", None))

    async def _after(self, event: AfterToolCallEvent) -> None:
        call = self._calls.pop(_key_of(event), _Call())
        took = None if call.stop is None else call.stop()
        if call.raised is not None and event.exception is call.raised:
            raise call.raised
        tool, selected = event.tool_use["name"], event.selected_tool
        is_call = event.cancel_message is None and selected is not None
        if not is_call or getattr(selected, "tool_type", "") == "structured_output" or not self._guard.covers(tool):
            return
        if took is not None and event.duration is not None:
            took = min(took, event.duration * 1000.0)  # of which the one may hold a wait for a thread, or for a turn
        result, failed = _value_of(event.result["content"]), event.result["status"] == "error"
        args, session, call_id = event.tool_use["input"], self._session(event), event.tool_use["toolUseId"]
        outcome = Outcome(tool, args, result, took, session, call_id, failed)
        if event.exception is not None:  # the result is Strands' own text on it
            text = None if is_signal(event.exception) else self._guard.error_text(outcome, result)
            if text is None:
                return
            outcome = text
        judgement = await self._guard.judge_async(outcome)
        again = self._guard.again(outcome, judgement, call.made)
        if again:
            self._calls[_key_of(event)] = _Call(call.made + 1)
            event.retry = True
        if judgement.action != "replace":
            if judgement.line or judgement.redact:
                about = result if judgement.redact else None
                event.result = await apart(_shown, event.result, judgement, about=about)
            return
        if not again and self._guard.on_block == "raise":
            error = self._guard.error(judgement, tool)
            self._calls[_key_of(event)] = _Call(raised=error)
            raise error
        event.result = {"toolUseId": call_id, "status": "error", "content": [{"text": judgement.notice}]}


def _key_of(event: BeforeToolCallEvent | AfterToolCallEvent) -> tuple[int, str]:
    return id(event.agent), event.tool_use["toolUseId"]


def _value_of(content: list[Any]) -> Any:
    values = [block.get("text", block.get("json", block)) for block in content]
    return values[0] if len(values) == 1 else values


def _shown(result: Any, judgement: Judgement) -> Any:
    """The result with the line after it, and with placeholders wherever there was what is to be redacted."""
    shown = {key: value if key in _OWN else judgement.shown(value) for key, value in result.items()}
    content = [
        {name: judgement.shown(value) for name, value in block.items()} if {"text", "json"} & block.keys() else block
        for block in result["content"]
    ]
    return {**shown, "content": [*content, {"text": judgement.line}] if judgement.line else content}


def _session_of(event: AfterToolCallEvent) -> str | None:
    return getattr(getattr(event.agent, "_session_manager", None), "session_id", None)
