"""Declarations hold: warm or cold, whatever was learned, and of nothing that nobody declared."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.verification import SignalResult, ToolCall, ToolProfile, VerificationEngine
from agentguard.verification._arguments import Arguments
from agentguard.verification._calibrated import Calibrated
from agentguard.verification._case import Case
from agentguard.verification._contract import Contract
from agentguard.verification._document import read
from agentguard.verification._method import Decision
from agentguard.verification.types import Settings

TOOL = "lookup"


def price(rng: random.Random, sku: str) -> dict[str, Any]:
    return {"sku": sku, "price": round(rng.uniform(20, 70), 2), "stock": rng.randint(0, 90)}


def rows(rng: random.Random, *customers: str) -> list[dict[str, Any]]:
    return [{"order_id": rng.randint(10**5, 10**6), "customer_id": customer} for customer in customers]


def customer(rng: random.Random) -> str:
    return f"C{rng.randint(1000, 9999)}"


def signal(engine: VerificationEngine, name: str, **call: Any) -> SignalResult:
    return engine.verify(TOOL, learn=False, **call).signals[name]


class TestDeclaredEcho:
    @pytest.mark.parametrize("history", [0, 100])
    def test_the_wrong_answer_is_blocked_every_time(self, history: int) -> None:
        """25 of 25: what is learned of the echo does not stand in place of the declaration."""
        rng = random.Random(history + 1)
        engine = VerificationEngine()
        engine.register_tool_profile(TOOL, echoes={"sku": "sku"}, max_blocks=1_000)
        for number in range(history):
            sku = f"SKU-{number}"
            assert engine.verify(TOOL, args={"sku": sku}, result=price(rng, sku)).verdict == "accept"

        verdicts = [
            engine.verify(TOOL, args={"sku": f"SKU-{number}"}, result=price(rng, "QX 55")).verdict
            for number in range(10, 35)
        ]

        assert verdicts == ["block"] * 25

    def test_after_max_blocks_it_is_still_not_accepted(self) -> None:
        rng = random.Random(3)
        engine = VerificationEngine()
        engine.register_tool_profile(TOOL, echoes={"sku": "sku"})
        for number in range(100):
            engine.verify(TOOL, args={"sku": f"SKU-{number}"}, result=price(rng, f"SKU-{number}"))
        wrong = [engine.verify(TOOL, args={"sku": f"SKU-{n}"}, result=price(rng, "QX 55")) for n in range(10, 35)]
        assert wrong[0].verdict == "block"
        assert "accept" not in {verdict.verdict for verdict in wrong}
        assert all(verdict.signals["echo_mismatch"].p_value is None for verdict in wrong)

    @pytest.mark.parametrize(
        ("asked", "answered", "holds"),
        [
            ("SKU-1", "SKU-10", False),  # a number is no part of a longer one
            ("SKU-10", "SKU-1", False),
            ("SKU-1", "sku-1 (blue)", True),
            ("SKU-1", None, True),  # no value, which says nothing
            ("SKU-1", "", True),
            ("SKU-1", False, False),
            ("Paris, France", "Paris", True),
            (4711, "0004711", True),
            (4711, 4711.0, True),
            (47, 4711, False),
            (12, 12.5, False),
            (7, "ORD-0007", True),
            ("DE", "DEU", False),  # two letters are found anywhere
            ("DE", "Germany (DE)", True),
        ],
    )
    def test_is_held_to_the_argument_itself(self, asked: Any, answered: Any, holds: bool) -> None:
        engine = VerificationEngine()
        engine.register_tool_profile(TOOL, echoes={"sku": "item"})
        declared = signal(engine, "echo_mismatch", args={"sku": asked}, result={"item": answered, "price": 4.5})
        assert (declared.fired and declared.p_value is None) is not holds

    @pytest.mark.parametrize(
        ("echoes", "args", "right", "wrong"),
        [
            ({"line_1": "to.line_1"}, {"line_1": "Elm St"}, {"to": {"line_1": "Elm St"}}, {"to": {"line_1": "Oak"}}),
            ({"q.id": "a.b"}, {"q": {"id": "abc"}}, {"a.b": "abc"}, {"a.b": "xyz"}),
            ({"id": "ids"}, {"id": "abc"}, {"ids": ["xyz", "abc"]}, {"ids": ["xyz"]}),
            ({"ids[]": "rows[].id"}, {"ids": ["u1", "u2"]}, {"rows": [{"id": "u2"}]}, {"rows": [{"id": "u3"}]}),
            ({"id": "id"}, {"id": "abc"}, "id: abc\nname: Ann", "id: xyz\nname: Ann"),
            ({"id": "id"}, {"id": "abc"}, '{"error": "abc", "id": "abc"}', '{"error": "x", "id": "xyz"}'),
        ],
    )  # fmt: skip
    def test_places_of_every_form(self, echoes: Any, args: Any, right: Any, wrong: Any) -> None:
        engine = VerificationEngine()
        engine.register_tool_profile(TOOL, echoes=echoes)
        assert not signal(engine, "echo_mismatch", args=args, result=right).fired
        broken = signal(engine, "echo_mismatch", args=args, result=wrong)
        assert broken.fired
        assert broken.p_value is None
        assert repr(next(iter(echoes))) in broken.detail


class TestRows:
    @staticmethod
    def known(echoes: Any, results: int = 0, *, strangers: bool = False) -> VerificationEngine:
        """An engine with a history of results of two to five rows; with strangers, the last row is another's."""
        rng = random.Random(5)
        engine = VerificationEngine()
        if echoes is not None:
            engine.register_tool_profile(TOOL, echoes=echoes)
        for _ in range(results):
            own = customer(rng)
            ids = [own] * rng.randint(2, 5)
            engine.verify(TOOL, args={"customer_id": own}, result=rows(rng, *ids[strangers:], *["C0"] * strangers))
        return engine

    LEAK = rows(random.Random(9), "C1234", "C8888", "C7777", "C6666")
    ARGS = {"customer_id": "C1234"}  # noqa: RUF012  # no test writes into it

    @pytest.mark.parametrize("results", [0, 60])
    def test_every_row_where_that_is_declared(self, results: int) -> None:
        engine = self.known({"customer_id": {"path": "[].customer_id", "rows": "every"}}, results)
        verdict = engine.verify(TOOL, args=self.ARGS, result=self.LEAK, learn=False)
        assert verdict.verdict == "block"
        assert "3 of 4" in verdict.signals["echo_mismatch"].detail

    @pytest.mark.parametrize("position", [0, 30, 59])
    def test_every_row_of_many(self, position: int) -> None:
        """Each row is looked at, not a sample of them."""
        engine = self.known({"customer_id": {"path": "[].customer_id", "rows": "every"}})
        owners = ["C1234"] * 60
        owners[position] = "C8888"
        result = rows(random.Random(1), *owners)
        assert "1 of 60" in signal(engine, "echo_mismatch", args=self.ARGS, result=result).detail

    @pytest.mark.parametrize("results", [0, 60])
    def test_one_row_is_enough_where_any_is_declared(self, results: int) -> None:
        engine = self.known({"customer_id": {"path": "[].customer_id", "rows": "any"}}, results)
        assert not signal(engine, "echo_mismatch", args=self.ARGS, result=self.LEAK).fired
        assert signal(engine, "echo_mismatch", args=self.ARGS, result=self.LEAK[1:]).p_value is None

    @pytest.mark.parametrize(("results", "is_broken"), [(0, False), (4, False), (5, True), (60, True)])
    def test_as_the_rows_of_the_past_where_nothing_is_said(self, results: int, is_broken: bool) -> None:
        engine = self.known({"customer_id": "[].customer_id"}, results)
        declared = signal(engine, "echo_mismatch", args=self.ARGS, result=self.LEAK)
        assert (declared.fired and declared.p_value is None) is is_broken

    def test_one_row_is_enough_where_it_was_in_the_past(self) -> None:
        engine = self.known({"customer_id": "[].customer_id"}, 60, strangers=True)
        assert not signal(engine, "echo_mismatch", args=self.ARGS, result=self.LEAK).fired

    def test_a_declared_place_of_another_name_is_learned_too(self) -> None:
        engine = VerificationEngine()
        engine.register_tool_profile(TOOL, echoes={"customer_id": "data.page.orders[].owner"})
        rng = random.Random(2)

        def answer(*owners: str) -> Any:
            return {"data": {"page": {"orders": [{"n": rng.random(), "owner": owner} for owner in owners]}}}

        for _ in range(20):
            own = customer(rng)
            engine.verify(TOOL, args={"customer_id": own}, result=answer(own, own, own))
        wrong = engine.verify(TOOL, args=self.ARGS, result=answer("C1234", "C8888"), learn=False)
        assert wrong.verdict == "block"

    def test_undeclared_rows_are_held_to_what_all_rows_were(self) -> None:
        engine = self.known(None, 60)
        verdict = engine.verify(TOOL, args=self.ARGS, result=self.LEAK, learn=False)
        assert verdict.verdict != "accept"
        assert verdict.signals["relation_mismatch"].fired
        assert "not every row's" in verdict.signals["relation_mismatch"].detail

    def test_undeclared_rows_of_others_are_usual_where_they_were(self) -> None:
        engine = self.known(None, 60, strangers=True)
        assert not signal(engine, "echo_mismatch", args=self.ARGS, result=self.LEAK).fired


