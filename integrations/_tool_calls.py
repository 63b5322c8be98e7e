"""A probe on a LangChain tool: what it really returned and how long it really took.

What a wrapper gets back is a message: the value has become text, and on a busy executor most of the time around the
handler is waiting. The probe sits where the tool itself is called, in the thread that runs it.
"""

from __future__ import annotations

import functools
import inspect
import logging
from asyncio import to_thread
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from time import perf_counter
from types import FunctionType, MethodType
from typing import Any, NamedTuple, get_type_hints
from weakref import WeakKeyDictionary, ref

from agentguard.integrations._extras import needs

try:
    from langchain_core.messages import ToolCall, ToolMessage
    from langchain_core.tools import BaseTool, StructuredTool, ToolException
    from langchain_core.tools import Tool as SingleInputTool
    from langgraph.prebuilt.tool_node import ToolCallRequest
except ImportError as error:
    raise needs("langgraph", error) from error

from agentguard.guard import Guard, Judgement, Outcome
from agentguard.guard._guard import is_large
from agentguard.guard._read_back import Answer, FindCall, rules_of
from agentguard.guard._wording import lined
from agentguard.integrations._messages import (
    Message,
    beside,
    content_value,
    rewritten,
    shown_value,
    stamped,
    tool_message,
    tool_messages,
    unstamped,
    withheld,
    without_redacted,
)
from agentguard.integrations.receipts import as_text, receipt_signer, seal
from agentguard.verification.receipts import ReceiptSigner


class Attempt(NamedTuple):
    """One run of the tool.

    Attributes:
        returned: False where it raised; ``value`` is None then.
        value: what it returned, untouched.
        error: what it raised; None where it returned.
        milliseconds: its own time, without waiting for a thread.
        arguments: the keyword arguments that it got, injected ones too.
    """

    returned: bool
    value: Any
    milliseconds: float
    arguments: Mapping[str, Any]
    error: BaseException | None = None


class Probe:
    """Watches one call of one tool.

    The tool's own ``_run`` runs, on the tool itself: what it keeps there from call to call, such as a connection that
    it opens the first time, is kept.

    Args:
        tool: left as it is; ``Probe.tool`` is the copy to be run in its place.
        clock: seconds, monotonic.

    Attributes:
        attempts: one for each time the tool ran: several under a retry, none where something else answered.
    """

    # A copy a call takes two microseconds, and its attempts are this call's wherever it is run. One copy for all calls
    # would tell them apart by a context variable, which a wrapper that runs the tool in a thread of its own loses.
    # What the copy holds does not hold the copy: it goes, with the result, when the call is over, and need not wait
    # for the garbage collector.

    def __init__(self, tool: BaseTool, clock: Callable[[], float] = perf_counter) -> None:
        watch = _Watch(clock)
        self.attempts: list[Attempt] = watch.attempts
        # Worked out on the tool, once: the framework asks the copy, and each would work it out anew.
        getattr(tool, "_injected_args_keys", None)
        self.tool: BaseTool = tool.model_copy()
        # A tool is a pydantic model: its own setattr takes fields only. Its private attributes are one dict, shared.
        object.__setattr__(self.tool, "__pydantic_private__", tool.__pydantic_private__)
        run = tool._run
        object.__setattr__(self.tool, "_run", _alike(watch.around(_known(tool, "_run", "func") or run), run))
        if type(tool)._arun is not BaseTool._arun:  # the default one only carries _run to a thread
            # The copy's own takes the copy's _run, where it goes through that.
            arun = _known(tool, "_arun", "coroutine") or _without_its_object(self.tool._arun)
            object.__setattr__(self.tool, "_arun", _alike(watch.around_async(arun), tool._arun))

    @property
    def last(self) -> Attempt | None:
        """The attempt whose outcome was handed on; None where the tool was not run."""
        return self.attempts[-1] if self.attempts else None


