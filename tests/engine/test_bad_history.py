"""A history of which a tenth was bad: what it teaches must not make the next bad result pass."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import pytest

from agentguard.verification import VerificationEngine, VerificationResult

NAMES = "Ada Bela Cleo Dora Emil Fred Gina Hugo Ines Jona Kim Lena Milo Nora Otto Pia Quin Rosa Sara Theo".split()


def invoice(rng: random.Random) -> tuple[dict[str, Any], str]:
    number = f"INV-{rng.randint(1, 60):05}"
    rows = [{"item": rng.choice(NAMES).lower(), "price": rng.randint(1, 99)} for _ in range(rng.randint(1, 4))]
    return {"number": number}, json.dumps({"number": number, "rows": rows, "paid": rng.random() < 0.5})


def note(rng: random.Random) -> tuple[dict[str, Any], str]:
    owner = rng.choice(NAMES)
    said = ". ".join(f"{rng.choice(NAMES)} will meet {rng.choice(NAMES)} on day {rng.randint(1, 28)}" for _ in range(3))
    return {"owner": owner}, f"owner: {owner}\ncreated: 2024-05-{rng.randint(10, 28)}\ntext: '{said}.'\nshared: false\n"


TOOLS = {"get_invoice": invoice, "read_note": note}


def cut(rng: random.Random, tool: str) -> tuple[dict[str, Any], str]:
    args, result = TOOLS[tool](rng)
    return args, result[: len(result) * rng.randrange(30, 90) // 100]


def swapped(rng: random.Random, tool: str) -> tuple[dict[str, Any], str]:
    (other,) = set(TOOLS) - {tool}
    return TOOLS[tool](rng)[0], TOOLS[other](rng)[1]


FAULTS = {"cut off": cut, "of another tool": swapped}


def genuine(rng: random.Random, tool: str) -> tuple[dict[str, Any], str]:
    return TOOLS[tool](rng)


@pytest.mark.parametrize("seed", [1, 2])
def test_bad_results_stand_out_after_a_history_with_a_tenth_of_them(seed: int) -> None:
    """At least nine in ten score above all but one in a hundred of the genuine results."""
    rng = random.Random(seed)
    engine = VerificationEngine()
    for _ in range(400):
        tool = rng.choice(list(TOOLS))
        make = rng.choice(list(FAULTS.values())) if rng.random() < 0.1 else genuine
        args, result = make(rng, tool)
        engine.verify(tool, args=args, result=result)

    def scores(make: Callable[[random.Random, str], tuple[dict[str, Any], str]]) -> list[float]:
        calls = [(tool, *make(rng, tool)) for tool in TOOLS for _ in range(150)]
        verdicts = (engine.verify(tool, args=args, result=result, learn=False) for tool, args, result in calls)
        return sorted(verdict.posterior for verdict in verdicts)

    threshold = scores(genuine)[-4]
    for fault, make in FAULTS.items():
        bad = scores(make)
        assert sum(score > threshold for score in bad) >= 0.9 * len(bad), fault


def moved_after_thirty() -> VerificationResult:
    """Thirty times the same answer, then another of the same form."""
    engine = VerificationEngine()
    for _ in range(30):
        for name in NAMES[:4]:
            engine.verify("room_of", args={"name": name}, result={"name": name, "room": f"{len(name)}{name[0]}"})
    return engine.verify("room_of", args={"name": "Ada"}, result={"name": "Ada", "room": "7Q"}, learn=False)


def test_a_new_answer_alone_may_block_but_not_for_sure() -> None:
    moved = moved_after_thirty()
    assert 0.2 < moved.posterior < 0.98
    assert "another result than before" in moved.signals["historical_inconsistency"].detail


@pytest.mark.xfail(strict=True, reason="the learned weight of history makes it .9")
def test_a_new_answer_alone_leaves_it_open() -> None:
    assert 0.2 < moved_after_thirty().posterior < 0.6
