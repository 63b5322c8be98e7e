"""The action and the example workflow: the very steps of their YAML, run by bash."""

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from agentguard.cli._exits import Exit

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "gate"
KEY = "an-api-key-of-32-characters-long"

# A bare machine may have none of these; the action's runners do.
pytestmark = pytest.mark.skipif(
    os.name != "posix" or shutil.which("bash") is None or shutil.which("curl") is None,
    reason="the steps are for bash and curl",
)


def load(path: Path) -> Any:
    return yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)


ACTION = load(ROOT / "action.yml")
WORKFLOW = load(EXAMPLE / "llm-reliability.yml")
ACTION_STEPS = {step.get("id", step["name"]): step for step in ACTION["runs"]["steps"]}
SERVED_STEP = WORKFLOW["jobs"]["evaluate-served"]["steps"][0]


class Done(NamedTuple):
    """How a step ended, and what it left for the job."""

    code: int
    log: str
    outputs: dict[str, str]
    summary: str


def run_step(script: str, folder: Path, **variables: str) -> Done:
    """Run a step's script as GitHub's runner does, in a folder."""
    output, summary = folder / "github_output", folder / "github_step_summary"
    output.touch()
    summary.touch()
    environment = {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(folder),
        "GITHUB_ACTIONS": "true",
        "GITHUB_OUTPUT": str(output),
        "GITHUB_STEP_SUMMARY": str(summary),
        **variables,
    }
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],  # noqa: S607  # whichever bash there is
        cwd=folder, env=environment, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    outputs = dict(line.split("=", 1) for line in output.read_text().splitlines())
    return Done(done.returncode, done.stdout + done.stderr, outputs, summary.read_text())


# --- Both ---


def test_no_script_has_text_of_the_workflow_in_it() -> None:
    """``${{ … }}`` in a script is replaced before bash reads it: whoever names a branch could write a command."""
    scripts = [step["run"] for step in ACTION["runs"]["steps"]]
    scripts += [step["run"] for job in WORKFLOW["jobs"].values() for step in job["steps"] if "run" in step]

    assert len(scripts) == 4
    assert not [script for script in scripts if "${{" in script]


def test_the_action_is_whole() -> None:
    used = json.dumps(ACTION["runs"])

    assert all(f"inputs.{name}" in used for name in ACTION["inputs"])
    assert {name: one["value"] for name, one in ACTION["outputs"].items()} == {
        "decision": "${{ steps.gate.outputs.decision || steps.log.outputs.decision }}",
        **{name: f"${{{{ steps.gate.outputs.{name} }}}}" for name in ("risk", "run_id")},
    }
    assert {name: step.get("if") for name, step in ACTION_STEPS.items()} == {
        "Install": "inputs.install == 'true'", "gate": "inputs.command == 'gate'", "log": "inputs.command != 'gate'",
    }  # fmt: skip


def test_the_workflow_gives_the_action_what_it_takes() -> None:
    [step] = [step for step in WORKFLOW["jobs"]["evaluate"]["steps"] if "agentguard" in step.get("uses", "")]

    assert set(step["with"]) <= set(ACTION["inputs"])
    assert set(WORKFLOW[True]) == {"pull_request", "workflow_dispatch"}  # YAML 1.1 reads the key `on` as true


# --- By the action ---


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A checkout with the example in it."""
    copied = tmp_path / "checkout"
    shutil.copytree(EXAMPLE, copied, ignore=shutil.ignore_patterns(".llm-reliability"))
    return copied


def act(folder: Path, **inputs: str) -> Done:
    """The action's step, with inputs as a workflow gives them, and their defaults."""
    step = ACTION_STEPS["gate" if inputs.get("command", "gate") == "gate" else "log"]
    given = {name: inputs.get(name, one.get("default", "")) for name, one in ACTION["inputs"].items()}
    variables = {name: given[value.split("inputs.")[1].split(" ")[0]] for name, value in step["env"].items()}
    return run_step(step["run"], folder, **variables)


def tolerate(folder: Path, deploy: float, warn: float) -> None:
    config = folder / ".llm-reliability.yaml"
    text = config.read_text(encoding="utf-8")
    text = text.replace("deploy_threshold: 0.10", f"deploy_threshold: {deploy}")
    config.write_text(text.replace("warn_threshold: 0.15", f"warn_threshold: {warn}"), encoding="utf-8")


