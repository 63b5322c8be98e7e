"""What is inferred of a tool, from which counts, and what held-out calls do to it."""

import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.stats import beta

from agentguard.errors import ConfigurationError
from agentguard.traces import BrokenLine, TraceRow
from agentguard.traces._counts import partial
from agentguard.traces._inference import Draft, at_least, draft_profile, share
from agentguard.traces._learn import Learner, Trial
from agentguard.verification import ToolCall, VerificationEngine
from agentguard.verification._contract import Contract
from agentguard.verification._document import read

from ..rows import over


def row(result: Any, args: Any = None, ms: float | None = None, tool: str = "t", line: int = 1) -> TraceRow:
    return TraceRow("calls.jsonl", line, ToolCall(tool, args, result, ms), None)


def draft_of(rows: list[TraceRow], min_calls: int = 20) -> Draft:
    drafted = draft_profile("t", partial(rows).tools.entries["t"], min_calls)
    assert isinstance(drafted, Draft), drafted
    return drafted


def fields_of(rows: list[TraceRow]) -> dict[str, Any]:
    return draft_of(rows).profile().model_dump(mode="json", exclude_unset=True)


def order(number: int, **more: Any) -> dict[str, Any]:
    return {
        "id": f"A-{number:04d}",
        "placed": f"2024-05-{number % 28 + 1:02d}",
        "total": number * 1.5,
        "note": None if number % 3 else "gift",
        "lines": [{"sku": f"s{number}", "count": number}] * (number % 4),
        "prices": {f"{number + item:08d}": item / 2 for item in range(3)},
        **more,
    }


@given(st.integers(1, 400), st.integers(0, 50))
def test_the_bound_is_that_of_clopper_and_pearson(total: int, misses: int) -> None:
    hits = max(total - misses, 0)
    # scipy's beta quantile is the textbook form of the same bound.
    expected = float(beta.ppf(0.05, hits, total - hits + 1)) if hits else 0.0

    assert at_least(hits, total) == pytest.approx(expected, abs=1e-9)


def test_a_share_is_rounded_down() -> None:
    assert [share(value) for value in (0.99999, 0.5, 1.0, 0.9289)] == ["99.9%", "50%", "100%", "92.8%"]


def test_a_schema_says_what_all_answers_had_in_common() -> None:
    fields = fields_of([row(order(number)) for number in range(60)])

    assert fields["required_fields"] == ["id", "lines", "note", "placed", "prices", "total"]
    assert fields["output_schema"] == {
        "type": "object",
        "properties": {
            "id": {"type": "string"},
            "lines": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["count", "sku"],
                    "properties": {"count": {"type": "number"}, "sku": {"type": "string"}},
                },
            },
            "note": {"type": ["null", "string"]},
            "placed": {"type": "string", "format": "date", "pattern": "^(?:[0-9]{4}-[0-9]{2}-[0-9]{2})$"},
            "prices": {"type": "object", "additionalProperties": {"type": "number"}},
            "total": {"type": "number"},
        },
    }


def test_counts_and_confidence_stand_beside_each_declaration() -> None:
    # 80 answers, 40 of them distinct: 0.05 ** (1 / 40) = 0.9278
    draft = draft_of([row({"city": f"c{number % 40}"}) for number in range(80)])

    (required,) = (one for one in draft.declarations if one.field == "required_fields")
    assert (draft.calls, draft.answers, draft.distinct) == (80, 80, 40)
    assert (required.name, required.why) == (
        "required_fields: city",
        "in 80 of 80 (40 distinct): at least 92.7% of all (95%)",
    )


def test_error_reports_are_neither_counted_nor_forbidden() -> None:
    rows = [row(order(number)) for number in range(40)] + [row({"error": "no such order"})] * 30
    draft = draft_of(rows)
    engine = VerificationEngine(profiles=[draft.profile()])

    assert (draft.calls, draft.answers) == (70, 40)
    assert "id" in draft.profile().required_fields
    signals = engine.verify("t", result={"error": "no such order"}).signals
    assert not signals["schema_mismatch"].fired
    assert not signals["length_anomaly"].fired
    assert engine.verify("t", result={"weather": "fine"}).signals["schema_mismatch"].fired


