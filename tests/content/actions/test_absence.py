"""Claims that no call can have been, and calls read for what they did."""

from __future__ import annotations

import pytest
from tests.content.actions.decisions import ABSENT, OTHERWISE

from agentguard.content.actions import Call, Tool
from agentguard.content.actions._acts import is_vague, verb_acts
from agentguard.content.actions._claims import claims
from agentguard.content.actions._compared import compared
from agentguard.content.actions._ledger import UNKNOWN, deeds
from agentguard.content.actions._signs import Ledger
from agentguard.content.actions._tools import ability_of

SHELL = Tool("shell", "Runs a command.", ("command",))
MAIL = Tool("sendMail", "Sends an e-mail.", ("to", "body"))
EVENT = Tool("createEvent", "Creates an event.", ("title", "start"))
LEFT = "a call is left over"


def signs(answer: str, calls: list[Call], tools: list[Tool], question: str = "") -> list[frozenset[str]]:
    named = {tool.name: tool for tool in tools}
    ledger = Ledger(list(deeds(calls, named)), {name: ability_of(tool) for name, tool in named.items()}, question)
    return [seen.signs | seen.decision for seen in ledger.see([compared(claim) for claim in claims(answer)], answer)]


@pytest.mark.parametrize(
    ("command", "absent"),
    [
        ("journalctl -u worker -n 20", True),  # it only looked
        ("cd /srv && journalctl -u worker", True),
        ("journalctl -u worker && ./again.sh", False),  # who knows
        ("supervisorctl restart worker", False),
    ],
)
def test_a_command_that_is_known_is_what_it_is(command: str, absent: bool) -> None:
    (found,) = signs("I restarted the importer.", [Call("shell", {"command": command}, "ok")], [SHELL, MAIL])
    assert bool(ABSENT & found) is absent


def test_a_tool_that_does_anything_did_nothing_where_it_was_not_called() -> None:
    calls = [Call("createEvent", {"title": "Lunch", "start": "12:00"}, {"id": 1})]
    (found,) = signs("I emailed the invoice to Dana.", calls, [SHELL, MAIL, EVENT])
    assert found & ABSENT


def test_what_names_nothing_can_have_been_any_call() -> None:
    calls = [Call("createEvent", {"title": "Lunch", "start": "12:00"}, {"id": 1})]
    (found,) = signs("The second one was accepted.", calls, [MAIL, EVENT])
    assert not ABSENT & found


def test_what_the_user_named_exactly_is_in_a_call_or_was_not_done() -> None:
    call = Call("sendMail", {"to": "ada@example.org", "body": "Hi"}, "sent")
    asked = "Mail ada@example.org and bob@example.org"
    sent, unsent = signs("I emailed ada@example.org. I emailed bob@example.org.", [call], [MAIL], asked)
    assert not ABSENT & sent
    assert unsent & (ABSENT | OTHERWISE)


def test_what_is_said_exactly_is_in_a_call_where_no_call_fits() -> None:
    (found,) = signs("The notes are now in #design.", [Call("createEvent", {"title": "Lunch"}, {"id": 1})], [EVENT])
    assert found & ABSENT


def test_a_call_that_another_claim_is_about_is_left_over_for_none() -> None:
    call = Call("shell", {"command": "./release.sh catalog"}, "catalog released")
    tools = [Tool("shell", "Runs a command.", ("command",))]
    (alone,) = signs("I watered the plants.", [call], tools)
    *_, beside = signs("I released the catalog. I watered the plants.", [call], tools)
    assert LEFT in alone
    assert LEFT not in beside


@pytest.mark.parametrize(
    ("command", "acts"),
    [
        ("certbot renew --cert-name a", verb_acts("renew")),
        ("git push && ./after.sh", frozenset({"push"}) | UNKNOWN),
        ("gh pr view 7", frozenset({"read"})),
        ("'\ud800'", UNKNOWN),
    ],
)
def test_the_steps_of_a_command_say_what_it_did(command: str, acts: frozenset[str]) -> None:
    (deed,) = deeds([Call("shell", {"command": command}, "ok")], {"shell": SHELL})
    assert deed.acts - {"run"} == acts