class _Watch:
    """Takes down the attempts of one call."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.attempts: list[Attempt] = []
        self._clock = clock

    def around(self, run: Callable[..., Any]) -> Callable[..., Any]:
        def probed(*args: Any, **kwargs: Any) -> Any:
            inner, start = len(self.attempts), self._clock()
            try:
                value = run(*args, **kwargs)
            except BaseException as error:
                self._record(inner, start, kwargs, error=error)
                raise
            self._record(inner, start, kwargs, value=value)
            return value

        return probed

    def around_async(self, run: Callable[..., Any]) -> Callable[..., Any]:
        async def probed(*args: Any, **kwargs: Any) -> Any:
            inner, start = len(self.attempts), self._clock()
            try:
                value = await run(*args, **kwargs)
            except BaseException as error:
                self._record(inner, start, kwargs, error=error)
                raise
            self._record(inner, start, kwargs, value=value)
            return value

        return probed

    def _record(
        self,
        inner: int,
        start: float,
        arguments: Mapping[str, Any],
        *,
        value: Any = None,
        error: BaseException | None = None,
    ) -> None:
        """One attempt, also where ``_arun`` went through ``_run``: the inner time is the tool's own."""
        milliseconds = (self._clock() - start) * 1000.0
        if len(self.attempts) > inner:
            milliseconds = self.attempts[-1].milliseconds
        self.attempts[inner:] = [Attempt(error is None, value, milliseconds, arguments, error)]


def _without_its_object(method: Callable[..., Any]) -> Callable[..., Any]:
    """A bound method that does not keep its object alive: whoever calls it by the object's name does."""
    function = getattr(method, "__func__", None)
    if function is None:
        return method  # of no object, such as another probe's
    held = ref(method.__self__)  # type: ignore[attr-defined]
    return lambda *args, **kwargs: function(held(), *args, **kwargs)


def _alike(probed: Callable[..., Any], run: Callable[..., Any]) -> Callable[..., Any]:
    """Give a function the signature of the method that it calls, by which the framework sees what it must inject."""
    method = getattr(run, "__func__", None)
    face = None if method is None else _face_of_method(method)
    if face is None:
        return functools.wraps(run)(probed)
    probed.__annotations__ = face.annotations
    probed.__dict__.update(face.attributes, __wrapped__=run)
    return probed


class _Known:
    """A tool whose function says at once what it takes; all else of it is the tool's own, as it stands."""

    def __init__(self, tool: BaseTool, name: str, function: Callable[..., Any]) -> None:
        self._tool = tool
        setattr(self, name, function)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tool, name)


