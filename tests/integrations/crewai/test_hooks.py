"""Guarded tools in real crews: what the model reads, what is learned, what CrewAI swallows and caches."""

from __future__ import annotations

from threading import Barrier
from typing import Any

import pytest
from crewai.hooks import HookAborted, get_after_tool_call_hooks, get_before_tool_call_hooks
from crewai.tools import tool

from agentguard import ConfigurationError, ResultBlocked, VerificationEngine
from agentguard.guard import Guard, Outcome
from agentguard.integrations import crewai as integration
from agentguard.integrations.crewai import guard_crew

from ..engines import BrokenEngine, ScriptedEngine
from .scripted import crew_of, run

GOOD, MADE_UP = {"id": 7}, {"note": "I believe so"}


class Seen(list[Outcome]):
    def __call__(self, outcome: Outcome, _: object) -> None:
        self.append(outcome)


@pytest.fixture
def engine() -> VerificationEngine:
    engine = VerificationEngine()
    engine.register_tool_profile("lookup", required_fields=["id"], has_network_io=False)
    return engine


@pytest.fixture(params=["native", "text", "async"])
def kind(request: pytest.FixtureRequest) -> str:
    """Calls that the model makes itself, or by CrewAI's protocol of text; in ``kickoff`` or ``akickoff``."""
    return str(request.param)


def lookup_of(make: Any) -> Any:
    """A tool that returns what ``make()`` does."""

    @tool("lookup")
    def lookup(key: int) -> Any:
        """Look up."""
        return make()

    return lookup


async def shown(make: Any, kind: str, engine: VerificationEngine | None, **options: Any) -> list[str]:
    """Run a guarded crew with the tool, and give what the model was shown."""
    calls = {"calls": options.pop("calls")} if "calls" in options else {}
    crew = crew_of([lookup_of(make)], kind, **calls)
    if engine is None:
        return await run(crew, kind)
    session = options.pop("session", None)
    with guard_crew(Guard(engine, **options), crew, session=session):
        return await run(crew, kind)


def raiser(error: Exception) -> Any:
    def fail() -> Any:
        raise error

    return fail


@pytest.mark.parametrize("given", [GOOD, [GOOD], "id: 7", 7])
async def test_an_accepted_result_is_the_one_that_crewai_made(kind: str, given: Any) -> None:
    bare = await shown(lambda: given, kind, None)
    assert await shown(lambda: given, kind, VerificationEngine()) == bare


async def test_the_engine_is_told_what_crewai_knows(kind: str, engine: VerificationEngine) -> None:
    seen = Seen()
    crew = crew_of([lookup_of(lambda: GOOD)], kind)
    with guard_crew(Guard(engine, on_judgement=seen)):
        await run(crew, kind)
    (outcome,) = seen
    told = outcome._replace(execution_time_ms=None, call_id=None)
    assert told == Outcome("lookup", {"key": 3}, GOOD, None, str(crew.id))
    assert outcome.execution_time_ms is not None
    assert outcome.call_id is not None


async def test_a_flagged_result_has_a_line_after_it(kind: str) -> None:
    engine = ScriptedEngine(lookup="flag")
    (bare,) = await shown(lambda: GOOD, kind, None)
    (result,) = await shown(lambda: GOOD, kind, engine, flag_text="<{tool}>")
    assert result == f"{bare}\n\n<lookup>"
    for options in ({"on_flag": "observe"}, {"shadow": True}, {"tools": ["other"]}):
        assert await shown(lambda: GOOD, kind, engine, **options) == [bare]


async def test_a_made_up_result_is_replaced(kind: str, engine: VerificationEngine) -> None:
    (result,) = await shown(lambda: MADE_UP, kind, engine)
    assert result.startswith("The result of 'lookup' was blocked")
    (result,) = await shown(lambda: GOOD, kind, ScriptedEngine(lookup="flag"), on_flag="block")
    assert result.startswith("The result of 'lookup' was blocked")


async def test_a_block_that_is_raised_is_not_swallowed(kind: str, engine: VerificationEngine) -> None:
    with pytest.raises(HookAborted, match="'lookup' was blocked") as caught:
        await shown(lambda: MADE_UP, kind, engine, on_block="raise")
    blocked = caught.value.__cause__
    assert isinstance(blocked, ResultBlocked)
    assert blocked.tool == "lookup"


async def test_the_next_same_call_is_not_answered_by_the_blocked_result(kind: str, engine: VerificationEngine) -> None:
    crew = crew_of([lookup_of(iter([MADE_UP, GOOD]).__next__)], kind)
    seen = Seen()
    with guard_crew(Guard(engine, on_judgement=seen), crew):
        (first,) = await run(crew, kind)
        crew.agents[0].llm._shown.clear()
        (second,) = await run(crew, kind)
    assert first.startswith("The result of 'lookup' was blocked")
    assert "7" in second
    assert None not in [outcome.execution_time_ms for outcome in seen]


