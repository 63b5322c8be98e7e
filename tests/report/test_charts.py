"""What stands where in a picture: places worked out by hand from the figures of the report."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from itertools import count, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.report._charts import (
    CONTROL_EDGE,
    CONTROL_HEIGHT,
    HISTOGRAM_HEIGHT,
    HISTOGRAM_TOP,
    LEAST_HEIGHT,
    ROW,
    WATERFALL_EDGE,
    WATERFALL_WIDTH,
    Axis,
    Element,
    Figure,
    control_chart,
    histogram,
    reliability_diagram,
    spread,
    ticks,
    timeline,
    waterfall,
)
from agentguard.report._records import (
    Bin,
    Chart,
    Histogram,
    Limits,
    Point,
    Reliability,
    Slot,
    Step,
    Timeline,
    WorstCall,
)
from agentguard.verification.statistics import log_odds
from agentguard.verification.types import VerdictCounts

from ..rows import over


def parts(drawn: Figure | Element, tag: str, kind: str | None = None) -> list[dict[str, str]]:
    """Attributes of the elements of a picture, in their order."""
    found = [one for one in walk(drawn.picture if isinstance(drawn, Figure) else drawn) if one.tag == tag]
    return [dict(one.attributes) for one in found if kind is None or dict(one.attributes).get("class") == kind]


def walk(element: Element) -> Iterator[Element]:
    yield element
    for child in element.children:
        if isinstance(child, Element):
            yield from walk(child)


def text_of(drawn: Figure | Element) -> str:
    """Caption, note, legend and all text of the picture."""
    if isinstance(drawn, Figure):
        return " ".join((drawn.caption, drawn.note, text_of(drawn.picture), *(key.text for key in drawn.keys)))
    return "".join(child if isinstance(child, str) else text_of(child) for child in drawn.children)


def points_of(path: str) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in re.findall(r"M(-?[\d.]+) (-?[\d.]+)h0", path)]


# --- Control chart ---


def individuals(values: list[float], limits: Limits | None, marked: dict[int, tuple[int, ...]]) -> Chart:
    points = tuple(Point(k, 1, x, x, x, marked.get(k, ()), int(k == 2)) for k, x in enumerate(values, 1))
    return Chart("latency", "ms", "log", limits, points, len(values), 1, 1, 1, 2, None)


def test_values_limits_and_alarms_stand_where_they_belong() -> None:
    # ln 100 and ln 1000 are the lowest and the highest: places run from 156 (below) to 14 (above).
    low, high = math.log(100.0), math.log(1_000.0)
    middle = (low + high) / 2
    sigma = (high - low) / 12.0
    chart = individuals([low, middle, middle, high], Limits(middle, sigma, 100), {4: (1,), 3: (2, 4)})
    picture = control_chart(count(1), chart, "search")

    bottom, top = CONTROL_HEIGHT - CONTROL_EDGE, CONTROL_EDGE
    assert (bottom, top) == (156.0, 14.0)
    (values,) = parts(picture, "path", "value")
    # Value k of 4 stands in the middle of the k-th quarter of 1000.
    assert points_of(values["d"]) == [(125.0, 156.0), (375.0, 85.0), (625.0, 85.0)]
    beyond = [points_of(path["d"]) for path in parts(picture, "path", "beyond") if "h0" in path["d"]]
    assert beyond[0] == [(875.0, 14.0)]
    (within,) = parts(picture, "rect", "within")
    # Three sigma are a quarter of the whole height of 142: 35.5 on each side of 85.
    assert (float(within["y"]), float(within["height"])) == (49.5, 71.0)
    (centre,) = parts(picture, "path", "centre")
    assert centre["d"] == "M0 85.0H1000"
    run = parts(picture, "path", "run")[0]
    assert run["d"] == "M625 165V170"
    alarm = parts(picture, "path", "alarm")[0]
    assert points_of(alarm["d"]) == [(375.0, 5.0)]


def test_merged_points_are_a_range_and_the_farthest_value_is_marked() -> None:
    chart = Chart(
        "total", "", "signed log", Limits(0.0, 1.0, 100),
        (Point(1, 2, -5.0, -1.0, 3.0, (1,), 0), Point(3, 2, 0.0, 2.5, 5.0, (1,), 0)), 4, 2, 0, 0, None, None,
    )  # fmt: skip
    picture = control_chart(count(1), chart, "t")

    assert parts(picture, "path", "range")[0]["d"] == "M250 156V42.4M750 85V14"
    assert points_of(parts(picture, "path", "beyond")[0]["d"]) == [(250.0, 156.0), (750.0, 14.0)]
    assert "2 values a point" in text_of(picture)


def test_what_is_far_off_stands_at_the_edge_and_the_rest_keeps_its_room() -> None:
    points = tuple(Point(k, 1, x, x, x, (1,) if x > 3.0 else (), 0) for k, x in enumerate([0.0, -3.0, 3.0, 20.0], 1))
    chart = Chart("total", "", "signed log", Limits(0.0, 1.0, 100), points, 4, 1, 0, 0, None, None)
    picture = control_chart(count(1), chart, "t")

    # The axis runs from -3 to 8 sigma: 142 pixels for eleven.
    assert points_of(parts(picture, "path", "beyond")[0]["d"]) == [(875.0, 14.0)]
    heights = [y for _, y in points_of(parts(picture, "path", "value")[0]["d"])]
    assert heights == [pytest.approx(y, abs=0.06) for y in (14 + 142 * 8 / 11, 156.0, 14 + 142 * 5 / 11)]
    assert "beyond the limits: 1, up to 485M (at the edge)" in text_of(picture)  # e^20 - 1 is 485,165,194


def test_limits_are_named_in_the_numbers_own_unit() -> None:
    chart = individuals([5.0] * 9, Limits(math.log(200.0), math.log(2.0) / 3.0, 42), {})
    said = text_of(control_chart(count(1), chart, "search"))

    assert "centre 200 ms, limits 100 ms to 400 ms, by 42 values of accepted calls" in said


def test_a_chart_without_spread_or_limits_is_drawn() -> None:
    picture = control_chart(count(1), individuals([3.0] * 4, None, {}), "search")

    assert not parts(picture, "rect", "within")
    assert [y for _, y in points_of(parts(picture, "path", "value")[0]["d"])] == [85.0] * 4


@given(st.lists(st.floats(-700.0, 700.0), min_size=1, max_size=30), st.floats(-700.0, 700.0), st.floats(1e-6, 50.0))
def test_every_mark_lies_within_its_picture(values: list[float], centre: float, sigma: float) -> None:
    chart = individuals(values, Limits(centre, sigma, 8), dict.fromkeys(range(1, 31, 3), (1, 2)))
    picture = control_chart(count(1), chart, "t")

    for path in parts(picture, "path"):
        if "nan" in path["d"] or "inf" in path["d"]:
            pytest.fail(path["d"])
        for x, y in points_of(path["d"]):
            assert 0.0 <= x <= 1_000.0
            assert 0.0 <= y <= CONTROL_HEIGHT


# --- Histogram ---


def test_bars_are_logarithmic_and_the_highest_fills_the_picture() -> None:
    weights = [0.0] * 20
    weights[0], weights[3], weights[19] = 999.0, 9.0, 0.001
    picture = histogram(count(1), Histogram(tuple(weights)), 0.2, 0.5, of="all calls")
    bars = parts(picture, "rect", "bar")

    assert [float(bar["x"]) for bar in bars] == [2.0, 152.0, 952.0]
    heights = [float(bar["height"]) for bar in bars]
    # log 10 is a third of log 1000.
    assert heights == [
        HISTOGRAM_HEIGHT - HISTOGRAM_TOP,
        pytest.approx((HISTOGRAM_HEIGHT - HISTOGRAM_TOP) / 3, abs=0.06),
        LEAST_HEIGHT,
    ]
    assert all(float(bar["y"]) + float(bar["height"]) == pytest.approx(HISTOGRAM_HEIGHT, abs=0.11) for bar in bars)
    assert parts(picture, "path", "threshold")[0]["d"] == f"M200 0V{HISTOGRAM_HEIGHT}M500 0V{HISTOGRAM_HEIGHT}"


# --- Timeline ---


def test_suspects_stand_at_the_foot_of_their_calls() -> None:
    slots = (Slot(1, 100, VerdictCounts(57, 38, 19)), Slot(101, 102, VerdictCounts(1, 0, 1)))
    picture = timeline(count(1), Timeline("call", slots))

    calls = [(float(bar["x"]), float(bar["y"]), float(bar["height"])) for bar in parts(picture, "rect", "calls")]
    # 114 calls fill the 114 pixels below the top: a pixel a call, and three at least for a suspect.
    assert calls == [(2.0, 6.0, 114.0), (502.0, 118.0, 2.0)]
    assert [(float(bar["y"]), float(bar["height"])) for bar in parts(picture, "rect", "block")] == [
        (101.0, 19.0), (117.0, 3.0),
    ]  # fmt: skip
    assert [(float(bar["y"]), float(bar["height"])) for bar in parts(picture, "rect", "flag")] == [(63.0, 38.0)]
    assert "Most of these at calls 1 to 100: 57 of 114." in text_of(picture)


def test_a_timeline_of_nothing_is_drawn() -> None:
    assert not parts(timeline(count(1), Timeline("hour", ())), "rect")


# --- Reliability ---


def test_shares_stand_against_posteriors() -> None:
    found = Reliability(20, 5, 0.05, 0.1, (Bin(0.2, 0.3, 20, 0.25, 0.4, 0.2, 0.6),))
    picture = reliability_diagram(count(1), found)

    (share,) = parts(picture, "circle", "share")
    # The square begins at 46 and 8 and has sides of 250.
    assert (float(share["cx"]), float(share["cy"])) == (108.5, 158.0)
    assert parts(picture, "path", "reach")[0]["d"] == "M108.5 208.0V108.0"
    assert parts(picture, "path", "ideal")[0]["d"] == "M46.0 258.0L296.0 8.0"


# --- Waterfall ---


def test_bars_stand_from_sum_to_sum() -> None:
    # Prior 1 to 4; times 16: 4 to 1. The axis runs from -ln 4 to ln 4, over 328 pixels from 6 on.
    steps = (Step("echo_mismatch", math.log(16.0), math.log(4.0), "", None),)
    call = WorstCall(1, "", "t", "", "", "block", 0.2, 0.8, None, steps, 0.0, (), "", "", None)
    picture = waterfall(count(1), call, 0.2, 0.5)

    def bars(kind: str) -> list[tuple[float, float, float]]:
        return [(float(bar["x"]), float(bar["y"]), float(bar["width"])) for bar in parts(picture, "rect", kind)]

    middle, half = WATERFALL_WIDTH / 2, (WATERFALL_WIDTH - 2 * WATERFALL_EDGE) / 2
    assert bars("end") == [(WATERFALL_EDGE, 17.0, half), (middle, 2 * ROW + 17.0, half)]
    assert bars("against") == [(WATERFALL_EDGE, ROW + 17.0, 2 * half)]
    assert bars("for") == []
    said = text_of(picture)
    assert "prior 0.200 −1.39; echo_mismatch +2.77; posterior 0.800 +1.39" in said


def test_what_speaks_for_the_call_goes_to_the_left() -> None:
    steps = (Step("a", 2.0, 2.0, "", None), Step("b", -3.0, -1.0, "", None))
    call = WorstCall(1, "", "t", "", "", "flag", 0.5, 1 / (1 + math.e), None, steps, 0.0, (), "", "", None)
    (bar,) = parts(waterfall(count(1), call, 0.2, 0.5), "rect", "for")
    low = log_odds(0.2)
    scale = (WATERFALL_WIDTH - 2 * WATERFALL_EDGE) / (2.0 - low)

    assert float(bar["x"]) == pytest.approx(WATERFALL_EDGE + (-1.0 - low) * scale, abs=0.06)
    assert float(bar["width"]) == pytest.approx(3.0 * scale, abs=0.06)


@pytest.mark.parametrize("posterior", [0.0, 1e-300, 0.5, 1.0])
def test_no_posterior_breaks_the_picture(posterior: float) -> None:
    call = WorstCall(1, "", "t", "", "", "flag", 0.5, posterior, None, (), 0.0, (), "", "", None)

    assert "nan" not in str(waterfall(count(1), call, 0.2, 1.0))


# --- Scales ---


@over(("low", "high", "expected"), [
        (8.0, 12.0, [8.0, 9.0, 10.0, 11.0, 12.0]), (0.3, 0.9, [0.4, 0.6, 0.8]), (95.0, 310.0, [100.0, 200.0, 300.0]),
        (1.0, 1e9, [1.0, 100.0, 1e4, 1e6, 1e8]), (3.0, 45.0, [5.0, 10.0, 20.0]), (7.0, 7.0, []),
    ])  # fmt: skip
def test_round_numbers_between_two(low: float, high: float, expected: list[float]) -> None:
    assert ticks(math.log(low), math.log(high), "log") == expected


@given(st.floats(-600.0, 600.0), st.floats(0.0, 600.0), st.sampled_from(["log", "signed log"]))
def test_round_numbers_are_few_and_in_order(low: float, width: float, scale: str) -> None:
    found = ticks(low, low + width, scale)  # type: ignore[arg-type]  # one of the two it may be

    assert len(found) <= 6
    assert found == sorted(found)


@given(st.lists(st.floats(0.0, 150.0), min_size=1, max_size=5))
def test_labels_keep_apart_and_within(places: list[float]) -> None:
    found = spread(places, 13.0, 10.0, 160.0)

    in_order = sorted(found)
    assert all(after - before >= 13.0 - 1e-9 for before, after in pairwise(in_order))
    assert in_order[0] >= 10.0 - 1e-9
    assert in_order[-1] <= 160.0 + 1e-9
    assert [found[k] for k in sorted(range(len(places)), key=lambda k: places[k])] == in_order


def test_an_axis_ends_where_it_ends() -> None:
    axis = Axis(0.0, 1.0, 10.0, 20.0)

    assert [axis.at(x) for x in (-5.0, 0.5, 5.0)] == [10.0, 15.0, 20.0]
