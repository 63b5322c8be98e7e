"""The page and its pictures, made from the rows of the leaderboard: the same rows give the same page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from string import Template
from typing import Any

from detection.pictures import COLOURS, INK, STYLE
from document import Section
from goals import Goal, as_points, as_share
from tables import Line, judged, markdown

from . import agent
from .faults import KINDS
from .score import CHARACTERS_A_TOKEN, FAULTY, Counts, Entry, reduced, share
from .tasks import TEMPLATES
from .tools import TOOLS

__all__ = ["COMMAND", "ENDS", "KINDS_PICTURE", "goal_lines", "page", "pictures", "section"]

COMMAND = "python benchmarks/in_the_loop/run.py measure"
ENDS, KINDS_PICTURE = "pictures/in_the_loop_ends.svg", "pictures/in_the_loop_kinds.svg"
TEMPLATE = Path(__file__).with_suffix(".md")
NONE, OURS = "none", "agentguard-recovery"
OBSERVING = "agentguard-observe"  # which changes no end
KEYS = (NONE, "schema", "awesome-agentguard", OBSERVING, "agentguard-enforce", OURS)
REDUCED = Goal("at least", 0.80, as_share)
GAINED = Goal("at least", 0.15, as_points)
LOST = Goal("at least", -0.01, as_points)
CAUGHT = Goal("at least", 0.95, as_share)


def ordered(rows: Sequence[Entry]) -> list[Entry]:
    """The project's own contestants in their order, then the others by name."""

    def place(row: Entry) -> tuple[int, str]:
        key = row["contestant"]["key"]
        return (KEYS.index(key) if key in KEYS else len(KEYS), key)

    return sorted(rows, key=place)


def goal_lines(rows: Sequence[Entry]) -> list[Line]:
    """The goals, for the guard with recovery beside none; no lines where one of the two was not measured."""
    by_key = {row["contestant"]["key"]: row for row in rows}
    if NONE not in by_key or OURS not in by_key:
        return []
    none, ours = by_key[NONE], by_key[OURS]
    lines = [
        Line((f"silent corruption under {mode} faults, less than without a guard by",),
             reduced(ours[mode], none[mode]), REDUCED)
        for mode in FAULTY
    ]  # fmt: skip
    gained = _difference(_together(ours), _together(none))
    lost = _difference(ours["clean"], none["clean"])
    return [
        *lines,
        Line(("task success under single and lasting faults, more than without a guard by",), gained, GAINED),
        Line(("task success on clean runs, beside none",), lost, LOST),
        Line(("silent no-ops caught where a read-back is declared",), _caught(ours), CAUGHT),
    ]


def section(rows: Sequence[Entry]) -> Section:
    """The section of the measurements document."""
    lines = goal_lines(rows)
    text = ["## In the loop", f"`{COMMAND}`, explained under [The guard in the loop](in-the-loop.md)."]
    if not lines:
        return Section([*text, "**Not measured**."])
    return Section([*text, judged(("agentguard with recovery",), lines), _board(rows)], lines)


def page(rows: Sequence[Entry]) -> str:
    """The page in Markdown."""
    rows = ordered(rows)
    goals = goal_lines(rows)
    parts = {
        "command": COMMAND,
        "tools": len(TOOLS),
        "writes": sum(tool.writes for tool in TOOLS.values()),
        "tasks": rows[0]["course"]["tasks"],
        "templates": len(TEMPLATES),
        "kinds": len(KINDS),
        "clean": rows[0]["clean"]["runs"],
        "policy": (agent.__doc__ or "").partition("Its whole policy:")[2].strip(),
        "board": _board(rows),
        "ends": ENDS,
        "about": _about(rows),
        "goals": judged(("agentguard with recovery",), goals) if goals else "Not measured.",
        "by_kind": _by_kind(rows),
        "by_tool": _by_tool(rows),
        "kinds_picture": KINDS_PICTURE,
        "characters": CHARACTERS_A_TOKEN,
        "costs": _costs(rows),
    }
    return Template(TEMPLATE.read_text(encoding="utf-8")).substitute(parts)


def _board(rows: Sequence[Entry]) -> str:
    header = (
        "contestant", "agent", "clean: success", "single: success", "single: silent", "lasting: success",
        "lasting: silent", "harmless faults: success", "after a lasting fault: success", "silent no-ops caught",
    )  # fmt: skip
    return markdown(header, [
        (
            row["contestant"]["name"], row["contestant"]["agent"], _shown(row["clean"], "success"),
            _shown(row["single"], "success"), _shown(row["single"], "silent"), _shown(row["lasting"], "success"),
            _shown(row["lasting"], "silent"), _shown(row["harmless"], "success"), _shown(row["after"], "success"),
            as_share(_caught(row)),
        )
        for row in ordered(rows)
    ])  # fmt: skip


def _about(rows: Sequence[Entry]) -> str:
    return "\n".join(
        f"- **{' '.join(filter(None, (row['contestant']['name'], row['contestant']['version'])))}**: "
        f"{row['contestant']['about']}"
        f"{' Its verdicts name ' + as_share(_noticed(row)) + ' of the harmful faults.' if _noticed(row) else ''}"
        for row in ordered(rows)
    )