def _known(tool: BaseTool, method: str, name: str) -> Callable[..., Any] | None:
    """A method of LangChain's tools made of functions, which looks the tool's function over on every call.

    It is LangChain's code that runs. None where the tool's method is another one, or its function no plain one.

    Args:
        tool: the tool.
        method: the method's name.
        name: the name of the attribute with the function that the method calls.
    """
    function = getattr(tool, name, None)
    if type(function) is not FunctionType or method in vars(tool):
        return None
    run = getattr(type(tool), method)
    if run not in _OF_FUNCTIONS:
        return None
    face = _FACES.get(function, _UNSEEN)
    if face is _UNSEEN:
        face = _FACES[function] = _plain(_face_of(function, function))
    if face is None:
        return None

    def known(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    known.__annotations__ = face.annotations
    known.__dict__.update(face.attributes)
    return MethodType(run, _Known(tool, name, known))


_OF_FUNCTIONS = (StructuredTool._run, StructuredTool._arun, SingleInputTool._run, SingleInputTool._arun)


class _Face(NamedTuple):
    """A callable as ``inspect`` and ``typing`` see it; its annotations are types, not their names."""

    annotations: dict[str, Any]
    attributes: dict[str, Any]


_UNSEEN = _Face({}, {})
#: Of functions that are alive: one that was made for one request goes with it.
_FACES: WeakKeyDictionary[Callable[..., Any], _Face | None] = WeakKeyDictionary()


@functools.lru_cache(maxsize=256)
def _face_of_method(method: Callable[..., Any]) -> _Face | None:
    """Look a method over, as it is on an instance."""
    face = _face_of(method, MethodType(method, method))
    return _plain(face) if method in _OF_FUNCTIONS else face


def _plain(face: _Face | None) -> _Face | None:
    """The face with the annotations that are classes, one of which says where the run's configuration is to go.

    That is what LangChain looks for in a function, through all annotations; in its signature there are all of them.
    """
    if face is None:
        return None
    classes = {name: each for name, each in face.annotations.items() if issubclass(type(each), type)}
    return face._replace(annotations=classes)


def _face_of(function: Callable[..., Any], called: Callable[..., Any]) -> _Face | None:
    """Look a function over; None where an annotation names what cannot be found.

    The framework looks it over on every call, and for a method on an instance takes some 50 µs to do so.

    Args:
        function: has the annotations.
        called: what is called: the function, or a method of it.
    """
    try:
        annotations = get_type_hints(function, include_extras=True)
        signature = inspect.signature(called)
    except Exception as error:  # annotations are foreign code
        _log.debug("no face of %r: %s", function, type(error).__name__)
        return None
    parameters = [
        parameter.replace(annotation=annotations.get(parameter.name, parameter.annotation))
        for parameter in signature.parameters.values()
    ]
    returned = annotations.get("return", signature.return_annotation)
    signature = signature.replace(parameters=parameters, return_annotation=returned)
    return _Face(annotations, {"__signature__": signature})


# --- Guarded calls ---


#: The ``type`` of a custom stream event that is a verdict.
EVENT = "agentguard.verdict"

_log = logging.getLogger("agentguard")


class GuardedCalls:
    """Runs tool calls under a guard.

    Args:
        guard: judges, and says what is to be done.
        signer: signs every result; None: an accepted result is handed on as it came, and ``receipt_signer()`` signs
            the others with their verdicts.
        events: emit each verdict into the custom stream.
        clock: seconds, monotonic, for the tools' times.
    """

    def __init__(
        self,
        guard: Guard,
        signer: ReceiptSigner | None = None,
        *,
        events: bool = False,
        clock: Callable[[], float] = perf_counter,
    ) -> None:
        self.guard = guard
        self.signer = receipt_signer() if signer is None else signer
        self.signs_all = signer is not None
        self.events = events
        self._clock = clock

    def run(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Any]) -> Any:
        """Call the handler and settle what it returns; what it raises goes through, an interrupt of the tool too."""
        if not self.guard.covers(request.tool_call["name"]):
            return handler(request)
        tries = 0
        while True:
            tries += 1
            call = _Call(request, self._clock)
            try:
                result = handler(call.request)
            except Exception as error:
                self._raised(call, self.guard.exception(call.described, error))
                raise
            seen = self._seen(call, result)
            if seen is None:
                return result
            if seen.outcome is not None and rules_of(self.guard.engine, seen.tool):
                seen = seen._replace(outcome=self.guard.read_back(seen.outcome, self._calls_by(request, handler)))
            judgement = self._judged(seen)
            if self._repeats(call, seen, judgement, tries):
                continue
            return result if self.guard.shadow else self._acted(call, result, seen, judgement)

    async def arun(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Any]]) -> Any:
        """``run`` for an asynchronous handler; of a large result the work is done in a thread."""
        if not self.guard.covers(request.tool_call["name"]):
            return await handler(request)
        tries = 0
        while True:
            tries += 1
            call = _Call(request, self._clock)
            try:
                result = await handler(call.request)
            except Exception as error:
                self._raised(call, await self.guard.exception_async(call.described, error))
                raise
            seen = self._seen(call, result)
            if seen is None:
                return result
            if seen.outcome is not None and rules_of(self.guard.engine, seen.tool):
                by = self._calls_by_async(request, handler)
                seen = seen._replace(outcome=await self.guard.read_back_async(seen.outcome, by))
            large = seen.is_large
            judgement = await to_thread(self._judged, seen) if large else self._judged(seen)
            if self._repeats(call, seen, judgement, tries):
                continue
            if self.guard.shadow:
                return result
            if large:
                return await to_thread(self._acted, call, result, seen, judgement)
            return self._acted(call, result, seen, judgement)

    def _raised(self, call: _Call, withheld: Judgement | None) -> None:
        """Raise ``ResultBlocked`` in the place of what the call raised, where the text of that is to be withheld."""
        if withheld is not None:
            if self.events:
                call.tell({**withheld.as_dict(), "tool": call.tool, "call_id": call.call_id})
            raise self.guard.error(withheld, call.tool) from None

    def _seen(self, call: _Call, result: Any) -> _Seen | None:
        """Gather what is to be judged of what a call gave; None where the guard does not cover it."""
        message = tool_message(result, call.call_id)
        tool = call.tool if message is None else as_text(message.name) or call.tool  # a reviewer may have sent it on
        if not self.guard.covers(tool):
            return None
        others = beside(result, message)
        artifacts = [
            other.artifact for other in others if isinstance(other, ToolMessage) and other.artifact is not None
        ]
        # Content rules alone judge what is beside the result: without them it is not judged at all.
        searched = bool(others) and self.guard.searches(tool)
        judged = artifacts if searched and self.guard.artifacts == "judge" else []
        more = [*(content_value(other.content) for other in others), *judged] if searched else None
        has_unjudged = len(judged) < len(artifacts)
        if message is None:
            # A command that answers another graph's call, or none, may have messages for a model all the same.
            outcome = self.guard.error_text(call.described, more)
            if more is None or outcome is None:
                return None
            message = ToolMessage("", tool_call_id=call.call_id, name=tool)
            return _Seen(message, tool, outcome._replace(is_error=False), has_unjudged, len(others))
        if message.status == "error" and not call.failed_itself:
            # Nobody's answer: an unknown tool, bad arguments, an exception that somebody made a message of.
            outcome = self.guard.error_text(call.described._replace(tool=tool), content_value(message.content))
        else:
            outcome = call.outcome(tool, message)
        if outcome is not None and more is not None:
            outcome = outcome._replace(beside=more)
        return _Seen(message, tool, outcome, has_unjudged)

    def _judged(self, seen: _Seen) -> Judgement | None:
        """Judge what was seen of a call; None where there is nothing to judge."""
        if seen.outcome is None:
            return None
        judgement = self.guard.judge_with_artifact(seen.outcome, seen.message.artifact)
        return judgement._replace(artifact="not judged") if seen.has_unjudged else judgement

    def _calls_by(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Any]) -> FindCall:
        """The calls of the tools beside the one that is called: they go the way that its own call went."""

        def find(name: str) -> Any:
            tool = _tool_beside(request, name)
            if tool is None:
                return None

            def ask(args: dict[str, Any]) -> Answer:
                call = self._own_call(request, tool, args)
                return call.answer(handler(call.request))

            return ask

        return find

    def _calls_by_async(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Any]]
    ) -> FindCall:
        """``_calls_by`` for an asynchronous handler."""

        def find(name: str) -> Any:
            tool = _tool_beside(request, name)
            if tool is None:
                return None

            async def ask(args: dict[str, Any]) -> Answer:
                call = self._own_call(request, tool, args)
                return call.answer(await handler(call.request))

            return ask

        return find

    def _own_call(self, request: ToolCallRequest, tool: BaseTool, args: dict[str, Any]) -> _Call:
        """A call of the guard's own, which nobody asked for and no message tells of."""
        id_ = f"{as_text(request.tool_call['id'])}:guard"
        asked = ToolCall(name=tool.name, args=args, id=id_, type="tool_call")
        return _Call(replace(request, tool_call=asked, tool=tool), self._clock)

    def _repeats(self, call: _Call, seen: _Seen, judgement: Judgement | None, tries: int) -> bool:
        """Emit the verdict; whether the call is to be made again."""
        if self.events:
            call.tell(self._stamp(call, seen, judgement))
        if seen.outcome is None or judgement is None:
            return False
        return self.guard.is_to_repeat(seen.outcome, judgement, tries)

    def _stamp(self, call: _Call, seen: _Seen, judgement: Judgement | None) -> dict[str, Any]:
        """The verdict on a call, as its message carries it."""
        failed = seen.outcome is None or (seen.outcome.content_alone and seen.outcome.is_error)
        stamp = stamp_on_failure(judgement) if judgement is None or failed else judgement.as_dict()
        stamp.update(
            tool=seen.tool, call_id=call.call_id, executed=bool(call.attempts), execution_time_ms=call.milliseconds
        )
        return stamp

    def _acted(self, call: _Call, result: Any, seen: _Seen, judgement: Judgement | None) -> Any:
        """What a call gave, as the judgement has it shown."""
        message = seen.message
        if not self.signs_all and (judgement is None or _is_silent(judgement)):
            is_forged = any(unstamped(each) is not each for each in tool_messages(result))
            return rewritten(result, unstamped) if is_forged else result
        stamp = self._stamp(call, seen, judgement)

        def sealed(shown: ToolMessage) -> ToolMessage:
            tool, args = as_text(shown.name) or call.tool, call.request.tool_call["args"]
            return stamped(
                shown,
                seal(stamp, shown, self.signer, tool=tool, args=args, call_id=call.call_id, session_id=call.session),
            )

        found = Judgement("pass", None, "") if judgement is None else judgement
        if found.action == "replace":
            # The other updates of a blocked command, and where it would go, are part of what is blocked.
            return sealed(withheld(message, found.notice))
        # The artifact of a further message was judged with its content.
        further = found._replace(redact_artifact=found.redact if self.guard.artifacts == "judge" else ())
        left, is_answered = seen.unanswered, False

        def change_other(each: Message) -> Message:
            nonlocal left
            left -= 1
            shown = without_redacted(each, further)
            return with_line(shown) if left == 0 else shown

        def change(each: ToolMessage) -> ToolMessage:
            nonlocal is_answered
            answers = each is message or each.tool_call_id == call.call_id
            if is_answered or not answers:
                other = change_other(unstamped(each))
                return sealed(other) if answers else other
            is_answered = True
            return sealed(with_line(without_redacted(each, found)))

        def with_line(each: Message) -> Message:
            return each.model_copy(update={"content": lined(each.content, found.line)}) if found.line else each

        return rewritten(result, change, change_other)


