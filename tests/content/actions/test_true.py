"""True claims that a reader may take for false ones: nothing decides them outright."""

from __future__ import annotations

from typing import Any

import pytest

from agentguard.content.actions._claims import claims
from agentguard.content.actions._compared import compared
from agentguard.content.actions._ledger import Call, deeds
from agentguard.content.actions._signs import Ledger
from agentguard.content.actions._tools import Tool, ability_of


def decided(answer: str, *calls: tuple[str, Any, Any]) -> list[str]:
    """The claims of an answer that are decided to be false."""
    made = [Call(*each) for each in calls]
    tools = {name: Tool(name) for name in {call.tool for call in made} | {"send_mail"}}
    ledger = Ledger(list(deeds(made, tools)), {name: ability_of(tool) for name, tool in tools.items()}, "")
    stated = list(claims(answer))
    seen = ledger.see([compared(each) for each in stated], answer)
    return [answer[one.start : one.end] for one, each in zip(stated, seen, strict=True) if each.decision]


REMOVE = ("shell", {"command": "bin/vm rm vm-11 vm-12 vm-13"},
          {"exit_code": 1, "stdout": "vm-11 removed\nvm-12 error: volume is protected\nvm-13 removed\n"})  # fmt: skip
PRINT = ("send_to_printer", {"file": "plan.pdf", "copies": 2}, {"job": "J-4", "status": "queued"})


@pytest.mark.parametrize(
    ("answer", "call"),
    [
        ("`vm-11` and `vm-13` were removed.", REMOVE),
        ("I ran a clean install and it complains about a peer dependency.",
         ("shell", {"command": "npm ci"}, {"exit_code": 1, "stderr": "ERESOLVE could not resolve: react"})),
        ("I sent plan.pdf to the printer. The job is queued.", PRINT),
        ("The stage site runs on three pods now.",
         ("scale", {"namespace": "preview-anna", "service": "site", "pods": 3}, {"before": 1, "after": 3})),
    ],
)  # fmt: skip
def test_what_failed_beside_it_or_is_owned_up_to_is_no_lie(answer: str, call: tuple[str, Any, Any]) -> None:
    assert decided(answer, call) == []


def test_what_is_hidden_is_one() -> None:
    assert decided("`vm-12` was removed.", REMOVE)
    assert decided("I printed plan.pdf for you.", ("print_file", {"file": "plan.pdf"}, {"error": "out of paper"}))
    assert decided("I sent the letter to Ada.", ("send_letter", {"to": "Ada"}, {"status": "pending_review"}))


@pytest.mark.parametrize(
    "answer",
    [
        "The booking is moved to Friday 16 May at 8 pm.",
        "The booking is moved to 16 May, 8:00–9:30 pm.",
        "I moved the booking to 16 May at 8:00, an hour and a half long.",
    ],
)
def test_a_day_and_its_hour_may_be_said_otherwise(answer: str) -> None:
    args = {"id": "b7", "date": "2025-05-16", "start": "20:00", "end": "21:30"}
    assert decided(answer, ("move_booking", args, {"ok": True})) == []


def test_another_hour_is_none() -> None:
    args = {"id": "b7", "date": "2025-05-16", "start": "20:00"}
    assert decided("I moved the booking to 16 May at 7 pm.", ("move_booking", args, {"ok": True}))


def test_what_a_result_says_was_done_beside_is_done() -> None:
    cancel = ("cancel_class", {"id": "c-5"}, {"status": "cancelled", "refund_credits": 1, "noticesSent": 12})
    assert decided("One credit went back to your account and twelve notices were sent.", cancel) == []


def test_of_several_records_only_those_that_are_named_count() -> None:
    records = [{"id": "d-81", "sha": "4be01", "status": "failed"}, {"id": "d-80", "sha": "a99ff", "status": "passed"}]
    listed = ("list_deploys", {"env": "prod"}, records)
    assert decided("The deploy of a99ff went through.", listed) == []


@pytest.mark.parametrize(
    "answer",
    ["I ordered 36 filters, €153 in all.", "I ordered three dozen filters for €153.", "I ordered 36 filters at €4.25."],
)
def test_a_product_is_made_of_its_factors(answer: str) -> None:
    order = ("order_parts", {"sku": "F-20", "qty": 36}, {"po": "PO-3", "unit_price": 4.25})
    assert decided(answer, order) == []


def test_a_check_that_was_made_again_counts_as_it_came_out_last() -> None:
    first = ("run_tests", {"args": "-k cache --count 20"}, {"exit_code": 1, "stdout": "18 passed, 2 failed"})
    edit = ("edit_file", {"path": "cache.py", "old": "0.01", "new": "0.05"}, {"ok": True})
    last = ("run_tests", {"args": "-k cache --count 50"}, {"exit_code": 0, "stdout": "50 passed"})
    assert decided("Every test passed.", first, edit, last) == []
    assert decided("Every test passed.", first, edit)
