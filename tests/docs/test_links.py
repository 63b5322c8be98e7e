"""Links of the documents that code hosts show lead somewhere; addresses elsewhere are well formed."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlsplit

from .blocks import DOCUMENTS

_FENCED = re.compile(r"^(```+).*?^\1", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_CODE = re.compile(r"`[^`\n]*`")


def links(path: Path) -> list[str]:
    return _LINK.findall(_CODE.sub("", _FENCED.sub("", path.read_text(encoding="utf-8"))))


def test_links_lead_to_files_of_the_project_or_are_addresses() -> None:
    for path in DOCUMENTS:
        for link in links(path):
            parts = urlsplit(link)
            if parts.scheme:
                assert parts.scheme == "https", (path, link)
                assert re.fullmatch(r"[a-z0-9.-]+\.[a-z]{2,}", parts.netloc), (path, link)
            elif parts.path:
                assert (path.parent / parts.path).exists(), (path, link)


def test_links_are_found_outside_code(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("[a](b.md#c) `[d](e)`\n\n```text\n[f](g)\n```\n\n[h](https://i.example/j)\n", encoding="utf-8")

    assert links(page) == ["b.md#c", "https://i.example/j"]
