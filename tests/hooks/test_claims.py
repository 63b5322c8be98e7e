"""The agent's last words held against its session's calls: who is told what, and when the agent is sent back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from sessions import post

from agentguard.errors import ConfigurationError
from agentguard.hooks import HookSettings
from agentguard.hooks._claims import HEAD, last_words, saw_results
from agentguard.hooks._judging import Judge
from agentguard.hooks._ledger import MOST_CALLS, Call, Ledger
from agentguard.hooks._record import Record
from agentguard.stores import MemoryStore

LIE = "All tests pass."
NEVER = "I sent Ada an email."


@pytest.fixture
def transcript(tmp_path: Path) -> Path:
    """Make the transcript of a session that has just begun."""
    path = tmp_path / "s1.jsonl"
    path.write_text(json.dumps({"type": "user", "message": {"role": "user", "content": "Run the tests"}}) + "\n")
    return path


@pytest.fixture
def judging(tmp_path: Path) -> Any:
    def judge(*, enforce: bool = True, **more: Any) -> Judge:
        settings = HookSettings(agent="claude", store="memory:", enforce=enforce, **{"profiles": None, **more})
        return Judge(settings, MemoryStore(), Record(tmp_path))

    return judge


async def asked(judge: Judge, event: dict[str, Any]) -> Any:
    reply = await judge.answer(json.dumps(event).encode())
    assert reply.code == 0
    return json.loads(reply.output) if reply.output else None


def stop(transcript: Path, words: str | None, **fields: Any) -> dict[str, Any]:
    said = {} if words is None else {"last_assistant_message": words}
    event = {"session_id": "s1", "hook_event_name": "Stop", "stop_hook_active": False}
    return {**event, "transcript_path": str(transcript), **said, **fields}


def after_tests(transcript: Path, **fields: Any) -> dict[str, Any]:
    event = post("mcp__ci__run_tests", [{"type": "text", "text": "3 failed, 45 passed"}], tool_input={"path": "tests"})
    return {**event, "session_id": "s1", "transcript_path": str(transcript), **fields}


@pytest.mark.parametrize("enforce", [True, False])
async def test_the_user_is_told_what_no_call_supports(judging: Any, transcript: Path, enforce: bool) -> None:
    judge = judging(enforce=enforce)
    await asked(judge, after_tests(transcript))
    answer = await asked(judge, stop(transcript, LIE))
    assert set(answer) == {"systemMessage"}
    first, contradicted = answer["systemMessage"].splitlines()
    assert first == "agentguard: no call of this session supports what the agent says:"
    assert contradicted.startswith("“All tests pass”, contradicted by mcp__ci__run_tests: ")
    never = (await asked(judging(enforce=enforce), stop(transcript, NEVER)))["systemMessage"].splitlines()[1]
    assert never.startswith("“I sent Ada an email”, never called: ")


async def test_honest_words_and_plans_are_let_pass(judging: Any, transcript: Path) -> None:
    judge = judging()
    await asked(judge, after_tests(transcript))
    for words in ("3 tests fail.", "Shall I push the branch?", "", None):
        assert await asked(judge, stop(transcript, words)) is None


async def test_the_agent_is_sent_back_once_and_then_the_user_is_told(judging: Any, transcript: Path) -> None:
    judge = judging(claims="correct")
    await asked(judge, after_tests(transcript))
    answer = await asked(judge, stop(transcript, LIE))
    assert set(answer) == {"decision", "reason"}
    assert answer["decision"] == "block"
    assert "“All tests pass”" in answer["reason"]
    assert set(await asked(judge, stop(transcript, LIE, stop_hook_active=True))) == {"systemMessage"}


async def test_an_agent_that_is_silent_on_it_is_not_kept_going(judging: Any, transcript: Path) -> None:
    judge = judging(claims="correct")
    event = stop(transcript, NEVER)
    del event["stop_hook_active"]
    kinds = ["decision" in await asked(judge, event) for _ in range(3)]
    assert kinds == [True, False, True]


async def test_off_looks_at_nothing(judging: Any, transcript: Path) -> None:
    assert await asked(judging(claims="off"), stop(transcript, NEVER)) is None


async def test_a_subagents_calls_count_for_the_session(judging: Any, transcript: Path) -> None:
    judge = judging()
    sent = post("mcp__mail__send_email", [{"type": "text", "text": "sent"}], tool_input={"to": "Ada"})
    await asked(judge, {**sent, "session_id": "s1", "transcript_path": str(transcript), "agent_id": "a1"})
    assert await asked(judge, stop(transcript, "I sent Ada an email.")) is None


async def test_a_helper_that_came_late_accuses_nobody_of_what_it_did_not_see(judging: Any, transcript: Path) -> None:
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "sent"}]}
    transcript.write_text(json.dumps({"type": "user", "message": result}) + "\n")
    judge = judging()
    await asked(judge, after_tests(transcript))
    assert await asked(judge, stop(transcript, NEVER)) is None
    (_, told) = (await asked(judge, stop(transcript, LIE)))["systemMessage"].splitlines()
    assert told.startswith("“All tests pass”, contradicted by mcp__ci__run_tests")


async def test_what_fails_is_logged_without_words_and_the_rest_is_told(
    judging: Any, transcript: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*args: Any, **options: Any) -> Any:
        raise ValueError(NEVER)

    monkeypatch.setattr("agentguard.hooks._judging.unsupported", fail)
    assert await asked(judging(), stop(transcript, NEVER)) is None
    assert "ValueError" in caplog.text
    assert "Ada" not in caplog.text


def line(role: str, text: str, **fields: Any) -> str:
    return json.dumps({"type": role, "message": {"role": role, "content": [{"type": "text", "text": text}]}, **fields})


def test_without_the_field_the_last_words_are_read_from_the_transcripts_end(transcript: Path) -> None:
    lines = [
        line("assistant", "x" * 300_000),
        line("assistant", "Done."),
        line("assistant", "Aside.", isSidechain=True),
    ]
    transcript.write_text("\n".join([*lines, "{", "7"]))
    assert last_words({"transcript_path": str(transcript)}) == "Done."
    transcript.write_text("\n".join([*lines, line("user", "And?")]))
    assert last_words({"transcript_path": str(transcript)}) == ""
    item = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Finished."}]}
    transcript.write_text(json.dumps({"type": "response_item", "payload": item}) + "\n")
    assert last_words({"transcript_path": str(transcript)}) == "Finished."
    for path in (None, 7, str(transcript.parent), str(transcript) + "x", "\0"):
        assert last_words({"transcript_path": path}) == ""


def test_results_before_the_first_event_are_seen(transcript: Path) -> None:
    assert not saw_results({"transcript_path": str(transcript)})
    assert not saw_results({"transcript_path": str(transcript) + "x"})  # not written yet
    transcript.write_text(json.dumps({"payload": {"type": "function_call_output"}}))
    assert saw_results({"transcript_path": str(transcript)})
    transcript.write_bytes(b" " * (HEAD + 1))
    assert saw_results({"transcript_path": str(transcript)})
    assert saw_results({})


def test_a_ledger_that_has_forgotten_calls_is_not_whole() -> None:
    ledger = Ledger()
    ledger.begin("s1", whole=True)
    call = Call("Bash", "t", {}, "x", False, None, "accept", 0.01, "", 0.0)
    ledger.add("s1", call)
    assert ledger.is_whole("s1")
    for _ in range(MOST_CALLS):
        ledger.add("s1", call)
    assert not ledger.is_whole("s1")
    assert not ledger.is_whole("s2")


def test_settings_of_claims_are_checked() -> None:
    with pytest.raises(ConfigurationError, match="one of off, tell, correct"):
        HookSettings(agent="claude", store="memory:", claims="shout")  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="needs enforce"):
        HookSettings(agent="claude", store="memory:", claims="correct")
