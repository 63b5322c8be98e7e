"""The page in Chromium: an engine judges, people review, on a phone and on a wide screen, in light and in dark."""

from __future__ import annotations

import asyncio
import itertools
import os
import re
import shutil
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agentguard.calibration import labels_in_store
from agentguard.stores import MemoryStore

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
expect = playwright.expect
expect.set_options(timeout=30_000)  # milliseconds: what is waited for comes at once, if the machine has time for it

CHROMIUM = shutil.which("chromium")
AXE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "agentguard", "axe-core-4.14.1.tgz")
SWITCHES = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
).split()
RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
PAPER = {"light": "rgb(253, 253, 252)", "dark": "rgb(20, 22, 26)"}
HOSTILE = (
    "<script>window.ran=1</script>",
    "\"><img src=x onerror='window.ran=1'>",
    "</title></style></script><svg onload=window.ran=1>",
    "javascript:window.ran=1",
    "]]><!--&amp;&#x3c;",
    "a\x00\x1b[31mb\u202ec",
)

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="there is no chromium: tests/report/ensure_browser.sh installs it"
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=CHROMIUM, headless=True, args=SWITCHES)
        yield running
        running.close()


class Visitor:
    """Somebody with a browser, and what went on in it."""

    def __init__(self, browser: Any, url: str, **options: Any) -> None:
        self.url, self.requests, self.said = url, list[str](), list[str]()
        options = {"viewport": {"width": 1280, "height": 800}, "reduced_motion": "reduce", **options}
        self.context = browser.new_context(**options)
        self.page = self.context.new_page()
        self.context.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: self.said.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))

    def log_in(self, key: str) -> Any:
        self.page.goto(self.url)
        expect(self.page).to_have_url(f"{self.url}/live/login")
        self.page.get_by_label("The server's key").fill(key)
        self.page.keyboard.press("Enter")
        expect(self.page.locator("#connection")).to_have_text("live")
        return self.page

    @property
    def complaints(self) -> list[str]:
        return [said for said in self.said if not said.startswith(("verbose:", "info:", "log:"))]


@pytest.fixture
def url(shop: Any, make_app: Callable[..., Any], serve: Callable[..., str]) -> str:
    return serve(make_app(shop.store, poll_seconds=0.05))


@pytest.fixture
def visit(browser: Any) -> Iterator[Callable[..., Visitor]]:
    visitors: list[Visitor] = []

    def visit(url: str, **options: Any) -> Visitor:
        visitors.append(Visitor(browser, url, **options))
        return visitors[-1]

    yield visit
    for visitor in visitors:
        visitor.context.close()


def test_a_wrong_key_is_told_and_the_right_one_opens(visit: Any, url: str, key: str) -> None:
    visitor = visit(url)
    page = visitor.page
    page.goto(url)
    expect(page.get_by_label("The server's key")).to_be_focused()
    page.keyboard.type("not the key, but as long")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("not the server's key")
    expect(page.get_by_label("The server's key")).to_be_focused()
    page.keyboard.type(key)
    page.keyboard.press("Enter")

    expect(page.get_by_role("heading", name="To review")).to_be_visible()
    expect(page.locator("#source")).to_have_text("the store")
    assert page.evaluate("document.cookie") == ""
    assert key not in page.content()


def test_logged_out_nothing_is_to_be_seen(visit: Any, url: str, key: str) -> None:
    page = visit(url).log_in(key)
    page.get_by_role("button", name="Log out").click()
    expect(page).to_have_url(f"{url}/live/login")

    page.goto(f"{url}/live/")
    expect(page).to_have_url(f"{url}/live/login")


def test_a_verdict_appears_while_an_engine_judges(visit: Any, url: str, key: str, shop: Any) -> None:
    page = visit(url).log_in(key)
    before = page.locator("#feed > li").count()

    shop.fabricated("live-1", session="s-9")

    first = page.locator("#feed > li").first
    expect(first).to_contain_text("live-1")
    expect(first).to_contain_text("s-9")
    expect(first.locator(".verdict")).to_have_text(re.compile("flag|block"))
    expect(first.locator(".signals .fired").first).to_contain_text("echo_mismatch")
    expect(page.locator("#feed > li")).to_have_count(before + 1)
    expect(page.locator("#announce")).to_contain_text("1 new verdict")
    row = page.locator("#tools-rows tr", has_text="get_order")
    waiting = sum(record.event["call_id"] is not None for record in shop.store.events("audit"))
    expect(row.locator("td").nth(4)).to_have_text(str(waiting))
    expect(page.locator("#waiting")).to_have_text(str(waiting))


