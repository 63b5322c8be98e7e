"""The page on changes of tools: short, with one diagram, and its clues speak for what the weights say."""

from __future__ import annotations

import re

from agentguard.verification._causes import CLUES
from agentguard.verification._incidents import incident_id
from agentguard.verification.types import Trait
from agentguard.verification.weights import CHANGE_WEIGHTS

from .blocks import DOCS, blocks

PAGE = DOCS / "changes.md"
MOST_WORDS = 800

#: How the page puts each clue; the clues that weigh nothing are not on it.
WORDS = {
    "canned": "words of a mock",
    "nulls": "null where there was none",
    "same": "another call's result",
    "copied": "one answer to different arguments",
    "factor": "numbers off by a large factor",
    "level": "off their levels",
    "prose": "text instead of records",
    "text": "text instead of records",
    "short": "shorter",
    "cut": "cut off",
    "empty": "empty",
    "unasked": "arguments no longer repeated",
    "value": "a new value where it never varied",
    "nats": "each call alone a strong suspect",
    "renamed": "as many new fields as lost ones",
    "carried": "the usual fields",
    "added": "new fields, none lost",
    "again": "arguments asked again since the change",
    "format": "values of another type or format",
    "volatile": "answers differently all the time",
}
LITTLE = 0.2  # nats


def test_page_is_short_and_has_one_diagram() -> None:
    assert len(PAGE.read_text(encoding="utf-8").split()) < MOST_WORDS
    assert [block.language for block in blocks(PAGE)].count("text") == 1


def test_each_clue_stands_where_its_weight_puts_it() -> None:
    text = PAGE.read_text(encoding="utf-8")
    rows = {
        1.0: re.search(r"^\| a fault \| (.*) \|$", text, re.MULTILINE),
        -1.0: re.search(r"^\| a changed service \| (.*) \|$", text, re.MULTILINE),
    }
    heavy = {name for name in CLUES if abs(CHANGE_WEIGHTS[name]) > LITTLE}

    assert heavy == set(WORDS)
    for name in sorted(heavy):
        row = rows[1.0 if CHANGE_WEIGHTS[name] > 0.0 else -1.0]
        assert row is not None
        assert WORDS[name] in row[1], name


def test_shown_ids_are_those_of_their_traits() -> None:
    """The ids that pages print, each with the tool and the trait that it is made of."""
    shown = {
        "changes.md": ("get_price", Trait("added", "amount", "float")),
        "quick-start.md": ("get_order", Trait("relation", "order_id", "order_id Equal")),
        "how-to/http.md": ("weather", Trait("declared", "", "required field 'degrees' is missing")),
        "live.md": ("get_price", Trait("level", "price", "above")),
        "telemetry.md": ("get_price", Trait("level", "price", "above")),
    }
    for page, (tool, trait) in shown.items():
        assert incident_id(tool, trait) in (DOCS / page).read_text(encoding="utf-8"), page
