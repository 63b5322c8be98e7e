"""Guarding the tools of a pydantic-ai agent: ``Agent(..., capabilities=[GuardCapability(engine)])``."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass, is_dataclass, replace
from functools import wraps
from inspect import iscoroutinefunction
from time import perf_counter
from typing import TYPE_CHECKING, Any

from agentguard.content._bytes import text_in
from agentguard.content._results import text_of
from agentguard.guard import Guard, Judgement, Outcome, Rules
from agentguard.guard._exceptions import texts_of
from agentguard.guard._guard import Attempt, CallGuard
from agentguard.guard._wording import appended
from agentguard.integrations._extras import needs
from agentguard.verification import VerificationEngine

try:
    from pydantic_ai import RunContext, ToolDefinition
    from pydantic_ai.capabilities import AbstractCapability, CapabilityOrdering, Instrumentation
    from pydantic_ai.exceptions import ModelRetry, SkipToolExecution, ToolFailed
    from pydantic_ai.messages import BinaryContent, ToolCallPart, ToolReturn
    from pydantic_ai.toolsets import AbstractToolset, ToolsetTool, WrapperToolset
except ImportError as error:
    raise needs("pydantic_ai", error) from error

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["GuardCapability"]

_KEY = "agentguard"


@dataclass
class _Run:
    """One attempt at a call.

    ``finished`` stays False where the tool raised; ``reported`` is the failure that it reported by the framework's
    means.
    """

    milliseconds: float | None = None
    result: Any = None
    finished: bool = False
    reported: ToolFailed | ModelRetry | None = None


_runs: ContextVar[list[_Run] | None] = ContextVar("agentguard_runs", default=None)


@dataclass(init=False, eq=False)
class GuardCapability(AbstractCapability[Any]):
    """Judges what the function tools of an agent return, before the model sees it.

    It is the outermost capability. The tool's own return value is judged, with the latency of the tool alone; where
    another capability answered in the tool's place, the latency counts as unknown. A failure that the tool reports by
    ``ToolFailed`` or ``ModelRetry`` is judged as one; any other exception passes through and is not learned from.

    A flagged result is handed on as it is, with a line beside it (``ToolReturn.content``) that the model reads after
    the results of the turn; a reported failure has it in its message. A blocked result is reported by ``ToolFailed``:
    the model reads a notice, as a failed call. The verdict on one that is flagged or redacted is in the ``metadata`` of
    the ``ToolReturnPart``, which the model does not see. The profile's content rules alone judge what else the model
    may read: ``content`` beside the value of a ``ToolReturn``, texts in files and addresses there too, what another
    capability made of the value, and the text of an exception. ``metadata`` is not judged.

    Args:
        guard: the guard, or an engine.
        rules: rules of the guard by name, see ``Guard``.
        session: gives the session of a call; None: the run's ``conversation_id``.

    Raises:
        ConfigurationError: for a rule of the guard that cannot be acted on here.
    """

    def __init__(
        self,
        guard: Guard | VerificationEngine,
        *,
        session: Callable[[RunContext[Any]], str | None] | None = None,
        **rules: Unpack[Rules],
    ) -> None:
        self._guard = CallGuard.of(guard, "pydantic-ai", rules)
        self._session = session

    @classmethod
    def get_serialization_name(cls) -> None:
        """None: an engine cannot be written into an agent's spec."""

    def get_ordering(self) -> CapabilityOrdering:
        """The guard sees what all other capabilities made of a result, within the span of the call."""
        return CapabilityOrdering(position="outermost", wrapped_by=[Instrumentation])

    def get_wrapper_toolset(self, toolset: AbstractToolset[Any]) -> AbstractToolset[Any]:
        """The toolset with a stopwatch at each tool, inside of all other capabilities."""
        return toolset.visit_and_replace(_TimedToolset)

    async def wrap_tool_execute(
        self,
        ctx: RunContext[Any],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, Any],
        handler: Callable[[dict[str, Any]], Awaitable[Any]],
    ) -> Any:
        """Let the tool run, and judge what it returned.

        Raises:
            ToolFailed: for a blocked result.
            ResultBlocked: instead, where ``on_block`` is ``raise``.
        """
        tool = call.tool_name
        if not self._guard.covers(tool):
            return await handler(args)
        session = ctx.conversation_id if self._session is None else self._session(ctx)
        described = Outcome(tool, dict(args), None, None, session, call.tool_call_id)

        async def attempt() -> Attempt[Callable[[], Any]]:
            runs: list[_Run] = []
            token = _runs.set(runs)
            try:
                returned = await handler(args)
            except SkipToolExecution as skipped:
                shown = skipped.result
                return _raiser(skipped), described._replace(result=_value_of(shown), beside=_beside(shown))
            except Exception as error:
                run = runs[-1] if runs else None
                # The framework has put what the tool raised into an exception of its own. Any other is another
                # capability's, or the framework's word: a time limit that ran out, say.
                reported = None if run is None else run.reported
                if run is None or reported is None or not (reported is error or reported is error.__cause__):
                    if not _parts_of(error):
                        raise
                    return _raiser(error), self._guard.error_text(described, texts_of(error))
                message, took = reported.message, run.milliseconds
                return _raiser(error), described._replace(result=message, execution_time_ms=took, is_error=True)
            finally:
                _runs.reset(token)
            last = runs[-1] if runs else None
            value, more = _value_of(returned), _beside(returned)
            if last is None:  # another capability answered
                return (lambda: returned), described._replace(result=value, beside=more)
            if not last.finished:  # the tool raised, and another capability made an answer of it
                outcome = self._guard.error_text(described, value)
                return (lambda: returned), None if outcome is None else outcome._replace(beside=more)
            own, took = _value_of(last.result), last.milliseconds
            if value is not own:  # it is what another capability made of it that is shown
                more = [value, *(more or ())]
            return (lambda: returned), described._replace(result=own, execution_time_ms=took, beside=more)

        give, judgement = await self._guard.settle_async(attempt, described)
        if judgement is None or (judgement.action == "pass" and not judgement.redact):
            return give()
        if judgement.action != "replace":
            return await _handed_on(give, judgement)
        if self._guard.on_block == "raise":
            raise self._guard.error(judgement, tool)
        raise ToolFailed(judgement.notice)


