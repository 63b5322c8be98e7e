"""From verdicts to a report: what is followed, what drifted, what is bounded, what is not shown."""

from __future__ import annotations

import gc
import math
import random
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.report import ReportBuilder, ReportData
from agentguard.report import _builder as build
from agentguard.report._records import Chart, Limits, Point, on_scale, to_scale
from agentguard.report._series import drift_alarms
from agentguard.verification import SignalResult, VerificationEngine, VerificationResult, VerificationTier
from agentguard.verification.types import ToolCall, Verdict, VerdictCounts

from ..rows import over


def result(
    tool: str = "search", verdict: Verdict = "accept", posterior: float = 0.1, **more: Any
) -> VerificationResult:
    made = VerificationResult(verdict, posterior, 0.15, {}, {}, VerificationTier.TIER_1, None, tool, None, "")
    return made._replace(**more)


def data(builder: ReportBuilder, **options: Any) -> ReportData:
    return builder.data(**{"title": "t", "source": "s", **options})


def test_counts_posteriors_and_labels_are_those_of_the_calls() -> None:
    builder = ReportBuilder()
    for k in range(8):
        builder.add(ToolCall("a"), result("a", posterior=0.1), label="genuine" if k else None)
    builder.add(ToolCall("b"), result("b", "flag", 0.4), label="genuine")
    builder.add(ToolCall("a"), result("a", "block", 0.97), label="stale")
    report = data(builder)

    assert report.counts == VerdictCounts(8, 1, 1)
    assert [(tool.name, tool.counts) for tool in report.tools] == [
        ("a", VerdictCounts(8, 0, 1)),
        ("b", VerdictCounts(0, 1, 0)),
    ]
    assert report.labels == (("genuine", VerdictCounts(7, 1, 0)), ("stale", VerdictCounts(0, 0, 1)))
    assert report.tools[0].mean_posterior == pytest.approx((8 * 0.1 + 0.97) / 9)
    assert report.histogram.weights[19] == 1.0
    assert report.reliability is not None
    assert (report.reliability.labels, report.reliability.fabricated) == (9, 1)
    assert [call.number for call in report.worst] == [10, 9]


def test_a_shift_of_latency_is_a_drift(shop: ReportData) -> None:
    (tool,) = shop.tools
    latency = tool.charts[0]

    assert (latency.name, latency.values) == ("latency", 400)
    assert latency.limits is not None
    assert on_scale("log", latency.limits.centre) == pytest.approx(math.exp(5.0), rel=0.1)
    assert latency.beyond > 50  # four sigma up, from the 300th on
    drifted = {found.what: found for found in tool.drifted}
    assert drifted["latency"].lately == pytest.approx(2.2 * math.exp(5.0), rel=0.15)
    assert drifted["latency"].sigmas == pytest.approx(math.log(2.2) / latency.limits.sigma, abs=1.0)
    assert drifted["latency"].alarms == latency.alarms > 0
    assert drifted["latency"].first is not None
    assert 300 < drifted["latency"].first <= 320


def test_the_number_in_which_faults_stand_out_is_charted(shop: ReportData) -> None:
    names = [chart.name for chart in shop.tools[0].charts]

    assert names[0] == "latency"
    assert "total" in names
    total = next(chart for chart in shop.tools[0].charts if chart.name == "total")
    assert total.points[0].size == 2  # 400 values in 200 points
    assert {point.first for point in total.points if 1 in point.rules} >= {151, 251}
    assert {call.number for call in shop.worst if call.label == "swapped"} == {151, 251}


def test_what_was_learned_is_the_portrait_of_the_tool(shop: ReportData) -> None:
    found = shop.tools[0].learned["calibrated"]

    assert not isinstance(found, str)
    assert {"id", "total", "items[].sku"} <= {field.path for kind in found.kinds for field in kind.fields}


@over(
    ("detail", "numbers"),
    [
        ("the EWMA of size is beyond its control limit", {"size"}),
        ("latency: rule 1; field 'price': rule 1 and 4", {"latency", "field 'price'"}),
        ("field 'latency': rule 2", {"field 'latency'"}),  # a field of that name, and no time
        ("within its control limits", set()),
        ("", set()),
    ],
)
def test_alarms_are_put_down_to_their_number(detail: str, numbers: set[str]) -> None:
    assert drift_alarms(detail) == numbers


def test_an_alarm_marks_the_chart_of_its_number() -> None:
    builder = ReportBuilder()
    fired = SignalResult("spc_anomaly", True, True, 0.4, 3.0, 0.01, VerificationTier.TIER_1, "field 'price': rule 1")
    for k in range(20):
        signals = {"spc_anomaly": fired} if k == 10 else {}
        builder.add(ToolCall("t", None, {"price": 10.0 + k % 3}, 50.0 + k % 4), result("t", signals=signals))
    charts = {chart.name: chart for chart in data(builder).tools[0].charts}

    assert (charts["price"].alarms, charts["price"].first_alarm) == (1, 11)
    assert charts["latency"].alarms == 0


def test_errors_have_a_time_and_no_numbers() -> None:
    builder = ReportBuilder()
    for k in range(40):
        answer: Any = {"error": "503 service unavailable", "code": 503 + k} if k % 2 else {"price": 5.0 + k % 6}
        builder.add(ToolCall("t", None, answer, 50.0 + k % 4), result("t"))
    charts = {chart.name: chart.values for chart in data(builder).tools[0].charts}

    assert charts == {"latency": 40, "price": 20}


def chart(name: str, means: list[float], *, beyond: int = 0, alarms: int = 0, limits: bool = True) -> Chart:
    points = tuple(Point(k + 1, 1, x, x, x, (), 0) for k, x in enumerate(means))
    found = Limits(0.0, 1.0, len(means)) if limits else None
    return Chart(name, "", "signed log", found, points, len(means), beyond, 0, alarms, None, None)


