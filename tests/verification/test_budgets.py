"""How much of a result is looked at, and that a result which would grow without bound does not."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard import ProfileError, VerificationEngine
from agentguard.verification import _canonical
from agentguard.verification._canonical import MAX_WEIGHT, args_key, plain, weighs_too_much
from agentguard.verification._document import Limits, read
from agentguard.verification._walk import Walk, layout_of

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats() | st.text(max_size=20),
    lambda below: st.lists(below, max_size=6) | st.dictionaries(st.text(max_size=6), below, max_size=6),
    max_leaves=40,
)


@pytest.fixture
def _fewer_nodes(monkeypatch):
    """A tenth of the values that are made plain of one object."""
    monkeypatch.setattr(_canonical, "MAX_NODES", 20_000)
    monkeypatch.setattr(_canonical.made_plain, "__defaults__", (20_000,))


def doubled(times):
    """Lists of lists, each holding the one below it ten times: 10^times leaves."""
    value = ["ha"]
    for _ in range(times):
        value = [value] * 10
    return value


class TestBytes:
    def test_text_beyond_the_limit_is_not_parsed(self):
        text = json.dumps({"rows": ["x" * 400] * 8})
        small, large = (read(text, Limits(max_bytes=size)) for size in (len(text), len(text) - 1))
        assert (small.kind, small.complete) == ("object", True)
        assert (large.kind, large.complete, large.leaves, large.size) == ("large", False, {}, len(text))
        assert not large.unclosed
        assert not large.is_error

    def test_large_results_of_a_tool_are_told_from_another_by_their_digest(self):
        one, other = (read("a" * 2_000 + end, Limits(max_bytes=1_024)) for end in "xy")
        assert one.digest != other.digest

    def test_a_tool_of_large_results_is_still_guarded(self):
        engine = VerificationEngine()
        engine.register_tool_profile("dump", max_bytes=1_024, required_fields=["rows"])
        verdicts = [
            engine.verify("dump", args={"n": n}, result=json.dumps({"rows": [f"row {n}"] * 300})) for n in range(30)
        ]
        assert {verdict.verdict for verdict in verdicts} == {"flag"}  # what is declared could not be checked
        assert "max_bytes" in verdicts[-1].signals["schema_mismatch"].detail
        assert verdicts[-1].signals["length_anomaly"].applicable


class TestNodes:
    def test_of_more_values_a_sample_is_walked(self):
        value = {f"k{chr(97 + n)}": {"a": 1, "b": 2} for n in range(20)}
        whole, part = read(value), read(value, Limits(max_nodes=30))
        assert whole.complete
        assert not part.complete
        assert 0 < len(part.leaves) < len(whole.leaves)
        assert part.text == whole.text

    def test_the_signal_says_that_it_saw_a_part(self):
        engine = VerificationEngine()
        engine.register_tool_profile("list", max_nodes=16)
        for n in range(12):
            verdict = engine.verify("list", args={}, result=[{"id": n + row, "name": "x"} for row in range(40)])
        assert "part" in verdict.signals["structure_mismatch"].detail

    @given(JSON, st.integers(16, 60), st.integers(1_024, 2_000))
    def test_any_limits_give_a_document(self, value, nodes, size):
        limits = Limits(size, nodes)
        for result in (value, json.dumps(value)):
            document = read(result, limits)
            assert sum(map(len, document.leaves.values())) <= 2 * nodes
            assert layout_of(document.forms, ()) is not None


@pytest.mark.parametrize("fields", [{"max_bytes": 10}, {"max_nodes": 1}, {"max_nodes": "many"}])
def test_a_budget_too_small_to_judge_by_is_refused(fields):
    with pytest.raises(ProfileError, match=next(iter(fields))):
        VerificationEngine().register_tool_profile("t", **fields)


@pytest.mark.usefixtures("_fewer_nodes")
class TestSharedParts:
    def test_a_value_that_holds_itself_many_times_weighs_what_its_text_would(self):
        # 10^4 times "ha" and the brackets around them, against 10^9 times.
        assert not weighs_too_much(doubled(4))
        assert weighs_too_much(doubled(9))

    def test_it_is_read_in_part(self):
        document = read(doubled(12))
        assert document.kind == "array"
        assert not document.complete
        assert document.size < MAX_WEIGHT

    @pytest.mark.parametrize("held", [lambda shared: (shared,), lambda shared: {"rows": [{"a": (shared, 1)}]}])
    def test_within_a_tuple_too(self, held):
        shared = ("leaf",)
        for _ in range(60):
            shared = (shared, shared)
        assert read(held(shared)).size < MAX_WEIGHT
        assert read(held(doubled(12))).size < MAX_WEIGHT

    @pytest.mark.parametrize("held", [lambda shared: shared, lambda shared: {"a": shared}, lambda shared: (shared,)])
    def test_arguments_that_hold_themselves_many_times_have_a_key(self, held):
        assert args_key(held(doubled(12))) == args_key(held(doubled(12)))
        assert args_key(held(doubled(12))) != args_key(held(doubled(2)))

    @pytest.mark.parametrize(
        "held",
        [
            lambda shared: [*range(10), shared, 1, 2],
            lambda shared: {"rows": [{"n": n} for n in range(10)] + [{"a": {"b": shared}}] * 3 + [{"n": 1}] * 2},
            lambda shared: {**{f"k{n}": n for n in range(250)}, "last": shared},
            lambda shared: [[1]] * 10 + [(shared,)] + [[1]] * 2,
        ],
        ids=["in a list", "in rows", "behind many keys", "in a tuple"],
    )
    def test_where_the_walk_does_not_look(self, held):
        walk = Walk()
        walk.visit(held(doubled(7)))  # 10^7 leaves, which could still be written
        assert walk.is_heavy
        assert read(held(doubled(12))).size < MAX_WEIGHT

    def test_one_long_text_many_times_over_too(self):
        for value in (["x" * 1_000_000] * 1_000, [{"a": 1, "b": "x" * 1_000_000}] * 1_000):
            document = read(value)
            assert document.size < MAX_WEIGHT

    def test_what_holds_many_objects_once_is_not_heavy(self):
        for value in (
            [{"n": n, "of": {"n": n}} for n in range(10_000)],
            [[n, n + 1] for n in range(10_000)],
            [{"n": n, "text": "x" * 300} for n in range(10_000)],
        ):
            walk = Walk()
            walk.visit(value)
            assert not walk.is_heavy

    def test_an_ordinary_value_is_no_such_thing(self):
        rows = [{"id": n, "text": "x" * 100} for n in range(2_000)]
        assert not weighs_too_much(rows)
        assert read(rows).text == read(plain(rows)).text
