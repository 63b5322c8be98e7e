"""Grounding: claims of an answer traced to tool results, or reported."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.content import grounding

from ..rows import over

ORDERS = {
    "orders": [
        {
            "id": "#W23",
            "name": "John Doe",
            "price": 20.5,
            "qty": 2,
            "placed": "2024-05-16T14:00:00Z",
            "status": "pending",
        },
        {
            "id": "#W24",
            "name": "Anna Smith",
            "price": 30.25,
            "qty": 3,
            "placed": "2024-05-17T10:00",
            "status": "pending",
        },
        {"id": "#W25", "name": "José Núñez", "price": 10, "qty": 1, "placed": "2024-05-18", "status": "shipped"},
    ],
    "user": {"first_name": "Mia", "last_name": "Li"},
    "temp_c": 21.37,
    "distance_km": 42.195,
    "latency_ms": 1530,
    "share": 0.214,
    "visitors": 1_234_567,
}


def unsupported(answer, results=ORDERS, **options):
    return [answer[finding.start : finding.end] for finding in grounding.check(answer, [results], **options).findings]


def how(answer, claim, results=ORDERS):
    found = grounding.check(answer, [results]).supported
    return next(trace.how for trace in found if answer[trace.start : trace.end] == claim)


@over(
    "answer",
    [
        "The price of order #W23 is $20.50.",
        "Order W23 was placed on May 16, 2024 at 2 PM.",
        "Order #W24 was placed on 17/5/2024.",
        "Order #W24 was placed on Friday, May 17.",  # 2024-05-17 was a Friday
        "There were 1,234,567 visitors.",
        "There were about 1.2 million visitors.",
        "There were over 1.2 million visitors.",
        "There were 1.23M visitors.",
        "It is 21.4 °C.",
        "It is about 70 °F.",  # 21.37 * 1.8 + 32 = 70.466
        "It is 26.2 miles away.",  # 42.195 / 1.609344 = 26.219
        "It took 1.53 seconds.",
        "The share is 21.4%.",
        "The order of Doe, John is pending.",
        "The order of J. Doe is pending.",
        "The order of Jose Nunez was shipped.",
        "Mia Li has an account.",
        "The total price is 60.75.",  # 20.5 + 30.25 + 10
        "The average price is 20.25.",  # 60.75 / 3
        "There are three orders.",
        "Two of the orders are pending.",
        "Order #W24 is $9.75 more than #W23.",  # 30.25 - 20.5
        "In total, with quantities, that is 141.75.",  # 41 + 90.75 + 10
        "For #W23 the cost is 41.00 in total.",  # 2 * 20.5
        "20.50 + 30.25 = 50.75",
        "Here are 2 things:\n- #W23\n- #W24",
    ],
)
def test_what_results_say_is_supported(answer):
    found = grounding.check(answer, [ORDERS])
    assert found.findings == ()
    assert found.label == "grounded"
    assert found.score == 0.0


@over(
    ("answer", "claim"),
    [
        ("The price of order #W23 is $205.", "$205"),
        ("The price is 20.51.", "20.51"),
        ("Order #W29 is pending.", "#W29"),
        ("Order #W23 was placed on May 19, 2024.", "May 19, 2024"),
        ("Order #W23 was placed on May 16 at 3 PM.", "May 16 at 3 PM."),
        ("There were 1,234,568 visitors.", "1,234,568"),
        ("There were about 2 million visitors.", "2 million"),
        ("It is 22.4 °C.", "22.4 °C"),
        ("It is 27.2 miles away.", "27.2 miles"),
        ("The order of John Smith is pending.", "John Smith"),
        ("The order of Peter Doe is pending.", "Peter Doe"),
        ("The order of K. Doe is pending.", "K. Doe"),
        ("The total price is 61.75.", "61.75"),
        ("The average price is 20.35.", "20.35"),
        ("There are 4 orders.", "4"),
        ("Order #W24 is $9.85 more than #W23.", "$9.85"),
        ("The total is 50,75 or 12 percent.", "12 percent"),
        ("She wrote to mia.li@example.com.", "mia.li@example.com"),
    ],
)
def test_what_results_do_not_say_is_reported(answer, claim):
    assert claim in unsupported(answer)


@pytest.mark.parametrize(
    ("answer", "claim"),
    [
        ("The price of #W23 is 30.25.", "30.25"),
        ("Anna Smith paid 20.50.", "20.50"),
        ("Order #W25 was placed on May 16, 2024.", "May 16, 2024"),
    ],
)
def test_what_results_say_of_another_element_is_misattributed(answer, claim):
    (finding,) = grounding.check(answer, [ORDERS]).findings
    assert finding.kind.startswith("misattributed")
    assert answer[finding.start : finding.end] == claim


def test_a_sentence_about_two_elements_may_say_the_values_of_both():
    assert unsupported("#W23 costs 20.50 and #W24 costs 30.25.") == []


def test_a_wrong_weekday_is_reported_with_the_right_one():
    (finding,) = grounding.check("Placed on Friday, May 16.", [ORDERS]).findings
    assert "2024-05-16 is a Thursday" in finding.detail


def test_a_finding_names_the_nearest_value_and_its_path():
    (finding,) = grounding.check("The price is 650.", [{"price": 65.0}]).findings
    assert finding.kind == "unsupported number"
    assert finding.detail == "the answer says '650'; the nearest that results have is 65 at price"
    (finding,) = grounding.check("The price is 990.", [{"price": 65.0}]).findings
    assert finding.detail == "the answer says '990'; results have no number near it"
    (finding,) = grounding.check("It is flight HAT029.", [{"flight": "HAT028"}]).findings
    assert finding.detail == "the answer says 'HAT029'; the nearest is 'HAT028' at flight"


def test_a_trace_names_the_result_and_the_path_and_how():
    answer = "The total price is 60.75."
    trace = next(t for t in grounding.check(answer, ["nothing", ORDERS]).supported if t.kind == "number")
    assert (trace.source, trace.path, trace.how) == (1, "orders[0].price", "sum of 3 values at orders[].price")
    assert how("It is 21.4 °C.", "21.4 °C") == "rounded"
    assert how("It is 26.2 miles away.", "26.2 miles") == "converted"


def test_prose_is_traced_to_its_characters():
    text = "Rain fell early.\nThe bridge opened in 1932 with 6 lanes."
    answer = "The bridge has 6 lanes."
    trace = next(t for t in grounding.check(answer, [text]).supported if t.kind == "number")
    assert text[trace.first : trace.last] == "The bridge opened in 1932 with 6 lanes."


@pytest.mark.parametrize(
    "text",
    ["- name: Anna Smith\n  amount: 30.25\n- name: John Doe\n  amount: 20.5", "[{'amount': 30.25}, {'amount': 20.5}]"],
)
def test_lines_of_keys_and_python_literals_have_columns(text):
    assert unsupported("The total amount is 50.75.", text) == []
    assert unsupported("The total amount is 51.75.", text) == ["51.75"]


def test_a_small_number_needs_words_of_its_place():
    results = {"baggage": 3, "seat_row": 7}
    assert unsupported("You may take 3 pieces of baggage.", results) == []
    # Without them it is hard to trace: neither believed nor reported.
    assert grounding.check("You have 3 children.", [results]).label == "nothing to trace"
    assert grounding.check("You have 3 children.", [results], small=2, chance_at=1.0).label == "grounded"
    assert unsupported("You have 4 children.", results) == ["4"]


def test_numbers_that_chance_would_give_need_words_of_their_place():
    results = {"readings": list(range(10, 100)), "price": 55}
    assert unsupported("The price is 55.", results) == []
    assert unsupported("He is 37 now.", results) == ["37"]


def test_what_was_asked_or_given_is_known():
    answer = "A refund of $80 within 24 hours for Peter Kim."
    assert unsupported(answer) == ["$80", "24 hours", "Peter Kim"]
    assert unsupported(answer, question="I am Peter Kim, I want my $80.", given=["Refunds take 24 hours."]) == []


def test_an_answer_without_claims_has_nothing_to_trace():
    found = grounding.check("Thank you, it is done!", [ORDERS])
    assert (found.label, found.score, found.findings) == ("nothing to trace", 0.0, ())


def test_the_score_is_the_share_of_weight_that_is_not_supported():
    # $20.50 and #W23 are supported, #W99 is not: 1 of 3.
    found = grounding.check("#W23 and #W99 cost $20.50.", [ORDERS])
    assert found.score == pytest.approx(1 / 3)
    assert found.label == "partly grounded"
    assert grounding.check("#W99 is lost.", [ORDERS]).label == "ungrounded"
    assert grounding.check("#W23 and #W99 cost $20.50.", [ORDERS], ungrounded_at=0.3).label == "ungrounded"


def test_a_count_is_held_to_the_list_that_it_names():
    results = {"orders": [{"id": "A-1"}, {"id": "A-2"}], "items": [7, 8, 9, 30], "guests": 3}
    assert unsupported("There are 2 orders and there are 4 items for all 3 guests.", results) == []
    assert unsupported("There are 3 orders.", results) == ["3"]
    assert unsupported("There are 1 orders.", results) == ["1"]
    assert unsupported("It has 9 items.", results) == ["9"]
    (finding,) = grounding.check("There are four orders.", [results]).findings
    assert finding.detail == "the answer says 'four'; results have 2 at orders"


def test_list_markers_and_headings_are_no_claims():
    answer = "1. #W23\n2. #W24\n\nStep 7: wait\n\n## Next Steps"
    assert unsupported(answer) == []


def test_arithmetic_does_not_explain_every_number():
    # 100 numbers of two digits below the same key: with sums, differences and ratios, most numbers of two digits
    # could be explained; none of these is.
    results = {"rows": [{"value": (37 * number) % 89 + 10} for number in range(100)]}
    answers = [f"The bill was {number} dollars." for number in (101, 107, 113, 127, 131, 139, 149, 151, 157, 163)]
    assert all(unsupported(answer, results) for answer in answers)


@over(
    "result",
    [
        None,
        10**400,
        float("nan"),
        float("inf"),
        b"650",
        {1, 2},
        "\ud800 650",
        {"a": [{}]},
        "[" * 5000 + "'" + "]" * 5000,
        "[" + "-" * 50_000 + "'a']",
    ],
)
def test_any_result_is_taken(result):
    assert isinstance(grounding.check("It is 650.", [result]), grounding.GroundingResult)


def test_a_result_that_contains_itself_is_read_to_a_depth():
    result: dict[str, object] = {"price": 20.5}
    result["self"] = result
    found = grounding.check("The price is 20.5.", [result])
    assert found.findings == ()
    assert not found.complete


def test_a_result_with_very_many_values_is_read_in_part():
    assert not grounding.check("It is 650.", [list(range(60_000))]).complete


@over("unit", ["1,", "a.", "two ", "1e9 ", "A of ", "- a: 1\n", "1-", '"', "/a", "a@"])
def test_hostile_text_ends(unit):
    text = unit * (8_000 // len(unit))
    found = grounding.check(text, [text])
    assert 0.0 <= found.score <= 1.0


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@given(st.text(max_size=200) | st.text(alphabet="AaBb 019.,$%-/:#@\n\"'", max_size=200), st.lists(VALUES, max_size=3))
def test_any_answer_over_any_results_is_judged(answer, results):
    found = grounding.check(answer, results)
    assert 0.0 <= found.score <= 1.0
    assert (found.label in ("grounded", "nothing to trace")) == (not found.findings)
    for place in (*found.findings, *found.supported):
        assert 0 <= place.start <= place.end <= len(answer)


@given(st.integers(1000, 10**12), st.integers(1, 9))
def test_one_digit_off_is_reported_and_the_number_itself_is_not(number, shift):
    digits = str(number)
    wrong = digits[:-1] + str((int(digits[-1]) + shift) % 10)
    assert unsupported(f"The price is {number}.", {"price": number}) == []
    assert unsupported(f"The price is {wrong}.", {"price": number}) == [wrong]


@over(
    ("answer", "result"),
    [
        ("Revenue was 4,000 euros.", {"revenue_eur": 4}),
        ("Delivery takes 18 days.", "Delivery takes 18 months."),
        ("The term is 18 days.", {"term_months": 18}),
        ("It took in €4 billion.", "It took in €4 million."),
        ("The hotel has 18 rooms.", "The hotel is 18 km away."),
        ("It arrives within 10 days.", "It arrives within 10 business days."),
    ],
)
def test_a_number_of_something_else_grounds_nothing(answer, result):
    assert grounding.check(answer, [result]).label == "ungrounded"


@over(
    ("answer", "result"),
    [
        ("Revenue was 4,000 euros.", {"revenue_eur": 4000}),
        ("The term is 2 years.", "The term is 24 months."),
        ("The term is 14 days.", "The term is two weeks."),
        ("It holds 4.000 litres and 3,5 kg.", {"litres": 4000, "kg": 3.5}),
        ("The hotel has 18 rooms.", {"rooms": 18}),
    ],
)
def test_a_number_in_another_form_is_grounded(answer, result):
    assert grounding.check(answer, [result]).label in {"grounded", "nothing to trace"}


def test_a_line_is_read_by_the_marks_of_its_own_text() -> None:
    line = "The load is 1.234 tons."
    english, german = f"{line}\nThe rest is 2,500.75 tons.", f"{line}\nThe rest is 2.500,75 tons."
    for _ in range(2):  # what was read before is known the second time
        assert grounding.check("The load is 1.234 tons.", [english]).label == "grounded"
        assert grounding.check("The load is 1,234 tons.", [english]).label != "grounded"
        assert grounding.check("The load is 1,234 tons.", [german]).label == "grounded"