def test_telling_numbers_first_and_clocks_and_constants_never() -> None:
    wave = [0.0, 1.0, 0.0, -1.0] * 5
    others = [
        chart("clock", [float(k) for k in range(20)], beyond=9), chart("constant", [1.0] * 20, limits=False),
        chart("rare", wave[:4], beyond=4), chart("quiet", wave), chart("odd", wave, beyond=2),
        chart("odder", wave, beyond=3), chart("named", wave, beyond=1, alarms=1), chart("few", wave, beyond=1),
    ]  # fmt: skip
    latency = chart("latency", wave)

    assert [found.name for found in build.telling(latency, others, 20)] == ["latency", "named", "odder", "odd"]
    assert [found.name for found in build.telling(None, others[:4], 20)] == ["quiet"]
    assert build.telling(chart("latency", wave[:7]), [], 7) == ()


def test_tools_beyond_those_shown_are_counted() -> None:
    builder = ReportBuilder()
    for k in range(40):
        for _ in range(1 + (k == 7)):
            builder.add(ToolCall(f"tool{k}"), result(f"tool{k}", "flag" if k == 12 else "accept"))
    report = data(builder, most_tools=5)

    assert [tool.name for tool in report.tools[:2]] == ["tool12", "tool7"]
    assert (len(report.tools), report.more_tools) == (5, 35)
    assert report.counts.calls == 41


def test_memory_is_bounded_by_tools_fields_and_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "MAX_TOOLS", 6)
    monkeypatch.setattr(build, "MAX_SERIES", 3)
    builder = ReportBuilder(worst=2)
    rng = random.Random(5)
    for k in range(600):
        answer = {f"field{k % 50}{n}": rng.random() for n in "abcdefgh"}
        builder.add(ToolCall(f"tool{k % 60}", None, answer, 5.0), result(f"tool{k % 60}"), label=f"label {k}")
    report = data(builder, most_tools=100)

    assert len(report.tools) == 7
    assert {tool.name for tool in report.tools} >= {"tool0", "tool5", build.OTHER_TOOLS}
    assert report.counts.calls == 600
    assert sum(bool(tool.notes) for tool in report.tools) == 4
    assert any("first 3 tools" in note for note in report.notes)
    assert all(len(tool.fields) <= build.MAX_FIELDS for tool in builder._tools.values())
    assert len(report.labels) == build.MAX_LABELS + 1
    assert sum(counts.calls for _, counts in report.labels) == 600


def test_no_argument_and_no_result_without_content() -> None:
    report = data(_judged_secret(ReportBuilder()))

    assert report.worst[0].content is None
    assert "hunter2" not in repr(report)


def test_content_where_it_was_asked_for_is_cut() -> None:
    content = data(_judged_secret(ReportBuilder(content=True))).worst[0].content

    assert content is not None
    assert content.args == '{\n "password": "hunter2"\n}'
    assert len(content.result) < 2_100
    assert content.result.endswith("(10,000 characters)")


def _judged_secret(builder: ReportBuilder) -> ReportBuilder:
    call = ToolCall("login", {"password": "hunter2"}, "hunter2hun" * 1_000)
    builder.add(call, VerificationEngine().verify(call.tool, args=call.args, result=call.result))
    return builder


def test_what_a_profile_takes_out_is_held_back() -> None:
    builder = ReportBuilder(content=True)
    builder.add(ToolCall("t", None, "mail to ann@example.com"), result("t", "block", 0.9, redact=("email",)))
    content = data(builder).worst[0].content

    assert content is not None
    assert content.result == "(held back: it holds email)"


class Cursed:
    def __repr__(self) -> str:
        raise RuntimeError

    __str__ = __repr__


class Proxy:
    @property  # type: ignore[misc]  # a read-only class is the point of it: isinstance() raises
    def __class__(self) -> Any:
        raise RuntimeError("outside of its context")


def shared() -> list[Any]:
    """Two to the power of sixty leaves in sixty lists."""
    made: list[Any] = ["leaf"]
    for _ in range(60):
        made = [made, made]
    return made


@over("value", [Cursed(), {"a": Cursed()}, b"\xff", {1: {2, 3}}, float("nan"), "\ud800", 10**5_000, shared()])
def test_any_object_may_be_shown(value: Any) -> None:
    assert_it_may_be_shown(value)


def test_an_object_that_cannot_be_asked_for_its_class_may_be_shown() -> None:
    assert_it_may_be_shown(Proxy())


def assert_it_may_be_shown(value: Any) -> None:
    builder = ReportBuilder(content=True)
    builder.add(ToolCall("t", value, value, value), result("t", "block", 0.9))

    assert data(builder).worst[0].content is not None


@given(st.floats(-1e300, 1e300))
def test_scales_are_undone(x: float) -> None:
    assert on_scale("signed log", to_scale("signed log", x)) == pytest.approx(x, rel=1e-9, abs=1e-9)
    if x > 0.0:
        assert on_scale("log", to_scale("log", x)) == pytest.approx(x, rel=1e-9)


def test_memory_does_not_grow_with_the_log() -> None:
    rng = random.Random(8)
    builder = ReportBuilder()

    def add(count: int) -> None:
        for _ in range(count):
            call = ToolCall("t", None, {"price": rng.random(), "other": rng.random()}, 5.0 + rng.random())
            builder.add(call, result("t", "flag", rng.random()), label="genuine")

    add(1_000)
    tracemalloc.start()
    try:
        add(200)  # what is made once is made now
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        add(2_000)
        gc.collect()  # what nothing holds any more does not count
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()

    assert grown < 100_000  # 2,000 calls kept would be half a megabyte and more
