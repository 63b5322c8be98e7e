"""Guarding plain functions: ``@guarded``, below any framework's own decorator."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from functools import wraps
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast
from uuid import uuid4

import orjson

from agentguard.errors import ConfigurationError, DataError
from agentguard.guard import Guard, Judgement, Outcome, Rules
from agentguard.guard._guard import Attempt, CallGuard
from agentguard.guard._read_back import UNGUARDED
from agentguard.guard._wording import appended
from agentguard.integrations._return_types import declare_return_type
from agentguard.verification import VerificationEngine

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["guarded"]

#: A generator that yields more is not held in memory.
MOST_ITEMS = 10_000

Function = TypeVar("Function", bound=Callable[..., Any])
Session = str | Callable[[], str | None] | None


def guarded(
    guard: Guard | VerificationEngine,
    name: str | None = None,
    *,
    session: Session = None,
    generators: Literal["drain", "refuse"] = "drain",
    types: Literal["ignore", "check"] = "ignore",
    ignore: Collection[str] = (),
    **rules: Unpack[Rules],
) -> Callable[[Function], Function]:
    """Guard what a function returns.

    Works on functions, coroutine functions and methods; name, signature and annotations stay as they are, so a
    framework's decorator goes on top. Exceptions of the function pass through and are not learned from. A framework may
    make a message for the model of one: where the profile has content rules its texts are judged by them. Placeholders
    are put into the exception itself; one whose text is blocked is withheld as a blocked result is.

    A generator is read to its end, at most 10,000 items, and the caller gets the list of them: nothing can be said of
    a result before it is complete. In shadow mode it is handed on unread and unjudged, as reading would change it.

    A caller may be a program, so a value keeps its type, and what programs parse stays as it is: a flagged result gets
    a line after it only where it is a text of several words, which a model is to read. JSON, a single word (an id, an
    address) and values of all other types are returned themselves; ``on_judgement`` is told of the verdict on them.

    Args:
        guard: the guard, or an engine.
        rules: rules of the guard by name, see ``Guard``.
        name: the tool's name; None: the function's.
        session: the session of the calls, or what returns it (asked before each call).
        generators: ``drain``, or ``refuse`` to guard functions that return one.
        types: ``check`` declares the function's return annotation as the ``output_schema`` of the tool's profile. A
            profile of yours that has one stands over it, and so does one that is registered later. ``Any``, text that
            may be JSON, and what has no JSON Schema are refused.
        ignore: names of parameters that are no arguments of the call, such as a framework's run context.

    Raises:
        ConfigurationError: for arguments that cannot be used, when the function is decorated.
        ResultBlocked: by the guarded function, for a blocked result, or text of an exception.
        DataError: by the guarded function, for a generator that is too long to be drained.

    >>> engine = VerificationEngine()
    >>> _ = engine.register_tool_profile("weather", required_fields=["degrees"], has_network_io=False)
    >>> @guarded(Guard(engine, on_block="replace"))
    ... def weather(city: str) -> dict[str, float]:
    ...     return {"degrees": 18.0} if city == "London" else {}
    >>> weather("London")
    {'degrees': 18.0}
    >>> weather("Atlantis")[:37]
    "The result of 'weather' was blocked: "
    """
    if generators not in ("drain", "refuse"):
        raise ConfigurationError(f"generators must be 'drain' or 'refuse', not {generators!r}")
    if types not in ("ignore", "check"):
        raise ConfigurationError(f"types must be 'ignore' or 'check', not {types!r}")
    calls = CallGuard.of(guard, "a function", rules)

    def decorate(function: Function) -> Function:
        is_generator = inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function)
        if is_generator and generators == "refuse":
            raise ConfigurationError(f"{_name_of(function, name)!r} is a generator; guard what consumes it instead")
        if types == "check":
            declare_return_type(calls.engine, _name_of(function, name), function)
        call = _GuardedCall(function, _name_of(function, name), calls, session, generators == "drain", ignore)
        return cast(Function, function if is_generator and calls.shadow else call.wrapper())

    return decorate


def _name_of(function: object, name: str | None) -> str:
    if not callable(function):
        raise ConfigurationError(
            f"@guarded takes a function, not a {type(function).__name__}; put it below @classmethod"
        )
    tool = name or getattr(function, "__name__", None)
    if not isinstance(tool, str):
        raise ConfigurationError(f"a {type(function).__name__} has no name; give guarded(guard, name=...)")
    return tool


class _GuardedCall:
    """A function with its guard; makes the wrapper that stands in the function's place."""

    def __init__(
        self, function: Callable[..., Any], tool: str, guard: CallGuard, session: Session, drain: bool,
        ignore: Collection[str],
    ) -> None:  # fmt: skip
        self._function, self._tool, self._guard = function, tool, guard
        self._session, self._drain = session, drain
        try:
            self._signature: inspect.Signature | None = inspect.signature(function)
        except (TypeError, ValueError):  # some builtins have none
            self._signature = None
        self._ignored = frozenset(ignore) | self._receiver()

    def wrapper(self) -> Callable[..., Any]:
        if inspect.iscoroutinefunction(self._function) or inspect.isasyncgenfunction(self._function):

            @wraps(self._function)
            async def call_async(*args: Any, **kwargs: Any) -> Any:
                return await self._settle_async(args, kwargs, self._described(args, kwargs))

            return self._marked(call_async)

        @wraps(self._function)
        def call(*args: Any, **kwargs: Any) -> Any:
            return self._settle(args, kwargs, self._described(args, kwargs))

        return self._marked(call)

    def _marked(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """The wrapper with what it guards, for calls of the guard's own."""
        vars(call)[UNGUARDED] = self._function
        return call

    def _settle(self, args: Any, kwargs: Any, described: Outcome) -> Any:
        def attempt() -> Attempt[Any]:
            started = perf_counter()
            made = self._function(*args, **kwargs)
            if inspect.iscoroutine(made):
                return made, None
            if inspect.isgenerator(made) or inspect.isasyncgen(made):
                if self._guard.shadow:
                    return made, None
                made = self._drained(made)
            return made, described._replace(result=made, execution_time_ms=_milliseconds_since(started))

        shown, judgement = self._guard.settle(attempt, described)
        if judgement is None and inspect.iscoroutine(shown):  # a plain function that hands on a coroutine
            return self._settle_async(args, kwargs, described, shown)
        return self._decided(shown, judgement)

    async def _settle_async(self, args: Any, kwargs: Any, described: Outcome, pending: Any = None) -> Any:
        async def attempt() -> Attempt[Any]:
            nonlocal pending
            made, pending = pending, None
            started = perf_counter()
            made = self._function(*args, **kwargs) if made is None else made
            if inspect.iscoroutine(made):
                made = await made
            if inspect.isgenerator(made) or inspect.isasyncgen(made):
                if self._guard.shadow:
                    return made, None
                made = await self._drained_async(made) if inspect.isasyncgen(made) else self._drained(made)
            return made, described._replace(result=made, execution_time_ms=_milliseconds_since(started))

        shown, judgement = await self._guard.settle_async(attempt, described)
        if judgement is not None and judgement.action != "replace":
            shown, judgement = await judgement.shown_async(shown), judgement._replace(redact=())
        return self._decided(shown, judgement)

    def _decided(self, shown: Any, judgement: Judgement | None) -> Any:
        if judgement is None:
            return shown
        if judgement.action != "replace":
            shown = judgement.shown(shown)
            return appended(shown, judgement.line) if judgement.line and _is_to_be_read(shown) else shown
        if self._guard.on_block != "replace":
            raise self._guard.error(judgement, self._tool)
        return judgement.notice

    def _described(self, args: Any, kwargs: Any) -> Outcome:
        session = self._session() if callable(self._session) else self._session
        return Outcome(self._tool, self._arguments(args, kwargs), None, None, session, uuid4().hex)

    def _arguments(self, args: Any, kwargs: Any) -> dict[str, Any]:
        try:
            bound = None if self._signature is None else self._signature.bind(*args, **kwargs)
        except TypeError:  # the call itself will raise it
            bound = None
        if bound is None:
            return {**kwargs, "args": list(args)} if args else dict(kwargs)
        bound.apply_defaults()
        arguments: dict[str, Any] = {}
        for name, value in bound.arguments.items():
            if bound.signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD:
                arguments.update(value)
            elif name not in self._ignored:
                arguments[name] = value
        return arguments

    def _receiver(self) -> frozenset[str]:
        """``self`` or ``cls`` of a function that is defined in a class: no argument of the call."""
        owner, _, _ = getattr(self._function, "__qualname__", "").rpartition(".")
        if self._signature is None or not owner or owner.endswith("<locals>"):
            return frozenset()
        first = next(iter(self._signature.parameters), "")
        return frozenset({first}) if first in ("self", "cls") else frozenset()

    def _drained(self, generator: Any) -> list[Any]:
        if not self._drain or inspect.isasyncgen(generator):
            if inspect.isgenerator(generator):
                generator.close()
            raise ConfigurationError(
                f"{self._tool!r} returned a generator that @guarded must not or cannot read here; guard what consumes "
                "it, or make the function an async one if the generator is"
            )
        items: list[Any] = []
        for item in generator:
            if len(items) == MOST_ITEMS:
                generator.close()
                raise self._too_long()
            items.append(item)
        return items

    async def _drained_async(self, generator: Any) -> list[Any]:
        if not self._drain:
            await generator.aclose()
            raise ConfigurationError(f"{self._tool!r} returned a generator; guard what consumes it instead")
        items: list[Any] = []
        async for item in generator:
            if len(items) == MOST_ITEMS:
                await generator.aclose()
                raise self._too_long()
            items.append(item)
        return items

    def _too_long(self) -> DataError:
        return DataError(f"{self._tool!r} yielded more than {MOST_ITEMS:,} items; guard what consumes it instead")


def _is_to_be_read(value: Any) -> bool:
    """A text of several words that is no JSON: what a model reads, and not what a program parses."""
    if type(value) is not str or len(value.split(maxsplit=1)) < 2:
        return False
    try:
        orjson.loads(value)
    except orjson.JSONDecodeError:
        return True
    return False


def _milliseconds_since(started: float) -> float:
    return (perf_counter() - started) * 1000.0
