"""The site as a reader has it, in Chromium: on a phone and on a wide screen, in light and in dark."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

LOOKS = [(360, "dark"), (1280, "light")]
LOOKED_AT = ["index", "arithmetic", "reference/cli"]


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site)))
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_pages_ask_nobody_else_and_fit_and_can_be_read_by_all(
    visit: Any, axe: Any, address: str, width: int, scheme: str
) -> None:
    seen = visit(width, scheme)
    for name in LOOKED_AT:
        seen.page.goto(f"{address}{name}.html")

        assert axe(seen.page, best_practice=False) == [], name
        assert seen.page.evaluate("document.documentElement.scrollWidth") <= width, name

    assert len(seen.requests) > len(LOOKED_AT)
    assert [url for url in seen.requests if not url.startswith(address)] == []
    assert seen.said == []


def test_the_first_code_that_a_reader_meets_is_not_cut(visit: Any, address: str) -> None:
    page = visit(1280).page
    page.goto(f"{address}index.html")
    code = page.locator("pre code").first

    assert code.evaluate("code => code.scrollWidth - code.clientWidth") <= 0


def test_a_word_is_found(visit: Any, address: str) -> None:
    page = visit().page
    page.goto(f"{address}index.html")
    page.get_by_label("Search").first.click()
    page.keyboard.type("echo_mismatch")
    result = page.locator(".md-search-result__link").first
    result.wait_for(state="visible")

    assert ".html" in str(result.get_attribute("href"))