def test_repetition_is_no_evidence() -> None:
    drafted = draft_profile("t", partial([row({"city": "Oslo"})] * 500).tools.entries["t"])

    assert drafted == "1 distinct answer to learn from, which bear no declaration"


@over(("answers", "path", "declared"), [
        pytest.param([{"n": n} for n in range(60)], "n", {"type": "number"}, id="few integers may yet be fractions"),
        pytest.param([{"n": n} for n in range(150)], "n", {"type": "integer"}, id="many integers are integers"),
        pytest.param([{"n": n / 2} for n in range(150)], "n", {"type": "number"}, id="numbers"),
        pytest.param([{"n": float(n)} for n in range(150)], "n", {"type": "number"}, id="20.0 may be 20.5"),
        pytest.param([{"n": None, "m": n} for n in range(60)], "n", None, id="always null is yet to come"),
        pytest.param([{"n": n % 2 > 0, "m": n} for n in range(60)], "n", {"type": "boolean"}, id="booleans"),
        pytest.param([{"n": f"u{n}@example.org"} for n in range(60)], "n", "email", id="addresses"),
        pytest.param([{"n": f"https://example.org/{n}"} for n in range(60)], "n", "uri", id="links"),
        pytest.param([{"n": f"{n:08x}-0000-4000-8000-000000000000"} for n in range(60)], "n", "uuid", id="uuids"),
        pytest.param([{"n": f"2024-05-01T10:{n:02d}:00Z"} for n in range(60)], "n", "date-time", id="times"),
    ])  # fmt: skip
def test_types_and_formats(answers: list[Any], path: str, declared: Any) -> None:
    properties = fields_of([row(answer) for answer in answers]).get("output_schema", {}).get("properties", {})

    found = properties.get(path)
    assert (found["format"] if isinstance(declared, str) else found) == declared


def test_one_string_that_is_no_date_is_no_format() -> None:
    rows = [row({"day": f"2024-05-{n % 28 + 1:02d}", "n": n}) for n in range(60)] + [row({"day": "today", "n": -1})]

    assert fields_of(rows)["output_schema"]["properties"]["day"] == {"type": "string"}


def test_an_optional_field_is_described_and_not_required() -> None:
    rows = [row({"id": n, **({"tag": f"x{n}"} if n % 2 else {})}) for n in range(80)]

    fields = fields_of(rows)
    assert fields["required_fields"] == ["id"]
    assert fields["output_schema"]["properties"]["tag"] == {"type": "string"}


def test_names_as_keys_are_a_map() -> None:
    rng = random.Random(2)
    names = ["Ann", "Bob", "Cem", "Dia", "Eva", "Fay", "Gus", "Hal", "Ida", "Jon", "Kim", "Lea", "Mia", "Ned", "Oda"]
    rows = [row({"staff": {name: {"age": n} for name in rng.sample(names, 3)}}) for n in range(80)]

    staff = fields_of(rows)["output_schema"]["properties"]["staff"]
    assert staff == {
        "type": "object",
        "additionalProperties": {"type": "object", "required": ["age"], "properties": {"age": {"type": "number"}}},
    }


def test_text_leaves_the_type_of_a_result_open() -> None:
    fields = fields_of([row(f"There are {n} rooms left.") for n in range(60)])

    assert set(fields) == {"name", "max_response_length"}


def test_lists_of_results_and_empty_ones() -> None:
    rows = [row([{"id": n}] * (n % 3)) for n in range(80)]

    fields = fields_of(rows)
    assert "required_fields" not in fields
    assert fields["output_schema"]["type"] == "array"
    assert fields["output_schema"]["items"]["required"] == ["id"]


def test_latency_has_a_margin_on_both_sides() -> None:
    fields = fields_of([row({"n": n}, ms=100.0 + n) for n in range(101)])

    low, high = fields["expected_latency_ms"]
    # A quarter of the 1% quantile (about 101 ms) and four times the 99% quantile (about 199 ms), give or take 2.5%.
    assert 24 <= low <= 26
    assert 770 <= high <= 830
    assert "has_network_io" not in fields


