"""What a second call says of a first one: what it is asked, and how its answer is held against what was written."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.verification import Reading, ToolCall, VerificationEngine
from agentguard.verification._read_back import ReadBack, agree, says_no_such
from agentguard.verification.profile import CallReference, DeclaredConfirmation, DeclaredSecondSource

CALL = ToolCall("create_order", {"customer": "C1", "amount": 12.5, "note": None}, {"id": "O-1", "status": "new"})
BY_ID: dict[str, Any] = {"tool": "get_order", "args": {"order_id": "$.result.id"}}


def confirmed(answer: Any, call: ToolCall = CALL, *, is_error: bool = False, **declared: Any) -> Reading:
    return ReadBack(DeclaredConfirmation(**{**BY_ID, **declared})).held(call, answer, is_error=is_error)


class TestQuestion:
    @pytest.mark.parametrize(
        ("args", "asked"),
        [
            ({"order_id": "$.result.id"}, {"order_id": "O-1"}),
            ({"of": "$.args.customer", "limit": 5, "status": "new"}, {"of": "C1", "limit": 5, "status": "new"}),
            ({"filter": {"ids": ["$.result.id"]}}, {"filter": {"ids": ["O-1"]}}),
            ({"all": "$.args"}, {"all": {"customer": "C1", "amount": 12.5, "note": None}}),
            ({"price": "$5"}, {"price": "$5"}),
        ],
    )
    def test_it_is_made_of_the_call(self, args: Any, asked: Any) -> None:
        assert ReadBack(DeclaredConfirmation(tool="get_order", args=args)).question(CALL) == asked

    def test_a_result_that_is_text_is_read(self) -> None:
        rule = ReadBack(DeclaredConfirmation(**BY_ID))

        assert rule.question(CALL._replace(result='{"id": "O-7"}')) == {"order_id": "O-7"}
        assert ReadBack(DeclaredConfirmation("get_order", {"order_id": "$.result"})).question(
            CALL._replace(result="O-8")
        ) == {"order_id": "O-8"}

    def test_values_of_all_elements_are_a_list(self) -> None:
        rule = ReadBack(DeclaredConfirmation("get_orders", {"ids": "$.result.rows[].id"}))

        assert rule.question(CALL._replace(result={"rows": [{"id": 1}, {}, {"id": 3}]})) == {"ids": [1, 3]}

    @pytest.mark.parametrize("result", [{"ok": True}, {"id": None}, "done", None])
    def test_a_result_without_what_is_asked_for_cannot_be_looked_up(self, result: Any) -> None:
        reading = ReadBack(DeclaredConfirmation(**BY_ID)).question(CALL._replace(result=result))

        assert isinstance(reading, Reading)
        assert (reading.state, reading.detail) == (
            "unknown", "what it did cannot be looked up: it has no id in its result",
        )  # fmt: skip

    def test_an_argument_that_was_left_out_is_left_out_here_too(self) -> None:
        args = {"order_id": "$.result.id", "note": "$.args.note", "region": "$.args.region"}

        assert ReadBack(DeclaredConfirmation("get_order", args)).question(CALL) == {"order_id": "O-1"}

    @pytest.mark.parametrize("call", [CALL._replace(is_error=True), CALL._replace(result={"error": "no stock"})])
    def test_nothing_is_asked_of_a_call_that_says_that_it_failed(self, call: ToolCall) -> None:
        reading = ReadBack(DeclaredConfirmation(**BY_ID)).question(call)

        assert isinstance(reading, Reading)
        assert reading.state == "not asked"


class TestConfirmation:
    @pytest.mark.parametrize(
        "answer",
        [
            {"customer": "C1", "amount": 12.5},
            {"id": "O-1", "customer": " c1", "amount": "12.50", "note": "by itself", "at": "2026-01-01"},
            {"order": {"id": "O-1", "customer": "C1", "amount": 12.5}},
            {"data": {"order": {"customer": "C1", "amount": 12.5}}, "ok": True},
            [{"customer": "C1", "amount": 12.5}],
            [{"customer": "C2", "amount": 9}, {"customer": "C1", "amount": 12.5}],
            '{"customer": "C1", "amount": 12.5}',
            {"id": "O-1"},  # it is there, and nothing says otherwise
            "Order O-1 of C1, 12.50",
        ],
        ids=repr,
    )
    def test_without_expect_fields_of_the_same_name_must_agree(self, answer: Any) -> None:
        assert confirmed(answer).state == "agrees"

    @pytest.mark.parametrize(
        ("answer", "fields"),
        [
            ({"customer": "C1", "amount": 99}, ("amount",)),
            ({"customer": "C2", "amount": 99}, ("customer", "amount")),
            ({"order": {"customer": "C2"}}, ("customer",)),
            ([{"customer": "C2", "amount": 9}, {"customer": "C1", "amount": 9}], ("amount",)),
            ({"customer": "C1", "amount": None}, ("amount",)),
        ],
        ids=repr,
    )
    def test_what_was_written_otherwise_is_named(self, answer: Any, fields: tuple[str, ...]) -> None:
        reading = confirmed(answer)

        assert (reading.state, reading.fields) == ("differs", fields)
        assert reading.detail == (
            "create_order answered as if it were done, but get_order(order_id=…) does not read what was written: "
            + ", ".join(fields)
        )

    @pytest.mark.parametrize(
        "answer",
        [
            *(
                None,
                "",
                [],
                {},
                "null",
                {"order": None},
                {"rows": []},
                {"found": False, "id": "O-1"},
                {"exists": False},
            ),
            *({"error": "no such order"}, {"error": {"code": 404, "message": "Not Found"}}),
            *("Order O-1 was not found.", "There is no order with this id"),
        ],
        ids=repr,
    )
    def test_what_is_not_there_is_absent(self, answer: Any) -> None:
        reading = confirmed(answer)

        assert reading.state == "absent"
        assert reading.detail == (
            "create_order answered as if it were done, but get_order(order_id=…) finds no such thing"
        )

    @pytest.mark.parametrize(
        ("answer", "is_error"),
        [
            ({"error": "rate limit exceeded"}, False),
            ("Traceback (most recent call last): …", False),
            ({"status": 500}, True),
            ("Unknown tool: get_order", True),
            ("Tool 'get_order' not found", True),
        ],
    )
    def test_an_error_that_says_nothing_of_the_order_tells_nothing(self, answer: Any, is_error: bool) -> None:
        assert confirmed(answer, is_error=is_error).state == "unknown"

    def test_expect_names_places_and_values(self) -> None:
        expect = {"order.total": "$.args.amount", "order.state": "open"}

        assert confirmed({"order": {"total": "12.5", "state": "open"}}, expect=expect).state == "agrees"
        assert confirmed({"order": {"total": 12.5, "state": "void"}}, expect=expect).fields == ("order.state",)
        assert confirmed({"order": {"state": "open"}}, expect=expect).fields == ("order.total",)

    def test_expectations_of_one_list_are_held_to_one_element(self) -> None:
        expect = {"rows[].id": "$.result.id", "rows[].amount": "$.args.amount"}

        assert confirmed({"rows": [{"id": "O-2"}, {"id": "O-1", "amount": 12.5}]}, expect=expect).state == "agrees"
        apart = {"rows": [{"id": "O-1", "amount": 9}, {"id": "O-2", "amount": 12.5}]}
        assert confirmed(apart, expect=expect).state == "differs"
        assert confirmed({"rows": [], "of": "C1"}, expect=expect).fields == ("rows[].id", "rows[].amount")

    def test_an_argument_that_was_not_given_writes_nothing(self) -> None:
        assert confirmed({"gift": True}, expect={"gift": "$.args.gift"}).state == "agrees"

    @pytest.mark.parametrize(
        ("answer", "state"),
        [
            ("amount: 12.50\ncustomer: C1", "agrees"),
            ("amount: 9\ncustomer: C1", "differs"),
            ("The order of C1 comes to 12.50 in all.", "agrees"),
            ("The order of C1 comes to 112.50 in all.", "differs"),
        ],
    )
    def test_a_text_has_to_say_the_value(self, answer: str, state: str) -> None:
        expect = {"amount": "$.args.amount", "customer": "$.args.customer"}

        assert confirmed(answer, expect=expect).state == state

    def test_details_quote_no_value(self) -> None:
        for answer in ({"customer": "secret-9"}, None, {"error": "secret-9"}):
            assert "secret-9" not in confirmed(answer).detail


class TestSecondSource:
    CALL = ToolCall("price", {"sku": "K-7"}, {"price": 10.0, "unit": "EUR"})

    def held(self, answer: Any, call: ToolCall = CALL, **declared: Any) -> Reading:
        source = DeclaredSecondSource(**{"tool": "quote", "args": {"sku": "$.args.sku"}, **declared})
        return ReadBack(source).held(call, answer)

    def test_the_fields_must_agree_within_the_tolerance(self) -> None:
        fields = {"price": "quote.price"}

        assert self.held({"quote": {"price": 10.09}}, fields=fields, tolerance=0.01).state == "agrees"
        reading = self.held({"quote": {"price": 10.2}}, fields=fields, tolerance=0.01)
        assert (reading.state, reading.fields) == ("differs", ("quote.price",))
        assert reading.detail == "quote(sku=…) says otherwise: quote.price"

    def test_a_list_names_the_same_fields_in_both(self) -> None:
        assert self.held({"price": 10, "unit": "USD"}, fields=["price", "unit"]).fields == ("unit",)

    def test_a_field_that_the_result_itself_has_not_is_otherwise(self) -> None:
        assert self.held({"price": 10}, self.CALL._replace(result={"unit": "EUR"}), fields=["price"]).state == "differs"

    def test_what_neither_has_is_the_same_in_both(self) -> None:
        assert self.held({"price": 10, "tax": None}, fields=["price", "tax"]).state == "agrees"

    def test_another_source_need_not_know_all(self) -> None:
        assert self.held(None, fields=["price"]).state == "not asked"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@given(JSON)
def test_a_value_agrees_with_itself(value: Any) -> None:
    assert agree(value, value)


@given(JSON, JSON, JSON)
def test_any_answer_can_be_held_against_any_call(args: Any, result: Any, answer: Any) -> None:
    call = ToolCall("create_order", args, result)
    for declared in (
        DeclaredConfirmation("get_order", {"a": "$.result.id", "b": "$.args.x[].y"}),
        DeclaredConfirmation("get_order", {}, {"rows[].id": "$.result", "a.b": "$.args.a"}),
        DeclaredSecondSource("get_order", {"a": "$.args"}, {"a": "a"}, tolerance=0.1),
    ):
        rule = ReadBack(declared)
        rule.question(call)
        assert rule.held(call, answer).state in ("agrees", "differs", "absent", "unknown", "not asked")


@pytest.mark.parametrize(
    ("written", "found", "tolerance", "same"),
    [
        (1, 1.0, 0, True),
        ("007", 7, 0, True),
        (True, 1, 0, False),
        (True, "true", 0, True),
        (None, None, 0, True),
        (None, "", 0, False),
        ({"a": None}, {}, 0, True),
        (0.1 + 0.2, 0.3, 0, True),
        (100, 99.5, 0.01, True),
        (100, 98, 0.01, False),
        (-100, 100, 0.5, False),
        ("Ann  Lee", "ann lee", 0, True),
        ("2026-03-01", "2026-03-01T00:00:00", 0, True),
        ("2026-03-01", "2026-03-02", 0, False),
        ({"a": {"b": 1}}, {"a": {"b": 1, "c": 2}, "d": 3}, 0, True),
        ({"a": 1}, {}, 0, False),
        ([1, 2], [1, 2, 3], 0, False),
        ([{"a": 1}], [{"a": 1, "b": 2}], 0, True),
        ("1" * 200, "1" * 200, 0, True),
        ("1e999", "2e999", 0, False),
    ],
)
def test_values_are_compared_as_what_they_mean(written: Any, found: Any, tolerance: float, same: bool) -> None:
    assert agree(written, found, Decimal(str(tolerance))) is same


@pytest.mark.parametrize("text", ["host not found", "no such function: lookup", "x" * 700 + " not found"])
def test_what_was_not_found_may_be_the_way_to_ask(text: str) -> None:
    assert not says_no_such(text)


@pytest.mark.parametrize("text", ["$.args", "$.result.id", "$.result[].id", "$.args.a.b[].c"])
def test_a_reference_reads_as_it_is_written(text: str) -> None:
    assert str(CallReference.parse(text)) == text


class TestVerdict:
    def engine(self, **fields: Any) -> VerificationEngine:
        engine = VerificationEngine(**fields)
        engine.register_tool_profile("create_order", confirm=BY_ID)
        return engine

    def judged(self, engine: VerificationEngine, answer: Any, **fields: Any) -> Any:
        [rule] = engine.read_backs("create_order")
        return engine.verify(
            "create_order", args=CALL.args, result=CALL.result, readings=[rule.held(CALL, answer)], **fields
        )

    @pytest.mark.parametrize("mode", ["calibrated", "reference"])
    def test_a_write_that_is_not_there_is_blocked_from_the_first_call_on(self, mode: str) -> None:
        found = self.judged(self.engine(mode=mode), None)

        assert found.verdict == "block"
        assert found.hazard == "create_order answered as if it were done, but get_order(order_id=…) finds no such thing"

    @pytest.mark.parametrize("mode", ["calibrated", "reference"])
    def test_one_that_could_not_be_looked_at_is_flagged(self, mode: str) -> None:
        engine = self.engine(mode=mode)
        [rule] = engine.read_backs("create_order")
        found = engine.verify("create_order", args={}, result={"id": 1}, readings=[rule.failed("raised OSError")])

        assert found.verdict == "flag"
        assert "could not be confirmed: get_order(order_id=…) raised OSError" in found.note

    @pytest.mark.parametrize("mode", ["calibrated", "reference"])
    def test_where_nobody_asked_the_signal_says_so_and_the_call_is_judged_as_ever(self, mode: str) -> None:
        found = self.engine(mode=mode).verify("create_order", args={}, result={"id": 1})

        assert found.verdict == "accept"
        assert found.signals["confirm_mismatch"].detail == "get_order was not asked here"
        assert "confirm_mismatch" not in VerificationEngine(mode=mode).verify("create_order", result={}).signals

    @pytest.mark.parametrize("readings", [None, 7, "x", [None, {"state": "absent"}], {"a": 1}])
    def test_what_is_no_reading_says_nothing(self, readings: Any) -> None:
        found = self.engine().verify("create_order", args={}, result={"id": 1}, readings=readings)

        assert found.verdict == "accept"

    def test_repetition_does_not_wear_it_away(self) -> None:
        engine = self.engine()
        for number in range(40):
            call = CALL._replace(result={"id": f"O-{number}"})
            [rule] = engine.read_backs("create_order")
            found = engine.verify("create_order", args=call.args, result=call.result, readings=[rule.held(call, None)])
            assert found.verdict == "block"

    def test_the_same_answer_has_another_verdict_once_the_write_is_there(self) -> None:
        engine = self.engine()
        said = [self.judged(engine, None), self.judged(engine, None), self.judged(engine, {"amount": 12.5})]

        assert [(found.verdict, found.asked) for found in said] == [("block", 0), ("block", 1), ("accept", 0)]


# --- What a second look that agrees is worth ---


def test_an_answer_that_tells_what_was_written_stands_for_the_id_that_it_was_asked_with() -> None:
    reading = confirmed({"customer": "C1", "amount": 12.5, "id": "O-1"})

    assert (reading.state, reading.told, reading.confirmed) == ("agrees", True, ("id",))
    assert reading.detail == "get_order(order_id=…) reads what was written: id"


@pytest.mark.parametrize(
    ("answer", "declared"),
    [
        ({"id": "O-1"}, {}),  # no argument has a field of its name
        ({"id": "O-1", "of": "C1"}, {"expect": {"id": "$.result.id"}}),  # it says the words that it was given
    ],
)
def test_an_answer_with_nothing_of_its_own_stands_for_nothing(answer: Any, declared: dict[str, Any]) -> None:
    reading = confirmed(answer, **declared)

    assert (reading.state, reading.told, reading.confirmed) == ("agrees", False, ())


def test_a_second_source_stands_for_the_fields_that_it_tells() -> None:
    rule = ReadBack(DeclaredSecondSource("list_price", {"sku": "$.args.sku"}, {"price": "quote.price"}))
    call = ToolCall("price", {"sku": "A"}, {"sku": "A", "price": 12.5})

    assert rule.held(call, {"quote": {"price": 12.5}}).confirmed == ("price",)
    assert rule.held(call, {"quote": {"price": 13}}).confirmed == ()


def _stock_engine() -> VerificationEngine:
    """A tool whose stock was between 40 and 49 in a hundred calls."""
    engine = VerificationEngine()
    engine.register_tool_profile(
        "stock_of", against={"tool": "shelf", "args": {"sku": "$.args.sku"}, "fields": {"stock": "units"}}
    )
    for number in range(100):
        engine.verify("stock_of", args={"sku": f"S{number}"}, result={"stock": 40 + number % 10, "hall": f"H{number}"})
    return engine


def test_a_number_that_another_source_tells_too_is_not_held_against_the_result() -> None:
    engine, call = _stock_engine(), {"args": {"sku": "T1"}, "result": {"stock": 9_000_000, "hall": "H7"}}
    reading = engine.read_backs("stock_of")[0].held(ToolCall("stock_of", **call), {"units": 9_000_000})

    alone = engine.verify("stock_of", **call, learn=False)
    seconded = engine.verify("stock_of", **call, learn=False, readings=[reading])

    assert alone.signals["value_plausibility"].fired
    assert not seconded.signals["value_plausibility"].fired
    # .9 of the faults are seen where it looks: half of them are whole answers, the others spoil one of two fields.
    # Genuine answers differ in .9 / 20, by the ratio of the signal.
    seen = 0.9 * (0.5 + 0.5 * 1 / 2)
    expected = (1 - seen) / (1 - seen * (0.9 / 20) / 0.9)
    assert seconded.signals["against_mismatch"].likelihood_ratio == pytest.approx(expected)
    assert seconded.posterior < alone.posterior


def test_what_another_source_tells_lifts_no_declaration() -> None:
    engine = VerificationEngine()
    engine.register_tool_profile(
        "stock_of",
        required_fields=["stock", "hall"],
        against={"tool": "shelf", "args": {"sku": "$.args.sku"}, "fields": {"stock": "units"}},
    )
    call = {"args": {"sku": "T1"}, "result": {"stock": 41}}
    reading = engine.read_backs("stock_of")[0].held(ToolCall("stock_of", **call), {"units": 41})

    assert reading.told
    assert engine.verify("stock_of", **call, readings=[reading]).verdict == "block"


def test_a_line_that_an_earlier_call_has_written_too_is_no_evidence() -> None:
    engine = VerificationEngine()
    engine.register_tool_profile(
        "append", confirm={"tool": "read", "args": {"path": "$.args.path"}, "expect": {"line": "$.args.line"}}
    )
    call = {"args": {"path": "a.log", "line": "started"}, "result": {"lines": 4}}
    reading = engine.read_backs("append")[0].held(ToolCall("append", **call), "opened started")
    assert (reading.told, reading.confirmed) == (True, ())

    first, second = [engine.verify("append", **call, readings=[reading]).signals["confirm_mismatch"] for _ in range(2)]

    assert first.likelihood_ratio < 1.0
    assert (second.likelihood_ratio, "an earlier call has written too" in second.detail) == (1.0, True)


def test_a_number_that_repeats_an_argument_as_declared_is_as_unusual_as_the_question() -> None:
    engine = VerificationEngine()
    engine.register_tool_profile("get_order", echoes={"order_id": "order_id"})
    for number in range(100):
        order = {"order_id": 100 + number % 17 * 3, "note": f"N{number}"}
        engine.verify("get_order", args={"order_id": order["order_id"]}, result=order)

    far = engine.verify(
        "get_order", args={"order_id": 9_000_000}, result={"order_id": 9_000_000, "note": "N7"}, learn=False
    )
    other = engine.verify(
        "get_order", args={"order_id": 103}, result={"order_id": 9_000_000, "note": "N7"}, learn=False
    )

    assert not far.signals["value_plausibility"].fired
    assert (other.signals["value_plausibility"].fired, other.verdict) == (True, "block")
