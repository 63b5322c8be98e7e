"""The same calls in the same order are judged alike, whatever else the process has read before."""

import os
import random
import subprocess
import sys
from collections.abc import Callable

from agentguard.verification import VerificationEngine, VerificationResult
from agentguard.verification._document import read
from agentguard.verification._walk import MAX_PATHS

CALLS = 150
OPTIONAL = ("colour", "discount")


def call(number: int) -> dict[str, object]:
    """An item with some of two optional fields, now and then written in another order or with one field more."""
    rng = random.Random(number)
    fields = [name for name in OPTIONAL if rng.random() < 0.8]
    if rng.random() < 0.05:
        rng.shuffle(fields)
    item: dict[str, object] = {"id": rng.randrange(1_000), "price": rng.randrange(100, 9_000) / 100}
    item.update((name, f"{name} {rng.randrange(50)}") for name in fields)
    if rng.random() < 0.03:
        item["warehouse"] = {"row": rng.randrange(9)}
    return {"item": item} if rng.random() < 0.95 else {"item": None, "reason": "sold out"}


def judged(between: Callable[[], None]) -> list[VerificationResult]:
    engine = VerificationEngine()
    verdicts = []
    for number in range(CALLS):
        verdicts.append(engine.verify("item", args={"id": number}, result=call(number)))
        if number % 10 == 0:
            between()
    return verdicts


def test_what_else_is_read_makes_no_difference() -> None:
    wide = 0

    def others() -> None:
        nonlocal wide
        for _ in range(MAX_PATHS // 90 + 1):  # as many forms as the process remembers
            wide += 1
            read({f"{wide}a{key}".translate(LETTERS): key for key in range(90)})

    assert judged(others) == judged(lambda: None)


def test_every_process_gives_the_same_reasons() -> None:
    """Texts hash otherwise in each process, and so do types, by where the interpreter was loaded."""
    code = f"""
import sys
sys.path.insert(0, {os.path.dirname(__file__)!r})
from test_repeatable import judged
for verdict in judged(lambda: None):
    print(verdict)
"""
    runs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            capture_output=True, text=True, check=True,
        ).stdout
        for seed in (1, 2)
    }  # fmt: skip

    assert len(runs) == 1
    assert "flag" in runs.pop()


LETTERS = str.maketrans("0123456789", "bcdefghijk")  # digits in keys are data
