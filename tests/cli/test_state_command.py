"""`agentguard state`: what was learned, looked at, moved, thinned out and forgotten."""

import gzip
import json
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from agentguard.cli import app
from agentguard.cli._exits import Exit
from agentguard.cli._state import seconds
from agentguard.errors import ConfigurationError
from agentguard.stores import DiskStore
from agentguard.verification import VerificationEngine

from ..rows import over

runner = CliRunner()
SECRET = "Reykjavik-7731"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the command line keeps its own store; nothing is there yet."""
    monkeypatch.delenv("AGENTGUARD_STORE", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "agentguard"


@pytest.fixture
def folder(tmp_path: Path, home: Path) -> str:
    """A store in which 30 calls of each of two tools were learned, and labels of one."""
    path = str(tmp_path / "store")
    with DiskStore(path) as store, VerificationEngine(store=store, audit_rate=1.0) as engine:
        for n in range(30):
            engine.verify(
                "weather", args={"city": SECRET}, result={"city": SECRET, "degrees": n}, execution_time_ms=100.0 + n,
                call_id=f"c{n}",
            )  # fmt: skip
            engine.verify("search", args={"q": f"{SECRET} {n}"}, result=f"The weather in {SECRET} on day {n} is fine")
        engine.record_feedback("weather", 0.3, True, call_id="c3")
        engine.record_feedback("weather", 0.1, False, call_id="c4")
    return path


def state(*words: str, stdin: bytes | None = None) -> Any:
    return runner.invoke(app, ["state", *words], input=stdin)


def data(*words: str) -> Any:
    run = state(*words, "--json")
    assert run.exit_code == 0, run.output
    return json.loads(run.stdout)


def tools(folder: str) -> dict[str, Any]:
    return {tool["tool"]: tool for tool in data("inspect", "--store", folder)["tools"]}


# --- inspect ---


def test_the_table_says_what_is_known_of_each_tool(folder: str) -> None:
    run = state("inspect", "--store", folder)

    rows = {words[0]: words for line in run.stdout.splitlines() if (words := line.split())}
    # mode, learned, KiB, calls, errors, fabricated, genuine, audited
    assert rows["weather"][1:3] + rows["weather"][4:9] == ["calibrated", "30", "30", "0", "1", "1", "30"]
    assert rows["search"][1:3] + rows["search"][4:9] == ["calibrated", "30", "30", "0", "0", "0", "30"]
    assert rows["all"][2:7] == ["60", "0", "1", "1", "60"]
    assert "shared by all tools (calibrated)" in run.stdout


def test_the_json_says_the_same(folder: str) -> None:
    found = data("inspect", "--store", folder)

    weather = tools(folder)["weather"]
    assert (weather["calls"], weather["errors"], weather["audit_records"]) == (30, 0, 30)
    assert weather["labels"] == {"fabricated": 1, "genuine": 1}
    assert [(one["mode"], one["results"]) for one in weather["learned"]] == [("calibrated", 30)]
    assert found["totals"]["calls"] == 60
    sizes = [one["size"] for tool in found["tools"] for one in tool["learned"]]
    assert found["totals"]["size"] == sum(sizes) + found["shared"][0]["size"]


def test_one_tool_is_told_in_fields_times_and_shares(folder: str) -> None:
    run = state("inspect", "weather", "--store", folder)
    found = data("inspect", "weather", "--store", folder)

    learned = found["modes"]["calibrated"]
    [kind] = learned["kinds"]
    fields = {field["path"]: (field["type"], field["share"]) for field in kind["fields"]}
    assert fields == {"city": ("string", 1.0), "degrees": ("number", 1.0)}
    assert (kind["kind"], learned["argument_sets"]) == ("object", 1)
    assert round(learned["latency_ms"]["0.5"]) == 114  # of 100 to 129 ms, 15 are at most 114
    assert sum(hour["calls"] for hour in found["hours"].values()) == 30
    # (0.15 × 40 + 1) / (40 + 2): one label of each.
    assert found["prior"] == pytest.approx(7 / 42)
    for said in ("learned from 30 results", "city", "degrees", "50% up to 114 ms", "labels: 1 fabricated, 1 genuine"):
        assert said in run.stdout


@pytest.mark.parametrize("words", [[], ["weather"], ["search"], ["--json"], ["search", "--json"]])
def test_neither_arguments_nor_results_are_shown(folder: str, words: list[str]) -> None:
    run = state("inspect", *words, "--store", folder)

    assert run.exit_code == 0
    assert "eykjavik" not in run.stdout
    assert "7731" not in run.stdout


def test_names_cannot_steer_the_terminal(tmp_path: Path, home: Path) -> None:
    with DiskStore(tmp_path / "store") as store, VerificationEngine(store=store) as engine:
        engine.verify("a\x1b[31m[bold]b", result={"x\x1b[2J": 1})

    for words in ([], ["a\x1b[31m[bold]b"]):
        run = state("inspect", *words, "--store", str(tmp_path / "store"))
        assert run.exit_code == 0
        assert "\x1b" not in run.stdout
        assert "a[31m[bold]b" in run.stdout


def test_a_document_that_cannot_be_read_is_told_beside_the_others(folder: str) -> None:
    with DiskStore(folder) as store:
        store.save({"reference:weather": {"version": 9, "tool": "weather", "learned": {}}})

    run = state("inspect", "weather", "--store", folder)

    assert "reference: cannot be read: it has version 9" in run.stdout
    assert "calibrated: learned from 30 results" in run.stdout


@pytest.mark.parametrize(
    "words",
    [["inspect"], ["inspect", "weather"], ["export", "-o", "-"], ["prune", "--older-than", "1d"], ["reset", "a", "-y"]],
)
def test_a_store_that_is_not_there_is_said_not_to_be_and_is_not_made(home: Path, words: list[str]) -> None:
    run = state(*words)

    assert run.exit_code == Exit.ERROR
    assert f"there is no store at {home}" in run.stderr
    assert not home.parent.exists()


def test_an_empty_folder_stays_empty(tmp_path: Path) -> None:
    run = state("inspect", "--store", f"disk:{tmp_path}")

    assert run.exit_code == Exit.ERROR
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_tool_is_answered_with_the_nearest(folder: str) -> None:
    run = state("inspect", "wether", "--store", folder)

    assert run.exit_code == Exit.ERROR
    assert "nothing of a tool named 'wether'; near it: 'weather'" in run.stderr


# --- export and import ---


def test_state_moves_from_one_store_to_another(folder: str, home: Path, tmp_path: Path) -> None:
    file = str(tmp_path / "state.jsonl.gz")

    exported = state("export", "-o", file, "--store", folder)
    imported = state("import", file)

    assert (exported.exit_code, imported.exit_code) == (0, 0)
    assert json.loads(gzip.decompress(Path(file).read_bytes()).splitlines()[0])["agentguard_state"] == 1
    assert data("inspect")["tools"] == data("inspect", "--store", folder)["tools"]
    assert data("inspect", "weather")["modes"] == data("inspect", "weather", "--store", folder)["modes"]


@pytest.mark.skipif(os.name != "posix", reason="modes of files are POSIX's")
def test_what_is_written_is_for_its_owner_only(folder: str, home: Path, tmp_path: Path) -> None:
    file = tmp_path / "state.jsonl"
    state("export", "-o", str(file), "--store", folder)
    state("import", str(file))

    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(home.stat().st_mode) == 0o700


def test_a_pipe_is_as_good_as_a_file(folder: str, home: Path) -> None:
    lines = state("export", "-o", "-", "--tool", "search", "--store", folder)

    run = state("import", "-", stdin=lines.stdout_bytes)

    assert run.exit_code == 0, run.output
    assert [tool["tool"] for tool in data("inspect")["tools"]] == ["search"]
    assert "documents: 1, tools with counts: 1, events: 30; written to -" in lines.stderr


def test_a_second_import_needs_a_word_and_counts_nothing_twice(folder: str, home: Path, tmp_path: Path) -> None:
    file = str(tmp_path / "state.jsonl")
    state("export", "-o", file, "--store", folder)
    state("import", file)
    before = data("inspect")

    refused = state("import", file)
    still_refused = state("import", file, "--replace")
    done = data("import", file, "--replace", "--again")

    assert (refused.exit_code, still_refused.exit_code) == (Exit.ERROR, Exit.ERROR)
    assert "--replace" in refused.stderr
    assert "--again" in still_refused.stderr
    assert done["events"] == 0
    assert data("inspect") == before


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "the file is empty"),
        (b"tool,calls\n", "line 1: it is no JSON"),
        (b'{"agentguard_state": 7}\n', "version 7"),
        (gzip.compress(b'{"agentguard_state": 1}\n')[:-9], "damaged or cut off"),
        (b'{"agentguard_state": 1}\n', "cut off"),
    ],
)
def test_a_faulty_file_leaves_the_store_as_it_is(folder: str, tmp_path: Path, content: bytes, said: str) -> None:
    file = tmp_path / "state.jsonl"
    file.write_bytes(content)
    before = data("inspect", "--store", folder)

    run = state("import", str(file), "--store", folder)

    assert run.exit_code == Exit.ERROR
    assert said in run.stderr
    assert data("inspect", "--store", folder) == before


@pytest.mark.parametrize("name", ["nowhere.jsonl", ".", "a\0b"])
def test_a_file_that_cannot_be_read_is_told(home: Path, tmp_path: Path, name: str) -> None:
    run = state("import", f"{tmp_path}/{name}")

    assert run.exit_code == Exit.ERROR
    assert "cannot read" in run.stderr
    assert not home.exists()


def test_a_failed_export_leaves_the_file_that_was_there(folder: str, tmp_path: Path) -> None:
    file = tmp_path / "state.jsonl"
    file.write_text("precious")

    run = state("export", "-o", str(file), "--tool", "wether", "--store", folder)
    nowhere = state("export", "-o", str(tmp_path / "no" / "x.jsonl"), "--store", folder)

    assert (run.exit_code, nowhere.exit_code) == (Exit.ERROR, Exit.ERROR)
    assert file.read_text() == "precious"
    assert "cannot write" in nowhere.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["state.jsonl", "store"]


def test_two_things_cannot_go_to_standard_output(folder: str) -> None:
    assert state("export", "-o", "-", "--json", "--store", folder).exit_code == Exit.ERROR


# --- prune ---


def test_prune_removes_what_is_older(tmp_path: Path, home: Path) -> None:
    path = str(tmp_path / "store")
    with DiskStore(path, clock=lambda: 1_000_000.0) as store:
        store.append("audit", {"tool": "weather"})
        store.save({"calibrated:weather": {"version": 1}})
    with DiskStore(path) as store:
        store.append("feedback", {"tool": "weather", "was_hallucination": True})

    assert data("prune", "--older-than", "30d", "--store", path)["removed"] == 2
    assert data("prune", "--older-than", "30d", "--store", path)["removed"] == 0
    assert tools(path)["weather"]["labels"]["fabricated"] == 1


@over(("age", "expected"), [("90m", 5_400), ("12h", 43_200), ("30d", 2_592_000), ("2w", 1_209_600), ("1.5m", 90)])
def test_ages_are_read(age: str, expected: float) -> None:
    assert seconds(age) == expected


@over("age", ["", "30", "d", "0d", "-1d", "1e9d", "nan", "infd", "30 days", "\u0661d", "9999999999d"])
def test_other_ages_are_refused(age: str) -> None:
    with pytest.raises(ConfigurationError, match="an age is a number above 0"):
        seconds(age)


# --- reset ---


def test_a_reset_needs_a_yes_where_nobody_can_be_asked(folder: str) -> None:
    before = data("inspect", "--store", folder)

    run = state("reset", "weather", "--store", folder)

    assert run.exit_code == Exit.ERROR
    assert "--yes" in run.stderr
    assert data("inspect", "--store", folder) == before


@pytest.mark.parametrize(("answer", "left", "code"), [("y\n", [], 0), ("n\n", ["calibrated"], Exit.INTERRUPTED)])
def test_on_a_terminal_it_is_asked(
    folder: str, monkeypatch: pytest.MonkeyPatch, answer: str, left: list[str], code: int
) -> None:
    monkeypatch.setattr("agentguard.cli._state._is_terminal", lambda: True)

    run = state("reset", "weather", "--store", folder, stdin=answer.encode())

    assert run.exit_code == code
    assert "Forget what was learned of 'weather'?" in run.stderr
    assert [one["mode"] for one in tools(folder)["weather"]["learned"]] == left


def test_a_reset_of_nobody_is_no_question(folder: str) -> None:
    run = state("reset", "wether", "--yes", "--store", folder)

    assert run.exit_code == Exit.ERROR
    assert "near it: 'weather'" in run.stderr


@pytest.mark.parametrize(("words", "labels"), [([], 2), (["--labels"], 0)])
def test_labels_are_kept_or_not_as_is_wished(folder: str, words: list[str], labels: int) -> None:
    done = data("reset", "weather", "--yes", "--store", folder, *words)

    weather = tools(folder)["weather"]
    assert (done["documents"], done["calls"], done["labels"]) == (1, 30, 2 - labels)
    assert sum(weather["labels"].values()) == labels
    assert (weather["learned"], weather["calls"], weather["audit_records"]) == ([], 0, 30)
    assert tools(folder)["search"]["calls"] == 30


@pytest.fixture
def worker(tmp_path: Path, home: Path) -> Iterator[Any]:
    process = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("state_worker.py")), str(tmp_path / "store")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )

    def tell(line: str) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{line}\n")
        process.stdin.flush()
        assert process.stdout.readline() == "done\n"

    with process:
        yield tell


def test_an_engine_in_another_process_drops_the_tool(worker: Any, tmp_path: Path) -> None:
    folder = str(tmp_path / "store")
    worker("verify 40")
    worker("flush")
    learned_before = tools(folder)["weather"]["learned"][0]["results"]

    state("reset", "weather", "--yes", "--store", folder)
    worker("flush")
    worker("verify 3")
    worker("flush")

    weather = tools(folder)["weather"]
    assert learned_before == 40
    assert (weather["learned"][0]["results"], weather["calls"]) == (3, 3)


def test_help_is_shown_without_a_command() -> None:
    run = state()

    assert run.exit_code == Exit.ERROR
    for command in ("inspect", "export", "import", "prune", "reset"):
        assert command in run.stdout
