"""The guard's own calls: what a profile asks of another tool after a call (``confirm``, ``against``).

They go through the caller that an integration gives, take bounded time, and are no calls of the agent's: nothing is
learned from them, they belong to no session, and they are on record with the call that they are about.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import threading
from collections.abc import Callable, Generator, Mapping
from concurrent.futures import Future, wait
from contextvars import copy_context
from functools import partial
from time import perf_counter, sleep
from typing import Any, Final, NamedTuple

from agentguard.verification import Reading, VerificationEngine
from agentguard.verification._read_back import ReadBack, says_no_such
from agentguard.verification.evidence import breaks_a_declaration
from agentguard.verification.types import ToolCall

_log = logging.getLogger("agentguard")

#: Under this name a guarded function has the one that it guards.
UNGUARDED: Final = "__agentguard_unguarded__"
FIRST_WAIT: Final = 0.05  # seconds until what could not be read yet is asked for again; twice as long each time
LONGEST_WAIT: Final = 2.0  # seconds
_NO_SUCH: Final = ("notfound", "doesnotexist", "nosuch")  # in the name of an exception
_GONE: Final = (404, 410)  # HTTP


class Answer(NamedTuple):
    """The answer of the second call; ``is_error`` where its framework says that it failed."""

    value: Any
    is_error: bool = False


#: Makes a call of one tool, given its arguments: returns its ``Answer`` or its result. A coroutine function is awaited.
Call = Callable[[dict[str, Any]], Any]
#: Finds what makes calls of a tool; None: nothing here can call it.
FindCall = Callable[[str], Call | None]


def calls_of(readers: Mapping[str, Callable[..., Any]] | None) -> FindCall:
    """The calls of a user's functions, by the name of the tool; a guarded one is called without its guard."""

    def find(tool: str) -> Call | None:
        function = None if readers is None else _unguarded(readers.get(tool))
        if function is None:
            return None
        if not inspect.iscoroutinefunction(function):
            return lambda args: function(**args)

        async def call(args: dict[str, Any]) -> Any:
            return await function(**args)

        return call

    return find


def _unguarded(function: Any) -> Any:
    """The function that a guarded one guards, bound to the same object where it is a method; any other as it is."""
    inner = getattr(function, UNGUARDED, function)
    owner = getattr(function, "__self__", None)
    return inner if inner is function or owner is None else inner.__get__(owner)


class Interrupted(BaseException):
    """The program was interrupted while a call was read back; ``readings`` say so of the reads that were left.

    Attributes:
        readings: of the call.
        error: the interruption: ``KeyboardInterrupt``, or in a coroutine that it is cancelled.
    """

    def __init__(self, readings: tuple[Reading, ...], error: BaseException) -> None:
        super().__init__(readings)
        self.readings, self.error = readings, error


def read_back(engine: VerificationEngine, call: ToolCall, find: FindCall) -> tuple[Reading, ...]:
    """Make the calls that the profile of a call's tool asks for, and tell what they say.

    Whatever a reader raises is a reading.

    Raises:
        Interrupted: for ``KeyboardInterrupt`` alone.
    """
    readings: list[Reading] = []
    for rule in (rules := rules_of(engine, call.tool)):
        try:
            readings.append(_told(call, _driven(engine, rule, call, find)))
        except KeyboardInterrupt as error:
            raise _interrupted(call, readings, rules, error) from None
    return tuple(readings)


async def read_back_async(engine: VerificationEngine, call: ToolCall, find: FindCall) -> tuple[Reading, ...]:
    """As ``read_back``, without blocking the event loop: a plain function is called in a thread.

    Raises:
        Interrupted: also where the task that this runs in is cancelled.
    """
    readings: list[Reading] = []
    for rule in (rules := rules_of(engine, call.tool)):
        try:
            readings.append(_told(call, await _driven_async(engine, rule, call, find)))
        except (KeyboardInterrupt, asyncio.CancelledError) as error:
            raise _interrupted(call, readings, rules, error) from None
    return tuple(readings)


