"""The page as a whole: whole, self-contained, and nobody's but ours."""

from __future__ import annotations

import re
from base64 import b64decode
from collections import Counter
from dataclasses import replace
from hashlib import sha256
from html.parser import HTMLParser

import pytest
from fuzz.targets.report import OUR_ATTRIBUTES, OUR_TAGS, VOID
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentguard._pages import style_sheet
from agentguard.report import Claims, ReportBuilder, ReportData, UnsupportedClaim, html_of
from agentguard.report._records import WorstCall
from agentguard.verification import VerificationEngine
from agentguard.verification.types import ToolCall, VerdictCounts

SHEET = style_sheet()


class Page(HTMLParser):
    """The elements of a page in their order, with whether they are closed in turn."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.texts: list[tuple[str, str]] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs), f"an attribute twice: {attrs}"
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append((self.open[-1] if self.open else "", data))

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data!r}")

    def attributes(self, name: str) -> list[str]:
        return [attributes[name] for _, attributes in self.elements if name in attributes]

    def text(self, *within: str) -> str:
        return "".join(text for tag, text in self.texts if tag in within)


def assert_is_ours(page: Page) -> None:
    assert {tag for tag, _ in page.elements} <= OUR_TAGS
    assert {name for _, attributes in page.elements for name in attributes} <= OUR_ATTRIBUTES
    assert sum(tag == "style" for tag, _ in page.elements) == 1
    for href in page.attributes("href"):
        assert re.fullmatch(r"#[a-z0-9-]+", href), href


def test_the_policy_allows_the_one_style_sheet_and_nothing_else(shop: ReportData) -> None:
    page = Page(html_of(shop))
    (policy,) = [a["content"] for tag, a in page.elements if a.get("http-equiv") == "Content-Security-Policy"]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))

    assert rules.keys() == {"default-src", "style-src", "base-uri", "form-action"}
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    hashed = re.fullmatch(r"'sha256-(.+)'", rules["style-src"])
    assert hashed is not None
    assert b64decode(hashed[1]) == sha256(page.text("style").encode()).digest()


def test_the_page_asks_for_nothing(shop: ReportData) -> None:
    page = Page(html_of(shop))

    assert_is_ours(page)
    assert not re.search(r"url\(|@import|@font-face|expression\(", SHEET)
    assert "//" not in re.sub(r"</?[a-z][^>]*>", "", html_of(shop)).replace("<!DOCTYPE html>", "")


def test_ids_are_given_once_and_every_reference_is_to_one(shop: ReportData) -> None:
    page = Page(html_of(shop))
    ids = Counter(page.attributes("id"))

    assert set(ids.values()) == {1}
    wanted = {href[1:] for href in page.attributes("href")}
    wanted |= {name for names in page.attributes("aria-labelledby") for name in names.split()}
    assert wanted <= ids.keys()


def test_every_picture_is_named_or_hidden_and_its_numbers_are_in_a_table(shop: ReportData) -> None:
    page = Page(html_of(shop))
    pictures = [attributes for tag, attributes in page.elements if tag == "svg"]

    assert all(("aria-labelledby" in a and a["role"] == "img") or a.get("aria-hidden") == "true" for a in pictures)
    named = sum(a.get("role") == "img" for a in pictures)
    assert named >= 5
    tables = sum(tag == "table" for tag, _ in page.elements)
    assert tables >= named


def test_sections_stand_in_their_order(shop: ReportData) -> None:
    page = Page(html_of(shop))

    assert [text for tag, text in page.texts if tag == "h2"] == [
        "Worth a look", "Verdicts", "The worst calls", "Tools", "How to read this",
    ]  # fmt: skip
    captions = [text for tag, text in page.texts if tag == "strong"]
    assert {"Timeline", "Posteriors", "Reliability", "Latency", "Field total"} <= set(captions)


def test_the_figures_of_the_report_are_on_the_page(shop: ReportData) -> None:
    page = Page(html_of(shop))
    said = page.text("dd", "li", "a", "td", "th", "code", "bdi", "p", "span")

    assert str(shop.counts.calls) in page.text("dd")
    assert f"{shop.counts.block:,} blocked and {shop.counts.flag:,} flagged" in said
    assert "drifts: latency is" in said
    for call in shop.worst:
        for step in call.steps:
            assert step.signal in said
            assert f"{abs(step.nats):.2f}" in said


def test_the_same_report_makes_the_same_page(shop: ReportData) -> None:
    assert html_of(shop) == html_of(shop)


def test_hostile_text_comes_out_as_text(hostile: ReportData) -> None:
    text = html_of(hostile)
    page = Page(text)

    assert_is_ours(page)
    assert "<script" not in text
    assert not re.search(r"<(img|svg)[^>]*\son", text, re.IGNORECASE)
    shown = page.text("bdi", "pre", "title", "text", "desc", "td", "th", "h3", "code")
    for planted in ("<script>window.ran=1</script>", "<img src=x onerror='window.ran=1'>", "<svg onload=window.ran=1>"):
        assert planted in shown
    assert "\x00" not in text
    assert "\x1b" not in text
    assert "\u202e" not in text
    text.encode()


def test_hostile_text_is_cut(hostile: ReportData) -> None:
    longest = max(len(text) for tag, text in Page(html_of(hostile)).texts if tag != "style")

    assert longest <= 2_100


NAMES = st.text(max_size=40) | st.sampled_from(["<script>x</script>", "' onload='x", '" style="x', "--><p>", "&lt;b"])


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(NAMES, min_size=8, max_size=8), st.lists(st.floats(allow_nan=True), min_size=9, max_size=9))
def test_no_text_of_a_call_makes_an_element_or_an_attribute(names: list[str], numbers: list[float]) -> None:
    tool, arg, field, value, session, call_id, label, place = names
    builder, engine = ReportBuilder(content=True), VerificationEngine()
    for number in numbers:
        call = ToolCall(tool, {arg: value}, {field: number, "say": value}, number, session, call_id)
        verdict = engine.verify(
            tool, args=call.args, result=call.result, execution_time_ms=number, session_id=session, call_id=call_id
        )
        builder.add(call, verdict, label=label, place=place)
    page = Page(html_of(builder.data(title=tool, source=value, mode=arg, made=label, version=place, notes=(field,))))

    assert_is_ours(page)


def test_text_in_a_record_cannot_leave_its_picture(shop: ReportData) -> None:
    planted = "</text></svg><script>window.ran=1</script><svg><text x='0' onclick='x'>"
    worst = tuple(
        call._replace(
            tool=planted, place=planted, call_id=planted, session_id=planted, explanation=planted, label=planted,
            silent=(planted,),
            steps=tuple(step._replace(signal=planted, detail=planted) for step in call.steps),
        )
        for call in shop.worst
    )  # fmt: skip
    tools = tuple(
        tool._replace(
            name=planted, notes=(planted,), learned={planted: planted},
            charts=tuple(chart._replace(name=planted, unit="") for chart in tool.charts),
            drifted=tuple(drifted._replace(what=planted) for drifted in tool.drifted),
        )
        for tool in shop.tools
    )  # fmt: skip
    page = Page(html_of(replace(shop, worst=worst, tools=tools, labels=((planted, VerdictCounts(1, 1, 1)),))))
    before = Page(html_of(shop))

    assert_is_ours(page)
    assert Counter(tag for tag, _ in page.elements)["svg"] == Counter(tag for tag, _ in before.elements)["svg"]


class Markup(str):
    """Text that calls itself markup, as template engines have it."""

    def __html__(self) -> str:
        return self


def test_text_that_calls_itself_markup_is_escaped(shop: ReportData) -> None:
    planted = Markup("<script>window.ran=1</script>")
    tools = tuple(
        tool._replace(
            name=planted, notes=(planted,), charts=tuple(c._replace(name=planted, unit="") for c in tool.charts)
        )
        for tool in shop.tools
    )
    worst = tuple(
        call._replace(tool=planted, place=planted, explanation=planted, silent=(planted,)) for call in shop.worst
    )
    report = replace(
        shop, title=planted, source=planted, mode=planted, made=planted, version=planted, notes=(planted,),
        labels=((planted, VerdictCounts(1, 1, 1)),), tools=tools, worst=worst,
    )  # fmt: skip
    text = html_of(report)

    assert_is_ours(Page(text))
    assert "<script" not in text


def test_a_report_of_nothing_is_a_page() -> None:
    page = Page(html_of(ReportBuilder().data(title="", source="")))

    assert_is_ours(page)
    assert "None of 0 calls was flagged or blocked." in page.text("li")


def test_labels_that_are_too_few_and_too_bad_are_told() -> None:
    def told(builder: ReportBuilder) -> str:
        return Page(html_of(builder.data(title="t", source="s"))).text("li")

    assert "No label says what a call really was" in told(ReportBuilder())
    assert "3 labels are too few" in told(labelled(3))
    assert "Posteriors are off by" in told(labelled(60))
    assert "Of 20 calls labelled wrong, 0 were flagged or blocked." in told(labelled(60))


def labelled(count: int) -> ReportBuilder:
    builder, engine = ReportBuilder(), VerificationEngine()
    for k in range(count):
        call = ToolCall("echo", {"a": k}, {"a": k})
        verdict = engine.verify("echo", args=call.args, result=call.result)._replace(verdict="accept", posterior=0.15)
        builder.add(call, verdict, label="fabricated" if k % 3 == 0 else "genuine")
    return builder


def test_tools_that_are_not_shown_are_counted(shop: ReportData) -> None:
    assert "and 1,234 more tools" in html_of(replace(shop, more_tools=1_234))


def test_the_tenth_call_is_closed_and_the_first_is_open(shop: ReportData) -> None:
    page = Page(html_of(shop))
    opened = [a for tag, a in page.elements if tag == "details" and "class" not in a]

    assert ["open" in a for a in opened] == [True] + [False] * (len(shop.worst) - 1)


def test_content_is_shown_only_where_it_is_in_the_report(shop: ReportData, hostile: ReportData) -> None:
    def calls(report: ReportData) -> tuple[WorstCall, ...]:
        return report.worst

    assert all(call.content is None for call in calls(shop))
    assert "<pre>" not in html_of(shop)
    assert "<pre>" in html_of(hostile)


# --- Colours: relative luminance and contrast as WCAG 2.2 defines them ---


def luminance(colour: str) -> float:
    channels = (int(colour[k : k + 2], 16) / 255.0 for k in (1, 3, 5))
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


PALETTES = [
    dict(re.findall(r"--(\w+):(#[0-9a-f]{6})", block)) for block in re.findall(r":root\{[^}]*--paper[^}]*\}", SHEET)
]


def test_contrast_is_measured_as_it_should_be() -> None:
    # #767676 is the lightest grey that has 4.5 to 1 on white (WebAIM).
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.005)


@pytest.mark.parametrize("palette", PALETTES, ids=["light", "dark", "print"])
def test_text_has_a_contrast_of_4_5_and_marks_of_3(palette: dict[str, str]) -> None:
    paper = palette["paper"]

    for name in ("ink", "quiet", "link"):
        assert contrast(palette[name], paper) >= 4.5, name
        assert contrast(palette[name], palette["band"]) >= 4.5, name
    assert contrast(paper, palette["block"]) >= 4.5  # the word on its ground
    for name in ("blue", "flag", "block"):
        assert contrast(palette[name], paper) >= 3.0, name


@pytest.mark.parametrize("palette", PALETTES, ids=["light", "dark", "print"])
def test_flagged_and_blocked_differ_in_lightness(palette: dict[str, str]) -> None:
    assert contrast(palette["flag"], palette["block"]) >= 1.25


def test_changes_stand_before_verdicts_and_the_open_ones_among_what_is_worth_a_look(changed: ReportData) -> None:
    text = html_of(changed)
    page = Page(text)

    assert text.index('id="findings"') < text.index('id="changes"') < text.index('id="verdicts"')
    assert "1 change is open" in re.sub("<[^>]*>", "", text)
    cells = [said for tag, said in page.texts if tag in ("bdi", "td")]
    for said in ("price is about × 1,000 its usual level", "the key 'hits' is missing", "a reviewer", "recovered"):
        assert said in cells
    assert Counter(tag for tag, _ in page.elements)["script"] == 0


def test_a_followed_change_is_told_with_its_reason_and_how_to_undo_it(changed: ReportData) -> None:
    first, *others = changed.changes
    followed = first._replace(state="followed", why="the old values stand <b>under</b> a new name")
    text = html_of(replace(changed, changes=(followed, *others)))
    said = re.sub("<[^>]*>", "", text)

    assert "1 change was followed" in said
    assert "followed: the old values stand &lt;b&gt;under&lt;/b&gt; a new name" in said
    assert "agentguard changes undo ID" in said
    assert "were followed" not in said


def test_without_changes_there_is_no_section(shop: ReportData) -> None:
    assert 'id="changes"' not in html_of(shop)


def test_hostile_words_of_claims_come_out_as_text(shop: ReportData, hostile: ReportData) -> None:
    texts = [call.tool for call in hostile.worst]
    claims = Claims(
        3, (("never called", len(texts)),), 1, 2,
        tuple(UnsupportedClaim(text, text, "never called", text, text, text) for text in texts), 7,
    )  # fmt: skip
    page = Page(html_of(replace(shop, claims=claims)))
    assert_is_ours(page)
    assert "and 7 more claims" in page.text("p")
    assert any("window.ran=1" in text for text in texts)
    assert "window.ran=1" in page.text("bdi")
