"""Measuring one call of a model: its response read whichever client gave it, and a stopwatch.

The only place of the package that reads a clock. Nothing is imported to know a client: text and tokens are looked for
where OpenAI, Anthropic, Gemini, Ollama, Bedrock and LangChain put them.
"""

from __future__ import annotations

import inspect
import logging
import time
from collections.abc import Callable, Mapping
from functools import wraps
from types import TracebackType
from typing import Any, Final, NamedTuple, Protocol, TypeVar, cast

from agentguard.health._types import HealthResult, LLMCall, Structured

_TEXTS: Final = tuple(
    path.split(".")
    for path in (
        "text",
        "content",
        "output_text",
        "choices.0.message.content",
        "choices.0.delta.content",
        "choices.0.text",
        "message.content",
        "response",
        "delta.text",
        "delta",
        "output.message.content",
        "contentBlockDelta.delta.text",
    )
)
_TOKENS: Final = tuple(
    path.split(".")
    for path in (
        "usage.completion_tokens",
        "usage.output_tokens",
        "usage.outputTokens",
        "usage_metadata.candidates_token_count",
        "eval_count",
        "metadata.usage.outputTokens",
        "response.usage.output_tokens",
    )
)
_TOOL_CALLS: Final = tuple(
    path.split(".") for path in ("tool_calls", "choices.0.message.tool_calls", "message.tool_calls")
)
_ADDED: Final = ["usage_metadata", "output_tokens"]  # of LangChain, whose pieces are to be added up


class Reply(NamedTuple):
    """The text and tokens of a response, or of a piece of one.

    Attributes:
        text: None where there is none, or where only tools are asked for.
        tokens: as the provider counted them so far, or in this piece alone.
        partly: the tokens are those of this piece.
    """

    text: str | None
    tokens: int | None
    partly: bool = False


def read(value: Any) -> Reply:
    """Read text and tokens from a response or a piece of one, whichever client gave it.

    >>> read({"choices": [{"message": {"content": "Mild."}}], "usage": {"completion_tokens": 2}})
    Reply(text='Mild.', tokens=2, partly=False)
    """
    if isinstance(value, str):
        return Reply(str(value), None)
    texts = (_text(_at(value, path)) for path in _TEXTS)
    text = next((text for text in texts if text is not None), None)
    if not text and any(_at(value, path) for path in _TOOL_CALLS):
        text = None
    added = _count(_at(value, _ADDED))
    if added is not None:
        return Reply(text, added, partly=True)
    counts = (_count(_at(value, path)) for path in _TOKENS)
    return Reply(text, next((count for count in counts if count is not None), None))


def _at(value: Any, path: list[str]) -> Any:
    for name in path:
        if isinstance(value, Mapping):
            value = value.get(name)
        elif name == "0":
            value = value[0] if isinstance(value, (list, tuple)) and value else None
        else:
            try:
                value = getattr(value, name, None)
            except Exception:  # a property of a foreign class: what it cannot give is not there
                return None
        if value is None:
            return None
    return value


def _text(value: Any) -> str | None:
    """A text, or the texts among the blocks of one."""
    if isinstance(value, str):
        return str(value)
    if not isinstance(value, (list, tuple)):
        return None
    parts = [part if isinstance(part, str) else _at(part, ["text"]) for part in value]
    return "".join(part for part in parts if isinstance(part, str))


def _count(value: Any) -> int | None:
    return value if type(value) is int and value >= 0 else None


# --- The stopwatch ---


LONGEST: Final = 4_000_000  # characters of a streamed response that are held until its end
Function = TypeVar("Function", bound=Callable[..., Any])
Read = Callable[[Any], Reply]
_log = logging.getLogger("agentguard")
seconds: Final[Callable[[], float]] = time.perf_counter


class Recorder(Protocol):
    """The receiver of finished calls."""

    def record(self, call: LLMCall) -> HealthResult:
        """Judge the call; raises nothing."""


class Traits(NamedTuple):
    """The settings that the calls of one callable share."""

    recorder: Recorder
    model: str
    expects: Structured | None
    reader: Read
    clock: Callable[[], float]


