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
from agentguard.stores._redis import RedisStore
from agentguard.verification._changes import change_event, changes_in

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
    expect(first.locator(".reasons li").first).to_contain_text("relation_mismatch")
    expect(page.locator("#feed > li")).to_have_count(before + 1)
    expect(page.locator("#announce")).to_contain_text("1 new verdict")
    row = page.locator("#tools-rows tr", has_text="get_order")
    events = [record.event for record in shop.store.events("audit")]
    (change,) = changes_in(shop.store)  # the second call in this way
    waiting = 1 + sum(event["call_id"] is not None and event["change"] != change.id for event in events)
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

    for n in range(3):
        expect(page.locator("#feed > li").nth(n).locator(".line")).to_contain_text(f"held-{2 - n}")
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

    page.keyboard.press("f")
    expect(page.locator("#last-text")).to_contain_text("fabricated")
    expect(page.locator(f'[data-sequence="{second}"].card')).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Tab")
    expect(page.locator(":focus")).to_have_text("Genuine")
    page.keyboard.press("Enter")
    expect(page.locator(f'[data-sequence="{third}"].card')).to_be_focused()
    page.keyboard.press("G")
    expect(page.locator(f'[data-sequence="{fourth}"].card')).to_be_focused()

    expect(page.locator("#waiting")).to_have_text(str(waiting - 3))
    given = {record.event["call_id"]: record.event["was_hallucination"] for record in shop.store.events("feedback")}
    named = {str(record.sequence): record.event["call_id"] for record in shop.store.events("audit")}
    assert given == {named[first]: True, named[second]: False, named[third]: False}


def test_a_mistake_can_be_taken_back(enter: Any, shop: Any) -> None:
    page = enter()
    page.locator("#queue").get_by_role("button", name="Genuine").first.click()
    page.get_by_role("button", name="No, it was fabricated").click()
    expect(page.locator("#last-text")).to_contain_text("fabricated")
    expect(page.get_by_role("button", name="No, it was genuine")).to_be_visible()

    assert [record.event["was_hallucination"] for record in shop.store.events("feedback")] == [False, True]
    assert [label.fabricated for label in labels_in_store(shop.store).labels] == [True]


def test_two_reviewers_see_what_the_other_does(enter: Any) -> None:
    mine, other = enter(), enter()
    sequence = mine.locator("#queue-list > li").first.get_attribute("data-sequence")
    waiting = int(mine.locator("#waiting").text_content())

    mine.locator("#queue").get_by_role("button", name="Fabricated").first.click()

    expect(other.locator(f'.card[data-sequence="{sequence}"]')).to_have_count(0)
    expect(other.locator(f'#feed > [data-sequence="{sequence}"] .label')).to_have_text("reviewed: fabricated")
    for page in (mine, other):
        expect(page.locator("#waiting")).to_have_text(str(waiting - 1))


def test_the_queue_is_refilled_to_its_end(enter: Any) -> None:
    page = enter()
    for left in range(int(page.locator("#waiting").text_content()) - 1, -1, -1):
        page.locator("#queue-list > li").first.get_by_role("button", name="Genuine").click()
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
        fabricated = page.locator("#queue").get_by_role("button", name="Fabricated").first
        fabricated.click()
        expect(page.locator("#last-text")).to_have_text("get_order, call before: fabricated.")
        (label,) = labels_in_store(engines).labels
        assert (label.call_id, label.fabricated) == ("before", True)

        redis_server.kill()
        expect(page.locator("#connection")).to_have_text("the store cannot be read")
        fabricated.click()
        expect(page.get_by_role("alert")).to_contain_text("nothing was learned")
        redis_server.start()
        expect(page.locator("#connection")).to_have_text("live")
        fabricated.click()
        expect(page.locator("#last-text")).not_to_contain_text("call before:")

        shop.engine.flush()  # the engine reads the label that says what calls like "before" are
        shop.fabricated("after")
        expect(first).to_contain_text("after")
        expect(first.locator(".verdict")).to_have_text("block")
        expect(page.locator("#decided-list > li")).to_contain_text("2 calls, 2 blocked")
        shop.genuine(1, begin=40)
        expect(first).to_contain_text("c40")
        expect(page.locator("#waiting")).to_have_text("40")  # 39 of the first forty, and the last
        assert len(labels_in_store(engines).labels) == 2
        shop.engine.close()


