"""Figures that pages quote in their own sentences are those of the measurements."""

from __future__ import annotations

import re

import pytest

from ..rows import over
from .blocks import DOCS, ROOT, blocks

MEASUREMENTS = (DOCS / "measurements.md").read_text(encoding="utf-8")

#: The page, what it says (with {} for the figure), the row of the measurements, and how the figure is written.
QUOTED = [
    (
        "../README.md",
        "{}% of the calls of 46 honest tools are flagged",
        r"^\| everyday tools, not accepted: mean \|[^|]*\|[^|]*\| ([\d.]+)%",
        "{:.1f}",
    ),
    (
        "../README.md",
        "flagged or blocked, {}% are blocked",
        r"^\| everyday tools, not accepted.*\n.*\n\| … blocked: mean \|[^|]*\|[^|]*\| ([\d.]+)%",
        "{:.2f}",
    ),
    (
        "../README.md",
        "{}% are found at .2 to 2%",
        r"^\| single faults in a stream, mean over kinds \|[^|]*\|[^|]*\| (0\.\d+)",
        "{:.0%}",
    ),
    ("../README.md", "of 1 KB takes {} µs", r"^\| 1 KB \| calibrated \|.*?([\d.]+) µs", "{:.0f}"),
    ("../README.md", "the peer takes {} µs", r"^\| 1 KB \| calibrated \|.*? µs .*? µs \| ([\d.]+) µs", "{:.0f}"),
    ("threat-model.md", "Recall on `invented` is {}", r"^\| invented \| +\| \d+ \| (0\.\d+)", "{:.2f}"),
    ("threat-model.md", "on `scaled` {} at 1% false alarms", r"^\| scaled \| +\| \d+ \| (0\.\d+)", "{:.2f}"),
    (
        "threat-model.md",
        "{}% of recorded attack templates with trigger phrases",
        r"^\| flagged, templates with trigger phrases \|.*?\|.*?\| (0\.\d+)",
        "{:.1%}",
    ),
    ("threat-model.md", "and {}% without", r"^\| flagged, templates without \|.*?\|.*?\| (0\.\d+)", "{:.1%}"),
    (
        "threat-model.md",
        "fell by {} points at worst (agentdojo, another answer)",
        r"^\| agentdojo \| swapped_args \| 0\.\d+ \| 0\.\d+ \| -([\d.]+) points",
        "{:.1f}",
    ),
]


@over(("page", "said", "row", "form"), QUOTED)
def test_quoted_figure_is_the_measured_one(page: str, said: str, row: str, form: str) -> None:
    measured = re.search(row, MEASUREMENTS, re.MULTILINE)
    assert measured is not None
    figure = form.format(float(measured[1])).removesuffix("%").removeprefix("0")

    text = " ".join((DOCS / page).read_text(encoding="utf-8").split())

    assert said.format(figure) in text


def test_readme_prints_what_the_engine_says(capsys: pytest.CaptureFixture[str]) -> None:
    """What stands behind ``print`` in the first block is what it prints, as far as it is quoted."""
    code = blocks(ROOT / "README.md")[0].code
    quoted = re.search(r"print\(found\.explanation\)  # (P\(fabricated\) [\d.]+)(: .*) …", code)
    assert quoted is not None

    exec(compile(code, "README.md", "exec"), {})

    printed = capsys.readouterr().out
    assert quoted[1] in printed
    assert quoted[2].removeprefix(": ") in printed
