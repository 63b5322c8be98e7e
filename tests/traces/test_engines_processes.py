"""Processes count exactly what one process counts, and their verdicts do not hang on how many there are."""

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.errors import AgentGuardError, ConfigurationError
from agentguard.traces import BrokenLine, Offender, ReplaySummary, ToolSummary, VerdictCounts, read_traces, replay
from agentguard.traces._counts import State, merge, partial
from agentguard.traces._partitions import (
    PART_JSON,
    EngineSpec,
    Opening,
    Part,
    Share,
    Window,
    batches,
    first_calls,
    merged,
    partition_of,
    tool_of,
)
from agentguard.traces._processes import AHEAD, CountingProcesses, JudgingProcesses, Worker
from agentguard.traces._read import Line, parse, read_lines
from agentguard.verification import VerificationEngine
from agentguard.verification._pool import SETTLED
from agentguard.verification.profile import parse_profile

TOOLS = [f"tool_{number}" for number in range(20)]


def line(rng: random.Random, number: int) -> bytes:
    """A call of one of twenty tools; now and then a wrong one, and now and then no call at all."""
    if rng.random() < 0.02:
        return rng.choice([b"{", b'{"tool": "x"}', b"\xff", b""])
    tool = rng.choice(TOOLS)
    wrong = rng.random() < 0.03
    result = {"oops": tool} if wrong else {"id": number, "price": round(rng.uniform(5, 9), 2), "tool": tool}
    return json.dumps(
        {
            "tool": tool,
            "args": {"sku": f"A{rng.randrange(40)}"},
            "result": result,
            "latency_ms": rng.uniform(50, 200),
            "session_id": f"s{number // 12}",
            "label": "swapped" if wrong else rng.choice(["genuine", None]),
        }
    ).encode()


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two files, 2,000 lines."""
    folder = tmp_path_factory.mktemp("logs")
    rng = random.Random(11)
    for name, count in (("a.jsonl", 1_100), ("b.jsonl", 900)):
        (folder / name).write_bytes(b"\n".join(line(rng, number) for number in range(count)))
    return folder


def judged(log: Path, workers: int, spec: EngineSpec | None = None, **options: int) -> ReplaySummary:
    with JudgingProcesses(EngineSpec() if spec is None else spec, workers, **options) as judging:
        judging.push(read_lines(log))
        return untimed(judging.summary())


def untimed(summary: ReplaySummary) -> ReplaySummary:
    return replace(summary, us_per_call=None)


def test_counting_is_exact(log: Path) -> None:
    whole = partial(read_traces(log))

    for workers in (1, 2):
        with CountingProcesses(workers) as counting:
            counting.push(read_lines(log))
            assert counting.summary() == whole
    assert whole.calls > 1_900
    assert whole.broken > 20


@given(st.lists(st.integers(0, 300), max_size=6), st.randoms(use_true_random=False))
def test_counting_does_not_hang_on_where_batches_end_and_when_they_are_merged(
    inner: list[int], rng: random.Random
) -> None:
    lines = [("calls.jsonl", number, line(random.Random(number), number)) for number in range(300)]
    cuts = sorted({0, 300, *inner})
    states = [partial(parse(lines[start:end])) for start, end in pairwise(cuts)]
    rng.shuffle(states)

    total = State()
    for state in states:
        total = merge(total, state)

    assert total == partial(parse(lines))


def test_one_partition_judges_as_one_engine_does(log: Path) -> None:
    local = untimed(replay(read_traces(log), VerificationEngine()))

    found = judged(log, 1, partitions=1, opening=100)

    assert found == local
    assert found.counts.flag + found.counts.block > 20
    assert found.broken > 20


@pytest.mark.parametrize("workers", [1, 2])
def test_a_log_no_longer_than_its_opening_is_judged_as_by_one_engine(log: Path, workers: int) -> None:
    assert judged(log, workers) == untimed(replay(read_traces(log), VerificationEngine()))


def test_the_number_of_workers_changes_nothing(log: Path) -> None:
    one = judged(log, 1, opening=500)

    assert judged(log, 2, opening=500) == one
    assert judged(log, 3, opening=500) == one


def settling(engine: VerificationEngine, calls: int) -> VerificationEngine:
    """What tools share is settled after so many calls, and not after 10,000 only."""
    engine._method.pool.met = SETTLED - calls  # type: ignore[attr-defined]
    return engine


@pytest.mark.parametrize("partitions", [2, 16])
def test_shares_judge_as_one_engine_once_what_tools_have_in_common_is_settled(log: Path, partitions: int) -> None:
    lines = list(read_lines(log))
    whole = untimed(replay(parse(lines), settling(VerificationEngine(), 500)))
    opening = Opening(500)
    rest = [line for line in lines if not opening.take(line)]
    shares = [Share(EngineSpec(), partitions, range(k, partitions, 2)) for k in range(2)]
    for share in shares:
        settling(share._engine, 500)
        share.open(opening.lines)

    for begin in range(0, len(rest), 64):
        placed = list(enumerate(rest[begin : begin + 64]))
        own = [[one for one in placed if partition_of(tool_of(one[1]), partitions) % 2 == k] for k in range(2)]
        windows = [Window(share, lines) for share, lines in zip(shares, own, strict=True)]
        heard = [window.made() for window in windows]
        for window, others in zip(windows, reversed(heard), strict=True):
            window.judge(others)

    found = untimed(merged(part for share in shares for part in share.parts()))
    assert found.counts == whole.counts
    assert [(one.line, one.verdict, one.posterior) for one in found.offenders] == [
        (one.line, one.verdict, one.posterior) for one in whole.offenders
    ]
    assert found.counts.flag + found.counts.block > 20
    assert (found.broken, found.labels) == (whole.broken, whole.labels)


def test_calls_of_a_session_are_known_to_all_workers(tmp_path: Path) -> None:
    """A tool's answer changes when another one was called in between; without the other it would be another answer."""
    reading, writing = "tool_0", next(tool for tool in TOOLS if partition_of(tool, 2) != partition_of("tool_0", 2))
    calls: list[dict[str, Any]] = []
    for n in range(900):
        account, session = f"acct-{n % 9}", f"s{n}"
        before = {"account": account, "balance": 100 * n, "as_of": "today"}
        calls.append({"tool": reading, "args": {"account": account}, "result": before, "session_id": session})
        if n % 2:
            paid = {"account": account, "paid": n}
            calls.append({"tool": writing, "args": {"account": account}, "result": paid, "session_id": session})
            before = {**before, "balance": 100 * n + 1}
        calls.append({"tool": reading, "args": {"account": account}, "result": before, "session_id": session})
    (tmp_path / "calls.jsonl").write_bytes(b"\n".join(json.dumps(call).encode() for call in calls))
    whole = untimed(replay(read_traces(tmp_path), VerificationEngine()))

    found = judged(tmp_path, 2, partitions=2, opening=600)

    assert found.counts == whole.counts
    assert {tool.tool: tool.max_posterior for tool in found.tools} == pytest.approx(
        {tool.tool: tool.max_posterior for tool in whole.tools}, rel=0.02
    )


