"""`agentguard changes`: lasting changes looked at and decided from the command line."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from agentguard.cli import app
from agentguard.cli._exits import Exit
from agentguard.stores import DiskStore
from agentguard.verification._changes import CHANGES, change_event
from agentguard.verification.types import Trait

runner = CliRunner()
PRICE, UNIT, MOCK, KEY = "0a1b2c3d4e5f", "0a1bffffffff", "9f8e7d6c5b4a", "77aa77aa77aa"


def call(tool: str, change: str | None, verdict: str, call_id: str | None, **more: Any) -> dict[str, Any]:
    """An audit record as an engine writes it."""
    return {
        "tool": tool, "call_id": call_id, "session_id": "s1", "posterior": 0.875, "false_block_p": None,
        "verdict": verdict, "prior": 0.15, "fired": ["shape_mismatch"], "nats": {"shape_mismatch": 3.0},
        "propensity": 1.0, **({} if change is None else {"change": change}), **more,
    }  # fmt: skip


class Clock:
    """Seconds since the epoch, as they are set."""

    now = 1_767_225_600.0  # 2026-01-01 00:00 UTC

    def __call__(self) -> float:
        return self.now


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The command line's own store, which is not there."""
    monkeypatch.delenv("AGENTGUARD_STORE", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "agentguard"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[DiskStore]:
    """Two open changes of one tool, one that ended by itself, one that a reviewer has found genuine."""
    clock = Clock()
    with DiskStore(tmp_path / "kept", clock=clock) as made:
        for id_, tool, what in (
            (MOCK, "search", "the key 'mock' is new"), (KEY, "search", "the key 'hits' is missing"),
            (PRICE, "get_price", "price is about × 1,000 its usual level"),
            (UNIT, "get_price", "currency is another than in 3,000 calls"),
        ):  # fmt: skip
            made.append(CHANGES, change_event(id_, tool, "open", what=what, traits=(Trait("level", "price"),)))
            clock.now += 60.0
        made.append(CHANGES, change_event(MOCK, "search", "recovered"))
        made.append(CHANGES, change_event(KEY, "search", "adopted", by="review"))
        for n, verdict in enumerate(("block", "block", "flag")):
            made.append("audit", call("get_price", PRICE, verdict, f"c{n}"))
        made.append("audit", call("get_price", PRICE, "block", "c0 again", asked=1))
        made.append("audit", call("get_price", None, "flag", "other"))
        made.append("audit", call("get_price", UNIT, "flag", None))
        yield made


@pytest.fixture
def folder(store: DiskStore) -> str:
    return str(store.folder)


def changes(*words: str) -> Any:
    return runner.invoke(app, ["changes", *words])


def data(*words: str) -> Any:
    run = changes(*words, "--json")
    assert run.exit_code == 0, run.output
    return json.loads(run.stdout)


# --- list ---


def test_the_open_ones_are_listed_the_latest_first(folder: str) -> None:
    run = changes("list", "--store", folder)

    assert run.exit_code == Exit.ACCEPT
    lines = [line.split() for line in run.stdout.splitlines()]
    rows = {words[0]: words for words in lines if words and words[0] in (PRICE, UNIT, MOCK, KEY)}
    assert list(rows) == [UNIT, PRICE]
    # id, tool, state, since (date, time), calls, blocked, what
    assert rows[PRICE][1:7] == ["get_price", "open", "2026-01-01", "00:02", "4", "3"]
    assert rows[UNIT][1:7] == ["get_price", "open", "2026-01-01", "00:03", "1", "0"]
    assert "price is about × 1,000 its usual level" in " ".join(run.stdout.split())
    assert "2 more have ended" in run.stdout


def test_all_has_those_that_ended_too(folder: str) -> None:
    found = data("list", "--all", "--store", folder)

    assert [(each["id"], each["state"], each["reviewed"]) for each in found["changes"]] == [
        (UNIT, "open", False), (PRICE, "open", False), (MOCK, "recovered", False), (KEY, "adopted", True),
    ]  # fmt: skip
    assert found["ended"] == 2
    assert {each["id"]: (each["calls"], each["blocked"]) for each in found["changes"]} == {
        UNIT: (1, 0), PRICE: (4, 3), MOCK: (0, 0), KEY: (0, 0),
    }  # fmt: skip
    assert found["changes"][1]["traits"] == ["level price"]


def test_what_a_reviewer_called_a_fault_goes_on_and_is_listed(store: DiskStore, folder: str) -> None:
    changes("fault", PRICE, "--store", folder)

    assert [(each["id"], each["state"]) for each in data("list", "--store", folder)["changes"]] == [
        (UNIT, "open"), (PRICE, "fault"),
    ]  # fmt: skip


def test_those_of_one_tool(folder: str) -> None:
    assert {each["tool"] for each in data("list", "--all", "--tool", "search", "--store", folder)["changes"]} == {
        "search"
    }


def test_a_store_without_changes_says_so(tmp_path: Path) -> None:
    DiskStore(tmp_path / "empty").close()
    run = changes("list", "--store", str(tmp_path / "empty"))

    assert (run.exit_code, run.stdout) == (0, "no change is on record\n")
    assert data("list", "--store", str(tmp_path / "empty"))["changes"] == []


# --- show ---


def test_one_is_shown_with_its_events_and_its_calls(folder: str) -> None:
    run = changes("show", PRICE, "--store", folder)

    assert run.exit_code == 0
    assert run.stdout.startswith("get_price: price is about × 1,000 its usual level\n")
    said = " ".join(run.stdout.split())
    assert "4 calls looked like it, 3 of them were blocked" in said
    assert "2026-01-01 00:02:00 open engine" in said
    assert "c0 s1 block 0.875" in said
    assert "c2 s1 flag 0.875" in said
    assert "other" not in said


def test_the_json_of_one_has_every_call(folder: str) -> None:
    found = data("show", PRICE, "--store", folder)

    assert (found["id"], found["state"], found["calls"], found["blocked"]) == (PRICE, "open", 4, 3)
    assert [(event["state"], event["by"]) for event in found["events"]] == [("open", "engine")]
    assert [(each["call_id"], each["verdict"], each["asked"]) for each in found["records"]] == [
        ("c0", "block", 0), ("c1", "block", 0), ("c2", "flag", 0), ("c0 again", "block", 1),
    ]  # fmt: skip


def test_the_beginning_of_an_id_is_enough(folder: str) -> None:
    assert data("show", PRICE[:5], "--store", folder)["id"] == PRICE


# --- adopt, fault ---


@pytest.mark.parametrize(("word", "state"), [("adopt", "adopted"), ("fault", "fault")])
def test_a_decision_is_an_event_that_engines_read(store: DiskStore, folder: str, word: str, state: str) -> None:
    before = len(list(store.events(CHANGES)))
    run = changes(word, PRICE[:6], "--store", folder)

    assert run.exit_code == 0
    (event,) = [record.event for record in store.events(CHANGES, after=before)]
    assert event == {"change": PRICE, "tool": "get_price", "state": state, "by": "review"}
    assert run.stdout.startswith(f"get_price: price is about × 1,000 its usual level: {state}")


def test_a_decision_can_be_changed(store: DiskStore, folder: str) -> None:
    assert data("adopt", PRICE, "--store", folder)["state"] == "adopted"
    found = data("fault", PRICE, "--store", folder)

    assert (found["id"], found["state"], found["reviewed"], found["calls"]) == (PRICE, "fault", True, 4)
    assert [event["state"] for event in data("show", PRICE, "--store", folder)["events"]] == [
        "open", "adopted", "fault",
    ]  # fmt: skip


def test_the_same_decision_again_changes_nothing(store: DiskStore, folder: str) -> None:
    changes("adopt", PRICE, "--store", folder)
    before = len(list(store.events(CHANGES)))
    run = changes("adopt", PRICE, "--store", folder)

    assert run.exit_code == 0
    assert "already" in run.stdout
    assert len(list(store.events(CHANGES))) == before


# --- What the engine followed, and undo ---

WHY = "every value is still there, under another name"


@pytest.fixture
def followed(store: DiskStore) -> str:
    store.append(CHANGES, change_event(PRICE, "get_price", "followed", why=WHY))
    return str(store.folder)


def test_a_followed_change_is_listed_with_its_reason_until_it_is_reviewed(followed: str) -> None:
    run = changes("list", "--store", followed)
    found = data("list", "--store", followed)["changes"]

    assert [(each["id"], each["state"], each["why"]) for each in found] == [
        (UNIT, "open", ""),
        (PRICE, "followed", WHY),
    ]
    assert f"usual level; {WHY}" in " ".join(run.stdout.split())
    assert (
        f"why: {WHY}; `agentguard changes undo {PRICE}` undoes it" in changes("show", PRICE, "--store", followed).stdout
    )
    assert [event["why"] for event in data("show", PRICE, "--store", followed)["events"]] == ["", WHY]

    changes("adopt", PRICE, "--store", followed)
    assert [each["id"] for each in data("list", "--store", followed)["changes"]] == [UNIT]


@pytest.mark.parametrize("state", ["followed", "mode", "adopted"])
def test_what_was_taken_as_genuine_is_undone_by_a_rejection(store: DiskStore, folder: str, state: Any) -> None:
    store.append(CHANGES, change_event(PRICE, "get_price", state))
    before = len(list(store.events(CHANGES)))
    run = changes("undo", PRICE[:6], "--store", folder)

    assert run.exit_code == 0
    (event,) = [record.event for record in store.events(CHANGES, after=before)]
    assert event == {"change": PRICE, "tool": "get_price", "state": "fault", "by": "review"}
    assert "already" in changes("undo", PRICE, "--store", folder).stdout
    assert len(list(store.events(CHANGES))) == before + 1


def test_what_was_never_taken_as_genuine_is_not_undone(store: DiskStore, folder: str) -> None:
    before = len(list(store.events(CHANGES)))
    for id_, state in ((PRICE, "open"), (MOCK, "recovered")):
        run = changes("undo", id_, "--store", folder)
        assert run.exit_code == Exit.ERROR
        assert f"nothing to undo: change {id_} is {state}" in run.stderr
    assert len(list(store.events(CHANGES))) == before


def test_it_began_with_its_first_call_also_after_a_decision(tmp_path: Path) -> None:
    clock = Clock()
    with DiskStore(tmp_path / "other", clock=clock) as kept:
        kept.append("audit", call("get_price", PRICE, "block", "c0"))
        clock.now += 120.0
        kept.append(CHANGES, change_event(PRICE, "get_price", "open", what="price is high"))
        kept.append("audit", call("get_price", PRICE, "block", "c1"))
        clock.now += 3_600.0
        found = data("fault", PRICE, "--store", str(kept.folder))
        assert (found["state"], found["opened"]) == ("fault", 1_767_225_600.0)
        assert "2026-01-01 00:00" in changes("list", "--store", str(kept.folder)).stdout
        assert "began 2026-01-01 00:00:00 UTC" in changes("show", PRICE, "--store", str(kept.folder)).stdout


# --- What cannot be done ---


@pytest.mark.parametrize("word", ["show", "adopt", "fault", "undo"])
@pytest.mark.parametrize(
    ("id_", "said"),
    [("ffff", "there is no change 'ffff' among 4"), ("0a1b", "2 changes have an id that begins with '0a1b'")],
)
def test_an_id_that_names_none_or_several_is_told(
    store: DiskStore, folder: str, word: str, id_: str, said: str
) -> None:
    before = len(list(store.events(CHANGES)))
    run = changes(word, id_, "--store", folder)
    as_json = changes(word, id_, "--store", folder, "--json")

    assert (run.exit_code, as_json.exit_code) == (Exit.ERROR, Exit.ERROR)
    assert said in run.stderr
    assert said in json.loads(as_json.stdout)["error"]
    assert len(list(store.events(CHANGES))) == before


@pytest.mark.parametrize("words", [["list"], ["show", "ab"], ["adopt", "ab"], ["fault", "ab"], ["undo", "ab"]])
def test_where_there_is_no_store_none_is_made(words: list[str], tmp_path: Path, home: Path) -> None:
    run = changes(*words)

    assert run.exit_code == Exit.ERROR
    assert "there is no store" in run.stderr
    assert not home.exists()


def test_without_a_word_it_says_what_there_is() -> None:
    run = changes()

    assert run.exit_code == Exit.ERROR
    assert all(word in run.stdout for word in ("list", "show", "adopt", "fault", "undo"))


def test_a_hostile_name_does_not_reach_the_terminal_as_it_is(store: DiskStore, folder: str) -> None:
    store.append(
        CHANGES, change_event("bbbbbbbbbbbb", "a\x1b[31m\u202eb\nc", "followed", what="x\x1b]0;y\x07", why="z\x1b[1m")
    )
    for words in (["list"], ["show", "bb"], ["fault", "bb"]):
        out = changes(*words, "--store", folder).stdout
        assert not {"\x1b", "\u202e", "\x07"} & set(out)
