"""Searches in processes of their own: what one leaves behind when it dies, and the record of a long campaign."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from fuzz.engines import has_atheris
from fuzz.harness import Harness
from fuzz.record import LONG, Finding, Searched, kept, read
from fuzz.searching import Search, campaign
from fuzz.target import Target, alone
from fuzz.trial import Trial

ROOT = Path(__file__).parents[2]

# Behaves as `python -m fuzz TARGET …` does: its first process dies of an input, the second one finishes.
STANDS_IN = """
import json, pathlib, sys
given = dict(zip(sys.argv[2::2], sys.argv[3::2]))
if "--replay" in given:
    sys.exit("stuck" in pathlib.Path(given["--replay"]).read_text())
folder = pathlib.Path(given["--artefacts"], sys.argv[1])
first = given["--seed"] == "5"
failures = {} if first else {"ValueError at x.py:f:1": "ff3f"}
account = {"inputs": 10, "seconds": 40.0 if first else 60.0, "tried": {"one": 10}, "failures": failures,
           "slowest_ms_per_kib": 1.0 if first else 2.0, "slowest_bytes": 7}
(folder / "account.json").write_text(json.dumps(account))
print("#9\\tNEW    cov: %d ft: 30 corp: 5/9b lim: 4 exec/s: 0 rss: 9Mb" % (12 if first else 21), flush=True)
if first:
    (folder / ("timeout-" + 40 * "a")).write_bytes(b"\\x00\\x00stuck")
    (folder / ("timeout-" + 40 * "b")).write_bytes(b"\\x00\\x00slow")
    sys.exit(70)
assert float(given["--seconds"]) == 60.0, given
sys.exit(1)
"""


def _does_nothing(trial: Trial) -> None:
    """No promise at all."""


def _search(tmp_path: Path, program: str) -> Search:
    path = tmp_path / "stands_in.py"
    path.write_text(program, "utf-8")
    target = alone(Harness("one", "", _does_nothing))
    return Search(target, tmp_path, 100.0, engine="guided", seed=5, command=(sys.executable, str(path)))


def test_a_search_that_dies_goes_on_and_keeps_what_it_died_of(tmp_path: Path) -> None:
    searched = _search(tmp_path, STANDS_IN).run(lambda figures: None)

    assert (searched.inputs, searched.seconds, searched.edges, searched.kept) == (20, 100.0, 21, 5)
    assert searched.tried == {"one": 20}
    assert searched.findings == (
        Finding("timeout in one (code 70)", "one", b"\x00\x00stuck".hex()),
        Finding("ValueError at x.py:f:1", "one", "003f"),
    )
    assert (searched.slowest_ms_per_kib, searched.slowest_bytes) == (2.0, 7)
    stuck, slow = (path.read_text("utf-8") for path in sorted((tmp_path / "one").glob("timeout-*.txt")))
    assert stuck.startswith("timeout in one")
    assert "python -m fuzz one --replay" in stuck
    assert slow.startswith("slow: timeout in one")


def test_a_search_that_never_began_says_why(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="no module of this name"):
        _search(tmp_path, "raise SystemExit('no module of this name')").run(lambda figures: None)


def test_a_search_ends_when_it_is_told_to_and_loses_nothing(tmp_path: Path) -> None:
    program = """
import json, pathlib, signal, sys, time
given = dict(zip(sys.argv[2::2], sys.argv[3::2]))
def stop(*_):
    account = {"inputs": 3, "seconds": 1.0, "tried": {"one": 3}, "failures": {}, "slowest_ms_per_kib": 0.0,
               "slowest_bytes": 0}
    pathlib.Path(given["--artefacts"], "one", "account.json").write_text(json.dumps(account))
    sys.exit(0)
