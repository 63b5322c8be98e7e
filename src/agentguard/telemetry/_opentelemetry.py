"""Verdicts in OpenTelemetry's traces and metrics, by its conventions for generative AI.

A verdict is the event ``gen_ai.evaluation.result`` of the span of its tool call. If an instrumentation has made that
span and it is the current one, the event goes there; else a span ``execute_tool {tool}`` is made, which begins as long
before the verdict as the tool took.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from agentguard.errors import ConfigurationError
from agentguard.telemetry._disclosing import ToolNames, content_text, safe_label, safe_text, warm_up
from agentguard.telemetry._engines import CHANGE, UNREVIEWED, ChangeStates, StoreLag, open_by_label
from agentguard.telemetry._observer import Observation, Observer
from agentguard.telemetry._prometheus import GUARD_SECONDS, POSTERIORS
from agentguard.verification import VerificationEngine
from agentguard.verification._changes import Change

if TYPE_CHECKING:
    from opentelemetry._logs import LoggerProvider
    from opentelemetry.metrics import CallbackOptions, MeterProvider
    from opentelemetry.metrics import Observation as Measured
    from opentelemetry.trace import Span, TracerProvider


# --- Names of the semantic conventions for generative AI, and ours beside them ---
# Spelt out here: the package that has them as constants calls all of them incubating, and moves them.

EXECUTE_TOOL: Final = "execute_tool"
OPERATION_NAME: Final = "gen_ai.operation.name"
CONVERSATION_ID: Final = "gen_ai.conversation.id"
TOOL_NAME: Final = "gen_ai.tool.name"
TOOL_CALL_ID: Final = "gen_ai.tool.call.id"
TOOL_CALL_ARGUMENTS: Final = "gen_ai.tool.call.arguments"
TOOL_CALL_RESULT: Final = "gen_ai.tool.call.result"
EXECUTE_TOOL_DURATION: Final = "gen_ai.execute_tool.duration"
#: Seconds; the buckets that the conventions advise for durations of generative AI.
DURATIONS: Final = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)

EVALUATION_RESULT: Final = "gen_ai.evaluation.result"
EVALUATION_NAME: Final = "gen_ai.evaluation.name"
EVALUATION_SCORE: Final = "gen_ai.evaluation.score.value"
EVALUATION_LABEL: Final = "gen_ai.evaluation.score.label"
EVALUATION_EXPLANATION: Final = "gen_ai.evaluation.explanation"

#: The name of the evaluation: its score is P(fabricated), its label the verdict.
FABRICATION: Final = "fabrication"
VERDICT: Final = "agentguard.verdict"
POSTERIOR: Final = "agentguard.posterior"
FALSE_BLOCK_P: Final = "agentguard.false_block_p"
TIER: Final = "agentguard.tier"
FIRED: Final = "agentguard.signals.fired"
SIGNAL: Final = "agentguard.signal"
GUARD_DURATION: Final = "agentguard.guard.duration"
VERDICTS: Final = "agentguard.verdicts"
#: A lasting change of a tool that took another state; and its attributes.
CHANGE_ID: Final = "agentguard.change.id"
CHANGE_STATE: Final = "agentguard.change.state"
CHANGE_WHY: Final = "agentguard.change.why"
CHANGES: Final = "agentguard.changes"
CHANGES_OPEN: Final = "agentguard.changes.open"
STORE_LAG: Final = "agentguard.store.lag"
STORE_WAITING: Final = "agentguard.store.waiting"

# --- The observer ---

SCOPE: Final = "agentguard"
NEEDED: Final = "OpenTelemetry needs opentelemetry-api; pip install 'agentguard[otel]'"
NANOSECONDS: Final = 1_000_000_000
NOTHING: Final[Mapping[str, str]] = MappingProxyType({})
SEVERITIES: Final = {"accept": "INFO", "flag": "WARN", "block": "ERROR"}


class OpenTelemetryObserver(Observer):
    """Puts verdicts on spans, and measures them. The providers decide what is sent where.

    Args:
        tracer_provider: makes the spans; None: the global one.
        meter_provider: keeps the metrics; None: the global one.
        logger_provider: if given, verdicts are events of the Logs API that belong to the span, not events on it.
        content: put arguments and results on spans, as JSON without credentials, at most 8,192 characters each; what
            a profile redacts in a result is redacted here too.
        spans: False if instrumentation makes spans of tool calls that are not the current ones when the guard judges:
            no spans are made then, and verdicts go to the current span, whatever it is of.
        max_tools: number of tools that get an attribute of their own in metrics by being called; further ones share
            ``other``.
        tools: names of tools that have theirs in any case.

    Raises:
        ConfigurationError: if opentelemetry-api is missing.
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
        self._current_span, self._measured_value = trace.get_current_span, metrics.Observation
        self._tracer = trace.get_tracer(SCOPE, tracer_provider=tracer_provider)
        self._logger = None if logger_provider is None else logger_provider.get_logger(SCOPE)
        meter = metrics.get_meter(SCOPE, meter_provider=meter_provider)
        self._verdicts = meter.create_counter(VERDICTS, "{verdict}", "Verdicts.")
        self._fired = meter.create_counter(FIRED, "{signal}", "Signals that fired.")
        self._posterior = meter.create_histogram(
            POSTERIOR, "1", "P(fabricated).", explicit_bucket_boundaries_advisory=POSTERIORS
        )
        self._seconds = meter.create_histogram(
            GUARD_DURATION, "s", "Time taken for a verdict.", explicit_bucket_boundaries_advisory=GUARD_SECONDS
        )
        self._executed = meter.create_histogram(
            EXECUTE_TOOL_DURATION, "s", "Duration of a tool's execution.",
            explicit_bucket_boundaries_advisory=DURATIONS,
        )  # fmt: skip
        self._changes = meter.create_counter(CHANGES, "{change}", "States that lasting changes took.")
        meter.create_observable_gauge(
            CHANGES_OPEN, [self._open_changes], "{change}", "Lasting changes that nobody has decided."
        )
        meter.create_observable_gauge(
            STORE_LAG, [self._store_lag], "s", "Since what was learned last reached the store."
        )
        meter.create_observable_gauge(
            STORE_WAITING, [self._store_waiting], "{record}", "Audit records that wait for the store."
        )
        warm_up(content=content)

    def watch(self, engine: VerificationEngine, /) -> None:
        """Look at this engine's store too, whenever metrics are collected."""
        self._lag.watch(engine)
        self._states.watch(engine)

    def changed(self, change: Change, /) -> None:
        """Put a lasting change's new state on the current span, or on one of its own, and count it."""
        if not self._states.take(change):
            return
        tool = self._names.label(change.tool)
        self._changes.add(1, {TOOL_NAME: tool, CHANGE_STATE: change.state})
        event = {TOOL_NAME: safe_text(change.tool), CHANGE_ID: safe_text(change.id), CHANGE_STATE: change.state}
        if change.why:
            event[CHANGE_WHY] = safe_text(change.why)
        at, span = int(change.since * NANOSECONDS), self._current_span()
        if self._logger is not None:
            self._emit(CHANGE, event, at, "WARN" if change.state in UNREVIEWED else "INFO")
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
        """Make a span of the call, and measure its duration: if nobody else makes one, nobody else does."""
        result, call, _, at = observation
        end = int(at * NANOSECONDS)
        took = call.milliseconds
        attributes = {OPERATION_NAME: EXECUTE_TOOL, **_named(observation)}
        if call.session_id is not None:
            attributes[CONVERSATION_ID] = safe_text(call.session_id)
        # If the time is not known, or impossible, the span is a moment.
        start = end if took is None or took / 1_000 >= at else end - int(took * 1_000_000)
        span = self._tracer.start_span(
            f"{EXECUTE_TOOL} {safe_label(result.tool)}", attributes=attributes, start_time=start
        )
        self._judged(span, observation)
        self._marked(span, observation)
        span.end(end)
        if took is not None:
            self._executed.record(took / 1_000, {TOOL_NAME: self._names.label(result.tool)})

    def _judged(self, span: Span, observation: Observation, about: Mapping[str, str] = NOTHING) -> None:
        """Add the event to the span, or emit it by the Logs API as belonging to the span."""
        if not span.is_recording() and self._logger is None:
            return
        result = observation.result
        event: dict[str, Any] = {
            **about,
            EVALUATION_NAME: FABRICATION,
            EVALUATION_SCORE: result.posterior,
            EVALUATION_LABEL: result.verdict,
            EVALUATION_EXPLANATION: safe_text(result.explanation),
            TIER: result.tier_reached.value,
            FIRED: observation.fired,
            GUARD_DURATION: observation.guard_seconds,
        }
        if result.false_block_p is not None:
            event[FALSE_BLOCK_P] = result.false_block_p
        at = int(observation.at * NANOSECONDS)
        if self._logger is None:
            span.add_event(EVALUATION_RESULT, event, at)
        else:
            self._emit(EVALUATION_RESULT, event, at, SEVERITIES[result.verdict], span)

    def _marked(self, span: Span, observation: Observation) -> None:
        """Set the verdict as attributes, by which many systems find spans; with the content on request."""
        if not span.is_recording():
            return
        result, call = observation.result, observation.call
        span.set_attributes({VERDICT: result.verdict, POSTERIOR: result.posterior})
        if not self.content:
            return
        known = getattr(span, "attributes", None) or {}
        for name, value, also in ((TOOL_CALL_ARGUMENTS, call.args, ()), (TOOL_CALL_RESULT, call.result, result.redact)):
            if name not in known:  # whoever made the span has a say in what is on it
                span.set_attribute(name, content_text(value, also))

    def _emit(self, name: str, event: Mapping[str, Any], at: int, severity: str, span: Span | None = None) -> None:
        """Emit an event by the Logs API, about a span if one is given."""
        from opentelemetry._logs import LogRecord, SeverityNumber
        from opentelemetry.trace import set_span_in_context

        context = None if span is None else set_span_in_context(span)
        number = SeverityNumber[severity]
        record = LogRecord(timestamp=at, context=context, severity_number=number, attributes=event, event_name=name)
        if self._logger is not None:
            self._logger.emit(record)

    def _measured(self, observation: Observation) -> None:
        result = observation.result
        tool = {TOOL_NAME: self._names.label(result.tool)}
        self._verdicts.add(1, {**tool, VERDICT: result.verdict})
        self._posterior.record(result.posterior, tool)
        self._seconds.record(observation.guard_seconds)
        for name in observation.fired:
            self._fired.add(1, {SIGNAL: name})

    def _open_changes(self, _: CallbackOptions) -> Iterator[Measured]:
        for tool, count in open_by_label(self._states, self._names).items():
            yield self._measured_value(count, {TOOL_NAME: tool})

    def _store_lag(self, _: CallbackOptions) -> Iterator[Measured]:
        lag = self._lag.read()
        if lag is not None:
            yield self._measured_value(lag.seconds)

    def _store_waiting(self, _: CallbackOptions) -> Iterator[Measured]:
        lag = self._lag.read()
        if lag is not None:
            yield self._measured_value(lag.waiting)


def _named(observation: Observation) -> dict[str, str]:
    """Attributes that identify the call."""
    call_id = observation.call.call_id
    which = {TOOL_NAME: safe_text(observation.result.tool)}
    return which if call_id is None else {**which, TOOL_CALL_ID: safe_text(call_id)}


def _executes_tool(span: Span) -> bool:
    """Whether a span is a tool's execution, by its operation or by its name."""
    attributes = getattr(span, "attributes", None)  # the API has no way to read them, the SDK's spans have
    if attributes and attributes.get(OPERATION_NAME) == EXECUTE_TOOL:
        return True
    name = getattr(span, "name", None)
    return isinstance(name, str) and name.split(" ", 1)[0] == EXECUTE_TOOL
