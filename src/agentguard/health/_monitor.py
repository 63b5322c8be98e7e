"""Watches models: each call against the baseline of its model, which a store keeps.

::

    a callable, a callback ──▶ LLMCall ──▶ judge ──▶ HealthResult
                                            │ ▲
                             levels of the model ◀──▶ the document "health:MODEL" in the store

Nothing of a response is kept but figures. A failure of the monitor is logged and never reaches the caller; where the
store cannot be used, the monitor goes on with what it has.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from agentguard import _forks as forks
from agentguard.errors import ConfigurationError, DataError, StoreError
from agentguard.health._baseline import Levels, decode, encode, name_of, summary
from agentguard.health._judging import ADAPT_AFTER, LIMITS, WEIGHTS, Method, Settings, judge
from agentguard.health._measuring import Function, Measurement, Read, Traits, read, seconds, wrapped
from agentguard.health._types import HealthEngine, HealthResult, LLMCall, ModelBaseline, Structured
from agentguard.stores import Store
from agentguard.stores._flusher import Flusher

AT_ONCE: Final = 50  # documents in one save
_log = logging.getLogger("agentguard")


class _Watched:
    """A model under watch: its baseline, and whether its document is behind."""

    __slots__ = ("changed", "levels", "loaded", "lock")

    def __init__(self) -> None:
        self.lock = forks.lock(forks.Rank.TOOL)
        self.levels = Levels()
        self.loaded = self.changed = False


class LLMMonitor:
    """Watch the health of a model's calls: latency, token rate, manner and structure. Thread-safe.

    Args:
        store: keeps the baselines; a monitor built on it goes on from there. Of several processes on one store the
            last to save a model's baseline has it. None: in memory only.
        min_samples: calls of a model before its latency, rate and manner are judged.
        alpha: the weight of a new call in the averages, in (0, 1].
        adapt_after: outliers in a row after which they are the new level; 0: every call moves the averages.
        method: of the fingerprints' comparison, ``weighted`` or ``cosine``.
        latency: deviations, as shares of the usual, from which a latency warns and is in error.
        token_rate: deficits, as shares of the usual, likewise.
        fingerprint: distances, likewise.
        weights: of metrics in the score, beside the documented ones or in their place; 0: reported and not counted.
            ``first_token`` has none, nor has a metric of ``engines``, unless it is given one here.
        limits: the highest scores that are ``stable``, ``minor_variation`` and ``degraded``.
        engines: functions of your own, ``(call, baseline) -> EngineResult``, asked from a model's first call on.
        max_models: the most models that are watched at once; those longest unused go first, into the store.
        on_result: called with every result; what it raises is logged.
        clock: seconds, from any beginning.

    Raises:
        ConfigurationError: for arguments that cannot be used.

    >>> monitor = LLMMonitor()
    >>> ask = monitor.wrap(lambda question: "It is mild.", model="weather-model")
    >>> ask("How is it in Oslo?")
    'It is mild.'
    >>> monitor.baseline("weather-model").calls
    1
    """

    def __init__(
        self,
        store: Store | None = None,
        *,
        min_samples: int = 5,
        alpha: float = 0.1,
        adapt_after: int = ADAPT_AFTER,
        method: Method = "weighted",
        latency: tuple[float, float] = (1.5, 3.0),
        token_rate: tuple[float, float] = (0.3, 0.6),
        fingerprint: tuple[float, float] = (0.3, 0.6),
        weights: Mapping[str, float] | None = None,
        limits: tuple[float, float, float] = LIMITS,
        engines: Sequence[HealthEngine] = (),
        max_models: int = 1000,
        on_result: Callable[[HealthResult], None] | None = None,
        clock: Callable[[], float] = seconds,
    ) -> None:
        self._engines = tuple(engines)
        self._settings = Settings(
            alpha, min_samples, adapt_after, method, latency, token_rate, fingerprint, {**WEIGHTS, **(weights or {})},
            limits,
        )  # fmt: skip
        _check(self._settings, max_models, self._engines)
        self._store, self._max_models, self._on_result, self._clock = store, max_models, on_result, clock
        self._saving, self._lock = forks.lock(forks.Rank.PERSISTENCE), forks.lock(forks.Rank.REGISTRY)
        self._models: OrderedDict[str, _Watched] = OrderedDict()
        self._failing = False
        self._flusher: Flusher | None = None
        if store is not None and store.flush_seconds is not None:
            self._flusher = Flusher(self, store.flush_seconds)

    # --- Calls ---

    def record(self, call: LLMCall) -> HealthResult:
        """Judge a finished call and learn from it. Raises nothing: a call that cannot be judged is ``unknown``."""
        try:
            watched = self._watched(call.model)
            with watched.lock:
                self._load(call.model, watched)
                result, watched.levels = judge(call, watched.levels, self._settings, self._engines)
                watched.changed = True
        except Exception as error:
            _log.error("the health of a call could not be judged: %s", type(error).__name__)
            return HealthResult(str(getattr(call, "model", "")), None, "unknown", ())
        if self._on_result is not None:
            try:
                self._on_result(result)
            except Exception as error:
                _log.error("on_result failed for %r: %s", result.model, type(error).__name__)
        return result

    def wrap(
        self,
        function: Function,
        model: str | None = None,
        *,
        expects: Structured | None = None,
        reader: Read = read,
    ) -> Function:
        """Wrap a function so that its calls are recorded; it may be a coroutine function, or return a stream.

        What it returns and raises reaches the caller as it is. An exception counts as a failed call; a stream that
        its consumer leaves, and a call that is cancelled, do not count. A stream's latency is the time spent waiting
        for its pieces, not what its consumer does between them.

        Args:
            function: makes one call of a model each time.
            model: whose baseline the calls belong to; None: the function's name.
            expects: the form of the responses, where they have one.
            reader: finds text and tokens in what it returns, or in each piece of it.

        Raises:
            ConfigurationError: for what cannot be called, and for a callable without a name, where no model is named.
        """
        name = model if model is not None else getattr(function, "__name__", None)
        if not callable(function) or not isinstance(name, str):
            raise ConfigurationError(
                f"wrap takes a callable with a name, or model=..., not a {type(function).__name__}"
            )
        return wrapped(function, Traits(self, name, expects, reader, self._clock))

    def measure(self, model: str, *, expects: Structured | None = None, reader: Read = read) -> Measurement:
        """Measure one call from here to the end of the block.

        >>> monitor = LLMMonitor()
        >>> with monitor.measure("weather-model") as call:
        ...     call.add("It is mild.")
        >>> call.result.token_source
        'words'
        """
        return Measurement(Traits(self, model, expects, reader, self._clock))

    def baseline(self, model: str) -> ModelBaseline:
        """The baseline of a model by now.

        Raises:
            DataError: for a name that is no text.
        """
        watched = self._watched(model)
        with watched.lock:
            self._load(model, watched)
            return summary(watched.levels, self._settings.min_samples)

    # --- The store ---

    def flush(self) -> None:
        """Save what changed since the last time.

        Raises:
            StoreError: where the store cannot be used; nothing is lost by that.
        """
        if self._store is None:
            return
        with self._saving:  # or an older state could be saved after a newer one
            with self._lock:
                models = list(self._models.items())
            changed = [(model, watched) for model, watched in models if watched.changed]
            for begin in range(0, len(changed), AT_ONCE):
                self._save(self._store, changed[begin : begin + AT_ONCE])
        if changed and self._failing:
            self._failing = False
            _log.warning("the store can be reached again; what was learned of models meanwhile is in it now")

    def flush_quietly(self) -> None:
        """Save as ``flush`` does, from the write-behind thread: a failure is logged once, and so is its end."""
        self._quietly(self.flush)

    def close(self) -> None:
        """``flush``, and end the thread that does so; the store stays open.

        Raises:
            StoreError: as ``flush``.
        """
        if self._flusher is not None:
            self._flusher.stop()
            self._flusher = None
        self.flush()

    def hurry_quietly(self) -> None:
        """Do nothing: every figure of a model can wait for the next flush."""

    def forked(self) -> None:
        """Forget unsaved changes in a child process: they are the parent's to save."""
        for watched in self._models.values():
            watched.changed = False

    def __enter__(self) -> LLMMonitor:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def _watched(self, model: str) -> _Watched:
        if not isinstance(model, str):
            raise DataError(f"a model's name must be text, not {type(model).__name__}")
        with self._lock:
            watched = self._models.get(model)
            if watched is not None:
                self._models.move_to_end(model)
                return watched
            watched = self._models[model] = _Watched()
            evicted = self._models.popitem(last=False) if len(self._models) > self._max_models else None
        store = self._store
        if evicted is not None and evicted[1].changed and store is not None:
            self._quietly(lambda: self._save(store, [evicted]))
        return watched

    def _load(self, model: str, watched: _Watched) -> None:
        """Take in the model's document when it is first met; where it cannot be read, when it is next saved."""
        store = self._store
        if not watched.loaded and not watched.levels.calls:
            if store is None:
                watched.loaded = True
            else:
                self._quietly(lambda: self._catch_up(store, model, watched))

    def _catch_up(self, store: Store, model: str, watched: _Watched) -> None:
        name = name_of(model)
        document = store.load([name]).get(name)
        watched.loaded = True
        if document is None:
            return
        try:
            kept = decode(document)
        except DataError as error:
            _log.error("%r in the store cannot be used and is kept as 'damaged:%s': %s", name, name, error)
            self._quietly(lambda: store.save({f"damaged:{name}": document}))
            return
        if kept.calls >= watched.levels.calls:  # the one that rests on more stands
            watched.levels = kept

    def _save(self, store: Store, models: Iterable[tuple[str, _Watched]]) -> None:
        documents: dict[str, Any] = {}
        taken = []
        for model, watched in models:
            with watched.lock:
                if not watched.loaded:
                    self._catch_up(store, model, watched)
                documents[name_of(model)] = encode(model, watched.levels)
                watched.changed = False
            taken.append(watched)
        try:
            store.save(documents)
        except BaseException:
            for watched in taken:
                watched.changed = True
            raise

    def _quietly(self, work: Callable[[], None]) -> None:
        try:
            work()
        except StoreError as error:
            if not self._failing:
                self._failing = True
                _log.error("the store cannot be used, models are watched without it: %s", error)
        except Exception as error:
            _log.error("keeping what was learned of models failed: %s", type(error).__name__)


