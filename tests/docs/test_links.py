"""Links of the documents that code hosts show lead somewhere; addresses elsewhere are well formed."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from .blocks import DOCUMENTS, ROOT

_FENCED = re.compile(r"^(```+).*?^\1", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_CODE = re.compile(r"`[^`\n]*`")


def links(path: Path) -> list[str]:
    return _LINK.findall(_CODE.sub("", _FENCED.sub("", path.read_text(encoding="utf-8"))))


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_within_the_project_lead_to_files(path: Path) -> None:
    within = [link.partition("#")[0] for link in links(path) if not urlsplit(link).scheme]

    assert [link for link in within if link and not (path.parent / link).exists()] == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_elsewhere_are_addresses(path: Path) -> None:
    for link in links(path):
        parts = urlsplit(link)
        if parts.scheme:
            assert parts.scheme == "https", link
            assert re.fullmatch(r"[a-z0-9.-]+\.[a-z]{2,}", parts.netloc), link


def test_links_are_found_outside_code(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("[a](b.md#c) `[d](e)`\n\n```text\n[f](g)\n```\n\n[h](https://i.example/j)\n", encoding="utf-8")

    assert links(page) == ["b.md#c", "https://i.example/j"]
