"""A page as a tree of elements, written out in one place: there, and only there, text is escaped.

A string in the tree is text, whatever is in it. What is not among the tags and attributes below cannot be written at
all: no script, no handler, no style attribute, no address but one within the page.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from html import escape
from typing import Final, NamedTuple, TypeAlias

from agentguard.report._text import clean

__all__ = ["Element", "Node", "Raw", "h", "html"]

TAGS: Final = frozenset(
    "a bdi body caption code dd details div dl dt figcaption figure footer h1 h2 h3 h4 head header html li main meta "
    "nav ol p pre section small span strong style summary table tbody td th thead title tr ul "
    "svg g desc path rect line text circle tspan".split()
)
VOID: Final = frozenset({"meta"})
ATTRIBUTES: Final = frozenset(
    "aria-describedby aria-hidden aria-label aria-labelledby charset class colspan content cx cy d data-label fill "
    "height href http-equiv id lang name open preserveAspectRatio r role rx scope tabindex text-anchor vector-effect "
    "viewBox width x x1 x2 y y1 y2".split()
)
_PLACE = re.compile(r"#?[A-Za-z][A-Za-z0-9-]*")
_PLACES: Final = ("id", "href", "aria-labelledby", "aria-describedby")


class Raw(NamedTuple):
    """What is written as it stands: our own style sheet, in which nothing comes from outside."""

    text: str


class Element(NamedTuple):
    """An element, its attributes as they are written, and what it holds."""

    tag: str
    attributes: tuple[tuple[str, str], ...]
    children: tuple[Node, ...]


Node: TypeAlias = "Element | Raw | str"


def h(tag: str, *children: Node | Iterable[Node] | None, **attributes: str | float | bool | None) -> Element:
    """An element.

    Args:
        tag: one of those above.
        children: elements and text, also as lists of them; None is left out.
        attributes: underscores stand for hyphens, one at the end for nothing; True writes the name alone, False and
            None leave it out.

    Raises:
        ValueError: for a tag or an attribute that no page has, or an address outside of it.

    >>> "".join(html(h("p", "a < b", h("strong", "!"), class_="note", open=True)))
    '<p class="note" open="">a &lt; b<strong>!</strong></p>'
    """
    if tag not in TAGS:
        raise ValueError(f"no page has a <{tag}>")
    written = []
    for given, value in attributes.items():
        if value is None or value is False:
            continue
        name = given.rstrip("_").replace("_", "-")
        said = "" if value is True else _figure(value) if isinstance(value, float) else str(value)
        if name not in ATTRIBUTES:
            raise ValueError(f"no element has an attribute {name!r}")
        if name in _PLACES and not all(map(_PLACE.fullmatch, said.split())):
            raise ValueError(f"{name} names a place in the page, not {said!r}")
        written.append((name, said))
    return Element(tag, tuple(written), tuple(_flat(children)))


def _flat(children: Iterable[Node | Iterable[Node] | None]) -> Iterator[Node]:
    for child in children:
        if isinstance(child, (str, Element, Raw)):
            yield child
        elif child is not None:
            yield from child


def _figure(x: float) -> str:
    """A coordinate to a tenth."""
    return f"{x:.1f}".removesuffix(".0")


def html(node: Node) -> Iterator[str]:
    """The node as text, piece by piece; cleaned of what no page should hold, then escaped."""
    if isinstance(node, str):
        yield escape(clean(node), quote=False)
    elif isinstance(node, Raw):
        yield node.text
    else:
        attributes = "".join(f' {name}="{escape(clean(value))}"' for name, value in node.attributes)
        yield f"<{node.tag}{attributes}>"
        for child in node.children:
            yield from html(child)
        if node.tag not in VOID:
            yield f"</{node.tag}>"
