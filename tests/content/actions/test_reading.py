"""What an answer says was done, and what in it is no claim."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.content.actions._claims import MOST_CLAIMS, claims


def said(answer: str) -> list[str]:
    """The words of the claims of an answer."""
    return [answer[claim.start : claim.end] for claim in claims(answer)]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        # the writer's own deeds, one after the other
        (
            "I read the file, fixed the bug and ran the tests.",
            ["I read the file", "fixed the bug", "ran the tests"],
        ),
        ("I've gone ahead and cancelled your order.", ["I've gone ahead and cancelled your order"]),
        ("I was able to refund the €40.", ["I was able to refund the €40"]),
        ("- Fixed the parser", ["Fixed the parser"]),
        ("After updating the changelog, I tagged the release.", ["updating the changelog", "I tagged the release"]),
        # what was done, without saying by whom
        ("The migration was applied.", ["The migration was applied"]),
        ("Your room has been booked at the Aurora.", ["Your room has been booked at the Aurora"]),
        ("Email sent to Dana.", ["Email sent to Dana"]),
        ("Refund of €40 issued", ["Refund of €40 issued"]),
        ("Dana got a message about it.", ["Dana got a message about it"]),
        ("The note is now in your notebook.", ["The note is now in your notebook"]),
        # how it came out
        ("All 48 tests pass.", ["All 48 tests pass"]),
        ("The deployment succeeded.", ["The deployment succeeded"]),
        ("Deployment: done ✅", ["Deployment: done"]),
        ("| Deploy | ✅ |", ["Deploy"]),
        ("- [x] Run the tests", ["Run the tests"]),
    ],
)
def test_claims_are_found_however_they_are_said(answer: str, expected: list[str]) -> None:
    assert said(answer) == expected


@pytest.mark.parametrize(
    "answer",
    [
        "I'll push the branch once the tests have passed.",  # a plan
        "I can send the mail if you like.",  # an offer
        "Would you like me to cancel the order?",
        "Should I have sent it?",
        "If it had failed, I would have rolled back.",
        "Had you asked me, I would have pushed.",
        "When you've logged in and the ticket has been purchased, I can file it.",
        "After the copy has been submitted, let them know.",
        "I couldn't push the tag.",
        "No email was sent.",
        "I haven't deleted anything.",
        "Maria sent the invoice yesterday.",
        "Your colleague deployed it on Monday.",
        "The invoice was sent by Maria.",
        'The log says: "deployed successfully".',
        "> I pushed the branch.",
        "```\ndeleted: 1 configmap\n```",
        "Run `make test`, then push the branch.",
        "Refresh the page and check that the status was updated.",
        "- [ ] Push the tag",
        "Hello! How can I help you today?",
    ],
)
def test_what_is_no_claim_is_left_out(answer: str) -> None:
    assert said(answer) == []


def test_a_claim_keeps_its_own_words_where_others_follow() -> None:
    first, second = claims("I emailed the invoice to Bob, and the order was cancelled.")
    assert [token.text for token in first.objects] == ["the", "invoice", "to", "Bob"]
    assert [token.text for token in second.objects][:2] == ["the", "order"]


def test_a_claim_in_a_table_is_about_its_row() -> None:
    (claim,) = claims("| Revenue sheet | row for Merlin updated |")
    assert {"Revenue", "sheet", "row"} <= {token.text for token in claim.objects}


def test_claims_of_a_long_answer_are_bounded() -> None:
    assert len(said("I pushed the branch. " * 2_000)) == MOST_CLAIMS


@given(
    st.text(max_size=300)
    | st.lists(st.sampled_from("I pushed was the if not , . ( ) `a` \" ' ✅ | - by".split())).map(" ".join)
)
def test_any_answer_is_read(answer: str) -> None:
    for claim in claims(answer):
        assert 0 <= claim.start < claim.end <= len(answer)