def test_profiles_and_mode_reach_the_workers(log: Path) -> None:
    profile = parse_profile({"name": "tool_3", "required_fields": ["absent"]}, source="here")
    spec = EngineSpec("reference", (profile,))

    found = judged(log, 2, spec)

    (tool,) = [tool for tool in found.tools if tool.tool == "tool_3"]
    assert tool.counts.block == tool.counts.calls > 0
    engine = VerificationEngine(mode="reference", profiles=[profile])
    assert found.counts == replay(read_traces(log), engine).counts  # the reference method shares nothing among tools


def test_partitions_are_the_checksum_of_the_name() -> None:
    # zlib's CRC-32 of "123456789" is 0xcbf43926, the check value of the CRC catalogue (reveng, CRC-32/ISO-HDLC).
    assert partition_of("123456789", 2**32) == 0xCBF43926
    assert partition_of("123456789") == 6
    assert partition_of("\ud800", 7) in range(7)


@pytest.mark.parametrize(
    ("raw", "tool"),
    [
        (b'{"args": {"tool": "inner"}, "tool": "outer", "result": "{\\"tool\\": 1}"}', "outer"),
        (b'{"tool": "first", "tool": "last"}', "last"),
        (b'{"t\\u006fol": "escaped"}', "escaped"),
        (b'{"result": NaN, "tool": "lax"}', "lax"),
        (b'{"tool": 5}', ""),
        (b"[]", ""),
        (b"{", ""),
        (b"\xff", ""),
    ],
)
def test_a_lines_tool_is_the_one_it_is_judged_as(raw: bytes, tool: str) -> None:
    assert tool_of(("f", 1, raw)) == tool
    assert tool_of(BrokenLine("f", 1, "too long")) == ""


