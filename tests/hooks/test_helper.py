"""The real client and the real helper, as processes over the real socket.

The agents themselves are not here: events are of our own making, after the published schemas of their hooks.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from installed_hooks import Installed, Installing
from sessions import post

from agentguard.hooks import status_of
from agentguard.hooks._running import end_helper, helper_of
from agentguard.stores import open_store

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no Unix sockets")

WRONG = [{"type": "text", "text": '{"cost": "seven"}'}]
PROFILE = "name: mcp__shop__price\noutput_schema: {required: [price]}\n"
OUTPUT = {"stdout": "done", "stderr": "", "interrupted": False}


def helper(hooks: Installed) -> int:
    number = helper_of(hooks.place.folder)
    assert number is not None
    return number


def await_end(hooks: Installed) -> None:
    """Wait until no helper holds the lock any more."""
    end = time.monotonic() + 60
    while helper_of(hooks.place.folder) is not None:
        assert time.monotonic() < end, "the helper does not end"
        time.sleep(0.01)


@pytest.fixture
def profile(tmp_path: Path) -> str:
    path = tmp_path / "price.yaml"
    path.write_text(PROFILE)
    return str(path)


def test_the_first_event_starts_a_helper_and_the_next_finds_it(installed: Installing, profile: str) -> None:
    hooks = installed(enforce=True, profiles=profile)
    first = hooks.run(post("mcp__shop__price", WRONG))
    number = helper(hooks)
    second = hooks.run(post("Bash", OUTPUT, 2))

    assert (first.returncode, first.stderr) == (0, b"")
    replaced = json.loads(first.stdout)["hookSpecificOutput"]["updatedToolOutput"]
    assert "was blocked" in replaced[0]["text"]
    assert (second.returncode, second.stdout, second.stderr) == (0, b"", b"")
    assert helper(hooks) == number
    status = status_of(hooks.place)
    assert (status.helper, status.problems) == (number, ())


def test_of_eight_hooks_at_once_each_is_answered_by_the_one_helper(installed: Installing, profile: str) -> None:
    hooks = installed(enforce=True, profiles=profile)
    processes = [hooks.begin() for _ in range(8)]
    answers = []
    for number, process in enumerate(processes):
        payload = json.dumps(post("mcp__shop__price", WRONG, number)).encode()
        assert process.stdin is not None
        process.stdin.write(payload)
        process.stdin.close()
        process.stdin = None
    for process in processes:
        with process:
            answers.append((*process.communicate(timeout=60), process.returncode))

    assert [(err, code) for _, err, code in answers] == [(b"", 0)] * 8
    assert [json.loads(out)["decision"] for out, _, _ in answers] == ["block"] * 8
    assert end_helper(hooks.place.folder)
    assert sum(status_of(hooks.place).record.counts.values()) == 8


def test_a_helper_ends_when_it_is_idle_and_nothing_is_lost(installed: Installing, tmp_path: Path) -> None:
    hooks = installed(idle_seconds=0.05)
    hooks.run(post("mcp__a__b", "one"))
    await_end(hooks)
    assert not hooks.file("socket").exists()
    hooks.run(post("mcp__a__b", "two", 2))
    await_end(hooks)
    assert status_of(hooks.place).record.counts["accept"] == 2
    store = open_store(str(tmp_path / "store"))
    assert "mcp__a__b" in " ".join(store.names())
    store.close()


def test_sigterm_ends_it_and_nothing_is_lost(installed: Installing) -> None:
    hooks = installed()
    for number in range(5):
        hooks.run(post("Bash", OUTPUT, number))
    os.kill(helper(hooks), signal.SIGTERM)
    await_end(hooks)
    assert status_of(hooks.place).record.counts["accept"] == 5


def test_a_helper_that_was_killed_is_started_anew(installed: Installing) -> None:
    hooks = installed()
    hooks.run(post("Bash", OUTPUT))
    killed = helper(hooks)
    os.kill(killed, signal.SIGKILL)
    await_end(hooks)
    assert hooks.file("socket").exists()
    answer = hooks.run(post("Bash", OUTPUT, 2))
    assert (answer.returncode, answer.stdout, answer.stderr) == (0, b"", b"")
    assert helper(hooks) != killed


def test_other_settings_replace_the_helper(installed: Installing, profile: str) -> None:
    hooks = installed(profiles=profile)
    assert hooks.run(post("mcp__shop__price", WRONG)).stdout == b""
    before = helper(hooks)
    hooks = installed(profiles=profile, enforce=True)
    assert json.loads(hooks.run(post("mcp__shop__price", WRONG, 2)).stdout)
    assert helper(hooks) != before


def test_other_profiles_replace_the_helper_and_broken_ones_are_told(installed: Installing, profile: str) -> None:
    hooks = installed(profiles=profile, enforce=True)
    hooks.run(post("Bash", OUTPUT))
    Path(profile).write_text("name: [\n")
    answer = hooks.run(post("Bash", OUTPUT, 2))
    assert answer.returncode == 0
    assert "agentguard judges nothing:" in json.loads(answer.stdout)["systemMessage"]
    assert any("the helper judges nothing" in problem for problem in status_of(hooks.place).problems)
    Path(profile).write_text(PROFILE)
    assert hooks.run(post("Bash", OUTPUT, 3)).stdout == b""
    assert status_of(hooks.place).problems == ()


def test_an_agent_that_says_what_it_did_not_do_is_sent_back_once(installed: Installing, tmp_path: Path) -> None:
    hooks = installed(enforce=True, claims="correct")
    session = {"session_id": "s1", "transcript_path": str(tmp_path / "s1.jsonl")}
    hooks.run({**post("Read", {"file": {"content": "x = 1"}}), **session})
    stop = {**session, "hook_event_name": "Stop", "last_assistant_message": "I sent Ada an email."}
    answer = json.loads(hooks.run(stop).stdout)
    assert answer["decision"] == "block"
    assert "“I sent Ada an email”" in answer["reason"]
    assert set(json.loads(hooks.run({**stop, "stop_hook_active": True}).stdout)) == {"systemMessage"}


def test_where_no_helper_can_be_the_policy_holds_aloud(installed: Installing) -> None:
    hooks = installed()
    hooks.file("lock").mkdir()  # a helper dies of it
    answer = hooks.run(post("Bash", OUTPUT))
    assert answer.returncode == 0
    assert "did not judge a result: the helper ended with code 1" in json.loads(answer.stdout)["systemMessage"]
    assert b"did not judge a result" in answer.stderr

    closed = installed(enforce=True, on_guard_error="closed")
    answer = closed.run(post("Bash", OUTPUT))
    output = json.loads(answer.stdout)["hookSpecificOutput"]["updatedToolOutput"]
    assert answer.returncode == 0
    assert output == {"stdout": json.loads(answer.stdout)["reason"], "stderr": "", "interrupted": False}
    broken = closed.run(b"{", "PostToolUse")
    assert broken.returncode == 2
    assert broken.stdout == b""
    assert b"could not verify" in broken.stderr
    stopped = closed.run({"hook_event_name": "Stop", "session_id": "s1", "stop_hook_active": False})
    assert stopped.returncode == 0
    assert "decision" not in json.loads(stopped.stdout)
    hooks.file("lock").rmdir()


@pytest.mark.parametrize(("policy", "code"), [("open", 0), ("closed", 2)])
def test_an_empty_event_is_answered_without_a_helper(installed: Installing, policy: str, code: int) -> None:
    hooks = installed(enforce=True, on_guard_error=policy)
    answer = hooks.run(b"")

    assert answer.returncode == code
    assert b"the event is empty" in (answer.stdout if policy == "open" else answer.stderr)
    assert helper_of(hooks.place.folder) is None


def test_a_folder_that_others_may_enter_is_not_trusted(installed: Installing) -> None:
    hooks = installed()
    hooks.place.folder.chmod(0o755)
    answer = hooks.run(post("Bash", OUTPUT))
    assert "can be reached by other users" in json.loads(answer.stdout)["systemMessage"]
    assert helper_of(hooks.place.folder) is None


def test_what_is_installed_no_more_is_told(installed: Installing) -> None:
    hooks = installed()
    for path in hooks.place.folder.iterdir():
        path.unlink()
    hooks.place.folder.rmdir()
    answer = hooks.run(post("Bash", OUTPUT))
    assert answer.returncode == 0
    assert "No such file or directory" in json.loads(answer.stdout)["systemMessage"]


def test_results_of_megabytes_are_judged_and_those_beyond_reason_are_not(installed: Installing) -> None:
    hooks = installed()
    answer = hooks.run(post("Bash", {**OUTPUT, "stdout": "line of a log\n" * 400_000}))
    assert (answer.returncode, answer.stdout, answer.stderr) == (0, b"", b"")
    answer = hooks.run(post("Bash", {**OUTPUT, "stdout": "x" * (32 << 20)}))
    assert "larger than 32 MiB" in json.loads(answer.stdout)["systemMessage"]


def test_a_client_loads_next_to_nothing(installed: Installing) -> None:
    hooks = installed()
    hooks.run(post("Bash", OUTPUT))
    python, *rest = shlex.split(hooks.commands["PostToolUse"])
    timed = subprocess.run(
        [python, "-X", "importtime", *rest], input=json.dumps(post("Bash", OUTPUT, 2)).encode(), capture_output=True,
        check=True,
    )  # fmt: skip
    loaded = {line.rsplit("|", 1)[-1].strip() for line in timed.stderr.decode().splitlines()}
    assert "_socket" in loaded
    assert not loaded & {"agentguard", "asyncio", "json", "re", "site", "socket", "subprocess", "typing"}


def test_without_a_helper_the_answer_is_the_same(installed: Installing, profile: str) -> None:
    hooks = installed(enforce=True, profiles=profile)
    command = [sys.executable, "-I", "-m", "agentguard.hooks", str(hooks.place.folder), "claude", "open"]
    payload = json.dumps(post("mcp__shop__price", WRONG)).encode()
    alone = subprocess.run(command, input=payload, capture_output=True, check=True)
    assert json.loads(alone.stdout)["decision"] == "block"
    assert status_of(hooks.place).record.counts["block"] == 1
    assert helper_of(hooks.place.folder) is None


def test_a_client_of_another_user_is_turned_away(monkeypatch: pytest.MonkeyPatch) -> None:
    from agentguard.hooks._helper import _same_user

    ours, theirs = socket.socketpair(socket.AF_UNIX)
    with ours, theirs:
        assert _same_user(ours)
        if hasattr(socket, "SO_PEERCRED"):
            monkeypatch.setattr(os, "getuid", lambda: 4_242)
            assert not _same_user(ours)


def test_the_installation_of_another_agent_has_a_helper_of_its_own(installed: Installing) -> None:
    claude, codex = installed("claude"), installed("codex")
    for hooks in (claude, codex):
        assert hooks.run(post("Bash", "done")).returncode == 0
    assert helper(claude) != helper(codex)
