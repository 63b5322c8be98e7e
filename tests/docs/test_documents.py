"""Each deviation from a published document has a row and a test, and each test that shows one has a row."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from .blocks import DOCS, ROOT

SUITE = ROOT / "tests" / "documents"
ROW = re.compile(r'^\| <a id="([a-z]\d+)"></a>([A-Z]\d+) \|', re.MULTILINE)


def marked(path: Path) -> list[tuple[str, str]]:
    """The tests of a file that are marked with a statement, each with its deviation, or ""."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for mark in node.decorator_list:
                if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "states":
                    named = {each.arg: ast.literal_eval(each.value) for each in mark.keywords}
                    found.append((node.name, named.get("deviation", "")))
    return found


def test_each_deviation_has_a_row_and_a_test() -> None:
    rows = ROW.findall((DOCS / "deviations.md").read_text(encoding="utf-8"))
    shown = {deviation for path in SUITE.glob("test_*.py") for _, deviation in marked(path) if deviation}

    assert all(anchor == name.lower() for anchor, name in rows)
    assert len(rows) == len(set(rows))
    assert {name for _, name in rows} == shown


def test_each_test_of_a_document_says_which_statement_it_holds() -> None:
    for path in SUITE.glob("test_*.py"):
        tests = re.findall(r"^(?:async )?def (test_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
        assert tests
        assert {name for name, _ in marked(path)} >= set(tests), path.name


def test_what_the_engine_does_as_printed_is_shown_of_the_default() -> None:
    """The bench of reference mode shows nothing of the default, unless the test names how the default differs."""
    shown_elsewhere = {
        "test_schema_mismatch",
        "test_pattern_mismatch",
        "test_length_anomaly",
    }  # by the printed profiles
    tree = ast.parse((SUITE / "test_verification_engine.py").read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and "bench" in {each.arg for each in node.args.args}:
            marks = [
                each
                for each in node.decorator_list
                if isinstance(each, ast.Call) and ast.unparse(each.func) == "states"
            ]
            named = all(any(word.arg == "deviation" for word in mark.keywords) for mark in marks)
            assert named or node.name in shown_elsewhere, node.name
