"""Every harness on some inputs of a fixed seed, and the search itself on harnesses with a known fault."""

import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from fuzz.campaign import Campaign, minimised, mutated, seeds
from fuzz.engines import blind
from fuzz.harness import Harness
from fuzz.source import Source
from fuzz.target import Target, alone
from fuzz.targets import HARNESSES, TARGETS, target_of
from fuzz.trial import Trial, require
from fuzz.trying import attempt

from ..rows import over

INPUTS = 8


@over("name", HARNESSES)
def test_nothing_is_broken_by_some_inputs(name: str) -> None:
    campaign = Campaign(alone(HARNESSES[name]))

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
    target = alone(Harness("refuses", "", _refuses_x))
    campaign = Campaign(target, tmp_path)
    blind(campaign, inputs=300, seed=1)

    account = campaign.finish()

    (key,) = campaign.failures
    assert key.startswith("KeyError at test_harnesses.py:_refuses_x")
    shortest = campaign.failures[key]
    assert target.opened(shortest)[1] == b"x"
    assert (account["inputs"], account["tried"], account["failures"]) == (300, {"refuses": 300}, {key: shortest.hex()})
    (kept,) = (tmp_path / "refuses").glob("crash-*[0-9a-f]")
    assert kept.read_bytes() == shortest
    assert f"python -m fuzz refuses --replay {kept}" in kept.with_suffix(".txt").read_text("utf-8")
    assert not (tmp_path / "refuses" / "current").exists()


def test_two_answers_to_one_question_are_a_fault() -> None:
    target = alone(Harness("counts", "", _counts))

    failure = attempt(target, b"").failure

    assert failure is not None
    assert "two answers" in failure.key
    assert attempt(target, b"", thorough=False).failure is None


def test_a_hang_is_a_fault() -> None:
    failure = attempt(alone(Harness("never ends", "", _never_ends)), b"", seconds=0.1).failure

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

    target = alone(Harness("two", "", two))
    outcome = attempt(target, b"12---a---b---")
    assert outcome.failure is not None

    shortest = minimised(target, b"12---a---b---", outcome.failure.key)

    assert target.opened(shortest)[1] == b"ab"


def test_every_harness_is_searched_in_one_of_eight_targets() -> None:
    searched = [harness.name for target in TARGETS.values() for harness in target.harnesses]

    assert sorted(searched) == sorted(HARNESSES)
    assert len(TARGETS) == 8
    assert not TARGETS.keys() & HARNESSES.keys()


@over("target", TARGETS.values())
def test_an_input_of_a_harness_is_one_of_its_target(target: Target) -> None:
    for harness in target.harnesses:
        for large in (True, False):
            sealed = target.sealed(harness, b"input", large=large)
            assert target.opened(sealed) == (harness, b"input", large)
    assert target.opened(b"")[1:] == (b"", False)


def test_a_harness_waits_once_it_is_ahead_of_its_share_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr("fuzz.campaign.time.monotonic", lambda: clock[0])

    def taking(seconds: float) -> Callable[[Trial], None]:
        def run(trial: Trial) -> None:
            clock[0] += seconds

        return run

    slow, quick = Harness("slow", "", taking(6.0)), Harness("quick", "", taking(1.0))
    target = Target("both", "", {slow: 1, quick: 1})
    campaign = Campaign(target)
    of_slow, of_quick = target.sealed(slow, b""), target.sealed(quick, b"")

    assert campaign.its_turn(of_slow)
    campaign.try_one(of_slow)  # 6 s of 6, where half and two are its due
    assert not campaign.its_turn(of_slow)
    assert campaign.its_turn(of_quick)
    for _ in range(2):
        campaign.try_one(of_quick)
    assert campaign.its_turn(of_slow)  # 6 s of 8
    of_quick = target.sealed(quick, b"", large=True)
    assert campaign.its_turn(of_quick)
    for _ in range(4):
        campaign.try_one(of_quick)
    assert not campaign.its_turn(of_quick)  # 4 s of 12 on large ones, where a tenth and two are their due
    assert campaign.its_turn(target.sealed(quick, b""))


def test_a_harness_can_be_searched_alone() -> None:
    assert target_of("grounding").harnesses == (HARNESSES["grounding"],)
    assert target_of("gating") is TARGETS["gating"]


def test_a_large_input_is_one_in_sixty_four_of_those_by_chance() -> None:
    target = TARGETS["signing"]

    assert sum(target.opened(bytes((0, second)))[2] for second in range(256)) == 256 // 64


def test_a_source_that_is_used_up_gives_the_first_possibility() -> None:
    source = Source(b"\x07")

    assert [source.integer(0, 9), source.integer(3, 9), source.choice("xyz"), source.chance(1)] == [7, 3, "x", False]
    assert source.left == 0
