"""The browser in which tests look at pages, and axe-core, which looks at them as a checker of accessibility does."""

from __future__ import annotations

import os
import shutil
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

ENSURE: Final = "tests/ensure_browser.sh"
AXE: Final = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "agentguard", "axe-core-4.14.1.tgz")
SWITCHES: Final = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
).split()
WCAG: Final = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa")
#: A page on which fewer rules than these had something to look at was not the page.
LEAST_PASSES: Final = 15


@contextmanager
def launched() -> Iterator[Any]:
    """A running Chromium."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip(f"there is no chromium: {ENSURE} installs it")
    with playwright.sync_playwright() as driver:
        # What it keeps lies in a folder of its own: launch makes a fresh one and removes it.
        running = driver.chromium.launch(executable_path=chromium, headless=True, args=SWITCHES)
        yield running
        running.close()


class Visit:
    """One visit with a browser, and what went on in it.

    Attributes:
        requests: the addresses that were asked for.
        said: lines of the console and errors of scripts; what is no more than information is left out.
    """

    def __init__(self, browser: Any, width: int = 1280, scheme: str = "light", **options: Any) -> None:
        options = {"color_scheme": scheme, "reduced_motion": "reduce", **options}
        self.context = browser.new_context(viewport={"width": width, "height": 800}, **options)
        self.page = self.context.new_page()
        self.requests: list[str] = []
        self.said: list[str] = []
        self.context.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", self._spoken)
        self.page.on("pageerror", lambda error: self.said.append(str(error)))

    def _spoken(self, message: Any) -> None:
        if message.type not in ("debug", "info", "log"):
            self.said.append(message.text)


def axe_source() -> str:
    """The script of axe-core."""
    if not AXE.is_file():
        pytest.skip(f"there is no {AXE}: {ENSURE} fetches it")
    with tarfile.open(AXE) as archive:
        script = archive.extractfile("package/axe.min.js")
        assert script is not None
        return script.read().decode("utf-8")


def violations(page: Any, axe: str, *, best_practice: bool) -> list[tuple[str, list[str]]]:
    """What axe-core finds wrong with a page as it is now: rules, and elements that break them."""
    tags = [*WCAG, "best-practice"] if best_practice else list(WCAG)
    if page.evaluate("typeof axe") == "undefined":
        page.evaluate(axe)
    # Of what passes one element a rule is told, not thousands, each with a path to it: that takes most of the time.
    found = page.evaluate("tags => axe.run(document, {runOnly: tags, resultTypes: ['violations']})", tags)
    assert len(found["passes"]) >= LEAST_PASSES
    return [(rule["id"], [node["html"][:200] for node in rule["nodes"][:3]]) for rule in found["violations"]]
