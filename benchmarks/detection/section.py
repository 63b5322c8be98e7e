"""The figures of generated tools as a section of the measurements document: tables, goals, pictures. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from document import Section
from goals import as_points, as_score, as_share
from tables import judged, markdown

from . import lines
from .changes import UNCHANGED
from .faults import FAULTS, REPLAYED
from .intervals import Figure, over_families
from .measures import Cell, Quiet, cells, early, false_alarms, quiet, recalls, warm
from .plan import CALLS, SHARED_CALLS, Results
from .reliability import BASE_RATES, reliability
from .split import HELD_OUT_FAMILIES, HELD_OUT_FAULTS
from .trials import Judged

__all__ = ["PICTURES", "faults_table", "section"]

COMMAND = "python benchmarks/detection/run.py --whole"
PICTURES = "pictures"
QUIET_FOR = (50, 100, 200, 300)

WHAT = f"""\
Twenty-four families of tools and sixteen kinds of fault, generated from seeds, without profiles. An agent holds four
families and makes {CALLS} calls of each; beside every genuine call, the same call gone wrong is judged and not learned.
Every fault disturbs one thing; the answers of `swapped_args` and `swapped_tool` were never seen before. Figures are
means over families, with a 95% interval by bootstrap over families, and the worst family beside the mean. Recall is at
the one posterior that 1% of all genuine calls exceed. Goals are those for recorded calls, where there is one."""

SPLIT = f"""\
Held out, and used for no choice of design: in alphabetical order every third family
({", ".join(sorted(HELD_OUT_FAMILIES))})
and every third fault ({", ".join(sorted(HELD_OUT_FAULTS))})."""


def section(results: Results) -> Section:
    """Everything, with its goals."""
    known, first = warm(results.clean), early(results.clean)
    found = cells(known)
    adopted = cells(warm(results.reviewed))
    goals = [
        *lines.genuine(known, first),
        *lines.recall(found),
        *lines.recall(adopted, ", changes adopted"),
        *lines.blocked_share(found),
        *lines.instant(known),
        *lines.calibration(known),
        *lines.spoiled(results),
        *lines.changed(results.recoveries),
    ]
    text = [
        "## Detection on generated tools",
        f"`{COMMAND}`",
        WHAT,
        SPLIT,
        "### Goals",
        judged(("figure", "mean and 95% interval", "worst family"), goals),
        "### By fault",
        faults_table(found),
        _picture("curve", "Wrong answers blocked against genuine ones blocked"),
        "### Where changes are adopted",
        "The same courses, beside a reviewer who adopts each change that is told of. A family that changes for good is "
        "flagged in every call until somebody does, and then takes up most of the 1% by itself.",
        _adopted(found, adopted, known, warm(results.reviewed)),
        "### By family",
        "Means over the faults; genuine calls after a tool's first 20.",
        _families(found, known),
        "### False alarms",
        "Genuine calls of tools that had 20 before: how many there are for each alarm, and the share of courses that "
        "have none in their first 50, 100, … of them.",
        _quiet([quiet(known, "block"), quiet(known, "flag or block")]),
        _picture("quiet", "Courses without a false alarm so far"),
        "### Reliability of the posterior",
        "Of the calls whose posterior falls into a bin: how many there are, their mean posterior, the share that is "
        "wrong. With the default prior of 0.15 unless said otherwise; families weigh alike.",
        _reliability(known),
        _picture("reliability", "Share of wrong answers against the posterior"),
        "### Bad history",
        "A share of the history is answered wrongly, by any fault, and learned as far as the engine lets it be. "
        "Recall at 1%.",
        _bad_history(results),
        _picture("history", "Recall against the share of the history that is bad"),
        "### Answers seen before",
        "A swap whose answer was given before is what `duplicate_result` and `historical_inconsistency` look for. "
        "Recall at 1%; the last two columns are without these two signals.",
        _replayed(found, results.every_signal),
        "### Calls 3 to 10 of a tool",
        _few_calls(first),
        "### Genuine changes",
        "A family changes for good after 120 calls, and 100 calls are watched. A change is accepted from the first of "
        "five changed calls in a row that are.",
        _changes(results),
        _picture("changes", "Changed calls accepted"),
        "### Beside others",
        *([f"**awesome-agentguard was not measured**: {results.rival_missing}."] if results.rival_missing else []),
        f"On the same courses of {SHARED_CALLS} calls of each family, without profiles. Recall and AUROC are means of "
        "families, and of faults in them.",
        _others(results),
        "### Without each signal",
        "The posterior of each call summed again without one signal; what was learned is as it was. Change of recall "
        "at 1%.",
        _ablation(results.every_signal),
    ]
    return Section(text, goals)


def faults_table(found: Sequence[Cell]) -> str:
    """Recall, verdicts and AUROC of each fault, used and held-out families apart."""
    rows = []
    for fault in sorted(FAULTS):
        here = [cell for cell in found if cell.fault == fault]
        by_family = recalls(here, fault)
        held = {family: value for family, value in by_family.items() if family in HELD_OUT_FAMILIES}
        used = {family: value for family, value in by_family.items() if family not in HELD_OUT_FAMILIES}
        both = over_families(by_family)
        if both is None:
            continue
        rows.append([
            fault, "held out" if fault in HELD_OUT_FAULTS else "", str(sum(cell.n for cell in here)),
            _with_interval(over_families(used)), _with_interval(over_families(held)), _worst(both),
            as_score(_mean([cell.blocked for cell in here])), as_score(_mean([cell.noticed for cell in here])),
            as_score(_mean([cell.auroc for cell in here])),
        ])  # fmt: skip
    header = (
        "fault", "", "calls", "recall, used families", "recall, held-out families", "worst family", "blocked",
        "flagged or blocked", "AUROC",
    )  # fmt: skip
    return markdown(header, rows)


def _adopted(
    found: Sequence[Cell], adopted: Sequence[Cell], known: Sequence[Judged], reviewed: Sequence[Judged]
) -> str:
    rows = []
    for fault in sorted(FAULTS):
        figures = [over_families(recalls(some, fault)) for some in (found, adopted)]
        rows.append([f"{fault}, recall", *map(_with_interval, figures)])
    for alarm in ("flagged", "blocked"):
        shares = [{one.family: getattr(one, alarm) for one in false_alarms(some)} for some in (known, reviewed)]
        figures = [over_families(some, worst=max) for some in shares]
        what = "genuine calls flagged or blocked" if alarm == "flagged" else "genuine calls blocked"
        rows.append([what, *(_with_interval(figure, as_share) for figure in figures)])
    return markdown(("", "nobody adopts", "changes adopted"), rows)


def _families(found: Sequence[Cell], known: Sequence[Judged]) -> str:
    alarms = {one.family: one for one in false_alarms(known)}
    rows = []
    for family, recall in recalls(found, "").items():
        here = [cell for cell in found if cell.family == family and cell.fault in FAULTS]
        least = min(here, key=lambda cell: cell.recalled)
        rows.append([
            family, "held out" if family in HELD_OUT_FAMILIES else "", str(alarms[family].n),
            as_share(alarms[family].flagged), as_share(alarms[family].blocked), as_score(recall),
            f"{least.fault} {as_score(least.recalled)}", as_score(_mean([cell.blocked for cell in here])),
        ])  # fmt: skip
    header = ("family", "", "genuine calls", "flagged or blocked", "blocked", "recall", "worst fault", "faults blocked")
    return markdown(header, rows)


def _quiet(figures: Sequence[Quiet]) -> str:
    rows = []
    for figure in figures:
        gap = figure.calls_an_alarm
        rows.append([
            figure.alarm, str(figure.calls), str(figure.alarms), "–" if gap is None else f"{gap:.0f}",
            *(as_share(figure.still_quiet(calls)) for calls in QUIET_FOR),
        ])  # fmt: skip
    return markdown(("alarm", "genuine calls", "alarms", "calls an alarm", *map(str, QUIET_FOR)), rows)


def _reliability(known: Sequence[Judged]) -> str:
    default = [reliability(known, rate) for rate in BASE_RATES]
    told = [reliability(known, rate, prior=rate) for rate in BASE_RATES]
    rows = []
    for low in sorted({one.low for figure in default for one in figure.bins}):
        bins = [next((one for one in figure.bins if one.low == low), None) for figure in default]
        cells_ = [
            "–" if one is None else f"{as_share(one.share)}: {one.posterior:.3f}, {one.wrong:.3f}" for one in bins
        ]
        rows.append([f"{low:.1f} to {low + 0.1:.1f}", *cells_])
    rows.append(["error", *(_range(one.error, one.low, one.high) for one in default)])
    rows.append(["error, prior set to the share", *(_range(one.error, one.low, one.high) for one in told)])
    return markdown(("posterior", *(f"{as_share(rate)} of the calls wrong" for rate in BASE_RATES)), rows)


def _bad_history(results: Results) -> str:
    clean = cells(lines.same_courses(results.clean, results.spoiled))
    spoiled = {share: cells(warm(bad)) for share, bad in results.spoiled.items()}
    rows = []
    for fault in sorted(FAULTS):
        row = [fault, _with_interval(over_families(recalls(clean, fault)))]
        rows.append(row + [_with_interval(over_families(recalls(found, fault))) for found in spoiled.values()])
    alarms = [false_alarms(lines.same_courses(results.clean, results.spoiled))]
    alarms += [false_alarms(warm(bad)) for bad in results.spoiled.values()]
    rows.append(["genuine, flagged or blocked", *(as_share(_mean([one.flagged for one in some])) for some in alarms)])
    rows.append(["genuine, blocked", *(as_share(_mean([one.blocked for one in some])) for some in alarms)])
    return markdown(("fault", "clean", *(f"{as_share(share)} bad" for share in spoiled)), rows)


def _replayed(found: Sequence[Cell], every_signal: Sequence[Judged]) -> str:
    full = cells(warm(every_signal))
    blind = cells(warm(every_signal), lines.without_replay)
    rows = []
    for fault in ("swapped_args", "swapped_args_seen", "swapped_tool", "swapped_tool_seen", "repeated", "stale"):
        row = [fault, "seen" if fault in REPLAYED or fault in ("repeated", "stale") else "never seen"]
        row.append(_with_interval(over_families(recalls(found, fault))))
        rows.append([*row, *(_with_interval(over_families(recalls(some, fault))) for some in (full, blind))])
    return markdown(("fault", "answer", "recall", "recall, first two courses", "without the two signals"), rows)


def _few_calls(first: Sequence[Judged]) -> str:
    found = cells(first)
    rows = []
    for fault in [*sorted(FAULTS), *REPLAYED]:
        here = [cell for cell in found if cell.fault == fault]
        if here:
            rows.append([
                fault, str(sum(cell.n for cell in here)), _with_interval(over_families(recalls(here, fault))),
                as_score(_mean([cell.blocked for cell in here])), as_score(_mean([cell.noticed for cell in here])),
                as_score(_mean([cell.auroc for cell in here])),
            ])  # fmt: skip
    return markdown(("fault", "calls", "recall", "blocked", "flagged or blocked", "AUROC"), rows)


def _changes(results: Results) -> str:
    rows = []
    for change in dict.fromkeys(one.change for one in results.recoveries):
        here = [one for one in results.recoveries if one.change == change]
        blocked = over_families({one.family: one.blocked for one in here}, worst=max)
        until = [one.calls_until_accepted for one in here]
        known = sorted(calls for calls in until if calls is not None)
        if blocked is None:
            continue
        rows.append([
            f"{UNCHANGED} (to compare)" if change == UNCHANGED else change, str(len(here)),
            _with_interval(blocked, as_share),
            f"{as_share(blocked.worst)} {blocked.worst_family}", f"{_mean([float(calls) for calls in known]):.1f}",
            str(known[-1]) if known else "–", str(until.count(None)),
        ])  # fmt: skip
    header = ("change", "families", "blocked", "worst family", "calls until accepted", "at most", "never accepted")
    return markdown(header, rows)


def _others(results: Results) -> str:
    rows = []
    for name, judgements in results.beside.items():
        known = warm(judgements)
        found = [cell for cell in cells(known) if cell.fault in FAULTS]
        alarms = false_alarms(known)
        rows.append([
            name, str(len(known)), _with_interval(over_families(recalls(found, ""))),
            as_score(_mean([cell.auroc for cell in found])),
            as_share(_mean([one.flagged for one in alarms])), as_share(_mean([one.blocked for one in alarms])),
            as_score(_mean([cell.blocked for cell in found])),
        ])  # fmt: skip
    header = ("who", "calls", "recall", "AUROC", "genuine, flagged or blocked", "genuine, blocked", "faults blocked")
    return markdown(header, rows)


def _ablation(every_signal: Sequence[Judged]) -> str:
    known = warm(every_signal)
    whole = cells(known)
    rows = []
    for signal in lines.signals(known):
        found = cells(known, lines.without(signal))
        change = {family: value - recalls(whole, "")[family] for family, value in recalls(found, "").items()}
        by_fault = {fault: _difference(recalls(found, fault), recalls(whole, fault)) for fault in FAULTS}
        fault = min(by_fault, key=lambda name: by_fault[name])
        figure = over_families(change)
        if figure is not None:
            rows.append([signal, lines.with_interval(figure, as_points), f"{fault} {as_points(by_fault[fault])}"])
    return markdown(("without", "all faults", "most for"), rows)


def _difference(after: dict[str, float], before: dict[str, float]) -> float:
    return _mean([after[family] - value for family, value in before.items() if family in after])


def _picture(name: str, says: str) -> str:
    return f"![{says}]({PICTURES}/detection_{name}.svg)"


def _with_interval(figure: Figure | None, show: Callable[[float | None], str] = as_score) -> str:
    return "–" if figure is None else lines.with_interval(figure, show)


def _worst(figure: Figure) -> str:
    return f"{as_score(figure.worst)} {figure.worst_family}"


def _range(value: float, low: float, high: float) -> str:
    return f"{value:.4f} ({low:.4f} to {high:.4f})"


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else float("nan")
