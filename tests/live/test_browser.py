"""The page in Chromium: an engine judges, people review, on a phone and on a wide screen, in light and in dark."""

from __future__ import annotations

import asyncio
import itertools
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agentguard.calibration import labels_in_store
from agentguard.stores import MemoryStore
from agentguard.stores.redis import RedisStore

from ..stores.redis.conftest import RedisServer

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
expect = playwright.expect
expect.set_options(timeout=30_000)  # milliseconds: what is waited for comes at once, if the machine has time for it

PAPER = {"light": "rgb(253, 253, 252)", "dark": "rgb(20, 22, 26)"}
#: Both schemes and both widths, each once: neither changes what the other is asked.
AXE_LOOKS = ((360, "light"), (1280, "dark"))
HOSTILE = (
    "<script>window.ran=1</script>",
    "\"><img src=x onerror='window.ran=1'>",
    "</title></style></script><svg onload=window.ran=1>",
    "javascript:window.ran=1",
    "]]><!--&amp;&#x3c;",
    "a\x00\x1b[31mb\u202ec",
)


def log_in(page: Any, url: str, key: str) -> Any:
    """Without the form, which has tests of its own."""
    answer = page.context.request.post(f"{url}/live/login", form={"key": key}, headers={"Origin": url}, max_redirects=0)
    assert answer.status == 303
    page.goto(f"{url}/live/")
    expect(page.locator("#connection")).to_have_text("live")
    return page


@pytest.fixture
def url(shop: Any, make_app: Callable[..., Any], serve: Callable[..., str]) -> str:
    return serve(make_app(shop.store, poll_seconds=0.05))


@pytest.fixture
def enter(visit: Callable[..., Any], url: str, key: str) -> Callable[..., Any]:
    """Logs in to the page over the shop's store; the page."""
    return lambda **options: log_in(visit(**options).page, url, key)


def test_a_wrong_key_is_told_and_the_right_one_opens(visit: Any, url: str, key: str) -> None:
    page = visit().page
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


def test_logged_out_nothing_is_to_be_seen(enter: Any, url: str) -> None:
    page = enter()
    page.get_by_role("button", name="Log out").click()
    expect(page).to_have_url(f"{url}/live/login")

    page.goto(f"{url}/live/")
    expect(page).to_have_url(f"{url}/live/login")


def test_a_verdict_appears_while_an_engine_judges(enter: Any, shop: Any) -> None:
    page = enter()
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


def test_paused_nothing_moves_and_nothing_is_lost(enter: Any, shop: Any) -> None:
    page = enter()
    page.get_by_role("button", name="Pause").click()
    first = page.locator("#feed > li").first.text_content()

    for n in range(3):
        shop.fabricated(f"held-{n}")
    expect(page.locator("#held")).to_have_text("3 came meanwhile")
    assert page.locator("#feed > li").first.text_content() == first
    page.get_by_role("button", name="Pause").click()

    assert [page.locator("#feed > li").nth(n).inner_text().count(f"held-{2 - n}") for n in range(3)] == [1, 1, 1]
    expect(page.locator("#held")).to_have_text("")


def test_a_review_by_keyboard_alone(enter: Any, shop: Any) -> None:
    page = enter()
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


def test_a_mistake_can_be_taken_back(enter: Any, shop: Any) -> None:
    page = enter()
    page.get_by_role("button", name="Accept").first.click()
    page.get_by_role("button", name="Reject it after all").click()
    expect(page.locator("#last-text")).to_contain_text("rejected")
    expect(page.get_by_role("button", name="Accept it after all")).to_be_visible()

    assert [record.event["was_hallucination"] for record in shop.store.events("feedback")] == [False, True]
    assert [label.fabricated for label in labels_in_store(shop.store).labels] == [True]


def test_two_reviewers_see_what_the_other_does(enter: Any) -> None:
    mine, other = enter(), enter()
    sequence = mine.locator("#queue-list > li").first.get_attribute("data-sequence")

    mine.get_by_role("button", name="Reject").first.click()

    expect(other.locator(f'.card[data-sequence="{sequence}"]')).to_have_count(0)
    expect(other.locator(f'#feed > [data-sequence="{sequence}"] .label')).to_have_text("reviewed: fabricated")
    expect(other.locator("#waiting")).to_have_text(str(mine.locator("#waiting").text_content()))


def test_the_queue_is_refilled_to_its_end(enter: Any) -> None:
    page = enter()
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
    page = log_in(visit().page, serve(cutter), key)
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
def redis_server(tmp_path: Path) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path / "redis")
    server.start()
    yield server
    server.kill()