def test_an_instant_tool_is_local() -> None:
    fields = fields_of([row({"n": n}, ms=0.2) for n in range(60)])

    assert fields["has_network_io"] is False
    assert fields["expected_latency_ms"][0] < 0.06


def test_of_untimed_calls_nothing_is_said_of_time() -> None:
    fields = fields_of([row({"n": n}) for n in range(60)])

    assert not {"expected_latency_ms", "has_network_io"} & set(fields)


@pytest.mark.parametrize(
    "times",
    [
        pytest.param([7.0 + n for n in range(75)], id="7 to 81 ms"),
        pytest.param([1.5 + n / 2 for n in range(60)], id="some in less than 2 ms"),
        pytest.param([0.1] * 30 + [300.0] * 30, id="a cache in front of something slow"),
        pytest.param([0.2] * 50 + [40.0] * 10, id="a sixth takes its time"),
    ],
)
def test_a_tool_that_takes_its_time_is_not_called_local(times: list[float]) -> None:
    fields = fields_of([row({"n": n}, ms=ms) for n, ms in enumerate(times)])

    assert "has_network_io" not in fields
    assert fields["expected_latency_ms"][0] <= min(times)


@given(st.lists(st.floats(0.001, 1e6), min_size=20, max_size=200))
def test_no_bound_on_the_time_is_broken_by_its_own_log(times: list[float]) -> None:
    low, high = fields_of([row({"n": n}, ms=ms) for n, ms in enumerate(times)])["expected_latency_ms"]

    assert low <= min(times) <= max(times) <= high


@pytest.mark.parametrize(("late", "expected"), [(0.4, [0.0, 400.0]), (9_000.0, [25.0, 36_000.0])])
def test_a_bound_that_held_out_calls_are_beyond_is_opened(late: float, expected: list[float]) -> None:
    rows = [row({"n": n}, ms=100.0 if n < 130 else late) for n in range(140)]
    draft = Learner(reader(rows)).run().drafts["t"]

    (declared,) = (one for one in draft.declarations if one.field == "expected_latency_ms")
    (left_out,) = (one for one in draft.left_out if one.field == "expected_latency_ms")
    assert declared.value == pytest.approx(expected, rel=0.05)
    assert (left_out.broken, left_out.held_out) == (10, 42)
    assert "opened, as held-out calls took" in declared.why


def test_repeated_arguments_tell_caches_and_state() -> None:
    cached = [row({"n": n}, {"n": n}, 0.1 if again else 300.0) for n in range(40) for again in range(1 + n % 2)]
    stateful = [row({"n": n, "again": again}, {"n": n}, 300.0) for n in range(30) for again in (0, 1)]

    fields = fields_of(cached)
    assert (fields["cacheable"], fields.get("stateful")) == (True, None)
    assert fields_of(stateful)["stateful"] is True


def test_arguments_that_come_back_are_echoes() -> None:
    rows = []
    for n in range(60):
        args = {"id": f"u{n:03d}", "unit": "C", "city": f"City {n}"}
        rows.append(row({"id": f"u{n:03d}", "unit": "C", "page": {"city": f"city {n}"}}, args))

    # The unit was always the same: that it came back shows nothing.
    assert fields_of(rows)["echoes"] == {"city": "page.city", "id": "id"}


def test_an_argument_that_comes_back_under_another_name_is_an_echo() -> None:
    rows = [row({"id": f"A-{n:03d}", "n": n}, {"order_id": f"A-{n:03d}", "limit": 10}) for n in range(60)]
    other = [row({"id": f"A-{n:03d}", "n": n}, {"order_id": f"A-{n % 59:03d}"}) for n in range(60)]

    assert fields_of(rows)["echoes"] == {"order_id": "id"}
    assert "echoes" not in fields_of(other)