async def test_an_answer_from_the_cache_has_no_latency(kind: str, engine: VerificationEngine) -> None:
    crew = crew_of([lookup_of(iter([GOOD]).__next__)], kind)
    seen = Seen()
    with guard_crew(Guard(engine, on_judgement=seen), crew):
        first = await run(crew, kind)
        crew.agents[0].llm._shown.clear()
        assert await run(crew, kind) == first
    assert [outcome.execution_time_ms is None for outcome in seen] == [False, True]


async def test_a_tool_that_raises_is_judged_as_a_failure(kind: str, engine: VerificationEngine) -> None:
    seen = Seen()
    bare = await shown(raiser(KeyError("no such row")), kind, None)
    assert await shown(raiser(KeyError("no such row")), kind, engine, on_judgement=seen) == bare
    assert [outcome.is_error for outcome in seen] == [True]


async def test_what_crewai_makes_up_itself_is_no_result(engine: VerificationEngine) -> None:
    seen = Seen()
    await shown(lambda: GOOD, "native", engine, on_judgement=seen, calls=[("nowhere", {"key": 3})])
    spent = lookup_of(lambda: GOOD)
    spent.max_usage_count = 1
    crew = crew_of([spent], "native", calls=[("lookup", {"key": 1}), ("lookup", {"key": 2})])
    with guard_crew(Guard(engine, on_judgement=seen), crew):
        (_, second) = await run(crew, "native")
    assert "usage limit" in second
    assert [outcome.args for outcome in seen] == [{"key": 1}]
    seen.clear()
    await shown(lambda: "Tool not found, use the key 9.", "native", engine, on_judgement=seen)
    assert [outcome.result for outcome in seen] == ["Tool not found, use the key 9."]  # it is the tool that says so


async def test_what_is_to_be_redacted_is_not_shown(kind: str) -> None:
    engine = ScriptedEngine()
    engine.redact = ("pii",)
    (result,) = await shown(lambda: {"by": "ada@example.org", "id": 7}, kind, engine)
    assert "7" in result
    assert "ada@example.org" not in result


async def test_the_guards_own_failure_open_and_closed(kind: str) -> None:
    (bare,) = await shown(lambda: GOOD, kind, None)
    assert await shown(lambda: GOOD, kind, BrokenEngine()) == [bare]
    (result,) = await shown(lambda: GOOD, kind, BrokenEngine(), on_guard_error="closed")
    assert "could not be verified" in result


async def test_what_a_session_raises_is_not_swallowed(kind: str, engine: VerificationEngine, caplog: Any) -> None:
    def session(context: Any) -> str:
        raise LookupError("no session")

    (bare,) = await shown(lambda: GOOD, kind, None)
    assert await shown(lambda: GOOD, kind, engine, session=session) == [bare]
    (result,) = await shown(lambda: GOOD, kind, engine, session=session, on_guard_error="closed")
    assert "could not be verified" in result
    assert caplog.text.count("guarding a result of 'lookup' failed: LookupError") == 2


async def test_calls_at_once_lose_no_update_and_keep_their_times(
    monkeypatch: pytest.MonkeyPatch, engine: VerificationEngine
) -> None:
    together = Barrier(4, timeout=30)
    engine.trust("lookup", 5)
    seen = Seen()

    def make() -> Any:
        together.wait()
        return GOOD

    calls = [("lookup", {"key": n}) for n in range(4)]
    assert len(await shown(make, "native", engine, on_judgement=seen, calls=calls)) == 4
    assert engine.verify("lookup", result=GOOD).note == "trusted warm-up, 0 calls left"
    assert sorted(outcome.args["key"] for outcome in seen) == [0, 1, 2, 3]
    assert None not in [outcome.execution_time_ms for outcome in seen]


async def test_the_time_is_the_tools_own(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    now, times = [5.0], []
    monkeypatch.setattr(integration, "perf_counter", lambda: now[0])

    def make() -> Any:
        now[0] += 0.1
        return GOOD

    engine = VerificationEngine()
    await shown(make, kind, engine, on_judgement=lambda outcome, _: times.append(outcome.execution_time_ms))
    assert times == pytest.approx([100.0])


async def test_other_crews_are_left_alone_and_the_hooks_are_removed(engine: VerificationEngine) -> None:
    before = get_before_tool_call_hooks(), get_after_tool_call_hooks()
    guarded, other = (crew_of([lookup_of(lambda: MADE_UP)], "native") for _ in range(2))
    guard = guard_crew(engine, guarded)
    assert "blocked" in (await run(guarded, "native"))[0]
    assert "I believe so" in (await run(other, "native"))[0]
    guard.close()
    assert (get_before_tool_call_hooks(), get_after_tool_call_hooks()) == before


@pytest.mark.parametrize("options", [{"on_flag": "review"}, {"on_block": "end"}])
def test_what_it_cannot_do_is_refused_at_once(options: dict[str, Any], engine: VerificationEngine) -> None:
    with pytest.raises(ConfigurationError, match=next(iter(options))):
        guard_crew(Guard(engine, **options))
