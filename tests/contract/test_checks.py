"""The one contract that every check of every method keeps."""

from __future__ import annotations

import copy
import functools
import math
import random
from array import array
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from agentguard.testing._corpus import RESULTS
from agentguard.verification import SignalResult, ToolCall, ToolProfile, VerificationTier
from agentguard.verification._arguments import Arguments
from agentguard.verification._calibrated import Calibrated
from agentguard.verification._case import Case
from agentguard.verification._contract import Contract
from agentguard.verification._document import read
from agentguard.verification._method import Check, Method
from agentguard.verification._pool import Between
from agentguard.verification._reference import Reference
from agentguard.verification.types import Settings

METHODS: dict[str, Callable[[], Method]] = {"calibrated": Calibrated, "reference": Reference}
CHECKS = [
    pytest.param(mode, tier, check, id=f"{mode}-{check.name}")
    for mode, method in METHODS.items()
    for tier, checks in method().tiers
    for check in checks
]
every_check = pytest.mark.parametrize(("mode", "tier", "check"), CHECKS)
every_mode = pytest.mark.parametrize("mode", METHODS)

DOCUMENTED = {
    "schema_mismatch": VerificationTier.TIER_0,
    "pattern_mismatch": VerificationTier.TIER_0,
    "latency_anomaly": VerificationTier.TIER_0,
    "length_anomaly": VerificationTier.TIER_0,
    "historical_inconsistency": VerificationTier.TIER_1,
    "session_inconsistency": VerificationTier.TIER_1,
    "spc_anomaly": VerificationTier.TIER_1,
    "value_plausibility": VerificationTier.TIER_1,
}
EVERYTHING_DECLARED: dict[str, Any] = {
    "expected_latency_ms": (20, 5000),
    "required_fields": ["city", "wind.speed", "hours[].rain"],
    "forbidden_fields": ["error", "mock"],
    "response_patterns": [r'"temperature"', r"^\["],
    "min_response_length": 20,
    "max_response_length": 2_000,
    "output_schema": {"type": "object", "properties": {"temperature": {"type": "number"}}},
    "echoes": {"city": "city"},
}


class Bench:
    """One tool under one method, with the memory that the checks read."""

    def __init__(self, mode: str, **profile: Any) -> None:
        self.method = METHODS[mode]()
        self.memory = self.method.new_memory("tool")
        self.contract = Contract(ToolProfile(name="tool", **profile)) if profile else Contract.unregistered("tool")
        self.learned: Any = None  # what the memory held before anybody asked

    def case(self, call: ToolCall) -> Case:
        return Case(call, read(call.result), self.contract, self.memory, Settings(), Arguments(call.args))

    def learn(self, calls: list[ToolCall]) -> Bench:
        for call in calls:
            case = self.case(call)
            signals = {check.name: check(case) for _, checks in self.method.tiers for check in checks}
            self.method.learn(case, signals, self.method.decide(case, 0.15, signals))
        return self


def ordinary(count: int, seed: int = 7) -> list[ToolCall]:
    """Calls of a weather tool: some arguments repeat, there are three sessions, a few answers are errors or empty."""
    rng = random.Random(seed)
    calls = []
    for _ in range(count):
        city = rng.choice(["Lisbon", "Porto", "Madrid", "Vienna", "Oslo"])
        result: Any = {
            "city": city,
            "temperature": round(rng.gauss(15, 4), 1),
            "wind": {"speed": round(rng.uniform(1, 9), 1), "from": rng.choice("NESW")},
            "hours": [{"rain": rng.random() < 0.3, "at": f"2024-05-{rng.randint(1, 28):02}"} for _ in range(3)],
        }
        if rng.random() < 0.06:
            result = rng.choice(["Error: station 7 is down", "", [], None])
        session = rng.choice(["monday", "tuesday", None])
        calls.append(ToolCall("tool", {"city": city}, result, rng.lognormvariate(5, 0.3), session))
    return calls


WARM = ordinary(60)
GENUINE = WARM[0]


#: What a tool may return, or be given: each object once, for all tests that hold no change against it.
HOSTILE: dict[str, Any] = {name: make() for name, make in RESULTS.items()}
TIMES: tuple[Any, ...] = (None, 0, 0.0, 5e-324, 1, 180.0, 1e308, math.inf, math.nan, -1.0, 10**400, True, "180", [180])
SESSIONS = (None, "", "monday", "\ud800")