def _check(settings: Settings, max_models: int, engines: Sequence[HealthEngine]) -> None:
    """Refuse settings that cannot be used, all of them at once."""
    problems = [
        f"an engine must be a function (call, baseline) -> EngineResult, not a {type(engine).__name__}"
        for engine in engines
        if not callable(engine)
    ]
    if not 0 < settings.alpha <= 1:
        problems.append(f"alpha must be above 0 and at most 1, not {settings.alpha!r}")
    for name, number, least in (
        ("min_samples", settings.min_samples, 1),
        ("adapt_after", settings.adapt_after, 0),
        ("max_models", max_models, 1),
    ):
        if type(number) is not int or number < least:
            problems.append(f"{name} must be a whole number from {least} on, not {number!r}")
    if settings.method not in ("weighted", "cosine"):
        problems.append(f"method must be 'weighted' or 'cosine', not {settings.method!r}")
    for name in ("latency", "token_rate", "fingerprint"):
        pair = getattr(settings, name)
        if len(pair) != 2 or not 0 <= pair[0] <= pair[1]:
            problems.append(f"{name} must be two thresholds, 0 <= warn <= error, not {pair!r}")
    if any(not 0 <= weight < float("inf") for weight in settings.weights.values()):
        problems.append("weights must be finite and 0 or more")
    if len(settings.limits) != 3 or not 0 <= settings.limits[0] <= settings.limits[1] <= settings.limits[2]:
        problems.append(f"limits must be three scores, 0 <= stable <= minor <= degraded, not {settings.limits!r}")
    if problems:
        raise ConfigurationError("the monitor cannot be set up: " + "; ".join(problems))