def _is_silent(judgement: Judgement) -> bool:
    """Nothing is to be said of a result, and nothing to be done about it."""
    is_redacted = judgement.redact or judgement.redact_artifact
    return judgement.verdict == "accept" and judgement.action == "pass" and not is_redacted


def stamp_on_failure(judgement: Judgement | None) -> dict[str, Any]:
    """The stamp on a message that is no answer of the tool: the content of its text may have been judged."""
    if judgement is not None and judgement.verdict != "accept":
        return judgement.as_dict()
    stamp: dict[str, Any] = {"verdict": "unjudged", "action": "pass", "reason": "the call failed and says so"}
    return stamp if judgement is None or not judgement.redact else {**stamp, "redacted": list(judgement.redact)}


class _Seen(NamedTuple):
    """A call's message, and what is to be judged of it.

    Attributes:
        message: the message.
        tool: the tool's name.
        outcome: what is to be judged; None where that is nothing.
        has_unjudged: a message beside it has an artifact that is not judged.
        unanswered: the number of the messages, where none of them answers the call; else 0.
    """

    message: ToolMessage
    tool: str
    outcome: Outcome | None
    has_unjudged: bool
    unanswered: int = 0

    @property
    def is_large(self) -> bool:
        """To judge it, and to act on it, is some milliseconds' work."""
        outcome = self.outcome
        return outcome is not None and is_large((outcome.args, outcome.result, outcome.beside, self.message.artifact))


