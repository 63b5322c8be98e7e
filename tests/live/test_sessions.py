"""Who gets in without the key, with what, and for how long."""

import logging
import re
from collections.abc import Callable, Iterator
from http.cookies import SimpleCookie
from typing import Any

import pytest
from starlette.requests import HTTPConnection
from starlette.testclient import TestClient

from agentguard.live._sessions import ASSETS, COOKIE, PUBLIC, Sessions
from agentguard.serving._app import ProblemError

HERE = "http://testserver"
SAME = {"Sec-Fetch-Site": "same-origin", "Origin": HERE}
REVIEW = {"sequence": 1, "was_hallucination": True}


@pytest.fixture
def browser(shop: Any, make_app: Callable[..., Any]) -> Iterator[TestClient]:
    """Somebody without a key, who follows no redirection."""
    with TestClient(make_app(shop.store), follow_redirects=False, headers=SAME) as client:
        yield client


def log_in(browser: TestClient, key: str) -> str:
    """Log in; what the page is told to send along."""
    answer = browser.post("/live/login", data={"key": key})
    assert (answer.status_code, answer.headers["location"]) == (303, "./")
    return str(browser.get("/live/state").json()["csrf"])


def test_whoever_has_no_session_is_led_to_the_form(browser: TestClient) -> None:
    assert [browser.get(path).headers["location"] for path in ("/", "/live", "/live/")] == ["live/", "live/", "login"]
    form = browser.get("/live/login")
    assert form.status_code == 200
    assert 'name="key"' in form.text
    assert "role=" not in form.text


def test_whoever_has_neither_key_nor_session_gets_nothing(browser: TestClient) -> None:
    browser.cookies.set(COOKIE, "not-a-session")

    for method, path in (
        ("GET", "/live/state"), ("GET", "/live/queue"), ("GET", "/live/events"), ("POST", "/live/reviews"),
        ("POST", "/live/logout"), ("GET", "/live/static/"), ("GET", "/live/static/../app.py"), ("GET", "/live/x"),
        ("GET", "/openapi.json"), ("GET", "/LIVE/"), ("GET", "/live//"),
    ):  # fmt: skip
        answer = browser.request(method, path)
        assert answer.status_code == 401, path
        assert "get_order" not in answer.text


def test_what_needs_no_key_says_nothing_of_the_store(browser: TestClient) -> None:
    for path in sorted(PUBLIC):
        text = browser.get(path).text
        assert "get_order" not in text
        assert "the store" not in re.sub(r"the store (cannot|that)", "", text)


def test_a_wrong_key_is_told_and_written_nowhere(browser: TestClient, caplog: pytest.LogCaptureFixture) -> None:
    for key in ("", "mistaken-key", "test-key-012345678", "test-key-0123456789x", "TEST-KEY-0123456789"):
        with caplog.at_level(logging.DEBUG):
            answer = browser.post("/live/login", data={"key": key or " "})

        assert answer.status_code == 401, key
        assert 'role="alert"' in answer.text
        assert "set-cookie" not in answer.headers
        assert not key or key not in answer.text
        assert not key or key not in caplog.text


def test_a_form_that_is_none_lets_nobody_in(browser: TestClient) -> None:
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    for body in ("", "key", "key=a&key=b", "other=1", "&".join(["a=1"] * 50), "key=%ff%00", "key=" + "x" * 60_000):
        answer = browser.post("/live/login", content=body, headers=headers)

        assert answer.status_code == 401, body[:20]
        assert "set-cookie" not in answer.headers


def test_the_cookie_is_out_of_reach_of_scripts_and_other_sites(browser: TestClient, key: str) -> None:
    answer = browser.post("/live/login", data={"key": f" {key}\n"})  # as it is pasted

    (morsel,) = SimpleCookie(answer.headers["set-cookie"]).values()
    assert morsel.key == COOKIE
    assert (morsel["httponly"], morsel["samesite"], morsel["secure"]) == (True, "strict", "")
    assert (morsel["path"], morsel["expires"], morsel["max-age"]) == ("", "", "")
    assert len(morsel.value) >= 43  # 256 bits
    assert key not in answer.headers["set-cookie"]


def test_by_tls_the_cookie_goes_by_tls_only(browser: TestClient, key: str) -> None:
    answer = browser.post("/live/login", data={"key": key}, headers={"Origin": "https://guard.example"})

    assert "Secure" in answer.headers["set-cookie"]


