"""The figures of faults that last as a section of the measurements document: goals, tables, a picture. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from detection.faults import FAULTS
from detection.intervals import Figure, over_families
from detection.lines import with_interval
from detection.split import HELD_OUT_FAMILIES, HELD_OUT_FAULTS
from document import Section
from goals import Goal, as_per_thousand, as_score, as_share, known
from tables import Line, judged, markdown

from .curve import Point
from .pictures import PICTURE
from .plan import Outcome, Results, Verdicts
from .protocol import AFTER, BEFORE, FAULTY, Lasted, Said
from .recorded import BLOCKED
from .streams import MARKED, Stream, pooled

__all__ = ["changed", "curve_table", "faults_table", "goal_lines", "script_table", "section", "streams_table"]

COMMAND = "python benchmarks/lasting/run.py --whole"
CHANGE = "change"  # in a report: no fault, but a genuine change
HARD = "scaled"  # has bounds of its own: a number ten times too large may be a large number

AT_LEAST = {"first": (0.95, 0.70), "held": (0.90, 0.65), "labelled": (0.97, 0.70), BLOCKED: (0.97, 0.70)}
WORDS = {
    "first": "first faulty call not accepted",
    "held": f"of {FAULTY} faulty calls, not accepted",
    "labelled": "the same, each of these calls labelled",
    BLOCKED: "blocked, of the calls after the second label",
}
RETRIED = Goal("at least", 1.0, as_score)
AFTERWARDS = Goal("at most", 0.03, as_share)
CHANGED = Goal("at most", 0.03, as_share)
FLAGGED, STREAM_BLOCKED = Goal("at most", 0.018, as_share), Goal("at most", 0.005, as_share)
INCIDENTS = Goal("at most", 3.0, as_per_thousand)
ERRORS = Goal("at most", 0.02, as_share)

WHAT = f"""\
A tool answers rightly {BEFORE} times, a fault sets in and is in {FAULTY} answers in a row, and the tool recovers; all
other calls of the agent are right, and the engine learns as it would at work, without profiles. *first*: the first
faulty call is not accepted. *held*: share of the {FAULTY} that are not accepted. *labelled*: the same, where a reviewer
labels each faulty call that is not accepted as fabricated; *blocked*: of the calls after the second label, those that
are blocked. *retried*: where the first faulty call was not accepted, it is not accepted at three more askings either.
*after*: of the {AFTER} genuine calls after the recovery, those not accepted. *change*: a genuine new field for good, a
reviewer labels what is not accepted of the first three calls as genuine; of the 27 that follow, those not accepted."""

GENERATED = f"""\
Generated tools, the busiest of each family; a family whose tools are called too rarely has no trial. Each of the
{len(FAULTS)} faults keeps to what it struck first: the same field dropped, the same unit, the same stuck answer, the
same foreign tool's answers. What is held out is marked; a fault is tried where it shows in every other answer. Figures
are means over families, with a 95% interval by bootstrap over families."""

INCIDENT = """\
Flagged and blocked are shares of the genuine calls after a tool's first 20; *incidents* are the lasting changes that
were told of (`engine.changes()`), in 1,000 genuine calls. *Errors*: calls that were marked as errors where they were
recorded, and the share of them that is flagged or blocked where the engine is told so (`is_error`); only the real MCP
servers, `mcp_recorded`, marked theirs themselves. *Changes adopted*: the same streams beside a reviewer who adopts each
change that is told of, which is the right answer to all of them."""


ALARMS = ("flagged or blocked", "blocked", "incidents in 1,000 calls")


class Row(NamedTuple):
    """One fault, as means over families; None where there is no such figure."""

    trials: int
    first: float | None
    held: Figure | None
    labelled: float | None
    blocked: float | None
    retried: float | None
    after: float | None
    after_labelled: float | None


def section(results: Results, script_command: str) -> Section:
    """Everything, with its goals."""
    lines = goal_lines(results)
    text = [
        "## Faults that stay",
        f"`{COMMAND}`",
        WHAT,
        "### Lasting faults: goals",
        "*Recorded* is the worst kind of fault of the script for recorded calls, and recorded genuine streams; "
        f"*generated* the worst of the {len(FAULTS)} kinds on generated tools, and their genuine streams.",
        judged(("figure", "", "worst"), lines),
        "### Lasting faults on recorded calls",
        f"`{script_command}`",
        script_table(results.script),
        "### Lasting faults on generated tools",
        GENERATED,
        faults_table(results.ours.lasted),
        "### Incidents on genuine calls",
        INCIDENT,
        streams_table(results.recorded, results.reviewed.recorded, results.marked)
        if results.recorded
        else "**Not measured**: no recorded calls.",
        streams_table(results.ours.streams, results.reviewed.generated),
        "### What holding costs",
        "Engine variants, on what is not held out. Held: mean over kinds of fault, on generated tools.",
        curve_table(results.curve),
        f"![Faulty calls held, against genuine calls flagged and incidents told of]({PICTURE})",
        "### Lasting faults beside awesome-agentguard 0.2.0",
        *([f"**awesome-agentguard was not measured**: {results.rival_missing}."] if results.rival_missing else []),
        "The script for recorded calls, with each engine's default settings and no profiles.",
        _script_beside(results.script, results.rival_script),
        "On generated tools, the same trials.",
        _generated_beside(results.ours, results.rival),
    ]
    return Section(text, lines)


def goal_lines(results: Results) -> list[Line]:
    """Every figure that has a goal."""
    report = results.script.report or {}
    faults = {kind: figures for kind, figures in report.items() if kind != CHANGE}
    lines = []
    for figure, (bound, of_hard) in AT_LEAST.items():
        others = {kind: got[figure] for kind, got in faults.items() if kind != HARD}
        lines.append(_worst(WORDS[figure], "recorded", others, Goal("at least", bound, as_score), min))
        hard = {kind: got[figure] for kind, got in faults.items() if kind == HARD}
        lines.append(_worst(f"{WORDS[figure]}, {HARD}", "recorded", hard, Goal("at least", of_hard, as_score), min))
    retried = {kind: got["retried"] for kind, got in faults.items()}
    after = {kind: got["after"] for kind, got in faults.items()}
    lines += [
        _worst("asked again three times, never accepted", "recorded", retried, RETRIED, min),
        _worst("genuine calls after the recovery not accepted", "recorded", after, AFTERWARDS, max),
        _worst("after a genuine change that was labelled, not accepted", "recorded",
               {"": report.get(CHANGE, {}).get("flagged")}, CHANGED, max),
        *_alarms("recorded", results.recorded),
        *_alarms("recorded, changes adopted", results.reviewed.recorded),
    ]  # fmt: skip
    marked = pooled(one for one in results.marked if one.source.startswith(MARKED))
    errors = f"calls marked as errors not accepted, of {marked.errors}"
    lines.append(Line((errors, "recorded", MARKED), marked.errors_share, ERRORS))
    rows = {fault: _row([one for one in results.ours.lasted if one.fault == fault]) for fault in sorted(FAULTS)}
    lines += [
        _worst("asked again three times, never accepted", "generated",
               {fault: row.retried for fault, row in rows.items()}, RETRIED, min),
        _worst("genuine calls after the recovery not accepted", "generated",
               {fault: row.after for fault, row in rows.items()}, AFTERWARDS, max),
        Line(("after a genuine change that was labelled, not accepted", "generated", "–"),
             changed(results.ours.changes), CHANGED),
        *_alarms("generated", results.ours.streams),
        *_alarms("generated, changes adopted", results.reviewed.generated),
    ]  # fmt: skip
    return lines


def _worst(what: str, where: str, by_kind: Mapping[str, float | None], goal: Goal, worst: Callable[..., float]) -> Line:
    figures = {kind: figure for kind, figure in by_kind.items() if figure is not None and known(figure)}
    if not figures:
        return Line((what, where, "–"), None, goal)
    extreme = worst(figures.values())
    kind = next(kind for kind, figure in figures.items() if figure == extreme)
    return Line((what, where, kind or "–"), extreme, goal)


def _alarms(where: str, streams: Sequence[Stream]) -> list[Line]:
    """Means of sources, each counting alike; incidents in all calls."""
    incidents = pooled(streams).per_thousand
    flagged = {one.source: one.flagged_share for one in streams}
    blocked = {one.source: one.blocked_share for one in streams}
    often = {one.source: one.per_thousand for one in streams}
    return [
        Line(("genuine calls not accepted", where, _extreme(flagged, as_share)), _mean(flagged.values()), FLAGGED),
        Line(("genuine calls blocked", where, _extreme(blocked, as_share)), _mean(blocked.values()), STREAM_BLOCKED),
        Line(("incidents in 1,000 genuine calls", where, _extreme(often, as_per_thousand)), incidents, INCIDENTS),
    ]


def _extreme(by_source: Mapping[str, float | None], show: Callable[[float | None], str]) -> str:
    figures = {source: figure for source, figure in by_source.items() if figure is not None}
    if not figures:
        return "–"
    source = max(figures, key=lambda name: figures[name])
    return f"{show(figures[source])} {source}"


def script_table(outcome: Outcome) -> str:
    """Each kind of fault on recorded calls."""
    if outcome.report is None:
        return f"**Not measured**: {outcome.missing}."
    rows = [
        [kind, str(got["trials"]), *(as_score(got[figure]) for figure in AT_LEAST), as_score(got["retried"]),
         as_share(got["after"])]
        for kind, got in sorted(outcome.report.items())
        if kind != CHANGE
    ]  # fmt: skip
    change = outcome.report[CHANGE]
    rows.append(["change", str(change["trials"]), *"–" * (len(AT_LEAST) + 1), as_share(change["flagged"])])
    return markdown(("fault", "trials", "first", "held", "labelled", "blocked", "retried", "after"), rows)


def faults_table(lasted: Sequence[Lasted]) -> str:
    """Each fault on generated tools, used and held-out families apart."""
    rows = []
    for fault in sorted({one.fault for one in lasted}):
        here = [one for one in lasted if one.fault == fault]
        used = _row([one for one in here if one.family not in HELD_OUT_FAMILIES])
        held_out = _row([one for one in here if one.family in HELD_OUT_FAMILIES])
        rows.append(_cells(fault, "held out" if fault in HELD_OUT_FAULTS else "", _row(here), used, held_out))
    for name, wanted in (("mean, used faults", False), ("mean, held-out faults", True)):
        here = [one for one in lasted if (one.fault in HELD_OUT_FAULTS) is wanted]
        used = _means([one for one in here if one.family not in HELD_OUT_FAMILIES])
        held_out = _means([one for one in here if one.family in HELD_OUT_FAMILIES])
        rows.append(_cells(name, "", _means(here), used, held_out))
    header = (
        "fault", "", "trials", "first", "held, used families", "held, held-out families", "worst family", "labelled",
        "blocked", "retried", "after", "after, labelled",
    )  # fmt: skip
    return markdown(header, rows)


def _cells(name: str, mark: str, row: Row, used: Row, held_out: Row) -> list[str]:
    held = row.held
    return [
        name, mark, str(row.trials), as_score(row.first), _interval(used.held), _interval(held_out.held),
        "–" if held is None else f"{as_score(held.worst)} {held.worst_family}", as_score(row.labelled),
        as_score(row.blocked), as_score(row.retried), as_share(row.after), as_share(row.after_labelled),
    ]  # fmt: skip


def _row(lasted: Sequence[Lasted]) -> Row:
    """One fault's figures: means over families."""

    def mean(mode: str, of: Callable[[Said], float | None]) -> float | None:
        return _mean(_by_family(lasted, mode, of).values())

    return Row(
        len(lasted), mean("plain", lambda said: said.first), over_families(_by_family(lasted, "plain", _held)),
        mean("labelled", _held), mean("labelled", lambda said: said.blocked_from_second),
        mean("retried", lambda said: said.kept), mean("plain", lambda said: said.spoiled),
        mean("labelled", lambda said: said.spoiled),
    )  # fmt: skip


