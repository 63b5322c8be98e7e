"""Reports as pages of HTML: of one run, and of all runs of a use case."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from agentguard._pages import environment
from agentguard.gate._history import LabelChange, Regression, Trend, compare, regression, trend
from agentguard.gate._run import GateRun, read_run
from agentguard.gate._types import Label
from agentguard.gate.records._base import RunRecords, RunSummary
from agentguard.gate.reports._findings import Finding, findings
from agentguard.gate.reports._formats import COUNTS, quarantined

if TYPE_CHECKING:
    from jinja2 import Environment

ROWS = 500  # claims of a page
_LABELS: tuple[Label, ...] = ("unsupported", "weakly_supported", "supported")


def html_page(run: GateRun, changes: Sequence[LabelChange] | None = None, since: str = "") -> str:
    """Write a run as a page: the decision, what is counted, what changed since another run, and every claim.

    Args:
        run: A finished run.
        changes: What changed since another run; None if there is none to compare with.
        since: That run's id.

    Raises:
        GateError: If the run is not finished.
    """
    listed = findings(run.state)
    return _rendered(
        "run.html",
        run=run,
        score=run.state.score,
        tolerance=run.state.config.risk_tolerance,
        counts=[(meaning, getattr(run.state.score, name)) for name, meaning in COUNTS.items()],
        changes=changes,
        since=since,
        held=quarantined(run)[:ROWS],
        groups=[(label, [each for each in listed if each.verdict.label == label]) for label in _LABELS],
        ROWS=ROWS,
    )


# --- All runs of a use case ---

WIDTH, HEIGHT = 720, 200  # of the picture, in its own units
RUNS = 50  # runs whose claims are looked at
WORST = 25  # claims of the list


class Point(NamedTuple):
    """A run in the picture, in its units.

    Attributes:
        x, y: Where it stands.
        low, high: The range of chance at it; None if there is none.
        is_outside: Whether the run lies outside of that.
        name: What a reader is told of it.
    """

    x: float
    y: float
    low: float | None
    high: float | None
    is_outside: bool
    name: str


class WorstClaim(NamedTuple):
    """A claim that was not supported in some of the runs.

    Attributes:
        text: Its words, as the latest of them has it.
        prompt: What was asked.
        kind: What is wrong with it.
        runs: In how many runs.
        latest: The latest of them.
    """

    text: str
    prompt: str
    kind: str
    runs: int
    latest: str


def dashboard(use_case: str, summaries: Sequence[RunSummary], records: RunRecords) -> str:
    """Write a page of all runs of a use case: the trend, alerts, the claims that fail most often, what changed last.

    Args:
        use_case: Whose runs.
        summaries: Of its runs, the newest first.
        records: Where their claims are read; of the newest 50 finished runs.

    Raises:
        GateError, StoreError: If a record cannot be read.
    """
    finished = [each for each in summaries if each.status == "finished"]
    runs = [read_run(each.run_id, records) for each in finished[:RUNS]]
    course = trend(finished)
    beside = regression(finished[0], finished) if finished else None
    since = compare(runs[1], runs[0], allow_different_prompts=True) if len(runs) > 1 else None
    listed = {run.run_id: findings(run.state) for run in runs}
    kinds = Counter(finding.kind for of_run in listed.values() for finding in of_run if finding.kind is not None)
    return _rendered(
        "dashboard.html",
        use_case=use_case,
        runs=summaries[:RUNS],
        course=course,
        beside=beside,
        since=since,
        alerts=_alerts(summaries, course, beside),
        worst=_worst(listed),
        kinds=kinds.most_common(),
        points=_points(course),
        WIDTH=WIDTH,
        HEIGHT=HEIGHT,
    )


def _alerts(summaries: Sequence[RunSummary], course: Trend, beside: Regression | None) -> list[str]:
    """Sentences on what somebody should look at, the gravest first."""
    alerts = []
    if beside is not None and beside.is_regression:
        alerts.append(f"The latest run is a regression: {beside.explanation}")
    if course.direction == "rising":
        alerts.append(f"The risk rises: {course.explanation}")
    if course.points and course.points[-1].is_outside:
        alerts.append("The latest run lies out of the range of chance.")
    if summaries and summaries[0].status in ("failed", "interrupted"):
        alerts.append(f"The latest run did not end: {summaries[0].error or summaries[0].status}")
    return alerts


def _worst(listed: Mapping[str, Sequence[Finding]]) -> list[WorstClaim]:
    """The claims that were not supported in most runs, of equal ones the latest; the newest run comes first."""
    latest: dict[tuple[str, str], Finding] = {}
    ids: dict[tuple[str, str], list[str]] = {}
    for run_id, of_run in listed.items():
        for finding in of_run:
            key = (" ".join(finding.claim.text.casefold().split()), finding.prompt.text)
            if finding.verdict.label != "supported" and run_id not in ids.setdefault(key, []):
                ids[key].append(run_id)
                latest.setdefault(key, finding)
    chosen = sorted(latest, key=lambda key: -len(ids[key]))[:WORST]
    return [
        WorstClaim(latest[key].claim.text, key[1], str(latest[key].kind), len(ids[key]), ids[key][0]) for key in chosen
    ]


def _points(course: Trend) -> list[Point]:
    """The runs of the trend from left to right, risk 1 above and 0 below."""
    step = WIDTH / max(1, len(course.points))

    def up(risk: float | None) -> float | None:
        return None if risk is None else round(HEIGHT * (1 - risk), 1)

    return [
        Point(
            round((number + 0.5) * step, 1), round(HEIGHT * (1 - each.risk), 1), up(each.low), up(each.high),
            each.is_outside, f"{each.run_id}: risk {each.risk:.3f}",
        )
        for number, each in enumerate(course.points)
    ]  # fmt: skip


def _rendered(name: str, **values: Any) -> str:
    return _templates().get_template(name).render(values)


@cache
def _templates() -> Environment:
    result = environment("agentguard.gate.reports")
    result.filters.update(
        words=lambda label: "not said" if label is None else label.replace("_", " "),
        utc=lambda at: f"{datetime.fromtimestamp(at, timezone.utc):%Y-%m-%d %H:%M} UTC",
    )
    return result
