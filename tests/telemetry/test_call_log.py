"""A log of calls that can be learned from."""

import json
import stat
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.telemetry import CallLog, observe
from agentguard.traces import read_traces
from agentguard.traces._read import TraceRow
from agentguard.verification import VerificationEngine


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_what_is_logged_is_read_back_as_the_call(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    engine = observe(VerificationEngine(), CallLog(path))
    engine.verify("rate", args={"pair": "EUR/USD"}, result='{"rate": 1.1}', execution_time_ms=12.5, session_id="s")
    engine.verify("note", result=["a", 1, None], call_id="c1")

    first, second = (row.call for row in read_traces(path) if isinstance(row, TraceRow))
    assert (first.tool, first.args, first.result) == ("rate", {"pair": "EUR/USD"}, '{"rate": 1.1}')
    assert (first.execution_time_ms, first.session_id) == (12.5, "s")
    assert (second.tool, second.result, second.execution_time_ms, second.call_id) == (
        "note",
        ["a", 1, None],
        None,
        "c1",
    )


def test_nobody_else_may_read_it(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    observe(VerificationEngine(), CallLog(path)).verify("t", result=1)

    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_credentials_and_what_a_profile_redacts_are_not_in_it(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    engine = observe(VerificationEngine(), CallLog(path))
    engine.register_tool_profile("user", content={"pii": "redact"})
    engine.verify("user", args={"dsn": "postgres://app:tea4two@db/shop"}, result={"mail": "ada@example.org"})

    assert "tea4two" not in path.read_text()
    assert lines(path)[0]["result"] == {"mail": "<EMAIL_1>"}


def test_threads_do_not_mix_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    engine = observe(VerificationEngine(), CallLog(path))

    def work(number: int) -> None:
        for turn in range(50):
            engine.verify(f"t{number}", result={"turn": turn, "text": "x" * 200})

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted((line["tool"], line["result"]["turn"]) for line in lines(path)) == sorted(
        (f"t{number}", turn) for number in range(4) for turn in range(50)
    )


def test_a_file_that_cannot_be_written_does_not_reach_the_agent(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    engine = observe(VerificationEngine(), CallLog(tmp_path / "nowhere" / "calls.jsonl"))

    assert engine.verify("t", result=1).verdict == "accept"
    assert "observer CallLog failed: FileNotFoundError" in caplog.text


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner),
        max_leaves=8,
    )
)
def test_any_result_makes_one_line_of_json(tmp_path_factory: pytest.TempPathFactory, value: Any) -> None:
    path = tmp_path_factory.mktemp("log") / "calls.jsonl"
    observe(VerificationEngine(), CallLog(path)).verify("t", args=value, result=value)

    assert len(lines(path)) == 1
