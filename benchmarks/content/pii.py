"""Measures personal data and credentials: by kind on texts with labelled places, and on genuine tool results.

    python benchmarks/content/pii.py [--data FOLDER]

Rows whose number leaves 2 when divided by 3 are held out from design; sentences of both parts come from the same
templates. Genuine results have no labels: what is found in them is counted by kind, and what a finding is not is told
by hand, once, in the document.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from agentguard.content import pii, secrets
from agentguard.content.pii import KINDS, OPTIONAL_KINDS

__all__ = ["genuine", "main", "recognizers", "spans"]

DATA = Path(__file__).resolve().parents[2] / "../shared/data"
PARTS = ("design", "held out")
# The labels of texts with places. People, places, organisations, titles, ages, zip codes and dates have no form of
# their own; a date of birth is labelled as any date is, and not measured here.
SPAN_KINDS = {
    "CREDIT_CARD": "credit_card",
    "DOMAIN_NAME": "url",
    "EMAIL_ADDRESS": "email",
    "IBAN_CODE": "iban",
    "IP_ADDRESS": "ip_address",
    "PHONE_NUMBER": "phone",
    "US_DRIVER_LICENSE": "driver_license",
    "US_SSN": "us_ssn",
}
# Recognisers whose kind is one of ours.
RECOGNIZER_KINDS = {
    **{name: name for name in "credit_card email in_aadhaar in_gstin in_pan kr_rrn phone sg_uen".split()},
    **{name: name for name in "se_organisationsnummer se_personnummer uk_nhs uk_nino".split()},
    **{name: name for name in "de_health_insurance de_id_card de_vat_id us_itin us_mbi us_npi us_ssn".split()},
    **dict.fromkeys("de_passport es_passport in_passport uk_passport us_passport".split(), "passport"),
    "aba_routing": "us_bank_routing",
    "de_social_security": "de_pension_number",
    "in_voter": "in_voter_id",
    "ip": "ip_address",
    "it_fiscal_code": "it_codice_fiscale",
    "kr_driver_license": "driver_license",
    "th_tnin": "th_national_id",
    "us_bank": "us_bank_account",
}
ANY_CERTAINTY = 0.05  # a recogniser is tested alone, on numbers that nothing names
TRACES = (
    "agentdojo_traces/benign_runs.jsonl.gz",
    "apibank/calls.jsonl.gz",
    "bfcl_multiturn/calls.jsonl.gz",
    "taubench_traces/calls.jsonl.gz",
    "toolbench_traces/calls.jsonl.gz",
)


def part_of(number: int) -> str:
    return PARTS[number % 3 == 2]


def _rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from ((number, json.loads(line)) for number, line in enumerate(lines))


def _figures(counts: dict[tuple[str, str], Counter[str]]) -> list[dict[str, Any]]:
    figures = []
    for (part, kind), counted in sorted(counts.items()):
        right, wrong, missed = counted["right"], counted["wrong"], counted["missed"]
        precision = right / (right + wrong) if right + wrong else None
        recall = right / (right + missed) if right + missed else None
        f1 = 2 * right / (2 * right + wrong + missed) if right + missed else None
        figure = {"part": part, "kind": kind, "labelled": right + missed, "found": right + wrong}
        figures.append({**figure, "precision": precision, "recall": recall, "F1": f1})
    return figures


def _tally(counted: Counter[str], wanted: set[Any], got: set[Any]) -> None:
    counted.update(right=len(wanted & got), wrong=len(got - wanted), missed=len(wanted - got))


def spans(data: Path) -> list[dict[str, Any]]:
    """Exact places by kind, with the default settings and web addresses besides."""
    counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    kinds = frozenset(SPAN_KINDS.values())
    looked_for = kinds | (KINDS.keys() - OPTIONAL_KINDS)
    for number, row in _rows(data / "pii_presidio/spans.jsonl.gz"):
        labels = [(SPAN_KINDS.get(span["type"]), span["start"], span["end"]) for span in row["spans"]]
        got = [(finding.kind, finding.start, finding.end) for finding in pii.scan(row["text"], looked_for).findings]
        for kind in kinds:
            wanted, found = ({place for place in places if place[0] == kind} for places in (labels, got))
            _tally(counts[part_of(number), kind], wanted, found)
    return _figures(counts)


def recognizers(data: Path, at_least: float = ANY_CERTAINTY) -> list[dict[str, Any]]:
    """The tests of single recognisers, each kind alone; where a test says no place, that something is found counts."""
    counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for number, row in _rows(data / "pii_presidio/recognizer_tests.jsonl.gz"):
        kind = RECOGNIZER_KINDS.get(row["entity"])
        if kind is None:
            continue
        got: set[Any] = {(each.start, each.end) for each in pii.scan(row["text"], [kind], at_least=at_least).findings}
        wanted: set[Any] = {tuple(place) for place in row["positions"] or ()} if row["label"] else set()
        if row["label"] and row["positions"] is None:
            got, wanted = ({"found"} if got else set()), {"found"}
        for name in (row["entity"], "(all)"):
            _tally(counts[part_of(number), name], wanted, got)
    return _figures(counts)


def genuine(data: Path) -> list[dict[str, Any]]:
    """What is found in genuine results, each distinct text once, by kind; how many results in a thousand hold it."""
    texts = {row["result"] for name in TRACES for _, row in _rows(data / name) if isinstance(row["result"], str)}
    found, holding = Counter[str](), Counter[str]()
    for text in texts:
        kinds = [finding.kind for finding in (*pii.scan(text).findings, *secrets.scan(text).findings)]
        found.update(kinds)
        holding.update(set(kinds))
    return [
        {"kind": kind, "findings": number, "results": holding[kind], "per 1,000": 1_000 * holding[kind] / len(texts)}
        for kind, number in sorted(found.items())
    ] + [{"kind": "(distinct results)", "results": len(texts)}]


def main(data: Annotated[Path, typer.Option(help="Folder of recorded data.")] = DATA) -> None:
    """Measure, and print the figures."""
    console = Console()
    if not data.is_dir():
        console.print(f"not measured: there is no folder {data}")
        raise typer.Exit(1)
    for title, figures in (
        ("Places in texts, default settings", spans(data)),
        ("Tests of single recognisers, at any certainty", recognizers(data)),
        ("The same, default settings", [each for each in recognizers(data, 0.5) if each["kind"] == "(all)"]),
        ("Found in genuine results", genuine(data)),
    ):
        columns = list(dict.fromkeys(name for figure in figures for name in figure))
        table = Table(*columns, title=title)
        for figure in figures:
            cells = (figure.get(name, "") for name in columns)
            table.add_row(*(f"{cell:.3f}" if isinstance(cell, float) else str(cell) for cell in cells))
        console.print(table)


if __name__ == "__main__":
    typer.run(main)
