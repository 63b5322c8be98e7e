"""Every harness on some inputs of a fixed seed, and the search itself on harnesses with a known fault."""

import random
import time
from pathlib import Path

import pytest
from fuzz.campaign import Campaign, minimised, mutated, seeds
from fuzz.engines import blind
from fuzz.harness import Harness
from fuzz.source import Source
from fuzz.targets import HARNESSES
from fuzz.trial import Trial, require
from fuzz.trying import attempt

INPUTS = 8


@pytest.mark.parametrize("name", HARNESSES)
def test_nothing_is_broken_by_some_inputs(name: str) -> None:
    campaign = Campaign(HARNESSES[name])

    blind(campaign, inputs=INPUTS + len(seeds(HARNESSES[name])), seed=2025)

    assert list(campaign.failures) == []
    assert campaign.inputs >= INPUTS


def _refuses_x(trial: Trial) -> None:
    if b"x" in trial.source.raw(10_000):
        raise KeyError("x")


def _counts(trial: Trial) -> None:
    numbers = iter(range(9))
    trial.call(lambda: next(numbers))


def _never_ends(trial: Trial) -> None:
    while True:
        try:
            time.sleep(0.01)
        except Exception as error:
            raise AssertionError("what stops a hang is no error that code may catch") from error


def test_a_fault_is_found_once_kept_and_made_short(tmp_path: Path) -> None:
    campaign = Campaign(Harness("refuses", "", _refuses_x), tmp_path)
    blind(campaign, inputs=300, seed=1)

    account = campaign.finish()

    (key,) = campaign.failures
    assert key.startswith("KeyError at test_harnesses.py:_refuses_x")
    assert campaign.failures[key] == b"x"
    assert (account["inputs"], account["failures"]) == (300, [key])
    (kept,) = (tmp_path / "refuses").glob("crash-*[0-9a-f]")
    assert kept.read_bytes() == b"x"
    assert not (tmp_path / "refuses" / "current").exists()


def test_two_answers_to_one_question_are_a_fault() -> None:
    failure = attempt(Harness("counts", "", _counts), b"").failure

    assert failure is not None
    assert "two answers" in failure.key


def test_a_hang_is_a_fault() -> None:
    failure = attempt(Harness("never ends", "", _never_ends), b"", seconds=0.1).failure

    assert failure is not None
    assert failure.key.startswith("Hang at")


def test_one_seed_makes_the_same_inputs_every_time() -> None:
    def made(seed: int) -> list[bytes]:
        numbers = random.Random(seed)
        return [mutated(numbers, [b"=known", b"other"]) for _ in range(50)]

    assert made(1) == made(1) != made(2)


def test_an_input_is_cut_down_to_what_it_fails_by() -> None:
    def two(trial: Trial) -> None:
        data = trial.source.raw(100)
        require(not (b"a" in data and b"b" in data), "both")

    harness = Harness("two", "", two)
    outcome = attempt(harness, b"---a---b---")
    assert outcome.failure is not None

    assert minimised(harness, b"---a---b---", outcome.failure.key) == b"ab"


def test_a_source_that_is_used_up_gives_the_first_possibility() -> None:
    source = Source(b"\x07")

    assert [source.integer(0, 9), source.integer(3, 9), source.choice("xyz"), source.chance(1)] == [7, 3, "x", False]
    assert source.left == 0