# --- Lasting changes ---


def looks_like(change: str | None, call_id: str, **more: Any) -> dict[str, Any]:
    """The audit record of a call, as an engine writes it: even odds, and a signal that trebles them."""
    return {
        "tool": "get_price", "call_id": call_id, "session_id": "s-7", "posterior": 0.75, "false_block_p": 0.004,
        "verdict": "flag", "prior": 0.5, "fired": ["value_anomaly"], "nats": {"value_anomaly": 1.0986},
        "propensity": 1.0, "said": {"value_anomaly": "price is 1,000 times its usual level"},
        **({} if change is None else {"change": change}), **more,
    }  # fmt: skip


@pytest.fixture
def changed() -> MemoryStore:
    """A store with two open changes: one that 27 calls look like, another a minute later."""
    now = iter(range(1_767_225_600, 1_767_325_600))
    store = MemoryStore(clock=lambda: float(next(now)))
    store.append("changes", change_event("aaaa", "get_price", "open", what="price is about × 1,000 its usual level"))
    for n in range(27):
        store.append("audit", looks_like("aaaa", f"c{n}", verdict="block" if n < 3 else "flag"))
    store.append("changes", change_event("bbbb", "search", "open", what="the key 'hits' is missing"))
    return store


@pytest.fixture
def enter_changed(
    visit: Callable[..., Any], changed: MemoryStore, key: str, make_app: Callable[..., Any], serve: Callable[..., str]
) -> Callable[..., Any]:
    url = serve(make_app(changed, poll_seconds=0.05))
    return lambda **options: log_in(visit(**options).page, url, key)


def decisions(store: MemoryStore) -> list[tuple[str, str]]:
    events = [record.event for record in store.events("changes")]
    return [(event["change"], event["state"]) for event in events if event["by"] == "review"]


def cards_of(page: Any) -> Any:
    return page.locator("#changes-list > li")


def test_a_change_is_one_card_however_many_calls_look_like_it(enter_changed: Any, changed: MemoryStore) -> None:
    changed.append("audit", looks_like(None, "alone"))
    page = enter_changed()
    cards = cards_of(page)
    expect(cards.locator("h3")).to_have_text(
        ["search: the key 'hits' is missing", "get_price: price is about × 1,000 its usual level"]
    )
    expect(cards.nth(1)).to_contain_text("27 calls, 3 blocked")
    expect(cards.nth(1)).to_contain_text("unreviewed")
    # By the store's clock, whose first second is the change's own, and the next its first call's.
    assert cards.nth(1).locator("time").get_attribute("datetime") == "2026-01-01T00:00:00.000Z"
    expect(page.locator("#queue-list > li")).to_have_count(1)
    expect(page.locator("#queue-list")).to_contain_text("alone")
    expect(page.locator("#waiting")).to_have_text("3")
    assert page.locator("main > section").first.get_attribute("id") == "queue"


def test_a_fault_that_lasts_is_one_card_while_an_engine_judges_and_ends_with_one_click(enter: Any, shop: Any) -> None:
    page = enter()
    before = int(page.locator("#waiting").text_content())
    for n in range(20):
        shop.fabricated(f"stuck-{n}", session=f"s{n}")
    card = cards_of(page)
    expect(card).to_have_count(1)
    expect(card).to_contain_text("22 calls")  # two were there before: one with a card of its own, one without a name
    expect(page.locator("#waiting")).to_have_text(str(before))
    card.get_by_role("button", name="Fabricated").click()
    expect(page.locator("#waiting")).to_have_text(str(before - 1))

    shop.engine.flush()
    (change,) = shop.engine.changes()
    assert (change.state, change.reviewed, change.calls) == ("fault", True, 22)
    shop.fabricated("after", session="s-after")
    expect(page.locator("#feed > li").first).to_contain_text("after")
    expect(page.locator("#decided-list > li")).to_contain_text("23 calls")
    expect(card).to_have_count(0)
    expect(page.locator("#waiting")).to_have_text(str(before - 1))


