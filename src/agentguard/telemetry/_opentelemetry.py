"""Verdicts in OpenTelemetry's traces and metrics, by its conventions for generative AI.

A verdict is the event ``gen_ai.evaluation.result`` of the span of its tool call. Where an instrumentation has made that
span and it is the current one, the event goes there; else a span ``execute_tool {tool}`` is made, which begins as long
before the verdict as the tool took.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from agentguard.errors import ConfigurationError
from agentguard.telemetry import conventions as names
from agentguard.telemetry._disclosing import ToolNames, content_text, safe_label, safe_text, warm_up
from agentguard.telemetry._engines import CHANGE, ChangeStates, StoreLag, open_by_label
from agentguard.telemetry._observer import Observation, Observer
from agentguard.telemetry._prometheus import GUARD_SECONDS, POSTERIORS
from agentguard.verification import VerificationEngine
from agentguard.verification.changes import Change

if TYPE_CHECKING:
    from opentelemetry._logs import Logger, LoggerProvider
    from opentelemetry.metrics import CallbackOptions, MeterProvider
    from opentelemetry.metrics import Observation as Measured
    from opentelemetry.trace import Span, TracerProvider


SCOPE: Final = "agentguard"
NEEDED: Final = "OpenTelemetry needs opentelemetry-api; pip install 'agentguard[otel]'"
NANOSECONDS: Final = 1_000_000_000
NOTHING: Final[Mapping[str, str]] = MappingProxyType({})


class OpenTelemetryObserver(Observer):
    """Puts verdicts on spans, and measures them. What is sent where is the providers' business.

    Args:
        tracer_provider: makes the spans; None: the global one.
        meter_provider: keeps the metrics; None: the global one.
        logger_provider: given, verdicts are events of the Logs API that belong to the span, in place of events on it.
        content: put arguments and results on spans, as JSON without credentials, at most 8,192 characters each; what
            a profile has taken out of a result is taken out here too.
        spans: False where instrumentation makes spans of tool calls that are not the current ones when the guard
            judges: no spans are made here, and verdicts go to the current span, whatever it is of.
        max_tools: how many tools get an attribute of their own in metrics by being called; further ones share
            ``other``.
        tools: names of tools that have theirs in any case.

    Raises:
        ConfigurationError: where opentelemetry-api is missing.
    """

    def __init__(
        self,
        tracer_provider: TracerProvider | None = None,
        meter_provider: MeterProvider | None = None,
        *,
        logger_provider: LoggerProvider | None = None,
        content: bool = False,
        spans: bool = True,
        max_tools: int = 100,
        tools: Iterable[str] = (),
    ) -> None:
        try:
            from opentelemetry import metrics, trace
        except ImportError as error:
            raise ConfigurationError(NEEDED) from error
        self.content = content
        self._spans = spans
        self._names = ToolNames(max_tools, tools)
        self._lag, self._states = StoreLag(), ChangeStates()
        self._current_span = trace.get_current_span
        self._tracer = trace.get_tracer(SCOPE, tracer_provider=tracer_provider)
        self._logger = None if logger_provider is None else logger_provider.get_logger(SCOPE)
        meter = metrics.get_meter(SCOPE, meter_provider=meter_provider)
        self._verdicts = meter.create_counter(names.VERDICTS, "{verdict}", "Verdicts.")
        self._fired = meter.create_counter(names.FIRED, "{signal}", "Signals that fired.")
        self._posterior = meter.create_histogram(
            names.POSTERIOR, "1", "P(fabricated).", explicit_bucket_boundaries_advisory=POSTERIORS
        )
        self._seconds = meter.create_histogram(
            names.GUARD_DURATION, "s", "Time taken for a verdict.", explicit_bucket_boundaries_advisory=GUARD_SECONDS
        )
        self._executed = meter.create_histogram(
            names.EXECUTE_TOOL_DURATION, "s", "Duration of a tool's execution.",
            explicit_bucket_boundaries_advisory=names.DURATIONS,
        )  # fmt: skip
        self._changes = meter.create_counter(names.CHANGES, "{change}", "States that lasting changes took.")
        meter.create_observable_gauge(
            names.CHANGES_OPEN, [self._open_changes], "{change}", "Lasting changes that nobody has decided."
        )
        meter.create_observable_gauge(
            names.STORE_LAG, [self._store_lag], "s", "Since what was learned last reached the store."
        )
        meter.create_observable_gauge(
            names.STORE_WAITING, [self._store_waiting], "{record}", "Audit records that wait for the store."
        )
        warm_up(content=content)

    def watch(self, engine: VerificationEngine, /) -> None:
        """Look at this engine's store too, whenever metrics are collected."""
        self._lag.watch(engine)
        self._states.watch(engine)

    def changed(self, change: Change, /) -> None:
        """Tell that a lasting change took another state: on the current span, or on one of its own; and measure it."""
        if not self._states.take(change):
            return
        tool = self._names.label(change.tool)
        self._changes.add(1, {names.TOOL_NAME: tool, names.CHANGE_STATE: change.state})
        event = {
            names.TOOL_NAME: safe_text(change.tool),
            names.CHANGE_ID: safe_text(change.id),
            names.CHANGE_STATE: change.state,
        }
        at, span = int(change.since * NANOSECONDS), self._current_span()
        if self._logger is not None:
            self._emitted_change(self._logger, event, at, is_open=change.state == "open")
        elif span.is_recording():
            span.add_event(CHANGE, event, at)
        elif self._spans:  # what other workers decided is read in a thread that has none
            span = self._tracer.start_span(CHANGE, attributes=event, start_time=at)
            span.add_event(CHANGE, event, at)
            span.end(at)

    def __call__(self, observation: Observation, /) -> None:
        """Put a verdict on its span, and measure it."""
        span = self._current_span()
        if _executes_tool(span):
            self._judged(span, observation)
            self._marked(span, observation)
        elif self._spans:
            self._made(observation)
        else:  # the span is of more than this call: which one was judged has to be said
            self._judged(span, observation, _named(observation))
        self._measured(observation)

    def _made(self, observation: Observation) -> None:
        """A span of the call: where nobody else makes one, its duration is nobody else's to measure either."""
        result, call, _, at = observation
        end = int(at * NANOSECONDS)
        took = call.milliseconds
        attributes = {names.OPERATION_NAME: names.EXECUTE_TOOL, **_named(observation)}
        if call.session_id is not None:
            attributes[names.CONVERSATION_ID] = safe_text(call.session_id)
        # Where the time is not known, or cannot be, the span is a moment.
        start = end if took is None or took / 1_000 >= at else end - int(took * 1_000_000)
        span = self._tracer.start_span(
            f"{names.EXECUTE_TOOL} {safe_label(result.tool)}", attributes=attributes, start_time=start
        )
        self._judged(span, observation)
        self._marked(span, observation)
        span.end(end)
        if took is not None:
            self._executed.record(took / 1_000, {names.TOOL_NAME: self._names.label(result.tool)})

    def _judged(self, span: Span, observation: Observation, about: Mapping[str, str] = NOTHING) -> None:
        """The event: on the span, or of the Logs API and about the span."""
        if not span.is_recording() and self._logger is None:
            return
        result = observation.result
        event: dict[str, Any] = {
            **about,
            names.EVALUATION_NAME: names.FABRICATION,
            names.EVALUATION_SCORE: result.posterior,
            names.EVALUATION_LABEL: result.verdict,
            names.EVALUATION_EXPLANATION: safe_text(result.explanation),
            names.TIER: result.tier_reached.value,
            names.FIRED: observation.fired,
            names.GUARD_DURATION: observation.guard_seconds,
        }
        if result.false_block_p is not None:
            event[names.FALSE_BLOCK_P] = result.false_block_p
        if self._logger is None:
            span.add_event(names.EVALUATION_RESULT, event, int(observation.at * NANOSECONDS))
        else:
            self._emitted(self._logger, span, observation, event)

    def _marked(self, span: Span, observation: Observation) -> None:
        """The verdict as attributes, by which many systems find spans; with the content, if that is asked for."""
        if not span.is_recording():
            return
        result, call = observation.result, observation.call
        span.set_attributes({names.VERDICT: result.verdict, names.POSTERIOR: result.posterior})
        if not self.content:
            return
        known = getattr(span, "attributes", None) or {}
        for name, value, also in (
            (names.TOOL_CALL_ARGUMENTS, call.args, ()),
            (names.TOOL_CALL_RESULT, call.result, result.redact),
        ):
            if name not in known:  # whoever made the span has a say in what is on it
                span.set_attribute(name, content_text(value, also))

    @staticmethod
    def _emitted(logger: Logger, span: Span, observation: Observation, event: Mapping[str, Any]) -> None:
        from opentelemetry._logs import LogRecord, SeverityNumber
        from opentelemetry.trace import set_span_in_context

        severity = {"accept": SeverityNumber.INFO, "flag": SeverityNumber.WARN, "block": SeverityNumber.ERROR}
        record = LogRecord(
            timestamp=int(observation.at * NANOSECONDS),
            context=set_span_in_context(span),
            severity_number=severity[observation.result.verdict],
            attributes=event,
            event_name=names.EVALUATION_RESULT,
        )
        logger.emit(record)

    @staticmethod
    def _emitted_change(logger: Logger, event: Mapping[str, Any], at: int, *, is_open: bool) -> None:
        from opentelemetry._logs import LogRecord, SeverityNumber

        severity = SeverityNumber.WARN if is_open else SeverityNumber.INFO
        logger.emit(LogRecord(timestamp=at, severity_number=severity, attributes=event, event_name=CHANGE))

    def _measured(self, observation: Observation) -> None:
        result = observation.result
        tool = {names.TOOL_NAME: self._names.label(result.tool)}
        self._verdicts.add(1, {**tool, names.VERDICT: result.verdict})
        self._posterior.record(result.posterior, tool)
        self._seconds.record(observation.guard_seconds)
        for name in observation.fired:
            self._fired.add(1, {names.SIGNAL: name})

    def _open_changes(self, _: CallbackOptions) -> Iterator[Measured]:
        from opentelemetry.metrics import Observation as Measured

        for tool, count in open_by_label(self._states, self._names).items():
            yield Measured(count, {names.TOOL_NAME: tool})

    def _store_lag(self, _: CallbackOptions) -> Iterator[Measured]:
        from opentelemetry.metrics import Observation as Measured

        lag = self._lag.read()
        if lag is not None:
            yield Measured(lag.seconds)

    def _store_waiting(self, _: CallbackOptions) -> Iterator[Measured]:
        from opentelemetry.metrics import Observation as Measured

        lag = self._lag.read()
        if lag is not None:
            yield Measured(lag.waiting)


def _named(observation: Observation) -> dict[str, str]:
    """Which call it is."""
    call_id = observation.call.call_id
    which = {names.TOOL_NAME: safe_text(observation.result.tool)}
    return which if call_id is None else {**which, names.TOOL_CALL_ID: safe_text(call_id)}


def _executes_tool(span: Span) -> bool:
    """The span is a tool's execution: it says so, as the conventions have it, or is named so."""
    attributes = getattr(span, "attributes", None)  # the API has no way to read them, the SDK's spans have
    if attributes and attributes.get(names.OPERATION_NAME) == names.EXECUTE_TOOL:
        return True
    name = getattr(span, "name", None)
    return isinstance(name, str) and name.split(" ", 1)[0] == names.EXECUTE_TOOL