class TestLatency:
    @pytest.mark.parametrize("ms", [0.05, 0.3, 3.0, 12.0, 40.0, 60_000.0])
    def test_a_time_that_nobody_declared_is_no_evidence(self, ms: float) -> None:
        """A profile with other fields; 100 honest calls of any speed."""
        rng = random.Random(1)
        engine = VerificationEngine()
        engine.register_tool_profile(TOOL, required_fields=["sku"])
        for number in range(100):
            verdict = engine.verify(
                TOOL,
                args={"sku": f"A{number}"},
                result=price(rng, f"A{number}"),
                execution_time_ms=ms * rng.lognormvariate(0, 0.1),
            )
            assert verdict.verdict == "accept"
            assert "declared" not in verdict.signals["latency_anomaly"].detail

    @pytest.mark.parametrize("network", [{}, {"has_network_io": True}, {"has_network_io": False}], ids=repr)
    @pytest.mark.parametrize(
        ("ms", "said"),
        [
            (99.9, "99.9 ms, declared to take 100 ms or more"),
            (0.05, "0.05 ms, declared to take 100 ms or more"),
            (5_001.0, "5,001 ms, declared to take 5,000 ms at most"),
            (60_000.0, "60,000 ms, declared to take 5,000 ms at most"),
            (100.0, "within the declared time"),
            (5_000.0, "within the declared time"),
        ],
    )
    def test_both_bounds_hold_with_and_without_a_network(self, network: Any, ms: float, said: str) -> None:
        engine = VerificationEngine()
        engine.register_tool_profile(TOOL, expected_latency_ms=(100, 5000), **network)
        verdict = engine.verify(TOOL, result={"a": 1}, execution_time_ms=ms, learn=False)
        latency = verdict.signals["latency_anomaly"]
        assert latency.detail == said
        assert latency.fired is (said != "within the declared time")
        assert (verdict.verdict == "accept") is not latency.fired

    @pytest.mark.parametrize("ms", [20.0, 70_000.0])
    def test_a_broken_bound_is_not_unlearned(self, ms: float) -> None:
        rng = random.Random(7)
        engine = VerificationEngine()
        engine.register_tool_profile(TOOL, expected_latency_ms=(100, 5000))
        for _ in range(100):
            engine.verify(TOOL, result={"a": rng.random()}, execution_time_ms=rng.uniform(200, 300))
        for _ in range(25):
            verdict = engine.verify(TOOL, result={"a": rng.random()}, execution_time_ms=ms)
            assert verdict.verdict != "accept"
            assert verdict.signals["latency_anomaly"].p_value is None

    @pytest.mark.parametrize(
        ("fields", "ms", "ratio"),
        [
            ({"expected_latency_ms": (100, 5_000)}, 99.0, 3.5),
            ({"expected_latency_ms": (100, 5_000)}, 2.5, 3.5),
            ({"expected_latency_ms": (100, 5_000)}, 1.9, 10.5),  # instant, in a tenth of the declared time
            ({"expected_latency_ms": (100, 5_000), "has_network_io": False}, 1.9, 10.5),
            ({"expected_latency_ms": (3, 5_000)}, 1.9, 3.5),
            ({"expected_latency_ms": (3, 5_000), "has_network_io": True}, 1.9, 10.5),  # instant, over a network
            ({"has_network_io": True}, 0.1, 3.5),
            ({"expected_latency_ms": (100, 5_000)}, 9_000.0, 3.5),
        ],
        ids=repr,
    )
    def test_an_instant_answer_of_a_tool_that_takes_time_counts_three_times(
        self, fields: Any, ms: float, ratio: float
    ) -> None:
        engine = VerificationEngine()
        engine.register_tool_profile(TOOL, **fields)
        latency = signal(engine, "latency_anomaly", result={"a": 1}, execution_time_ms=ms)
        assert latency.likelihood_ratio == pytest.approx(ratio)

    def test_a_declared_network_is_not_crossed_in_two_milliseconds(self) -> None:
        engine = VerificationEngine()
        engine.register_tool_profile(TOOL, has_network_io=True)
        latency = signal(engine, "latency_anomaly", result={"a": 1}, execution_time_ms=1.9)
        assert latency.fired
        assert latency.detail == "1.9 ms, declared to cross a network, which takes 2 ms or more"
        assert not signal(engine, "latency_anomaly", result={"a": 1}, execution_time_ms=2.0).fired

    @pytest.mark.parametrize("fields", [{}, {"expected_latency_ms": (100, 5000)}, {"has_network_io": True}], ids=repr)
    def test_a_cache_may_answer_at_once_and_not_late(self, fields: Any) -> None:
        engine = VerificationEngine()
        engine.register_tool_profile(TOOL, cacheable=True, **fields)
        soon = signal(engine, "latency_anomaly", result={"a": 1}, execution_time_ms=0.01)
        assert soon.likelihood_ratio == 1.0
        assert "declared" not in soon.detail
        late = signal(engine, "latency_anomaly", result={"a": 1}, execution_time_ms=6_000.0)
        assert late.fired is ("expected_latency_ms" in fields)

    def test_an_unregistered_tool_is_held_to_no_time(self) -> None:
        engine = VerificationEngine()
        for ms in (0.05, 120_000.0):
            assert not signal(engine, "latency_anomaly", result={"a": 1}, execution_time_ms=ms).applicable

    def test_the_defaults_of_the_document_hold_in_reference_mode(self) -> None:
        """They are the document's own: 50 ms to 30 s where a profile says nothing, 2 ms to 60 s without one."""
        engine = VerificationEngine(mode="reference")
        for ms, fired in ((1.0, True), (10.0, False), (50_000.0, False), (70_000.0, True)):
            assert signal(engine, "latency_anomaly", result={"a": 1}, execution_time_ms=ms).fired is fired
        engine.register_tool_profile(TOOL, required_fields=["a"], has_network_io=False)
        for ms, fired in ((1.0, True), (60.0, False), (29_000.0, False), (31_000.0, True)):
            assert signal(engine, "latency_anomaly", result={"a": 1}, execution_time_ms=ms).fired is fired


