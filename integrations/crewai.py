"""Guarding the tools of CrewAI: ``with guard_crew(engine): crew.kickoff()``.

Two traps. CrewAI swallows whatever a hook raises, but for ``HookAborted``, and goes on with the result: so nothing here
relies on raising, and ``on_block="raise"`` raises that one. And where a crew caches, what a tool returned is in the
cache before the hook is asked: a call that is made again would be answered by the blocked result, so a block takes it
out.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable
from contextlib import ExitStack
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

from agentguard.guard import Guard, Outcome, Rules
from agentguard.guard._guard import CallGuard
from agentguard.guard._wording import appended, notice_of
from agentguard.integrations._extras import needs
from agentguard.verification import VerificationEngine

try:
    from crewai.hooks import HookAborted, InterceptionPoint, ToolCallHookContext, register_hook, unregister_hook
except ImportError as error:
    raise needs("crewai", error) from error

if TYPE_CHECKING:
    from crewai import Crew
    from typing_extensions import Unpack

__all__ = ["guard_crew"]

_WITHHELD = "The result could not be verified and was withheld."
_log = logging.getLogger("agentguard")
# How CrewAI begins what it says itself of a call that failed.
_FAILED = (
    "Error executing tool: ",
    "I encountered an error while trying to use the tool.",
    "I tried reusing the same ",
)


class _Begun(NamedTuple):
    started: float
    cached: bool


def guard_crew(
    guard: Guard | VerificationEngine,
    crew: Crew | None = None,
    *,
    session: Callable[[ToolCallHookContext], str | None] | None = None,
    **rules: Unpack[Rules],
) -> ExitStack:
    """Judge what the tools of a crew, or of all crews and agents, return, before a model sees it.

    CrewAI's hooks are the process's: they stay until the context manager that is returned is left, or ``close()`` is
    called on it.

    A flagged result has a line after it, a blocked one is replaced by a notice. The tool's own value is judged, not the
    text that CrewAI makes of it. A tool that raised is judged by what CrewAI tells the model, as the report of a
    failure; a result from CrewAI's cache has no latency.

    Args:
        guard: the guard, or an engine.
        rules: rules of the guard by name, see ``Guard``.
        crew: whose calls to judge; None: those of all crews, and of agents without one.
        session: gives the session of a call; None: the id of the crew, or of the agent.

    Raises:
        ConfigurationError: for a rule of the guard that cannot be acted on here.
    """
    calls = CallGuard.of(guard, "CrewAI", rules)
    begun: dict[int, _Begun] = {}  # by the identity of a call's arguments, which are one object before and after it

    def before(context: ToolCallHookContext) -> None:
        begun[id(context.tool_input)] = _Begun(perf_counter(), _cache_of(context)("read") is not None)

    def after(context: ToolCallHookContext) -> str | None:
        ended, call = perf_counter(), begun.pop(id(context.tool_input), None)
        raw, shown = context.raw_tool_result, context.tool_result or ""
        other = crew is not None and context.crew is not crew
        if other or not calls.covers(context.tool_name) or _is_unmade(raw, context.tool_name):
            return None
        try:
            said = isinstance(raw, str) and raw.lstrip().startswith(_FAILED)
            failed = said or hasattr(raw, "as_agent_message")  # a ToolFailure
            took = None if call is None or call.cached else (ended - call.started) * 1000.0
            name = (session or _session_of)(context)
            args, result = dict(context.tool_input), shown if failed else raw
            judgement = calls.judge(Outcome(context.tool_name, args, result, took, name, uuid4().hex, failed))
            if judgement.action != "replace":
                changed = judgement.shown(shown)
                changed = appended(changed, judgement.line) if judgement.line else changed
                return None if changed == shown else str(changed)
            _cache_of(context)("add", output=None)
            notice, blocked = judgement.notice, calls.error(judgement, context.tool_name)
        except Exception as error:  # CrewAI would swallow it, and hand the result on
            _log.error("guarding a result of %r failed: %s", context.tool_name, type(error).__name__)
            return None if calls.on_guard_error == "open" or calls.shadow else notice_of(_WITHHELD)
        if calls.on_block == "raise":
            raise HookAborted(notice, source="agentguard") from blocked
        return notice

    hooks = ExitStack()
    for point, hook in ((InterceptionPoint.PRE_TOOL_CALL, before), (InterceptionPoint.POST_TOOL_CALL, after)):
        register_hook(point, hook)
        hooks.callback(unregister_hook, point, hook)
    return hooks


def _is_unmade(raw: Any, tool: str) -> bool:
    """CrewAI says that it made no call; all of it counts, for a tool could begin like that, and go on."""
    name = re.escape(tool)
    spent = rf"Tool '{name}' has reached its usage limit of \d+ times and cannot be used anymore\."
    said = rf"Tool not found|Tool execution blocked by hook\. Tool: {name}|{spent}"
    return isinstance(raw, str) and re.fullmatch(said, raw) is not None


def _cache_of(context: ToolCallHookContext) -> Callable[..., Any]:
    """Give access to the agent's cache of this call, for reading and adding; without a cache it does nothing."""
    cache = getattr(getattr(context.agent, "tools_handler", None), "cache", None)
    call = {"tool": context.tool_name, "input": json.dumps(context.tool_input) if context.tool_input else ""}
    return lambda what, **more: None if cache is None else getattr(cache, what)(**call, **more)


def _session_of(context: ToolCallHookContext) -> str | None:
    owner = getattr(context.crew or context.agent, "id", None)
    return None if owner is None else str(owner)
