"""The claim splitter: what becomes a claim, what does not, and where in the answer it stands."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.errors import GateError
from agentguard.gate._types import Response
from agentguard.gate.rules._claims import MAX_CHARACTERS, MAX_CLAIMS, MAX_LENGTH, split

from ...rows import over


def texts(answer: str) -> list[str]:
    return [claim.text for claim in split(Response("p1", answer))]


def test_two_main_clauses_are_two_claims_with_their_places() -> None:
    answer = "The return policy allows returns within 30 days, and shipping is free for orders over $50."
    first, second = split(Response("p7", answer))
    assert (first.id, first.prompt_id, first.text) == (
        "p7.c1",
        "p7",
        "The return policy allows returns within 30 days.",
    )
    assert (second.id, second.text) == ("p7.c2", "Shipping is free for orders over $50.")
    assert answer[first.start : first.end] == "The return policy allows returns within 30 days"
    assert answer[second.start : second.end] == "shipping is free for orders over $50."


@over(
    "sentence",
    [
        "I'd be happy to help!",
        "Sure!",
        "Great question!",
        "What would you like to know?",
        "Is shipping free?",
        "Let me know if you have any other questions.",
        "Unfortunately, I don't have that information.",
        "I'm sorry, but I cannot help with that.",
        "The provided documents do not mention refunds for gift cards.",
        "As an AI language model, I have no access to orders.",
        "I think the support team is quite friendly.",
        "Maybe returns are slow.",
        "In my opinion, the product is great.",
        "Please contact our support team.",
        "Feel free to reach out.",
        "Here is what I found:",
        "# Returns",
        "```\nreturn 30\n```",
        "",
        "   \n\n  ",
        "---",
    ],
)
def test_what_states_no_fact_is_no_claim(sentence: str) -> None:
    assert texts(sentence) == []


def test_a_hedge_around_a_figure_still_states_it() -> None:
    assert texts("I believe refunds take 90 days.") == ["Refunds take 90 days."]


@over(
    ("sentence", "claim"),
    [
        ("Note that gift cards cannot be returned.", "Gift cards cannot be returned."),
        ("Yes, express shipping is available.", "Express shipping is available."),
        ("According to the documentation, refunds take 5 days.", "Refunds take 5 days."),
        ("However, the outlet is excluded from returns.", "The outlet is excluded from returns."),
        ("I can confirm that the warranty covers two years.", "The warranty covers two years."),
    ],
)
def test_what_only_introduces_a_statement_is_left_out(sentence: str, claim: str) -> None:
    assert texts(sentence) == [claim]


def test_a_shared_subject_is_said_again() -> None:
    assert texts("The Pro plan includes email support and costs $20 a month.") == [
        "The Pro plan includes email support.",
        "The Pro plan costs $20 a month.",
    ]


def test_a_pronoun_becomes_the_subject_before_where_numbers_agree() -> None:
    assert texts("The Pro plan costs $20. It renews automatically.")[1] == "The Pro plan renews automatically."
    assert texts("The Pro plan costs $20. They renew automatically.")[1] == "They renew automatically."
    assert texts("Refunds and credits differ. It takes two weeks.")[1] == "It takes two weeks."


def test_a_condition_stays_with_what_it_governs() -> None:
    sentence = "If you return the item within 30 days, the refund is full and shipping is free."
    assert texts(sentence) == [sentence]


def test_abbreviations_numbers_and_quotations_end_no_sentence() -> None:
    assert texts("Dr. Smith works for Acme Inc. in the U.S. since 2012.") == [
        "Dr. Smith works for Acme Inc. in the U.S. since 2012."
    ]
    assert texts("Version 2.5 supports Python 3.12 on Linux.") == ["Version 2.5 supports Python 3.12 on Linux."]
    assert texts('The notice says "Closed. Come back later." to all visitors.') == [
        'The notice says "Closed. Come back later." to all visitors.'
    ]


def test_conjunctions_inside_quotations_and_brackets_part_nothing() -> None:
    sentence = "The label (refunds are slow and shipping is free) was printed in 2020."
    assert texts(sentence) == [sentence]


def test_items_of_a_list_are_claims_completed_by_what_introduces_them() -> None:
    answer = "The plan includes:\n- 10 GB of storage\n- **Priority** [support](x)\n- Backups are kept 14 days."
    assert texts(answer) == [
        "The plan includes 10 GB of storage.",
        "The plan includes priority support.",
        "Backups are kept 14 days.",
    ]
    assert texts("Here are the details:\n1. Refunds take 5 days.\n2. Returns are free.") == [
        "Refunds take 5 days.",
        "Returns are free.",
    ]


def test_each_cell_of_a_table_is_a_claim_on_its_row() -> None:
    answer = "| Plan | Price | Seats |\n|---|:-:|---|\n| Basic | $5 | 1 |\n| Team | $25 | 10 |\n"
    claims = split(Response("p1", answer))
    assert [claim.text for claim in claims] == [
        "Basic: Price $5",
        "Basic: Seats 1",
        "Team: Price $25",
        "Team: Seats 10",
    ]
    assert [answer[claim.start : claim.end] for claim in claims] == ["$5", "1", "$25", "10"]


def test_quoted_lines_are_read_without_their_marks() -> None:
    assert texts("He wrote:\n> Orders ship the same day; returns take a week.") == [
        "Orders ship the same day.",
        "Returns take a week.",
    ]


def test_no_claim_of_a_long_answer_is_left_out() -> None:
    last = "Batteries are never replaced."
    assert texts("Refunds take 5 days. " * (MAX_CLAIMS - 1) + last)[-1] == last
    with pytest.raises(GateError, match=r"the answer to prompt p1 makes more than 5,000 claims"):
        texts("Refunds take 5 days. " * MAX_CLAIMS + last)
    with pytest.raises(GateError, match=r"the answer to prompt p1 has 200,030 characters, and at most 200,000"):
        texts(" " * MAX_CHARACTERS + " " + last)


def test_long_sentences_are_cut() -> None:
    long = split(Response("p1", "refunds take " + "very " * 3_000 + "long for 5 orders"))
    assert all(len(claim.text) <= MAX_LENGTH + 1 for claim in long)


@over("part", ["[", "(", '"', "**", "| ", "> ", "- ", "<a ", "and ", ", and ", "1. ", "a.", "\n", "``` "])
def test_text_made_to_be_slow_is_read(part: str) -> None:
    answer = part * (MAX_CHARACTERS // 4 // len(part))
    with suppress(GateError):  # where so many claims come of it
        assert all(claim.text for claim in split(Response("p1", answer)))


PIECES = st.sampled_from(
    ["Refunds take 5 days", ". ", ", and ", "shipping is free", "\n", "\n\n", "- ", "| a | b |", "|---|---|", "**",
     "```", "?", '"', "(", ")", "It ", "They renew", "\ud800", "\x00", "é", "1. ", "> ", "# ", ":", ";",
     "I think ", "Note that "]
)  # fmt: skip


@given(st.one_of(st.text(max_size=300), st.lists(PIECES, max_size=40).map("".join)))
def test_any_text_gives_claims_that_lie_in_it_in_their_order(answer: str) -> None:
    claims = split(Response("p1", answer))
    assert [claim.id for claim in claims] == [f"p1.c{number}" for number in range(1, len(claims) + 1)]
    for claim in claims:
        assert claim.text.strip()
        assert 0 <= claim.start < claim.end <= len(answer)
    starts = [claim.start for claim in claims]
    assert starts == sorted(starts)