ERRORS = ("Error: no such order", {"error": "no such order"}, "Traceback (most recent call last): boom")


class TestErrors:
    DECLARED: tuple[tuple[str, dict[str, Any]], ...] = (
        ("schema_mismatch", {"required_fields": ["order_id"]}),
        ("schema_mismatch", {"output_schema": {"type": "object", "required": ["order_id"]}}),
        ("pattern_mismatch", {"response_patterns": ["order_id"]}),
        ("length_anomaly", {"min_response_length": 500}),
        ("latency_anomaly", {"expected_latency_ms": (50, 5_000)}),
    )

    @pytest.mark.parametrize("result", ERRORS, ids=repr)
    @pytest.mark.parametrize(("name", "fields"), DECLARED, ids=repr)
    def test_what_reads_like_an_error_is_held_to_what_is_declared(self, name: str, fields: Any, result: Any) -> None:
        engine = VerificationEngine()
        engine.register_tool_profile(TOOL, **fields)
        verdict = engine.verify(TOOL, result=result, execution_time_ms=1.0, learn=False)
        assert verdict.signals[name].fired
        assert verdict.verdict != "accept"

    @pytest.mark.parametrize("result", ERRORS, ids=repr)
    @pytest.mark.parametrize(("name", "fields"), DECLARED, ids=repr)
    def test_a_profile_may_allow_errors(self, name: str, fields: Any, result: Any) -> None:
        engine = VerificationEngine()
        engine.register_tool_profile(TOOL, allow_errors=True, **fields)
        assert not signal(engine, name, result=result, execution_time_ms=1.0).fired
        assert signal(engine, name, result={"rows": []}, execution_time_ms=1.0).fired

    @pytest.mark.parametrize("result", [*ERRORS, "the order was not entered", {"code": 7}], ids=repr)
    @pytest.mark.parametrize(("name", "fields"), DECLARED, ids=repr)
    def test_an_error_by_the_frameworks_word_is_let_through(self, name: str, fields: Any, result: Any) -> None:
        engine = VerificationEngine()
        engine.register_tool_profile(TOOL, forbidden_fields=["error"], **fields)
        verdict = engine.verify(TOOL, result=result, execution_time_ms=1.0, is_error=True, learn=False)
        assert not verdict.signals[name].fired
        assert verdict.verdict == "accept"

    def test_allowed_errors_answer_for_their_forbidden_fields(self) -> None:
        engine = VerificationEngine()
        engine.register_tool_profile(TOOL, allow_errors=True, required_fields=["a"], forbidden_fields=["mock"])
        schema = signal(engine, "schema_mismatch", result={"error": "x", "mock": 1})
        assert schema.detail == "forbidden field 'mock' is present"


