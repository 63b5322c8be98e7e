"""Docstrings as Markdown: doctests, literal blocks and plain tables become blocks of code."""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object

__all__ = ["DocstringsAsMarkdown", "as_markdown"]

_DOCTEST = re.compile(r"(?:^|\n)((?P<indent> *)>>> .*(?:\n(?P=indent)\S.*|\n(?P=indent) +\S.*)*)")
_LITERAL = re.compile(r"(?P<lead>[^\n]*)::\n\n(?P<block>(?: {4,}[^\n]*\n?|\n(?= {4}))+)")
_TABLE = re.compile(r"(?:^|\n)(=+ =[= ]*\n(?:.+\n)*?=+ =[= ]*\n(?:.+\n)*?=+ =[= ]*)(?=\n|$)")


class DocstringsAsMarkdown(Extension):
    """Rewrites every docstring once, when its object is found."""

    def on_object(self, *, obj: Object, **kwargs: Any) -> None:
        """Called by griffe."""
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value)


def as_markdown(docstring: str) -> str:
    """The docstring with its blocks of code in fences."""
    text = _TABLE.sub(lambda found: f"\n```text\n{found[1]}\n```", docstring)
    text = _LITERAL.sub(_fenced_literal, text)
    return _DOCTEST.sub(lambda found: f"\n{_fence(found[1], found['indent'], 'pycon')}", text)


def _fenced_literal(found: re.Match[str]) -> str:
    block = found["block"].rstrip("\n")
    depth = min(len(line) - len(line.lstrip()) for line in block.split("\n") if line.strip())
    lines = "\n".join(line[depth:] for line in block.split("\n"))
    lead = f"{found['lead']}:\n\n" if found["lead"].strip() else ""
    return f"{lead}```text\n{lines}\n```\n"


def _fence(block: str, indent: str, language: str) -> str:
    return f"{indent}```{language}\n{block}\n{indent}```"
