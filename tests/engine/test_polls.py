"""A call that is made all the time, with the same odd result: how often that is blocked."""

from __future__ import annotations

import pytest

from agentguard.verification import VerificationEngine


@pytest.mark.parametrize("between", [0, 1, 5, 20])
def test_polls_are_blocked_no_more_often_than_a_call_and_its_retries(between: int) -> None:
    engine = VerificationEngine()  # max_blocks is 3, and nine calls that follow at once are retries

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

    assert 1 <= verdicts.count("block") <= 1 + 9 + 3
