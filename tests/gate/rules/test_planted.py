"""Errors planted by hand in claims about seven invented houses: what share of each kind the rule judge may miss.

The rules were worked on with all seven sets in view. The last four were written by people who knew nothing of them, and
measured before a claim of theirs was looked at: ``benchmarks/gate/planted.py`` has those figures, which are the ones to
expect of texts of one's own.
"""

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import yaml

from agentguard.gate._types import Case, Chunk, Claim, Passage
from agentguard.gate.rules import RuleJudge

from ...rows import over

FOLDER = Path(__file__).with_name("planted")
SETS = ("kettles", "museum", "ferries", "orchard", "observatory", "allotments", "library")
WHOLE = tuple(name for name in SETS if name != "museum")  # of the museum there are two kinds of error, in hard forms
ERRORS = ("digits", "thousand", "negation", "moment", "unit", "calendar", "entity", "condition", "invented", "general")
DOUBTED = 0.04  # of true claims near the words, what share may be less than supported
LEAST = {("library", "thousand"): 8}  # errors of a kind, where fewer than ten were written
LEAST_NEAR = {
    "orchard": 33,
    "observatory": 36,
    "allotments": 29,
    "library": 24,
}  # of which fewer than forty were written


def claims(name: str) -> Iterator[tuple[str, str, tuple[Passage, ...]]]:
    """Kind, claim and passages."""
    documents = yaml.safe_load((FOLDER / f"{name}.yaml").read_text(encoding="utf-8"))
    passages = tuple(
        Passage(Chunk(row["title"], row["title"], row["title"], "", row["text"], 0, len(row["text"])), 1.0)
        for row in documents
    )
    for row in documents:
        for kind in row.keys() - {"title", "text"}:
            for claim in row[kind]:
                yield kind, claim, passages


@cache
def labels(name: str) -> dict[str, dict[str, str]]:
    """The label of each claim, by its kind."""
    judge = RuleJudge()
    found: dict[str, dict[str, str]] = {}
    for kind, claim, passages in claims(name):
        found.setdefault(kind, {})[claim] = judge.verify([Case(Claim("c1", "p1", claim), passages)])[0].label
    return found


@over("name", WHOLE)
def test_each_kind_has_ten_errors_and_many_true_claims_stand_beside_them(name: str) -> None:
    sizes = {kind: len(of_kind) for kind, of_kind in labels(name).items()}
    assert set(sizes) - {"consequence"} == {*ERRORS, "near", "paraphrased"}
    assert all(sizes[kind] >= LEAST.get((name, kind), 10) for kind in ERRORS)
    assert sizes["near"] >= LEAST_NEAR.get(name, 40)
    assert sizes["paraphrased"] >= 40


@over("name", SETS)
def test_at_most_one_planted_error_in_ten_is_missed(name: str) -> None:
    for kind in ERRORS if name in WHOLE else ("condition", "entity"):
        of_kind = labels(name)[kind]
        missed = sorted(claim for claim, label in of_kind.items() if label == "supported")
        assert len(missed) <= 0.10 * len(of_kind), (kind, missed)


@over("name", SETS)
def test_true_claims_in_other_words_are_held(name: str) -> None:
    of_kind = labels(name)["paraphrased"]
    lost = sorted(claim for claim, label in of_kind.items() if label == "unsupported")
    assert len(lost) <= 0.15 * len(of_kind), lost


@over("name", SETS)
def test_true_claims_near_the_words_are_supported(name: str) -> None:
    of_kind = labels(name)["near"]
    lost = sorted(claim for claim, label in of_kind.items() if label != "supported")
    assert len(lost) <= DOUBTED * len(of_kind), lost
