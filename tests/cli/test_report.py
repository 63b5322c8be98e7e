"""`agentguard report`: a page of a log or of a store."""

from __future__ import annotations

import gzip
import json
import os
import re
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from agentguard.cli import app
from agentguard.stores import DiskStore
from agentguard.verification import VerificationEngine

runner = CliRunner()
SECRET = "Reykjavik-7731"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the command line keeps its own store; nothing is there yet."""
    monkeypatch.delenv("AGENTGUARD_STORE", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "agentguard"


def rows(count: int = 40) -> list[dict[str, Any]]:
    """Calls of one tool; the last has another order's result."""
    made = [
        {
            "tool": "get_order", "args": {"id": f"W{n}", "note": SECRET},
            "result": {"id": f"W{n}", "total": 20.5 + n % 7},
            "latency_ms": 100.0 + n % 5, "session_id": "s1", "call_id": f"c{n}", "label": "genuine",
        }
        for n in range(count)
    ]  # fmt: skip
    made[-1].update(result={"id": "W999999", "note": SECRET}, label="swapped")
    return made


@pytest.fixture
def log(tmp_path: Path) -> str:
    path = tmp_path / "calls.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows()))
    return str(path)


@pytest.fixture
def store(tmp_path: Path) -> str:
    path = str(tmp_path / "kept")
    with DiskStore(path) as kept, VerificationEngine(store=kept, audit_rate=1.0) as engine:
        for row in rows():
            found = engine.verify(
                row["tool"], args=row["args"], result=row["result"], execution_time_ms=row["latency_ms"],
                call_id=row["call_id"],
            )  # fmt: skip
        engine.record_feedback("get_order", found.posterior, True, call_id="c39")
    return path


def run(*words: str, stdin: bytes | None = None) -> Any:
    return runner.invoke(app, ["report", *words], input=stdin)


