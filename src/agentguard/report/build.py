"""From verdicts to a report, one call at a time and in constant memory.

What is kept of each tool: its counts, the histogram of its posteriors, and a bounded series (see ``series``) of its
latency, of the size of its results and of twelve numbers in them. Series are kept of the first 200 tools that come,
counts of the first 10,000; a report says so where there were more.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from itertools import islice, pairwise
from typing import Any, Final

from agentguard.admin._portrait import Portrait
from agentguard.verification.canonical import plain
from agentguard.verification.document import Document, read
from agentguard.verification.keys import numbers_of
from agentguard.verification.types import SEVERITY, ToolCall, VerdictCounts, VerificationResult

from .drift import drift_alarms, drifted_of
from .records import Chart, Content, ReportData, ToolReport, WorstCall
from .series import LEAST, Series
from .tallies import LabelTally, Posteriors, Timing
from .worst import Worst, steps_of

__all__ = ["MAX_FIELDS", "MAX_SERIES", "MAX_TOOLS", "OTHER_TOOLS", "ReportBuilder", "telling", "tool_rank"]

MAX_TOOLS: Final = 10_000
MAX_SERIES: Final = 200
MAX_FIELDS: Final = 12  # numbers of one tool's results that are followed
MAX_LABELS: Final = 20
CHARTS: Final = 3  # of a tool, besides that of latency
MAX_CONTENT: Final = 2_000
MAX_DETAIL: Final = 400
MAX_NAME: Final = 200
LEAST_MS: Final = 0.001
LEAST_SHARE: Final = 0.25  # of a tool's calls that a number must be in, to be charted
OTHER_TOOLS: Final = "(all other tools)"
GENUINE: Final = "genuine"
NO_SERIES: Final = f"charts are kept of the first {MAX_SERIES} tools of a log, and this is a later one"

Learned = Callable[[str], Mapping[str, Portrait | str]]


class _Tool:
    """What is kept of one tool."""

    __slots__ = ("fields", "latency", "posteriors", "size", "verdicts")

    def __init__(self, *, charted: bool) -> None:
        self.verdicts = [0, 0, 0]
        self.posteriors = Posteriors()
        self.latency = Series() if charted else None
        self.size = Series() if charted else None
        self.fields: dict[str, Series] = {}


class ReportBuilder:
    """Takes verdicts as they are made, and has a report at any time.

    Args:
        worst: how many calls to open up.
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
        """Take in one call and its verdict.

        Args:
            call: as it was judged.
            result: the verdict on it.
            label: what the call really was: ``"genuine"``, or any other word for what was wrong; None where unknown.
            place: where it is recorded.
        """
        self.calls += 1
        tool = self._tool(result.tool)
        where = SEVERITY[result.verdict]
        tool.verdicts[where] += 1
        tool.posteriors.push(result.posterior)
        self._posteriors.push(result.posterior)
        self._timing.push(result.verdict)
        if label is not None:
            self._labels.push(result.posterior, fabricated=label != GENUINE)
            known = label in self._by_label or len(self._by_label) < MAX_LABELS
            self._by_label.setdefault(label if known else "(other labels)", [0, 0, 0])[where] += 1
        number = self.calls
        self._worst.push(
            result.verdict, result.posterior, number, lambda: self._opened(call, result, number, place, label or "")
        )
        if tool.latency is not None:
            self._follow(tool, call, result)

    def _tool(self, name: str) -> _Tool:
        tool = self._tools.get(name)
        if tool is None:
            kept = len(self._tools) < MAX_TOOLS
            tool = self._tools.setdefault(name if kept else OTHER_TOOLS, _Tool(charted=len(self._tools) < MAX_SERIES))
        return tool

    @staticmethod
    def _follow(tool: _Tool, call: ToolCall, result: VerificationResult) -> None:
        usable = result.verdict == "accept"
        signal = result.signals.get("spc_anomaly")
        alarms = drift_alarms(signal.detail) if signal is not None and signal.fired else frozenset()
        milliseconds = call.milliseconds
        if milliseconds is not None and tool.latency is not None:
            tool.latency.push(math.log(max(milliseconds, LEAST_MS)), usable=usable, alarm="latency" in alarms)
        document = read(call.result)
        if document.is_error or document.kind == "empty" or tool.size is None:
            return
        tool.size.push(math.log1p(document.size), usable=usable, alarm="size" in alarms)
        for path, x in _numbers(document).items():
            series = tool.fields.get(path)
            if series is None:
                if len(tool.fields) >= MAX_FIELDS:
                    continue
                series = tool.fields[path] = Series()
            series.push(x, usable=usable, alarm=f"field {path or 'result'!r}" in alarms)

    def _opened(self, call: ToolCall, result: VerificationResult, number: int, place: str, label: str) -> WorstCall:
        steps, remainder = steps_of(result.prior, result.posterior, result.contributions, result.signals)
        said = {step.signal for step in steps}
        return WorstCall(
            number, place[:MAX_DETAIL], result.tool[:MAX_NAME], (result.call_id or "")[:MAX_NAME],
            str(call.session_id or "")[:MAX_NAME], result.verdict, result.prior, result.posterior,
            result.false_block_p, tuple(step._replace(detail=step.detail[:MAX_DETAIL]) for step in steps), remainder,
            tuple(name for name in result.signals if name not in said), result.explanation[: 2 * MAX_DETAIL],
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
    ) -> ReportData:
        """The report of what was taken in so far.

        Args:
            title: of the page.
            source: the log's name.
            mode: the way of judging.
            made: when, as text.
            version: of agentguard.
            accept_below: the threshold that is drawn.
            block_at: the other one.
            most_tools: how many tools to show; those that most calls were blocked and flagged of.
            learned: what was learned of a tool, by mode.
            notes: what else is to be known.
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
            max(len(ranked) - most_tools, 0), notes,
        )  # fmt: skip


def tool_rank(name: str, counts: VerdictCounts) -> tuple[Any, ...]:
    """The order of tools: most blocked, most flagged, most called."""
    return -counts.block, -counts.flag, -counts.calls, name


def telling(latency: Chart | None, others: list[Chart], calls: int) -> tuple[Chart, ...]:
    """The charts of a tool: latency, and of the others the three that say most, or one where none says anything.

    Those say most on which the engine raised drift, then those with the largest share of values beyond their limits;
    numbers that never vary, that few calls have, or that only ever grow (clocks, counters) say nothing.
    """
    usable = [chart for chart in others if chart.limits is not None and chart.values >= LEAST_SHARE * calls]
    usable = [chart for chart in usable if not _only_grows(chart)]
    usable.sort(key=lambda chart: (-chart.alarms, -chart.beyond / chart.values, -chart.values, chart.name))
    first = () if latency is None or latency.values < LEAST else (latency,)
    saying = [chart for chart in usable if chart.alarms or chart.beyond]
    return (*first, *(saying[:CHARTS] or usable[:1]))


def _only_grows(chart: Chart) -> bool:
    means = [point.mean for point in chart.points]
    return all(before <= after for before, after in pairwise(means))


def _numbers(document: Document) -> Mapping[str, float]:
    return dict(islice(numbers_of(document).items(), 2 * MAX_FIELDS))


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
    """What the profile has taken out of a result is not shown; where in it that stood is not known here."""
    kinds = ", ".join(result.redact)
    return Content(_text(call.args), f"(held back: it holds {kinds})" if kinds else _text(call.result))


def _text(value: Any) -> str:
    """Arguments or a result as text, cut."""
    if type(value) is not str:
        try:
            # Made plain first: what shares its parts many times over would be written for ever.
            made = plain(value)
            value = made if isinstance(made, str) else json.dumps(made, ensure_ascii=False, indent=1)
        except Exception:  # of foreign objects: what a report shows of them is a courtesy
            value = f"({type(value).__name__})"
    return value if len(value) <= MAX_CONTENT else f"{value[:MAX_CONTENT]}… ({len(value):,} characters)"
