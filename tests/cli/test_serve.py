"""``agentguard serve``: the process, from its first line to the signal that ends it."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from typer.testing import CliRunner

from agentguard.cli import _options, app
from agentguard.cli import _serve as command
from agentguard.gate._config import load_config
from agentguard.gate._run import open_services
from agentguard.gate.documents._ingest import ingest
from agentguard.gate.records import open_records
from agentguard.stores import DiskStore, MemoryStore
from agentguard.verification import VerificationEngine

PROGRAM = Path(sys.executable).with_name("agentguard")
KEY = "test-key-0123456789"

runner = CliRunner()

# A gate whose model under test says when it is asked, and answers when it gets a line.
WAITING = """
import sys
from functools import partial
from agentguard.gate.api import _gate as runs
from agentguard.cli import main

def answer(prompt):
    print("asked", flush=True)
    sys.stdin.readline()
    return "The warranty lasts 24 months."

runs.open_services = partial(runs.open_services, target=answer)
main()
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "warranty.md").write_text("# Warranty\n\nThe warranty lasts 24 months.\n")
    (tmp_path / "prompts.txt").write_text("How long is the warranty?\n")
    config = tmp_path / ".llm-reliability.yaml"
    config.write_text(
        "use_case: help desk\nevaluation: {prompts: prompts.txt}\ndoc_sources: [{type: local, path: docs}]\n"
    )
    configured = load_config(config)
    with open_services(configured, target=lambda prompt: "") as services:
        ingest(configured, services)
    return tmp_path


@pytest.fixture
def start(root: Path) -> Iterator[Callable[..., tuple[subprocess.Popen[str], str]]]:
    started: list[subprocess.Popen[str]] = []

    def start(program: list[str], *options: str) -> tuple[subprocess.Popen[str], str]:
        places = [] if "--store" in options else ["--root", str(root)]
        server = subprocess.Popen(
            [*program, "serve", *places, "--port", "0", *options],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "AGENTGUARD_API_KEY": KEY},
        )  # fmt: skip
        started.append(server)
        watch = threading.Timer(120, server.kill)  # whoever waits for a server that hangs is let go
        watch.daemon = True
        watch.start()
        assert server.stdout is not None
        line = server.stdout.readline()
        assert "http://" in line, server.communicate()[1]
        return server, line.split()[-1]

    yield start
    for server in started:
        server.kill()
        server.communicate()