@pytest.mark.parametrize(
    ("deploy", "warn", "decision", "code", "annotation"),
    [
        (0.10, 0.15, "block", Exit.FLAG, "::error title=Reliability gate::block: risk"),
        (0.9, 0.9, "deploy", Exit.ACCEPT, None),
    ],
)
def test_the_action_decides(
    folder: Path, deploy: float, warn: float, decision: str, code: int, annotation: str | None
) -> None:
    tolerate(folder, deploy, warn)

    done = act(folder, junit="claims.xml", markdown="claims.md")

    assert done.code == code, done.log
    assert done.outputs["decision"] == decision
    assert 0.1 < float(done.outputs["risk"]) < 0.5
    assert done.outputs["run_id"]
    assert done.summary.startswith(f"## Reliability gate: {decision}\n")
    assert (folder / "claims.md").read_text() == done.summary
    assert "<testcase" in (folder / "claims.xml").read_text()
    assert annotation in done.log if annotation else "::" not in done.log


def test_a_warning_fails_where_the_workflow_says_so(folder: Path) -> None:
    tolerate(folder, 0.10, 0.9)

    done = act(folder, **{"fail-on": "warn"})

    assert (done.code, done.outputs["decision"]) == (Exit.FLAG, "warn")


def test_a_run_that_fails_is_no_decision_to_deploy(folder: Path) -> None:
    done = act(folder, config="elsewhere.yaml")

    assert done.code == Exit.ERROR
    assert done.outputs == {"decision": "error", "risk": "", "run_id": ""}
    assert done.summary == ""


def test_inputs_are_no_commands(folder: Path) -> None:
    hostile = '$(touch pwned); `touch pwned` "; touch pwned; "'

    everywhere = act(folder, **dict.fromkeys(("config", "junit", "markdown", "ingest", "fail-on"), hostile))
    reports = act(folder, junit=hostile, markdown=hostile)

    assert not (folder / "pwned").exists()
    assert everywhere.code == Exit.ERROR
    assert reports.code in (Exit.ERROR, Exit.FLAG)


def test_documents_can_be_left_unread(folder: Path) -> None:
    done = act(folder, ingest="never")

    assert done.code == Exit.ERROR
    assert "no documents are indexed" in done.log


# --- Of a log ---


