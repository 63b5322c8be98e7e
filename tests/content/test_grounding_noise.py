"""Values of an honest answer that no result says, and that are no finding; beside each kind, a value that is one."""

from __future__ import annotations

from typing import Any

import pytest

from agentguard.content import grounding


def said(answer: str, *results: Any) -> list[str]:
    """Name the values of an answer that are reported."""
    return [answer[finding.start : finding.end] for finding in grounding.check(answer, results).findings]


@pytest.mark.parametrize(
    ("answer", "results"),
    [
        # What is planned, offered, asked or supposed is no statement.
        ("I'll scale it to 48 pods and post it in `ops/plan.md`.", [{"pods": 5}]),
        ("My plan:\n\n1. Move it to `lib/new.py`.\n2. Wait 45 minutes.", [{"pods": 5}]),
        ("If it passes 9,500, page Ada.", [{"pods": 5}]),
        ("Shall I send it to 1,500 people?", [{"pods": 5}]),
        # A small count in words, or one of something else, is hard to trace.
        ("Both clips and nine links were checked.", [{"status": 200}]),
        ("6 are left.", [{"on_hand": 6}]),
        ("Scans 1, 2 and 4 are up; the office opens 8–12.", [{"status": 200}]),
        # A capital, a button's label, a title and a pronoun say little.
        ('Open Drive, choose *Settings*, then press "Add people".', [{"status": 200}]),
        ("Glad I could help, Mr Lowell.", [{"status": 200}]),
        ("It went to Mrs. Petit, said R. Pym.", ["Petit asked. Unloaded by R. Pym, counted."]),
        # Sums over calls, each of which says its amount as an argument and as a result: 5 + 5, 5 + 7.
        ("In total that is $10.00.", [{"amount": 5.0}, {"amount": 5.0}, {"amount": 5.0}]),
        ("In total that is $12.00.", [{"amount": 5.0}, {"amount": 5.0}, {"amount": 7.0}, {"amount": 7.0}]),
        # 57 - 31 = 26, and 186 / 60 = 3.1.
        ("Of 57 mails 31 were read, which leaves 26.", [{"unread": 57, "read": 31}]),
        ("The 60 kilos cost $186, $3.10 each.", [{"kilos": 60, "cost": 186}]),
        # Minor units, sizes in bytes, sizes as programs list them, and seconds: 900 / 60 = 15.
        ("The price is €120.00.", [{"price_minor": 12000}]),
        ("The file size is 21 MB.", [{"size": 21_000_000}]),
        ("The folder takes 18 GB.", ["18G\t./folder"]),
        ("It took 15 minutes.", [{"seconds": 900, "took": True}]),
        # Ids without their prefixes, or with one.
        ("PR 881 is merged.", [{"id": "pr-881"}]),
        ("Model v23 is live.", [{"version": 23}]),
        ("I posted it in #releases.", [{"ok": True}]),
        # Rows of CSV, a time before a colon, and days of a calendar where results have none.
        ("On the first there were 40,112.", ["day,dau\n2025-02-01,40112"]),
        ("At 09:14: it was down.", [{"at": "09:14"}]),
        ("Handover, 24 Nov.", [{"ok": True}]),
    ],
)
def test_what_is_hard_to_trace_or_can_be_calculated_is_no_finding(answer: str, results: list[Any]) -> None:
    assert said(answer, *results) == []


@pytest.mark.parametrize(
    ("answer", "results", "wrong"),
    [
        ("I scaled it to 48 pods.", [{"pods": 41}], "48"),
        ("I looked, and there are 48 pods. Shall I scale it?", [{"pods": 41}], "48"),
        ("7 are left.", [{"on_hand": 6}], "7"),
        ("In total that is $11.00.", [{"amount": 5.0}, {"amount": 5.0}, {"amount": 5.0}], "$11.00"),
        ("Of 57 mails 31 were read, which leaves 29.", [{"unread": 57, "read": 31}], "29"),
        ("The price is €140.00.", [{"price_minor": 12000}], "€140.00"),
        ("The share is 34.7.", [{"percent": 3470}], "34.7"),
        ("A night would cost 650.", [{"price": 65.0}], "650"),
        ("I would give it 78/100; it costs 32.5.", [{"price": 30.5}], "32.5"),
        ("The file size is 25 MB.", [{"size": 21_000_000}], "25 MB"),
        ("PR 882 is merged.", [{"id": "pr-881"}], "882"),
        ("Model v24 is live.", [{"version": 23}], "v24"),
        ("It was signed by Mia Doe.", [{"by": "Mia Kim"}], "Mia Doe"),
        ("On the first there were 41,112.", ["day,dau\n2025-02-01,40112"], "41,112"),
        ("Released on 25 July 2024.", [{"ok": True}], "25 July 2024"),
        ("Released on 25 July.", [{"on": "2024-07-21"}], "25 July"),
    ],
)
def test_a_wrong_value_is_still_found(answer: str, results: list[Any], wrong: str) -> None:
    assert wrong in [each.rstrip(".") for each in said(answer, *results)]
