"""How far a number moved under the same arguments, and clocks that went back."""

from __future__ import annotations

import random
from typing import Any

import pytest

from agentguard import VerificationEngine
from agentguard.verification._audit import judged
from agentguard.verification.types import Trait

CITIES = ("Ada", "Bonn", "Cork", "Delft")


def taught() -> tuple[VerificationEngine, dict[str, float]]:
    """Four shops whose takings move by a few per cent from call to call, with a version that counts up."""
    engine, rng, takings = VerificationEngine(), random.Random(3), dict.fromkeys(CITIES, 400.0)
    for version in range(60):
        for city in CITIES:
            takings[city] *= rng.uniform(0.97, 1.03)
            engine.verify("takings", args={"city": city}, result=answer(city, takings[city], version))
    return engine, takings


def answer(city: str, amount: float, version: int) -> dict[str, Any]:
    return {"city": city, "amount": round(amount, 2), "version": version}


def test_a_number_that_moves_as_its_moves_go_is_as_usual_and_one_ten_times_off_is_not() -> None:
    engine, takings = taught()
    usual, far = (
        engine.verify("takings", args={"city": "Cork"}, result=answer("Cork", amount, 60), learn=False)
        for amount in (takings["Cork"] * 1.01, takings["Cork"] * 10.0)
    )

    assert not usual.signals["moved_value"].fired
    moved = far.signals["moved_value"]
    assert (moved.fired, moved.detail) == (True, "amount moved far from its level under these arguments")
    assert moved.traits == (Trait("level", "amount", "moved"),)
    assert moved.likelihood_ratio > 4.5  # beyond three sigma
    assert far.posterior > usual.posterior


def test_a_label_moves_the_weight_of_the_signal_that_saw_the_move_alone() -> None:
    engine, takings = taught()
    far = engine.verify("takings", args={"city": "Cork"}, result=answer("Cork", takings["Cork"] * 10.0, 60))

    assert far.signals["moved_value"].fired
    assert far.signals["historical_inconsistency"].fired  # the document's name for it
    fired = judged(far).fired
    assert "moved_value" in fired
    assert "historical_inconsistency" not in fired


def test_a_version_that_goes_back_is_told_by_name() -> None:
    engine, takings = taught()
    back = engine.verify("takings", args={"city": "Bonn"}, result=answer("Bonn", takings["Bonn"], 57), learn=False)

    assert back.signals["moved_value"].detail == "version went back, and has only ever gone forward"
    assert back.contributions["moved_value"] > 0.0


@pytest.mark.parametrize(
    ("city", "said"),
    [("Cork", "the same result as before"), ("Essen", "no earlier call with these arguments")],
)
def test_where_nothing_moved_it_says_nothing(city: str, said: str) -> None:
    engine, takings = taught()
    again = engine.verify("takings", args={"city": city}, result=answer(city, takings["Cork"], 59), learn=False)

    signal = again.signals["moved_value"]
    assert (signal.applicable, signal.likelihood_ratio, signal.detail) == (False, 1.0, said)