class _Call:
    """One try at one tool call: the request with the probe in place, and what the probe saw."""

    def __init__(self, request: ToolCallRequest, clock: Callable[[], float]) -> None:
        self.tool = as_text(request.tool_call["name"])
        self.call_id = as_text(request.tool_call["id"])
        self.session = session_of(getattr(request.runtime, "config", None))
        self._asked_tool = request.tool  # the framework's own, which remembers what it has worked out of itself
        self._probe = _probe_on(request.tool, clock)
        self.request = request if self._probe is None else request.override(tool=self._probe.tool)
        self.described = Outcome(self.tool, None, None, None, self.session, self.call_id)

    @property
    def attempts(self) -> list[Attempt]:
        """The tool's runs."""
        return [] if self._probe is None else self._probe.attempts

    @property
    def milliseconds(self) -> float | None:
        """The time of the run whose result was handed on; None where it is another's: a cache's, a fallback's."""
        last = self.attempts[-1] if self.attempts else None
        return round(last.milliseconds, 3) if last is not None and last.returned else None

    @property
    def failed_itself(self) -> bool:
        """The tool ran and reported its own failure, by the framework's means: it is what the tool has to say.

        By a message with ``status="error"`` that it returned, or by a ``ToolException`` of which it makes one itself.
        """
        last = self.attempts[-1] if self.attempts else None
        if last is None:
            return False
        if last.returned:
            own = tool_message(last.value, self.call_id)
            return own is not None and own.status == "error"
        return isinstance(last.error, ToolException) and bool(getattr(self.request.tool, "handle_tool_error", False))

    def outcome(self, tool: str, message: ToolMessage) -> Outcome:
        """The outcome to be judged."""
        last = self.attempts[-1] if self.attempts else None
        asked: Any = self.request.tool_call["args"]
        is_error = message.status == "error"
        if last is None or not (last.returned or is_error):
            args = asked if tool == self.tool else None
            return Outcome(tool, args, content_value(message.content), None, self.session, self.call_id, is_error)
        with_artifact = getattr(self._asked_tool, "response_format", None) == "content_and_artifact"
        if last.returned:
            value = shown_value(last.value, message, with_artifact=with_artifact)
        else:
            value = content_value(message.content)
        args = _executed(asked, last.arguments, self._asked_tool)
        return Outcome(tool, args, value, last.milliseconds, self.session, self.call_id, is_error)

    def answer(self, result: Any) -> Answer:
        """The answer of the tool itself.

        Raises:
            Exception: what the tool raised, whoever has made a message of it.
        """
        last = self.attempts[-1] if self.attempts else None
        if last is not None and isinstance(last.error, Exception):
            raise last.error
        message = tool_message(result, self.call_id)
        if message is None:
            raise TypeError("the tool has answered with no message")
        outcome = self.outcome(self.tool, message)
        return Answer(outcome.result, outcome.is_error)

    def tell(self, stamp: Mapping[str, Any]) -> None:
        """Emit the verdict into the custom stream, where there is one."""
        writer = getattr(self.request.runtime, "stream_writer", None)
        if writer is not None:
            writer(event_of(stamp))