@pytest.mark.parametrize(
    ("strangers", "declared"),
    [(0, {"path": "rows[].customer", "rows": "every"}), (1, {"path": "rows[].customer", "rows": "any"})],
)
def test_an_echo_says_whether_every_row_repeats_the_argument(strangers: int, declared: Any) -> None:
    rows = []
    for n in range(60):
        mine = [{"customer": f"c{n:03d}", "n": item} for item in range(1 + n % 3)]
        others = [{"customer": "c999", "n": 9}] * (strangers if n == 5 else 0)
        rows.append(row({"rows": mine + others}, {"customer": f"c{n:03d}"}))

    assert fields_of(rows)["echoes"] == {"customer": declared}


def test_rows_are_left_open_where_few_answers_have_several() -> None:
    rows = [row({"rows": [{"id": f"c{n:03d}"}] * (2 if n < 9 else 1)}, {"id": f"c{n:03d}"}) for n in range(60)]
    draft = draft_of(rows)

    (echo,) = (one for one in draft.declarations if one.field == "echoes")
    assert echo.value == "rows[].id"
    assert "every value in 9 of 9 answers with several" in echo.why


def test_a_held_out_row_of_another_customer_breaks_an_echo_of_every_row() -> None:
    rows = [row([{"id": f"c{n:03d}"}] * 2, {"id": f"c{n:03d}"}) for n in range(60)]
    trial = Trial(draft_of(rows))
    trial.push(row([{"id": "c777"}, {"id": "c778"}], {"id": "c777"}).call)

    assert [one.name for one in trial.verdict().declarations if one.broken] == ["echoes: id"]


def test_an_echo_that_held_is_told_where_it_is_too_thin_to_declare() -> None:
    few = draft_of([row({"id": f"A-{n}"}, {"id": f"A-{n}"}) for n in range(25)])
    same = draft_of([row({"id": f"A-{n % 5}", "n": n}, {"id": f"A-{n % 5}"}) for n in range(54)])

    for draft, count in ((few, "25 of 25: at least 88.7%"), (same, "54 of 54: at least 94.6%")):
        assert not any(one.field == "echoes" for one in draft.declarations)
        (echo,) = (one for one in draft.thin if one.field == "echoes")
        assert (echo.name, echo.value) == ("echoes: id", "id")
        assert echo.why.startswith(f"came back in {count} of all (95%)")
    assert "5 distinct values of the argument" in same.thin[0].why


def test_held_out_calls_that_bear_it_out_make_a_thin_echo_a_declaration() -> None:
    rows = [row({"id": f"A-{n}"}, {"id": f"A-{n}"}) for n in range(54)]  # 38 to learn from, where 40 are necessary
    again = [row({"id": f"A-{n % 38}"}, {"id": f"A-{n % 38}"}) for n in range(54)]  # no others are held out

    learned, repeated = (Learner(reader(calls)).run().drafts["t"] for calls in (rows, again))

    assert learned.profile().model_dump(mode="json")["echoes"] == {"id": "id"}
    assert "echoes" not in [one.field for one in repeated.declarations]
    assert "echoes" in [one.field for one in repeated.thin]


def test_one_argument_that_did_not_come_back_is_no_echo() -> None:
    rows = [row({"id": f"u{n:03d}"}, {"id": f"u{n:03d}"}) for n in range(60)] + [row({"id": "u777"}, {"id": "u778"})]

    assert "echoes" not in fields_of(rows)


def choice(number: int, **more: Any) -> TraceRow:
    """An order in one of three states, at a shop that has one currency."""
    state = ("open", "in transit", "done")[number * 7 % 3]
    return row({"id": f"A-{number}", "state": state, "currency": "EUR", **more}, {"id": f"A-{number}"})


def test_values_that_are_always_the_same_few_are_fixed() -> None:
    draft = draft_of([choice(n, on=n % 2 > 0, page=1) for n in range(120)])
    properties = draft.profile().model_dump(mode="json")["output_schema"]["properties"]

    assert properties["state"] == {"type": "string", "enum": ["done", "in transit", "open"]}
    assert properties["currency"] == {"type": "string", "const": "EUR"}
    assert properties["on"] == {"type": "boolean"}
    assert properties["page"] == {"type": "integer"}
    (page,) = draft.thin  # a number that has not changed is none of few
    assert (page.name, page.value) == ("output_schema: properties.page.const", 1)