def _by_kind(rows: Sequence[Entry]) -> str:
    def cell(row: Entry, kind: str) -> str:
        both = _sum([row["kinds"].get(kind, {}).get(mode) for mode in FAULTY])
        return f"{_shown(both, 'silent')} ({_shown(both, 'success')})"

    some = [row for row in ordered(rows) if row["contestant"]["key"] != OBSERVING]
    runs = {kind: _sum([some[0]["kinds"].get(kind, {}).get(mode) for mode in FAULTY])["runs"] for kind in KINDS}
    return markdown(
        ("kind", "runs", *(row["contestant"]["name"] for row in some)),
        [(kind, str(runs[kind]), *(cell(row, kind) for row in some)) for kind in KINDS if runs[kind]],
    )


def _by_tool(rows: Sequence[Entry]) -> str:
    some = [row for row in ordered(rows) if row["contestant"]["key"] != OBSERVING]
    tools = [tool for tool in TOOLS if tool in some[0]["tools"]]
    return markdown(
        ("tool", "runs", *(row["contestant"]["name"] for row in some)),
        [
            (
                tool,
                str(some[0]["tools"][tool]["runs"]),
                *(_shown(row["tools"][tool], "silent") if tool in row["tools"] else "–" for row in some),
            )
            for tool in tools
        ],
    )


def _costs(rows: Sequence[Entry]) -> str:
    first = ordered(rows)[0]["cost"]["clean"]

    def beside(row: Entry, what: str) -> str:
        figure = row["cost"]["clean"][what]
        return f"{figure:.2f} ({100 * (figure / first[what] - 1):+.0f}%)" if first[what] else f"{figure:.2f}"

    header = (
        "contestant", "calls of tools", "tokens read", "time of the tools, ms", "guard, ms a call",
        "guard, ms a call while learning", "calls of tools under faults",
    )  # fmt: skip
    return markdown(header, [
        (
            row["contestant"]["name"], *(beside(row, what) for what in ("tool_calls", "tokens", "tool_ms")),
            f"{row['cost']['clean']['guard_ms_a_call']:.2f}", f"{row['cost']['learning_ms_a_call']:.2f}",
            f"{row['cost']['faulty']['tool_calls']:.2f}",
        )
        for row in ordered(rows)
    ])  # fmt: skip


# --- Pictures ---


def pictures(rows: Sequence[Entry], folder: Path) -> None:
    """Write the pictures below the document's folder."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    rows = [row for row in ordered(rows) if row["contestant"]["key"] != OBSERVING]
    (folder / ENDS).parent.mkdir(parents=True, exist_ok=True)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(7.2, 0.7 + 0.42 * len(rows)), layout="constrained")
        for axes, mode in zip(figure.subplots(1, len(FAULTY), sharey=True), FAULTY, strict=True):
            _ends(axes, rows, mode)
        axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
        figure.savefig(folder / ENDS, metadata={"Date": None, "Creator": None})
        figure = Figure(figsize=(7.2, 3.4), layout="constrained")
        _kinds(figure.subplots(), rows)
        figure.savefig(folder / KINDS_PICTURE, metadata={"Date": None, "Creator": None})


def _ends(axes: Any, rows: Sequence[Entry], mode: str) -> None:
    names = [row["contestant"]["name"] for row in rows][::-1]
    left = [0.0] * len(rows)
    for end, colour in (("success", COLOURS[2]), ("reported", INK), ("silent", COLOURS[1])):
        shares = [share(row[mode], end) or 0.0 for row in rows][::-1]
        axes.barh(names, shares, left=left, color=colour, label=end, height=0.65)
        left = [one + more for one, more in zip(left, shares, strict=True)]
    axes.set(xlim=(0, 1), xlabel=f"{mode} faults, share of runs")
    axes.grid(visible=False, axis="y")


def _kinds(axes: Any, rows: Sequence[Entry]) -> None:
    kinds = [kind for kind in KINDS if any(kind in row["kinds"] for row in rows)]
    width = 0.8 / max(len(rows), 1)
    for place, row in enumerate(rows):
        both = [_sum([row["kinds"].get(kind, {}).get(mode) for mode in FAULTY]) for kind in kinds]
        at = [number + width * (place - (len(rows) - 1) / 2) for number in range(len(kinds))]
        colour = INK if row["contestant"]["key"] == NONE else COLOURS[(place - 1) % len(COLOURS)]
        axes.bar(
            at, [share(one, "silent") or 0.0 for one in both], width, color=colour, label=row["contestant"]["name"]
        )
    axes.set_xticks(range(len(kinds)), kinds, rotation=40, ha="right")
    axes.set(ylim=(0, 1), ylabel="silent corruption")
    axes.grid(visible=False, axis="x")
    axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))


# --- Figures ---


def _sum(some: Sequence[Counts | None]) -> Counts:
    there = [one for one in some if one is not None]
    return {what: sum(one[what] for one in there) for what in ("runs", "success", "silent", "reported", "noticed")}


def _together(row: Entry) -> Counts:
    return _sum([row[mode] for mode in FAULTY])


def _difference(ours: Counts, none: Counts) -> float | None:
    one, other = share(ours, "success"), share(none, "success")
    return None if one is None or other is None else one - other


def _caught(row: Entry) -> float | None:
    """Share of the silent no-ops of tools with a read-back after which nothing wrong was given as right."""
    silent = share(row["read_back"], "silent")
    return None if silent is None else 1.0 - silent


def _noticed(row: Entry) -> float | None:
    return share(_together(row), "noticed")


def _shown(found: Mapping[str, int], what: str) -> str:
    return as_share(share(found, what))
