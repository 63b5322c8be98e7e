"""Guarding the function tools of the OpenAI Agents SDK: ``guard_tool`` and ``guard_agent``."""

from __future__ import annotations

import copy
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar

import orjson

from agentguard.errors import ConfigurationError
from agentguard.guard import Guard, Judgement, Outcome, Rules
from agentguard.guard._guard import Attempt, CallGuard
from agentguard.guard._wording import appended
from agentguard.integrations._extras import needs
from agentguard.integrations._latency import stopwatch
from agentguard.verification import VerificationEngine

try:
    from agents import (
        Agent,
        FunctionTool,
        Tool,
        ToolGuardrailFunctionOutput,
        ToolOriginType,
        ToolOutputFileContent,
        ToolOutputGuardrail,
        ToolOutputGuardrailData,
        ToolOutputImage,
        ToolOutputText,
    )
    from agents.mcp import MCPServer
    from agents.tool import get_function_tool_origin
    from agents.tool_context import ToolContext
    from pydantic import TypeAdapter, ValidationError
except ImportError as error:
    raise needs("openai_agents", error) from error

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["guard_agent", "guard_tool"]

_JUDGEMENT = "agentguard_judgement"
_SHOWN: TypeAdapter[Any] = TypeAdapter(ToolOutputText | ToolOutputImage | ToolOutputFileContent)
Context = TypeVar("Context")
Invoke = Callable[[ToolContext[Any], str], Awaitable[Any]]
Session = Callable[[ToolContext[Any]], str | None]


def guard_tool(
    tool: FunctionTool,
    guard: Guard | VerificationEngine,
    *,
    session: Session | None = None,
    **rules: Unpack[Rules],
) -> FunctionTool:
    """A copy of a function tool whose results are judged; the tool itself stays as it is.

    The raw output and its latency are taken inside the SDK's own handling of exceptions, so an exception that the SDK
    turns into a message for the model is no result, and not learned from. Where the profile has content rules its text
    is judged by these alone: what is to be redacted is taken out of the exception, and a blocked one is rejected
    content. ``RunResult.tool_output_guardrail_results`` has an entry for each call, with the verdict on what is not
    accepted, or redacted.

    A hand-made ``FunctionTool`` that reports its own failures as text is judged by that text.

    Args:
        tool: a function tool.
        guard: the guard, or an engine.
        rules: rules of the guard by name, see ``Guard``.
        session: gives the session of a call; None: the run's ``group_id``, where there is one.

    Raises:
        ConfigurationError: for a rule of the guard that cannot be acted on here, or an agent as a tool.
    """
    calls = CallGuard.of(guard, "the Agents SDK", rules)
    if _is_agent(tool):
        raise ConfigurationError(f"{tool.name!r} is an agent; guard the tools of that agent instead")
    return _guarded(tool, calls, session or _group_of)


def guard_agent(
    agent: Agent[Context],
    guard: Guard | VerificationEngine,
    *,
    session: Session | None = None,
    **rules: Unpack[Rules],
) -> Agent[Context]:
    """A clone of an agent whose tools are guarded, as ``guard_tool`` guards one.

    Hosted tools run at the provider and cannot be guarded here. Agents that this one hands off to, or has as tools,
    are guarded each for itself.

    Tools of its MCP servers are judged by what the SDK makes of their answers, under the names that the model knows,
    without their time; no call is made again. A guardrail can put a text in the place of an answer and nothing else:
    where something is redacted or a line is added, the model reads the texts alone, and an answer with pictures gets no
    line. The clone has the servers themselves, seen with one guardrail more: they are connected and closed as ever.

    Args:
        agent: the agent.
        guard: the guard, or an engine.
        rules: rules of the guard by name, see ``Guard``.
        session: as for ``guard_tool``.

    Raises:
        ConfigurationError: for a rule of the guard that cannot be acted on here.
    """
    calls = CallGuard.of(guard, "the Agents SDK", rules)
    made: list[Tool] = [
        _guarded(tool, calls, session or _group_of)
        if isinstance(tool, FunctionTool) and calls.covers(tool.name) and not _is_agent(tool)
        else tool
        for tool in agent.tools
    ]
    servers = [_guarded_server(server, calls, session or _group_of) for server in agent.mcp_servers]
    return agent.clone(tools=made, mcp_servers=servers)


def _guarded(tool: FunctionTool, guard: CallGuard, session: Session) -> FunctionTool:
    made = copy.copy(tool)
    invoker: Any = made.on_invoke_tool
    inner = getattr(invoker, "_invoke_tool_impl", None)
    if inner is None:
        made.on_invoke_tool = _probe(tool, invoker, guard, session)
    else:
        # A tool of @function_tool: the invoker turns what its inner function raises into text for the model, where
        # nobody can tell it from a result any more. So the probe goes inside.
        invoker = copy.copy(invoker)
        invoker._invoke_tool_impl = _probe(tool, inner, guard, session)
        made.on_invoke_tool = invoker
    made.tool_output_guardrails = [_guardrail(guard), *(tool.tool_output_guardrails or ())]
    return made


