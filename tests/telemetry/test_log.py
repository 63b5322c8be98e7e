"""One line a verdict: all of the verdict, nothing of the content."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.telemetry import LogObserver, Observation, observe
from agentguard.telemetry._log import line_of
from agentguard.verification import VerificationEngine

Observed = Callable[..., Observation]
DSN = "postgres://app:tea4two@db.internal/shop"


def test_a_line_holds_the_verdict(observed: Observed) -> None:
    assert json.loads(line_of(observed("block", 0.75, at=1_700_000_000.25))) == {
        "event": "agentguard.verdict",
        "at": "2023-11-14T22:13:20.250+00:00",
        "tool": "weather",
        "verdict": "block",
        "posterior": 0.75,
        "prior": 0.15,
        "false_block_p": 0.25,
        "tier": 1,
        "fired": ["schema_mismatch"],
        "call_id": "c1",
        "session_id": "s1",
        "execution_ms": 350.0,
        "guard_ms": 0.04,
        "explanation": "block: P(fabricated) 0.750, prior 0.150. schema_mismatch +1.61 (said)",
    }


def test_what_is_not_known_is_null(observed: Observed) -> None:
    line = json.loads(line_of(observed(call={"call_id": None, "session_id": None, "execution_time_ms": float("nan")})))

    assert (line["call_id"], line["session_id"], line["execution_ms"]) == (None, None, None)


@given(st.text(st.characters()), st.text(st.characters()), st.text(st.characters()))
def test_no_name_makes_a_second_line(observed: Observed, tool: str, call_id: str, session: str) -> None:
    line = line_of(observed(result={"tool": tool}, call={"call_id": call_id, "session_id": session}))

    assert line.isascii()
    assert line.isprintable()
    assert isinstance(json.loads(line), dict)


@pytest.mark.parametrize(
    "observation",
    [
        {"result": {"tool": f"call of {DSN}"}},
        {"call": {"call_id": DSN}},
        {"call": {"session_id": DSN}},
        {"result": {"note": f"no profile for {DSN!r}"}},
    ],
)
def test_no_string_brings_a_credential_into_the_log(observed: Observed, observation: dict[str, Any]) -> None:
    line = line_of(observed(**observation))

    assert "tea4two" not in line
    assert "<DATABASE_PASSWORD_1>" in line


def test_the_level_tells_the_verdict(observed: Observed, caplog: pytest.LogCaptureFixture) -> None:
    logger = logging.getLogger("guard.of.the.shop")
    observer = LogObserver(logger)

    with caplog.at_level(logging.INFO, logger.name):
        for verdict in ("accept", "flag", "block"):
            observer(observed(verdict))
    with caplog.at_level(logging.WARNING, logger.name):
        observer(observed("accept"))

    assert [(record.name, record.levelname) for record in caplog.records] == [
        ("guard.of.the.shop", "INFO"), ("guard.of.the.shop", "WARNING"), ("guard.of.the.shop", "ERROR"),
    ]  # fmt: skip
    assert [json.loads(record.getMessage())["verdict"] for record in caplog.records] == ["accept", "flag", "block"]


def test_no_argument_and_no_value_of_a_result_is_logged(
    engine: VerificationEngine, caplog: pytest.LogCaptureFixture
) -> None:
    watched = observe(engine, LogObserver())

    with caplog.at_level(logging.DEBUG):
        for number in range(30):
            watched.verify("weather", args={"city": "Xanadu"}, result={"degrees": 14, "said": f"Kublai {number}"})
        watched.verify("weather", args={"city": "Xanadu"}, result={"said": "Kublai Khan"})

    assert {record.name for record in caplog.records} == {"agentguard.verdicts"}
    assert len(caplog.records) == 31
    assert "Xanadu" not in caplog.text
    assert "Kublai" not in caplog.text


def test_a_percent_sign_is_no_placeholder(observed: Observed, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "agentguard.verdicts"):
        LogObserver()(observed(result={"tool": "100%s %(name)d"}))

    assert json.loads(caplog.records[0].getMessage())["tool"] == "100%s %(name)d"