summaries = st.builds(
    lambda tools, offenders, broken: (tools, offenders, broken),
    st.dictionaries(st.sampled_from("abcdef"), st.tuples(*[st.integers(0, 5)] * 3), max_size=4),
    st.lists(st.tuples(st.sampled_from([0.2, 0.6, 0.9]), st.integers(1, 99)), max_size=4),
    st.lists(st.integers(1, 99), max_size=4, unique=True),
)


def part(number: int, drawn: Any) -> Part:
    tools, offenders, broken = drawn
    records = [ToolSummary(f"{name}{number}", VerdictCounts(*counts), 0.1, 0.2) for name, counts in tools.items()]
    total = VerdictCounts(*(sum(tool.counts[k] for tool in records) for k in range(3)))
    worst = [
        Offender("f", 100 * number + at, "t", score, "block" if score > 0.5 else "flag", "") for score, at in offenders
    ]
    lines = tuple(BrokenLine("f", 100 * number + at, "x") for at in sorted(broken))
    return Part(number, ReplaySummary(total, tuple(records), tuple(worst), len(lines), lines, us_per_call=2.0), {})


@given(st.lists(summaries, max_size=5), st.randoms(use_true_random=False))
def test_parts_are_put_together_the_same_in_any_order(drawn: list[Any], rng: random.Random) -> None:
    parts = [part(number, item) for number, item in enumerate(drawn)]
    shuffled = list(parts)
    rng.shuffle(shuffled)

    whole = merged(parts)

    assert merged(PART_JSON.validate_json(PART_JSON.dump_json(item)) for item in shuffled) == whole
    assert whole.counts.calls == sum(item.summary.counts.calls for item in parts)
    assert whole.broken == sum(item.summary.broken for item in parts)
    assert [one.line for one in whole.first_broken] == sorted(one.line for one in whole.first_broken)
    ranks = [(one.verdict, -one.posterior, one.line) for one in whole.offenders]
    assert ranks == sorted(ranks)  # "block" is before "flag" in the alphabet too


def test_labels_of_all_parts_are_counted_where_one_part_has_another_than_genuine() -> None:
    def calls(tool: str, *labels: str | None) -> list[Line]:
        return [
            ("f", number, json.dumps({"tool": tool, "result": 1, "label": label}).encode())
            for number, label in enumerate(labels, 1)
        ]

    share = Share(EngineSpec(), 16, range(16))
    assert partition_of("a") != partition_of("b")
    share.open(calls("a", "genuine", "genuine", None))
    assert merged(share.parts()).labels == {}

    share.open(calls("b", "stale", "genuine"))

    found = merged(share.parts()).labels
    assert {label: counts.calls for label, counts in found.items()} == {"(no label)": 1, "genuine": 3, "stale": 1}


