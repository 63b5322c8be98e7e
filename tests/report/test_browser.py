"""The page as a reader has it: in Chromium, on a phone and on a wide screen, in light and in dark, by keyboard."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agentguard.report import ReportData, html_of, report_of_store
from agentguard.stores import MemoryStore

from ..browsing import Visit

WIDTHS = (360, 1280)


@pytest.fixture(scope="module")
def pages(
    shop: ReportData, hostile: ReportData, changed: ReportData, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    """Files of reports: of a log, of one that attacks, of a store with changes, and of one with nothing in it."""
    folder = tmp_path_factory.mktemp("pages")
    empty = report_of_store(MemoryStore(), title="Nothing", source="s")
    reports = {"shop": shop, "hostile": hostile, "changed": changed, "empty": empty}
    for name, report in reports.items():
        Path(folder, f"{name}.html").write_text(html_of(report), encoding="utf-8")
    return {name: Path(folder, f"{name}.html") for name in reports}


@pytest.fixture(scope="module")
def seen(browser: Any) -> Iterator[Visit]:
    """One visit for all tests that look: a page without scripts leaves nothing behind when the next one is opened."""
    visit = Visit(browser)
    yield visit
    visit.context.close()


@pytest.fixture
def look(seen: Visit, pages: dict[str, Path]) -> Callable[..., Visit]:
    """Looks at one of the pages, anew; the visit."""

    def at(name: str, width: int = 1280, scheme: str = "light") -> Visit:
        seen.page.goto("about:blank")
        seen.page.set_viewport_size({"width": width, "height": 800})
        seen.page.emulate_media(media="screen", color_scheme=scheme)
        seen.requests.clear()
        seen.said.clear()
        seen.page.goto(pages[name].as_uri())
        return seen

    return at


def open_all(page: Any) -> None:
    page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")


@pytest.mark.parametrize("name", ["shop", "hostile", "empty"])
def test_the_page_asks_for_itself_and_nothing_else(look: Any, pages: dict[str, Path], name: str) -> None:
    seen = look(name)
    open_all(seen.page)
    seen.page.wait_for_load_state("networkidle")

    assert seen.requests == [pages[name].as_uri()]
    assert seen.said == []  # nor did the policy have anything to refuse


def test_the_style_sheet_is_in_force(look: Any) -> None:
    page = look("shop").page

    assert page.evaluate("getComputedStyle(document.querySelector('svg .block')).fill") == "rgb(163, 18, 59)"
    dark = look("shop", scheme="dark").page
    assert dark.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 22, 26)"


def test_a_planted_script_does_not_run(look: Any) -> None:
    seen = look("hostile")
    open_all(seen.page)

    assert seen.page.evaluate("window.ran") is None
    assert seen.page.evaluate("document.scripts.length") == 0
    assert "<script>window.ran=1</script>" in seen.page.inner_text("body")


def test_the_policy_would_stop_a_script_that_were_there(visit: Any, pages: dict[str, Path], tmp_path: Path) -> None:
    text = pages["shop"].read_text(encoding="utf-8")
    planted = Path(tmp_path, "planted.html")
    planted.write_text(
        text.replace("</main>", "<script>window.ran=1</script><img src=x onerror='window.ran=1'></main>"), "utf-8"
    )
    seen = visit()
    seen.page.goto(planted.as_uri())

    assert seen.page.evaluate("document.scripts.length") == 1
    assert seen.page.evaluate("window.ran") is None
    assert any("Content Security Policy" in said for said in seen.said)


# Both schemes and both widths, each once: neither changes what the other is asked. A hostile text has the colours of
# any other.
@pytest.mark.parametrize(
    ("name", "width", "scheme"),
    [
        ("shop", 360, "light"),
        ("shop", 1280, "dark"),
        ("hostile", 360, "dark"),
        ("changed", 360, "light"),
        ("empty", 360, "light"),
    ],
)
def test_the_page_is_accessible(look: Any, axe: Any, name: str, width: int, scheme: str) -> None:
    page = look(name, width, scheme).page
    open_all(page)

    assert axe(page) == []


@pytest.mark.parametrize("name", ["shop", "hostile", "empty"])
def test_a_phone_needs_no_sideways_scrolling(look: Any, name: str) -> None:
    seen = look(name, 360)
    assert seen.page.evaluate("document.documentElement.scrollWidth") == 360
    open_all(seen.page)

    assert seen.page.evaluate("document.documentElement.scrollWidth") == 360
    wide = seen.page.evaluate(
        """() => [...document.querySelectorAll('figure svg.body, figure svg.under, svg.fixed')]
             .filter(each => each.getBoundingClientRect().right > innerWidth).length"""
    )
    assert wide == 0


@pytest.mark.parametrize("name", ["shop", "hostile", "changed"])
def test_on_a_phone_no_table_is_cut_off(look: Any, name: str) -> None:
    page = look(name, 360).page
    open_all(page)

    assert page.evaluate("document.querySelectorAll('.scroll table').length") > 3
    cut_off = page.evaluate(
        """() => [...document.querySelectorAll('.scroll:has(table)')]
             .filter(each => each.scrollWidth > each.clientWidth).map(each => each.getAttribute('aria-label'))"""
    )
    assert cut_off == []
    # Each cell says which column it is of, for the heads are not to be seen there.
    wrong = page.evaluate(
        """() => [...document.querySelectorAll('.stacked tbody td')].filter(each => {
             const head = each.closest('table').tHead.rows[0].cells[each.cellIndex].textContent;
             return getComputedStyle(each, '::before').content !== JSON.stringify(`${head} `);
           }).length"""
    )
    assert wrong == 0


def test_on_a_wide_screen_tables_are_tables(look: Any) -> None:
    page = look("shop").page

    assert page.evaluate("getComputedStyle(document.querySelector('.scroll td')).display") == "table-cell"


def test_text_in_pictures_keeps_its_size(look: Any) -> None:
    for width in WIDTHS:
        page = look("shop", width).page
        heights = page.evaluate(
            "[...document.querySelectorAll('.plot svg text')].map(each => each.getBoundingClientRect().height)"
        )
        assert min(heights) >= 11.0
        assert max(heights) <= 24.0


def test_the_keyboard_reaches_every_disclosure_and_opens_it(look: Any) -> None:
    page = look("shop").page
    summaries = page.evaluate("document.querySelectorAll('summary').length")
    page.evaluate("for (const each of document.querySelectorAll('details:not([open])')) each.dataset.closed = 1")
    reached = 0
    for _ in range(10 * summaries):
        page.keyboard.press("Tab")
        at = page.evaluate(
            """() => { const at = document.activeElement;
                       return [at.tagName, at.matches('[data-closed] > summary'), at === document.body]; }"""
        )
        if at[2]:
            break
        if at[0] == "SUMMARY":
            reached += 1
            if at[1]:
                page.keyboard.press("Enter")

    assert reached == page.evaluate("document.querySelectorAll('summary').length")
    assert page.evaluate("document.querySelectorAll('details:not([open])').length") == 0


def test_focus_can_be_seen(look: Any) -> None:
    page = look("shop").page
    page.keyboard.press("Tab")

    assert page.evaluate("document.activeElement.textContent") == "Skip to the findings"
    assert page.evaluate("document.activeElement.getBoundingClientRect().left") >= 0
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("Enter")
    assert page.evaluate("location.hash") == "#findings"


@pytest.mark.parametrize(("width", "scheme"), [(360, "dark"), (1280, "light")])
def test_there_is_something_to_see(look: Any, width: int, scheme: str) -> None:
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    taken = look("shop", width, scheme).page.screenshot(full_page=True)
    with image.open(io.BytesIO(taken)) as picture:
        assert picture.width == width
        colours = picture.convert("RGB").getcolors(maxcolors=1 << 24)

    number = sum(count for count, _ in colours)
    paper = max(colours)
    assert paper[1] == ((253, 253, 252) if scheme == "light" else (20, 22, 26))
    assert 0.5 < paper[0] / number < 0.985
    block = (163, 18, 59) if scheme == "light" else (255, 124, 149)
    assert any(colour == block for _, colour in colours)


def test_what_is_printed_is_light_and_open(look: Any) -> None:
    page = look("shop", scheme="dark").page
    page.emulate_media(media="print", color_scheme="dark")

    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(253, 253, 252)"
    closed = page.locator("details:not([open]) .opened").first
    assert closed.evaluate("each => each.getBoundingClientRect().height") > 100
