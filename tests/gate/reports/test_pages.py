"""A finished run as a page: all of it there, what comes from outside as text, nothing asked of elsewhere."""

import re
from base64 import b64encode
from dataclasses import replace
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.gate._history import LabelChange
from agentguard.gate._run import GateRun
from agentguard.gate.records._base import Event
from agentguard.gate.records._sqlite import SqliteRecords
from agentguard.gate.reports import dashboard, html_page


class Page(HTMLParser):
    """The elements of a page with their attributes, and its text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[str] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_decision_the_counts_and_every_claim(run: GateRun) -> None:
    page = Page(html_page(run))

    assert "help desk: block" in page.text
    assert "0.5000" in page.text
    for said in (
        "The warranty lasts three years.", "How long?", "three is not two", "docs/warranty.md · Warranty > How long",
        "The warranty lasts two years.", "Returns take 30 days.", "answered with a claim",
    ):  # fmt: skip
        assert said in page.text
    assert "Since run" not in page.text


def test_what_changed_is_told_the_worse_first(run: GateRun) -> None:
    worse = LabelChange("p1", "How long?", "", None, "It lasts for ever.", "unsupported")
    better = LabelChange("p2", "And you?", "We are kind.", "unsupported", "We are kind.", "supported")
    text = " ".join(Page(html_page(run, [better, worse], "r7")).text.split())

    assert "Since run r7" in text
    assert text.index("not said → unsupported: It lasts for ever.") < text.index(
        "unsupported → supported: We are kind."
    )


def test_a_page_asks_for_nothing(run: GateRun) -> None:
    html = html_page(run)
    page = Page(html)
    (sheet,) = re.findall(r"<style>(.*?)</style>", html, re.DOTALL)
    digest = b64encode(sha256(sheet.encode()).digest()).decode()

    assert not {"script", "link", "img", "iframe", "object", "form"} & set(page.tags)
    assert not {"src", "action"} & set(page.attributes)
    assert f"default-src &#39;none&#39;; style-src &#39;sha256-{digest}&#39;" in html


@pytest.mark.parametrize(
    "text", ["<script>alert(1)</script>", '" onload=x y="', "</style><b>", "\u202eevil\x00", "{{ 7*7 }}"]
)
def test_text_from_outside_makes_no_element(build: Any, text: str) -> None:
    page = Page(html_page(build(text)))

    assert page.tags == Page(html_page(build(" more"))).tags
    assert not [name for name in page.attributes if name.startswith("on")]
    assert "49" not in page.text
    assert "\u202e" not in page.text


@given(st.text(st.characters(), max_size=30))
def test_whatever_it_is(build: Any, text: str) -> None:
    assert Page(html_page(build(f"x{text}"))).tags == Page(html_page(build("x"))).tags


# --- All runs ---


def recorded(folder: Path, *runs: GateRun) -> SqliteRecords:
    records = SqliteRecords(folder / "records.sqlite")
    for run in runs:
        records.save(run.summary)
        records.append(run.run_id, Event("started", 1.0, {"config": run.state.config.model_dump(mode="json")}))
        wrote = {key: run.state.to_json(key) for key in run.state.written}
        records.append(run.run_id, Event("stage", 2.0, {"name": "all", "wrote": wrote}))
    return records


def later(run: GateRun, number: int, **changes: Any) -> GateRun:
    run_id = f"2026112{number}T120000.000Z-a1b2c3"
    return replace(
        run, run_id=run_id, summary=replace(run.summary, run_id=run_id, started=run.summary.started + number, **changes)
    )


def test_a_page_of_all_runs(build: Any, tmp_path: Path) -> None:
    runs = [
        later(build(claims=2), 1, risk=0.0, decision="deploy", total_claims=200),
        later(build(), 2, total_claims=200),
    ]
    records = recorded(tmp_path, *runs)
    page = Page(dashboard("help desk", records.runs(), records))
    text = " ".join(page.text.split())

    assert "The latest run is a regression: risk 0.500 against 0.000" in text
    # The false claim is in both runs, the doubtful one in the latter only.
    assert "The warranty lasts three years.How long?figure220261122" in text  # the cells of a row
    assert "not said → weakly supported: The staff are nice." in text
    assert page.text.count("-a1b2c3: risk 0.") == 2  # the picture has a name for each run
    assert not {"script", "link", "img", "iframe"} & set(page.tags)


def test_a_page_without_runs(tmp_path: Path) -> None:
    records = recorded(tmp_path)

    assert "no run is finished yet" in Page(dashboard("help desk", [], records)).text


@pytest.mark.parametrize("text", ["<script>alert(1)</script>", '" onload=x y="', "\u202eevil"])
def test_a_page_of_all_runs_shows_text_as_text(build: Any, tmp_path: Path, text: str) -> None:
    pages = []
    for name, said in (("evil", text), ("plain", " more")):
        (tmp_path / name).mkdir()
        runs = [later(build(said), number) for number in (1, 2)]
        records = recorded(tmp_path / name, *runs)
        pages.append(Page(dashboard(f"help desk{said}", records.runs(), records)))

    assert pages[0].tags == pages[1].tags