def test_fixed_values_of_fewer_calls_are_told() -> None:
    draft = draft_of([choice(n) for n in range(60)])

    assert {one.path[-1]: one.value for one in draft.thin} == {"const": "EUR", "enum": ["done", "in transit", "open"]}
    assert all(one.why == "60 of 60: at least 95.1%" for one in draft.thin)


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(lambda n: f"A-{n}", id="ids"),
        pytest.param(lambda n: f"A-10{n % 3}42", id="few ids"),
        pytest.param(lambda n: "2024-05-01", id="the day of the log"),
        pytest.param(lambda n: "Monday", id="a day"),
        pytest.param(lambda n: "Thank you for your order", id="a sentence"),
        pytest.param(lambda n: "ann@example.org", id="an address"),
        pytest.param(lambda n: "abcdefghi"[n % 9], id="nine values"),
        pytest.param(lambda n: ("A", "B", "C")[0 if n < 118 else n % 3], id="values met once", marks=[]),
        pytest.param(lambda n: None, id="null"),
        pytest.param(lambda n: {"a": 1} if n % 2 else "a", id="objects beside labels"),
    ],
)
def test_what_is_no_label_or_one_of_many_is_not_fixed(value: Callable[[int], Any]) -> None:
    draft = draft_of([row({"serial": n, "value": value(n)}, {"q": n}) for n in range(120)])

    assert not any(one.path[-1:] in (("const",), ("enum",)) for one in draft.declarations)


def test_values_that_the_arguments_choose_are_not_fixed() -> None:
    units = [row({"n": n, "unit": "CF"[n % 2]}, {"n": n, "unit": "cf"[n % 2]}) for n in range(120)]
    cities = [row({"n": n, "country": ("Norway", "France")[n % 2]}, {"city": f"c{n % 10}"}) for n in range(120)]

    for rows in (units, cities):
        draft = draft_of(rows)
        assert not any(one.path[-1:] in (("const",), ("enum",)) for one in draft.declarations)


def test_a_nullable_label_may_be_null() -> None:
    rows = [row({"n": n, "tag": ("new", "sale", None)[n % 3]}, {"q": n}) for n in range(120)]

    assert fields_of(rows)["output_schema"]["properties"]["tag"]["enum"] == ["new", "sale", None]


def test_a_held_out_value_that_is_new_undoes_the_fixed_ones() -> None:
    rows = [choice(n, **({"currency": "USD"} if n == 190 else {})) for n in range(200)]
    draft = Learner(reader(rows)).run().drafts["t"]

    (left_out,) = (one for one in draft.left_out if one.path[-1] == "const")
    assert (left_out.name, left_out.broken, left_out.held_out) == ("output_schema: properties.currency.const", 1, 60)
    properties = draft.profile().model_dump(mode="json")["output_schema"]["properties"]
    assert properties["currency"] == {"type": "string"}
    assert "enum" in properties["state"]


def test_what_few_answers_have_in_common_is_told() -> None:
    # 30 answers, 10 of them distinct: 0.05 ** (1 / 10) = 0.7411
    draft = draft_of([row({"id": f"A-{n % 10}"}) for n in range(30)])

    assert draft.declarations == ()
    (required,) = (one for one in draft.thin if one.field == "required_fields")
    assert required.why == "in 30 of 30 (10 distinct): at least 74.1% of all (95%)"
    assert required.missing == 10


def test_a_field_whose_name_is_no_path_is_required_by_the_schema() -> None:
    fields = fields_of([row({"a..b": n, "c.d": n, "e": n}) for n in range(60)])

    assert fields["required_fields"] == ["e"]
    assert fields["output_schema"]["required"] == ["a..b", "c.d"]


def test_the_frameworks_own_flag_makes_an_error_report() -> None:
    failed = TraceRow("f", 1, ToolCall("t", None, {"retry_in": 5}, None, is_error=True), None)
    draft = draft_of([*(row({"id": f"A-{n}"}) for n in range(40)), failed])

    assert (draft.calls, draft.answers) == (41, 40)
    assert draft.profile().required_fields == ("id",)