def test_a_session_opens_the_page_and_nothing_else(browser: TestClient, key: str) -> None:
    csrf = log_in(browser, key)

    assert browser.get("/live/").status_code == 200
    assert browser.get("/live/login").headers["location"] == "./"
    assert browser.get("/live/queue").status_code == 200
    assert browser.get("/live/nothing").status_code == 404
    assert browser.post("/live/reviews", json=REVIEW, headers={"X-CSRF-Token": csrf}).status_code == 200
    assert browser.get("/openapi.json").status_code == 401


def test_what_changes_anything_needs_the_token(shop: Any, browser: TestClient, key: str) -> None:
    log_in(browser, key)

    for headers in ({}, *({"X-CSRF-Token": token.encode()} for token in ("", "x", "é"))):
        answer = browser.post("/live/reviews", json=REVIEW, headers=headers)
        assert (answer.status_code, answer.json()["type"]) == (403, "urn:agentguard:problem:csrf"), headers
        assert browser.post("/live/logout", headers=headers).status_code == 403
    assert list(shop.store.events("feedback")) == []


def test_the_token_of_another_session_is_none(browser: TestClient, key: str) -> None:
    before = log_in(browser, key)
    after = log_in(browser, key)

    assert before != after
    assert browser.post("/live/reviews", json=REVIEW, headers={"X-CSRF-Token": before}).status_code == 403


FOREIGN = [
    {"Sec-Fetch-Site": "same-site", "Origin": HERE},  # another port of this machine
    {"Sec-Fetch-Site": "cross-site", "Origin": HERE},
    {"Sec-Fetch-Site": "none", "Origin": HERE},
    {"Sec-Fetch-Site": None, "Origin": "http://testserver:81"},
    {"Sec-Fetch-Site": None, "Origin": "http://evil.example"},
    {"Sec-Fetch-Site": None, "Origin": "null"},
    {"Sec-Fetch-Site": None, "Origin": "ftp://testserver"},
    {"Sec-Fetch-Site": None, "Origin": "testserver"},
]


def strip(browser: TestClient, headers: dict[str, str | None]) -> dict[str, str]:
    """Leave what the browser sends by itself out; gives what it is to send instead."""
    for name in headers:
        browser.headers.pop(name, None)
    return {name: value for name, value in headers.items() if value is not None}


def test_another_page_can_send_nothing(shop: Any, browser: TestClient, key: str) -> None:
    token = log_in(browser, key)

    for foreign in (*FOREIGN, {"Sec-Fetch-Site": None, "Origin": None}):
        headers = {"X-CSRF-Token": token, **strip(browser, foreign)}
        answer = browser.post("/live/reviews", json=REVIEW, headers=headers)
        assert (answer.status_code, answer.json()["type"]) == (403, "urn:agentguard:problem:origin"), foreign
        assert browser.post("/live/login", data={"key": key}, headers=headers).status_code == 403
    assert list(shop.store.events("feedback")) == []


def test_another_page_can_read_nothing(browser: TestClient, key: str) -> None:
    log_in(browser, key)

    for foreign in FOREIGN:
        headers = strip(browser, foreign)
        for path in ("/live/state", "/live/queue", "/live/events"):
            assert browser.get(path, headers=headers).status_code == 403, foreign


def test_browsers_that_tell_less_are_let_in_where_that_is_safe(browser: TestClient, key: str) -> None:
    """By plain HTTP to another machine they send no Sec-Fetch-Site, and an Origin with what is posted only."""
    log_in(browser, key)
    strip(browser, {"Sec-Fetch-Site": None, "Origin": None})

    csrf = browser.get("/live/state").json()["csrf"]
    answer = browser.post("/live/reviews", json=REVIEW, headers={"Origin": HERE, "X-CSRF-Token": csrf})

    assert answer.status_code == 200


def test_the_key_needs_no_token(client: TestClient) -> None:
    assert client.get("/live/state").json()["csrf"] is None
    assert client.get("/live/").status_code == 200
    assert client.post("/live/reviews", json=REVIEW).status_code == 200
    assert client.post("/live/logout").status_code == 409


def test_after_logging_out_the_cookie_opens_nothing(browser: TestClient, key: str) -> None:
    csrf = log_in(browser, key)
    token = browser.cookies[COOKIE]

    answer = browser.post("/live/logout", headers={"X-CSRF-Token": csrf})

    assert answer.status_code == 204
    assert "expires" in answer.headers["set-cookie"].lower()
    browser.cookies.set(COOKIE, token)
    assert browser.get("/live/state").status_code == 401
    assert browser.get("/live/").headers["location"] == "login"


def test_who_logs_in_again_leaves_no_session_behind(browser: TestClient, key: str) -> None:
    log_in(browser, key)
    former = browser.cookies[COOKIE]
    log_in(browser, key)
    assert browser.cookies[COOKIE] != former

    browser.cookies.set(COOKIE, former)
    assert browser.get("/live/state").status_code == 401


