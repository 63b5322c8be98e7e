"""What integrations promise, and which of it each of them cannot keep, from the tests that hold them to it.

The tests of a promise that is declared as one that cannot be kept must fail, and those of all others must pass. So the
declarations are what running the tests shows, also of frameworks that are not installed here.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from markdown_text import cell, prose, table
from project_pages import ROOT

from agentguard.testing import IntegrationConformance
from agentguard.testing._integration import PROMISES

__all__ = ["promises"]

PLACES = ("integrations/*", "proxy", "hooks")  # of the tests


class Integration(NamedTuple):
    """The name of an integration, and what it cannot do, with the reasons."""

    name: str
    cannot: dict[str, str]

    def keeps(self, promise: str) -> str:
        """Whether it keeps a promise: yes, no, or partly; a dash where it runs no tool that could steer the run."""
        forms = [key.partition(": ")[2] for key in self.cannot if promise in key.partition(": ")[0].split(", ")]
        if "" in forms:
            return "–" if promise == "control" else "no"
        return "partly" if forms else "yes"


def promises() -> str:
    """The promises, a row for each integration, and the reasons of all that is not kept."""
    said = [f"- **{name}**: {prose(getattr(IntegrationConformance, f'test_{name}').__doc__)}" for name in PROMISES]
    held = sorted(_integrations(), key=lambda each: each.name.strip("`@").casefold())
    rows = [[each.name, *map(each.keeps, PROMISES)] for each in held]
    reasons = [f"- {each.name}: {cell(key)}: {cell(why)}." for each in held for key, why in each.cannot.items()]
    return "\n".join([*said, "", table(["integration", *PROMISES], rows), "", "What is not kept:", "", *reasons])


def _integrations() -> Iterator[Integration]:
    paths = (path for where in PLACES for path in (ROOT / "tests").glob(f"{where}/test_conformance.py"))
    for path in paths:
        nodes = ast.parse(path.read_text(encoding="utf-8")).body
        classes = {node.name: node for node in nodes if isinstance(node, ast.ClassDef)}
        for name, node in classes.items():
            if name.startswith("Test"):
                yield Integration((ast.get_docstring(node) or name).rstrip("."), _declared(node, classes))


def _declared(node: ast.ClassDef, classes: Mapping[str, ast.ClassDef]) -> dict[str, str]:
    """Read what a class declares, or one of the same file that it inherits from."""
    for each in node.body:
        if isinstance(each, ast.AnnAssign) and ast.unparse(each.target) == "cannot" and each.value is not None:
            return dict(ast.literal_eval(each.value))
    bases = (classes[base.id] for base in node.bases if isinstance(base, ast.Name) and base.id in classes)
    return next((_declared(base, classes) for base in bases), {})