class Measurement:
    """One call under way. The time in which ``pause`` is in force is the caller's own, and is not counted.

    As a context manager it ends by itself: with an exception as a failed call, which passes through.

    Attributes:
        result: the call's health, once it has ended.
    """

    def __init__(self, traits: Traits) -> None:
        self._traits = traits
        self._elapsed = 0.0
        self._begun: float | None = traits.clock()
        self._first: float | None = None
        self._pieces: list[str] = []
        self._length = 0
        self._pieces_of_text = 0
        self._readable = True
        self._tokens: int | None = None
        self._ended = False
        self.result: HealthResult | None = None

    def add(self, piece: Any) -> None:
        """Take a response, or the next piece of one, as the client gave it. Raises nothing."""
        if not self._readable:
            return
        try:
            reply = self._traits.reader(piece)
            if reply.tokens is not None:
                self._tokens = (self._tokens or 0) + reply.tokens if reply.partly else reply.tokens
            if reply.text is not None:
                self._take(reply.text)
        except Exception as error:
            self._readable = False
            _log.error("a response of %r could not be read: %s", self._traits.model, type(error).__name__)

    def _take(self, text: str) -> None:
        if text and self._first is None:
            self._first = self._now()
        self._pieces_of_text += 1
        self._length += len(text)
        if self._length <= LONGEST:
            self._pieces.append(text)
        else:
            self._pieces.clear()

    def pause(self) -> None:
        """Stop the watch."""
        self._elapsed, self._begun = self._now(), None

    def resume(self) -> None:
        """Let it go on."""
        if self._begun is None:
            self._begun = self._traits.clock()

    def done(self) -> None:
        """End the call with a complete response. Of several pieces, the time of the first is kept."""
        known = self._readable and self._pieces_of_text > 0 and self._length <= LONGEST
        self._end(
            text="".join(self._pieces) if known else None,
            first_token_ms=None if self._first is None or self._pieces_of_text < 2 else 1e3 * self._first,
            tokens=self._tokens,
        )

    def failed(self, error: BaseException) -> None:
        """End the call with an exception of the model's client, of which the name alone is kept.

        What is no ``Exception`` (a cancellation, an interrupt) is not the model's, and is not recorded.
        """
        if isinstance(error, Exception):
            self._end(error=type(error).__name__)
        self._ended = True

    def _end(self, **measured: Any) -> None:
        if self._ended:
            return
        self._ended = True
        self.pause()
        traits = self._traits
        call = LLMCall(traits.model, latency_ms=1e3 * self._elapsed, expects=traits.expects, **measured)
        self.result = traits.recorder.record(call)

    def _now(self) -> float:
        return self._elapsed if self._begun is None else self._elapsed + self._traits.clock() - self._begun

    def __enter__(self) -> Measurement:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if error is None:
            self.done()
        else:
            self.failed(error)


def wrapped(function: Function, traits: Traits) -> Function:
    """Wrap a function so that its calls are measured; what it returns and raises stays, but for streams.

    Of an iterator (a generator, a client's stream) the caller gets a stand-in that passes everything on. What else is
    awaitable than a coroutine (a task, a future) is handed on unmeasured.
    """
    if inspect.iscoroutinefunction(function):

        @wraps(function)
        async def call_async(*args: Any, **kwargs: Any) -> Any:
            return await _awaited(function(*args, **kwargs), Measurement(traits))

        return cast(Function, call_async)

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        measurement = Measurement(traits)
        try:
            made = function(*args, **kwargs)
        except BaseException as error:
            measurement.failed(error)
            raise
        return _awaited(made, measurement) if inspect.iscoroutine(made) else _settled(made, measurement)

    return cast(Function, call)


async def _awaited(pending: Any, measurement: Measurement) -> Any:
    try:
        made = await pending
    except BaseException as error:
        measurement.failed(error)
        raise
    return _settled(made, measurement)


def _settled(made: Any, measurement: Measurement) -> Any:
    ways = hasattr(type(made), "__next__"), hasattr(type(made), "__anext__")
    if ways in _STREAMS:
        measurement.pause()
        return _STREAMS[ways](made, measurement)
    if not inspect.isawaitable(made):
        measurement.add(made)
        measurement.done()
    return made


class _Passing:
    """Stands in for a stream: whatever is not measured is the stream's own."""

    def __init__(self, stream: Any, measurement: Measurement) -> None:
        self._stream, self._measurement = stream, measurement

    def __getattr__(self, name: str) -> Any:
        if name == "_stream":  # while it is being copied
            raise AttributeError(name)
        return getattr(self._stream, name)

    def _piece(self, piece: Any) -> Any:
        self._measurement.add(piece)  # raises nothing
        self._measurement.pause()
        return piece

    def _ended(self, error: BaseException) -> None:
        if isinstance(error, (StopIteration, StopAsyncIteration)):
            self._measurement.done()
        else:
            self._measurement.failed(error)


class _Stream(_Passing):
    def __iter__(self) -> _Stream:
        return self

    def __next__(self) -> Any:
        self._measurement.resume()
        try:
            return self._piece(next(self._stream))
        except BaseException as error:
            self._ended(error)
            raise

    def __enter__(self) -> Any:
        self._stream.__enter__()
        return self

    def __exit__(self, *raised: Any) -> Any:
        return self._stream.__exit__(*raised)


class _AsyncStream(_Passing):
    def __aiter__(self) -> _AsyncStream:
        return self

    async def __anext__(self) -> Any:
        self._measurement.resume()
        try:
            return self._piece(await self._stream.__anext__())
        except BaseException as error:
            self._ended(error)
            raise

    async def __aenter__(self) -> Any:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *raised: Any) -> Any:
        return await self._stream.__aexit__(*raised)


class _EitherStream(_Stream, _AsyncStream):
    """A stream that can be read either way."""


_STREAMS: Final = {(True, False): _Stream, (False, True): _AsyncStream, (True, True): _EitherStream}
