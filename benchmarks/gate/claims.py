"""Measures the rule judge on claims that people held against documents.

    python benchmarks/gate/claims.py [--data FOLDER]

A claim is verified against its whole document as the one passage; no model takes part. Documents whose hash leaves 2
when divided by 3 were held out: no claim of theirs was looked at. Their figures were read after each change of the
rules, as a bound: in sum none of them may fall.
The weights of its traits were fitted to the others, and its lists of words were written with them in mind, so that only
the held-out figures are an estimate.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any, NamedTuple

import typer
from rich.console import Console
from rich.table import Table

from agentguard.gate._types import Case, Chunk, Claim, ClaimVerdict, Passage
from agentguard.gate.rules import RuleJudge

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # as a script, too

from document import Section
from goals import Goal, as_score
from tables import Line, judged, markdown

from gate.labelled import DATA, PARTS, SETS, Labelled, labelled

__all__ = ["figures", "main", "section", "speed"]

GOALS = {
    "claims_summedits": Goal("at least", 0.65, as_score),
    "claims_qags": Goal("at least", 0.70, as_score),
}
SPEED = Goal("at most", 5.0, lambda figure: "–" if figure is None else f"{figure:.1f} ms")
PASSAGES, WORDS = 5, 800
COMMAND = "python benchmarks/gate/claims.py"


class Outcome(NamedTuple):
    """One claim: what people said, what the judge said, and how far it found support."""

    claim: Labelled
    verdict: ClaimVerdict
    support: float


def outcomes(data: Path, source: str) -> list[Outcome]:
    """Every claim of a set, judged by its document."""
    judge = RuleJudge()
    found = []
    for claim in labelled(data, source):
        chunk = Chunk(claim.doc_id, claim.doc_id, "", "", claim.document, 0, len(claim.document))
        case = Case(Claim("c1", "p1", claim.claim), (Passage(chunk, 1.0),))
        found.append(Outcome(claim, judge.verify([case])[0], judge.weigh(case).support))
    return found


def figures(data: Path = DATA) -> list[dict[str, Any]]:
    """For each set, part and domain: claims, balanced accuracy, AUROC of the support. Empty without the data."""
    rows: list[dict[str, Any]] = []
    for source in SETS:
        judged_claims = outcomes(data, source)
        for part in PARTS:
            chosen = [each for each in judged_claims if each.claim.part == part]
            domains = sorted({each.claim.domain for each in chosen})
            for domain in ["(all)", *(domains if len(domains) > 1 else [])]:
                some = [each for each in chosen if domain in {"(all)", each.claim.domain}]
                rows.append({"set": source, "part": part, "domain": domain, **_figures(some)})
    return rows


def _figures(some: Sequence[Outcome]) -> dict[str, Any]:
    true = [each for each in some if each.claim.supported]
    false = [each for each in some if not each.claim.supported]
    passed = [_share(of, {"supported"}) for of in (true, false)]
    lenient = [_share(of, {"supported", "weakly_supported"}) for of in (true, false)]
    labels = Counter(each.verdict.label for each in some)
    return {
        "claims": len(some),
        "true": len(true) / len(some),
        "balanced accuracy": (passed[0] + 1 - passed[1]) / 2,
        "weakly counted as supported": (lenient[0] + 1 - lenient[1]) / 2,
        "AUROC": _auroc([each.support for each in true], [each.support for each in false]),
        "true ones supported": passed[0],
        "false ones not": 1 - passed[1],
        "weakly supported": labels["weakly_supported"] / len(some),
    }


def _share(some: Sequence[Outcome], labels: set[str]) -> float:
    return sum(each.verdict.label in labels for each in some) / len(some) if some else 0.0


def _auroc(positive: Sequence[float], negative: Sequence[float]) -> float | None:
    if not positive or not negative:
        return None
    wins = sum((one > two) + (one == two) / 2 for one in positive for two in negative)
    return wins / (len(positive) * len(negative))


def speed(data: Path = DATA, most: int = 200) -> dict[str, Any]:
    """Milliseconds a claim against five passages of 800 words: passages read before, and read for the first time."""
    claims = [claim for claim in labelled(data, "claims_summedits") if claim.part == "design"]
    if not claims:
        return {}
    text = " ".join({claim.doc_id: claim.document for claim in claims}.values()).split(" ")
    parts = [" ".join(text[at : at + WORDS]) for at in range(0, PASSAGES * WORDS, WORDS)]
    passages = tuple(
        Passage(Chunk(f"c{number}", "d", "", "", part, 0, len(part)), 1.0) for number, part in enumerate(parts)
    )
    cases = [Case(Claim("c1", "p1", claim.claim), passages) for claim in claims[:: max(1, len(claims) // most)]]
    judge = RuleJudge()
    judge.verify(cases[:1])
    warm = _milliseconds(lambda case: judge.verify([case]), cases)
    cold = _milliseconds(lambda case: RuleJudge().verify([case]), cases[:20])
    return {"claims": len(cases), "passages read before": warm, "passages read anew": cold}


def _milliseconds(call: Any, cases: Sequence[Case]) -> float:
    times = []
    for case in cases:
        start = perf_counter()
        call(case)
        times.append(perf_counter() - start)
    return 1_000 * sorted(times)[len(times) // 2]


def section(data: Path = DATA) -> Section:
    """The section of the measurements document, held-out figures beside their goals."""
    text = [
        f"## Claims against documents, no model (`{COMMAND}`)",
        "The rule judge of the gate on labelled claims, each beside its whole document. A claim counts as found true "
        "where the verdict is `supported`. Every third document was held out: no weight was fitted to it, none of its "
        "claims was looked at. Its figures were read after each change of the rules, as a bound: in sum none of "
        "them may fall.",
        "The two parts differ most on summaries whose false ones change a word or two. The judge's lists of words were "
        "written with the design part's paraphrases in view; in other documents it knows fewer of them, takes true "
        "retellings for unsupported, and does so most where a dialogue is retold (samsum), in either part.",
    ]
    rows = figures(data)
    if not rows:
        return Section([*text, "Not measured: the labelled claims are not there."])
    whole = {(row["set"], row["part"]): row for row in rows if row["domain"] == "(all)"}
    lines = []
    for source, goal in GOALS.items():
        held, design = whole[source, "held out"], whole[source, "design"]
        cells = (f"{source}: balanced accuracy", f"{held['claims']:,}", as_score(design["balanced accuracy"]))
        lines.append(Line(cells, held["balanced accuracy"], goal))
    timed = speed(data)
    pace = Line(
        ("a claim against 5 passages of 800 words, median", str(timed["claims"]), "–"),
        timed["passages read before"],
        SPEED,
    )
    columns = list(rows[0])
    text += [
        judged(("what", "claims", "design"), [*lines, pace]),
        f"A passage is read once a run; with all five read for the first time: {timed['passages read anew']:.1f} ms.",
        markdown(columns, [[_cell(row[name]) for name in columns] for row in rows]),
    ]
    return Section(text, [*lines, pace])


def _cell(value: Any) -> str:
    return "–" if value is None else f"{value:.3f}" if isinstance(value, float) else str(value)


def main(
    data: Annotated[Path, typer.Option(help="Folder of labelled claims.")] = DATA,
    held_out: Annotated[bool, typer.Option(help="Show the held-out part too.")] = True,
) -> None:
    """Measure, and print the figures."""
    console = Console(width=150)
    rows = [row for row in figures(data) if held_out or row["part"] == "design"]
    if not rows:
        console.print(f"not measured: there are no labelled claims in {data}")
        raise typer.Exit(1)
    table = Table(*rows[0], title="The rule judge on labelled claims")
    for row in rows:
        table.add_row(*map(_cell, row.values()))
    console.print(table)
    console.print(speed(data))


if __name__ == "__main__":
    typer.run(main)
