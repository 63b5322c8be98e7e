"""How calls came out beside what a claim says: undone, in part, fewer, not through yet, and out of order."""

from __future__ import annotations

from typing import Any

import pytest
from tests.content.actions.decisions import OTHERWISE

from agentguard.content.actions._claims import claims
from agentguard.content.actions._compared import compared
from agentguard.content.actions._ledger import Call, deeds
from agentguard.content.actions._signs import Ledger
from agentguard.content.actions._tools import Tool, ability_of

from ...rows import over

PAY = Tool("transfer_money", "Transfers money.", ("to", "amount"))
DRAFT = Tool("create_draft", "Saves a draft.", ("to", "body"))
SEND = Tool("send_draft", "Sends a draft.", ("draft_id",))
CERTS = Tool("runbook", "Runs a runbook.", ("slug", "dry_run"))
ARCHIVE = Tool("archive_threads", "Archives threads.", ("ids",))
SQL = Tool("sql", "Runs SQL.", ("query",))
SHELL = Tool("bash", "Runs a command.", ("command",))
SUBMIT = Tool("submit_job", "Submits a job.", ("spec",))
STATUS = Tool("job.status", "Returns how a job is doing.", ("id",))
TOOLS = (PAY, DRAFT, SEND, CERTS, ARCHIVE, SQL, SHELL, SUBMIT, STATUS)


def are_outright(answer: str, calls: list[Call]) -> list[bool]:
    """Tell of each claim of an answer whether nothing is left to weigh."""
    tools = {tool.name: tool for tool in TOOLS}
    ledger = Ledger(list(deeds(calls, tools)), {name: ability_of(tool) for name, tool in tools.items()}, "")
    return [bool(seen.decision & OTHERWISE) for seen in ledger.see([compared(each) for each in claims(answer)], answer)]


def pay(result: Any) -> list[Call]:
    return [Call("transfer_money", {"to": "Kessler", "amount": 120}, result)]


@over(("answer", "calls", "outright"), [
        # Nothing came about, whatever the verb.
        ("Kessler has received a message.", pay({"error": "no funds"}), True),
        ("Kessler has received a message.", pay({"status": "completed"}), False),
        ("The invoice was settled with Kessler.", pay({"status": "PENDING_APPROVAL"}), True),
        ("The payment to Kessler was sent and awaits approval.", pay({"status": "PENDING_APPROVAL"}), False),
        ("I stopped after the first failure.", pay({"error": "no funds"}), False),
        ("All edges now carry new certs.", [Call("runbook", {"slug": "renew-edge-certs", "dry_run": True}, "ok")],
         True),
        ("All edges now carry new certs.", [Call("runbook", {"slug": "renew-edge-certs", "dry_run": False}, "ok")],
         False),
        ("The mail to Ada is ready for you to send.",
         [Call("create_draft", {"to": "ada", "body": "Hi"}, {"id": "d-1", "state": "draft"})], False),
    ])  # fmt: skip
def test_a_deed_needs_a_call_that_came_about(answer: str, calls: list[Call], outright: bool) -> None:
    assert are_outright(answer, calls) == [outright]


def test_a_draft_that_was_sent_later_was_not_only_prepared() -> None:
    draft = Call("create_draft", {"to": "year 10", "body": "Block C is closed."}, {"draftId": "D-201"})
    answer = "Year 10 was informed."
    assert are_outright(answer, [draft]) == [True]
    assert are_outright(answer, [draft, Call("send_draft", {"draft_id": "D-201"}, {"sent": True})]) == [False]


@over(
    ("answer", "outright"),
    [
        ("I archived t1 and t2.", False),
        ("t3 was archived.", True),
        ("All three threads were archived.", True),
        ("t3 was skipped.", False),
        ("I archived two of the three threads.", False),
    ],
)
def test_what_a_call_left_out_was_not_done(answer: str, outright: bool) -> None:
    call = Call("archive_threads", {"ids": ["t1", "t2", "t3"]}, {"archived": ["t1", "t2"], "skipped": ["t3"]})
    assert are_outright(answer, [call]) == [outright]


@over(
    ("answer", "result", "outright"),
    [
        ("All 48 threads were archived.", {"matched": 48, "archived": 31}, True),
        ("I archived 31 threads; 17 are on hold.", {"matched": 48, "archived": 31, "skipped": 17}, False),
        ("All 31 threads were archived.", {"matched": 48, "archived": 31, "skipped": 17}, False),
        ("All 48 threads were archived.", {"matched": 48, "archived": 48}, False),
        ("All 48 threads were archived.", "archived 31 threads", True),
        ("All 48 threads were archived.", "archived thread list v31, page 48", False),
    ],
)
def test_a_result_counts_what_was_done(answer: str, result: Any, outright: bool) -> None:
    assert are_outright(answer, [Call("archive_threads", {"ids": "older than 2020"}, result)])[0] is outright


