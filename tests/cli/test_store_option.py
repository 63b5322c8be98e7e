"""`--store` and `AGENTGUARD_STORE`: where the command line keeps what it learns, and what it shows of that."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from agentguard.cli import app
from agentguard.cli._exits import Exit
from agentguard.cli._options import default_store, shown

from ..rows import over

runner = CliRunner()
PASSWORD = "s3cr3t/p?w#"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("AGENTGUARD_STORE", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "agentguard"


def verify(number: int, *options: str, **env: str) -> Any:
    call = {"tool": "weather", "args": {"day": number}, "result": {"degrees": number}, "execution_time_ms": 120}
    return runner.invoke(app, ["verify", "-", *options], input=json.dumps(call), env=env)


def learned(folder: Path | str) -> int:
    run = runner.invoke(app, ["state", "inspect", "--store", str(folder), "--json"])
    return sum(one["results"] for tool in json.loads(run.stdout)["tools"] for one in tool["learned"])


def calls(folder: str) -> int:
    run = runner.invoke(app, ["state", "inspect", "--store", folder, "--json"])
    return int(json.loads(run.stdout)["totals"]["calls"])


def test_each_call_is_learned_into_the_store(tmp_path: Path) -> None:
    folder = tmp_path / "store"

    runs = [verify(n, "--store", str(folder)) for n in range(12)]

    assert [run.exit_code for run in runs] == [0] * 12
    assert f"learned into {folder}" in runs[-1].stdout
    assert learned(folder) == 12


def test_a_call_is_judged_by_what_the_store_knows(tmp_path: Path) -> None:
    folder, history = str(tmp_path / "store"), tmp_path / "history.jsonl"
    lines = [
        {"tool": "weather", "args": {"day": n}, "result": {"degrees": n, "wind": n}, "execution_time_ms": 120}
        for n in range(100, 160)
    ]
    history.write_text("".join(json.dumps(line) + "\n" for line in lines))

    alone = json.loads(verify(1, "--json").stdout)
    with_history = json.loads(verify(1, "--json", "--history", str(history)).stdout)
    verify(1, "--history", str(history), "--store", folder)
    with_store = json.loads(verify(2, "--json", "--store", folder).stdout)

    # Without its usual wind the call is the less to be believed, whether the 60 others were just read or long ago.
    assert with_history["posterior"] > alone["posterior"]
    assert with_store["posterior"] > alone["posterior"]
    assert calls(folder) == 62


def test_the_environment_names_the_store(tmp_path: Path) -> None:
    folder = tmp_path / "store"

    verify(1, AGENTGUARD_STORE=str(folder))
    seen = runner.invoke(app, ["state", "inspect"], env={"AGENTGUARD_STORE": str(folder)})

    assert learned(folder) == 1
    assert f"store: {folder}" in seen.stdout


@pytest.mark.parametrize("env", [{}, {"AGENTGUARD_STORE": ""}])
def test_without_a_store_nothing_is_kept(home: Path, env: dict[str, str]) -> None:
    run = verify(1, **env)

    assert run.exit_code == 0
    assert "learned into" not in run.stdout
    assert not home.exists()


def test_what_failed_leaves_no_verdict_and_says_why(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")

    run = verify(1, "--store", str(tmp_path / "file"))

    assert run.exit_code == Exit.ERROR
    assert "error: " in run.stderr
    assert "verdict" not in run.stdout


def test_a_store_in_memory_is_no_store_for_a_command() -> None:
    for run in (verify(1, "--store", "memory:"), runner.invoke(app, ["state", "inspect", "--store", "memory:"])):
        assert run.exit_code == Exit.ERROR
        assert "name a folder or a server" in run.stderr


@pytest.mark.parametrize(
    ("xdg", "expected"),
    [("/var/state", "/var/state/agentguard"), ("", "/home/ann/.local/state/agentguard"),
     ("relative", "/home/ann/.local/state/agentguard")],
)  # fmt: skip
def test_the_folder_of_the_command_line(monkeypatch: pytest.MonkeyPatch, xdg: str, expected: str) -> None:
    monkeypatch.setenv("HOME", "/home/ann")
    monkeypatch.setenv("XDG_STATE_HOME", xdg)

    assert default_store() == expected


@over(
    ("where", "expected"),
    [
        (f"redis://ann:{PASSWORD}@cache.example:6379/2", "redis://cache.example:6379/2"),
        (f"rediss://:{PASSWORD}@cache.example/0?ssl_ca_certs=ca.crt", "rediss://cache.example/0"),
        ("redis://cache.example?password=s3cr3t", "redis://cache.example"),
        ("unix:///run/redis.sock?db=1", "unix:///run/redis.sock"),
        ("/var/lib/guard", "/var/lib/guard"),
        ("disk:/var/\x1b[31mguard", "disk:/var/[31mguard"),
    ],
)
def test_addresses_are_shown_without_passwords(where: str, expected: str) -> None:
    assert shown(where) == expected


@over(
    "where",
    [
        f"redis://ann:{PASSWORD}@127.0.0.1:1/0",
        "redis://ann:s3cr3t@127.0.0.1:1/0",
        "redis:ann:s3cr3t@127.0.0.1",
        "postgres://ann:s3cr3t@127.0.0.1/guard",
    ],
)
@over("words", [["state", "inspect"], ["state", "inspect", "--json"], ["verify", "-"]])
def test_no_message_shows_a_password(where: str, words: list[str]) -> None:
    call = json.dumps({"tool": "weather", "result": 1})

    run = runner.invoke(app, [*words, "--store", where], input=call)

    assert run.exit_code == Exit.ERROR
    assert "s3cr3t" not in run.output
