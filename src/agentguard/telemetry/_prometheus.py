"""Verdicts as Prometheus metrics, and a Grafana dashboard over them.

============================== ========= ============= ==========================================================
metric                         kind      labels        what
============================== ========= ============= ==========================================================
agentguard_verdicts_total      counter   tool, verdict verdicts
agentguard_posterior           histogram tool          P(fabricated), in [0, 1]
agentguard_guard_seconds       histogram               time that the engine took for a verdict
agentguard_signals_fired_total counter   signal        signals that fired
agentguard_changes_total       counter   tool, state   states that lasting changes took
agentguard_changes_open        gauge     tool          lasting changes that nobody has decided
agentguard_store_lag_seconds   gauge                   since what was learned last reached the store
agentguard_store_waiting       gauge                   audit records that wait for the store
agentguard_store_failing       gauge                   engines whose store could not be used when last tried
============================== ========= ============= ==========================================================
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib.resources import files
from typing import TYPE_CHECKING, Final, NamedTuple

from agentguard.errors import ConfigurationError
from agentguard.telemetry._disclosing import ToolNames
from agentguard.telemetry._engines import ChangeStates, StoreLag, open_by_label
from agentguard.telemetry._observer import Observation, Observer
from agentguard.verification import VerificationEngine
from agentguard.verification._changes import Change

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry
    from prometheus_client.core import GaugeMetricFamily


NEEDED: Final = "Prometheus metrics need prometheus-client; pip install 'agentguard[prometheus]'"
#: Buckets, narrow where decisions are taken: about the default thresholds of 0.2 and 0.5, and at both ends.
POSTERIORS: Final = (0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)
#: 10 µs to 1 s.
GUARD_SECONDS: Final = (
    1e-5, 2.5e-5, 5e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 1e-2, 2.5e-2, 5e-2, 0.1, 0.25, 0.5, 1.0,
)  # fmt: skip


#: Name, help and labels; the first three in the order of ``Lag``.
_GAUGES: Final = (
    ("store_lag_seconds", "Since what was learned last reached the store.", ()),
    ("store_waiting", "Audit records that wait for the store.", ()),
    ("store_failing", "Engines whose store could not be used when last tried.", ()),
    ("changes_open", "Lasting changes that nobody has decided.", ("tool",)),
)


class PrometheusObserver(Observer):
    """Counts verdicts. One observer serves all engines of a process that are to be counted together.

    In the multiprocess mode of prometheus_client (``PROMETHEUS_MULTIPROC_DIR``) its ``MultiProcessCollector`` sums
    counters and histograms; the gauges are each process's own, and are not in the sum.

    Args:
        registry: gets the metrics; None: prometheus_client's own.
        max_tools: number of tools that get a label of their own by being called; further ones share ``other``.
        tools: names of tools that have theirs in any case.

    Raises:
        ConfigurationError: if prometheus-client is missing, or the registry has these metrics already.
    """

    def __init__(
        self, registry: CollectorRegistry | None = None, *, max_tools: int = 100, tools: Iterable[str] = ()
    ) -> None:
        try:
            from prometheus_client import REGISTRY, Counter, Histogram
        except ImportError as error:
            raise ConfigurationError(NEEDED) from error
        self._names = ToolNames(max_tools, tools)
        self._lag, self._states = StoreLag(), ChangeStates()
        into = REGISTRY if registry is None else registry
        try:
            self._verdicts = Counter("agentguard_verdicts", "Verdicts.", ("tool", "verdict"), registry=into)
            self._posterior = Histogram(
                "agentguard_posterior", "P(fabricated).", ("tool",), buckets=POSTERIORS, registry=into
            )
            self._seconds = Histogram(
                "agentguard_guard_seconds", "Time taken for a verdict.", buckets=GUARD_SECONDS, registry=into
            )
            self._fired = Counter("agentguard_signals_fired", "Signals that fired.", ("signal",), registry=into)
            self._changes = Counter(
                "agentguard_changes", "States that lasting changes took.", ("tool", "state"), registry=into
            )
            into.register(_Gauges(self._lag, self._states, self._names))
        except ValueError as error:
            message = "the registry has agentguard's metrics already: give one PrometheusObserver to all engines"
            raise ConfigurationError(message) from error

    def __call__(self, observation: Observation, /) -> None:
        """Count a verdict."""
        result = observation.result
        tool = self._names.label(result.tool)
        self._verdicts.labels(tool, result.verdict).inc()
        self._posterior.labels(tool).observe(result.posterior)
        self._seconds.observe(observation.guard_seconds)
        for name in observation.fired:
            self._fired.labels(name).inc()

    def changed(self, change: Change, /) -> None:
        """Count a lasting change's new state."""
        if self._states.take(change):
            self._changes.labels(self._names.label(change.tool), change.state).inc()

    def watch(self, engine: VerificationEngine, /) -> None:
        """Look at this engine's store too, whenever metrics are collected."""
        self._lag.watch(engine)
        self._states.watch(engine)


class _Gauges:
    """Collector of the gauges; without samples of the store if no engine writes behind."""

    def __init__(self, lag: StoreLag, states: ChangeStates, names: ToolNames) -> None:
        self._lag, self._states, self._names = lag, states, names

    def describe(self) -> Iterator[GaugeMetricFamily]:
        from prometheus_client.core import GaugeMetricFamily

        for name, text, labels in _GAUGES:
            yield GaugeMetricFamily(f"agentguard_{name}", text, labels=labels)

    def collect(self) -> Iterator[GaugeMetricFamily]:
        *of_store, of_changes = self.describe()
        for family, value in zip(of_store, self._lag.read() or (), strict=False):
            family.add_metric((), value)
        for tool, count in open_by_label(self._states, self._names).items():
            of_changes.add_metric((tool,), count)
        yield from (*of_store, of_changes)


class MetricsText(NamedTuple):
    """The answer to a collector: ``body`` goes with ``content_type``, whatever serves it."""

    content_type: str
    body: bytes


def metrics_text(registry: CollectorRegistry | None = None, accept: str = "") -> MetricsText:
    """Make the answer of a ``/metrics`` endpoint.

    Args:
        registry: has the metrics; None: prometheus_client's own.
        accept: the request's ``Accept`` header, by which the collector asks for OpenMetrics.

    Raises:
        ConfigurationError: if prometheus-client is missing.
    """
    try:
        from prometheus_client import REGISTRY
        from prometheus_client.exposition import choose_encoder
    except ImportError as error:
        raise ConfigurationError(NEEDED) from error
    encode, content_type = choose_encoder(accept)
    return MetricsText(content_type, encode(REGISTRY if registry is None else registry))


def dashboard() -> str:
    """The JSON of a Grafana dashboard over what ``PrometheusObserver`` exports, to be imported or provisioned.

    >>> '"title": "agentguard"' in dashboard()
    True
    """
    return files("agentguard.telemetry").joinpath("grafana.json").read_text(encoding="utf-8")
