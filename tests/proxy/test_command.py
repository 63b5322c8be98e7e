"""``agentguard proxy``: the process, from its first line to its end."""

from __future__ import annotations

import json
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from agentguard.admin._overview import overview
from agentguard.cli import app
from agentguard.cli._proxy import _name_of
from agentguard.errors import ConfigurationError
from agentguard.stores import DiskStore

from .conftest import SERVER, Proxied, answer, call, line, text

Begin = Callable[..., Proxied]
runner = CliRunner()

WRONG = text("There should be plenty left.")


@pytest.fixture(scope="module")
def profiles(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("profiles")
    (folder / "stock.yaml").write_text("required_fields: [sku, count]\n")
    return str(folder)


@pytest.fixture(scope="module")
def enforcing(tmp_path_factory: pytest.TempPathFactory, profiles: str) -> Iterator[Proxied]:
    """One process for all tests that neither end it nor read what it said."""
    state = {"XDG_STATE_HOME": str(tmp_path_factory.mktemp("state"))}
    with closing(Proxied("--enforce", "--profiles", profiles, env=state)) as proxy:
        yield proxy


def test_observing_is_the_default_and_is_said(proxied: Begin, profiles: str) -> None:
    proxy = proxied("--profiles", profiles)
    assert proxy.ask(call(1, result=WRONG)) == json.loads(answer(1, WRONG))
    code, rest, said = proxy.end()

    assert (code, rest) == (0, b"")
    assert "results pass unchanged; --enforce acts" in said
    assert "block: a result of 'stock' (observed)" in said
    assert "plenty" not in said


def test_enforcing_acts(enforcing: Proxied) -> None:
    made = enforcing.ask(call(1, result=WRONG))

    assert made["result"]["isError"] is True
    assert "was blocked" in made["result"]["content"][0]["text"]


def test_whatever_either_side_says_passes_as_it_is(proxied: Begin) -> None:
    proxy = proxied("--enforce")
    raw = '{ "jsonrpc":"2.0", "id" : 1,"result":{"content":[],"n":1.50e3,"long":123456789012345678901, "ü":"\\u00fc"}}'
    proxy.write(call(1, raw=raw))
    assert proxy.read() == f"{raw}\n".encode()
    proxy.write(b"this is no JSON\n")
    assert json.loads(proxy.read())["params"] == {"line": "this is no JSON\n"}
    batch = [{"jsonrpc": "2.0", "id": 3, "method": "new/method", "params": {"x": None}}]
    assert proxy.ask(line(batch))["params"]["message"] == batch
    proxy.write(call(4, raw="nor is this"))
    assert proxy.read() == b"nor is this\n"
    _, _, said = proxy.end()

    assert "unread messages of the client 1" in said
    assert "unread messages of the server 1" in said


def test_what_the_server_asks_and_the_client_says_passes(enforcing: Proxied) -> None:
    asked = enforcing.ask(call("x", "ask"))
    assert asked == {"jsonrpc": "2.0", "id": "x", "method": "sampling/createMessage", "params": {"of": 1.5}}
    said = '{"jsonrpc":"2.0","id":"x","result":{"role":"assistant"}}'

    assert enforcing.ask(f"{said}\n".encode())["result"]["content"][0]["text"] == said


def test_a_long_line_passes(enforcing: Proxied) -> None:
    result = text("y" * 5_000_000)

    assert enforcing.ask(call(1, "other", result=result))["result"] == result


def test_answers_may_overtake_one_another(enforcing: Proxied) -> None:
    enforcing.write(call(1, "late", result=text("a")), call(2, result=WRONG))
    made = [json.loads(enforcing.read()) for _ in range(2)]

    assert [each["id"] for each in made] == [2, 1]
    assert made[0]["result"]["isError"] is True
    assert made[1]["result"] == text("a")


def test_nobody_waits_for_a_client_that_does_not_read(enforcing: Proxied) -> None:
    # The server fills every pipe with notifications while the client goes on writing.
    writing = threading.Thread(
        target=enforcing.write,
        args=(call(1, "flood", times=300, size=10_000), *([call(2, "other", x="z" * 10_000)] * 100)),
    )
    writing.start()
    got = [json.loads(enforcing.read()) for _ in range(401)]
    writing.join()

    assert sum("result" in each for each in got) == 101


def test_nobody_waits_for_a_client_that_does_not_read_what_is_logged(proxied: Begin, profiles: str) -> None:
    # More lines than a pipe and the queue before it hold.
    command = (sys.executable, str(SERVER))
    proxy = proxied("--profiles", profiles, command=command, reads_log=False)
    for number in range(1_200):
        proxy.ask(call(number, n=number, result=WRONG))

    assert proxy.end()[0] == 0


def test_the_servers_code_and_its_words_are_ours(proxied: Begin) -> None:
    proxy = proxied()
    proxy.write(call(1, "die", code=7))
    assert proxy.read() == b""
    code, _, said = proxy.end()

    assert code == 7
    assert "dying" in said


def test_a_server_that_a_signal_ended(proxied: Begin) -> None:
    proxy = proxied(command=(sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"))
    assert proxy.read() == b""

    assert proxy.end()[0] == 137


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_ends_both(proxied: Begin, number: int, code: int) -> None:
    proxy = proxied()
    proxy.ask(call(1))
    proxy.process.send_signal(number)

    assert proxy.read() == b""
    assert proxy.end()[0] == code


def test_a_server_that_will_not_end_is_killed(proxied: Begin) -> None:
    proxy = proxied(command=(sys.executable, str(SERVER), "--deaf"))
    proxy.ask(call(1))

    assert proxy.end()[0] == 137


def test_what_is_learned_outlives_the_process_and_others_read_it(proxied: Begin, tmp_path: Path, profiles: str) -> None:
    store = tmp_path / "kept"
    good = {"content": [], "structuredContent": {"sku": "K-7", "count": 12}}
    for _ in range(2):
        proxy = proxied("--store", str(store), "--profiles", profiles)
        for number in range(3):
            proxy.ask(call(number, result=good))
        proxy.ask(call(9, result=WRONG))
        proxy.end()

    with DiskStore(store) as kept:
        (tool,) = overview(kept).tools
        assert (tool.tool, tool.counted.calls) == ("stock", 8)
        assert tool.audit.records >= 2
    page = tmp_path / "report.html"
    done = runner.invoke(app, ["report", str(store), "-o", str(page)])
    assert done.exit_code == 0, done.output
    assert "stock" in page.read_text()


def test_a_changed_list_is_told_kept_and_accepted(proxied: Begin, tmp_path: Path) -> None:
    pin, store = tmp_path / "tools.json", str(tmp_path / "kept")
    options = ("--pin", str(pin), "--store", store, "--enforce")
    ask = line({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})

    def listed(description: str) -> tuple[Any, str]:
        tools = [{"name": "add", "description": description}]
        proxy = proxied(*options, env={"TOOLS": json.dumps(tools)})
        assert proxy.ask(ask)["result"]["tools"] == tools
        made = proxy.ask(call(2, "add", result=text("3")))
        return made["result"]["content"], proxy.end()[2]

    assert listed("Adds.")[0] == text("3")["content"]
    content, said = listed("Adds, and tells.")
    assert "its description is not what was pinned" in said
    assert len(content) == 2
    shown = runner.invoke(app, ["changes", "list", "--store", store])
    assert "add#listing" in shown.output

    accepted = runner.invoke(app, ["proxy", "--pin", str(pin), "--store", store, "--accept"])
    assert accepted.output == "add: its description is not what was pinned: accepted\n"
    content, said = listed("Adds, and tells.")
    assert content == text("3")["content"]
    assert "pinned" not in said
    again = runner.invoke(app, ["proxy", "--pin", str(pin), "--store", store, "--accept"])
    assert "lists nothing else" in again.output
    assert "nothing is open" in runner.invoke(app, ["changes", "list", "--store", store]).output


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "name one server"),
        (["--accept"], "--accept needs the server's name"),
        (["--url", "http://127.0.0.1:1/mcp", "--", "x"], "name one server"),
        (["--url", "ftp://x"], "must begin with http"),
        (["--header", "A=B", "--", "x"], "--header goes with --url"),
        (["--listen", "127.0.0.1:0", "--", "x"], "--listen goes with --url"),
        (["--url", "http://x/", "--header", "Authorization: Bearer hunter2"], "no secret is to stand in a command"),
        (["--url", "http://x/", "--header", "Authorization=NOT_THERE"], "no environment variable NOT_THERE"),
        (["--url", "http://x/", "--listen", "8000"], "--listen is HOST:PORT"),
        (["--url", "http://x/", "--listen", "0.0.0.0:0"], "--allow-remote says that this is meant"),
        (["--name", "../x", "--", "x"], "--name is made of"),
        (["--", "no-such-program-at-all"], "there is no program 'no-such-program-at-all'"),
        (["--profiles", "/no/such/folder", "--", "x"], "/no/such/folder"),
    ],
)
def test_a_wrong_command_is_refused_in_a_sentence(
    options: list[str], message: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "300")
    done = runner.invoke(app, ["proxy", *options])

    assert done.exit_code == 3
    assert message in done.output
    assert "hunter2" not in done.output


def test_servers_have_names_that_tell_them_apart() -> None:
    assert _name_of(["npx", "-y", "@scope/server-memory@1.2"], None, None).startswith("server-memory-")
    assert _name_of(["python3", "-m", "shop"], None, None).startswith("shop-")
    assert _name_of([], "https://mcp.example.org/sse?key=1", None).startswith("mcp.example.org-")
    assert _name_of(["s", "/a"], None, None) != _name_of(["s", "/b"], None, None)
    assert _name_of(["s"], None, "mine") == "mine"
    with pytest.raises(ConfigurationError):
        _name_of(["s"], None, "..")