class TestNoNumber:
    @staticmethod
    def known(odd: Any = None) -> VerificationEngine:
        rng = random.Random(4)
        engine = VerificationEngine()
        for number in range(60):
            result = price(rng, f"A{number}")
            if odd is not None and number % 6 == 0:
                result["price"] = odd
            engine.verify(TOOL, args={"sku": f"A{number}"}, result=result)
        return engine

    @pytest.mark.parametrize("written", ["NaN", "Infinity", "-Infinity"])
    @pytest.mark.parametrize("as_text", [True, False])
    def test_where_numbers_were_is_another_kind_of_value(self, written: str, as_text: bool) -> None:
        text = f'{{"sku": "A77", "price": {written}, "stock": 4}}'
        result = text if as_text else {"sku": "A77", "price": float(written), "stock": 4}
        verdict = self.known().verify(TOOL, args={"sku": "A77"}, result=result, learn=False)
        assert verdict.verdict != "accept"
        assert verdict.signals["format_mismatch"].fired
        assert "price" in verdict.signals["format_mismatch"].detail

    def test_in_a_row(self) -> None:
        engine = VerificationEngine()
        rng = random.Random(6)
        for _ in range(40):
            engine.verify(TOOL, args={"n": rng.random()}, result=[{"x": rng.random(), "y": None} for _ in range(4)])
        bad = [{"x": 0.5, "y": None}, {"x": float("nan"), "y": None}]
        assert signal(engine, "format_mismatch", args={"n": 7}, result=bad).fired

    def test_a_path_that_had_such_values_is_used_to_them(self) -> None:
        engine = self.known(odd=float("inf"))
        result = {"sku": "A77", "price": float("nan"), "stock": 4}
        verdict = engine.verify(TOOL, args={"sku": "A77"}, result=result, learn=False)
        assert verdict.verdict == "accept"
        assert not verdict.signals["format_mismatch"].fired


