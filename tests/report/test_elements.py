"""Where text becomes HTML: nothing that comes from outside is ever more than text."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.report._text import clean
from agentguard.report.elements import ATTRIBUTES, TAGS, VOID, Element, Raw, h, html


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
    found.feed("".join(html(element)))
    found.close()
    return found


@given(st.text(), st.text(), st.text())
def test_any_text_stays_text_in_elements_and_attributes(inner: str, said: str, title: str) -> None:
    page = h("p", h("svg", h("title", title), h("text", inner, class_=said), aria_label=said), inner, class_="x")
    found = seen(page)

    assert [tag for tag, _ in found.tags] == ["p", "svg", "title", "text"]
    assert found.tags[1][1] == {"aria-label": clean(said)}
    assert found.tags[3][1] == {"class": clean(said)}
    assert "".join(found.text) == clean(title) + clean(inner) * 2


@pytest.mark.parametrize("tag", ["script", "iframe", "img", "object", "foreignObject", "link", "base", "form", "use"])
def test_what_could_act_or_ask_cannot_be_written(tag: str) -> None:
    with pytest.raises(ValueError, match="no page has"):
        h(tag)


@pytest.mark.parametrize("name", ["onclick", "onload", "style", "src", "srcset", "xlink:href", "action", "formaction"])
def test_no_handler_style_or_address_can_be_written(name: str) -> None:
    options: dict[str, Any] = {name: "x"}
    with pytest.raises(ValueError, match="no element has"):
        h("p", **options)


@pytest.mark.parametrize("href", ["https://example.com", "javascript:alert(1)", "//x", "data:,x", "#a b'", "#", "#é"])
def test_links_lead_to_places_in_the_page(href: str) -> None:
    with pytest.raises(ValueError, match="names a place"):
        h("a", "there", href=href)


def test_no_tag_runs_or_loads_and_no_attribute_handles() -> None:
    assert not TAGS & {"script", "iframe", "object", "embed", "img", "image", "use", "link", "form", "input", "video"}
    assert not any(name.startswith("on") for name in ATTRIBUTES)
    assert VOID <= TAGS


def test_attributes_as_they_are_given() -> None:
    made = h("svg", aria_hidden="true", class_=None, open=False, x=1.25, y=-0.04, width=3)

    assert made.attributes == (("aria-hidden", "true"), ("x", "1.2"), ("y", "-0"), ("width", "3"))


def test_what_is_raw_is_ours() -> None:
    assert "".join(html(h("style", Raw("p > a{color:red}")))) == "<style>p > a{color:red}</style>"


@given(st.text())
def test_clean_text_can_be_encoded_and_turns_nothing_around(text: str) -> None:
    cleaned = clean(text)

    cleaned.encode()
    assert not set(cleaned) & set("\x00\x0b\x1b\x7f\x85\u200e\u202a\u202e\u2066\u2069\ufeff")
    assert clean(cleaned) == cleaned