def _interrupted(
    call: ToolCall, readings: list[Reading], rules: tuple[ReadBack, ...], error: BaseException
) -> Interrupted:
    left = [_told(call, rule.failed("was interrupted")) for rule in rules[len(readings) :]]
    return Interrupted((*readings, *left), error)


def rules_of(engine: VerificationEngine, tool: str) -> tuple[ReadBack, ...]:
    """The calls that the profile of a tool asks for. Never raises."""
    try:
        return engine.read_backs(tool)
    except Exception as error:
        _log.error("what is to be read back of %r is not known: %s", tool, type(error).__name__)
        return ()


def _told(call: ToolCall, reading: Reading) -> Reading:
    """Log a reading, without content."""
    level = logging.WARNING if reading.is_broken or reading.state == "unknown" else logging.DEBUG
    _log.log(level, "the guard's own call of %r, for one of %r: %s", reading.tool, call.tool, reading.detail)
    return reading


# --- The steps of one read-back, and who takes them ---

Step = Callable[[], Any] | float
"""A call to be made, whose answer is sent in, or what it has raised; or seconds to be waited."""


class _Raised(NamedTuple):
    """What a call has raised in place of an answer; as a value, for an event loop ends at some exceptions."""

    error: BaseException


def _steps(engine: VerificationEngine, rule: ReadBack, call: ToolCall, find: FindCall) -> Generator[Step, Any, Reading]:
    question = rule.question(call)
    if isinstance(question, Reading):
        return question
    ask = find(rule.tool)
    if ask is None:
        return rule.failed("cannot be called from here, for the guard has no reader of that name")
    if engine.profile_of(rule.tool).acts:
        return rule.failed("was not called, for its profile says that a call of it is not without effect")
    began, pause, calls = perf_counter(), FIRST_WAIT, 0
    while True:
        calls += 1
        answer = yield partial(ask, dict(question))
        if isinstance(answer, _Raised):
            found = _of_exception(rule, call, question, answer.error)
        else:
            answer = answer if isinstance(answer, Answer) else Answer(answer)
            found = rule.held(call, answer.value, is_error=answer.is_error)
            if found.state in ("agrees", "differs") and _is_odd(engine, rule, call, question, answer, found):
                found = rule.failed("gave an answer that is itself probably not what the tool returned")
        spent = perf_counter() - began
        if found.state == "agrees" or spent >= rule.within:
            return found._replace(calls=calls, milliseconds=1_000.0 * spent)
        yield min(pause, rule.within - spent)
        pause = min(2.0 * pause, LONGEST_WAIT)


def _is_odd(
    engine: VerificationEngine, rule: ReadBack, call: ToolCall, asked: dict[str, Any], answer: Answer, reading: Reading
) -> bool:
    """The answer would itself be blocked: nothing follows from it.

    One that tells by itself what the call has said is not made up, however unusual it is for its tool; a declaration
    that it breaks stands all the same.
    """
    call_id = f"{call.call_id}:{rule.kind}"
    judged = engine.verify(
        rule.tool, args=asked, result=answer.value, call_id=call_id, is_error=answer.is_error, learn=False
    )
    if reading.told and not breaks_a_declaration(judged.signals):
        return False
    return judged.verdict == "block"


def _of_exception(rule: ReadBack, call: ToolCall, asked: dict[str, Any], error: BaseException) -> Reading:
    if isinstance(error, _OutOfTime):
        return rule.failed(f"gave no answer within {rule.timeout:g} s")
    if _means_no_such(error, asked):
        return rule.nothing(call)
    return rule.failed(f"raised {type(error).__name__}")


def _means_no_such(error: BaseException, asked: dict[str, Any]) -> bool:
    """An exception says that what was asked for is not there: by its name, its HTTP status, its key or its words."""
    if isinstance(error, (ImportError, OSError)) and not isinstance(error, FileNotFoundError):
        return False  # that a module or a host is not found says nothing of what was asked for
    if any(part in type(error).__name__.replace("_", "").lower() for part in _NO_SUCH):
        return True
    answered = getattr(error, "response", None)
    status = [getattr(owner, name, None) for owner in (error, answered) for name in ("status_code", "status", "code")]
    if any(code in _GONE for code in status if isinstance(code, int)):
        return True
    if isinstance(error, LookupError):
        return any(key in error.args for key in asked.values() if isinstance(key, (str, int)))
    return says_no_such(str(error))