def test_paused_nothing_moves_and_nothing_is_lost(visit: Any, url: str, key: str, shop: Any) -> None:
    page = visit(url).log_in(key)
    page.get_by_role("button", name="Pause").click()
    first = page.locator("#feed > li").first.text_content()

    for n in range(3):
        shop.fabricated(f"held-{n}")
    expect(page.locator("#held")).to_have_text("3 came meanwhile")
    assert page.locator("#feed > li").first.text_content() == first
    page.get_by_role("button", name="Pause").click()

    assert [page.locator("#feed > li").nth(n).inner_text().count(f"held-{2 - n}") for n in range(3)] == [1, 1, 1]
    expect(page.locator("#held")).to_have_text("")


def test_a_review_by_keyboard_alone(visit: Any, url: str, key: str, shop: Any) -> None:
    page = visit(url).log_in(key)
    cards = page.locator("#queue-list > li")
    waiting = int(page.locator("#waiting").text_content())
    first, second, third, fourth = (cards.nth(n).get_attribute("data-sequence") for n in range(4))
    for _ in range(30):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.dataset.sequence") == first:
            break

    page.keyboard.press("r")
    expect(page.locator("#last-text")).to_contain_text("rejected")
    expect(page.locator(f'[data-sequence="{second}"].card')).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Tab")
    expect(page.locator(":focus")).to_have_text("Accept")
    page.keyboard.press("Enter")
    expect(page.locator(f'[data-sequence="{third}"].card')).to_be_focused()
    page.keyboard.press("A")
    expect(page.locator(f'[data-sequence="{fourth}"].card')).to_be_focused()

    expect(page.locator("#waiting")).to_have_text(str(waiting - 3))
    given = {record.event["call_id"]: record.event["was_hallucination"] for record in shop.store.events("feedback")}
    named = {str(record.sequence): record.event["call_id"] for record in shop.store.events("audit")}
    assert given == {named[first]: True, named[second]: False, named[third]: False}


def test_a_mistake_can_be_taken_back(visit: Any, url: str, key: str, shop: Any) -> None:
    page = visit(url).log_in(key)
    page.get_by_role("button", name="Accept").first.click()
    page.get_by_role("button", name="Reject it after all").click()
    expect(page.locator("#last-text")).to_contain_text("rejected")
    expect(page.get_by_role("button", name="Accept it after all")).to_be_visible()

    assert [record.event["was_hallucination"] for record in shop.store.events("feedback")] == [False, True]
    assert [label.fabricated for label in labels_in_store(shop.store).labels] == [True]


def test_two_reviewers_see_what_the_other_does(visit: Any, url: str, key: str, shop: Any) -> None:
    mine, other = visit(url).log_in(key), visit(url).log_in(key)
    sequence = mine.locator("#queue-list > li").first.get_attribute("data-sequence")

    mine.get_by_role("button", name="Reject").first.click()

    expect(other.locator(f'.card[data-sequence="{sequence}"]')).to_have_count(0)
    expect(other.locator(f'#feed > [data-sequence="{sequence}"] .label')).to_have_text("reviewed: fabricated")
    expect(other.locator("#waiting")).to_have_text(str(mine.locator("#waiting").text_content()))


def test_the_queue_is_refilled_to_its_end(visit: Any, url: str, key: str) -> None:
    page = visit(url).log_in(key)
    for left in range(int(page.locator("#waiting").text_content()) - 1, -1, -1):
        page.locator("#queue-list > li").first.get_by_role("button", name="Accept").click()
        expect(page.locator("#waiting")).to_have_text(str(left))

    expect(page.locator("#queue-list > li")).to_have_count(0)
    expect(page.locator("#queue-empty")).to_be_visible()
    expect(page.locator("#queue")).to_be_focused()


class Cutter:
    """Before an application: cuts the connections of its listeners, and knows with what they come back."""

    def __init__(self, app: Any) -> None:
        self.app, self.state = app, app.state
        self.last_ids: list[str | None] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope.get("path") != "/live/events":
            await self.app(scope, receive, send)
            return
        self.loop, self.ended, first = asyncio.get_running_loop(), asyncio.Event(), [True]
        self.last_ids.append(dict(scope["headers"]).get(b"last-event-id", b"").decode())

        async def until_cut() -> Any:
            if first:
                first.clear()
                return await receive()
            await self.ended.wait()
            return {"type": "http.disconnect"}

        await self.app(scope, until_cut, send)

    def cut(self) -> None:
        self.loop.call_soon_threadsafe(self.ended.set)


def test_after_a_break_it_goes_on_where_it_was(
    visit: Any, key: str, shop: Any, make_app: Callable[..., Any], serve: Callable[..., str]
) -> None:
    cutter = Cutter(make_app(shop.store, poll_seconds=0.05))
    page = visit(serve(cutter)).log_in(key)
    shop.fabricated("before")
    expect(page.locator("#feed > li").first).to_contain_text("before")
    count = page.locator("#feed > li").count()

    cutter.cut()
    expect(page.locator("#connection")).to_have_text("connecting")
    shop.fabricated("meanwhile")

    expect(page.locator("#feed > li").first).to_contain_text("meanwhile")
    expect(page.locator("#feed > li")).to_have_count(count + 1)
    expect(page.locator("#connection")).to_have_text("live")
    *_, before, _ = shop.store.events("audit")
    assert cutter.last_ids == ["", f"{before.sequence}.0"]


