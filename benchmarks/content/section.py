"""The content detectors as a section of the measurements document, each figure beside its goal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from document import Section
from goals import Goal, as_fraction, as_score
from tables import Line, judged, markdown

from . import blind_texts, grounding, hallucination, ifeval, injection, json_repairs, pii, scan_speed

__all__ = ["section"]

DESIGN, HELD_OUT = "design", "held out"
RECALL = Goal("at least", 0.90, as_score)
RECALL_WITHOUT = Goal("at least", 0.50, as_score)
FALSE = Goal("at most", 0.003, as_fraction)
TOLD = Goal("at most", 0.01, as_fraction)  # of texts about tools
HARD = Goal("at most", 0.05, as_fraction)
F1 = Goal("at least", 0.95, as_score)
AGREEMENT = Goal("at least", 0.98, as_score)
EXACT = Goal("at least", 0.97, as_score)
WHOLE = Goal("at least", 1.0, as_score)
SPEED, UNSEEN, UNSEEN_LONG, NUMBERS = (
    Goal("at most", most, lambda figure: "–" if figure is None else f"{figure:.1f} µs/KB")
    for most in (10.0, 60.0, 40.0, 150.0)
)
FEWEST = 20  # labelled spans of a kind, from which on its figure is held against the goal


def section(data: Path) -> Section:
    """Everything, with the goals; where the data is not there, that is said."""
    text = [
        "## Content",
        "Every third row of each set was held out: looked at once, when the detectors were done. The figures are those "
        "of the held-out rows, with the others' beside them.",
    ]
    speed, beside = _speed(data)
    if not data.is_dir():
        text += [*_table("Speed", ("what",), speed), "Nothing else is measured: the recorded data is not there."]
        return Section(text, speed)
    lines = {
        "Texts by somebody who knew nothing of the detector (`python benchmarks/content/blind_texts.py`)": _blind(),
        "Injected instructions (`python benchmarks/content/injection.py`)": _injection(data),
        "Personal data, exact spans (`python benchmarks/content/pii.py`)": _pii(data),
        "Instruction compliance (`python benchmarks/content/ifeval.py`)": _ifeval(data),
        "JSON repair (`python benchmarks/content/json_repairs.py`)": _json(data),
    }
    for title, found in lines.items():
        text += _table(title, ("what", "texts", DESIGN), found)
    text += [*_table("Speed (`python benchmarks/content/scan_speed.py`)", ("what",), speed), *beside]
    text += _templates(data) + _recognizers(data) + _hallucination(data) + _grounding(data)
    return Section(text, [*(line for found in lines.values() for line in found), *speed])


def _table(title: str, header: Sequence[str], lines: Sequence[Line]) -> list[str]:
    return [f"### {title}", judged(header, lines)]


def _share(figures: Iterable[Any], part: str, what: str = "flagged") -> tuple[int, float | None]:
    chosen = [figure for figure in figures if figure.part == part]
    texts = sum(figure.texts for figure in chosen)
    return texts, sum(getattr(figure, what) for figure in chosen) / texts if texts else None


def _injection(data: Path) -> list[Line]:
    lines = []
    for tools, said in ((False, ""), (True, ", names of tools told")):
        figures = injection.figures(data, tools=tools) or []
        traces = [figure for figure in figures if figure.phrases is None and not figure.source.startswith("inj_")]
        hard = [figure for figure in figures if figure.template == "hard negatives"]
        chosen = (
            ("flagged, templates with trigger phrases", RECALL, [f for f in figures if f.phrases is True]),
            ("flagged, templates without", RECALL_WITHOUT, [f for f in figures if f.phrases is False]),
            ("genuine results flagged", FALSE, traces),
            ("hard negatives flagged", HARD, hard),
        )
        for what, goal, some in chosen:
            texts, figure = _share(some, HELD_OUT)
            lines.append(Line((what + said, f"{texts:,}", goal.show(_share(some, DESIGN)[1])), figure, goal))
    return lines


def _blind() -> list[Line]:
    measured = {(each.what, each.part): each for each in blind_texts.figures()}
    goals = {
        "injected": RECALL,
        "injected, without a telling phrase or in a long text": RECALL_WITHOUT,
        "honest": TOLD,
    }
    lines = []
    for what, goal in goals.items():
        design, held = measured[what, DESIGN], measured[what, HELD_OUT]
        cells = (f"{what}: flagged", f"{held.texts}", goal.show(design.flagged / design.texts))
        lines.append(Line(cells, held.flagged / held.texts, goal))
    return lines


def _templates(data: Path) -> list[str]:
    figures = injection.figures(data) or []
    rows = [
        (f.source, f.template, f"{f.texts:,}", as_score(f.flagged / f.texts), as_score(f.blocked / f.texts))
        for f in figures
        if f.part == HELD_OUT and f.phrases is not None
    ]
    header = ("set", "template", "texts", "flagged", "blocked")
    return ["### Injected instructions by attack template, held out", markdown(header, rows)]


def _by(figures: Iterable[dict[str, Any]], name: str) -> dict[str, dict[str, dict[str, Any]]]:
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for figure in figures:
        found.setdefault(figure[name], {})[figure["part"]] = figure
    return found


def _pii(data: Path) -> list[Line]:
    lines = []
    for kind, parts in sorted(_by(pii.spans(data), "kind").items()):
        held, design = parts.get(HELD_OUT, {}), parts.get(DESIGN, {})
        labelled = held.get("labelled", 0) + design.get("labelled", 0)
        if labelled >= FEWEST:
            cells = (f"{kind}, F1", f"{held.get('labelled', 0):,}", as_score(design.get("F1")))
            lines.append(Line(cells, held.get("F1"), F1))
    parts = _by(pii.recognizers(data), "kind")["(all)"]
    cells = ("recogniser tests, F1", f"{parts[HELD_OUT]['labelled']:,}", as_score(parts[DESIGN]["F1"]))
    return [*lines, Line(cells, parts[HELD_OUT]["F1"], F1)]


def _recognizers(data: Path) -> list[str]:
    rows = [
        [kind, *(as_score(parts.get(part, {}).get("F1")) for part in (DESIGN, HELD_OUT))]
        for kind, parts in sorted(_by(pii.recognizers(data), "kind").items())
    ]
    said = "Tests of single recognisers, one to thirteen of a kind; each kind is looked for alone."
    return ["### Personal data, recogniser tests", said, markdown(("kind", "F1, design", "F1, held out"), rows)]


def _ifeval(data: Path) -> list[Line]:
    lines = []
    for figure in ifeval.figures(data):
        design, held = figure[f"{DESIGN}: agreement"], figure[f"{HELD_OUT}: agreement"]
        cells = (f"`{figure['instruction']}`", f"{figure[f'{HELD_OUT}: verdicts']:,}", as_score(design))
        lines.append(Line(cells, held, AGREEMENT))
    return lines


def _json(data: Path) -> list[Line]:
    lines = []
    for name, parts in _by(json_repairs.figures(data), "set").items():
        held, design = parts[HELD_OUT], parts[DESIGN]
        texts = f"{held['values known']:,}"
        lines.append(Line((f"{name}: exact value", texts, as_score(design["exact"])), held["exact"], EXACT))
        calm = [1.0 - part["crashes"] / part["texts"] for part in (design, held)]
        lines.append(Line((f"{name}: no crash", f"{held['texts']:,}", as_score(calm[0])), calm[1], WHOLE))
    return lines


def _hallucination(data: Path) -> list[str]:
    figures = hallucination.figures(data)
    columns = list(figures[0])
    rows = [[_cell(figure[name]) for name in columns] for figure in figures]
    return [
        "### Hallucination risk (`python benchmarks/content/hallucination.py`)",
        "The heuristic of the published document, on labelled answers. It finds traits that go with made-up answers "
        "and checks no fact: as the document itself warns, a score proves nothing. Measured, it is close to chance.",
        markdown(columns, rows),
    ]


def _grounding(data: Path) -> list[str]:
    text = [
        "### Grounding (`python benchmarks/content/grounding.py`)",
        "No labelled set exists. Arguments are those of recorded calls, true and swapped for another session's (what "
        "the user said is not in the logs, so a true argument that only the user gave counts as not traced); answers "
        "are made from recorded results by templates, true and corrupted.",
    ]
    for figures in (grounding.arguments(data, 200), grounding.answers(data, 200)):
        columns = list(dict.fromkeys(name for figure in figures for name in figure))
        text.append(markdown(columns, [[_cell(figure.get(name, 0)) for name in columns] for figure in figures]))
    return text


def _cell(value: Any) -> str:
    return "–" if value is None else f"{value:.3f}" if isinstance(value, float) else str(value)


def _speed(data: Path) -> tuple[list[Line], list[str]]:
    """The clean texts held against the goal; and everything, with the others, as text."""
    figures = scan_speed.speed(data)
    lines = [
        Line((f"all three detectors, clean: {figure['texts']}",), figure["agentguard"], SPEED)
        for figure in figures
        if "genuine" not in figure["texts"]
    ]
    goals = (UNSEEN, UNSEEN_LONG, NUMBERS)
    lines += [
        Line((f"text that was never seen: {figure['texts']}",), figure["µs/KiB"], goal)
        for figure, goal in zip(scan_speed.varied_speed(), goals, strict=True)
    ]
    growth = scan_speed.growth()
    text = ["Microseconds per KiB, warm, all texts beside others:", _plain(figures)]
    return lines, [
        *text,
        "Microseconds per KiB of texts made against scanners, the first scan of each:",
        _plain(growth),
    ]


def _plain(figures: Sequence[dict[str, Any]]) -> str:
    columns = list(dict.fromkeys(name for figure in figures for name in figure))
    rows = [[_tenths(figure.get(name)) for name in columns] for figure in figures]
    return markdown(columns, rows)


def _tenths(value: Any) -> str:
    return "–" if value is None else f"{value:,.1f}" if isinstance(value, float) else str(value)