class _OutOfTime(Exception):
    """The time that is declared for an answer is over."""


def _driven(engine: VerificationEngine, rule: ReadBack, call: ToolCall, find: FindCall) -> Reading:
    steps = _steps(engine, rule, call, find)
    try:
        step = next(steps)
        while True:
            if isinstance(step, float):
                sleep(step)
                step = next(steps)
                continue
            step = steps.send(_heard(_within(step, rule.timeout)))
    except StopIteration as end:
        found: Reading = end.value
        return found
    except Exception as error:
        return _broke(rule, call, error)


async def _driven_async(engine: VerificationEngine, rule: ReadBack, call: ToolCall, find: FindCall) -> Reading:
    steps = _steps(engine, rule, call, find)
    try:
        step = next(steps)
        while True:
            if isinstance(step, float):
                await asyncio.sleep(step)
                step = next(steps)
                continue
            step = steps.send(_heard(await _within_async(step, rule.timeout)))
    except StopIteration as end:
        found: Reading = end.value
        return found
    except Exception as error:
        return _broke(rule, call, error)


def _broke(rule: ReadBack, call: ToolCall, error: Exception) -> Reading:
    _log.error("reading back a call of %r failed: %s", call.tool, type(error).__name__)
    return rule.failed(f"could not be looked at: {type(error).__name__}")


def _heard(answer: Any) -> Any:
    """An answer, or what a call has raised; an interruption of the program is raised again."""
    if isinstance(answer, _Raised) and isinstance(answer.error, KeyboardInterrupt):
        raise answer.error
    return answer


def _within(make: Callable[[], Any], seconds: float | None) -> Any:
    """Make a call in a thread, for no more than so many seconds; without such a bound at once.

    Returns its answer, or what it has raised; ``_OutOfTime`` where there is no answer by then. The call itself goes on,
    for nothing can stop it.
    """
    if seconds is None:
        return _caught(make)
    future = in_thread(partial(_caught, make))
    return future.result() if wait([future], seconds).done else _Raised(_OutOfTime())


async def _within_async(make: Callable[[], Any], seconds: float | None) -> Any:
    """As ``_within``: a coroutine function runs in the loop, and is cancelled when its time is over."""
    pending: asyncio.Future[Any]
    if inspect.iscoroutinefunction(make):
        pending = asyncio.ensure_future(_caught_async(make))
    elif seconds is None:
        return _caught(make)
    else:
        pending = asyncio.wrap_future(in_thread(partial(_caught, make)))
    try:
        done, _ = await asyncio.wait({pending}, timeout=seconds)
        return pending.result() if done else _Raised(_OutOfTime())
    finally:
        pending.cancel()


def _caught(make: Callable[[], Any]) -> Any:
    """The result of a call, or what it has raised, ``SystemExit`` too: the call that it is about has been made."""
    try:
        return _made(make)
    except BaseException as error:
        return _Raised(error)


async def _caught_async(make: Callable[[], Any]) -> Any:
    try:
        return await make()
    except BaseException as error:
        return _Raised(error)


def in_thread(make: Callable[[], Any]) -> Future[Any]:
    """Make a call in a thread of its own, which no end of the process waits for."""
    future: Future[Any] = Future()
    context = copy_context()

    def work() -> None:
        try:
            made = context.run(_made, make)
        except BaseException as error:
            outcome: Any = partial(future.set_exception, error)
        else:
            outcome = partial(future.set_result, made)
        if future.set_running_or_notify_cancel():  # nobody waits for it any more where it was cancelled
            outcome()

    threading.Thread(target=work, name="agentguard-read-back", daemon=True).start()
    return future


def _made(make: Callable[[], Any]) -> Any:
    """The result of a call, awaited in a loop of its own where it is to be awaited."""
    made = make()
    return asyncio.run(_awaited(made)) if inspect.isawaitable(made) else made


async def _awaited(made: Any) -> Any:
    return await made
