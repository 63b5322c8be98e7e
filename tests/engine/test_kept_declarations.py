"""A declaration that holds says little for a call: most made-up results keep to it."""

from typing import Any

import pytest

from agentguard.verification import VerificationEngine


def quote(ticker: str, number: int) -> dict[str, Any]:
    return {"ticker": ticker, "price": 50.0 + number % 7 / 10, "currency": "USD", "venue": f"V{number % 3}"}


def odds(engine: VerificationEngine, result: dict[str, Any]) -> float:
    """Of a fault, as posterior odds, after sixty genuine calls."""
    for number in range(60):
        ticker = ("ACME", "BOLT")[number % 2]
        engine.verify("quote", args={"ticker": ticker}, result=quote(ticker, number), execution_time_ms=40.0 + number % 9)
    verdict = engine.verify("quote", args={"ticker": "ACME"}, result=result, execution_time_ms=44.0, learn=False)
    return verdict.posterior / (1.0 - verdict.posterior)


@pytest.mark.parametrize(
    ("declared", "least"),
    [
        # Of ten faults three break a declaration of form: kept, it may take at most these three from the odds.
        ({"required_fields": ["ticker", "price"]}, 0.7),
        ({"required_fields": ["ticker", "price"], "response_patterns": ["USD"], "echoes": {"ticker": "ticker"}}, 0.7**3),
    ],
)
def test_a_scaled_price_stays_as_suspicious(declared: dict[str, Any], least: float) -> None:
    scaled = {**quote("ACME", 3), "price": 503.0}
    engine = VerificationEngine()
    engine.register_tool_profile("quote", **declared)

    assert odds(engine, scaled) >= 0.98 * least * odds(VerificationEngine(), scaled)