def hostile_calls() -> list[ToolCall]:
    """Each hostile object as result, as arguments, as one argument's value; with all kinds of time and session."""
    calls = []
    for number, (name, thing) in enumerate(HOSTILE.items()):
        time, session = TIMES[number % len(TIMES)], SESSIONS[number % len(SESSIONS)]
        calls.append(ToolCall("tool", {"city": "Lisbon"}, thing, time, session))
        calls.append(ToolCall("tool", thing, GENUINE.result, time, session, name))
        calls.append(ToolCall("tool", {"city": thing, "n": [thing]}, {"city": thing}, 180.0, session))
    calls += [ToolCall("tool", {}, GENUINE.result, time, session) for time in TIMES for session in SESSIONS]
    return calls


@functools.cache  # checks change nothing in them, as a test below says
def benches(mode: str) -> dict[str, Bench]:
    made = {
        "cold": Bench(mode),
        "cold, declared": Bench(mode, **EVERYTHING_DECLARED),
        "warm": Bench(mode).learn(WARM),
        "warm, declared": Bench(mode, **EVERYTHING_DECLARED).learn(WARM),
        "warm by hostile calls": Bench(mode, **EVERYTHING_DECLARED).learn(hostile_calls()),
    }
    for bench in made.values():
        bench.learned = snapshot(bench.memory)
    return made


KINDS = ["cold", "cold, declared", "warm", "warm, declared", "warm by hostile calls"]
every_bench = pytest.mark.parametrize(("mode", "kind"), [(mode, kind) for mode in METHODS for kind in KINDS])


def checks(mode: str) -> list[Check]:
    return [check for _, of_tier in METHODS[mode]().tiers for check in of_tier]


#: What was looked up lately, and is looked up again where it is not there: nothing of it is learned.
LOOKED_UP = {"_plans"}