# A broken declaration speaks against a call: whatever else is declared or learned, it never lowers the posterior.

KNOWN: dict[str, Any] = {"sku": "A7", "price": 33.5, "rows": [{"sku": "A7"}, {"sku": "A7"}]}
RESULTS = st.sampled_from(
    [
        KNOWN,
        {"sku": "A7", "price": 33.5},
        {**KNOWN, "sku": "B9"},
        {**KNOWN, "rows": [{"sku": "A7"}, {"sku": "B9"}]},
        {**KNOWN, "price": float("nan")},
        {**KNOWN, "price": 9e9},
        {**KNOWN, "mock": True},
        "It is sunny.",
        "Error: no such thing",
        {"error": "no such thing"},
        '{"sku": "A7", "pri',
        "",
        [KNOWN],
    ]
)
BROKEN: dict[str, Any] = {
    "schema_mismatch": st.sampled_from(
        [{"required_fields": ["nowhere"]}, {"forbidden_fields": ["price", "mock"]}, {"output_schema": False}]
    ),
    "pattern_mismatch": st.just({"response_patterns": ["nothing like it"]}),
    "length_anomaly": st.sampled_from([{"min_response_length": 5_000}, {"max_response_length": 3}]),
    "latency_anomaly": st.sampled_from(
        [{"expected_latency_ms": (200, 9_000)}, {"expected_latency_ms": (0, 0.001)}, {"has_network_io": True}]
    ),
    "echo_mismatch": st.sampled_from(
        [{"echoes": {"sku": "sku"}}, {"echoes": {"sku": {"path": "rows[].sku", "rows": "every"}}}]
    ),
}
PROFILES = st.fixed_dictionaries({}, optional=BROKEN).map(
    lambda chosen: {key: value for fields in chosen.values() for key, value in fields.items()}
)
RATIOS = st.dictionaries(st.sampled_from(sorted(BROKEN)), st.floats(0.1, 50.0))


