"""The report: whatever calls hold, one page of our own elements comes out."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

from agentguard.report import ReportBuilder, html_of
from agentguard.verification import VerificationEngine
from agentguard.verification.types import ToolCall
from fuzz import grammar, objects
from fuzz.harness import Harness
from fuzz.source import Source
from fuzz.trial import Trial, encodable, require

__all__ = ["HARNESSES"]

#: What the page is made of, in small letters: nothing that runs or loads, and no address.
OUR_TAGS = frozenset(
    "a bdi body caption code dd details div dl dt figcaption figure footer h1 h2 h3 h4 head header html li main meta "
    "p pre section small span strong style summary table tbody td th thead title tr ul "
    "svg desc path rect text circle".split()
)
OUR_ATTRIBUTES = frozenset(
    "aria-hidden aria-label aria-labelledby charset class content cx cy d data-label height href http-equiv id lang "
    "name open preserveaspectratio r role rx scope tabindex text-anchor viewbox width x y".split()
)
VOID = frozenset({"meta"})


class _Page(HTMLParser):
    """Fails at anything that is not ours, and at elements that do not close in turn."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.feed(text)
        self.close()
        require(not self.open, f"not closed: {self.open}")

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        require(tag in OUR_TAGS, f"a foreign element: {tag}")
        for name, value in attrs:
            require(name in OUR_ATTRIBUTES, f"a foreign attribute: {name}")
            require(
                name != "href" or re.fullmatch(r"#[a-z0-9-]+", value or "") is not None, f"a foreign address: {value}"
            )
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        require(bool(self.open) and self.open.pop() == tag, f"</{tag}> closes something else")

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data!r}")


def _builder(source: Source, notes: dict[str, Any]) -> ReportBuilder:
    engine, builder = VerificationEngine(), ReportBuilder(content=bool(source.integer(0, 1)))
    odd = source.chance(4)
    calls = [
        ToolCall(
            grammar.name(source), grammar.value(source, 2),
            objects.anything(source) if odd else grammar.value(source, 3),
            grammar.number(source), grammar.name(source), grammar.name(source),
        )
        for _ in range(source.integer(0, 6))
    ]  # fmt: skip
    repeats = 1 if odd else source.choice((1, 4, 12))  # one that shares its parts takes its time already
    label, place = source.choice((None, "genuine", grammar.name(source))), grammar.name(source)
    for call in calls * repeats:
        given = {"args": call.args, "result": call.result, "execution_time_ms": call.execution_time_ms}
        found = engine.verify(call.tool, **given, session_id=call.session_id, call_id=call.call_id)
        builder.add(call, found, label=label, place=place)
        notes["size"] = (*notes.get("size", ()), call.args, call.result)
    return builder


def _report(trial: Trial) -> None:
    source = trial.source
    notes: dict[str, Any] = {}
    builder = _builder(source, notes)
    title, said = grammar.text(source, most=6), grammar.name(source)
    data = builder.data(title=title, source=said, mode=said, made=said, version=said, notes=(title,))
    page = trial.call(html_of, data, of=(title, notes))
    require(encodable(page), "a page that cannot be written")
    require(not any(sign in page for sign in "\0\x1b\u202e"), "signs that hide text")
    _Page(page)


HARNESSES = (Harness("report", "ReportBuilder and html_of: the page parses, and is ours alone", _report),)
