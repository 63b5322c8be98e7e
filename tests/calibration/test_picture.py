"""The reliability diagram: well-formed, self-contained, and drawn where the figures say."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from agentguard.calibration import Label, Outcome, calibrate, reliability_svg
from agentguard.calibration._picture import LEFT, SIDE, TOP

SVG = "{http://www.w3.org/2000/svg}"


def parsed(outcome: Outcome, title: str = "Reliability") -> ElementTree.Element:
    return ElementTree.fromstring(reliability_svg(outcome, title))  # noqa: S314 - our own text


def drawn(labels: list[Label], title: str = "Reliability") -> ElementTree.Element:
    return parsed(calibrate(labels), title)


def test_a_point_lies_at_its_mean_posterior_and_share() -> None:
    labels = [Label("t", 0.25, k == 0) for k in range(4)] + [Label("t", 0.75, k < 3) for k in range(4)]

    points = [(float(c.attrib["cx"]), float(c.attrib["cy"])) for c in drawn(labels).iter(f"{SVG}circle") if len(c)]

    at = [(LEFT + SIDE * share, TOP + SIDE * (1 - share)) for share in (0.25, 0.75)]
    assert points == [pytest.approx(point, abs=0.06) for point in at]


def test_two_series_where_there_is_a_fit(outcome: Outcome) -> None:
    picture = parsed(outcome)

    assert [line.attrib["class"] for line in picture.iter(f"{SVG}polyline")] == ["before line", "after line"]
    said = " ".join(text.text or "" for text in picture.iter(f"{SVG}text"))
    assert "after the fit (cross-validated): calibration error" in said


def test_everything_drawn_lies_in_the_picture(outcome: Outcome) -> None:
    picture = parsed(outcome)
    _, _, width, height = map(float, picture.attrib["viewBox"].split())

    for rect in picture.iter(f"{SVG}rect"):
        x, y, w, h = (float(rect.attrib[name]) for name in ("x", "y", "width", "height"))
        assert min(x, y, w, h) >= 0.0
        assert x + w <= width
        assert y + h <= height


def test_nothing_is_fetched_or_run(outcome: Outcome) -> None:
    text = reliability_svg(outcome)

    assert re.findall(r"https?://[^\"']*", text) == ["http://www.w3.org/2000/svg"]
    assert not re.search(r"script|href|url\(|@import|<image|on\w+=", text)
    assert "prefers-color-scheme: dark" in text


def test_text_from_outside_is_text() -> None:
    hostile = '</title><script>alert("x")</script>&'
    picture = drawn([Label("t", 0.2, False)], hostile)

    assert picture.find(f"{SVG}title") is not None
    assert picture.findtext(f"{SVG}title") == hostile
    assert not list(picture.iter(f"{SVG}script"))
