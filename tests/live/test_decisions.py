"""A decision on a lasting change, once, whoever clicks how often and wherever; and one call, opened up."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from agentguard.errors import StoreError
from agentguard.stores import DiskStore, MemoryStore
from agentguard.stores._base import Record
from agentguard.verification._changes import CHANGES, change_event, changes_in

CALL = {
    "tool": "get_price", "call_id": "c1", "session_id": "s1", "posterior": 0.75, "false_block_p": None,
    "verdict": "flag", "prior": 0.5, "fired": ["value_anomaly"], "nats": {"value_anomaly": 1.1}, "propensity": 1.0,
    "change": "aaaa", "said": {"value_anomaly": "price is 1,000 times its usual level"},
}  # fmt: skip


class Flaky(MemoryStore):
    """A store that takes decisions only when it is well, and is read only then too, if it is told so."""

    failing = unreadable = False

    def append(self, kind: str, event: Any, /) -> int:
        if self.failing and kind == CHANGES:
            raise StoreError("it is gone")
        return super().append(kind, event)

    def events(self, kind: str, /, after: int = 0) -> Iterator[Record]:
        if self.unreadable:
            raise StoreError("it is gone")
        return super().events(kind, after)


def put(store: Any) -> Any:
    """Two changes; calls look like the first."""
    store.append(CHANGES, change_event("aaaa", "get_price", "open", what="price is about × 1,000 its usual level"))
    store.append(CHANGES, change_event("bbbb", "search", "open", what="the key 'hits' is missing"))
    for n in range(3):
        store.append("audit", {**CALL, "call_id": f"c{n}", "verdict": "block" if n == 0 else "flag"})
    return store


@pytest.fixture
def changed() -> Flaky:
    return put(Flaky())  # type: ignore[no-any-return]


@pytest.fixture
def client(changed: Flaky, key: str, make_app: Callable[..., Any]) -> Iterator[TestClient]:
    with TestClient(make_app(changed), headers={"X-API-Key": key}) as made:
        yield made


def decide(client: TestClient, id_: str, state: str = "fault", **more: Any) -> Any:
    return client.post("/live/decisions", json={"id": id_, "state": state, **more})


def decisions(store: Any) -> list[tuple[str, str]]:
    return [
        (record.event["change"], record.event["state"])
        for record in store.events(CHANGES)
        if record.event["by"] == "review"
    ]


def test_changes_are_told_with_their_calls(client: TestClient) -> None:
    state = client.get("/live/state").json()["changes"]

    assert state == client.get("/live/changes").json()
    assert (state["open"], state["more"]) == (2, 0)
    row = next(each for each in state["rows"] if each["id"] == "aaaa")
    assert {name: row[name] for name in ("tool", "state", "what", "calls", "blocked", "reviewed", "decided")} == {
        "tool": "get_price", "state": "open", "what": "price is about × 1,000 its usual level", "calls": 3,
        "blocked": 1, "reviewed": False, "decided": 0,
    }  # fmt: skip


def test_a_decision_is_the_event_that_engines_read(changed: Flaky, client: TestClient) -> None:
    answer = decide(client, "aaaa", "adopted")

    assert answer.status_code == 200
    assert (answer.json()["state"], answer.json()["reviewed"], answer.json()["calls"]) == ("adopted", True, 3)
    assert [(change.id, change.state) for change in changes_in(changed)] == [("bbbb", "open"), ("aaaa", "adopted")]
    assert client.get("/live/changes").json()["open"] == 1


def test_a_second_decision_is_refused_and_one_that_names_the_first_is_taken(changed: Flaky, client: TestClient) -> None:
    first = decide(client, "aaaa", "adopted").json()

    other = decide(client, "aaaa", "fault")
    assert (other.status_code, other.json()["type"]) == (409, "urn:agentguard:problem:decided")
    assert decide(client, "aaaa", "adopted", corrects=first["decided"]).json() == first  # as it stands
    second = decide(client, "aaaa", "fault", corrects=first["decided"])
    assert (second.status_code, second.json()["state"]) == (200, "fault")
    assert decide(client, "aaaa", "adopted", corrects=first["decided"]).status_code == 409  # no more the last word

    assert decisions(changed) == [("aaaa", "adopted"), ("aaaa", "fault")]


def test_what_engines_say_meanwhile_is_no_decision(changed: Flaky, client: TestClient) -> None:
    changed.append(CHANGES, change_event("aaaa", "get_price", "recovered"))
    changed.append(CHANGES, change_event("aaaa", "get_price", "open"))

    assert decide(client, "aaaa").status_code == 200


def test_a_decision_from_elsewhere_counts_too(changed: Flaky, client: TestClient) -> None:
    client.get("/live/state")
    changed.append(CHANGES, change_event("aaaa", "get_price", "adopted", by="review"))  # from the command line

    assert decide(client, "aaaa").status_code == 409


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"id": "zzzz", "state": "fault"}, 404),
        ({"id": "aa", "state": "fault"}, 404),  # a page names a change in full
        ({"id": "", "state": "fault"}, 422),
        ({"id": "aaaa", "state": "open"}, 422),
        ({"id": "aaaa"}, 422),
        ({"id": "aaaa", "state": "fault", "corrects": -1}, 422),
        ({"id": "aaaa", "state": "fault", "by": "engine"}, 422),
        ([], 422),
    ],
)
def test_what_is_no_decision_changes_nothing(changed: Flaky, client: TestClient, body: Any, status: int) -> None:
    assert client.post("/live/decisions", json=body).status_code == status
    assert decisions(changed) == []


def test_of_many_who_click_at_once_one_is_heard(changed: Flaky, client: TestClient) -> None:
    ready = threading.Barrier(8)

    def click(n: int) -> int:
        ready.wait(60)
        return int(decide(client, "aaaa", "fault" if n % 2 else "adopted").status_code)

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(click, range(8)))

    assert sorted(answers) == [200] + [409] * 7
    assert len(decisions(changed)) == 1


def test_of_two_servers_one_is_heard(tmp_path: Path, key: str, make_app: Callable[..., Any]) -> None:
    """Each with a store of its own on the same folder; the second reads on before the first has written."""
    with DiskStore(tmp_path / "kept") as mine, DiskStore(tmp_path / "kept") as other:
        put(mine)
        headers = {"X-API-Key": key}
        with (
            TestClient(make_app(mine), headers=headers) as first,
            TestClient(make_app(other), headers=headers) as second,
        ):
            append = mine.append

            def late(kind: str, event: Any, /) -> int:
                assert decide(second, "aaaa", "adopted").status_code == 409
                return append(kind, event)

            mine.append = late  # type: ignore[method-assign] - the other server is asked while this one writes
            assert decide(first, "aaaa").status_code == 200
        assert decisions(other) == [("aaaa", "fault")]


def test_what_cannot_be_written_is_told_and_can_be_tried_again(changed: Flaky, client: TestClient) -> None:
    changed.failing = True
    answer = decide(client, "aaaa")
    assert (answer.status_code, answer.json()["type"]) == (503, "urn:agentguard:problem:store")
    assert "gone" not in answer.text
    changed.failing = False

    assert decide(client, "aaaa").status_code == 200
    assert decisions(changed) == [("aaaa", "fault")]


def test_another_page_cannot_decide(changed: Flaky, client: TestClient, key: str, make_app: Callable[..., Any]) -> None:
    with TestClient(make_app(changed), headers={"Sec-Fetch-Site": "same-origin"}) as browser:
        browser.post("/live/login", data={"key": key})
        token = browser.get("/live/state").json()["csrf"]
        without = decide(browser, "aaaa")
        elsewhere = browser.post(
            "/live/decisions", json={"id": "aaaa", "state": "fault"},
            headers={"Sec-Fetch-Site": "same-site", "X-CSRF-Token": token},
        )  # fmt: skip
        assert (without.status_code, elsewhere.status_code) == (403, 403)
        assert decisions(changed) == []

        browser.headers["X-CSRF-Token"] = token
        assert decide(browser, "aaaa").status_code == 200
        del browser.headers["X-CSRF-Token"]
    client.headers.pop("X-API-Key")
    assert decide(client, "aaaa").status_code == 401


def test_the_newest_calls_of_a_change_are_told_when_somebody_asks(client: TestClient) -> None:
    found = client.get("/live/calls", params={"change": "aaaa", "limit": 2}).json()

    assert [(each["call_id"], each["change"], each["has_card"]) for each in found] == [
        ("c2", "aaaa", True), ("c1", "aaaa", True),
    ]  # fmt: skip
    assert client.get("/live/calls", params={"change": "bbbb"}).json() == []
    assert client.get("/live/calls", params={"change": "a/b?c"}).json() == []
    assert client.get("/live/calls").status_code == 422
    assert client.get("/live/queue").json() == {"waiting": 0, "verdicts": []}


def test_a_followed_change_is_undone_by_a_rejection_and_begins_where_it_did(changed: Flaky, client: TestClient) -> None:
    changed.append(CHANGES, change_event("aaaa", "get_price", "followed", why="it has evolved"))
    first = next(changed.events("audit")).at
    rows = {row["id"]: row for row in client.get("/live/changes").json()["rows"]}
    assert (rows["aaaa"]["state"], rows["aaaa"]["why"], rows["aaaa"]["reviewed"]) == (
        "followed",
        "it has evolved",
        False,
    )
    undone = decide(client, "aaaa").json()

    assert (undone["state"], undone["why"], undone["opened"]) == ("fault", "", rows["aaaa"]["opened"])
    assert undone["opened"] <= first
    assert decisions(changed) == [("aaaa", "fault")]


# --- One call, opened up ---


def number_of(client: TestClient, call_id: str) -> int:
    return next(
        int(each["sequence"]) for each in client.get("/live/state").json()["verdicts"] if each["call_id"] == call_id
    )


def test_a_call_is_opened_up_with_its_change_and_its_label(client: TestClient) -> None:
    number = number_of(client, "c1")
    client.post("/live/reviews", json={"sequence": number, "was_hallucination": True})
    found = client.get(f"/live/calls/{number}").json()

    assert found["verdict"]["signals"][0]["said"] == "price is 1,000 times its usual level"
    assert found["verdict"]["label"]["was_hallucination"] is True
    assert (found["change"]["id"], found["change"]["calls"]) == ("aaaa", 3)
    assert found["kept"] is None


def test_what_was_kept_is_sent_to_whoever_opens_the_call_and_nowhere_else(changed: Flaky, client: TestClient) -> None:
    changed.append("audit", {**CALL, "call_id": "kept", "kept": {"args": "Reykjavik", "result": "Keflavik"}})
    number = number_of(client, "kept")

    assert client.get(f"/live/calls/{number}").json()["kept"] == {"args": "Reykjavik", "result": "Keflavik"}
    for address in ("/live/state", "/live/queue?limit=100", "/live/changes", "/metrics"):
        assert not {"Reykjavik", "Keflavik"} & set(client.get(address).text.split('"'))


@pytest.mark.parametrize(("number", "status"), [("999", 404), ("0", 404), ("-1", 422), ("x", 422), (str(2**53), 422)])
def test_what_is_no_call_is_told(client: TestClient, number: str, status: int) -> None:
    assert client.get(f"/live/calls/{number}").status_code == status


def test_a_store_that_cannot_be_read_is_told_of_a_call_too(changed: Flaky, client: TestClient) -> None:
    number = number_of(client, "c1")
    changed.unreadable = True

    answer = client.get(f"/live/calls/{number}")
    assert (answer.status_code, "gone" in answer.text) == (503, False)
