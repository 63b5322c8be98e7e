"""Tools that were not called, beside the calls that were made."""

from __future__ import annotations

import pytest

from agentguard.content.actions import Call, Tool
from agentguard.content.actions._claims import claims
from agentguard.content.actions._compared import compared
from agentguard.content.actions._ledger import deeds
from agentguard.content.actions._signs import Ledger
from agentguard.content.actions._tools import ability_of, described_by

WAIT = Tool("addToWaitlist", "Puts a person on the waiting list of a course.", ("personId", "courseId"))
SEARCH = Tool("searchDirectory", "Searches people, rooms and courses.", ("query",))
MAIL = Tool("sendMail", "Sends an e-mail.", ("to", "body"))
MUTE = Tool("silence", "Mutes an alert for some minutes.", ("alert", "minutes"))
SHELL = Tool("shell", "Runs a command.", ("command",))


def signs(answer: str, calls: list[Call], tools: list[Tool]) -> frozenset[str]:
    named = {tool.name: tool for tool in tools}
    ledger = Ledger(list(deeds(calls, named)), {name: ability_of(tool) for name, tool in named.items()}, "")
    (seen,) = ledger.see([compared(claim) for claim in claims(answer)], answer)
    return seen.signs


@pytest.mark.parametrize(
    ("answer", "called", "tools", "nearer"),
    [
        # By the words that the tool alone has.
        ("I put Emre on the waiting list of Robotics.", Call("searchDirectory", {"query": "Robotics"}, "[]"),
         [WAIT, SEARCH, MAIL], True),
        # By the verb that its description begins with, where its name has another.
        ("I muted the disk alert.", Call("sendMail", {"to": "ops@example.org", "body": "The disk is full"}, "sent"),
         [MUTE, MAIL], True),
        # It was called.
        ("I muted the disk alert.", Call("silence", {"alert": "disk", "minutes": 15}, "ok"), [MUTE, MAIL], False),
        # A tool that does anything is the rival of none.
        ("I muted the disk alert.", Call("sendMail", {"to": "ops@example.org", "body": "The disk is full"}, "sent"),
         [SHELL, MAIL], False),
    ],
)  # fmt: skip
def test_a_tool_that_was_not_called_may_be_nearer(answer: str, called: Call, tools: list[Tool], nearer: bool) -> None:
    found = signs(answer, [called], tools)
    assert bool(found & {"a tool not called: nearer", "a tool not called: far nearer"}) is nearer


def test_a_call_that_is_left_over_explains_nothing_where_another_tool_would_have_been_it() -> None:
    left = Call("updateAlert", {"name": "disk", "minutes": 15}, "ok")
    assert "a call is left over" in signs("I muted the disk alert.", [left], [MAIL])
    assert "a call is left over" not in signs("I muted the disk alert.", [left], [MAIL, MUTE])


def test_a_call_that_is_known_to_be_another_act_is_left_over_for_none() -> None:
    mail = Call("sendMail", {"to": "ada@example.org", "body": "The disk is full"}, "sent")
    assert "a call is left over" not in signs("I muted the disk alert.", [mail], [MAIL])


def test_without_tools_there_is_no_rival() -> None:
    assert "tools not known" in signs("I emailed Ada.", [Call("sendMail", {"to": "Ada"}, "sent")], [])


@pytest.mark.parametrize(
    ("description", "verbs"),
    [
        ("Temporarily blocks a card.", {"block"}),
        ("restart / undo / status of a deployment", {"restart", "undo"}),
        ("Students of a course. Searches nothing.", set()),
        ("", set()),
    ],
)
def test_a_description_begins_with_what_its_tool_does(description: str, verbs: set[str]) -> None:
    assert described_by(description).verbs == verbs
