"""Each promise of the threat model names tests that exist and run; its figures and bounds are those of the project."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from agentguard._limits import LIMITS
from agentguard._line_files import ALWAYS_UNPACKED
from agentguard.gate._config import RiskTolerance
from agentguard.serving._app import MAX_HELD_BYTES
from agentguard.serving._connections import HEADER_SECONDS
from agentguard.verification import _baseline, _calibration, _incidents, _pool, _shape
from agentguard.verification.profile import ToolProfile

from .blocks import DOCS, ROOT

PAGE = (DOCS / "threat-model.md").read_text(encoding="utf-8")
MEASUREMENTS = (DOCS / "measurements.md").read_text(encoding="utf-8")
LAST = "The tests that hold these promises"
TOOL, GATE = "a-hostile-tool", "a-hostile-document-claim-or-answer-in-the-gate"
ROW = re.compile(r"^\| \[[^\]]+\]\(#([\w-]+)\) \| (.+?) \| (.+?) \|$", re.MULTILINE)


class Row(NamedTuple):
    """A promise, the section that makes it, and the tests that hold it."""

    section: str
    promise: str
    tests: tuple[str, ...]


def rows() -> list[Row]:
    held = PAGE.partition(f"## {LAST}\n")[2]
    found = [Row(section, promise, tuple(re.findall(r"`([^`]+)`", by))) for section, promise, by in ROW.findall(held)]
    assert len(found) == len(re.findall(r"^\| \[", held, re.MULTILINE)), "a row is not read"
    return found


def slug(title: str) -> str:
    """The anchor that code hosts and the site give a heading."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


@lru_cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def body_of(nodes: list[ast.stmt], name: str) -> ast.stmt | None:
    defined = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return next((node for node in reversed(nodes) if isinstance(node, defined) and node.name == name), None)


def is_left_out(mark: ast.expr) -> bool:
    """A decorator, or a value of ``pytestmark``, by which a test does not run or may fail, whatever is the case."""
    marks = mark.elts if isinstance(mark, (ast.List, ast.Tuple)) else [mark]
    for each in marks:
        call = each if isinstance(each, ast.Call) else None
        name = ast.unparse(call.func if call else each)
        conditions = [] if call is None else [*call.args, *(k.value for k in call.keywords if k.arg == "condition")]
        always = not conditions or all(isinstance(one, ast.Constant) for one in conditions)
        if re.search(r"\b(skip|xfail|skipif)$", name) and (name.endswith("skip") or always):
            return True
    return False


def is_given_up(node: ast.stmt) -> bool:
    """A statement that ends a test, or the import of its file, unconditionally."""
    call = node.value if isinstance(node, ast.Expr) else None
    return isinstance(call, ast.Call) and bool(re.search(r"\b(skip|xfail)$", ast.unparse(call.func)))


def faults(test: str, root: Path = ROOT) -> Iterator[str]:
    """What keeps a test that is named as ``path::class::name`` from holding anything."""
    path, *names = test.split("::")
    if not path.startswith("tests/") or not (root / path).is_file():
        yield "there is no such file"
        return
    if not names or not names[-1].startswith("test_"):
        yield "names no test"
        return
    module = parsed(root / path)
    bodies: list[list[ast.stmt]] = [module.body]
    for name in names:
        node = body_of(bodies[-1], name)
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield f"{name} is not there"
            return
        if any(is_left_out(mark) for mark in node.decorator_list):
            yield f"{name} is skipped, or expected to fail"
        bodies.append(node.body)
    for body in bodies:
        for statement in body:
            if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "pytestmark":
                if is_left_out(statement.value):
                    yield "is skipped with its file or class"
            elif is_given_up(statement):
                yield "ends before it has tried anything"


def test_each_named_test_exists_and_runs() -> None:
    assert {test: list(faults(test)) for row in rows() for test in row.tests if list(faults(test))} == {}
    assert [row.promise for row in rows() if not row.tests] == []


def test_each_section_has_promises_and_each_row_a_section() -> None:
    titles = re.findall(r"^## (.+)$", PAGE, re.MULTILINE)

    assert titles[-1] == LAST
    assert {slug(title) for title in titles[:-1]} == {row.section for row in rows()}
    assert len({(row.section, row.promise) for row in rows()}) == len(rows())


def test_each_point_and_each_attack_has_a_row() -> None:
    """The points of what a hostile tool can do, and the table of the gate, are found again by their first words."""
    promises = {section: [row.promise for row in rows() if row.section == section] for section in (TOOL, GATE)}
    points = re.findall(
        r"^- \*\*(.+?)\.?\*\*", PAGE.partition("## A hostile tool")[2].partition("\n## ")[0], re.MULTILINE
    )
    table = re.search(r"^\| attack \| what happens \|\n\|---\|---\|\n((?:\|.+\n)+)", PAGE, re.MULTILINE)
    assert table is not None
    attacks = re.findall(r"^\| (.+?) \|", table[1], re.MULTILINE)

    assert len(points) == 12
    assert [point for point in points if not any(each.startswith(f"it can {point}") for each in promises[TOOL])] == []
    assert len(attacks) == 7
    assert [attack for attack in attacks if not any(each.startswith(attack) for each in promises[GATE])] == []


