"""`agentguard replay --engine`: the same report, whoever judges or counts."""

import json
import os
import shutil
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

from agentguard.cli import app

runner = CliRunner()
ENGINES = ["local", "processes", "spark"]


def rows(count: int = 300) -> list[dict[str, Any]]:
    return [
        {
            "tool": f"tool_{n % 5}",
            "args": {"n": n % 30},
            "result": "Error: not found" if n % 50 == 49 else {"id": n},
            "latency_ms": 100.0 if n % 5 else None,
        }
        for n in range(count)
    ]


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("logs") / "calls.jsonl"
    file.write_bytes(b"\n".join(json.dumps(row).encode() for row in rows()) + b"\nwhat\n")
    return file


def replay(log: Path | str, *options: str, **given: Any) -> Any:
    return runner.invoke(app, ["replay", str(log), *options], **given)


def data(log: Path | str, *options: str, **given: Any) -> Any:
    return json.loads(replay(log, *options, "--json", **given).stdout)


def test_processes_report_what_one_process_reports(log: Path) -> None:
    local = data(log)
    one = data(log, "--engine", "processes", "--workers", "2", "--partitions", "1")
    many = data(log, "--engine", "processes", "--workers", "2")

    assert (one.pop("engine"), one.pop("partitions"), local.pop("engine")) == ("processes", 1, "local")
    assert {**one, "us_per_call": None} == {**local, "us_per_call": None}
    assert (many["partitions"], many["calls"], many["broken"]) == (16, 300, 1)


def test_counts_are_the_same_from_every_engine_and_every_format(log: Path, tmp_path: Path) -> None:
    table = {name: [row[name] for row in rows()] for name in ("tool", "latency_ms")}
    texts = {name: [json.dumps(row[name]) for row in rows()] for name in ("args", "result")}
    pyarrow.parquet.write_table(pyarrow.table({**table, **texts}), tmp_path / "calls.parquet")

    local = data(log, "--count")
    processes = data(log, "--count", "--engine", "processes", "--workers", "2")
    parquet = data(tmp_path, "--count")

    assert (processes.pop("engine"), local.pop("engine")) == ("processes", "local")
    assert processes == local
    assert (local["calls"], local["broken"], parquet["calls"], parquet["broken"]) == (300, 1, 300, 0)
    tools = {tool["tool"]: tool for tool in local["tools"]}
    assert {name: (tool["calls"], tool["errors"]) for name, tool in tools.items()} == {
        "tool_0": (60, 0), "tool_1": (60, 0), "tool_2": (60, 0), "tool_3": (60, 0), "tool_4": (60, 6),
    }  # fmt: skip
    assert tools["tool_0"]["ms"] is None
    assert tools["tool_1"]["ms"] == pytest.approx([100, 100, 100], rel=0.025)
    assert tools["tool_1"]["bytes"] == pytest.approx([9, 10, 10], rel=0.025)  # {"id":11} is the third of 60


@pytest.mark.skipif(
    find_spec("pyspark") is None, reason="PySpark is not here: it comes with the extras 'spark' and 'dev'"
)
@pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java, and there is none on this machine")
@pytest.mark.filterwarnings("ignore::ResourceWarning")  # sockets of py4j are left to the garbage collector
def test_spark_reports_what_processes_report(log: Path, capfd: pytest.CaptureFixture[str]) -> None:
    run = replay(log, "--engine", "spark", "--workers", "2", "--json")
    spark, processes = json.loads(run.stdout), data(log, "--engine", "processes")

    assert (spark.pop("engine"), processes.pop("engine")) == ("spark", "processes")
    assert {**spark, "us_per_call": None} == {**processes, "us_per_call": None}
    assert (run.stderr, capfd.readouterr()) == ("", ("", ""))  # of Java neither


def test_the_report_says_that_tools_were_divided(log: Path) -> None:
    divided = replay(log, "--engine", "processes", "--partitions", "3")
    local = replay(log)

    assert "judged in 3 partitions by tool, the first 10,000 calls as a whole" in " ".join(divided.stdout.split())
    assert "300 calls: " in divided.stdout
    assert "partitions" not in local.stdout


def test_count_shows_a_line_a_tool(log: Path) -> None:
    run = replay(log, "--count")

    lines = [line.split() for line in run.stdout.splitlines()]
    assert any(line[:3] == ["tool_4", "60", "6"] for line in lines)
    assert any(line[:3] == ["tool_0", "60", "0"] and len(line) == 6 for line in lines)  # no times: three empty cells
    assert run.stdout.splitlines()[-1] == "300 calls of 5 tools, 1 broken lines left out"
    assert run.exit_code == 0


@pytest.mark.parametrize("options", [[], ["--count"]])
def test_limit_and_standard_input_are_those_of_one_process(log: Path, options: list[str]) -> None:
    raw = b"broken\n" + log.read_bytes()

    for engine in ("local", "processes"):
        found = data("-", "--engine", engine, "--limit", "7", *options, input=raw)
        assert (found["calls"], found["broken"]) == (7, 1)


@pytest.mark.parametrize("options", [[], ["--count"]])
@pytest.mark.parametrize("engine", ["local", "processes"])
def test_a_log_without_a_single_call_is_an_error(engine: str, options: list[str]) -> None:
    assert replay("-", "--engine", engine, *options, input=b"what\n").exit_code == 3
    assert replay("-", "--engine", engine, *options, input=b"").exit_code == 0


@pytest.mark.parametrize("options", [[], ["--count"]])
@pytest.mark.parametrize("engine", ["local", "processes"])
def test_ctrl_c_prints_what_was_counted_and_exits_with_130(log: Path, engine: str, options: list[str]) -> None:
    code = "from agentguard.cli import main; main()"
    command = [sys.executable, "-c", code, "replay", "-", "--engine", engine, "--json", *options]
    lines = [line for line in log.read_bytes().splitlines(keepends=True) if b"tool" in line]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    ) as run:
        assert run.stdin is not None
        # More than a pipe holds: when all of it is written, most of it has been read.
        run.stdin.write(b"".join(lines * 20))
        run.stdin.flush()

        os.killpg(run.pid, signal.SIGINT)  # as a shell sends it: to the workers too
        out, err = run.communicate(timeout=120)

    found = json.loads(out)
    assert run.returncode == 130
    assert found["interrupted"] is True
    assert 0 < found["calls"] <= 6_000
    assert err == b""


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--engine", "dask"], "'dask' is not one of 'local', 'processes', 'spark'"),
        (["--workers", "0"], "--workers"),
        (["--partitions", "0"], "--partitions"),
        (["--engine", "spark", "--limit", "3"], "--limit is for --engine local and processes"),
        (["--count", "--profiles", "shipped"], "--count judges nothing"),
        (["--count", "--fail-on", "block"], "--count judges nothing"),
    ],
)
def test_contradictions_exit_with_3(options: list[str], sentence: str) -> None:
    run = replay("-", *options, input=b"")

    assert run.exit_code == 3
    assert run.stdout == ""
    assert sentence in run.stderr


def test_without_pyspark_the_error_names_the_extra(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)

    for options in ([], ["--count"]):
        run = replay(log, "--engine", "spark", *options)
        assert run.exit_code == 3
        assert "pip install 'agentguard[spark]'" in run.stderr
