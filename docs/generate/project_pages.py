"""Pages for files of the project that lie outside docs/, and the links that lead to them.

A page may link to ``../examples/function.py`` as it would on a code host. On the site the file is a page of its own,
below ``project/``, and the link leads there.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Callable, Iterable
from pathlib import Path

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

__all__ = ["LANGUAGES", "ROOT", "ProjectPages"]

ROOT = Path(__file__).resolve().parents[2]
DOCS = "docs/"
HOME = "project/"
ALWAYS = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "notebooks/README.md")  # stand in the navigation
LANGUAGES = {
    ".py": "python", ".ts": "typescript", ".yml": "yaml", ".yaml": "yaml", ".json": "json", ".jsonl": "json",
    ".toml": "toml",
}  # fmt: skip

_FENCE = re.compile(r"^ {0,3}(```+|~~~+)")
_LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#|/)([^)\s#]+)((?:#[^)\s]*)?)(?=\))")


class ProjectPages:
    """The files outside docs/ that pages link to, each as a page."""

    def __init__(self) -> None:
        self._uri_of: dict[str, str] = {}  # by path from the project's root

    def collect(self, pages: Iterable[File]) -> dict[str, str]:
        """The text of each page to be made, by its address; what these link to in turn is among them."""
        found: dict[str, str] = {}
        self._uri_of.clear()
        waiting = [("mkdocs.yml", [*ALWAYS])]
        waiting += [(page := DOCS + file.src_uri, _links(file.content_string, page)) for file in pages]
        while waiting:
            path, targets = waiting.pop()
            for target in targets:
                if target.startswith(DOCS) or target in self._uri_of:
                    continue
                self._uri_of[target], content = _page_of(target, linked_from=path)
                found[self._uri_of[target]] = content
                if target.endswith((".md", ".ipynb")):
                    waiting.append((target, _links(content, target)))
        return found

    def relink(self, markdown: str, uri: str) -> str:
        """The page with its links out of docs/, or from a page made here, turned to where they lead on the site."""
        path = next((path for path, made in self._uri_of.items() if made == uri), DOCS + uri)

        def turn(link: re.Match[str]) -> str:
            target = _resolve(link[1], path)
            if path.startswith(DOCS) and target.startswith(DOCS):
                return link[0]
            there = self._uri_of.get(target) or target.removeprefix(DOCS)
            return posixpath.relpath(there, posixpath.dirname(uri)) + link[2]

        return _outside_fences(markdown, lambda line: _LINK.sub(turn, line))


def _page_of(path: str, *, linked_from: str) -> tuple[str, str]:
    source = ROOT / path
    if not source.is_file():
        raise PluginError(f"{linked_from} links to {path}, which is no file of the project")
    text = source.read_text(encoding="utf-8")
    if path.endswith(".md"):
        return HOME + path, text
    if path.endswith(".ipynb"):
        return f"{HOME}{path}.md", _notebook(text)
    fence = "`" * (2 + max((len(run) for run in re.findall("`+", text)), default=1))
    return f"{HOME}{path}.md", f"# {path}\n\n{fence}{LANGUAGES.get(source.suffix, 'text')}\n{text.rstrip()}\n{fence}\n"


def _notebook(text: str) -> str:
    """Its text and its code; notebooks are kept without outputs."""
    cells = [(cell["cell_type"], "".join(cell["source"])) for cell in json.loads(text)["cells"]]
    return "\n\n".join(said if kind == "markdown" else f"```python\n{said}\n```" for kind, said in cells if said)


def _links(markdown: str, path: str) -> list[str]:
    found: list[str] = []

    def note(line: str) -> str:
        found.extend(_resolve(link[1], path) for link in _LINK.finditer(line))
        return line

    _outside_fences(markdown, note)
    return found


def _resolve(target: str, path: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), target))


def _outside_fences(markdown: str, change: Callable[[str], str]) -> str:
    lines, fence = [], ""
    for line in markdown.split("\n"):
        mark = _FENCE.match(line)
        if mark and not fence:
            fence = mark[1]
        elif mark and mark[1].startswith(fence) and not line.strip(" `~"):
            fence = ""
        elif not fence:
            line = change(line)
        lines.append(line)
    return "\n".join(lines)
