"""The tools of the README and of the quick start, with a cache that is stuck: held for thirty calls, then reviewed.

The programs are those of the pages, run as they stand; what decides is the command line in a process of its own, and
the live page in a browser.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agentguard import ResultBlocked, VerificationEngine
from agentguard.stores import DiskStore
from agentguard.verification._changes import changes_in

from ..docs.blocks import DOCS, ROOT, blocks
from ..live.conftest import KEY, application, running

QUICK_START, README = DOCS / "quick-start.md", ROOT / "README.md"


def agentguard(folder: Path, *words: str) -> Any:
    """What the real command prints as JSON."""
    command = shutil.which("agentguard", path=str(Path(sys.executable).parent))
    assert command is not None
    environment = {**os.environ, "TERM": "dumb", "NO_COLOR": "1"}
    done = subprocess.run(
        [command, *words, "--store", str(folder), "--json"], capture_output=True, text=True, check=True, env=environment
    )
    return json.loads(done.stdout)


class Shop:
    """The quick start's guarded function over the state that its program leaves behind.

    Attributes:
        stuck: its cache gives every customer the same order.
    """

    def __init__(self, folder: Path) -> None:
        """The page's function, with its engine, as the process after its program would have them."""
        self.folder = folder
        self.store = DiskStore(self.folder, flush_seconds=3600.0)
        self.engine = VerificationEngine(store=self.store)
        self.stuck = False
        self.number = 2_000

    def call(self) -> Any:
        """What the caller of the tool gets; None where it is blocked."""
        from agentguard.integrations.functions import guarded

        @guarded(self.engine)
        def get_order(order_id: str) -> dict[str, Any]:
            n = int((order_id if not self.stuck else "W1003")[1:])
            return {"order_id": f"W{n}", "status": ["open", "shipped"][n % 2], "total": 20.0 + n % 50}

        self.number += 1
        try:
            return get_order(f"W{self.number}")
        except ResultBlocked:
            return None

    def verdicts(self, count: int) -> str:
        """Of so many calls, from the log."""
        before = len(list(self.store.events("audit")))
        for _ in range(count):
            self.call()
        records = list(self.store.events("audit"))[before:]
        return "".join(record.event["verdict"][0] for record in records if record.event["verdict"] != "accept")

    def flush(self) -> None:
        """What the engine does by itself every second."""
        self.engine.flush()
        self.engine.flush()


@pytest.fixture(scope="module")
def left_behind(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The state after the page's own program."""
    folder = tmp_path_factory.mktemp("quick-start")
    program = next(block.code for block in blocks(QUICK_START) if block.title == "shop.py")
    (folder / "shop.py").write_text(program, encoding="utf-8")
    subprocess.run([sys.executable, "shop.py"], cwd=folder, check=True, capture_output=True)
    return folder / "guard-state"


@pytest.fixture
def shop(left_behind: Path, tmp_path: Path) -> Iterator[Shop]:
    made = Shop(shutil.copytree(left_behind, tmp_path / "guard-state"))
    yield made
    made.engine.close()
    made.store.close()


def hold(shop: Shop) -> None:
    """The cache is stuck for thirty calls, of which none is accepted: one like it was blocked by the program before."""
    assert shop.verdicts(5) == ""
    shop.stuck = True
    assert shop.verdicts(30) == "bb" + "f" * 28


def test_the_readmes_tool_holds_a_stuck_cache_for_thirty_calls() -> None:
    names: dict[str, Any] = {}
    exec(next(block.code for block in blocks(README) if "get_order" in block.code), names)
    engine, another = names["engine"], names["another"]
    verdicts = [
        engine.verify("get_order", args={"order_id": f"W{2_001 + n}"}, result=another, execution_time_ms=44.0).verdict
        for n in range(30)
    ]

    assert "accept" not in verdicts
    (change,) = engine.changes("get_order")
    assert (change.state, change.blocked) == ("open", 3)


def test_a_reviewer_calls_it_a_fault_from_the_command_line(shop: Shop) -> None:
    hold(shop)
    (listed,) = agentguard(shop.folder, "changes", "list")["changes"]
    assert (listed["tool"], listed["state"], listed["calls"]) == ("get_order", "open", 31)

    assert agentguard(shop.folder, "changes", "fault", listed["id"][:6])["state"] == "fault"
    shop.flush()

    assert shop.verdicts(5) == "bbbbb"
    shop.stuck = False
    assert shop.verdicts(5) == ""


def test_a_reviewer_adopts_it_from_the_command_line(shop: Shop) -> None:
    hold(shop)
    for listed in agentguard(shop.folder, "changes", "list")["changes"]:
        agentguard(shop.folder, "changes", "adopt", listed["id"])
    shop.flush()

    assert shop.verdicts(30) == ""
    assert shop.call() is not None
    assert agentguard(shop.folder, "changes", "list")["changes"] == []


playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
expect = playwright.expect
expect.set_options(timeout=30_000)


@pytest.mark.parametrize(("button", "state", "after"), [("Fabricated", "fault", "bbbbb"), ("Genuine", "adopted", "")])
def test_a_reviewer_ends_it_on_the_page(
    button: str, state: str, after: str, shop: Shop, visit: Callable[..., Any]
) -> None:
    hold(shop)
    with DiskStore(shop.folder) as store, running(application(store, poll_seconds=0.05)) as url:
        page = visit().page
        page.goto(url)
        page.get_by_label("The server's key").fill(KEY)
        page.keyboard.press("Enter")
        row = page.locator("#changes-list > li", has_text="get_order")
        expect(row).to_contain_text("order_id")
        expect(row).to_have_count(1)
        row.get_by_role("button", name=button).click()
        expect(row).to_have_count(0)
        expect(page.locator("#decided-list > li")).to_contain_text("get_order")
    shop.flush()

    assert [change.state for change in changes_in(shop.store)] == [state]
    assert shop.verdicts(5) == after
