"""An observed engine is the engine, to whoever asks it; its observers see each verdict, and can do no harm."""

from __future__ import annotations

import inspect
import logging
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from agentguard.errors import ConfigurationError
from agentguard.guard import Guard, Outcome
from agentguard.integrations.functions import guarded
from agentguard.stores import MemoryStore
from agentguard.telemetry import Observation, ObservedEngine, Observer, observe
from agentguard.verification import ToolCall, VerificationEngine


class Keeping(Observer):
    """Keeps what it is told."""

    def __init__(self, *, content: bool = False) -> None:
        self.content = content
        self.seen: list[Observation] = []
        self.engines: list[VerificationEngine] = []

    def __call__(self, observation: Observation, /) -> None:
        self.seen.append(observation)

    def watch(self, engine: VerificationEngine, /) -> None:
        self.engines.append(engine)


class Failing(Observer):
    """Raises, as often as it is told to, with content in the text."""

    def __init__(self, times: int = 1_000) -> None:
        self.left = times

    def __call__(self, observation: Observation, /) -> None:
        self.left -= 1
        if self.left >= 0:
            raise RuntimeError(f"the secret of {observation.result.tool}")


def test_without_observers_the_engine_itself_is_returned(engine: VerificationEngine) -> None:
    assert observe(engine) is engine


def test_all_that_an_engine_shows_is_handed_on() -> None:
    public = {name for name, value in vars(VerificationEngine).items() if inspect.isfunction(value) and name[0] != "_"}

    assert public
    assert public - vars(ObservedEngine).keys() == set()
    for name in public:
        assert inspect.signature(getattr(ObservedEngine, name)).parameters == (
            inspect.signature(getattr(VerificationEngine, name)).parameters
        )


def test_verdicts_are_the_engines(engine: VerificationEngine) -> None:
    plain = VerificationEngine()
    watched = observe(VerificationEngine(), Keeping(content=True), Failing())
    for each in (plain, watched):
        each.register_tool_profile("weather", required_fields=["degrees"])

    for number in range(60):
        result: Any = {} if number % 20 == 19 else {"degrees": 10 + number % 5}
        call = {"args": {"n": number % 7}, "result": result, "execution_time_ms": 100.0 + number, "session_id": "s"}
        assert watched.verify("weather", **call) == plain.verify("weather", **call)


def test_each_method_reaches_the_engine(engine: VerificationEngine) -> None:
    watched = observe(engine, Keeping())

    assert watched.mode == "calibrated"
    assert isinstance(watched, VerificationEngine)
    watched.register_tool_profile("rates", required_fields=["rate"])
    assert engine.profile_of("rates") == watched.profile_of("rates")
    assert list(engine.profile_of("rates").required_fields) == ["rate"]
    assert watched.calibrate("weather", prior=0.4) is watched
    assert engine.verify("weather", result={"degrees": 1}, learn=False).prior == pytest.approx(0.4)
    watched.trust("rates", 1)
    assert engine.verify("rates", result={}).note == "trusted warm-up, 0 calls left"
    with pytest.raises(ConfigurationError, match="confidence_score"):
        watched.record_feedback("weather", 7.0, True)
    watched.flush()


def test_a_label_reaches_the_engine_that_judged() -> None:
    store = MemoryStore()
    watched = observe(VerificationEngine(store=store), Keeping())
    watched.register_tool_profile("weather", required_fields=["degrees"])
    found = watched.verify("weather", result={}, call_id="c1")

    watched.record_feedback("weather", found.posterior, True, "c1")

    (record,) = store.events("feedback")
    assert (record.event["tool"], record.event["call_id"], record.event["verdict"]) == ("weather", "c1", found.verdict)


def test_leaving_the_context_closes_the_engine() -> None:
    closed = []

    class Closing(VerificationEngine):
        def close(self) -> None:
            closed.append(True)

    with observe(Closing(), Keeping()) as watched:
        assert isinstance(watched, ObservedEngine)
        assert not closed

    assert closed == [True]


def test_an_observation_says_what_was_judged_when_and_how_long_it_took(engine: VerificationEngine) -> None:
    keeping = Keeping()
    watched = observe(engine, keeping)

    before = time.time()
    found = watched.verify("weather", result={}, execution_time_ms=12.5, session_id=7, call_id="c1")  # type: ignore[arg-type] # any object is taken
    after = time.time()

    (seen,) = keeping.seen
    assert seen.result is found
    assert seen.fired == ("schema_mismatch",)
    assert seen.call == ToolCall("weather", None, None, 12.5, "7", "c1")
    assert before <= seen.at <= after
    assert 0 < seen.guard_seconds <= after - before + 0.001


def test_only_who_asks_for_content_gets_it(engine: VerificationEngine) -> None:
    bare, whole = Keeping(), Keeping(content=True)
    functions: list[Observation] = []
    watched = observe(engine, bare, whole, functions.append)

    watched.verify("weather", args={"city": "Kyiv"}, result={"degrees": 3})

    assert (bare.seen[0].call.args, bare.seen[0].call.result) == (None, None)
    assert (functions[0].call.args, functions[0].call.result) == (None, None)
    assert (whole.seen[0].call.args, whole.seen[0].call.result) == ({"city": "Kyiv"}, {"degrees": 3})


def test_an_observer_is_told_of_the_engine_once(engine: VerificationEngine) -> None:
    keeping = Keeping()

    observe(engine, keeping)

    assert keeping.engines == [engine]


def test_what_an_observer_raises_is_logged_by_name_once(
    engine: VerificationEngine, caplog: pytest.LogCaptureFixture
) -> None:
    keeping = Keeping()
    watched = observe(engine, Failing(times=3), keeping)

    with caplog.at_level(logging.INFO, "agentguard"):
        verdicts = [watched.verify("weather", result={}).verdict for _ in range(5)]

    assert verdicts == ["block"] * 5
    assert len(keeping.seen) == 5
    assert [record.getMessage() for record in caplog.records] == [
        "observer Failing failed: RuntimeError",
        "observer Failing works again; what happened meanwhile was not observed",
    ]


def test_what_ends_the_process_is_not_held_up(engine: VerificationEngine) -> None:
    def interrupt(_: Observation) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        observe(engine, interrupt).verify("weather", result={})


def test_an_observer_that_cannot_be_called_is_refused(engine: VerificationEngine) -> None:
    with pytest.raises(ConfigurationError, match="an observer is called with an Observation"):
        observe(engine, "prometheus")  # type: ignore[arg-type] # is what is tested


def test_threads_lose_no_verdict(engine: VerificationEngine) -> None:
    keeping = Keeping()
    watched = observe(engine, keeping)

    def calls(thread: int) -> None:
        for number in range(100):
            watched.verify("weather", result={"degrees": number}, call_id=f"{thread}-{number}")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(calls, range(8)))

    assert {seen.call.call_id for seen in keeping.seen} == {f"{t}-{n}" for t in range(8) for n in range(100)}
    assert len(keeping.seen) == 800


def test_integrations_take_it_for_an_engine(engine: VerificationEngine) -> None:
    keeping = Keeping()
    watched = observe(engine, keeping)

    @guarded(Guard(watched, on_block="replace"))
    def weather(city: str) -> dict[str, float]:
        return {"degrees": 18.0} if city == "London" else {}

    assert weather("London") == {"degrees": 18.0}
    assert "was blocked" in str(weather("Atlantis"))
    assert Guard(watched).judge(Outcome("weather", {}, {}, 5.0, "s", "c")).action == "replace"
    assert [seen.result.verdict for seen in keeping.seen] == ["accept", "block", "block"]