def test_deciding_a_change_clears_its_card_and_does_not_move_its_beginning(
    enter_changed: Any, changed: MemoryStore
) -> None:
    page, other = enter_changed(), enter_changed()
    began = cards_of(page).nth(1).locator("time").get_attribute("datetime")
    cards_of(page).nth(1).get_by_role("button", name="Genuine").click()

    for each in (page, other):
        expect(cards_of(each)).to_have_count(1)
        expect(each.locator("#waiting")).to_have_text("1")
        decided = each.locator("#decided-list > li")
        expect(decided).to_contain_text("reviewed: genuine")
        expect(decided).to_contain_text("27 calls, 3 blocked")
        expect(decided.get_by_role("button", name="Genuine")).to_have_attribute("aria-pressed", "true")
        assert decided.locator("time").get_attribute("datetime") == began
    what = "get_price: price is about × 1,000 its usual level: genuine."
    expect(page.locator("#announce")).to_have_text(what)
    expect(page.locator("#last-text")).to_have_text(what)
    assert decisions(changed) == [("aaaa", "adopted")]
    cards_of(page).get_by_role("button", name="Fabricated").click()
    expect(page.locator("#queue-empty")).to_be_visible()
    assert decisions(changed) == [("aaaa", "adopted"), ("bbbb", "fault")]


def test_a_followed_change_says_why_and_is_undone(enter_changed: Any, changed: MemoryStore) -> None:
    page = enter_changed()
    changed.append("changes", change_event("aaaa", "get_price", "followed", why="every price is in cents now"))
    card = cards_of(page).filter(has_text="get_price")
    expect(card).to_contain_text("Followed: every price is in cents now")
    expect(card).to_contain_text("taken as genuine")
    expect(page.locator("#announce")).to_contain_text("A change was followed: get_price")
    began = card.locator("time").get_attribute("datetime")
    card.get_by_role("button", name="Undo").click()

    expect(card).to_have_count(0)
    decided = page.locator("#decided-list > li")
    expect(decided).to_contain_text("reviewed: fabricated")
    expect(decided).not_to_contain_text("Followed:")
    assert decided.locator("time").get_attribute("datetime") == began
    assert decisions(changed) == [("aaaa", "fault")]
    found = next(change for change in changes_in(changed) if change.id == "aaaa")
    assert (found.state, found.reviewed, found.calls) == ("fault", True, 27)


@pytest.mark.parametrize("state", ["mode", "adopted"])
def test_what_the_guard_took_as_genuine_by_itself_can_be_undone_too(
    enter_changed: Any, changed: MemoryStore, state: Any
) -> None:
    changed.append("changes", change_event("aaaa", "get_price", state))
    page = enter_changed()
    cards_of(page).filter(has_text="get_price").get_by_role("button", name="Undo").click()

    expect(cards_of(page)).to_have_count(1)
    assert decisions(changed) == [("aaaa", "fault")]


def test_a_card_unfolds_a_few_of_its_calls(enter_changed: Any, changed: MemoryStore) -> None:
    kept = {"args": '{"sku": "A1"}', "result": '{"price": "<b>4,200</b>"}'}
    changed.append("audit", looks_like("aaaa", "newest", kept=kept, asked=2))
    page = enter_changed()
    card = cards_of(page).nth(1)
    card.focus()
    page.keyboard.press("d")
    calls = card.locator(".feed > li")
    expect(calls).to_have_count(5)
    expect(calls.first).to_contain_text("newest")
    expect(calls.nth(1)).to_contain_text("c26")
    calls.first.get_by_text("Details").click()
    expect(calls.first.locator("pre")).to_have_text([kept["args"], kept["result"]])
    assert calls.first.locator("pre b").count() == 0
    page.keyboard.press("d")
    expect(calls.first).to_be_hidden()


