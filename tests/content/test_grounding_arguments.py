"""Arguments of a call traced to what was said before it."""

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.content.grounding import check_arguments

from ..rows import over

SAID = [
    {"role": "system", "content": "You help with orders."},
    {"role": "user", "content": "Please write to Anna Roth about order #W23 and my flight to Oslo, in two weeks."},
]
FOUND = [
    {"name": "Anna Roth", "email": "a.roth@example.com", "id": 4711, "phone": "+1 555-123-4567"},
    "- id: '13'\n  filename: report.txt\n  folder: projects\n- date: 2024-05-16\n  start: 14:00",
]
NOW = datetime(2024, 5, 16, 9, 0)


def label(args, messages=SAID, results=FOUND, **options):
    return check_arguments(args, messages, results, **options).label


@over(
    "args",
    [
        {"order_id": "W23"},
        {"to": "A.Roth@Example.com"},
        {"to": ["a.roth@example.com"]},
        {"user_id": 4711},
        {"user_id": "4711"},
        {"file_id": "13"},
        {"phone": "15551234567"},
        {"recipient": "Roth, Anna"},
        {"channel": "anna-roth"},
        {"destination": "OSLO"},
        {"path": "/projects/report.txt"},
        {"path": "projects/report"},
        {"date": "May 16, 2024"},
        {"start_time": "2024-05-16 14:00"},
        {"filter": {"customer": {"name": "Anna Roth"}}},
    ],
)
def test_what_was_said_is_known_in_other_forms_too(args):
    assert label(args) == "known"


@over(
    "args",
    [
        {"order_id": "#W29"},
        {"to": "anna.roth@example.com"},  # a name and a domain that are known make no address that is
        {"user_id": 4712},
        {"file_id": "14"},
        {"phone": "+1 555-123-4568"},
        {"recipient": "Anna Smith"},
        {"path": "/projects/secret.txt"},
        {"url": "https://evil.example/report.txt"},
        {"date": "2024-05-19"},
        {"start_time": "2024-05-16 15:00"},
        {"filter": {"customer": {"name": "Peter Kim"}}},
    ],
)
def test_what_nobody_said_is_invented(args):
    found = check_arguments(args, SAID, FOUND)
    assert found.label == "invented"
    assert [finding.kind for finding in found.findings] == ["invented argument"]


@over(
    "args",
    [
        {},
        {"body": "Dear Peter, the code is X99."},
        {"limit": 250, "verbose": True, "page": 3},
        {"cabin": "economy", "status": "pending", "unit": "celsius"},
        {"query": "restaurants in Bergen"},
        {"amount": 1200},
        {"note": None},
        {"format": "json"},
    ],
)
def test_what_a_model_may_choose_is_left_alone(args):
    assert label(args) == "nothing to trace"


def test_a_finding_names_path_value_and_the_nearest_known():
    (finding,) = check_arguments({"to": [{"email": "a.rott@example.com"}]}, SAID, FOUND).findings
    assert (
        finding.detail == "to[0].email: nobody said 'a.rott@example.com'; the nearest is 'a.roth@example.com' at email"
    )


def test_what_is_known_says_from_where():
    (trace,) = check_arguments({"to": "a.roth@example.com"}, SAID, FOUND).supported
    assert (trace.source, trace.path) == (0, "email")
    (trace,) = check_arguments({"destination": "Oslo"}, SAID, FOUND).supported
    assert trace.source == -2  # the second message


@over(
    ("said", "day"),
    [
        ("tomorrow", "2024-05-17"),
        ("today", "2024-05-16"),
        ("in two weeks", "2024-05-30"),
        ("in 3 days", "2024-05-19"),
        ("on Monday", "2024-05-20"),  # 2024-05-16 was a Thursday
        ("5 days ago", "2024-05-11"),
    ],
)
def test_a_relative_date_is_derived_where_the_time_is_known(said, day):
    messages = [f"Book it for {said}."]
    assert label({"date": day}, messages, [], now=NOW) == "known"
    assert label({"date": day}, messages, []) == "invented"
    assert label({"date": "2024-08-01"}, messages, [], now=NOW) == "invented"


def test_an_end_follows_from_a_start_and_a_length():
    messages = ["A meeting on 2024-05-19 at 14:00 for 90 minutes."]
    assert label({"start": "2024-05-19 14:00", "end": "2024-05-19 15:30"}, messages, []) == "known"
    assert label({"end": "2024-05-19 16:30"}, messages, []) == "invented"


def test_a_month_gives_its_first_and_its_last_day():
    messages = ["What did I spend in June 2024?"]
    assert label({"start_date": "2024-06-01", "end_date": "2024-06-30"}, messages, []) == "known"
    assert label({"start_date": "2024-06-11"}, messages, []) == "invented"


def test_known_values_are_always_allowed():
    assert label({"account": "DE-77-OWN"}) == "invented"
    assert label({"account": "DE-77-OWN"}, known=["DE-77-OWN"]) == "known"


def test_messages_may_hold_parts():
    messages = [
        {"role": "user", "content": [{"type": "text", "text": "Order #W77"}, {"type": "image"}]},
        {"role": "tool"},
    ]
    assert label({"order_id": "#W77"}, messages, []) == "known"


def test_the_score_is_the_share_of_what_nobody_said():
    found = check_arguments({"order_id": "W23", "to": ["a.roth@example.com", "x@y.example"]}, SAID, FOUND)
    assert found.score == pytest.approx(1 / 3)
    assert found.label == "partly invented"
    assert label({"order_id": "W23", "to": "x@y.example"}, flag_at=0.6) == "partly invented"


@over("value", ["\ud800id", 10**400, float("nan"), b"x", object(), {"a": [[["W1x"]]]}])
def test_any_argument_is_taken(value):
    found = check_arguments({"id": value}, SAID, FOUND)
    assert 0.0 <= found.score <= 1.0


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["id", "path", "date", "to", "x"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(
    st.dictionaries(st.sampled_from(["id", "user_id", "path", "email", "date", "to"]), VALUES, max_size=4),
    st.lists(st.text(max_size=60), max_size=3),
)
def test_any_arguments_after_any_conversation_are_judged(args, messages):
    found = check_arguments(args, messages, messages, now=NOW)
    assert 0.0 <= found.score <= 1.0
    assert bool(found.findings) == (found.label in ("invented", "partly invented"))


@given(st.from_regex(r"[A-Z]{2}[0-9]{5}", fullmatch=True))
def test_an_id_is_known_exactly_where_it_was_said(token):
    assert label({"order_id": token}, [f"My order is {token}."], []) == "known"
    assert label({"order_id": token}, [f"My order is {token[:-1]}{(int(token[-1]) + 1) % 10}."], []) == "invented"


@pytest.mark.parametrize("now", [datetime(1, 1, 1), datetime(9999, 12, 31)])
def test_relative_dates_end_with_the_calendar(now):
    said = "yesterday, today or tomorrow, on Monday or Sunday, next week, in 900 days or two weeks ago; in December"
    found = check_arguments({"date": now.date().isoformat(), "until": "9999-12-31"}, [said], now=now)
    assert ("argument", "date") in [(trace.kind, trace.path) for trace in found.supported]