RECORDS = [
    {"session_id": "s1", "tool": "run_tests", "args": {}, "result": "3 failed, 45 passed"},
    {"session_id": "s1", "answer": "All tests pass.\n::error::<b>"},
]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A folder with a log in it, in which an agent says what is not so."""
    (tmp_path / "agent.jsonl").write_text("".join(json.dumps(record) + "\n" for record in RECORDS))
    return tmp_path


def test_an_audit_fails_the_job_and_shows_why(log: Path) -> None:
    done = act(log, command="audit", log="agent.jsonl", junit="a.xml", sarif="a.sarif", markdown="a.md")

    assert (done.code, done.outputs) == (Exit.FLAG, {"decision": "fail"})
    assert done.summary.startswith(
        "## agentguard audit\n\n    1 statement does not hold: 1 claim that the calls contradict"
    )
    assert "contradicted: “All tests pass”" in done.summary
    assert (log / "a.md").read_text() == done.summary
    assert "<failure" in (log / "a.xml").read_text()
    assert "claims/contradicted" in (log / "a.sarif").read_text()
    assert all(line.startswith("    ") for line in done.summary.splitlines()[1:] if line)
    stopped, _, rest = done.log.partition("::stop-commands::")
    token = rest.splitlines()[0]
    assert "::" not in stopped
    assert rest.index("contradicted") < rest.index(f"::{token}::") < rest.index("::error title=agentguard audit::")


def test_what_fails_an_audit_is_asked_for(log: Path) -> None:
    done = act(log, command="audit", log="agent.jsonl", **{"fail-on": "none"})

    assert (done.code, done.outputs) == (Exit.ACCEPT, {"decision": "pass"})


def test_a_replay_judges_the_calls(log: Path) -> None:
    done = act(log, command="replay", log="agent.jsonl", profiles="shipped")

    assert (done.code, done.outputs) == (Exit.ACCEPT, {"decision": "pass"})
    assert "1 calls: 1 accepted" in done.summary


@pytest.mark.parametrize(
    "inputs",
    [
        {"command": "audit"},
        {"command": "audit", "log": "none.jsonl"},
        {"command": "replay", "log": "agent.jsonl", "junit": "a.xml"},
        {"command": "$(touch pwned)", "log": "agent.jsonl"},
        {"command": "audit", "log": "$(touch pwned)", "profiles": "`touch pwned`", "fail-on": "'; touch pwned; '"},
        {"command": "audit", "log": "--help"},
    ],
)
def test_what_cannot_be_judged_is_an_error_and_no_command(log: Path, inputs: dict[str, str]) -> None:
    done = act(log, **inputs)

    assert (done.code, done.outputs) == (Exit.ERROR, {"decision": "error"})
    assert not (log / "pwned").exists()


# --- By a server ---


class Served(NamedTuple):
    """A server that gives one answer; ``asked`` is what it was asked."""

    url: str
    asked: list[tuple[str, str | None, Any]]


def answer(decision: str) -> bytes:
    fields = {"decision": decision, "score": 0.25, "total_claims": 8, "unsupported": 2}
    return json.dumps({**fields, "supported": 6, "weakly_supported": 0, "details": []}).encode()


@pytest.fixture
def served(request: pytest.FixtureRequest) -> Iterator[Served]:
    status, body = request.param
    asked: list[tuple[str, str | None, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            asked.append((self.path, self.headers["X-API-Key"], request))
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Keeps quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield Served(f"http://127.0.0.1:{server.server_port}/", asked)
        server.shutdown()
        thread.join()


def ask(folder: Path, url: str, key: str = KEY, config: str = ".llm-reliability.yaml") -> Done:
    return run_step(SERVED_STEP["run"], folder, GATE_URL=url, GATE_KEY=key, GATE_CONFIG=config)


@pytest.mark.parametrize(
    ("served", "decision", "code", "said"),
    [
        ((200, answer("deploy")), "deploy", 0, "deploy: risk 0.2500, 8 claims, 2 of them unsupported"),
        ((200, answer("warn")), "warn", 0, "::warning title=Reliability gate::warn: risk 0.2500"),
        ((200, answer("block")), "block", 1, "::error title=Reliability gate::block: risk 0.2500"),
    ],
    indirect=["served"],
)
def test_a_served_gate_decides(tmp_path: Path, served: Served, decision: str, code: int, said: str) -> None:
    done = ask(tmp_path, served.url)

    assert done.code == code, done.log
    assert said in done.log
    assert done.outputs == {"decision": decision, "risk": "0.25"}
    assert f"{decision}: risk 0.2500" in done.summary
    assert served.asked == [("/evaluate", KEY, {"config_path": ".llm-reliability.yaml"})]


@pytest.mark.parametrize(
    ("served", "said"),
    [
        ((500, b'{"title": "it broke"}'), "the gate gave no decision"),
        ((401, answer("deploy")), "the gate gave no decision"),  # whatever a refusal says
        ((302, answer("deploy")), "the gate gave no decision"),  # nobody is followed elsewhere
        ((200, b"<html>not the gate</html>"), "cannot be read"),
        ((200, b""), "cannot be read"),
        ((200, b"[]"), "cannot be read"),
        ((200, b'{"decision": "deploy"}'), "cannot be read"),
        ((200, answer("maybe\n::warning::x")), "the gate's decision is unknown"),
    ],
    indirect=["served"],
)
def test_whatever_is_no_clear_answer_fails(tmp_path: Path, served: Served, said: str) -> None:
    done = ask(tmp_path, served.url)

    assert done.code == Exit.ERROR, done.log
    assert said in done.log
    assert done.log.count("::error") == 1
    assert "\n::warning" not in done.log
    assert "decision" not in done.outputs


def test_a_gate_that_cannot_be_reached_fails(tmp_path: Path) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as server:
        port = server.server_port  # free again when the server is closed

    done = ask(tmp_path, f"http://127.0.0.1:{port}")

    assert done.code == Exit.ERROR
    assert "the gate gave no decision" in done.log


@pytest.mark.parametrize("served", [(200, answer("deploy"))], indirect=True)
def test_without_a_key_nobody_is_asked(tmp_path: Path, served: Served) -> None:
    done = ask(tmp_path, served.url, key="")

    assert done.code == Exit.ERROR
    assert "there is no key" in done.log
    assert served.asked == []


@pytest.mark.parametrize("served", [(200, answer("deploy"))], indirect=True)
def test_what_names_the_configuration_is_no_command(tmp_path: Path, served: Served) -> None:
    hostile = "$(touch pwned)\"; touch pwned; '`touch pwned`"

    done = ask(tmp_path, served.url, config=hostile)

    assert done.code == 0, done.log
    assert served.asked[0][2] == {"config_path": hostile}
    assert not (tmp_path / "pwned").exists()
    assert KEY not in done.log