@dataclass
class _TimedToolset(WrapperToolset[Any]):
    """A toolset that notes how long each tool took and what it returned."""

    @property
    def id(self) -> str | None:
        return self.wrapped.id

    @property
    def label(self) -> str:
        return self.wrapped.label

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        runs = _runs.get()
        if runs is None:
            return await super().call_tool(name, tool_args, ctx, tool)
        run = _Run()
        runs.append(run)
        started = perf_counter()
        try:
            run.result = await super().call_tool(name, tool_args, ctx, _watched(tool, run))
            run.finished = True
        except (ToolFailed, ModelRetry) as error:
            if not hasattr(tool, "call_func"):  # no function whose failures could be told from the toolset's
                run.reported = error
            raise
        finally:
            if run.milliseconds is None:
                run.milliseconds = (perf_counter() - started) * 1000.0
        return run.result


def _watched(tool: ToolsetTool[Any], run: _Run) -> ToolsetTool[Any]:
    """The tool of a function, which notes what the function itself reports and takes; any other tool as it is."""
    if not hasattr(tool, "call_func"):
        return tool
    probed: Any = _timed(tool, run)
    call = probed.call_func

    async def noted(*args: Any, **kwargs: Any) -> Any:
        try:
            return await call(*args, **kwargs)
        except (ToolFailed, ModelRetry) as error:
            run.reported = error
            raise

    watched: ToolsetTool[Any] = replace(probed, call_func=noted)
    return watched


