"""Guarding the tools of Google ADK agents: ``Runner(..., plugins=[GuardPlugin(engine)])``.

The trap: ADK asks its plugins in turn and stops at the first that answers. A plugin listed before the guard that
answers ``after_tool_callback`` keeps the result from it, so list the guard first; where the guard answers itself, the
plugins after it and the agents' own ``after_tool_callback`` are not asked about that result.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from agentguard.guard import Guard, Judgement, Outcome, Rules
from agentguard.guard._guard import CallGuard
from agentguard.guard._wording import appended
from agentguard.integrations._extras import needs
from agentguard.verification import VerificationEngine

try:
    from google.adk.plugins.base_plugin import BasePlugin
    from google.adk.tools.agent_tool import AgentTool
    from google.adk.tools.base_tool import BaseTool
    from google.adk.tools.set_model_response_tool import SetModelResponseTool
    from google.adk.tools.tool_context import ToolContext
except ImportError as error:
    raise needs("google_adk", error) from error

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["GuardPlugin"]

_SILENT = BasePlugin.before_tool_callback


class GuardPlugin(BasePlugin):
    """Judges what the tools of all agents of a runner return, before a model sees it.

    A flagged result has one more field, ``agentguard``, with a line for the model; a text has the line after it. A
    blocked one is ``{"error": notice}``. Of a tool that raised, the text of the exception and what another plugin
    makes of it are judged by the content rules of the profile alone. Not judged are agents as tools, structured
    output, and calls that wait for a confirmation; a result with an ``error`` is judged as the report of a failure.
    Where another's ``before_tool_callback`` could have answered in the tool's place, the latency counts as unknown.

    Args:
        guard: the guard, or an engine.
        rules: rules of the guard by name, see ``Guard``.
        session: gives the session of a call; None: the id of ADK's session.

    Raises:
        ConfigurationError: for a rule of the guard that cannot be acted on here.
    """

    def __init__(
        self,
        guard: Guard | VerificationEngine,
        *,
        session: Callable[[ToolContext], str | None] | None = None,
        **rules: Unpack[Rules],
    ) -> None:
        super().__init__(name="agentguard")
        self._guard = CallGuard.of(guard, "Google ADK", rules)
        self._session = session
        # When the calls under way began; None: the tool raised, and what there is now is another's answer.
        self._began: WeakKeyDictionary[ToolContext, float | None] = WeakKeyDictionary()

    async def before_tool_callback(self, *, tool_context: ToolContext, **call: Any) -> None:
        """Note the time."""
        self._began[tool_context] = perf_counter()

    async def on_tool_error_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext, error: Exception
    ) -> dict[str, Any] | None:
        """Note that the tool raised; a notice where the text of that is to be withheld."""
        self._began[tool_context] = None
        withheld = await self._guard.exception_async(self._described(tool, tool_args, tool_context), error)
        return None if withheld is None else self._blocked(withheld, tool)

    async def after_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext, result: Any
    ) -> dict[str, Any] | None:
        """Judge the result; None where it stands. A blocked one is raised here, where ``on_block`` is ``raise``."""
        ended, began = perf_counter(), self._began.get(tool_context, 0.0)
        if not self._guard.covers(tool.name) or not _is_answer(tool, tool_context, result):
            return None
        described = self._described(tool, tool_args, tool_context)
        took = (ended - began) * 1000.0 if began and not self._others_answer(tool_context) else None
        own = described._replace(result=result, execution_time_ms=took, is_error=_is_failure(result))
        outcome = self._guard.error_text(described, result) if began is None else own
        if outcome is None:
            return None
        judgement, made = await self._guard.judge_async(outcome), 1
        while self._guard.again(outcome, judgement, made):
            made, began = made + 1, perf_counter()
            try:
                result = await tool.run_async(args=tool_args, tool_context=tool_context)
            except Exception:  # the block stands
                break
            took = (perf_counter() - began) * 1000.0
            outcome = outcome._replace(result=result, execution_time_ms=took, is_error=_is_failure(result))
            judgement = await self._guard.judge_async(outcome)
        if judgement.action == "replace":
            return self._blocked(judgement, tool)
        if made == 1 and not judgement.line and not judgement.redact:
            return None
        return _lined(await judgement.shown_async(result), judgement.line)

    def _described(self, tool: BaseTool, args: dict[str, Any], context: ToolContext) -> Outcome:
        session = context.session.id if self._session is None else self._session(context)
        return Outcome(tool.name, dict(args), None, None, session, context.function_call_id)

    def _blocked(self, judgement: Judgement, tool: BaseTool) -> dict[str, Any]:
        if self._guard.on_block == "raise":
            raise self._guard.error(judgement, tool.name)
        return {"error": judgement.notice}

    def _others_answer(self, tool_context: ToolContext) -> bool:
        """Somebody else may answer in a tool's place, and nothing tells."""
        invocation: Any = tool_context._invocation_context
        others = {
            type(plugin).before_tool_callback for plugin in invocation.plugin_manager.plugins if plugin is not self
        }
        return bool(getattr(invocation.agent, "canonical_before_tool_callbacks", ()) or others - {_SILENT})


def _is_answer(tool: BaseTool, tool_context: ToolContext, result: Any) -> bool:
    """The tool ran, and this is what it returned."""
    actions, confirmation = tool_context.actions, getattr(tool_context, "tool_confirmation", None)
    waits = actions.requested_tool_confirmations or actions.requested_auth_configs
    refused = confirmation is not None and not confirmation.confirmed
    later = result is None and (tool.is_long_running or getattr(tool, "_defers_response", False))
    return not (waits or refused or later or isinstance(tool, (AgentTool, SetModelResponseTool)))


def _is_failure(result: Any) -> bool:
    """The framework's own reading: a field ``error``, or the mark of MCP's answers."""
    return isinstance(result, dict) and bool(result.get("error") or result.get("isError"))


def _lined(shown: Any, line: str) -> dict[str, Any]:
    """The result as ADK would have made a dict of it, with the line where there is one."""
    if isinstance(shown, str) and line:
        return {"result": appended(shown, line)}
    fields = shown if isinstance(shown, dict) else {"result": shown}
    return {**fields, "agentguard": line} if line else fields