def snapshot(value: Any) -> Any:
    """All that an object holds, as plain values; the order of mappings counts, since it says who is forgotten next."""
    if isinstance(value, Mapping):
        return [(snapshot(key), snapshot(item)) for key, item in value.items()]
    if isinstance(value, (list, tuple, deque, array)):
        return [snapshot(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return frozenset(value)
    if isinstance(value, (str, bytes, int, float, type, type(None))):
        return value
    slots = (name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ()))
    names = [name for name in slots if name not in LOOKED_UP]
    held = {name: getattr(value, name) for name in [*names, *vars(value)]} if hasattr(value, "__dict__") else {}
    held = held or {name: getattr(value, name) for name in names}
    return [(name, snapshot(item)) for name, item in held.items()] if held else repr(type(value))


def test_the_eight_documented_signals_exist_in_both_methods() -> None:
    for method in METHODS.values():
        tiers = {check.name: tier for tier, checks in method().tiers for check in checks}
        assert {name: tiers.get(name) for name in DOCUMENTED} == DOCUMENTED


@every_mode
def test_names_are_unique_and_tiers_in_order(mode: str) -> None:
    tiers = METHODS[mode]().tiers
    names = [check.name for _, checks in tiers for check in checks]
    assert len(names) == len(set(names))
    assert [tier for tier, _ in tiers] == [VerificationTier.TIER_0, VerificationTier.TIER_1]


@every_check
def test_a_check_says_its_name_and_tier(mode: str, tier: VerificationTier, check: Check) -> None:
    assert check.name.isidentifier()
    assert check.tier is tier
    for bench in benches(mode).values():
        signal = check(bench.case(GENUINE))
        assert (signal.name, signal.tier) == (check.name, tier)


@every_check
def test_abstains_aloud_where_nothing_is_declared_known_or_given(
    mode: str, tier: VerificationTier, check: Check
) -> None:
    """No profile, no memory, no time, no session, no arguments.

    Whether text was cut off shows in the text itself, so truncation is asked of a result that has none.
    """
    result: Any = "" if check.name == "truncated_result" else {"temperature": 12.5}

    signal = check(Bench(mode).case(ToolCall("tool", None, result)))

    assert not signal.applicable
    assert signal.likelihood_ratio == 1.0
    assert signal.detail.strip()


LEARNED = {
    "historical_inconsistency",
    "session_inconsistency",
    "moved_value",
    "stale_result",
    "spc_anomaly",
    "value_plausibility",
    "format_mismatch",
    "novel_value",
    "relation_mismatch",
    "structure_mismatch",
    "duplicate_result",
}


@every_check
def test_abstains_aloud_on_an_empty_memory(mode: str, tier: VerificationTier, check: Check) -> None:
    """A call with everything given: what rests on earlier calls alone has nothing to go by."""
    signal = check(Bench(mode, **EVERYTHING_DECLARED).case(GENUINE._replace(session_id="monday")))

    assert signal.applicable is (check.name not in LEARNED)
    if not signal.applicable:
        assert signal.likelihood_ratio == 1.0
        assert signal.detail.strip()


@every_check
def test_applies_once_it_is_declared_or_learned(mode: str, tier: VerificationTier, check: Check) -> None:
    """No check abstains for ever: some call of a warm tool with a full profile is judged by each.

    The last call but one has a known result and quite other arguments; the last is asked again after a call of another
    tool in its session.
    """
    again = GENUINE._replace(session_id="monday")
    bench = Bench(mode, **EVERYTHING_DECLARED).learn([*WARM, again])
    calls = [*ordinary(40, seed=8), *WARM, GENUINE._replace(args={"city": "Ulaanbaatar"})]
    cases = [bench.case(call) for call in [*calls, again]]
    cases[-1].between = Between(True, (2 * 7,), ())

    assert any(check(case).applicable for case in cases)


def assert_well_formed(signal: SignalResult) -> None:
    assert signal.detail.strip()
    assert type(signal.applicable) is bool
    assert type(signal.fired) is bool
    assert 0.0 <= signal.score <= 1.0
    assert 0.0 < signal.likelihood_ratio < math.inf
    assert signal.p_value is None or 0.0 < signal.p_value <= 1.0
    if not signal.applicable:
        assert not signal.fired
        assert signal.score == 0.0
        assert signal.likelihood_ratio == 1.0
        assert signal.p_value is None


@every_bench
def test_never_raises_and_stays_in_its_ranges(mode: str, kind: str) -> None:
    bench = benches(mode)[kind]
    for call in [*hostile_calls(), *WARM]:
        case = bench.case(call)
        for check in checks(mode):
            assert_well_formed(check(case))


@every_bench
def test_asking_changes_nothing(mode: str, kind: str) -> None:
    """Not the memory, not the call; asked again, also of the same case and in another order, it says the same."""
    bench = benches(mode)[kind]
    for call in [*hostile_calls(), *ordinary(20, seed=9)]:
        case = bench.case(call)
        first = {check.name: check(case) for check in checks(mode)}
        assert {check.name: check(case) for check in checks(mode)} == first
        case = bench.case(call)
        assert {check.name: check(case) for check in reversed(checks(mode))} == first
    assert snapshot(bench.memory) == bench.learned


@every_mode
def test_leaves_arguments_and_result_as_they_are(mode: str) -> None:
    bench = benches(mode)["warm, declared"]
    for call in [call for call in WARM if isinstance(call.result, dict)]:
        given = copy.deepcopy((call.args, call.result))
        case = bench.case(call)
        for check in checks(mode):
            check(case)
            assert (call.args, call.result) == given, check.name


@every_mode
def test_what_was_learned_alike_judges_alike(mode: str) -> None:
    one, other = (Bench(mode, **EVERYTHING_DECLARED).learn([*WARM, *hostile_calls()]) for _ in range(2))
    for call in [*hostile_calls(), *ordinary(20, seed=10)]:
        cases = one.case(call), other.case(call)
        for check in checks(mode):
            assert check(cases[0]) == check(cases[1])


def test_the_snapshot_sees_what_learning_changes() -> None:
    """The tests above rest on it."""
    for mode in METHODS:
        bench = Bench(mode).learn(WARM[:10])
        before = snapshot(bench.memory)
        assert snapshot(bench.memory) == before
        bench.learn(WARM[10:11])
        assert snapshot(bench.memory) != before
