"""Measures the rule judge on errors planted by hand in claims about invented companies.

    python benchmarks/gate/planted.py [--misses SET]

The sets lie with the tests of the judge. The last five were written by people who knew nothing of the rules, before
they were tried on any. The rules were worked on with all but ``clinic`` in view, of which nobody who worked on them has
read a claim; what was measured of the four before it at first sight is in ``section``.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, NamedTuple

import typer
import yaml
from rich.console import Console

from agentguard.gate._types import Case, Chunk, Claim, ClaimVerdict, Passage
from agentguard.gate.rules import RuleJudge

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # as a script, too

from document import Section
from goals import Goal, as_share
from tables import Line, judged

__all__ = ["FOLDER", "SETS", "Planted", "main", "planted", "section"]

FOLDER = Path(__file__).resolve().parents[2] / "tests/gate/rules/planted"
SETS = ("kettles", "museum", "ferries", "orchard", "observatory", "allotments", "library", "clinic")
TRUE = ("near", "paraphrased", "consequence")
KINDS = {
    "digits": "wrong digits",
    "thousand": "× 1000",
    "negation": "negation",
    "moment": "date, time",
    "unit": "unit: physical, clock, currency",
    "calendar": "unit: day, week, month, year",
    "entity": "swapped entity",
    "condition": "omitted condition",
    "invented": "invented policy",
    "general": "over-generalisation",
}
MISSED = Goal("at most", 0.10, as_share)
HELD = Goal("at least", 0.85, as_share)
COMMAND = "python benchmarks/gate/planted.py"


class Planted(NamedTuple):
    """A claim with its kind, and the verdict on it beside all documents of its set."""

    kind: str
    claim: str
    verdict: ClaimVerdict


def planted(name: str) -> Iterator[Planted]:
    """Judge every claim of a set."""
    documents = yaml.safe_load((FOLDER / f"{name}.yaml").read_text(encoding="utf-8"))
    passages = tuple(
        Passage(Chunk(row["title"], row["title"], row["title"], "", row["text"], 0, len(row["text"])), 1.0)
        for row in documents
    )
    judge = RuleJudge()
    for row in documents:
        for kind in (*TRUE, *KINDS):
            for claim in row.get(kind, ()):
                yield Planted(kind, claim, judge.verify([Case(Claim("c1", "p1", claim), passages)])[0])


def section() -> Section:
    """The section of the measurements document: what is missed of each kind, and how much of what is true is held."""
    text = [
        f"## Planted errors, no model (`{COMMAND}`)",
        "Claims about eight invented houses, written by hand: true ones, near the documents' words or in others, "
        "and errors of ten kinds (`museum`: of two, in hard forms). An error is missed where the verdict is "
        "`supported`; a true claim is held where it is `supported` or `weakly_supported`. `clinic` is the estimate "
        "for other texts: it was written by somebody who knew nothing of the rules, and nobody who works on them "
        "has read a claim of it. They were worked on with the other seven in view. The four before it were written "
        "in the same way, and measured before anything was changed for them. At first sight: `orchard`: negation "
        "15.0% and conditions 13.2% missed, 66.7% of the paraphrases held (its consequences among them, see below)."
        " `observatory`, after the changes for `orchard`: dates and times 16.7% missed, 72.2% of the paraphrases "
        "held, no other kind of error above 7.0%. `allotments`, after that: units 20.0%, negation and conditions "
        "11.1% missed, 82.8% of the paraphrases held, no other kind above 4.2%. `library`, after changes with all "
        "six in view: negation and conditions 5.0% missed, 91.3% of the paraphrases held, no other kind above 4.2%,"
        " and of 24 true claims near the words two were doubted; by the rules from before those changes negation "
        "and conditions 15.0% missed, 87.5% of the paraphrases held. A list of 4,800 further classes of words was "
        "tried: not one paraphrase more was held, two kinds of error were missed more often, and it was thrown "
        "away.",
    ]
    lines: list[Line] = []
    for name in SETS:
        counts: dict[str, Counter[str]] = {}
        for each in planted(name):
            counts.setdefault(each.kind, Counter())[each.verdict.label] += 1
        rows = [
            *((title, counts[kind], {"supported"}, MISSED) for kind, title in KINDS.items() if kind in counts),
            ("true, near the words", counts["near"], {"supported", "weakly_supported"}, HELD),
            ("true, paraphrased", counts["paraphrased"], {"supported", "weakly_supported"}, HELD),
        ]
        consequences = counts.get("consequence", Counter())
        own = []
        for title, labels, wanted, goal in rows:
            size = labels.total()
            cells = (f"{name}: {title}", str(size), *(str(labels[label]) for label in LABELS))
            own.append(Line(cells, sum(labels[label] for label in wanted) / size, goal))
        lines += own
        text.append(judged(("what", "claims", *(label.replace("_", " ") for label in LABELS)), own))
        if consequences:
            held = consequences.total() - consequences["unsupported"]
            text.append(
                f"Of {consequences.total()} true consequences that take arithmetic, or a rule and a case of one's own, "
                f"{held} are held: the rules do not calculate, and a figure that no passage has speaks against a claim."
            )
    return Section(text, lines)


LABELS = ("unsupported", "weakly_supported", "supported")


def main(
    misses: Annotated[str, typer.Option(help="A set: print the claims judged wrongly too, with the reasons.")] = "",
) -> None:
    """Measure, and print the tables."""
    console = Console(width=150, highlight=False, markup=False)
    for paragraph in section().text:
        console.print(paragraph)
    for each in planted(misses) if misses else ():
        label = each.verdict.label
        if (label == "supported") != (each.kind in TRUE):
            console.print(f"\n{each.kind}: {each.claim} → {label}")
            for reason in each.verdict.reasons:
                console.print(f"    {reason.kind}: {reason.detail}")


if __name__ == "__main__":
    typer.run(main)