def test_a_change_is_reviewed_by_keyboard_alone(enter_changed: Any, changed: MemoryStore) -> None:
    changed.append("audit", looks_like(None, "alone"))
    page = enter_changed()
    cards_of(page).first.focus()
    page.keyboard.press("ArrowDown")
    expect(cards_of(page).nth(1)).to_be_focused()
    page.keyboard.press("f")
    expect(page.locator("#queue-list > li")).to_be_focused()  # the next card
    page.keyboard.press("ArrowUp")
    page.keyboard.press("g")
    expect(page.locator("#queue-list > li")).to_be_focused()

    expect(cards_of(page)).to_have_count(0)
    assert decisions(changed) == [("aaaa", "fault"), ("bbbb", "adopted")]


def test_a_decision_on_a_change_can_be_taken_back(enter_changed: Any, changed: MemoryStore) -> None:
    page = enter_changed()
    cards_of(page).nth(1).get_by_role("button", name="Genuine").click()
    page.get_by_role("button", name="No, it was fabricated").click()
    expect(page.locator("#last-text")).to_have_text("get_price: price is about × 1,000 its usual level: fabricated.")
    row = page.locator("#decided-list > li")
    expect(row).to_contain_text("reviewed: fabricated")
    row.get_by_role("button", name="Genuine").click()
    expect(row).to_contain_text("reviewed: genuine")

    expect(row.get_by_role("button", name="Fabricated")).to_have_attribute("aria-pressed", "false")
    row.get_by_role("button", name="Genuine").click()  # as it is: nothing to be said
    assert decisions(changed) == [("aaaa", "adopted"), ("aaaa", "fault"), ("aaaa", "adopted")]


def test_what_comes_of_a_change_is_seen_as_it_comes(enter_changed: Any, changed: MemoryStore) -> None:
    page = enter_changed()
    cards = cards_of(page)
    changed.append("audit", looks_like("bbbb", "late", verdict="block"))
    expect(cards.first).to_contain_text("1 call, 1 blocked")
    changed.append("audit", looks_like("cccc", "first"))  # one call is no change yet: it has a card of its own
    expect(page.locator("#queue-list > li")).to_contain_text("first")
    expect(page.locator("#waiting")).to_have_text("3")
    changed.append("changes", change_event("cccc", "get_stock", "open", what="the answer is always the same"))
    expect(cards).to_have_count(3)
    expect(cards.first).to_contain_text("get_stock")
    expect(cards.first).to_contain_text("1 call")
    expect(page.locator("#queue-list > li")).to_have_count(0)
    expect(page.locator("#waiting")).to_have_text("3")
    expect(page.locator("#announce")).to_have_text("A change: get_stock: the answer is always the same")
    changed.append("changes", change_event("cccc", "get_stock", "recovered"))
    expect(cards.last).to_contain_text("ordinary calls came again")


def test_nothing_moves_under_the_hand_of_who_decides(enter_changed: Any, changed: MemoryStore) -> None:
    page = enter_changed()
    cards = cards_of(page)
    cards.nth(1).get_by_role("button", name="Fabricated").focus()
    changed.append("changes", change_event("cccc", "get_stock", "open", what="the answer is always the same"))
    expect(cards).to_have_count(3)

    expect(cards.nth(1)).to_contain_text("get_price")
    page.locator("#pause").focus()
    expect(cards.locator("h3 bdi:first-child")).to_have_text(["get_stock", "search", "get_price"])


def test_of_two_who_decide_the_second_is_told(enter_changed: Any, changed: MemoryStore) -> None:
    page = enter_changed()
    page.route("**/live/decisions", lambda route: (
        changed.append("changes", change_event("aaaa", "get_price", "fault", by="review")), route.continue_()
    ))  # fmt: skip
    cards_of(page).nth(1).get_by_role("button", name="Genuine").click()

    expect(page.get_by_role("alert")).to_have_text("somebody has decided this meanwhile.")
    expect(cards_of(page)).to_have_count(1)
    expect(page.locator("#decided-list > li")).to_contain_text("reviewed: fabricated")
    assert decisions(changed) == [("aaaa", "fault")]


