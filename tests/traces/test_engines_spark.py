"""Spark counts what one process counts, and judges as processes do. Runs on the real PySpark, in local mode."""

import gzip
import json
import os
import random
import shutil
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from agentguard.errors import AgentGuardError, ConfigurationError, DataError
from agentguard.traces import ReplaySummary, read_traces
from agentguard.traces._counts import partial
from agentguard.traces._partitions import OPENING, EngineSpec, merged
from agentguard.traces._processes import JudgingProcesses
from agentguard.traces._read import parse, read_lines
from agentguard.traces._spark import count_on_spark, judge_on_spark, log_of, spark_session

pytestmark = [
    pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java, and there is none on this machine"),
    pytest.mark.skipif(
        find_spec("pyspark") is None, reason="PySpark is not here: it comes with the extras 'spark' and 'dev'"
    ),
    # PySpark and py4j leave sockets to the garbage collector when a session is stopped.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


@pytest.fixture(scope="module")
def session() -> Iterator[Any]:
    with spark_session("local[2]") as made:
        made.conf.set("spark.sql.files.maxPartitionBytes", 32 * 1024)  # so that small files have several blocks
        made.conf.set("spark.sql.shuffle.partitions", 2)
        made.conf.set("spark.sql.files.openCostInBytes", 0)
        yield made


def line(rng: random.Random, number: int) -> bytes:
    if rng.random() < 0.03:
        return rng.choice([b"{", b'{"tool": "x"}', b"\xff\xfe", b"", b"  ", b'{"tool": "t", "result": NaN}\r'])
    tool = f"tool_{rng.randrange(20)}"
    wrong = rng.random() < 0.03
    result = {"oops": tool} if wrong else {"id": number, "price": round(rng.uniform(5, 9), 2), "tool": tool}
    row = {"tool": tool, "args": {"sku": f"A{rng.randrange(40)}"}, "result": result, "latency_ms": rng.uniform(50, 200)}
    more = {"session_id": f"s{number // 12}", "label": "swapped" if wrong else "genuine"}
    return json.dumps({**row, **more}).encode()


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three files, 2,000 lines; names that need quoting, a byte order mark, and one file in a folder of its own."""
    folder = tmp_path_factory.mktemp("logs")
    (folder / "sub").mkdir()
    rng = random.Random(11)
    for name, count in (("a [1] b*.jsonl", 1_000), ("c,%20é.jsonl", 700), ("sub/d.jsonl", 300)):
        lines = b"\n".join(line(rng, number) for number in range(count))
        (folder / name).write_bytes(b"\xef\xbb\xbf" + lines)
    return folder


def untimed(summary: ReplaySummary) -> ReplaySummary:
    return replace(summary, us_per_call=None)


def by_processes(log: Path, partitions: int, opening: int = OPENING) -> ReplaySummary:
    with JudgingProcesses(EngineSpec(), 2, partitions, opening) as judging:
        judging.push(read_lines(log))
        return untimed(judging.summary())


def places(log: Path, session: Any) -> list[tuple[str, int, bytes]]:
    files, rows = log_of(log, session)
    return sorted((files[row.file], row.line, bytes(row.raw)) for row in rows.collect())


def test_every_line_has_the_place_that_it_has_for_every_engine(log: Path, session: Any) -> None:
    found = places(log, session)

    assert found == sorted(item for item in read_lines(log) if isinstance(item, tuple))
    blocks = session.read.text(str(log / "sub" / "d.jsonl")).rdd.getNumPartitions()
    assert blocks > 1  # or nothing was shown about lines that are not in a file's first block


def test_counting_is_exact(log: Path, session: Any) -> None:
    whole = partial(read_traces(log))

    assert count_on_spark(log, session) == whole
    assert whole.calls > 1_900
    assert whole.broken > 15


@pytest.mark.parametrize(("partitions", "opening"), [(1, 500), (4, 500), (16, OPENING)])
def test_verdicts_are_those_of_processes(log: Path, session: Any, partitions: int, opening: int) -> None:
    found = judge_on_spark(log, session, EngineSpec(), partitions, opening)

    assert untimed(found) == by_processes(log, partitions, opening)
    assert found.counts.flag + found.counts.block > 20
    assert found.labels["swapped"].calls > 40


def test_compressed_files_and_other_schemes_give_the_same(log: Path, session: Any, tmp_path: Path) -> None:
    for name in ("a [1] b*.jsonl", "c,%20é.jsonl"):
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress((log / name).read_bytes()))

    assert places(tmp_path, session) == sorted(item for item in read_lines(tmp_path) if isinstance(item, tuple))
    assert count_on_spark(tmp_path.as_uri(), session) == partial(read_traces(tmp_path))


def test_parquet_gives_what_its_rows_give(session: Any, tmp_path: Path) -> None:
    rng = random.Random(3)
    for name in ("a.parquet", "b.parquet"):
        rows = [json.loads(item) for item in (line(rng, n) for n in range(200)) if b"latency" in item]
        columns = {key: [row[key] for row in rows] for key in ("tool", "latency_ms", "label")}
        texts = {key: [json.dumps(row[key]) for row in rows] for key in ("args", "result")}
        pyarrow.parquet.write_table(pyarrow.table({**columns, **texts}), tmp_path / name, row_group_size=50)

    assert places(tmp_path, session) == sorted(item for item in read_lines(tmp_path) if isinstance(item, tuple))
    assert count_on_spark(tmp_path, session) == partial(parse(read_lines(tmp_path)))
    assert untimed(judge_on_spark(tmp_path, session, EngineSpec())) == by_processes(tmp_path, 16)


def test_structs_and_maps_of_parquet_are_objects(session: Any, tmp_path: Path) -> None:
    table = pyarrow.table(
        {
            "tool": ["t"],
            "args": pyarrow.array([[("city", "Rome")]], pyarrow.map_("string", "string")),
            "result": [{"rows": [{"id": 1}]}],
        }
    )
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")

    ((_, _, raw),) = places(tmp_path, session)

    assert json.loads(raw) == {"tool": "t", "args": {"city": "Rome"}, "result": {"rows": [{"id": 1}]}}


def test_an_empty_log_is_no_calls(session: Any, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b"\n\n")

    assert count_on_spark(tmp_path, session).calls == 0
    assert judge_on_spark(tmp_path, session, EngineSpec()) == merged(())


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("_a.jsonl", b"{}", "Spark reads no file whose name begins with '.' or '_'"),
        ("a.jsonl", b"\x1f\x8b\x08", "is compressed, and Spark would not know it"),
        ("a.jsonl.gz", b"{}", "is not compressed, which Spark would think"),
    ],
)
def test_what_spark_would_read_otherwise_is_refused(
    session: Any, tmp_path: Path, name: str, content: bytes, sentence: str
) -> None:
    (tmp_path / name).write_bytes(content)

    with pytest.raises(DataError, match=sentence):
        count_on_spark(tmp_path / name, session)


def test_a_log_of_another_format_is_refused_with_the_way_out(tmp_path: Path, session: Any) -> None:
    path = tmp_path / "session.jsonl"
    path.write_text('{"type": "session_meta", "payload": {"id": "s"}}\n')

    with pytest.raises(DataError, match=r"in the format codex, .* \('agentguard convert .*\.jsonl -o calls\.jsonl'\)"):
        log_of(path, session)


def test_standard_input_and_mixed_folders_are_refused(session: Any, log: Path, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b"{}")
    pyarrow.parquet.write_table(pyarrow.table({"tool": ["t"], "result": [1]}), tmp_path / "b.parquet")

    with pytest.raises(DataError, match="Spark cannot read standard input"):
        count_on_spark("-", session)
    with pytest.raises(DataError, match="has JSON lines and Parquet files"):
        count_on_spark(tmp_path, session)
    with pytest.raises(ConfigurationError, match="partitions must be at least 1"):
        judge_on_spark(log, session, EngineSpec(), 0)
    with pytest.raises(AgentGuardError, match=r"Spark could not do it: .*PATH_NOT_FOUND"):
        count_on_spark((tmp_path / "absent").as_uri(), session)


def test_what_fails_in_a_task_is_told_without_what_was_in_the_log(session: Any, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl.gz").write_bytes(b"\x1f\x8b\x08\x00secret secret secret")

    with pytest.raises(AgentGuardError, match="Spark could not do it") as raised:
        count_on_spark(tmp_path, session)

    assert "\n" not in str(raised.value)


def test_a_session_is_quiet_and_on_loopback(session: Any) -> None:
    settings = dict(session.sparkContext.getConf().getAll())

    assert settings["spark.driver.host"] == settings["spark.driver.bindAddress"] == "127.0.0.1"
    assert settings["spark.ui.enabled"] == "false"
    assert os.environ["PYSPARK_PYTHON"]


@pytest.mark.parametrize(
    ("module", "java", "missing"), [("pyspark", True, "pyspark"), ("pyarrow", True, "pyarrow"), (None, False, "Java")]
)
def test_what_is_missing_is_named_with_the_extra(
    monkeypatch: pytest.MonkeyPatch, module: str | None, java: bool, missing: str
) -> None:
    if module is not None:
        monkeypatch.setitem(__import__("sys").modules, module, None)
    if not java:
        monkeypatch.setenv("PATH", "")
        monkeypatch.delenv("JAVA_HOME", raising=False)

    with (
        pytest.raises(ConfigurationError, match=rf"needs {missing}: pip install 'agentguard\[spark\]', and a JDK"),
        spark_session("local[1]"),
    ):
        pass
