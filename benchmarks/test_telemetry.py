"""What being observed adds to ``verify``: the engine alone, and with observers, take turns on the same calls.

Run with ``python -m pytest -q benchmarks/test_telemetry.py``: a line for each set of observers, with the ratio to the
engine alone in the same minute. Compare ratios, never microseconds of different runs.
"""

from __future__ import annotations

import gc
import json
import logging
from collections.abc import Callable, Iterator
from itertools import count, islice
from statistics import median
from time import perf_counter

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.trace import TracerProvider
from prometheus_client import CollectorRegistry
from workload import PROFILE, SIZES, TOOL, Call, calls

from agentguard.telemetry import (
    LogObserver,
    ObservedEngine,
    Observer,
    OpenTelemetryObserver,
    PrometheusObserver,
    observe,
)
from agentguard.verification import VerificationEngine

WARM, TURN, TURNS = 500, 25, 40
NUMBERS = count(0x5EED_0000_0000)


class _Swallowing(logging.Handler):
    """Formats each line, and writes it nowhere: what a disk costs is not ours to measure."""

    def emit(self, record: logging.LogRecord) -> None:
        self.format(record)


def _log() -> Observer:
    logger = logging.getLogger("agentguard.benchmark")
    logger.setLevel(logging.INFO)
    logger.propagate = False
    logger.handlers = [_Swallowing()]
    return LogObserver(logger)


def _opentelemetry() -> Observer:
    return OpenTelemetryObserver(TracerProvider(shutdown_on_exit=False), MeterProvider(shutdown_on_exit=False))


def _prometheus() -> Observer:
    return PrometheusObserver(CollectorRegistry())


OBSERVED: dict[str, list[Callable[[], Observer]]] = {
    "no observers": [],
    "Prometheus": [_prometheus],
    "log": [_log],
    "OpenTelemetry": [_opentelemetry],
    "Prometheus, log": [_prometheus, _log],
    "Prometheus, log, OpenTelemetry": [_prometheus, _log, _opentelemetry],
}


def _engine() -> VerificationEngine:
    engine = VerificationEngine()
    engine.register_tool_profile(TOOL, **PROFILE)
    return engine


def _seconds(engine: VerificationEngine, batch: list[Call]) -> Iterator[float]:
    for call in batch:
        call_id = f"call_{next(NUMBERS):024x}"  # none that comes again: what was looked through before is remembered
        begin = perf_counter()
        engine.verify(
            TOOL,
            args=call.args,
            result=call.result,
            execution_time_ms=call.ms,
            session_id=call.session,
            call_id=call_id,
        )
        yield perf_counter() - begin


def race(observers: list[Callable[[], Observer]], size: int, turns: int = TURNS) -> tuple[float, float]:
    """Median seconds of ``verify``, of an engine alone and of one that is observed."""
    alone = _engine()
    watched = observe(_engine(), *[make() for make in observers])
    assert isinstance(watched, ObservedEngine) is bool(observers)  # off, nothing stands between
    stream = calls(size)
    times: tuple[list[float], list[float]] = ([], [])
    for engine in (alone, watched):
        list(_seconds(engine, list(islice(calls(size, seed=1), WARM))))
    gc.collect()
    gc.disable()
    try:
        for turn in range(turns):
            texts = [json.dumps(call) for call in islice(stream, TURN)]
            for place in (0, 1) if turn % 2 else (1, 0):
                batch = [Call(*json.loads(text)) for text in texts]  # freshly parsed for each
                times[place].extend(_seconds((alone, watched)[place], batch))
    finally:
        gc.enable()
    return median(times[0]), median(times[1])


@pytest.mark.parametrize("who", OBSERVED)
def test_telemetry(who: str, capsys: pytest.CaptureFixture[str]) -> None:
    alone, watched = race(OBSERVED[who], SIZES["1 KB"])

    with capsys.disabled():
        print(
            f"\n{who}: {watched / alone:.2f} x the engine alone, {(watched - alone) * 1e6:+.1f} µs"
            f" (alone {alone * 1e6:.1f} µs, p50, 1 KB)",
            end="",
        )
