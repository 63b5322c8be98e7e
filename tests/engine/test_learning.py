"""What is learned from a call, what is not, and what repetition can and cannot do."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any, Literal

import pytest

from agentguard.errors import ConfigurationError
from agentguard.verification import VerificationEngine, VerificationResult

Mode = Literal["calibrated", "reference"]
Learned = Callable[[VerificationEngine, str], int]
CITIES = ["Lisbon", "Porto", "Madrid", "Vienna", "Graz", "Oslo", "Riga", "Turin", "Lyon", "Prague"]


def weather(rng: random.Random) -> dict[str, Any]:
    city = rng.choice(CITIES)
    return {
        "args": {"city": city},
        "result": {
            "city": city,
            "temperature": round(rng.gauss(15, 5), 1),
            "humidity": rng.randint(30, 95),
            "observed_at": f"2024-05-{rng.randint(1, 28):02}T{rng.randint(0, 23):02}:00:00Z",
        },
        "execution_time_ms": 200.0 * rng.lognormvariate(0, 0.2),
        "session_id": rng.choice(["monday", "tuesday", None]),
    }


def hostile(rng: random.Random) -> dict[str, Any]:
    """A call like none before: other arguments, another form, other times."""
    result: Any = rng.choice([None, "", "Error: boom", [rng.random()] * 3, "x" * 500, '{"cut', {"mock": True}, 1e12])
    return {
        "args": {"other": rng.random()},
        "result": result,
        "execution_time_ms": rng.choice([0.0, 1e7, None]),
        "session_id": rng.choice(["monday", "a session of its own"]),
        "call_id": rng.choice([None, "one", "other"]),
    }


def engines(mode: Mode) -> Iterator[VerificationEngine]:
    for _ in range(2):
        engine = VerificationEngine(mode=mode)
        engine.register_tool_profile("declared", expected_latency_ms=(20, 5000), required_fields=["temperature"])
        yield engine


def test_judging_without_learning_leaves_everything_as_it_was(mode: Mode) -> None:
    """Two engines see the same stream; one is asked about other calls in between, of tools known and unknown."""
    plain, asked = engines(mode)
    rng, other_rng = random.Random(1), random.Random(2)
    for number in range(150):
        call, tool = weather(rng), ("declared", "undeclared")[number % 2]
        for suspect in (hostile(other_rng), weather(other_rng)):
            for asked_tool in (tool, "never called otherwise"):
                asked.verify(asked_tool, **suspect, learn=False)
        one, other = plain.verify(tool, **call), asked.verify(tool, **call)
        assert repr(one).encode() == repr(other).encode()


def test_the_same_stream_is_judged_the_same_in_two_engines(mode: Mode) -> None:
    one, other = engines(mode)
    rng = random.Random(3)
    for number in range(300):
        call = hostile(rng) if number % 7 == 0 else weather(rng)
        tool = ("declared", "undeclared")[number % 2]
        assert repr(one.verify(tool, **call)).encode() == repr(other.verify(tool, **call)).encode()


def test_asking_twice_gives_the_same_answer(mode: Mode) -> None:
    engine = next(engines(mode))
    rng = random.Random(4)
    for _ in range(100):
        engine.verify("declared", **weather(rng))
    for _ in range(50):
        call = {**hostile(rng), "learn": False}
        assert engine.verify("declared", **call) == engine.verify("declared", **call)


def test_a_call_judged_without_learning_uses_up_no_trust(mode: Mode, learned: Learned) -> None:
    engine = next(engines(mode))
    engine.trust("declared", 1)

    engine.verify("declared", result={"temperature": 3}, learn=False)
    assert learned(engine, "declared") == 0

    verdict = engine.verify("declared", result={"no": "temperature"}, execution_time_ms=200.0)
    assert verdict.verdict == "accept"


def test_a_call_judged_without_learning_cannot_be_named_in_feedback(mode: Mode) -> None:
    """A label with its name counts for the tool, and corrects no declaration that the call broke."""
    named, unnamed = engines(mode)
    broken: dict[str, Any] = {"result": {"city": "Oslo"}, "execution_time_ms": 200.0, "learn": False}
    named.verify("declared", **broken, call_id="asked")
    named.record_feedback("declared", 0.7, False, "asked")
    unnamed.record_feedback("declared", 0.7, False)

    assert named.verify("declared", **broken) == unnamed.verify("declared", **broken)


def test_tools_asked_about_without_learning_are_not_remembered(mode: Mode) -> None:
    engine = next(engines(mode))
    engine.verify("declared", result={"temperature": 3})
    for number in range(50):
        engine.verify(f"tool {number}", result=number, learn=False)

    assert len(engine._tools) == 1


def test_trusted_calls_are_accepted_and_learned_until_they_are_used_up(mode: Mode, learned: Learned) -> None:
    """Each of them breaks the declaration, which blocks it without trust.

    What is trusted also tells the calibrated method how often genuine calls break the declaration, so what comes
    after is asked of the reference.
    """
    engine = next(engines(mode))
    broken: dict[str, Any] = {"result": {"city": "Oslo"}, "execution_time_ms": 200.0}
    assert engine.verify("declared", **broken, learn=False).verdict == "block"

    engine.trust("declared", 3)
    trusted = [engine.verify("declared", **broken) for _ in range(3)]

    assert [verdict.verdict for verdict in trusted] == ["accept"] * 3
    assert [str(left) in verdict.note for verdict, left in zip(trusted, (2, 1, 0), strict=True)] == [True] * 3
    assert learned(engine, "declared") == 3
    after = engine.verify("declared", **broken)
    assert "trusted" in trusted[-1].note
    assert "trusted" not in after.note
    if mode == "reference":
        assert after.verdict == "block"
        assert learned(engine, "declared") == 3


def test_trust_is_given_to_one_tool_and_can_be_taken_back(mode: Mode) -> None:
    engine = next(engines(mode))
    engine.trust("declared", 5)
    engine.trust("declared", 0)
    engine.trust("undeclared", 5)

    assert engine.verify("declared", result={"city": "Oslo"}).verdict == "block"


@pytest.mark.parametrize("n", [-1, 1.5, "3", None, True])
def test_trust_wants_a_number_of_calls(mode: Mode, n: Any) -> None:
    with pytest.raises(ConfigurationError, match="n must be"):
        VerificationEngine(mode=mode).trust("declared", n)


def test_blocked_results_do_not_enter_the_reference_baseline(learned: Learned) -> None:
    engine = next(engines("reference"))
    engine.verify("declared", result={"temperature": 3}, execution_time_ms=200.0)
    assert engine.verify("declared", result={"city": "Oslo"}, execution_time_ms=200.0).verdict == "block"

    assert learned(engine, "declared") == 1


def drop(call: dict[str, Any], field: str) -> dict[str, Any]:
    return {**call, "result": {name: value for name, value in call["result"].items() if name != field}}


CONTRACTS: dict[str, tuple[dict[str, Any], Callable[[dict[str, Any]], dict[str, Any]]]] = {
    "required field": ({"required_fields": ["humidity"]}, lambda call: drop(call, "humidity")),
    "forbidden field": (
        {"forbidden_fields": ["mock"]},
        lambda call: {**call, "result": {**call["result"], "mock": True}},
    ),
    "output schema": (
        {"output_schema": {"type": "object", "properties": {"humidity": {"type": "integer"}}}},
        lambda call: {**call, "result": {**call["result"], "humidity": str(call["result"]["humidity"])}},
    ),
    "pattern": ({"response_patterns": ['"humidity"']}, lambda call: drop(call, "humidity")),
}


@pytest.mark.parametrize(("profile", "violate"), CONTRACTS.values(), ids=CONTRACTS)
@pytest.mark.parametrize("warm_up", [0, 200], ids=["from the first call on", "after 200 kept"])
def test_a_violated_declaration_is_not_unlearned_by_repetition(
    mode: Mode,
    profile: dict[str, Any],
    violate: Callable[[dict[str, Any]], dict[str, Any]],
    warm_up: int,
) -> None:
    engine, rng = VerificationEngine(mode=mode), random.Random(5)
    engine.register_tool_profile("get_weather", **profile)
    for _ in range(warm_up):
        engine.verify("get_weather", **weather(rng))

    verdicts = [engine.verify("get_weather", **violate(weather(rng))) for _ in range(200)]

    assert [number for number, verdict in enumerate(verdicts) if verdict.verdict == "accept"] == []


@pytest.mark.parametrize(("profile", "violate"), CONTRACTS.values(), ids=CONTRACTS)
def test_nor_by_one_and_the_same_result_repeated(
    mode: Mode, profile: dict[str, Any], violate: Callable[[dict[str, Any]], dict[str, Any]]
) -> None:
    """Where the result agrees with its own history, which speaks for it."""
    engine, rng = VerificationEngine(mode=mode), random.Random(6)
    engine.register_tool_profile("get_weather", **profile)
    call = violate(weather(rng))

    verdicts = [engine.verify("get_weather", **call) for _ in range(200)]

    assert [number for number, verdict in enumerate(verdicts) if verdict.verdict == "accept"] == []


def renamed(call: dict[str, Any]) -> Any:
    result = call["result"]
    return {"location": {"name": result["city"]}, "current": {"temp_c": result["temperature"]}, "version": 2}


def prose(call: dict[str, Any]) -> Any:
    result = call["result"]
    return f"It is {result['temperature']} degrees in {result['city']} with {result['humidity']} percent humidity."


def keyed(call: dict[str, Any]) -> Any:
    return "".join(f"{name}: {value}\n" for name, value in call["result"].items())


@pytest.mark.parametrize(("form", "history"), [(renamed, 60), (prose, 60), (keyed, 60), (renamed, 1_000)])
def test_a_new_genuine_form_is_accepted_from_its_adoption_on(
    form: Callable[[dict[str, Any]], Any], history: int
) -> None:
    """A tool that now answers in another form is one change, held until somebody says that it is meant."""
    engine, rng = VerificationEngine(), random.Random(7)
    engine.register_tool_profile("get_weather", on_change="hold")
    for _ in range(history):
        engine.verify("get_weather", **weather(rng))

    def judged() -> VerificationResult:
        call = weather(rng)
        return engine.verify("get_weather", **{**call, "result": form(call)})

    first = [judged().verdict for _ in range(40)]
    for change in engine.changes("get_weather"):
        engine.adopt(change)
    then = [judged().verdict for _ in range(300)]

    assert "accept" not in first
    assert first.count("block") <= 3
    # Were each call accepted with probability .97, the chance of fewer than 276 of 300 would be below 1e-5.
    assert then.count("accept") >= 276