def event_of(stamp: Mapping[str, Any]) -> dict[str, Any]:
    """The custom stream event for a verdict."""
    event = {"type": EVENT, **stamp}
    event.pop("receipt", None)
    return event


def session_of(config: Any) -> str | None:
    """The thread that a run belongs to: ``config["configurable"]["thread_id"]`` as text, or None."""
    configurable = config.get("configurable") if isinstance(config, Mapping) else None
    thread = configurable.get("thread_id") if isinstance(configurable, Mapping) else None
    return None if thread is None else as_text(thread)


def _tool_beside(request: ToolCallRequest, name: str) -> BaseTool | None:
    """The tool of this name in the same tool node."""
    return next((tool for tool in getattr(request.runtime, "tools", None) or () if tool.name == name), None)


def _probe_on(tool: BaseTool | None, clock: Callable[[], float]) -> Probe | None:
    if tool is None:
        return None
    try:
        return Probe(tool, clock)
    except Exception as error:  # a tool class may resist being copied: the call is more important than its time
        _log.error("no probe on tool %r: %s", tool.name, type(error).__name__)
        return None


def _executed(asked: Mapping[str, Any], ran: Mapping[str, Any], tool: BaseTool | None) -> Mapping[str, Any]:
    """The arguments that the tool ran with: as asked, but where a middleware further in changed them."""
    if tool is None or all(_same(ran.get(key, value), value) for key, value in asked.items()):
        return asked
    visible = tool.args  # without what the framework injects
    return {key: value for key, value in ran.items() if key in visible}


def _same(one: Any, other: Any) -> bool:
    try:
        return bool(one == other)
    except Exception:  # foreign objects may refuse to be compared: then they are not what the model wrote
        return False