signal.signal(signal.SIGTERM, stop)
pathlib.Path(given["--artefacts"], "one", "began").touch()
time.sleep(60)
"""
    search = _search(tmp_path, program)

    def interrupt(figures: Searched) -> None:
        if (tmp_path / "one" / "began").exists():
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        search.run(interrupt)

    assert search.figures().inputs == 3


def _searched(target: str, seconds: float, inputs: int) -> Searched:
    return Searched(
        target, "guided", inputs, seconds, 7, 3, {"one": inputs}, (Finding("a fault", "one", "00"),), 1.5, 20
    )


def test_a_long_search_is_kept_in_place_of_the_last(tmp_path: Path) -> None:
    path = tmp_path / "campaign.json"

    for searched in (
        _searched("b", LONG, 1),
        _searched("a", LONG, 2),
        _searched("b", LONG, 3),
        _searched("c", LONG, 4),
    ):
        assert kept(searched, path, ("a", "b"))

    on, found = read(path)
    assert found == [_searched("a", LONG, 2), _searched("b", LONG, 3)]
    assert set(on) == {"Python", "engine"}


def test_a_short_search_changes_no_record(tmp_path: Path) -> None:
    path = tmp_path / "campaign.json"

    assert not kept(_searched("a", LONG - 1, 1), path, ("a",))
    assert read(path) == ({}, [])


def test_a_record_knows_how_many_inputs_a_second() -> None:
    assert _searched("a", 300.0, 600).rate == 2.0
    assert _searched("a", 0.0, 0).rate == 0.0


@pytest.fixture
def searches(monkeypatch: pytest.MonkeyPatch) -> dict[str, Searched | None]:
    """What the searches of targets a and b come to, in place of searching; None: somebody presses Ctrl-C in it."""
    come_to: dict[str, Searched | None] = {}

    class StandsIn:
        def __init__(self, target: Target, *_: object, **__: object) -> None:
            self._target = target

        def run(self, watch: object) -> Searched:
            searched = come_to[self._target.name]
            if searched is None:
                raise KeyboardInterrupt
            return searched

        def figures(self) -> Searched:
            return _searched(self._target.name, LONG, 5)._replace(findings=())

    monkeypatch.setattr("fuzz.searching.Search", StandsIn)
    monkeypatch.setattr("fuzz.targets.TARGETS", {name: alone(Harness(name, "", _does_nothing)) for name in "ab"})
    return come_to


def test_all_targets_are_searched_and_told_of(
    tmp_path: Path, searches: dict[str, Searched | None], capsys: pytest.CaptureFixture[str]
) -> None:
    searches |= {"a": _searched("a", LONG, 1_000), "b": _searched("b", LONG, 2_000)._replace(findings=())}
    record = tmp_path / "campaign.json"

    code = campaign((), LONG, "guided", 0, tmp_path, record)

    said = capsys.readouterr()
    assert code == 1  # something was found
    assert said.out.splitlines()[:2] == ["3,000 inputs, 1 findings", "  a: one: a fault"]
    assert "a             300 of 300 s, 1,000 inputs, 3 a second, 7 edges, 1 findings" in said.err
    assert read(record)[1] == [searches["a"], searches["b"]]


def test_after_ctrl_c_what_was_done_is_kept(tmp_path: Path, searches: dict[str, Searched | None]) -> None:
    searches |= {"a": None}
    record = tmp_path / "campaign.json"

    assert campaign(["a"], LONG, "guided", 0, tmp_path, record) == 130
    assert [searched.inputs for searched in read(record)[1]] == [5]


def test_a_campaign_is_of_the_named_targets_alone(tmp_path: Path, searches: dict[str, Searched | None]) -> None:
    searches |= {"a": None, "b": _searched("b", LONG, 2_000)._replace(findings=())}
    record = tmp_path / "campaign.json"

    assert campaign(["b"], LONG, "guided", 0, tmp_path, record) == 0
    assert [searched.target for searched in read(record)[1]] == ["b"]
    with pytest.raises(SystemExit, match="no target c; known are a, b"):
        campaign(["b", "c"], LONG, "guided", 0, tmp_path, record)


def test_the_blind_engine_runs_from_the_command_line(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "fuzz", "parquet", "--engine", "blind", "--seconds", "0.2"]

    ran = subprocess.run([*command, "--artefacts", str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=True)

    account = json.loads(ran.stdout)
    assert account == json.loads((tmp_path / "parquet" / "account.json").read_text("utf-8"))
    assert account["inputs"] == account["tried"]["parquet"] > 0


GUIDED = """
import sys
from pathlib import Path
from fuzz.engines import guided
from fuzz.harness import Harness
from fuzz.target import alone

def refuses(trial):
    if trial.source.raw(1) == b"x":
        raise ValueError("x")

guided(lambda: alone(Harness("refuses", "", refuses)), Path(sys.argv[1]), 2.0, seed=1)
"""


@pytest.mark.skipif(not has_atheris(), reason="atheris has wheels for some Pythons on Linux only")
def test_the_guided_engine_goes_on_after_a_fault_and_keeps_its_account(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", GUIDED, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert ran.returncode == 1, ran.stderr[-2000:]
    account = json.loads((tmp_path / "refuses" / "account.json").read_text("utf-8"))
    assert account["inputs"] > 1_000
    ((key, shortest),) = account["failures"].items()
    assert key.startswith("ValueError at")
    assert bytes.fromhex(shortest)[2:] == b"x"