def test_first_calls_reads_no_further_than_the_last_of_them() -> None:
    def lines() -> Iterator[Line]:
        yield "f", 1, b"{"
        yield "f", 2, b'{"tool": "t", "result": 1}'
        yield BrokenLine("f", 3, "longer than 5 bytes")
        yield "f", 4, b'{"tool": "t", "result": 2}'
        raise AssertionError("read beyond the limit")

    assert [item[1] for item in first_calls(lines(), 2)] == [1, 2, 3, 4]


def test_batches_are_bounded_in_lines_and_bytes() -> None:
    lines: list[Line] = [("f", number, b"x" * (10 * number)) for number in range(1, 30)]

    found = list(batches(iter(lines), most=5, most_bytes=300))

    assert [item for batch in found for item in batch] == lines
    assert [len(batch) for batch in found][:2] == [5, 4]  # five lines; then 60 + 70 + 80 + 90 bytes
    assert all(len(batch) <= 5 and sum(len(item[2]) for item in batch[:-1]) < 300 for batch in found)


def test_an_opening_ends_with_its_calls_or_their_bytes() -> None:
    raws = [b'{"tool": "t", "result": %d}' % number if number != 2 else b"{" + b" " * 25 for number in range(1, 9)]
    lines: list[Line] = [("f", number, raw) for number, raw in enumerate(raws, 1)]

    by_calls, by_bytes, none = Opening(3), Opening(100, most_bytes=60), Opening(0)

    assert [by_calls.take(line) for line in lines] == [True] * 4 + [False] * 4  # the second of them is no call
    assert [by_bytes.take(line) for line in lines] == [True] * 2 + [False] * 6
    assert not none.take(lines[0])
    assert (by_calls.lines, by_bytes.lines, none.lines) == (lines[:4], lines[:2], [])
    assert not Opening(3).take(BrokenLine("f", 1, "longer than 67,108,864 bytes"))


def test_no_more_work_is_sent_ahead_than_is_held() -> None:
    worker = Worker(os.getpid)
    try:
        for _ in range(5 * AHEAD):
            worker.send(1, sorted, range(50_000))  # type: ignore[arg-type]  # its answer is thrown away
            assert len(worker.under_way) <= AHEAD
        assert worker.sent == 5 * AHEAD
    finally:
        worker.end(now=False)


@pytest.mark.parametrize("workers", [0, -1])
def test_at_least_one_worker_and_one_partition(workers: int) -> None:
    with pytest.raises(ConfigurationError, match="workers must be at least 1"):
        JudgingProcesses(EngineSpec(), workers)
    with pytest.raises(ConfigurationError, match="workers must be at least 1"):
        CountingProcesses(workers)
    with pytest.raises(ConfigurationError, match="partitions must be at least 1"):
        JudgingProcesses(EngineSpec(), 1, partitions=workers)


def test_a_worker_that_dies_is_one_clear_error() -> None:
    worker = Worker(os.getpid)
    try:
        worker.send(1, os._exit, 9)
        with pytest.raises(AgentGuardError, match="a worker process ended before its work was done"):
            worker.ask(os.getpid)()
        with pytest.raises(AgentGuardError, match="run again with fewer workers"):
            worker.send(1, os.getpid)  # type: ignore[arg-type]  # its answer is thrown away
    finally:
        worker.end(now=True)


HOLDING = """
import os, sys
from agentguard.traces._processes import Workers

if __name__ == "__main__":
    workers = Workers(2, os.getpid)
    print(workers.ask(os.getpid), flush=True)
    sys.stdin.read()
"""


def test_workers_end_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    script = tmp_path / "holding.py"
    script.write_text(HOLDING)
    with subprocess.Popen([sys.executable, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        assert len(json.loads(parent.stdout.readline())) == 2

        parent.send_signal(signal.SIGKILL)

        # The workers hold the other end of this pipe too: it ends when the last of them does.
        assert parent.communicate(timeout=60)[0] == b""
