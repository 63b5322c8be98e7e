"""Where text becomes a picture: nothing that comes from outside is ever more than text."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard._pages import clean
from agentguard.report._charts import ATTRIBUTES, TAGS, Element, h

from ..rows import over


class Seen(HTMLParser):
    """What a reader of HTML finds: tags with their attributes, and text."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data!r}")

    def handle_pi(self, data: str) -> None:
        raise AssertionError(f"an instruction: {data!r}")

    def unknown_decl(self, data: str) -> None:
        raise AssertionError(f"a declaration: {data!r}")


def seen(element: Element) -> Seen:
    found = Seen()
    found.feed(str(element))
    found.close()
    return found


@given(st.text(), st.text(), st.text())
def test_any_text_stays_text_in_elements_and_attributes(inner: str, said: str, title: str) -> None:
    page = h("div", h("svg", h("title", title), h("text", inner, class_=said), id=said), inner, class_="x")
    found = seen(page)

    assert [tag for tag, _ in found.tags] == ["div", "svg", "title", "text"]
    assert found.tags[1][1] == {"id": clean(said)}
    assert found.tags[3][1] == {"class": clean(said)}
    assert "".join(found.text) == clean(title) + clean(inner) * 2


@over("tag", ["script", "iframe", "img", "object", "foreignObject", "link", "base", "form", "use"])
def test_what_could_act_or_ask_cannot_be_written(tag: str) -> None:
    with pytest.raises(ValueError, match="no picture has"):
        h(tag)


@over("name", ["onclick", "onload", "style", "src", "srcset", "xlink:href", "action", "formaction"])
def test_no_handler_style_or_address_can_be_written(name: str) -> None:
    options: dict[str, Any] = {name: "x"}
    with pytest.raises(ValueError, match="no element has"):
        h("text", **options)


def test_no_tag_runs_or_loads_and_no_attribute_handles() -> None:
    assert not TAGS & {"script", "iframe", "object", "embed", "img", "image", "use", "link", "form", "input", "video"}
    assert not any(name.startswith("on") for name in ATTRIBUTES)


def test_attributes_as_they_are_given() -> None:
    made = h("svg", aria_hidden="true", class_=None, x=1.25, y=-0.04, width=3)

    assert made.attributes == (("aria-hidden", "true"), ("x", "1.2"), ("y", "-0"), ("width", "3"))


@given(st.text())
def test_clean_text_can_be_encoded_and_turns_nothing_around(text: str) -> None:
    cleaned = clean(text)

    cleaned.encode()
    assert not set(cleaned) & set("\x00\x0b\x1b\x7f\x85\u200e\u202a\u202e\u2066\u2069\ufeff")
    assert clean(cleaned) == cleaned