def _timed(tool: ToolsetTool[Any], run: _Run) -> ToolsetTool[Any]:
    """The tool of a plain function with a stopwatch around the function itself, inside the thread that it runs in.

    Around the call, the time of waiting for a free thread would count. Any other tool is handed on as it is.
    """
    schema = getattr(getattr(tool, "call_func", None), "__self__", None)
    function = getattr(schema, "function", None)
    if schema is None or function is None or getattr(tool, "is_async", True) or iscoroutinefunction(function):
        return tool

    @wraps(function)
    def timed(*args: Any, **kwargs: Any) -> Any:
        started = perf_counter()
        try:
            return function(*args, **kwargs)
        finally:
            run.milliseconds = (perf_counter() - started) * 1000.0

    probe: Any = replace(schema, function=timed)
    probed: Any = tool
    made: ToolsetTool[Any] = replace(probed, call_func=probe.call)
    return made


def _value_of(returned: Any) -> Any:
    return returned.return_value if isinstance(returned, ToolReturn) else returned


def _beside(returned: Any) -> list[str] | None:
    """The texts of what a tool says to the model beside its value; None where it says nothing."""
    content = returned.content if isinstance(returned, ToolReturn) else None
    items = [content] if isinstance(content, str) else content or ()
    return [text for item in items for text in _texts_of(item)] or None


def _texts_of(item: Any) -> list[str]:
    """What a part of a prompt says: its text, its texts in JSON, its address, or its bytes where they are text."""
    if isinstance(item, str):
        return [item]
    if isinstance(item, BinaryContent):
        text = text_in(item.data)
        return [] if text is None else [text]  # a picture, a sound
    fields = vars(item) if is_dataclass(item) else {}
    said = [value for name, value in fields.items() if name in ("content", "url", "value")]
    return [text_of(value) for value in said if isinstance(value, (str, dict, list))]


async def _handed_on(give: Callable[[], Any], judgement: Judgement) -> Any:
    """Hand on a tool's result, by return or by exception, with its verdict and the line for the model."""
    try:
        returned = give()
    except SkipToolExecution as skipped:
        raise SkipToolExecution(await _annotated(skipped.result, judgement)) from skipped
    except Exception as error:
        _tell(error, judgement)
        raise
    return await _annotated(returned, judgement)


def _tell(error: Exception, judgement: Judgement) -> None:
    """Put the line into what the model is told of a failure; the exception counts the tries and stays itself."""

    def told(text: str) -> str:
        shown = judgement.shown(text)
        return appended(shown, judgement.line) if judgement.line else str(shown)

    for name, part in _parts_of(error).items():
        if isinstance(part, str):
            setattr(error, name, told(part))
        elif isinstance(part.content, str):
            setattr(error, name, replace(part, content=told(part.content)))


def _parts_of(error: Exception) -> dict[str, Any]:
    """What an exception of the framework's own has for the model, by attribute: a text, or a message with one."""
    names = ("message",) if isinstance(error, (ToolFailed, ModelRetry)) else ("tool_failed", "tool_retry")
    return {name: getattr(error, name) for name in names if hasattr(error, name)}


async def _annotated(returned: Any, judgement: Judgement) -> ToolReturn[Any]:
    """The result with its verdict; metadata that is no dict is its application's own and stays as it is."""
    made = returned if isinstance(returned, ToolReturn) else ToolReturn(returned)
    if judgement.redact:
        content: Any = made.content
        if content is not None and not isinstance(content, str):
            content = [await _redacted(item, judgement) for item in content]
        elif content is not None:
            content = await judgement.shown_async(content)
        made = replace(made, return_value=await judgement.shown_async(made.return_value), content=content)
    if judgement.line:
        beside = [made.content] if isinstance(made.content, str) else list(made.content or ())
        made = replace(made, content=[*beside, judgement.line])
    if made.metadata is not None and not isinstance(made.metadata, dict):
        return made
    return replace(made, metadata={**(made.metadata or {}), _KEY: judgement.as_dict()})


async def _redacted(item: Any, judgement: Judgement) -> Any:
    """A part of a prompt with placeholders, as text; one with nothing to redact as it is."""
    texts = _texts_of(item)
    shown = [await judgement.shown_async(text) for text in texts]
    return item if shown == texts else "\n".join(map(str, shown))


def _raiser(error: Exception) -> Callable[[], Any]:
    def give() -> Any:
        raise error

    return give
