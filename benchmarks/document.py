"""The measurements document, from reports and races to Markdown. Pure: the same figures give the same text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import detection_tables as detection
from detection_runs import RUNS, Outcome
from findings import FINDINGS, SOURCES
from goals import NOT_MEASURED
from speed_tables import SpeedFigures, speed_judged, speed_rows
from tables import Line, judged, markdown, tally

__all__ = ["Section", "document", "renewed"]

CLEAN, SPOILED, FEW, REFERENCE, REVIEWED = (plan.name for plan in RUNS)
SWAPS_HEADER = ("source", "fault", "rows", "AUROC")
_GOALS = re.compile(r"Goals of the default engine: (\d+) of (\d+) reached, (\d+) missed, (\d+) not measured\.")
_OUTCOME = re.compile(rf"\| (reached|missed|{NOT_MEASURED})[^|\n]*\|$", re.M)


class Section(NamedTuple):
    """A section that is measured by itself: its Markdown, heading first, and the judged lines that count as goals."""

    text: Sequence[str]
    lines: Sequence[Line] = ()


def document(
    machine: Mapping[str, str],
    command: str,
    commands: Mapping[str, str],
    outcomes: Mapping[str, Outcome],
    standings: Sequence[SpeedFigures],
    sections: Sequence[Section] = (),
) -> str:
    """The whole text.

    Args:
        machine: what is said of the machine, by name.
        command: the command that writes the document.
        commands: the command of each detection run, by the run's name.
        outcomes: what each detection run came to, by the run's name.
        standings: how the races ended.
        sections: what else was measured; they stand before the races.
    """
    clean = outcomes[CLEAN].report or {}
    parts = [
        "# Measurements",
        f"Written by `{command}`; run it again instead of editing.",
        markdown(("machine", ""), machine.items()),
        f"Goals of the default engine: {tally([*_all_lines(outcomes, standings), *_lines(sections)])}.",
        *_why(),
        *_section(
            "## Detection", CLEAN, commands, outcomes,
            lambda report: _all_tasks(report, with_goals=True),
        ),
        *_section(
            "## Detection with bad history", SPOILED, commands, outcomes,
            lambda report: [
                "One call in ten of the history is cut off or another call's answer.",
                "Measured: the change in recall at 1% false positives; a dash where there was none to lose.",
                judged(("source", "fault", "clean", "a tenth bad"), detection.contaminated(clean, report)),
            ],
        ),
        *_section(
            "## Detection with short history", FEW, commands, outcomes,
            lambda report: [
                "Genuine calls flagged or blocked; the goal is that for calls 3 to 10 of a tool.",
                judged(("source", "rows", "blocked"), detection.few_calls(report)),
                "Recall at 1% false positives; no goals are set for this history.",
                judged(SWAPS_HEADER, detection.swaps(report), with_goals=False),
            ],
        ),
        *_section(
            "## Detection in reference mode", REFERENCE, commands, outcomes,
            lambda report: ["The goals are the default engine's.", *_all_tasks(report, with_goals=False)],
        ),
        *_section(
            "## Detection where changes are adopted", REVIEWED, commands, outcomes,
            lambda report: [
                "The default engine beside a reviewer who adopts each change that it tells of: nobody has to look at "
                "the calls that follow. All that is learned here is genuine, so that is the right thing to say.",
                *_genuine(report, with_goals=True),
                "### Wrong results, changes adopted",
                "Measured: recall at 1% false positives.",
                judged(SWAPS_HEADER, detection.swaps(report)),
            ],
        ),
        *(part for section in sections for part in section.text),
        *_speed(standings),
    ]  # fmt: skip
    return "\n\n".join(parts) + "\n"


def renewed(text: str, sections: Sequence[Section]) -> str:
    """A document in which some sections are measured anew, and what is said of the goals follows.

    Args:
        text: the document as it stands.
        sections: the new ones, each all of whose judged lines count as goals. One takes the place of the section of its
            heading, of which what is in brackets may differ.

    Raises:
        ValueError: there is no such section.
    """
    goals = _GOALS.search(text)
    if goals is None:
        raise ValueError("the document does not say how many goals are reached: measure all of it")
    counts = Counter[str]()
    for section in sections:
        heading = section.text[0]
        place = re.search(rf"^{re.escape(heading.partition(' (')[0])}(?: \([^\n]*)?$.*?(?=^## |\Z)", text, re.M | re.S)
        if place is None:
            raise ValueError(f"the document has no section {heading!r}: measure all of it")
        counts.subtract(_OUTCOME.findall(place[0]))
        new = "\n\n".join(section.text)
        counts.update(_OUTCOME.findall(new))
        text = f"{text[: place.start()]}{new}\n\n{text[place.end() :]}"
    reached, missed, unknown = (
        int(goals[number]) + counts[outcome] for number, outcome in ((1, "reached"), (3, "missed"), (4, NOT_MEASURED))
    )
    said = f"{reached} of {reached + missed + unknown} reached, {missed} missed, {unknown} {NOT_MEASURED}"
    text = text.replace(goals[0], f"Goals of the default engine: {said}.", 1)
    findings = re.search(r"^## What is missed, and why$.*?(?=^## )", text, re.M | re.S)
    why = "\n\n".join(_why())
    return text if findings is None else f"{text[: findings.start()]}{why}\n\n{text[findings.end() :]}"


def _why() -> list[str]:
    return [
        "## What is missed, and why",
        SOURCES,
        "What was tried for the goals that are missed, and what the data shows to be the limit:",
        "\n".join(f"- **{what}.** {found}" for what, found in FINDINGS),
    ]


def _section(
    title: str,
    run: str,
    commands: Mapping[str, str],
    outcomes: Mapping[str, Outcome],
    body: Callable[[detection.Report], list[str]],
) -> list[str]:
    report, missing = outcomes[run]
    return [title, f"`{commands[run]}`", *([f"**Not measured**: {missing}."] if report is None else body(report))]


def _all_tasks(report: detection.Report, *, with_goals: bool) -> list[str]:
    def table(header: Sequence[str], lines: list[Line]) -> str:
        return judged(header, lines, with_goals=with_goals) if lines else "Not measured: the data has no rows for it."

    return [
        "### Genuine calls in recorded order",
        *_genuine(report, with_goals=with_goals),
        "### Wrong results",
        "Measured: recall at 1% false positives.",
        table(SWAPS_HEADER, detection.swaps(report)),
        "Blocked by the default settings. Measured: as a share of recall at 1%; a dash where nothing is recalled.",
        table(("source", "fault", "genuine blocked", "blocked"), detection.blocked_share(report)),
        "### A model pretending to be the tool",
        "Measured: AUROC.",
        table(("pairs", "n", "recall at 5%"), detection.pairs(report)),
        "### Answers within a millisecond",
        "Measured: recall at 1% false positives. The goal is set for tools that take 100 ms and more.",
        table(("source", "genuine calls", "AUROC"), detection.latency(report)),
    ]


def _genuine(report: detection.Report, *, with_goals: bool) -> list[str]:
    return [
        "Genuine calls after a tool's first 20.",
        markdown(*detection.stream_sources(report)),
        judged(("share of genuine calls",), detection.stream(report), with_goals=with_goals),
    ]


def _speed(standings: Sequence[SpeedFigures]) -> list[str]:
    missing = {standing.peer_missing for standing in standings if standing.peer_missing}
    return [
        "## Speed",
        "`python -m pytest benchmarks`",
        "`verify` with profile, arguments, session and a history of 500 calls, beside awesome-agentguard 0.2.0 (peer) "
        "and the least that any guard must do (floor), in alternating turns of one run. Read the ratios: times differ "
        "by machine.",
        *(f"**The peer was not measured**: {why}." for why in sorted(missing)),
        markdown(*speed_rows(standings)),
    ]


def _all_lines(outcomes: Mapping[str, Outcome], standings: Sequence[SpeedFigures]) -> list[Line]:
    clean = outcomes[CLEAN].report or {}
    tasks = (detection.stream, detection.swaps, detection.blocked_share, detection.pairs, detection.latency)
    return [
        *(line for task in tasks for line in task(clean)),
        *detection.contaminated(clean, outcomes[SPOILED].report or {}),
        *detection.few_calls(outcomes[FEW].report or {}),
        *detection.stream(outcomes[REVIEWED].report or {}),
        *detection.swaps(outcomes[REVIEWED].report or {}),
        *speed_judged(standings),
    ]


def _lines(sections: Sequence[Section]) -> list[Line]:
    return [line for section in sections for line in section.lines]