def _means(lasted: Sequence[Lasted]) -> Row:
    """Several faults' figures: means over faults of the means over families."""
    rows = [_row([one for one in lasted if one.fault == fault]) for fault in dict.fromkeys(one.fault for one in lasted)]
    by_family: dict[str, list[float]] = {}
    for one in lasted:
        by_family.setdefault(one.family, []).append(one.said["plain"].held)
    return Row(
        len(lasted), _mean(row.first for row in rows),
        over_families({family: sum(held) / len(held) for family, held in by_family.items()}),
        _mean(row.labelled for row in rows), _mean(row.blocked for row in rows), _mean(row.retried for row in rows),
        _mean(row.after for row in rows), _mean(row.after_labelled for row in rows),
    )  # fmt: skip


def _by_family(lasted: Iterable[Lasted], mode: str, of: Callable[[Said], float | None]) -> dict[str, float]:
    found: dict[str, list[float]] = {}
    for one in lasted:
        figure = of(one.said[mode]) if mode in one.said else None
        if figure is not None and known(figure):
            found.setdefault(one.family, []).append(figure)
    return {family: sum(figures) / len(figures) for family, figures in found.items()}


def _held(said: Said) -> float:
    return said.held


def changed(changes: Mapping[str, Sequence[str]]) -> float | None:
    """Share of the calls after a labelled genuine change that is not accepted: mean over families."""
    return _mean([sum(verdict != "accept" for verdict in said) / len(said) for said in changes.values()])


