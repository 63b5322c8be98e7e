"""A call that is made all the time, with the same odd result: how often that is blocked."""

from __future__ import annotations

import pytest

from agentguard.verification import VerificationEngine


@pytest.mark.parametrize(
    "between",
    [
        pytest.param(
            0, marks=pytest.mark.xfail(strict=True, reason="nine retries of each blocked call are blocked too")
        ),
        pytest.param(1, marks=pytest.mark.xfail(strict=True, reason="a poll after one other call counts as a retry")),
        5,
        20,
    ],
)
def test_polls_are_blocked_no_more_often_than_max_blocks_says(between: int) -> None:
    engine = VerificationEngine()  # max_blocks is 3

    def order(name: str, total: float) -> None:
        result = {"id": name, "total": total, "state": "open"}
        engine.verify("get", args={"id": name}, result=result, execution_time_ms=40.0, session_id="s")

    for number in range(200):
        order(f"W{number}", 20.0 + number % 7)
    verdicts = []
    for number in range(60):
        judged = engine.verify("get", args={"id": "W3000"}, result={"a": 1}, execution_time_ms=41.0, session_id="s")
        verdicts.append(judged.verdict)
        for other in range(between):
            order(f"X{number}-{other}", 21.0)

    assert 1 <= verdicts.count("block") <= 3
