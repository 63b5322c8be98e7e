"""A replay counts what an engine said, keeps the worst, and holds no more than that."""

import io
import json
import random
import tracemalloc
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.traces import BrokenLine, Offender, Tally, TraceRow, VerdictCounts, read_traces, replay
from agentguard.traces._replay import MAX_TOOLS, OTHER_TOOLS
from agentguard.verification import ToolCall, VerificationEngine, VerificationResult, VerificationTier
from agentguard.verification.types import Verdict


def verdict_of(posterior: float) -> Verdict:
    return "block" if posterior >= 0.5 else "flag" if posterior >= 0.2 else "accept"


class Scripted:
    """An engine that takes the posterior from the result, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.explained = 0

    def verify(self, tool: str, **fields: Any) -> VerificationResult:
        self.asked.append({"tool": tool, **fields})
        posterior = fields["result"]
        note = f"said {posterior}"
        return VerificationResult(
            verdict_of(posterior), posterior, 0.15, {}, {}, VerificationTier.TIER_1, None, tool, None, note
        )


def row(posterior: float, tool: str = "t", line: int = 1, label: str | None = None) -> TraceRow:
    return TraceRow("calls.jsonl", line, ToolCall(tool, {"k": 1}, posterior, 12.5, "s", "c"), label)


def test_the_engine_is_given_the_call_and_nothing_else() -> None:
    engine = Scripted()

    replay([row(0.1, label="swapped")], engine)

    call = {"args": {"k": 1}, "result": 0.1, "execution_time_ms": 12.5, "session_id": "s", "call_id": "c"}
    assert engine.asked == [{"tool": "t", **call, "is_error": False}]


def test_a_call_that_the_framework_reported_as_failed_is_judged_as_such() -> None:
    engine, failed = Scripted(), row(0.1)

    replay([failed._replace(call=failed.call._replace(is_error=True))], engine)

    assert engine.asked[0]["is_error"] is True


def test_verdicts_are_counted_by_tool() -> None:
    rows = [row(0.1, "a"), row(0.3, "a"), row(0.8, "b"), row(0.6, "b"), row(0.1, "c"), row(0.1, "c")]

    summary = replay(rows, Scripted())

    assert summary.counts == VerdictCounts(3, 1, 2)
    assert [tool.tool for tool in summary.tools] == ["b", "a", "c"]  # most blocked, then most flagged
    b, a, c = summary.tools
    assert (b.counts, a.counts, c.counts) == (VerdictCounts(0, 0, 2), VerdictCounts(1, 1, 0), VerdictCounts(2, 0, 0))
    assert [tool.mean_posterior for tool in (b, a, c)] == pytest.approx([0.7, 0.2, 0.1])
    assert [tool.max_posterior for tool in (b, a, c)] == [0.8, 0.3, 0.1]
    assert summary.us_per_call is not None
    assert summary.us_per_call > 0


def test_an_empty_log_has_an_empty_summary() -> None:
    summary = replay([], Scripted())

    assert (summary.counts.calls, summary.tools, summary.offenders, summary.us_per_call) == (0, (), (), None)
    assert summary.counts.worst == "accept"


def test_broken_lines_are_all_counted_and_the_first_20_named() -> None:
    broken = [BrokenLine("f", number, "not JSON") for number in range(1, 26)]

    summary = replay([*broken, row(0.1)], Scripted())

    assert summary.broken == 25
    assert summary.first_broken == tuple(broken[:20])
    assert summary.counts.calls == 1


posteriors = st.lists(st.sampled_from([0.05, 0.2, 0.3, 0.45, 0.5, 0.7, 0.99]) | st.floats(0, 1), max_size=60)


@given(posteriors, st.integers(0, 12))
def test_the_worst_offenders_are_those_of_a_full_sort(scores: list[float], worst: int) -> None:
    rows = [row(score, f"tool{number % 3}", number + 1) for number, score in enumerate(scores)]

    summary = replay(rows, Scripted(), tally=Tally(worst=worst))

    suspects = [(score, number + 1) for number, score in enumerate(scores) if score >= 0.2]
    # Every blocked score is above every flagged one here, so a stable sort by posterior is the whole order.
    expected = sorted(suspects, key=lambda item: -item[0])[:worst]
    assert [(offender.posterior, offender.line) for offender in summary.offenders] == expected
    assert all(offender.verdict == verdict_of(offender.posterior) for offender in summary.offenders)


def test_a_blocked_call_is_worse_than_a_flagged_one_with_a_higher_posterior() -> None:
    # The calibrated engine flags at a high posterior where blocking would break its false-block guarantee.
    class Lenient(Scripted):
        def verify(self, tool: str, **fields: Any) -> VerificationResult:
            judged = super().verify(tool, **fields)
            return judged._replace(verdict="flag") if judged.posterior > 0.9 else judged

    summary = replay([row(0.95, line=1), row(0.6, line=2)], Lenient())

    assert [(offender.line, offender.verdict) for offender in summary.offenders] == [(2, "block"), (1, "flag")]


def test_an_offender_says_where_and_why() -> None:
    summary = replay([row(0.8, "get_price", 41)], Scripted())

    why = "block: P(fabricated) 0.800, prior 0.150. said 0.8"
    assert summary.offenders == (Offender("calls.jsonl", 41, "get_price", 0.8, "block", why),)


def test_labels_are_reported_only_where_one_is_not_genuine() -> None:
    genuine = replay([row(0.1, label="genuine"), row(0.9)], Scripted())
    mixed = replay([row(0.1, label="genuine"), row(0.9, label="stale"), row(0.3, label="stale"), row(0.1)], Scripted())

    assert genuine.labels == {}
    assert mixed.labels == {
        "(no label)": VerdictCounts(1, 0, 0),
        "genuine": VerdictCounts(1, 0, 0),
        "stale": VerdictCounts(0, 1, 1),
    }


def test_on_call_sees_every_call_with_its_verdict() -> None:
    seen: list[tuple[int, str]] = []

    replay([row(0.1, line=1), BrokenLine("f", 2, "x"), row(0.9, line=3)], Scripted(),
           on_call=lambda call, result: seen.append((call.line, result.verdict)))  # fmt: skip

    assert seen == [(1, "accept"), (3, "block")]


def test_limit_counts_calls_and_reads_no_further() -> None:
    def rows() -> Iterator[TraceRow | BrokenLine]:
        yield BrokenLine("f", 1, "x")
        yield row(0.1)
        yield row(0.1)
        raise AssertionError("read beyond the limit")

    assert replay(rows(), Scripted(), limit=2).counts.calls == 2
    assert replay(rows(), Scripted(), limit=0).counts.calls == 0


def test_a_tally_tells_what_was_counted_before_an_interruption() -> None:
    def rows() -> Iterator[TraceRow]:
        yield row(0.9)
        yield row(0.1)
        raise KeyboardInterrupt

    tally = Tally()
    with pytest.raises(KeyboardInterrupt):
        replay(rows(), Scripted(), tally=tally)

    assert tally.summary().counts == VerdictCounts(1, 0, 1)


def test_tools_beyond_the_bound_share_one_record() -> None:
    names = [f"tool{number}" for number in range(MAX_TOOLS + 5)]

    summary = replay((row(0.1, name) for name in [*names, *names]), Scripted())

    counted = {tool.tool: tool.counts.calls for tool in summary.tools}
    assert len(counted) == MAX_TOOLS + 1
    assert counted[OTHER_TOOLS] == 10
    assert counted["tool0"] == 2


def test_a_summary_is_plain_data() -> None:
    rows: list[TraceRow | BrokenLine] = [row(0.9, label="stale"), BrokenLine("f", 2, "not JSON")]

    data = json.loads(json.dumps(replay(rows, Scripted()).as_dict()))

    assert (data["calls"], data["accept"], data["flag"], data["block"], data["broken"]) == (1, 0, 0, 1, 1)
    assert data["tools"] == [
        {"tool": "t", "calls": 1, "accept": 0, "flag": 0, "block": 1, "mean_posterior": 0.9, "max_posterior": 0.9}
    ]
    assert data["offenders"][0]["line"] == 1
    assert data["first_broken"] == [{"source": "f", "line": 2, "reason": "not JSON"}]
    assert data["labels"] == {"stale": {"calls": 1, "accept": 0, "flag": 0, "block": 1}}


class Flat:
    """An engine without memory of its own, so that what is measured is the reader's and the tally's."""

    def verify(self, tool: str, **fields: Any) -> VerificationResult:
        posterior = fields["execution_time_ms"] / 1000
        return VerificationResult(
            verdict_of(posterior), posterior, 0.15, {}, {}, VerificationTier.TIER_1, None, tool, None, ""
        )


def peak_of_replaying(count: int) -> int:
    rng = random.Random(5)

    def pieces() -> Iterator[bytes]:
        for number in range(count):
            data = {"tool": f"tool{number % 20}", "result": rng.random(), "args": "x" * 400, "label": f"l{number % 3}"}
            yield json.dumps({**data, "latency_ms": rng.uniform(0, 999)}).encode() + (b"\n" if number % 50 else b"}\n")

    class Stream(io.RawIOBase):
        def __init__(self) -> None:
            self.pieces = pieces()

        def readable(self) -> bool:
            return True

        def read(self, size: int = -1) -> bytes:
            return next(self.pieces, b"")

    tracemalloc.start()
    try:
        summary = replay(read_traces(Stream()), Flat())  # type: ignore[arg-type]
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert summary.counts.calls + summary.broken == count
    assert summary.broken == count // 50
    return peak


def test_memory_does_not_grow_with_the_log() -> None:
    peak_of_replaying(200)  # what is imported and cached once does not count

    short, long = peak_of_replaying(1_000), peak_of_replaying(6_000)

    assert long - short < 64_000  # the 5,000 further lines have 2,500,000 bytes


lines = st.lists(
    st.binary()
    | st.fixed_dictionaries(
        {
            "tool": st.sampled_from(["a", "b"]),
            "result": st.text() | st.floats() | st.dictionaries(st.text(), st.none()),
        },
        optional={
            "args": st.lists(st.text()),
            "latency_ms": st.floats(),
            "session_id": st.text(),
            "call_id": st.text(),
        },
    ).map(lambda data: json.dumps(data).encode()),
    max_size=8,
)


@pytest.mark.parametrize("mode", ["calibrated", "reference"])
@given(lines)
def test_any_log_is_replayed_to_its_end(mode: Any, pieces: list[bytes]) -> None:
    rows = list(read_traces(io.BytesIO(b"\n".join(pieces))))

    summary = replay(rows, VerificationEngine(mode=mode))

    kinds = Counter(type(item) for item in rows)
    assert (summary.counts.calls, summary.broken) == (kinds[TraceRow], kinds[BrokenLine])
    assert sum(tool.counts.calls for tool in summary.tools) == summary.counts.calls
