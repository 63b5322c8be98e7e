"""The site as a reader has it, in Chromium: on a phone and on a wide screen, in light and in dark."""

from __future__ import annotations

import os
import shutil
import tarfile
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

CHROMIUM = shutil.which("chromium")
AXE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "agentguard", "axe-core-4.14.1.tgz")
RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]}
LOOKS = [(360, "dark"), (1280, "light")]
LOOKED_AT = ["index", "arithmetic", "reference/cli"]

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="there is no chromium: tests/report/ensure_browser.sh installs it"
)


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield running
        running.close()


@pytest.fixture(scope="module")
def axe() -> str:
    if not AXE.is_file():
        pytest.skip("there is no axe-core: tests/report/ensure_browser.sh gets it")
    with tarfile.open(AXE) as archive:
        script = archive.extractfile("package/axe.min.js")
        assert script is not None
        return script.read().decode("utf-8")


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_pages_ask_nobody_else_and_fit_and_can_be_read_by_all(
    browser: Any, address: str, axe: str, width: int, scheme: str
) -> None:
    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
    page = context.new_page()
    asked: list[str] = []
    said: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    for name in LOOKED_AT:
        page.goto(f"{address}{name}.html", wait_until="networkidle")
        page.add_script_tag(content=axe)
        found = page.evaluate("rules => axe.run(document, rules)", RULES)
        violations = [(one["id"], one["nodes"][0]["html"][:200]) for one in found["violations"]]

        assert violations == [], name
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
    context.close()

    assert [url for url in asked if not url.startswith(address)] == []
    assert said == []


def test_a_word_is_found(browser: Any, address: str) -> None:
    page = browser.new_page()
    page.goto(f"{address}index.html")
    page.get_by_label("Search").first.click()
    page.keyboard.type("echo_mismatch")
    result = page.locator(".md-search-result__link").first
    result.wait_for(state="visible")

    assert ".html" in str(result.get_attribute("href"))
    page.close()
