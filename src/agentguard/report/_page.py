"""The report as one file of HTML that asks for nothing: no script, no font, no picture from elsewhere.

``page.html`` has the sentences and the tables. The template escapes all text, and text is cleaned of what no page
should hold before that.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from functools import cache
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from agentguard._pages import environment
from agentguard.report._charts import (
    ROUNDING,
    control_chart,
    histogram,
    reliability_diagram,
    timeline,
    waterfall,
)
from agentguard.report._records import Drifted, ReportData, ToolReport
from agentguard.report._text import cut, many, nats, number, of_unit, p_of, percent, utc
from agentguard.verification.statistics import log_odds

if TYPE_CHECKING:
    from jinja2 import Template

NAME: Final = 80  # characters of a name
_LIMITS: Final = {
    "NAME": NAME,
    "WHAT": 300,  # characters of a change in words
    "FIELDS": 24,
    "KINDS": 4,
    "RELATIONS": 10,
    "NAMED": 3,  # tools among the findings
    "FEW_LABELS": 20,  # judgement, as the next one
    "BAD_ERROR": 0.05,  # expected calibration error worth a sentence
}


def html_of(report: ReportData) -> str:
    """Render the page. The same report makes the same page, to the byte."""
    report = _plain(report)
    return _template().render(
        report=report,
        numbered=list(enumerate(report.tools, 1)),
        drifting=drifting(report),
        ids=count(1),
    )


@cache
def _template() -> Template:
    drawn = (control_chart, histogram, reliability_diagram, timeline, waterfall)
    templates = environment("agentguard.report")
    templates.globals.update({each.__name__: each for each in drawn}, **_LIMITS, ROUNDING=ROUNDING)
    shown = (cut, log_odds, many, nats, number, of_unit, percent, probability, quantiles, utc)
    templates.filters.update({each.__name__: each for each in shown}, count=lambda x: f"{x:,}", p=p_of)
    return templates.get_template("page.html")


def _plain(value: Any) -> Any:
    """Copy a report with nothing but plain strings: a subclass may call itself markup, and would not be escaped."""
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, tuple):
        return type(value)(*map(_plain, value)) if hasattr(value, "_fields") else tuple(map(_plain, value))
    if isinstance(value, Mapping):
        return {_plain(name): _plain(each) for name, each in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{field.name: _plain(getattr(value, field.name)) for field in fields(value)})
    return value


def quantiles(values: Mapping[float, float], unit: str) -> str:
    """Write quantiles by their shares: ``50% up to 120 ms, 95% up to 1.2 s``."""
    return ", ".join(f"{percent(share)} up to {of_unit(x, unit)}" for share, x in values.items())


def probability(log_odds: float) -> float:
    """The probability at these log-odds."""
    return 1.0 / (1.0 + math.exp(-min(max(log_odds, -700.0), 700.0)))  # exp(700) is a float


def drifting(report: ReportData) -> list[tuple[int, ToolReport, str]]:
    """The tools that drift, by their number on the page, with the drift in words; the farthest first."""
    far = [(k, tool, tool.drifted[0]) for k, tool in enumerate(report.tools, 1) if tool.drifted]
    far.sort(key=lambda each: -abs(each[2].sigmas or 0.0))
    return [(k, tool, _drift_words(drifted)) for k, tool, drifted in far]


def _drift_words(drifted: Drifted) -> str:
    name = cut(drifted.what, NAME)
    if drifted.learned is not None and drifted.lately is not None:
        learned, lately = of_unit(drifted.learned, drifted.unit), of_unit(drifted.lately, drifted.unit)
        by = "" if drifted.sigmas is None else f" ({abs(drifted.sigmas):.1f} sigma)"
        return f"{name} is {lately} lately, and was {learned} when it was learned{by}"
    if drifted.alarms:
        return f"the guard's chart of {name} alarmed on {many(drifted.alarms, 'call')}"
    return f"the guard's chart of {name} is near its limit"