def test_a_name_that_is_a_pattern_is_left_alone() -> None:
    assert "stands for any text" in str(draft_profile("get*", partial([row({"n": 1})]).tools.entries["t"]))


keys = st.text(max_size=4) | st.sampled_from(["id", "a/b", "~2", "required", "properties", "2024-05-01", "type", "x.y"])
scalars = st.none() | st.booleans() | st.integers(-3, 2**65) | st.floats(-1e9, 1e9) | st.text(max_size=8)
values = st.recursive(
    scalars | st.sampled_from(["2024-05-01", "a@example.org", "https://example.org/"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=10,
)


# Keys that are data, of which one result has two with the key that another's lacks.
OF_TWO_PLACES = [
    {":": None, ";": None, "<": None},
    {"": {}, ">": None, "?": None, "@": {"C": None}},
    {"=": None, "A": None, "B": {"C": None}, "C": {"C": None}},
]


@example(answers=OF_TWO_PLACES, bare=False)
@given(st.lists(st.dictionaries(keys, values, max_size=4) | values, min_size=1, max_size=5), st.booleans())
def test_no_answer_breaks_what_was_learned_from_it(answers: list[Any], bare: bool) -> None:
    # Each answer has 25 distinct companions of its form, so that there is enough of it to be declared.
    rows = []
    for answer in answers:
        for number in range(25):
            distinct = {"answer": answer, "serial": number, "more": [answer]}
            rows.append(row(answer if bare and number % 2 else distinct, {"q": number}))
    drafted = draft_profile("t", partial(rows).tools.entries["t"])
    if isinstance(drafted, str):
        return
    contract, trial = Contract(drafted.profile()), Trial(drafted)

    for one in rows:
        document = read(one.call.result)
        if not document.is_error:
            assert contract.field_violations(document) == []
            assert contract.schema_violation(document) is None
        trial.push(one.call)
    assert [one.name for one in trial.verdict().declarations if one.broken] == []


@given(st.lists(st.dictionaries(keys, values, max_size=3) | values, max_size=6), st.integers(0, 3))
def test_what_is_left_is_broken_by_no_held_out_call(held_out: list[Any], instant: int) -> None:
    more = {"required": {"properties": {"x": 1}}}  # fields with the names of keywords
    rows = [row(order(number, **more), {"id": f"A-{number:04d}"}, 90.0) for number in range(60)]
    trial = Trial(draft_of(rows))
    strange = [{**order(7), **answer} if isinstance(answer, dict) else answer for answer in held_out]
    calls = [row(answer, {"id": "A-0007"}, 0.1 if number < instant else 80.0) for number, answer in enumerate(strange)]
    for one in calls:
        trial.push(one.call)

    left = trial.verdict().without_broken()

    contract, again = Contract(left.profile()), Trial(left)
    for one in calls:
        document = read(one.call.result)
        if not document.is_error:
            assert contract.field_violations(document) == []
            assert contract.schema_violation(document) is None
        again.push(one.call)
    assert not any(one.broken for one in again.verdict().declarations)


def test_a_held_out_call_breaks_the_very_declarations_it_departs_from() -> None:
    rows = [row(order(number), {"id": f"A-{number:04d}"}, 90.0) for number in range(60)]
    trial = Trial(draft_of(rows))
    short = {name: value for name, value in order(7, total="7", placed="7 May", id="B-1").items() if name != "note"}
    trial.push(row(order(61), {"id": "A-0061"}, 95.0).call)
    trial.push(row(short, {"id": "A-0007"}, 1.0).call)
    trial.push(row({**order(8), "lines": [{"sku": 4}] * 9_000}, {"id": "A-0008"}, 95.0).call)
    trial.push(row("error: not found", {"id": "A-0009"}, 95.0).call)

    tried = trial.verdict()

    assert {one.name: (one.broken, one.held_out) for one in tried.declarations if one.broken} == {
        "expected_latency_ms": (1, 4),
        "max_response_length": (1, 4),
        "required_fields: note": (1, 4),
        "echoes: id": (1, 4),
        "output_schema: properties.placed.pattern": (1, 4),
        "output_schema: properties.total.type": (1, 4),
        "output_schema: properties.lines.items.required.count": (1, 4),
        "output_schema: properties.lines.items.properties.sku.type": (1, 4),
    }


def reader(rows: list[Any]) -> Callable[[], Iterator[Any]]:
    return lambda: iter(rows)


def moded() -> list[TraceRow]:
    """A tool that drops a field after 80 of 100 calls, and another one in between that stays as it is."""
    rows = []
    for number in range(100):
        more = {"status": "open"} if number < 80 else {}
        rows.append(row({"id": f"A-{number}", **more}, tool="orders", line=2 * number))
        rows.append(row({"id": f"B-{number}"}, tool="stock", line=2 * number + 1))
    return rows


def test_the_last_calls_are_held_out_and_undo_what_they_break() -> None:
    learner = Learner(reader([BrokenLine("f", 0, "not JSON"), *moded()])).run()

    orders, stock = learner.drafts["orders"], learner.drafts["stock"]
    assert (orders.calls, stock.calls, learner.state.calls, learner.state.broken) == (70, 70, 140, 1)
    assert orders.profile().required_fields == stock.profile().required_fields == ("id",)
    (left_out,) = (one for one in orders.left_out if one.field == "required_fields")
    assert (left_out.name, left_out.broken, left_out.held_out) == ("required_fields: status", 20, 30)
    assert stock.left_out == ()
    assert (learner.judged, learner.newly("block"), learner.stage) == (60, 0, "done")


def test_keep_all_declares_what_held_out_calls_break() -> None:
    learner = Learner(reader(moded()), keep_all=True, tools=["orders"]).run()

    assert set(learner.drafts) == {"orders"}
    assert learner.drafts["orders"].profile().required_fields == ("id", "status")


def test_what_the_profiles_block_and_would_not_be_otherwise_is_counted() -> None:
    rows = [choice(n, **({"state": "lost"} if n == 190 else {}))._replace(line=n) for n in range(200)]

    learner = Learner(reader(rows), keep_all=True).run()

    assert learner.newly("block") + learner.newly("flag") > 0
    data = learner.as_dict()["held_out"]
    assert data["calls"] == 60
    assert data["with"]["block"] + data["with"]["flag"] > data["without"]["block"] + data["without"]["flag"]
    assert data["with"]["offenders"][0]["line"] == 190


def test_without_a_holdout_the_log_is_read_once_and_learned_whole() -> None:
    times_read = []

    def read_once() -> Iterator[TraceRow]:
        times_read.append(1)
        return iter(moded())

    learner = Learner(read_once, holdout=0.0).run()

    assert (len(times_read), learner.judged, learner.drafts["orders"].calls) == (1, 0, 100)
    assert learner.drafts["orders"].profile().required_fields == ("id",)


def test_few_answers_are_too_few() -> None:
    learner = Learner(reader([row({"id": f"A-{n}"}) for n in range(25)]))
    learner.run()

    assert learner.drafts == {}
    assert learner.skipped == {"t": "18 answers to learn from, where 20 are necessary"}


def test_what_was_learned_when_it_was_broken_off_is_there() -> None:
    def interrupted() -> Iterator[TraceRow]:
        yield from moded()[:120]
        raise KeyboardInterrupt

    learner = Learner(interrupted, holdout=0.0)
    with pytest.raises(KeyboardInterrupt):
        learner.run()

    assert (learner.stage, learner.read_calls, set(learner.drafts)) == ("learn", 120, {"orders", "stock"})


@pytest.mark.parametrize(("name", "value"), [("holdout", 1.0), ("holdout", -0.1), ("min_calls", 0)])
def test_arguments_out_of_range_are_refused(name: str, value: Any) -> None:
    with pytest.raises(ConfigurationError, match=name):
        Learner(reader([]), **{name: value})
