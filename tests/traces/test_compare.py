"""A comparison counts what two engines said of the same call, keeps the greatest changes, and holds no more."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.traces import BrokenLine, TraceRow, VerdictCounts
from agentguard.traces._compare import Change, Comparing, ToolComparison, VerdictMatrix, compare
from agentguard.traces._read import parse_line
from agentguard.traces._replay import MAX_TOOLS, OTHER_TOOLS
from agentguard.verification import SignalResult, ToolCall, VerificationEngine, VerificationResult, VerificationTier
from agentguard.verification.types import Verdict

from ..rows import over

TIER = VerificationTier.TIER_1


def verdict_of(posterior: float) -> Verdict:
    return "block" if posterior >= 0.5 else "flag" if posterior >= 0.2 else "accept"


class Scripted:
    """Takes one field of the result as its posterior, and remembers what it was asked."""

    def __init__(self, side: int, contributions: Mapping[str, float] | None = None, prior: float = 0.15) -> None:
        self.side = side
        self.contributions = contributions or {}
        self.prior = prior
        self.asked: list[dict[str, Any]] = []

    def verify(self, tool: str, **fields: Any) -> VerificationResult:
        self.asked.append({"tool": tool, **fields})
        posterior = fields["result"][self.side]
        signals = {
            name: SignalResult(name, True, True, 1.0, 2.0, None, TIER, f"{name} said {self.side}")
            for name in self.contributions
        }
        return VerificationResult(
            verdict_of(posterior), posterior, self.prior, signals, self.contributions, TIER, None, tool, None, ""
        )


def row(before: float, after: float, tool: str = "t", line: int = 1, label: str | None = None) -> TraceRow:
    return TraceRow("calls.jsonl", line, ToolCall(tool, {"k": 1}, (before, after), 12.5, "s", "c"), label)


def both(**new: Any) -> tuple[Scripted, Scripted]:
    return Scripted(0), Scripted(1, **new)


def test_both_engines_are_given_the_call_and_nothing_else() -> None:
    old, new = both()

    compare([row(0.1, 0.9, label="swapped")], old, new)

    fields = {"args": {"k": 1}, "result": (0.1, 0.9), "execution_time_ms": 12.5, "session_id": "s", "call_id": "c"}
    assert old.asked == new.asked == [{"tool": "t", **fields, "is_error": False}]


def test_verdicts_are_counted_from_and_to_by_tool() -> None:
    rows = [row(0.1, 0.1, "a"), row(0.1, 0.9, "a"), row(0.9, 0.3, "b"), row(0.3, 0.1, "b"), row(0.3, 0.9, "b")]

    found = compare(rows, *both())

    assert found.matrix == VerdictMatrix(VerdictCounts(1, 0, 1), VerdictCounts(1, 0, 1), VerdictCounts(0, 1, 0))
    assert (found.matrix.calls, found.matrix.changed, found.matrix.stricter, found.matrix.looser) == (5, 4, 2, 2)
    assert [tool.tool for tool in found.tools] == ["b", "a"]  # most changed first
    assert found.tools[0].matrix == VerdictMatrix(VerdictCounts(), VerdictCounts(1, 0, 1), VerdictCounts(0, 1, 0))
    assert [tool.mean_shift for tool in found.tools] == pytest.approx([(-0.6 - 0.2 + 0.6) / 3, 0.4])


@over(
    ("pairs", "worst"),
    [
        ([(0.1, 0.1), (0.9, 0.9)], None),
        ([(0.9, 0.1), (0.9, 0.3), (0.3, 0.1)], None),
        ([(0.1, 0.3), (0.9, 0.1)], "flag"),
        ([(0.1, 0.3), (0.3, 0.9)], "block"),
        ([(0.1, 0.9)], "block"),
    ],
)
def test_the_worst_new_verdict_is_one_that_a_call_did_not_have(pairs: list[Any], worst: str | None) -> None:
    assert compare([row(*pair) for pair in pairs], *both()).matrix.worst_new == worst


def test_a_change_names_its_place_and_the_signal_that_moved_most() -> None:
    old = Scripted(0, {"length_anomaly": 0.5, "schema_mismatch": 0.1})
    new = Scripted(1, {"length_anomaly": 0.1, "schema_mismatch": 3.0})

    (change,) = compare([row(0.1, 0.9, "get_price", 41, "stale")], old, new).changes

    assert change == Change(
        "calls.jsonl", 41, "get_price", "accept", "block", 0.1, 0.9,
        "schema_mismatch", pytest.approx(2.9), "schema_mismatch said 1", "stale",
    )  # fmt: skip


def test_a_signal_that_the_new_engine_lost_is_told_in_the_old_ones_words() -> None:
    (change,) = compare([row(0.9, 0.1)], Scripted(0, {"pattern_mismatch": 4.0}), Scripted(1)).changes

    assert (change.signal, change.nats, change.detail) == ("pattern_mismatch", -4.0, "pattern_mismatch said 0")


def test_where_no_signal_moved_the_prior_or_the_bound_did() -> None:
    (prior,) = compare([row(0.1, 0.3)], Scripted(0), Scripted(1, prior=0.3)).changes
    (bound,) = compare([row(0.1, 0.3)], Scripted(0), Scripted(1)).changes

    # ln(0.3 / 0.7) - ln(0.15 / 0.85)
    assert (prior.signal, prior.nats, prior.detail) == ("prior", pytest.approx(0.88730320), "0.150 to 0.300")
    assert (bound.signal, bound.nats) == ("false-block bound", 0.0)


scores = st.sampled_from([0.05, 0.1, 0.2, 0.3, 0.45, 0.5, 0.7, 0.99])


@given(st.lists(st.tuples(scores, scores), max_size=40), st.integers(0, 12))
def test_the_greatest_changes_are_those_of_a_full_sort(pairs: list[tuple[float, float]], worst: int) -> None:
    rows = [row(*pair, line=number) for number, pair in enumerate(pairs)]

    found = compare(rows, *both(), comparing=Comparing(worst=worst))

    order = ("accept", "flag", "block")
    ranked = sorted(
        (
            (-abs(order.index(verdict_of(after)) - order.index(verdict_of(before))), -abs(after - before), number)
            for number, (before, after) in enumerate(pairs)
            if verdict_of(before) != verdict_of(after)
        )
    )
    assert [change.line for change in found.changes] == [number for _, _, number in ranked[:worst]]
    assert found.matrix.changed == len(ranked)
    assert found.matrix.calls == len(pairs)


def test_labels_are_reported_only_where_one_is_not_genuine() -> None:
    genuine = compare([row(0.1, 0.9, label="genuine"), row(0.1, 0.1)], *both())
    mixed = compare([row(0.1, 0.9, label="genuine"), row(0.1, 0.9, label="stale")], *both())

    moved = VerdictMatrix(accept=VerdictCounts(0, 0, 1))
    assert genuine.labels == {}
    assert mixed.labels == {"genuine": moved, "stale": moved}


def test_on_change_sees_changed_calls_only() -> None:
    seen: list[tuple[int, str, str]] = []

    compare([row(0.1, 0.1, line=1), BrokenLine("f", 2, "x"), row(0.1, 0.9, line=3)], *both(),
            lambda call, old, new: seen.append((call.line, old.verdict, new.verdict)))  # fmt: skip

    assert seen == [(3, "accept", "block")]


def test_limit_broken_lines_and_interruptions_are_those_of_a_replay() -> None:
    comparing = Comparing()

    def rows() -> Any:
        yield BrokenLine("f", 1, "x")
        yield row(0.1, 0.9)
        raise KeyboardInterrupt

    assert compare([row(0.1, 0.1)] * 3, *both(), limit=2).matrix.calls == 2
    assert compare(rows(), *both(), limit=0).matrix.calls == 0
    with pytest.raises(KeyboardInterrupt):
        compare(rows(), *both(), comparing=comparing)
    found = comparing.summary()
    assert (found.broken, found.first_broken, found.matrix.calls) == (1, (BrokenLine("f", 1, "x"),), 1)


def test_tools_beyond_the_bound_share_one_record() -> None:
    found = compare((row(0.1, 0.9, f"tool{number}") for number in range(MAX_TOOLS + 5)), *both())

    assert len(found.tools) == MAX_TOOLS + 1
    assert found.tools[0] == ToolComparison(OTHER_TOOLS, VerdictMatrix(VerdictCounts(0, 0, 5)), pytest.approx(0.8))


def test_a_comparison_is_plain_data() -> None:
    data = json.loads(json.dumps(compare([row(0.1, 0.9, label="stale")], *both()).as_dict()))

    assert (data["calls"], data["changed"], data["stricter"], data["looser"]) == (1, 1, 1, 0)
    assert data["matrix"]["accept"] == {"accept": 0, "flag": 0, "block": 1}
    assert (data["tools"][0]["tool"], data["labels"]["stale"]["changed"]) == ("t", 1)
    assert (data["changes"][0]["before"], data["changes"][0]["after"]) == ("accept", "block")


def test_each_engine_learns_as_it_would_alone() -> None:
    rows = [
        parse_line(json.dumps({"tool": "t", "result": {"id": n} if n % 7 else {"wrong": n}}).encode(), "f", n)
        for n in range(1, 61)
    ]

    def engine(*, declared: bool) -> VerificationEngine:
        made = VerificationEngine()
        if declared:
            made.register_tool_profile("t", required_fields=["id"])
        return made

    seen: list[tuple[str, str]] = []
    old, new = engine(declared=False), engine(declared=True)
    found = compare(rows, old, new)

    alone = [engine(declared=False), engine(declared=True)]
    for item in rows:
        assert isinstance(item, TraceRow)
        one, other = (each.verify("t", result=item.call.result).verdict for each in alone)
        seen.append((one, other))
    assert found.matrix.changed == sum(one != other for one, other in seen)
    assert found.matrix.accept.block == seen.count(("accept", "block"))
    assert found.matrix.changed > 0
