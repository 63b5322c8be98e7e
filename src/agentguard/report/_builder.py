"""Build a report from verdicts, one call at a time and in constant memory.

A tool has counts, a histogram of posteriors, and bounded series of its latency, of the size of its results and of
twelve numbers in them. The first 200 tools have series, the first 10,000 counts; the report says so if there were more.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from itertools import islice, pairwise
from typing import Any, Final

from agentguard.admin._portrait import Portrait
from agentguard.report._records import Chart, Claims, Content, ReportData, ToolReport, WorstCall
from agentguard.report._series import LEAST, Series, drift_alarms, drifted_of
from agentguard.report._tallies import LabelTally, Posteriors, Timing, Worst, steps_of
from agentguard.verification._canonical import plain
from agentguard.verification._document import Document, read
from agentguard.verification._judging import CallRead
from agentguard.verification._keys import numbers_of
from agentguard.verification.types import SEVERITY, ToolCall, VerdictCounts, VerificationResult

MAX_TOOLS: Final = 10_000
MAX_SERIES: Final = 200
MAX_FIELDS: Final = 12  # numbers of one tool's results that are followed
MAX_LABELS: Final = 20
CHARTS: Final = 3  # of a tool, besides that of latency
MAX_CONTENT: Final = 2_000  # characters, as the next two
MAX_DETAIL: Final = 400
MAX_NAME: Final = 200
LEAST_MS: Final = 0.001  # of a latency on the logarithmic scale
LEAST_SHARE: Final = 0.25  # judgement: of a tool's calls that must have a number for it to be charted
OTHER_TOOLS: Final = "(all other tools)"
GENUINE: Final = "genuine"
NO_SERIES: Final = f"charts are kept of the first {MAX_SERIES} tools of a log, and this is a later one"

Learned = Callable[[str], Mapping[str, Portrait | str]]


class _Tool:
    __slots__ = ("fields", "latency", "posteriors", "size", "verdicts")

    def __init__(self, *, charted: bool) -> None:
        self.verdicts = [0, 0, 0]
        self.posteriors = Posteriors()
        self.latency = Series() if charted else None
        self.size = Series() if charted else None
        self.fields: dict[str, Series] = {}


class ReportBuilder:
    """Collects verdicts as they are made; ``data`` gives the report at any time.

    Args:
        worst: number of calls to open up.
        content: keep the arguments and results of those, cut to 2,000 characters each.

    >>> from agentguard.verification import VerificationEngine
    >>> builder, engine = ReportBuilder(), VerificationEngine()
    >>> for n in range(20):
    ...     call = ToolCall("get_price", {"sku": f"A{n}"}, {"sku": f"A{n}", "price": 10.0 + n % 5}, 90.0 + n % 7)
    ...     builder.add(call, engine.verify(call.tool, args=call.args, result=call.result))
    >>> report = builder.data(title="Prices", source="calls.jsonl")
    >>> report.counts, [chart.name for chart in report.tools[0].charts]
    (VerdictCounts(accept=20, flag=0, block=0), ['latency', 'price'])
    """

    def __init__(self, worst: int = 10, *, content: bool = False) -> None:
        self.calls: int = 0
        self._content = content
        self._tools: dict[str, _Tool] = {}
        self._timing, self._posteriors, self._labels = Timing(), Posteriors(), LabelTally()
        self._by_label: dict[str, list[int]] = {}
        self._worst = Worst(worst)

    def add(self, call: ToolCall, result: VerificationResult, *, label: str | None = None, place: str = "") -> None:
        """Add one call and its verdict.

        Args:
            call: as it was judged.
            result: the verdict on it.
            label: ``"genuine"``, or any other word for the fault of the call; None if unknown.
            place: of the call's record: file and line.
        """
        self._add(call, result, None, label, place)

    def _add(
        self, call: ToolCall, result: VerificationResult, document: Document | None, label: str | None, place: str
    ) -> None:
        self.calls += 1
        tool = self._tool(result.tool)
        severity = SEVERITY[result.verdict]
        tool.verdicts[severity] += 1
        tool.posteriors.push(result.posterior)
        self._posteriors.push(result.posterior)
        self._timing.push(result.verdict)
        if label is not None:
            self._labels.push(result.posterior, fabricated=label != GENUINE)
            known = label in self._by_label or len(self._by_label) < MAX_LABELS
            self._by_label.setdefault(label if known else "(other labels)", [0, 0, 0])[severity] += 1
        number = self.calls
        self._worst.push(
            result.verdict, result.posterior, number, lambda: self._opened(call, result, number, place, label or "")
        )
        if tool.latency is not None:
            self._follow(tool, call, result, document)

    def _tool(self, name: str) -> _Tool:
        tool = self._tools.get(name)
        if tool is None:
            kept = len(self._tools) < MAX_TOOLS
            tool = self._tools.setdefault(name if kept else OTHER_TOOLS, _Tool(charted=len(self._tools) < MAX_SERIES))
        return tool

    @staticmethod
    def _follow(tool: _Tool, call: ToolCall, result: VerificationResult, document: Document | None) -> None:
        usable = result.verdict == "accept"
        signal = result.signals.get("spc_anomaly")
        alarms = drift_alarms(signal.detail) if signal is not None and signal.fired else frozenset()
        milliseconds = call.milliseconds
        if milliseconds is not None and tool.latency is not None:
            tool.latency.push(math.log(max(milliseconds, LEAST_MS)), usable=usable, alarm="latency" in alarms)
        document = read(call.result) if document is None else document
        if document.is_error or document.kind == "empty" or tool.size is None:
            return
        tool.size.push(math.log1p(document.size), usable=usable, alarm="size" in alarms)
        for path, x in islice(numbers_of(document).items(), 2 * MAX_FIELDS):
            series = tool.fields.get(path)
            if series is None:
                if len(tool.fields) >= MAX_FIELDS:
                    continue
                series = tool.fields[path] = Series()
            series.push(x, usable=usable, alarm=bool(alarms) and f"field {path or 'result'!r}" in alarms)

    def _opened(self, call: ToolCall, result: VerificationResult, number: int, place: str, label: str) -> WorstCall:
        steps, remainder = steps_of(result.prior, result.posterior, result.contributions, result.signals)
        telling = {step.signal for step in steps}
        return WorstCall(
            number, place[:MAX_DETAIL], result.tool[:MAX_NAME], (result.call_id or "")[:MAX_NAME],
            str(call.session_id or "")[:MAX_NAME], result.verdict, result.prior, result.posterior,
            result.false_block_p, tuple(step._replace(detail=step.detail[:MAX_DETAIL]) for step in steps), remainder,
            tuple(name for name in result.signals if name not in telling), result.explanation[: 2 * MAX_DETAIL],
            label[:MAX_NAME], _content(call, result) if self._content else None,
        )  # fmt: skip

    def data(
        self,
        *,
        title: str,
        source: str,
        mode: str = "",
        made: str = "",
        version: str = "",
        accept_below: float = 0.2,
        block_at: float = 0.5,
        most_tools: int = 30,
        learned: Learned | None = None,
        notes: tuple[str, ...] = (),
        claims: Claims | None = None,
    ) -> ReportData:
        """The report of the calls so far.

        Args:
            title: of the page.
            source: name of the log.
            mode: the engine's.
            made: date of the report, as text.
            version: of agentguard.
            accept_below: the lower threshold, to be drawn.
            block_at: the upper threshold, to be drawn.
            most_tools: number of tools to show, those with most blocked and flagged calls first.
            learned: looks up what was learned of a tool, by mode.
            notes: further sentences for the page.
            claims: what the agents of the log say that they did.
        """
        ranked = sorted(self._tools.items(), key=lambda item: tool_rank(item[0], VerdictCounts(*item[1].verdicts)))
        if len(self._tools) > MAX_SERIES:
            notes = (*notes, f"Charts are kept of the first {MAX_SERIES} tools of a log only.")
        verdicts = (sum(tool.verdicts[k] for tool in self._tools.values()) for k in range(3))
        by_label = sorted(self._by_label.items(), key=lambda item: (-sum(item[1]), item[0]))
        return ReportData(
            title, source, "calls", mode, made, version, accept_below, block_at, VerdictCounts(*verdicts),
            tuple((name[:MAX_NAME], VerdictCounts(*counts)) for name, counts in by_label), self._timing.timeline(),
            self._posteriors.histogram(), self._labels.reliability(), self._worst.calls(),
            tuple(_report_of(name, tool, learned) for name, tool in ranked[:most_tools]),
            max(len(ranked) - most_tools, 0), notes, claims=claims,
        )  # fmt: skip


def add_read(
    builder: ReportBuilder, one: CallRead, result: VerificationResult, *, label: str | None, place: str
) -> None:
    """Add a call as ``add`` does, without reading its result again."""
    # The framework's flag makes an error of any document; a profile may have bounded what is read of it.
    is_whole = not one.call.is_error and one.document.complete
    builder._add(one.call, result, one.document if is_whole else None, label, place)


def tool_rank(name: str, counts: VerdictCounts) -> tuple[Any, ...]:
    """Sort key of tools: most blocked, most flagged, most called."""
    return -counts.block, -counts.flag, -counts.calls, name


def telling(latency: Chart | None, others: list[Chart], calls: int) -> tuple[Chart, ...]:
    """The charts of a tool: latency, and the three most telling others, or one if none has an alarm.

    Charts on which the engine raised drift come first, then those with the largest share of values beyond their limits.
    Numbers that never vary, that few calls have, or that only ever grow (clocks, counters) are left out.
    """
    usable = [
        chart
        for chart in others
        if chart.limits is not None
        and chart.values >= LEAST_SHARE * calls
        and any(before.mean > after.mean for before, after in pairwise(chart.points))
    ]
    usable.sort(key=lambda chart: (-chart.alarms, -chart.beyond / chart.values, -chart.values, chart.name))
    first = () if latency is None or latency.values < LEAST else (latency,)
    alarming = [chart for chart in usable if chart.alarms or chart.beyond]
    return (*first, *(alarming[:CHARTS] or usable[:1]))


def _report_of(name: str, tool: _Tool, learned: Learned | None) -> ToolReport:
    counts = VerdictCounts(*tool.verdicts)
    latency = None if tool.latency is None else tool.latency.chart("latency", "ms", "log")
    others = [series.chart(path or "(the value)", "", "signed log") for path, series in tool.fields.items()]
    if tool.size is not None:
        others.append(tool.size.chart("size", "bytes", "signed log"))
    return ToolReport(
        name[:MAX_NAME], counts, tool.posteriors.mean, tool.posteriors.histogram(),
        telling(latency, others, counts.calls),
        drifted_of([*([] if latency is None else [latency]), *others]), {} if learned is None else learned(name),
        (NO_SERIES,) if latency is None else (),
    )  # fmt: skip


def _content(call: ToolCall, result: VerificationResult) -> Content:
    """Arguments and result as text; a result that the profile has redacted is withheld as a whole."""
    kinds = ", ".join(result.redact)
    return Content(_text(call.args), f"(held back: it holds {kinds})" if kinds else _text(call.result))


def _text(value: Any) -> str:
    if type(value) is not str:
        try:
            # Made plain first: a value that shares its parts many times over would be written for ever.
            made = plain(value)
            value = made if isinstance(made, str) else json.dumps(made, ensure_ascii=False, indent=1)
        except Exception:  # of a foreign object's own code
            value = f"({type(value).__name__})"
    return value if len(value) <= MAX_CONTENT else f"{value[:MAX_CONTENT]}… ({len(value):,} characters)"