def test_over_redis_engine_page_and_reviewer_meet_and_outlive_an_outage(
    visit: Any, key: str, make_shop: Any, make_app: Callable[..., Any], serve: Callable[..., str],
    redis_server: RedisServer,
) -> None:  # fmt: skip
    with RedisStore(redis_server.url) as engines, RedisStore(redis_server.url) as pages:
        shop = make_shop(engines, audit_rate=1.0)
        shop.genuine(40)
        page = log_in(visit().page, serve(make_app(pages, poll_seconds=0.05)), key)
        first = page.locator("#feed > li").first

        shop.fabricated("before")
        expect(first).to_contain_text("before")
        expect(page.locator("#waiting")).to_have_text("41")
        page.get_by_role("button", name="Reject").first.click()
        expect(page.locator("#last-text")).to_have_text("get_order, call c0: rejected.")
        (label,) = labels_in_store(engines).labels
        assert (label.call_id, label.fabricated) == ("c0", True)

        redis_server.kill()
        expect(page.locator("#connection")).to_have_text("the store cannot be read")
        page.get_by_role("button", name="Reject").first.click()
        expect(page.get_by_role("alert")).to_contain_text("nothing was learned")
        redis_server.start()
        expect(page.locator("#connection")).to_have_text("live")
        page.get_by_role("button", name="Reject").first.click()
        expect(page.locator("#last-text")).to_have_text("get_order, call c1: rejected.")

        shop.fabricated("after")
        expect(first).to_contain_text("after")
        expect(page.locator("#waiting")).to_have_text("40")
        assert [label.call_id for label in labels_in_store(engines).labels] == ["c0", "c1"]
        shop.engine.close()


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
    seen = visit()
    page = log_in(seen.page, hostile, key)
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
    assert seen.said == []
    assert len(seen.requests) > 10
    assert {request for request in seen.requests if not request.startswith(f"{hostile}/")} == set()


def test_the_policy_would_stop_a_script_that_were_there(visit: Any, hostile: str, key: str) -> None:
    seen = visit()
    page = log_in(seen.page, hostile, key)
    page.evaluate("""() => {
      const script = document.createElement('script');
      try { script.textContent = 'window.ran = 1'; } catch { }
      document.body.append(script);
      const image = document.createElement('img');
      image.setAttribute('src', 'http://192.0.2.1/x');
      document.body.append(image);
    }""")

    assert page.evaluate("window.ran") is None
    assert any("Content Security Policy" in said for said in seen.said)


@pytest.mark.parametrize("content", ["shop", "hostile", "login"])
def test_the_page_is_accessible(visit: Any, key: str, axe: Any, request: pytest.FixtureRequest, content: str) -> None:
    url = request.getfixturevalue("hostile" if content == "hostile" else "url")
    page = visit().page
    if content == "login":
        page.goto(url)
        page.get_by_label("The server's key").fill("wrong")
        page.keyboard.press("Enter")
        expect(page.get_by_role("alert")).to_be_visible()
    else:
        log_in(page, url, key)
        page.get_by_role("button", name="Reject").first.click()
        expect(page.locator("#last")).to_be_visible()

    page.wait_for_load_state()  # the style sheet comes after the text
    for width, (scheme, paper) in itertools.product((360, 1280), PAPER.items()):
        page.set_viewport_size({"width": width, "height": 800})
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == paper
        assert page.evaluate("document.documentElement.scrollWidth") == width
        if (width, scheme) in AXE_LOOKS:
            assert axe(page) == [], f"at {width} px, {scheme}"


@pytest.mark.parametrize(("motion", "name"), [("reduce", "none"), ("no-preference", "arrive")])
def test_what_is_new_moves_only_for_who_likes_that(enter: Any, shop: Any, motion: str, name: str) -> None:
    page = enter(reduced_motion=motion)
    shop.fabricated("new")
    expect(page.locator("#feed > li.new")).to_have_count(1)

    assert page.evaluate("getComputedStyle(document.querySelector('#feed > li.new')).animationName") == name


def test_buttons_are_large_enough_for_a_thumb(enter: Any) -> None:
    page = enter(width=360)
    sizes = page.evaluate(
        "[...document.querySelectorAll('button')].map(each => each.getBoundingClientRect())"
        ".filter(box => box.width).map(box => Math.min(box.width, box.height))"
    )

    assert len(sizes) > 20
    assert min(sizes) >= 44