def test_what_a_browser_brings_along_never_becomes_its_session(browser: TestClient, key: str) -> None:
    planted = {"Cookie": f"{COOKIE}=planted"}

    (morsel,) = SimpleCookie(
        browser.post("/live/login", data={"key": key}, headers=planted).headers["set-cookie"]
    ).values()

    assert morsel.value != "planted"
    browser.cookies.clear()
    assert browser.get("/live/state", headers=planted).status_code == 401


def test_servers_at_two_ports_do_not_take_each_other_s_session(browser: TestClient, key: str) -> None:
    for host, name in (
        ("localhost:8321", f"{COOKIE}_8321"), ("[::1]:8321", f"{COOKIE}_8321"), ("guard.example", COOKIE),
        ("[::1]", COOKIE), ("x:80;y", COOKIE), ("x:123456", COOKIE), ("x:", COOKIE),
    ):  # fmt: skip
        headers = {"Host": host, "Origin": f"http://{host}"}
        cookie = browser.post("/live/login", data={"key": key}, headers=headers).headers["set-cookie"]

        (morsel,) = SimpleCookie(cookie).values()
        assert morsel.key == name, host
        browser.cookies.clear()
        sent = {**headers, "Cookie": f"{name}={morsel.value}; {COOKIE}_1=of-another-server"}
        assert browser.get("/live/state", headers=sent).status_code == 200


def connection(token: str, path: str = "/live/state") -> dict[str, Any]:
    cookie = (b"cookie", f"{COOKIE}={token}".encode())
    return {"type": "http", "method": "GET", "path": path, "headers": [cookie]}


def test_a_session_ends_by_itself() -> None:
    now = 100.0
    sessions = Sessions("/live/", seconds=60.0, clock=lambda: now)
    token = sessions.begin()
    session = sessions.of(HTTPConnection(connection(token)))
    assert session is not None

    now = 159.0
    assert sessions.admits(connection(token))
    assert sessions.is_on(session)
    now = 160.0
    assert not sessions.admits(connection(token))
    assert not sessions.is_on(session)


def test_there_are_no_more_sessions_than_may_be() -> None:
    sessions = Sessions("/live/", most=3)
    tokens = [sessions.begin() for _ in range(5)]

    assert [sessions.admits(connection(token)) for token in tokens] == [False, False, True, True, True]


def test_a_session_opens_no_other_path() -> None:
    sessions = Sessions("/live/")
    token = sessions.begin()

    assert [sessions.admits(connection(token, path)) for path in ("/live/x", "/live", "/evaluate", "/")] == [
        True, False, False, False,
    ]  # fmt: skip


def test_the_token_is_kept_nowhere() -> None:
    sessions = Sessions("/live/")
    token = sessions.begin()

    assert token not in repr(vars(sessions))
    with pytest.raises(ProblemError) as raised:
        sessions.admits({**connection(token), "method": "POST"})
    assert token not in str(vars(raised.value))


# --- What the browser is told about the page ---


@pytest.mark.parametrize("path", ["/live/login", "/live/static/app.js", "/live/static/live.css"])
def test_the_policy_lets_nothing_run_but_the_page_s_own_files(browser: TestClient, path: str) -> None:
    headers = browser.get(path).headers

    policy = dict(part.strip().split(" ", 1) for part in headers["content-security-policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert {policy[name] for name in ("script-src", "style-src", "connect-src", "form-action")} == {"'self'"}
    assert (policy["base-uri"], policy["frame-ancestors"]) == ("'none'", "'none'")
    assert (policy["require-trusted-types-for"], policy["trusted-types"]) == ("'script'", "'none'")
    assert "unsafe" not in headers["content-security-policy"]
    assert (headers["cache-control"], headers["x-content-type-options"]) == ("no-store", "nosniff")


def test_the_page_holds_to_its_policy(browser: TestClient, key: str) -> None:
    """Nothing in line, nothing from elsewhere, no HTML out of text."""
    log_in(browser, key)
    for text in (browser.get("/live/").text, browser.get("/live/static/app.js").text):
        assert not re.search(r"<script(?![^>]* src=\"static/)|<style|\son[a-z]+=|style=", text)
    for name in ASSETS:
        served = browser.get(f"/live/static/{name}")
        assert served.headers["content-type"].startswith(ASSETS[name])
        assert not re.search(
            r"https?://(?!www\.w3\.org/2000/svg)|innerHTML|outerHTML|insertAdjacentHTML|eval\(", served.text
        )