def test_more_changes_than_are_shown_follow_as_soon_as_one_is_decided(enter_changed: Any, changed: MemoryStore) -> None:
    for n in range(25):
        changed.append("changes", change_event(f"{n:04}", "t", "open", what="a key is new"))
    page = enter_changed()
    expect(cards_of(page)).to_have_count(20)
    expect(page.locator("#changes-more")).to_contain_text("7 more changes")
    cards_of(page).first.get_by_role("button", name="Genuine").click()

    expect(page.locator("#changes-more")).to_contain_text("6 more changes")
    expect(cards_of(page)).to_have_count(20)
    expect(page.locator("#waiting")).to_have_text("26")


# --- One call, opened up; and the order of the queue ---


@pytest.fixture
def suspects() -> MemoryStore:
    """A store with 27 suspects that belong to no change, three of them blocked."""
    store = MemoryStore()
    for n in range(27):
        store.append("audit", looks_like(None, f"c{n}", verdict="block" if n < 3 else "flag"))
    return store


@pytest.fixture
def enter_suspects(
    visit: Callable[..., Any], suspects: MemoryStore, key: str, make_app: Callable[..., Any], serve: Callable[..., str]
) -> Callable[..., Any]:
    url = serve(make_app(suspects, poll_seconds=0.05))
    return lambda **options: log_in(visit(**options).page, url, key)


def test_a_card_says_why_in_words_and_opens_up(enter_suspects: Any, suspects: MemoryStore) -> None:
    kept = {"args": '{"sku": "A1"}', "result": '{"price": "<b>4,200</b>"}'}
    suspects.append("audit", looks_like(None, "kept", posterior=0.99, kept=kept, asked=2))
    page = enter_suspects()
    card = page.locator("#queue-list > li").first
    expect(card.locator(".reasons")).to_have_text("price is 1,000 times its usual level value_anomaly")
    expect(card).to_contain_text("P(fabricated) 0.990")

    card.focus()
    page.keyboard.press("d")

    expect(card.locator("tbody tr")).to_have_count(4)
    cells = [row.inner_text().split("\t") for row in card.locator("tbody tr").all()]
    # Even odds are 0 nats; odds of 3 are ln 3 = 1.0986, P .75; and .99 is ln 99 = 4.5951, which leaves 3.4965.
    assert [[cell.strip() for cell in row] for row in cells] == [
        ["prior", "", "+0.00", "0.500", ""],
        ["value_anomaly", "+1.10", "+1.10", "0.750", "price is 1,000 times its usual level"],
        ["bound on the posterior", "+3.50", "+4.60", "0.990", ""],
        ["posterior", "", "+4.60", "0.990", ""],
    ]
    said = card.locator(".facts")
    expect(said).to_contain_text("s-7")
    expect(said).to_contain_text("2 times, with this very result")
    expect(said).to_contain_text("0.40% of this tool's genuine calls")
    expect(said).to_contain_text("none yet")
    expect(card.locator("pre")).to_have_text([kept["args"], kept["result"]])
    assert card.locator("pre b").count() == 0


def test_a_call_that_was_not_kept_says_how_it_would_be(enter_suspects: Any) -> None:
    page = enter_suspects()
    card = page.locator("#queue-list > li").first
    card.get_by_text("Details").click()

    expect(card.locator("details")).to_contain_text('VerificationEngine(keep_reviewed="redacted")')
    expect(card.locator("pre")).to_have_count(0)


def test_a_verdict_in_the_list_opens_up_too_with_its_label(enter_suspects: Any) -> None:
    page = enter_suspects()
    call = page.locator("#queue-list > li").first
    sequence = call.get_attribute("data-sequence")
    call.get_by_role("button", name="Fabricated").click()
    expect(page.locator(f'#feed > [data-sequence="{sequence}"] .label')).to_be_visible()
    page.locator(f'#feed > [data-sequence="{sequence}"] summary').click()

    expect(page.locator(f'#feed > [data-sequence="{sequence}"] .facts')).to_contain_text("reviewed: fabricated")