def streams_table(streams: Sequence[Stream], adopted: Sequence[Stream] = (), marked: Sequence[Stream] = ()) -> str:
    """False alarms by source.

    Args:
        streams: as they came out.
        adopted: the same, each change that was told of adopted.
        marked: the same, the engine told which calls were marked as errors.
    """
    header = ["source" if marked else "family", "calls", "after the first 20", *ALARMS]
    header += [f"{alarm}, changes adopted" for alarm in ALARMS] if adopted else []
    header += ["errors", "not accepted"] if marked else []
    rows = []
    for source in [*(one.source for one in streams), None]:  # the last row is of all together
        here, reviewed, told = (
            [one for one in some if source in (one.source, None)] for some in (streams, adopted, marked)
        )
        whole, errors = pooled(here), pooled(told)
        row = [source or "all; shares are means", str(whole.calls), str(whole.known), *_alarm_cells(here)]
        row += _alarm_cells(reviewed) if adopted else []
        row += [str(errors.errors), as_share(errors.errors_share)] if marked else []
        rows.append(row)
    return markdown(header, rows)


def _alarm_cells(streams: Sequence[Stream]) -> list[str]:
    return [
        as_share(_mean([one.flagged_share for one in streams])),
        as_share(_mean([one.blocked_share for one in streams])),
        as_per_thousand(pooled(streams).per_thousand),
    ]


