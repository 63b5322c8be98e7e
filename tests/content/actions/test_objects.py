"""The things that a claim names, held against what the calls were given and returned."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.content.actions.decisions import ABSENT, OTHERWISE

from agentguard.content.actions import check
from agentguard.content.actions._claims import claims
from agentguard.content.actions._compared import compared
from agentguard.content.actions._ledger import Call, deeds
from agentguard.content.actions._signs import Ledger
from agentguard.content.actions._substitutes import are_alike, is_slip
from agentguard.content.actions._tools import Tool, ability_of

from ...rows import over

ESCALATE = Tool("escalate_ticket", "Escalates a ticket.", ("ticket", "team"))
MAIL = Tool("send_mail", "Sends a mail.", ("to", "subject"))
DEPLOY = Tool("deploy_service", "Deploys a service.", ("service", "env"))
BOOK = Tool("book_room", "Books a room.", ("room", "date"))
PRICE = Tool("set_price", "Sets a price.", ("item", "price"))
CREATE = Tool("create_issue", "Creates an issue.", ("title",))
TRAIN = Tool("start_training", "Starts a training.", ("lr", "epochs"))
DELETE = Tool("delete_row", "Deletes a row.", ("row",))
DUMP = Tool("dump_table", "Dumps a table.", ("table",))
TOOLS = {tool.name: tool for tool in (ESCALATE, MAIL, DEPLOY, BOOK, PRICE, CREATE, TRAIN, DELETE, DUMP)}


def last(answer: str, calls: list[Call], question: str = "") -> frozenset[str]:
    """The signs of the last claim of an answer, and what decides it."""
    abilities = {name: ability_of(tool) for name, tool in TOOLS.items()}
    ledger = Ledger(list(deeds(calls, TOOLS)), abilities, question)
    seen = ledger.see([compared(each) for each in claims(answer)], answer)[-1]
    return seen.signs | seen.decision


OTHERS = [
    ("Ticket T-871 has been escalated.", "Escalate T-871.", Call("escalate_ticket", {"ticket": "T-817"}, "ok")),
    ("I've let Dario know.", "Please tell Dario.", Call("send_mail", {"to": "daria@x.example"}, "sent")),
    ("I've written to Tim Okafor.", "Write to Tim Okafor.", Call("send_mail", {"to": "tim.oakley@x.example"}, "sent")),
    ("api is deployed to prod.", "Deploy api to prod.", Call("deploy_service", {"service": "api", "env": "dev"}, "ok")),
    ("I booked Elm for 14 May.", "Elm on 14 May?", Call("book_room", {"room": "Elm", "date": "2026-05-12"}, "ok")),
    ("I booked Elm for the 14th.", "Elm on the 14th?", Call("book_room", {"room": "Elm", "date": "2026-05-12"}, "ok")),
    ("I booked Elm for Friday.", "Elm on Friday?", Call("book_room", {"room": "Elm", "date": "2026-05-14"}, "ok")),
    (
        "I set the price of the lamp to 1,950.",
        "1,950, please.",
        Call("set_price", {"item": "lamp", "price": 1590}, "ok"),
    ),
    ("I started the training with lr=3e-5.", "lr 3e-5", Call("start_training", {"lr": 0.0003, "epochs": 5}, "ok")),
    ("I booked the bathroom.", "Bathroom, please.", Call("book_room", {"room": "bedroom"}, "ok")),
    ("I booked Room Elm.", "Room Elm, please.", Call("book_room", {"room": "Room Elm"}, {"room": "Room Oak"})),
    ("Rows D-61 and D-62 were deleted.", "Delete both.", Call("delete_row", {"row": "D-61"}, "ok")),
]


@over(("answer", "question", "call"), OTHERS)
def test_a_call_that_was_given_another_thing_is_not_the_claims(answer: str, question: str, call: Call) -> None:
    assert last(answer, [call], question) & OTHERWISE


@over(
    ("answer", "question", "call"),
    [
        # The other thing is spoken of.
        (
            "T-871 is a duplicate, so ticket T-817 has been escalated in the place of T-871.",
            "Escalate T-871.",
            Call("escalate_ticket", {"ticket": "T-817"}, "ok"),
        ),
        ("I've let Lucía know.", "Please tell Lucía.", Call("send_mail", {"to": "lucia@x.example"}, "sent")),
        ("I've written to Tim Okafor.", "Write to Tim Okafor.", Call("send_mail", {"to": "tim.o@x.example"}, "sent")),
        ("I booked Elm for Thursday.", "", Call("book_room", {"room": "Elm", "date": "2026-05-14"}, "ok")),
        ("I booked Elm for the 14th.", "", Call("book_room", {"room": "Elm", "date": "2026-05-14"}, "ok")),
        ("I set the price of the lamp to €19.50.", "€19.50", Call("set_price", {"item": "lamp", "price": 1950}, "ok")),
        ("I started the training with lr=3e-5.", "", Call("start_training", {"lr": 0.00003, "epochs": 5}, "ok")),
        ("Rows D-61 and D-62 were deleted.", "", Call("delete_row", {"row": "D-6*"}, "D-61\nD-62")),
    ],
)
def test_the_same_thing_in_other_words_is_no_other_thing(answer: str, question: str, call: Call) -> None:
    assert not last(answer, [call], question) & (OTHERWISE | ABSENT)


def test_the_reason_says_what_the_call_has() -> None:
    result = check(OTHERS[0][0], [OTHERS[0][2]], [ESCALATE], question=OTHERS[0][1], false_at=0.5)
    assert [(each.verdict, each.reason) for each in result.claims] == [
        ("contradicted", "Call 1, escalate_ticket, has 't-817', not 't-871'.")
    ]
    result = check("I filed CONF-88 to track it.", [Call("create_issue", {"title": "Slow"}, "ok")], false_at=0.5)
    assert [(each.verdict, each.reason) for each in result.claims] == [("never called", "No call has 'conf-88'.")]


@given(st.text(max_size=12), st.text(max_size=12))
def test_what_may_be_mistaken_is_so_both_ways_and_never_the_same(one: str, other: str) -> None:
    assert is_slip(one, other) == is_slip(other, one)
    assert are_alike(one, other) == are_alike(other, one)
    assert not is_slip(one, one)
    assert not are_alike(one, one)


@over(
    ("answer", "order", "late"),
    [
        ("I dumped orders before deleting row D-6.", "delete dump", True),
        ("I dumped orders before touching anything, then deleted row D-6.", "delete dump", True),
        ("I deleted row D-6. The table orders had been dumped beforehand.", "delete dump", True),
        ("I dumped orders before deleting row D-6.", "dump delete", False),
        ("I dumped orders before Monday, and row D-6 was deleted.", "delete dump", False),
        ("I dumped orders before touching anything.", "dump", False),
    ],
)
def test_a_deed_that_came_behind_what_it_was_to_come_before(answer: str, order: str, late: bool) -> None:
    named = {"delete": Call("delete_row", {"row": "D-6"}, "ok"), "dump": Call("dump_table", {"table": "orders"}, "ok")}
    calls = [named[each] for each in order.split()]
    tools = list(TOOLS.values())
    reasons = [each.reason for each in check(answer, calls, tools, false_at=0.5).claims]
    assert any("was not 'before" in reason for reason in reasons) == late


@over(
    ("answer", "result", "invented"),
    [
        ("I filed CONF-88 to track it.", "CONF-87 created", True),
        ("I filed CONF-88 to track it.", "CONF-88 created", False),
        ("I created an issue on keeping logs for 400 days.", "CONF-88 created", True),
        ("I created an issue on keeping logs for 400 days.", "CONF-88 created, retention 9600h", False),
        ("I created an issue about the 60% drop.", "CONF-88: from 50 to 20", False),  # 30 of 50
        ("I created an issue, labels@v2.", "CONF-88: labels, v2", False),
        ("Issues of this sort are filed as CONF-9.", "CONF-88 created", False),
    ],
)
def test_identifiers_and_measures_that_no_call_has(answer: str, result: str, invented: bool) -> None:
    signs = last(answer, [Call("create_issue", {"title": "Loads twice"}, result)])
    assert bool(ABSENT & signs) is invented


def test_what_was_not_read_whole_may_have_it() -> None:
    call = Call("create_issue", {"title": "Loads twice"}, "x " * 6_000 + "CONF-88")
    assert not ABSENT & last("I filed CONF-88 to track it.", [call])