def _probe(tool: FunctionTool, invoke: Invoke, guard: CallGuard, session: Session) -> Invoke:
    """The tool's invocation, judged. What is blocked leaves as a notice, whether or not guardrails run after it."""
    function = getattr(tool, "__wrapped__", None)

    async def invoke_and_judge(context: ToolContext[Any], arguments: str) -> Any:
        call_id = getattr(context, "tool_call_id", None)
        described = Outcome(tool.name, _parsed(arguments), None, None, session(context), call_id)

        async def attempt() -> Attempt[Any]:
            stop = stopwatch(function)
            result = await invoke(context, arguments)
            return result, described._replace(result=result, execution_time_ms=stop())

        result, judgement = await guard.settle_async(attempt, described)
        if judgement is None:
            return result
        vars(context)[_JUDGEMENT] = judgement
        if judgement.action == "replace":
            return judgement.notice
        shown = await judgement.shown_async(result)
        return _lined(shown, judgement.line) if judgement.line else shown

    vars(invoke_and_judge).update(getattr(invoke, "__dict__", {}))  # the marks by which the SDK knows its functions
    return invoke_and_judge


def _lined(output: Any, line: str) -> Any:
    """The output with a line after it, in the form in which the SDK shows it to the model."""
    parts = list(output) if isinstance(output, (list, tuple)) else [output]
    if parts and all(map(_is_shown_as_it_is, parts)):
        return [*parts, ToolOutputText(text=line)]
    return appended(str(output), line)


def _is_shown_as_it_is(part: Any) -> bool:
    """The SDK knows it for a text, an image or a file, and does not make a text of it."""
    if isinstance(part, (ToolOutputText, ToolOutputImage, ToolOutputFileContent)):
        return True
    if not isinstance(part, dict) or "type" not in part:
        return False
    try:
        _SHOWN.validate_python(part)
    except ValidationError:
        return False
    return True


def _guardrail(guard: CallGuard) -> ToolOutputGuardrail[Any]:
    """Tells the SDK what the probe found: the verdict into the run's results, and a rejection as a rejection."""

    def report(data: ToolOutputGuardrailData) -> ToolGuardrailFunctionOutput:
        judgement = vars(data.context).pop(_JUDGEMENT, None)
        return _reported(judgement, guard)  # None: the tool raised

    return ToolOutputGuardrail(report, name="agentguard")


def _reported(judgement: Judgement | None, guard: CallGuard) -> ToolGuardrailFunctionOutput:
    if judgement is None or (judgement.verdict == "accept" and not judgement.redact):
        return ToolGuardrailFunctionOutput.allow()
    if judgement.action != "replace":
        return ToolGuardrailFunctionOutput.allow(judgement.as_dict())
    if guard.on_block == "raise":
        return ToolGuardrailFunctionOutput.raise_exception(judgement.as_dict())
    return ToolGuardrailFunctionOutput.reject_content(judgement.notice, judgement.as_dict())


# --- MCP servers ---


def _guarded_server(server: MCPServer, guard: CallGuard, session: Session) -> MCPServer:
    """The server itself, as it stands and goes on, but for the guardrails that its tools are given."""
    guardrail = _mcp_guardrail(guard, session)
    kind = type(server)
    guardrails = property(lambda self: [guardrail, *(server.tool_output_guardrails or ())])
    made: MCPServer = object.__new__(type(kind.__name__, (kind,), {"tool_output_guardrails": guardrails}))
    made.__dict__ = vars(server)  # one state: who connects the one has connected the other
    return made


def _mcp_guardrail(guard: CallGuard, session: Session) -> ToolOutputGuardrail[Any]:
    """Judges what the SDK is about to show of an MCP server's answer."""

    async def judge(data: ToolOutputGuardrailData) -> ToolGuardrailFunctionOutput:
        context, output = data.context, data.output
        if not guard.covers(context.tool_name):
            return ToolGuardrailFunctionOutput.allow()
        described = Outcome(
            context.tool_name, _parsed(context.tool_arguments), None, None, session(context), context.tool_call_id
        )
        # Of answers the SDK makes parts, or JSON: other text is its own, on an exception.
        raised = isinstance(output, str) and not isinstance(_parsed(output), dict)
        outcome = guard.error_text(described, output) if raised else described._replace(result=_said(output))
        judgement = None if outcome is None else await guard.judge_async(outcome)
        if judgement is None or judgement.action == "replace":
            return _reported(judgement, guard)
        texts = _texts_in(output)
        shown = [str(await judgement.shown_async(text)) for text in texts]
        if judgement.line and len(texts) == len(_parts(output)):
            shown = [*shown[:-1], appended(shown[-1] if shown else "", judgement.line)]
        if shown == texts:
            return _reported(judgement, guard)
        return ToolGuardrailFunctionOutput.reject_content("\n".join(shown), judgement.as_dict())

    return ToolOutputGuardrail(judge, name="agentguard")


def _parts(output: Any) -> list[Any]:
    return output if isinstance(output, list) else [output]


def _texts_in(output: Any) -> list[str]:
    said = [part.get("text") if isinstance(part, dict) else part for part in _parts(output)]
    return [text for text in said if isinstance(text, str)]


def _said(output: Any) -> Any:
    """The value to judge: the texts of parts that are texts, and other parts as they are."""
    said = [part["text"] if isinstance(part, dict) and "text" in part else part for part in _parts(output)]
    return said[0] if len(said) == 1 else said


def _is_agent(tool: FunctionTool) -> bool:
    origin = get_function_tool_origin(tool)
    return origin is not None and origin.type is ToolOriginType.AGENT_AS_TOOL


def _parsed(arguments: str) -> Any:
    try:
        return orjson.loads(arguments) if arguments else {}
    except ValueError:
        return arguments


def _group_of(context: ToolContext[Any]) -> str | None:
    config = getattr(context, "run_config", None)
    return None if config is None else config.group_id