def test_the_worst_is_first_also_when_it_comes_last(enter_suspects: Any, suspects: MemoryStore) -> None:
    page = enter_suspects()
    cards = page.locator("#queue-list > li")
    expect(cards.locator(".verdict")).to_have_text(["block"] * 3 + ["flag"] * 7)

    suspects.append("audit", looks_like(None, "worst", posterior=0.97))
    expect(cards.first).to_contain_text("worst")
    expect(cards).to_have_count(10)
    suspects.append("audit", looks_like(None, "mild", posterior=0.2))
    expect(page.locator("#waiting")).to_have_text("29")
    expect(page.locator("#queue")).not_to_contain_text("mild")


def test_a_worse_one_waits_until_nobody_is_at_the_queue(enter_suspects: Any, suspects: MemoryStore) -> None:
    page = enter_suspects()
    cards = page.locator("#queue-list > li")
    first = cards.first.get_attribute("data-sequence")
    cards.first.focus()
    suspects.append("audit", looks_like(None, "worst", posterior=0.97))
    expect(page.locator("#waiting")).to_have_text("28")
    assert cards.first.get_attribute("data-sequence") == first

    page.locator("#pause").focus()
    expect(cards.first).to_contain_text("worst")


def test_a_phone_shows_all_of_an_opened_call(enter_suspects: Any, axe: Any) -> None:
    page = enter_suspects(width=360)
    page.locator("#queue summary").first.click()
    expect(page.locator("#queue .stacked")).to_be_visible()

    assert page.evaluate("document.documentElement.scrollWidth") == 360
    assert page.evaluate(
        """() => [...document.querySelectorAll('#queue .stacked :is(th, td):not(thead *)')]
             .filter(each => each.getBoundingClientRect().right > innerWidth).length"""
    ) == 0  # fmt: skip
    assert axe(page) == []


@pytest.fixture
def hostile(make_shop: Any, make_app: Callable[..., Any], serve: Callable[..., str]) -> str:
    """A page whose every name is an attack on it, some there from the beginning, some coming live."""
    shop = make_shop(MemoryStore(), audit_rate=1.0)
    for text in HOSTILE:
        shop.fabricated(text, tool=text, session=text)
        shop.store.append("audit", {
            "tool": text, "call_id": f"{text}!", "session_id": text, "posterior": 0.9, "false_block_p": None,
            "verdict": "block", "prior": 0.15, "fired": [text], "nats": {text: 3.0}, "propensity": 1.0,
            "said": {text: text}, "change": text, "kept": {"args": text, "result": text},
        })  # fmt: skip
        shop.store.append("changes", change_event(text, text, "followed", what=text, why=text))
    return serve(make_app(shop.store, poll_seconds=0.05))


def test_a_planted_script_does_not_run_and_nothing_leaves_the_origin(
    visit: Any, hostile: str, key: str, make_shop: Any
) -> None:
    seen = visit()
    page = log_in(seen.page, hostile, key)
    expect(page.locator("#feed > li")).to_have_count(2 * len(HOSTILE))
    cards = page.locator("#queue-list > li")
    changes = page.locator("#changes-list > li")
    expect(changes).to_have_count(len(HOSTILE))
    for n in range(len(HOSTILE)):
        changes.nth(n).locator("summary").first.click()
        call = changes.nth(n).locator(".feed > li")
        expect(call).to_have_count(1)
        call.locator("summary").click()
        expect(call.locator("pre")).to_have_count(2)
    changes.get_by_role("button", name="Undo").first.click()
    expect(page.locator("#changes")).to_contain_text("reviewed: fabricated")
    for _ in range(3):
        first = cards.first.get_attribute("data-sequence")
        cards.first.get_by_role("button", name="Fabricated").click()
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
        page.locator("#queue").get_by_role("button", name="Fabricated").first.click()
        expect(page.locator("#last")).to_be_visible()
        page.locator("#queue-list summary").first.click()
        expect(page.locator("#queue-list .stacked")).to_be_visible()
    if content == "hostile":  # a change, its calls and one of these opened up as well
        page.locator("#changes-list summary").first.click()
        page.locator("#changes-list .feed summary").first.click()
        expect(page.locator("#changes-list .stacked")).to_be_visible()
        page.locator("#changes-list").get_by_role("button", name="Genuine").last.click()
        expect(page.locator("#decided-list > li")).to_have_count(1)

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
