"""The site builds without a warning, holds what it promises, and loads nothing from elsewhere."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import typer

from agentguard.cli import app
from agentguard.gate._config import GateConfig
from agentguard.testing._integration import PROMISES
from agentguard.verification import ToolProfile, VerificationEngine

from .blocks import PAGES, ROOT
from .conftest import build


class Reader(HTMLParser):
    """The tags of a page, and its text."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def commands(command: Any, words: tuple[str, ...] = ("agentguard",)) -> Iterator[tuple[str, Any]]:
    yield " ".join(words), command
    for name, sub in getattr(command, "commands", {}).items():
        yield from commands(sub, (*words, name))


def test_every_page_is_built(site: Path) -> None:
    for page in PAGES:
        assert (site / page.relative_to(ROOT / "docs").with_suffix(".html")).is_file()


def test_every_command_and_option_is_described(site: Path) -> None:
    page = Reader(site / "reference/cli.html")
    headings = {attributes.get("id") for tag, attributes in page.tags if tag == "h2"}

    for name, command in commands(typer.main.get_command(app)):
        assert name.replace(" ", "-") in headings
        for parameter in command.params:
            assert all(option in page.text for option in parameter.opts if option.startswith("-")), name


def test_every_field_of_a_profile_is_described(site: Path) -> None:
    text = Reader(site / "reference/profile.html").text

    for name, field in ToolProfile.model_fields.items():
        assert name in text
        assert (field.description or "?").replace("`", "") in text


def test_every_field_of_a_gate_is_described(site: Path) -> None:
    text = Reader(site / "reference/gate-configuration.html").text
    schema = GateConfig.model_json_schema()
    sections = [schema, *schema["$defs"].values()]

    assert [name for section in sections for name in section["properties"] if name not in text] == []


def test_every_signal_is_described(site: Path) -> None:
    page = Reader(site / "signals.html")
    headings = {attributes.get("id") for tag, attributes in page.tags if tag == "h3"}
    found = VerificationEngine(block_at=1.0).verify("tool", result={})

    assert set(found.signals) <= headings
    assert {"injection_found", "secret_found", "pii_found"} <= headings


def test_every_promise_of_integrations_is_described(site: Path) -> None:
    text = Reader(site / "how-to/integrations.html").text

    assert [promise for promise in PROMISES if f"{promise}: " not in text] == []
    assert text.count("\npartly\n") > text.count("\nno\n") == 1
    assert "LangChain callbacks with raise_on_block: redacted: a callback cannot replace a result." in text


def test_files_that_pages_link_to_are_pages(site: Path) -> None:
    page = Reader(site / "project/examples/function.py.html")

    assert "from agentguard.integrations.functions import guarded" in page.text
    assert (site / "project/CHANGELOG.html").is_file()


def test_measured_tables_are_those_of_the_measurements(site: Path) -> None:
    comparison, measurements = (Reader(site / page).text for page in ("comparison.html", "measurements.html"))
    # The board of the loop has a page of its own.
    rows = re.findall(r"\n(awesome-agentguard\n(?!scripted\b).*?)\n\n\n", measurements, re.DOTALL)

    assert rows
    assert all(row in comparison for row in rows)
    assert "Growth, memory and bounds" not in comparison


def test_doctests_are_code(site: Path) -> None:
    page = Reader(site / "reference/api/content.html")

    assert ">>> " in page.text
    assert "blockquote" not in {tag for tag, _ in page.tags}


def test_pictures_have_a_description(site: Path) -> None:
    pictures = [
        attributes for tag, attributes in Reader(site / "arithmetic.html").tags if attributes.get("role") == "img"
    ]

    # The call of the page: another order's answer after sixty orders.
    engine = VerificationEngine()
    for n in range(60):
        order = {"order_id": f"W{1000 + n}", "status": "shipped", "total": 20.0 + n}
        engine.verify("get_order", args={"order_id": order["order_id"]}, result=order, execution_time_ms=40.0 + n % 7)
    wrong = {"order_id": "W1003", "status": "shipped", "total": 23.0}
    found = engine.verify("get_order", args={"order_id": "W2000"}, result=wrong, execution_time_ms=44.0)
    assert f"relation_mismatch {found.contributions['relation_mismatch']:+.3f}" in str(pictures[0]["aria-label"])


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    loads = {"script": "src", "link": "href", "img": "src", "iframe": "src", "source": "src", "object": "data"}
    for path in site.rglob("*.html"):
        for tag, attributes in Reader(path).tags:
            address = attributes.get(loads.get(tag, ""))
            assert not re.match(r"(https?:)?//", address or ""), f"{path.name} loads {address}"
    for path in site.rglob("*.css"):
        assert not re.search(r"url\((['\"]?)(https?:)?//", path.read_text(encoding="utf-8")), path.name


def test_it_can_be_searched_and_read_in_the_dark(site: Path) -> None:
    index = json.loads((site / "search/search_index.json").read_text(encoding="utf-8"))
    schemes = {attributes.get("data-md-color-scheme") for _, attributes in Reader(site / "index.html").tags}

    assert any("echo_mismatch" in entry["title"] for entry in index["docs"])
    assert {"default", "slate"} <= schemes


def test_a_link_that_leads_nowhere_stops_the_build(tmp_path: Path) -> None:
    pytest.importorskip("mkdocstrings", reason="it comes with the extra dev")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/index.md").write_text("[a](../examples/nothing.py)\n", encoding="utf-8")
    config = f"site_name: t\nhooks: [{ROOT / 'docs/generate/hook.py'}]\nplugins: [mkdocstrings]\n"
    (tmp_path / "mkdocs.yml").write_text(config, encoding="utf-8")
    done = build(tmp_path, tmp_path / "site")

    assert done.returncode != 0
    assert "examples/nothing.py, which is no file of the project" in done.stderr