def page_of(path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    assert text.startswith("<!DOCTYPE html>\n")
    return text


def test_a_log_becomes_a_page(log: str, tmp_path: Path) -> None:
    done = run(log, "-o", str(tmp_path / "r.html"))
    page = page_of(tmp_path / "r.html")

    assert done.exit_code == 0, done.output
    assert re.fullmatch(
        r"40 calls: \d+ accepted, \d flagged, \d blocked; written to .*r\.html\n", done.stdout.replace("\n", "") + "\n"
    )
    assert "<dd>40</dd>" in page
    assert "mode calibrated" in page
    assert "swapped" in page
    assert f"{log}:40" in page


def test_no_argument_and_no_result_is_in_it_unless_asked_for(log: str, tmp_path: Path) -> None:
    run(log, "-o", str(tmp_path / "without.html"))
    run(log, "-o", str(tmp_path / "with.html"), "--content")

    assert SECRET not in page_of(tmp_path / "without.html")
    assert SECRET in page_of(tmp_path / "with.html")


def test_the_page_is_for_its_owner_only(log: str, tmp_path: Path) -> None:
    run(log, "-o", str(tmp_path / "r.html"))

    assert stat.S_IMODE(os.stat(tmp_path / "r.html").st_mode) == 0o600


def test_a_store_becomes_a_page_and_stays_as_it_is(store: str, tmp_path: Path) -> None:
    with DiskStore(store) as kept:
        before = [list(kept.events(kind)) for kind in ("audit", "feedback")], kept.load(), kept.counts()
    done = run(store, "-o", str(tmp_path / "r.html"), "--json")
    with DiskStore(store) as kept:
        after = [list(kept.events(kind)) for kind in ("audit", "feedback")], kept.load(), kept.counts()

    assert done.exit_code == 0, done.output
    said = json.loads(done.stdout)
    assert (said["from"], said["calls"], said["written"]) == ("store", 40, str(tmp_path / "r.html"))
    assert before == after
    page = page_of(tmp_path / "r.html")
    assert "What was learned" in page
    assert "1 label, 1 of fabricated calls" in page
    assert SECRET not in page


def test_the_command_lines_own_store_is_the_default(store: str, home: Path, tmp_path: Path) -> None:
    home.parent.mkdir()
    Path(store).rename(home)
    done = run("-o", str(tmp_path / "r.html"))

    assert done.exit_code == 0, done.output
    assert str(home) in page_of(tmp_path / "r.html")


def test_a_store_named_by_the_environment(store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTGUARD_STORE", store)

    assert run("-o", str(tmp_path / "r.html")).exit_code == 0


def test_the_store_may_be_an_option_as_everywhere(
    store: str, log: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is typed stands over the environment, a log too; two of them are one too many."""
    page = tmp_path / "page.html"
    assert runner.invoke(app, ["report", "--store", store, "-o", str(page)]).exit_code == 0
    assert "What the guard knows" in page.read_text()
    both = runner.invoke(app, ["report", log, "--store", store, "-o", str(page)])
    assert (both.exit_code, "and not both" in both.output) == (3, True)
    monkeypatch.setenv("AGENTGUARD_STORE", store)
    assert runner.invoke(app, ["report", log, "-o", str(page)]).exit_code == 0
    assert "What the guard made of these calls" in page.read_text()


def test_a_folder_of_logs_gzipped_ones_too(log: str, tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    with gzip.open(folder / "a.jsonl.gz", "wb") as file:
        file.write(Path(log).read_bytes())
    done = run(str(folder), "-o", str(tmp_path / "r.html"), "--json")

    assert json.loads(done.stdout)["calls"] == 40


def test_standard_input_and_standard_output(log: str) -> None:
    done = run("-", "-o", "-", stdin=Path(log).read_bytes())

    assert done.exit_code == 0
    assert done.stdout.startswith("<!DOCTYPE html>")
    assert "standard input" in done.stdout


def test_limit_title_profiles_and_mode_are_heeded(log: str, tmp_path: Path) -> None:
    profile = tmp_path / "profiles" / "order.yaml"
    profile.parent.mkdir()
    profile.write_text("name: get_order\nrequired_fields: [receipt]\n")
    done = run(
        log, "-o", str(tmp_path / "r.html"), "--limit", "10", "--title", "Ten <orders>", "--mode", "reference",
        "--profiles", str(profile.parent), "--json",
    )  # fmt: skip
    page = page_of(tmp_path / "r.html")

    assert json.loads(done.stdout)["calls"] == 10
    assert "<title>Ten &lt;orders&gt;</title>" in page
    assert "mode reference" in page
    assert "schema_mismatch" in page


def test_a_calibration_file_sets_the_thresholds(log: str, tmp_path: Path) -> None:
    said = tmp_path / "calibration.yaml"
    said.write_text("version: 1\nall:\n  accept_below: 0.31\n  block_at: 0.72\n")
    run(log, "-o", str(tmp_path / "r.html"), "--calibration", str(said))

    assert {"flag 0.31", "block 0.72"} <= set(re.findall(r">((?:flag|block) 0\.\d+)<", page_of(tmp_path / "r.html")))


def test_broken_lines_are_told_and_left_out(log: str, tmp_path: Path) -> None:
    with open(log, "a") as file:
        file.write("{no call}\n")
    run(log, "-o", str(tmp_path / "r.html"))

    assert "Lines that hold no call were left out: 1, the first" in page_of(tmp_path / "r.html")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["no-such-place"], "no such file or folder"), (["-o", "r.html"], "there is no store at"),
        (["memory:"], "ends with this command"), (["empty.jsonl"], "no line of empty.jsonl holds a call"),
        (["broken.jsonl"], "no line of broken.jsonl holds a call (the first line: broken.jsonl:1: not JSON"),
        (["calls.jsonl", "-o", "no/such/folder/r.html"], "cannot write no/such/folder/r.html"),
        (["calls.jsonl", "-o", "-", "--json"], "cannot both go to standard output"),
        (["kept", "--content"], "a store holds no calls to be judged"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_said_and_nothing_is_written(
    words: list[str], said: str, log: str, store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty.jsonl").write_text("")
    Path("broken.jsonl").write_text("{no call}\n")
    before = sorted(os.listdir())
    done = run(*words)

    assert done.exit_code == 3
    assert said in done.stderr + done.stdout
    assert sorted(os.listdir()) == before


def test_a_store_of_a_server_that_is_away_is_an_error() -> None:
    done = run("redis://guard:pass@127.0.0.1:1/0", "-o", "-")

    assert done.exit_code == 3
    assert "pass" not in done.stderr


def test_an_interrupted_run_writes_what_it_has(log: str, tmp_path: Path) -> None:
    code = (
        "import agentguard.cli._report as command\n"
        "from agentguard.cli import app, main\n"
        "add = command.ReportBuilder._add\n"
        "def counted(self, *args, **more):\n"
        "    if self.calls == 25: raise KeyboardInterrupt\n"
        "    add(self, *args, **more)\n"
        "command.ReportBuilder._add = counted\n"
        "main()\n"
    )
    words = ["report", log, "-o", str(tmp_path / "r.html"), "--json"]
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, check=False)

    assert done.returncode == 130, done.stderr
    assert json.loads(done.stdout)["interrupted"] is True
    assert json.loads(done.stdout)["calls"] == 25
    assert "Interrupted: later calls are not in it." in page_of(tmp_path / "r.html")


def test_claims_that_no_call_supports_have_a_section_without_their_words(tmp_path: Path) -> None:
    described = {"run_tests": "Run the tests.", "send_email": "Send an e-mail."}
    tools = [{"name": name, "description": words} for name, words in described.items()]
    records = [
        {"session_id": "s1", "question": "Run the tests"},
        {"session_id": "s1", "tools": tools},
        {"session_id": "s1", "tool": "run_tests", "args": {"path": "tests"}, "result": "3 failed, 45 passed"},
        {"session_id": "s1", "answer": "All tests pass, and I sent Ada an email."},
    ]
    path, out = tmp_path / "agent.jsonl", tmp_path / "r.html"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))

    done = run(str(path), "-o", str(out))
    page = page_of(out)
    assert done.exit_code == 0, done.output
    assert "1 calls: " in done.stdout
    assert '<h2 id="claims">What the agents say they did</h2>' in page
    assert '<a href="#claims">2 claims of agents</a> no call supports.' in page
    assert f"{path}:4" in page
    assert page.index("contradicted") < page.index("never called")
    assert "Ada" not in page

    run(str(path), "-o", str(out), "--content")
    assert "I sent Ada an email" in page_of(out)


def test_a_log_without_answers_has_no_section_of_claims(log: str, tmp_path: Path) -> None:
    run(log, "-o", str(tmp_path / "r.html"))
    assert 'id="claims"' not in page_of(tmp_path / "r.html")
