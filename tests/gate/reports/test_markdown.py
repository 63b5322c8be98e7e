"""A finished run as Markdown, rendered by a parser of it: what comes from outside is text and nothing else."""

import re
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from agentguard.gate._history import LabelChange
from agentguard.gate._run import GateRun
from agentguard.gate.reports import markdown_summary
from agentguard.gate.reports._formats import escape

from ...rows import over

ATTACKS = [
    "a | b | c",
    "`code` and ``` fences",
    "<img src=x onerror=alert(1)><script>alert(1)</script>",
    "[click](https://evil.example) ![x](https://evil.example/x.png) <https://evil.example>",
    "line\nbreak\r\n\n# heading\n| row |",
    "**bold** __bold__ ~~gone~~ *it*",
    "back\\slash \\| &lt;b&gt; &#60;",
    "[ref]: https://evil.example",
    "- item\n1. one\n> quote",
    "\u202eright to left\u200b",
]


class Reader(HTMLParser):
    """Counts elements and gathers text."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def rendered(markdown: str) -> Reader:
    reader = Reader()
    reader.feed(MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render(markdown))
    return reader


def test_the_decision_the_counts_and_the_claims(run: GateRun) -> None:
    said = markdown_summary(run)

    assert said.startswith("## Reliability gate: block\n")
    for row in ("| supported | 1 |", "| weakly supported | 1 |", "| unsupported | 1 |", "| **risk** | **0.5** |"):
        assert row in said
    text = rendered(said).text
    assert "The warranty lasts three years." in text
    assert "three is not two" in text
    assert "docs/warranty.md · Warranty > How long" in text
    assert "Returns take 30 days." not in text  # it is supported


def test_a_claim_has_its_question_the_reason_and_the_evidence(run: GateRun) -> None:
    said = markdown_summary(run)

    assert (
        "Claim p1.c1: **The warranty lasts three years.**\n"
        "\n"
        "- asked: How long?\n"
        "- why (figure): three is not two\n"
        "- the documents say: “The warranty lasts two years.” (docs/warranty.md · Warranty > How long)\n"
    ) in said


def test_what_changed_is_told(run: GateRun) -> None:
    worse = LabelChange("p1", "How long?", "It lasts two years.", "supported", "It lasts three years.", "unsupported")
    better = LabelChange("p2", "And you?", "We are nice.", "unsupported", "", None)

    said = markdown_summary(run, [better, worse], "r7")

    assert "### Since run r7\n\n1 claims got worse, 1 better.\n" in said
    assert "- worse, supported → unsupported: It lasts three years. (asked: How long?)\n" in said
    assert "- better, unsupported → not said: We are nice. (asked: And you?)\n" in said
    assert "Since run" not in markdown_summary(run)


def test_a_comment_fits_into_what_a_forge_takes(build: Any) -> None:
    changes = [LabelChange(f"p{n}", "x" * 600, "", None, "y" * 600, "unsupported") for n in range(200)]

    said = markdown_summary(build(), changes, "r7")

    assert 50_000 < len(said) < 65_536
    assert said.endswith("the other reports of the run have all of it\n")


def test_without_claims_there_are_no_tables_of_them(build: Any) -> None:
    said = markdown_summary(build(claims=0))

    assert said.startswith("## Reliability gate: warn\n")
    assert "###" not in said


@pytest.mark.parametrize("text", ATTACKS)
def test_text_from_outside_makes_no_element(build: Any, text: str) -> None:
    assert rendered(markdown_summary(build(text))).tags == rendered(markdown_summary(build(" and more"))).tags


@given(st.text(st.characters(), max_size=40) | st.text("|`<>[]()*_#\\&;!~ \nab", max_size=40))
def test_whatever_it_is(build: Any, text: str) -> None:
    assert rendered(markdown_summary(build(f"x{text}"))).tags == rendered(markdown_summary(build("x"))).tags


@given(st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=60))
def test_what_is_escaped_reads_as_it_was(text: str) -> None:
    html = rendered(f"x {escape(text)} x").text

    assert html.strip() == f"x {text} x"


def test_names_and_numbers_of_a_forge_stay_text() -> None:
    # GitHub makes links of these beyond CommonMark: none of the characters that begin them is left.
    escaped = escape("@everyone #12 https://evil.example www.evil.example $x$")

    assert not re.search(r"@|(?<!\\)\$|://|www\.|(?<!&)#(?=\w)", escaped)


@over("text", ["risk 0.3788", "(a+b)-c = d!", 'it\'s "so": {1}', "p1.c2", "run-a_b"])
def test_what_markdown_has_no_meaning_for_stays_as_it_is(text: str) -> None:
    assert escape(text) == text.replace("_", "\\_")


def test_a_long_list_is_cut(build: Any) -> None:
    assert len(markdown_summary(build("x" * 100_000))) < 20_000