def ask(url: str, body: object = None, key: str = KEY) -> tuple[int, dict[str, Any]]:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(  # noqa: S310 - the address is that of the server just started
        url, data, {"X-API-Key": key, "Content-Type": "application/json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310 - likewise
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


def records_of(root: Path) -> list[tuple[str, str]]:
    records = open_records(load_config(root / ".llm-reliability.yaml"))
    try:
        return [(run.run_id, run.status) for run in records.runs()]
    finally:
        records.close()


def test_it_serves_until_a_signal_ends_it(start: Callable[..., tuple[subprocess.Popen[str], str]]) -> None:
    server, url = start([str(PROGRAM)])

    assert url.startswith("http://127.0.0.1:")
    assert ask(f"{url}/healthz", key="") == (200, {"status": "ok"})
    assert ask(f"{url}/history?use_case=confidential") == (200, {"runs": []})
    assert ask(f"{url}/history", key="wrong")[0] == 401
    server.send_signal(signal.SIGTERM)
    out, err = server.communicate(timeout=60)

    assert (server.returncode, out) == (0, "")
    assert "GET /history 200" in err
    assert "GET /history 401" in err
    assert "confidential" not in err
    assert KEY not in err
    assert "Traceback" not in err


def test_a_run_under_way_is_recorded_as_interrupted(
    root: Path, start: Callable[..., tuple[subprocess.Popen[str], str]]
) -> None:
    server, url = start([sys.executable, "-c", WAITING])
    assert server.stdin is not None
    assert server.stdout is not None
    assert server.stderr is not None
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(ask, f"{url}/evaluate", {})
        assert server.stdout.readline() == "asked\n"

        server.send_signal(signal.SIGTERM)
        assert any("Shutting down" in line for line in server.stderr)
        server.stdin.write("\n")
        server.stdin.flush()
        status, problem = answer.result(60)
    server.communicate(timeout=60)

    assert server.returncode == 0
    assert (status, problem["stage"]) == (503, "extract_claims")
    assert records_of(root) == [(problem["run_id"], "interrupted")]


def test_a_run_that_outlives_the_grace_is_recorded_all_the_same(
    root: Path, start: Callable[..., tuple[subprocess.Popen[str], str]]
) -> None:
    server, url = start([sys.executable, "-c", WAITING], "--grace", "0")
    assert server.stdin is not None
    assert server.stdout is not None
    assert server.stderr is not None
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(ask, f"{url}/evaluate", {})
        assert server.stdout.readline() == "asked\n"

        server.send_signal(signal.SIGTERM)
        assert any("timeout graceful shutdown exceeded" in line for line in server.stderr)
        err = server.communicate("\n", timeout=60)[1]
        assert answer.exception(60) is not None

    assert server.returncode == 0, err
    assert [status for _, status in records_of(root)] == ["interrupted"]


# --- The page over a store ---


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store with one verdict that waits for a reviewer."""
    with DiskStore(tmp_path / "store") as kept, VerificationEngine(store=kept, audit_rate=1.0) as engine:
        engine.verify("get_order", args={"id": "W1"}, result={"id": "W1"}, call_id="c1")
    return tmp_path / "store"


def test_a_store_alone_is_served_with_its_page(
    store: Path, start: Callable[..., tuple[subprocess.Popen[str], str]]
) -> None:
    server, url = start([str(PROGRAM)], "--store", str(store))

    state = ask(f"{url}/live/state")[1]
    assert [verdict["call_id"] for verdict in state["verdicts"]] == ["c1"]
    assert state["source"] == str(store)
    assert ask(f"{url}/live/state", key="wrong")[0] == 401
    assert ask(f"{url}/history")[0] == 404  # where there is no --root there is no gate
    review = {"sequence": state["verdicts"][0]["sequence"], "was_hallucination": True}
    assert ask(f"{url}/live/reviews", review)[0] == 200
    server.send_signal(signal.SIGINT)
    out, err = server.communicate(timeout=60)

    assert (server.returncode, out) == (130, "")
    assert "Traceback" not in err
    assert KEY not in err
    with DiskStore(store) as kept:
        assert [record.event["call_id"] for record in kept.events("feedback")] == ["c1"]


def served_app(monkeypatch: pytest.MonkeyPatch, *options: str) -> TestClient:
    """What the command serves, without a process that listens."""
    made: list[Any] = []
    monkeypatch.setattr(command, "_serve", lambda app, *_: made.append(app) or False)
    run = runner.invoke(app, ["serve", *options], env={"AGENTGUARD_API_KEY": KEY})
    assert run.exit_code == 0, run.output
    return TestClient(made[0], headers={"X-API-Key": KEY}, base_url="http://localhost")


def test_gate_and_page_are_served_together(root: Path, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    client = served_app(monkeypatch, "--store", str(store), "--root", str(root))

    assert set(client.get("/openapi.json").json()["paths"]) == {
        "/evaluate", "/runs/{run_id}", "/history", "/live/state", "/live/queue", "/live/calls",
        "/live/calls/{sequence}",
        "/live/reviews", "/live/changes", "/live/decisions", "/healthz",
    }  # fmt: skip


def test_listeners_do_not_keep_it_from_ending(
    store: Path, start: Callable[..., tuple[subprocess.Popen[str], str]]
) -> None:
    server, url = start([str(PROGRAM)], "--store", str(store), "--grace", "600")
    request = urllib.request.Request(f"{url}/live/events", None, {"X-API-Key": KEY})  # noqa: S310 - as above
    with urllib.request.urlopen(request, timeout=60) as stream:  # noqa: S310 - likewise
        assert stream.readline() == b"retry: 2000\n"
        server.send_signal(signal.SIGTERM)

        stream.read()  # to its end
    server.communicate(timeout=60)

    assert server.returncode == 0


def test_a_password_of_a_store_is_not_shown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    told: list[str] = []
    monkeypatch.setattr(_options, "open_store", lambda where: MemoryStore())
    monkeypatch.setattr(command, "_serve", lambda app, served, *_: told.append(served) or False)

    run = runner.invoke(
        app, ["serve", "--store", "redis://guard:hunter2@example:6379/0"], env={"AGENTGUARD_API_KEY": KEY}
    )

    assert (run.exit_code, told) == (0, ["redis://example:6379/0"])


def test_the_environment_s_store_is_served_only_where_that_is_said(
    monkeypatch: pytest.MonkeyPatch, store: Path, root: Path
) -> None:
    told: list[str] = []
    monkeypatch.setattr(command, "_serve", lambda app, served, *_: told.append(served) or False)
    monkeypatch.chdir(root)

    run = runner.invoke(app, ["serve"], env={"AGENTGUARD_API_KEY": KEY, "AGENTGUARD_STORE": str(store)})

    assert (run.exit_code, told) == (0, ["."])


def test_a_store_that_is_not_there(tmp_path: Path) -> None:
    run = runner.invoke(app, ["serve", "--store", str(tmp_path / "missing")], env={"AGENTGUARD_API_KEY": KEY})

    assert run.exit_code == 3
    assert "there is no store at" in run.stderr
    assert not (tmp_path / "missing").exists()


# --- The guard ---


def test_the_guard_is_served_beside_the_gate_and_the_page(
    root: Path, tmp_path: Path, start: Callable[..., tuple[subprocess.Popen[str], str]]
) -> None:
    server, url = start([str(PROGRAM)], "--verify", "--store", str(tmp_path / "new"), "--root", str(root))

    call = {"tool": "get_order", "args": {"id": "W1"}, "result": {"id": "W1"}, "call_id": "c1"}
    assert ask(f"{url}/v1/verify", call)[1]["verdict"] == "accept"
    assert ask(f"{url}/v1/verify", call, key="wrong")[0] == 401
    assert ask(f"{url}/history") == (200, {"runs": []})
    assert ask(f"{url}/live/state")[1]["source"] == str(tmp_path / "new")
    paths = ask(f"{url}/openapi.json")[1]["paths"]
    assert set(paths) >= {
        "/v1/verify", "/v1/scan", "/v1/ground", "/v1/feedback", "/v1/changes", "/v1/changes/{id}",
        "/beta/litellm_basic_guardrail_api",
    }  # fmt: skip
    server.send_signal(signal.SIGTERM)
    out, err = server.communicate(timeout=60)

    assert (server.returncode, out) == (0, "")
    assert "W1" not in err
    with DiskStore(tmp_path / "new") as kept:  # what was learned is there, without a second's wait for a flush
        assert any("get_order" in name for name in kept.names())


def test_observing_lets_every_result_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "weather.yaml").write_text("name: weather\nrequired_fields: [degrees]\n")
    call = {"tool": "weather", "result": {"answer": "nice"}}
    answers = []
    for options in (("--observe",), ("--on-block", "raise")):
        client = served_app(
            monkeypatch,
            "--store", str(tmp_path / "kept"), "--verify", "--profiles", str(tmp_path / "weather.yaml"), *options,
        )  # fmt: skip
        answers.append(client.post("/v1/verify", json={**call, "learn": False}).json())

    assert [(answer["verdict"], answer["action"]) for answer in answers] == [("block", "pass"), ("block", "raise")]


@pytest.mark.parametrize(
    "options", [["--profiles", "."], ["--observe"], ["--on-flag", "block"], ["--on-guard-error", "closed"]]
)
def test_what_is_said_of_the_guard_needs_the_guard(root: Path, options: list[str]) -> None:
    run = runner.invoke(app, ["serve", "--root", str(root), *options], env={"AGENTGUARD_API_KEY": KEY})

    assert run.exit_code == 3
    assert f"{options[0]}: without --verify no guard is served that could heed it" in run.stderr


# --- What it refuses to begin ---


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org", "localhost.example.org", ""])  # noqa: S104 - refused
def test_an_address_that_others_reach_must_be_meant(tmp_path: Path, host: str) -> None:
    run = runner.invoke(app, ["serve", "--root", str(tmp_path), "--host", host], env={"AGENTGUARD_API_KEY": KEY})

    assert run.exit_code == 3
    assert "--allow-remote" in run.stderr


@pytest.mark.parametrize("key", ["", "short"])
def test_without_a_key_nothing_is_served(tmp_path: Path, key: str) -> None:
    run = runner.invoke(app, ["serve", "--root", str(tmp_path)], env={"AGENTGUARD_API_KEY": key})

    assert run.exit_code == 3
    assert "AGENTGUARD_API_KEY" in run.stderr


def test_the_key_is_no_option() -> None:
    assert "--key" not in runner.invoke(app, ["serve", "--help"]).stdout
    assert runner.invoke(app, ["serve", "--api-key", KEY]).exit_code == 3


def test_a_port_in_use_is_told_in_a_sentence(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        run = runner.invoke(
            app, ["serve", "--root", str(tmp_path), "--port", str(port)], env={"AGENTGUARD_API_KEY": KEY}
        )

    assert run.exit_code == 3
    assert f"cannot listen at 127.0.0.1:{port}" in run.stderr


def test_a_root_that_is_none(tmp_path: Path) -> None:
    run = runner.invoke(app, ["serve", "--root", str(tmp_path / "missing")], env={"AGENTGUARD_API_KEY": KEY})

    assert run.exit_code == 3
    assert "must be a folder" in run.stderr


@pytest.mark.parametrize("missing", ["fastapi", "uvicorn"])
def test_a_library_that_is_missing_is_named_with_its_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    for name in [name for name in sys.modules if name.startswith(("agentguard.gate.api", "agentguard.serving"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, missing, None)

    run = runner.invoke(app, ["serve", "--root", str(tmp_path)], env={"AGENTGUARD_API_KEY": KEY})

    assert run.exit_code == 3
    assert "pip install 'agentguard[serve]'" in run.stderr
    assert missing in run.stderr