@pytest.fixture
def hostile(make_shop: Any, make_app: Callable[..., Any], serve: Callable[..., str]) -> str:
    """A page whose every name is an attack on it, some there from the beginning, some coming live."""
    shop = make_shop(MemoryStore(), audit_rate=1.0)
    for text in HOSTILE:
        shop.fabricated(text, tool=text, session=text)
        shop.store.append("audit", {
            "tool": text, "call_id": f"{text}!", "session_id": text, "posterior": 0.9, "false_block_p": None,
            "verdict": "block", "prior": 0.15, "fired": [text], "nats": {text: 3.0}, "propensity": 1.0,
        })  # fmt: skip
    return serve(make_app(shop.store, poll_seconds=0.05))


def test_a_planted_script_does_not_run_and_nothing_leaves_the_origin(
    visit: Any, hostile: str, key: str, make_shop: Any
) -> None:
    visitor = visit(hostile)
    page = visitor.log_in(key)
    expect(page.locator("#feed > li")).to_have_count(2 * len(HOSTILE))
    cards = page.locator("#queue-list > li")
    for _ in range(3):
        first = cards.first.get_attribute("data-sequence")
        cards.first.get_by_role("button", name="Reject").click()
        expect(page.locator(f'.card[data-sequence="{first}"]')).to_have_count(0)

    assert page.evaluate("window.ran") is None
    assert page.evaluate("[document.scripts.length, document.images.length]") == [1, 0]
    for text in HOSTILE[:2]:
        expect(page.locator("#tools-rows")).to_contain_text(text)
    assert visitor.complaints == []
    assert len(visitor.requests) > 10
    assert {request for request in visitor.requests if not request.startswith(f"{hostile}/")} == set()


def test_the_policy_would_stop_a_script_that_were_there(visit: Any, hostile: str, key: str) -> None:
    visitor = visit(hostile)
    page = visitor.log_in(key)
    page.evaluate("""() => {
      const script = document.createElement('script');
      try { script.textContent = 'window.ran = 1'; } catch { }
      document.body.append(script);
      const image = document.createElement('img');
      image.setAttribute('src', 'http://192.0.2.1/x');
      document.body.append(image);
    }""")

    assert page.evaluate("window.ran") is None
    assert any("Content Security Policy" in said for said in visitor.said)


@pytest.mark.parametrize("content", ["shop", "hostile", "login"])
def test_the_page_is_accessible(visit: Any, key: str, request: pytest.FixtureRequest, content: str) -> None:
    if not AXE.exists():
        pytest.skip(f"there is no {AXE}: tests/report/ensure_browser.sh fetches it")
    url = request.getfixturevalue("hostile" if content == "hostile" else "url")
    visitor = visit(url)
    page = visitor.page
    if content == "login":
        page.goto(url)
        page.get_by_label("The server's key").fill("wrong")
        page.keyboard.press("Enter")
        expect(page.get_by_role("alert")).to_be_visible()
    else:
        visitor.log_in(key)
        page.get_by_role("button", name="Reject").first.click()
        expect(page.locator("#last")).to_be_visible()
    with tarfile.open(AXE) as archive:
        script = archive.extractfile("package/axe.min.js")
        assert script is not None
        page.evaluate(script.read().decode())

    for width, (scheme, paper) in itertools.product((360, 1280), PAPER.items()):
        page.set_viewport_size({"width": width, "height": 800})
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == paper
        assert page.evaluate("document.documentElement.scrollWidth") == width
        found = page.evaluate("rules => axe.run(document, rules)", RULES)
        wrong = [(rule["id"], [node["html"][:200] for node in rule["nodes"][:3]]) for rule in found["violations"]]
        assert wrong == [], f"at {width} px, {scheme}"
        assert len(found["passes"]) >= 15


@pytest.mark.parametrize(("motion", "name"), [("reduce", "none"), ("no-preference", "arrive")])
def test_what_is_new_moves_only_for_who_likes_that(
    visit: Any, url: str, key: str, shop: Any, motion: str, name: str
) -> None:
    page = visit(url, reduced_motion=motion).log_in(key)
    shop.fabricated("new")
    expect(page.locator("#feed > li.new")).to_have_count(1)

    assert page.evaluate("getComputedStyle(document.querySelector('#feed > li.new')).animationName") == name


def test_buttons_are_large_enough_for_a_thumb(visit: Any, url: str, key: str) -> None:
    page = visit(url, viewport={"width": 360, "height": 800}).log_in(key)
    sizes = page.evaluate(
        "[...document.querySelectorAll('button')].map(each => each.getBoundingClientRect())"
        ".filter(box => box.width).map(box => Math.min(box.width, box.height))"
    )

    assert len(sizes) > 20
    assert min(sizes) >= 44
