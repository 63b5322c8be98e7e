"""What comes with the writing is told apart from what an answer claims, and only that."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agentguard.content import grounding

from ..rows import over

RESULTS = [{"name": "Blue kettle", "price": 32.5, "stock": 1400, "rating": 4.6}]


@over(
    ("answer", "kinds"),
    [
        ("## 3.2 Results\n\nIt costs 32.5.", ["number of a heading"]),
        ("It costs 32.5, see section 12.4.", ["reference"]),
        ("Tables 7 and 8 show the price, 32.5.", ["reference", "reference"]),
        ("It costs 32.5 [17].", ["citation"]),
        ("My score for it is 78/100; it costs 32.5.", ["the writer's rating", "the writer's rating"]),
        ("I am 100% sure that it costs 32.5.", ["phrase"]),
        ("It costs 32.5:\n```python\nfor each in range(771):\n    pay(8812)\n```\n", ["program", "program"]),
    ],
)
def test_what_comes_with_the_writing_counts_in_nothing(answer: str, kinds: list[str]) -> None:
    found = grounding.check(answer, RESULTS)

    assert (found.label, found.score, found.findings) == ("grounded", 0.0, ())
    assert [artefact.kind for artefact in found.artefacts] == kinds


@over(
    ("answer", "number"),
    [
        ("It has a rating of 4.9/5.", "4.9"),  # not the writer's own
        ('```json\n{"price": 99.5}\n```', "99.5"),  # what a tool has said
        ("```\nprice: 99.5\n```", "99.5"),
        ("Item 77 costs 32.5.", "77"),
        ("```python\nprint(1)\n```\nIt costs 99.5 [17].", "99.5"),
        ("In stock are 100% of 77 kettles.", "77"),
    ],
)
def test_what_is_claimed_still_counts(answer: str, number: str) -> None:
    found = grounding.check(answer, RESULTS)

    assert number in [answer[finding.start : finding.end].rstrip("%") for finding in found.findings]
    assert found.score > 0


def test_what_a_result_says_is_supported_wherever_it_stands() -> None:
    found = grounding.check("My rating is 4.6/10, see step 1400.", RESULTS)

    assert [trace.path for trace in found.supported if trace.kind == "number"] == ["rating", "stock"]


@given(
    st.lists(
        st.sampled_from(["## 3.2 a\n", "[17] ", "```python\n", "```\n", "99.5 ", "see table 4 ", "I give 8/10 ", "x. "])
    )
)
def test_a_finding_is_claimed_or_an_artefact_and_never_both(parts: list[str]) -> None:
    answer = "".join(parts)
    found = grounding.check(answer, RESULTS)

    claimed = {(finding.start, finding.end) for finding in found.findings}
    assert claimed.isdisjoint((artefact.start, artefact.end) for artefact in found.artefacts)
    assert all(0 <= start < end <= len(answer) for start, end in claimed)