def curve_table(points: Sequence[Point]) -> str:
    """Engine variants."""
    header = (
        "variant", "first", "held", "after", "flagged, generated", "blocked", "incidents in 1,000", "flagged, recorded",
        "blocked", "incidents in 1,000",
    )  # fmt: skip
    return markdown(header, [
        [one.label, as_score(one.first), as_score(one.held), as_share(one.after), as_share(one.flagged),
         as_share(one.blocked), as_per_thousand(one.incidents), as_share(one.recorded_flagged),
         as_share(one.recorded_blocked), as_per_thousand(one.recorded_incidents)]
        for one in points
    ])  # fmt: skip


FIGURES = ("first", "held", "labelled", "retried", "after")


def _script_beside(ours: Outcome, theirs: Outcome) -> str:
    if ours.report is None:
        return f"**Not measured**: {ours.missing}."
    other = theirs.report or {}
    rows = [_beside(kind, got, other.get(kind, {})) for kind, got in sorted(ours.report.items()) if kind != CHANGE]
    change, their_change = ours.report[CHANGE]["flagged"], other.get(CHANGE, {}).get("flagged")
    rows.append(_beside("change (a genuine one)", {"after": change}, {"after": their_change}))
    return markdown(_beside_header(), rows)


def _generated_beside(ours: Verdicts, theirs: Verdicts | None) -> str:
    rows = []
    for name, wanted in (("used faults", False), ("held-out faults", True)):
        both = [
            _figures(_means([one for one in verdicts.lasted if (one.fault in HELD_OUT_FAULTS) is wanted]))
            for verdicts in (ours, theirs)
            if verdicts is not None
        ]
        rows.append(_beside(name, both[0], both[1] if theirs else {}))
    change = [{"after": changed(verdicts.changes)} for verdicts in (ours, theirs) if verdicts is not None]
    rows.append(_beside("change (a genuine one)", change[0], change[1] if theirs else {}))
    flagged = [
        {"after": _mean([one.flagged_share for one in verdicts.streams])} for verdicts in (ours, theirs) if verdicts
    ]
    rows.append(_beside("no fault, long genuine streams", flagged[0], flagged[1] if theirs else {}))
    return markdown(_beside_header(), rows)


def _figures(row: Row) -> dict[str, float | None]:
    held = None if row.held is None else row.held.mean
    return {"first": row.first, "held": held, "labelled": row.labelled, "retried": row.retried, "after": row.after}


def _beside_header() -> list[str]:
    named = {"after": "genuine calls not accepted"}
    return ["fault", *(f"{named.get(figure, figure)}, {who}" for figure in FIGURES for who in ("agentguard", "peer"))]


def _beside(name: str, ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> list[str]:
    row = [name]
    for figure in FIGURES:
        show = as_share if figure == "after" else as_score
        row += [show(ours.get(figure)), show(theirs.get(figure))]
    return row


def _interval(figure: Figure | None) -> str:
    return "–" if figure is None else with_interval(figure)


def _mean(figures: Iterable[float | None]) -> float | None:
    there = [figure for figure in figures if figure is not None and known(figure)]
    return sum(there) / len(there) if there else None