def test_a_tool_may_have_the_name_of_its_program() -> None:
    (deed,) = deeds([Call("git", {"args": "log -1 --oneline"}, "a1 Fix")], {"git": Tool("git", "", ("args",))})
    assert deed.acts == {"read"}


def test_the_noun_that_is_made_may_stand_before() -> None:
    assert "refund" in ability_of(Tool("payments.refunds.create")).acts
    assert "refund" not in ability_of(Tool("payments.refunds.get")).acts


@pytest.mark.parametrize(("word", "plain"), [("rebooked", "booked"), ("force-pushed", "pushed")])
def test_again_and_by_force_it_is_the_same_act(word: str, plain: str) -> None:
    assert verb_acts(word) == verb_acts(plain) != frozenset()


@pytest.mark.parametrize("word", ["result", "oom-killed", "reach"])
def test_other_words_that_begin_so_are_none(word: str) -> None:
    assert verb_acts(word) == frozenset()


@pytest.mark.parametrize(
    ("answer", "absent"),
    [
        ("I opened port 443 for IPv6.", False),  # a standard
        ("I opened port 443 for the check, as v2 demands.", False),
        ("I opened port 443 as PRT-61.", True),
    ],
)
def test_a_standard_is_no_identifier_that_a_call_has(answer: str, absent: bool) -> None:
    calls = [Call("shell", {"command": "ufw allow 443/tcp"}, "Rule added")]
    assert bool(ABSENT & signs(answer, calls, [SHELL])[-1]) is absent


@pytest.mark.parametrize(
    ("command", "answer", "fits"),
    [
        ("featurectl enable dark-mode", "I disabled dark-mode.", False),
        ("featurectl disable dark-mode", "I disabled dark-mode.", True),
        ("git worktree add /tmp/audit", "The worktree has been removed.", False),
        ("git worktree remove /tmp/audit", "The worktree has been removed.", True),
    ],
)
def test_a_call_of_the_opposite_verb_is_not_the_claim(command: str, answer: str, fits: bool) -> None:
    (found,) = signs(answer, [Call("shell", {"command": command}, "ok")], [SHELL, MAIL])
    assert ("fits nothing" not in found) is fits


def test_where_nothing_but_looks_was_made_a_deed_is_told_of_looks_alone() -> None:
    look = Call("getGuest", {"name": "Okafor"}, {"id": "g-3", "name": "Okafor"})
    (found,) = signs("I sent Okafor the brochure.", [look], [MAIL, Tool("getGuest")])
    assert "every call only looked, form: active" in found


def test_what_was_looked_up_needs_a_look() -> None:
    calls = [Call("createEvent", {"title": "Lunch", "start": "12:00"}, {"id": 1})]
    assert "no call looked" in signs("I double-checked the opening hours.", calls, [EVENT])[0]
    calls.append(Call("getHours", {"place": "Trattoria"}, "9 to 17"))
    assert "no call looked" not in signs("I double-checked the opening hours.", calls, [EVENT])[0]


def test_what_a_call_did_besides_is_told_by_its_result() -> None:
    call = Call("deleteEvent", {"id": 4}, {"deleted": 4, "cancellationsSent": ["bo@example.org"]})
    assert "fits by its tool" in signs("I emailed Bo.", [call], [EVENT])[0]


def test_a_call_may_be_nearer_to_another_claim() -> None:
    calls = [Call("createEvent", {"title": "Budget round", "start": "12:00"}, {"id": 1})]
    first, second = signs("I created the Budget round event. I added a packing list.", calls, [EVENT])
    assert "its call is nearer to another claim" not in first
    assert "its call is nearer to another claim" in second


@pytest.mark.parametrize(
    ("name", "sends"), [("crm_get_contact", False), ("crm_update_contact", False), ("email_send", True)]
)
def test_the_object_in_a_name_is_not_its_verb(name: str, sends: bool) -> None:
    assert ("send" in ability_of(Tool(name)).acts) is sends


@pytest.mark.parametrize(
    ("answer", "vague"),
    [("Three mails went to the trash.", True), ("I let the tenants know.", False), ("I turned on the boiler.", False)],
)
def test_a_verb_that_says_little(answer: str, vague: bool) -> None:
    (claim,) = claims(answer)
    assert is_vague(claim.meaning) is vague