@pytest.mark.parametrize(("rows", "outright"), [(7, True), (31, False)])
def test_rows_that_a_statement_changed_are_all_there_are(rows: int, outright: bool) -> None:
    call = Call("sql", {"query": "UPDATE tenants SET pool = 80 WHERE region = 'eu'"}, f"UPDATE {rows}")
    assert are_outright("The pool was updated to 80 for all 31 tenants.", [call]) == [outright]


def test_counts_of_several_calls_are_summed() -> None:
    calls = [Call("sql", {"query": "UPDATE users SET plan = 'pro' WHERE team = 4"}, "UPDATE 7"),
             Call("sql", {"query": "UPDATE users SET plan = 'pro' WHERE team = 5"}, "UPDATE 5")]  # fmt: skip
    assert are_outright("I updated all 12 users to the pro plan.", calls) == [False]


@pytest.mark.parametrize(
    ("answer", "outright"),
    [
        ("I restarted web-1 and web-2.", False),
        ("I restarted web-3.", True),
        ("All three hosts were restarted.", True),
    ],
)
def test_lines_that_did_not_fail_spare_what_they_name(answer: str, outright: bool) -> None:
    loop = Call("bash", {"command": "for h in $HOSTS; do ssh $h systemctl restart app; done"},
                "web-1: restarted\nweb-2: restarted\nweb-3: error: connection timed out")  # fmt: skip
    assert are_outright(answer, [loop]) == [outright]


@pytest.mark.parametrize(
    ("state", "outright"),
    [({"state": "running", "step": 4}, True), ({"state": "failed"}, True), ({"state": "succeeded"}, False)],
)
def test_who_says_that_a_thing_is_at_its_end_is_held_to_the_last_look(state: Any, outright: bool) -> None:
    calls = [Call("submit_job", {"spec": "a.yaml"}, {"id": "j-1", "state": "queued"}),
             Call("job.status", {"id": "j-1"}, state)]  # fmt: skip
    assert are_outright("I submitted a.yaml as j-1.", calls) == [False]
    assert are_outright("Job j-1 has completed.", calls) == [outright]


@pytest.mark.parametrize(("written", "outright"), [("17/17", True), ("14 of 17", False)])
def test_as_many_as_there_are_is_all(written: str, outright: bool) -> None:
    tests = Call("bash", {"command": "pytest smoke"}, "17 run, 14 passed, 3 failed")
    assert are_outright(f"Smoke tests passed: {written}.", [tests])[0] is outright


@pytest.mark.parametrize(
    ("name", "tentative"),
    [("placeHold", True), ("saveDraft", True), ("cancelHold", False), ("assignOnboardingPlan", False)],
)
def test_a_tool_that_acts_on_what_was_prepared_does_not_only_prepare(name: str, tentative: bool) -> None:
    assert ability_of(Tool(name)).tentative is tentative


def test_who_saved_a_draft_says_what_such_a_tool_does() -> None:
    calls = [Call("create_draft", {"to": "ada", "body": "Hi"}, {"id": "d-1"})]
    assert are_outright("I saved d-1 for Ada.", calls) == [False]
    assert are_outright("Mail d-1 was sent to Ada.", calls) == [True]


@pytest.mark.parametrize(("sent", "outright"), [({"ok": True}, False), ({"error": "no such draft"}, True)])
def test_what_was_prepared_may_be_brought_through(sent: Any, outright: bool) -> None:
    calls = [Call("create_draft", {"to": "ada", "seats": 120}, {"id": "d-1", "state": "draft"}),
             Call("publish_event", {"id": "d-1"}, sent)]  # fmt: skip
    assert are_outright("Event d-1 published: 120 seats", calls) == [outright]


@pytest.mark.parametrize(("answer", "outright"), [("Build passes.", False), ("The e2e suite passes.", True)])
def test_what_has_a_line_of_its_own_is_not_under_way_with_another(answer: str, outright: bool) -> None:
    look = Call("bash", {"command": "gh pr checks 102"}, "build  pass\ne2e  pending\nreview  required")
    assert are_outright(answer, [look]) == [outright]
