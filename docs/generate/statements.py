"""The statements of the published documents, from the tests that hold them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from markdown_text import cell, table
from project_pages import ROOT

__all__ = ["Statement", "statements", "statements_table"]

SUITE = ROOT / "tests" / "documents"


class Statement(NamedTuple):
    """A statement of a document.

    Attributes:
        document: the document's name.
        section: the heading above it.
        text: the statement, in one sentence.
        deviation: the row of the deviations page; "" where the default does as the document says.
        test: the test that holds it, as ``file::name``.
    """

    document: str
    section: str
    text: str
    deviation: str
    test: str


def statements_table() -> str:
    """Make a table a document: section, statement, whether the default follows it, test."""
    found = list(statements())
    parts = []
    for document in dict.fromkeys(each.document for each in found):
        own = [each for each in found if each.document == document]
        differ = sum(bool(each.deviation) for each in own)
        rows = [(cell(each.section), cell(each.text), _follows(each.deviation), f"`{each.test}`") for each in own]
        parts += [
            f"## {document}",
            f"{len(own)} statements, {len(own) - differ} as printed.",
            table(("section", "statement", "here", "test"), rows),
        ]
    return "\n\n".join(parts)


def _follows(deviation: str) -> str:
    return f"[{deviation}](deviations.md#{deviation.lower()})" if deviation else "as printed"


def statements() -> Iterator[Statement]:
    """Read the statements that the tests are marked with, in the files' order."""
    for path in sorted(SUITE.glob("test_*.py")):
        module = ast.parse(path.read_text(encoding="utf-8"))
        document = next(_documents(module))
        for node in ast.walk(module):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                for mark in node.decorator_list:
                    if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "states":
                        section, *texts = map(ast.literal_eval, mark.args)
                        named = {each.arg: ast.literal_eval(each.value) for each in mark.keywords}
                        for text in texts:
                            test = f"{path.name}::{node.name}"
                            yield Statement(document, section, text, named.get("deviation", ""), test)


def _documents(module: ast.Module) -> Iterator[str]:
    for node in module.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "DOCUMENT":
            yield ast.literal_eval(node.value)