def test_what_holds_nothing_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_x.py").write_text(
        "import pytest\n"
        "def test_good(): assert True\n"
        "@pytest.mark.skipif(sys.platform != 'linux', reason='r')\ndef test_elsewhere(): pass\n"
        "@pytest.mark.skip(reason='r')\ndef test_skipped(): pass\n"
        "@pytest.mark.xfail\ndef test_failing(): pass\n"
        "@pytest.mark.skipif(True, reason='r')\ndef test_never(): pass\n"
        "def test_gives_up():\n    pytest.skip('r')\n"
        "def test_may_give_up():\n    if not tool():\n        pytest.skip('r')\n"
        "class TestAll:\n    pytestmark = [pytest.mark.skip]\n    def test_in_it(self): pass\n"
        "class TestFine:\n    def test_in_it(self): pass\n",
        encoding="utf-8",
    )
    named = "good elsewhere may_give_up skipped failing never gives_up gone".split()
    found = {name: bool(list(faults(f"tests/test_x.py::test_{name}", tmp_path))) for name in named}
    classes = [bool(list(faults(f"tests/test_x.py::{name}::test_in_it", tmp_path))) for name in ("TestAll", "TestFine")]

    assert [name for name, fault in found.items() if not fault] == ["good", "elsewhere", "may_give_up"]
    assert classes == [True, False]
    assert list(faults("tests/gone.py::test_x", tmp_path)) == ["there is no such file"]
    assert list(faults("tests/test_x.py", tmp_path)) == ["names no test"]


def said(phrase: str) -> bool:
    return phrase in " ".join(PAGE.split())


def figure(row: str) -> float:
    found = re.search(row, MEASUREMENTS, re.MULTILINE)
    assert found is not None, row
    return float(found[1].replace(",", ""))


def test_further_figures_are_the_measured_ones() -> None:
    pairs = figure(r"^\| pairs \|.*\n\|.*\n\| all \| \d+ \| [\d.]+ \| ([\d.]+)")
    known = figure(r"^\| tools with 3\+ other calls \| \d+ \| [\d.]+ \| ([\d.]+)")
    assert said(f"hardly better than chance (AUROC {pairs:.3f}), and good ({known:.3f})".replace("0.", "."))
    clean, bad = (
        figure(r"^\| swapped_tool \| (0\.\d+) \(\S+ to \S+\) \| 0\.\d+ \(\S+ to \S+\) \| 0\.\d+ \(\S+ to \S+\) \|$"),
        figure(r"^\| swapped_tool \| 0\.\d+ \(\S+ to \S+\) \| (0\.\d+) \(\S+ to \S+\) \| 0\.\d+ \(\S+ to \S+\) \|$"),
    )
    assert said(f"recall on another tool's answers from {clean:.3f} to {bad:.3f}".replace("0.", "."))
    hostile = figure(r"^\| hostile: new keys, deep inside \| [\d,]+ \| ([\d,]+) KiB")  # halfway, where it is largest
    usual = figure(r"^\| records, 1 KB \| 10,000 \|.*?\| (\d+) KiB \| ≤")
    assert said(f"**grow its state** to {hostile / 1024:.0f} MiB, {hostile / usual:.0f} times the usual")


def test_attacks_that_are_called_measured_have_their_rows() -> None:
    assert said("100 MB strings, 10,000-deep nesting, cycles and made-up keys are measured attacks.")
    for attack in (
        "100 MB of prose", "100 MB of nested JSON text", "an object 10,000 deep", "text of an object 10,000 deep",
        "a list that holds itself 100,000 times", "objects in objects, no key twice", "an object of a million keys",
    ):  # fmt: skip
        assert re.search(rf"^\| {attack} \| [\d.]", MEASUREMENTS, re.MULTILINE), attack


def test_bounds_that_the_page_quotes_are_those_of_the_code() -> None:
    profile = ToolProfile(name="t")
    assert profile.max_bytes == 16 * 2**20
    for phrase in (
        f"After `max_blocks` calls ({profile.max_blocks})",
        f"after `max_flags` calls ({profile.max_flags})",
        f"more values than `max_nodes` ({profile.max_nodes:,})",
        f"remembers {_incidents.MAX_INCIDENTS} changes of a tool",
        f"from the {['', 'first', 'second', 'third', 'fourth'][_incidents.JUDGED_AFTER]} call on",
        f"the engine's first {_pool.SETTLED:,} calls",
        f"latest {_baseline.RECENT_MEASURED} numbers of each signal",
        f"at most {_shape.MAX_FACTS} a kind of result",
        f"between 1/{1 / _calibration.LEAST_FACTOR:.0f} and {_calibration.MOST_FACTOR:.0f},",
        f"the prior to between {_calibration.LOWEST:.2f}".replace("0.", "."),
        f"and {_calibration.HIGHEST} · `block_at`".replace("0.", "."),
        f"have {MAX_HELD_BYTES // 2**20} MiB of bodies held",
        f"closed after {HEADER_SECONDS:.0f} seconds",
        f"More than {LIMITS.blank_bytes // 2**20} MiB of blank lines",
        f"more than {LIMITS.unpacked_ratio} times its size (beyond the first {ALWAYS_UNPACKED // 2**20} MiB)",
    ):
        assert said(phrase), phrase
    assert _calibration.MOST_WEIGHT == 20.0  # "at most twenty"
    assert RiskTolerance().max_unreadable == 0.2  # "a fifth"