class Warm:
    """A tool's memory, of calls of one kind, and what the default method makes of a call under any profile."""

    def __init__(self, history: int) -> None:
        self.method = Calibrated()
        self.memory = self.method.new_memory(TOOL)
        rng = random.Random(history)
        for number in range(history):
            sku = f"A{number}"
            result = {"sku": sku, "price": round(rng.uniform(20, 70), 2), "rows": [{"sku": sku}] * rng.randint(1, 3)}
            case = self.case(ToolCall(TOOL, {"sku": sku}, result, rng.uniform(80, 120)), {}, {})
            self.method.learn(case, *self.judged(case))

    def case(self, call: ToolCall, profile: dict[str, Any], ratios: dict[str, float]) -> Case:
        contract = Contract(ToolProfile(name=TOOL, **profile)) if profile else Contract.unregistered(TOOL)
        settings = Settings(likelihood_ratios=ratios)
        return Case(call, read(call.result), contract, self.memory, settings, Arguments(call.args))

    def judged(self, case: Case) -> tuple[dict[str, SignalResult], Decision]:
        signals = {check.name: check(case) for _, checks in self.method.tiers for check in checks}
        return signals, self.method.decide(case, 0.15, signals)


def broken(signals: dict[str, SignalResult]) -> set[str]:
    """The declarations that a call breaks: such a signal has no p-value."""
    return {name for name, signal in signals.items() if signal.fired and signal.p_value is None}


TOOLS = {history: Warm(history) for history in (0, 5, 80)}


@given(
    history=st.sampled_from(sorted(TOOLS)),
    profile=PROFILES,
    ratios=RATIOS,
    result=RESULTS,
    sku=st.sampled_from(["A7", "A777", "Z1"]),
    ms=st.sampled_from([None, 0.3, 30.0, 99.0, 1e6]),
    is_error=st.booleans(),
)
def test_a_broken_declaration_never_lowers_the_posterior(
    history: int, profile: dict[str, Any], ratios: Any, result: Any, sku: str, ms: float | None, is_error: bool
) -> None:
    """Against the same call, with the same history, without the profile; what a new tool breaks, a known one does."""
    tool = TOOLS[history]
    call = ToolCall(TOOL, {"sku": sku}, result, ms, is_error=is_error)
    _, undeclared = tool.judged(tool.case(call, {}, ratios))
    signals, declared = tool.judged(tool.case(call, profile, ratios))
    new, _ = TOOLS[0].judged(TOOLS[0].case(call, profile, ratios))
    assert broken(signals) == broken(new)
    if broken(signals):
        assert declared.posterior >= undeclared.posterior - 1e-12
        order = ("accept", "flag", "block")
        assert order.index(declared.verdict) >= order.index(undeclared.verdict)


def warm_engine() -> VerificationEngine:
    rng = random.Random(8)
    engine = VerificationEngine()
    for number in range(80):
        sku = f"A{number}"
        result = {"sku": sku, "price": round(rng.uniform(20, 70), 2), "rows": [{"sku": sku}] * rng.randint(1, 3)}
        engine.verify(TOOL, args={"sku": sku}, result=result, execution_time_ms=rng.uniform(80, 120))
    return engine


ENGINE = warm_engine()


@given(profile=PROFILES, result=RESULTS, sku=st.sampled_from(["A7", "Z1"]), ms=st.sampled_from([None, 0.3, 99.0, 1e6]))
def test_nor_does_it_in_the_engine(profile: dict[str, Any], result: Any, sku: str, ms: float | None) -> None:
    """A block by the declaration alone leaves nothing out that was learned."""
    judged = []
    for fields in ({}, profile):
        ENGINE.register_tool_profile(TOOL, **fields)
        judged.append(ENGINE.verify(TOOL, args={"sku": sku}, result=result, execution_time_ms=ms, learn=False))
    if broken(judged[1].signals):
        assert judged[1].posterior >= judged[0].posterior - 1e-12


@pytest.mark.parametrize("apart", [2, 5])
def test_what_breaks_a_declaration_becomes_no_mode_however_often_it_comes_between_ordinary_calls(apart: int) -> None:
    engine = VerificationEngine()
    engine.register_tool_profile("weather", required_fields=["degrees"])
    verdicts = []
    for number in range(60):
        for place in range(apart):
            engine.verify("weather", args={"n": number, "place": place}, result={"degrees": number + place})
        verdicts.append(engine.verify("weather", args={"n": number}, result={}).verdict)

    assert set(verdicts) == {"block"}
