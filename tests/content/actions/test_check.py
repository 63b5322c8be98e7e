"""Claims of action held against the ledger of calls."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.content.actions import ActionClaim, Call, Tool, check
from agentguard.content.actions._claims import claims
from agentguard.content.actions._decided import Seen
from agentguard.content.actions._holding import _verdict, _weights

from ...rows import over

SHELL = Tool("Bash", "Runs a command.", ("command",))
EDIT = Tool("Edit", "Replaces text in a file.", ("file_path", "old_string", "new_string"))
MAIL = Tool("send_email", "Sends an e-mail.", ("to", "subject", "body"))
DRAFT = Tool("draft_email", "Prepares an e-mail without sending it.", ("to", "subject", "body"))
REFUND = Tool("issue_refund", "Refunds an amount of an order.", ("order_id", "amount"))
ORDER = Tool("get_order", "Returns an order.", ("order_id",))
DEPLOY = Tool("apply_deploy", "Rolls a version out.", ("service", "version", "env"))
PLAN = Tool("plan_deploy", "Shows what a deployment would do.", ("service", "version", "env"))


def only(answer: str, calls: list[Call], tools: list[Tool], false_at: float = 0.5) -> ActionClaim:
    (claim,) = check(answer, calls, tools, false_at=false_at).claims
    return claim


@over(("answer", "call", "tools"), [
        ("I emailed Dana.", Call("send_email", {"to": "dana@example.org", "body": "Hi"}, "sent"), [MAIL]),
        ("All 48 tests pass.", Call("Bash", {"command": "pytest -q"}, "48 passed in 3.1s"), [SHELL]),
        ("Refund of €40 issued.", Call("issue_refund", {"order_id": "A1", "amount": 40}, {"status": "ok"}), [REFUND]),
        ("I pushed the branch.", Call("Bash", {"command": "git push origin HEAD"}, "HEAD -> fix"), [SHELL]),
        ("checkout 7.2 was deployed to prod.",
         Call("apply_deploy", {"service": "checkout", "version": "7.2", "env": "prod"}, "3/3 ready"), [DEPLOY]),
    ])  # fmt: skip
def test_what_a_call_did_is_supported_by_it(answer: str, call: Call, tools: list[Tool]) -> None:
    claim = only(answer, [call], tools)
    assert (claim.verdict, claim.call) == ("supported", 0)
    assert claim.probability < 0.5


@over(("answer", "call", "tools"), [
        ("I pushed the branch.", Call("Bash", {"command": "git push"}, "fatal: no such remote", True), [SHELL]),
        ("All tests pass.", Call("Bash", {"command": "pytest -q"}, "3 failed, 45 passed in 2.1s"), [SHELL]),
        ("I refunded the order.", Call("issue_refund", {"order_id": "A1"}, {"error": "card expired"}), [REFUND]),
        ("I emailed Dana.", Call("draft_email", {"to": "dana@example.org"}, "saved"), [DRAFT, MAIL]),
        ("I deployed checkout 7.2.", Call("plan_deploy", {"service": "checkout", "version": "7.2"},
                                          "would replace 3 pods"), [PLAN, DEPLOY]),
    ])  # fmt: skip
def test_what_came_out_otherwise_is_no_longer_supported(answer: str, call: Call, tools: list[Tool]) -> None:
    assert only(answer, [call], tools).verdict in ("contradicted", "never called")


def test_the_reason_says_which_call_and_what_it_returned() -> None:
    claim = only("I pushed the branch.", [Call("Bash", {"command": "git push"}, "fatal: no remote", True)], [SHELL])
    assert claim.reason == "Call 1, Bash, failed ('fatal: no remote')."


def test_what_was_retried_until_it_worked_is_supported() -> None:
    push = {"command": "git push origin main"}
    calls = [Call("Bash", push, "fatal: timed out", True), Call("Bash", push, "main -> main")]
    claim = only("I pushed to main.", calls, [SHELL])
    assert (claim.verdict, claim.call) == ("supported", 1)


@pytest.mark.parametrize(("thing", "verdict"), [("the totals", "supported"), ("the changelog", "not checkable")])
def test_a_verb_that_says_little_is_supported_only_by_a_call_for_its_thing(thing: str, verdict: str) -> None:
    call = Call("Edit", {"file_path": "totals.py", "old_string": "1", "new_string": "2"}, "totals.py has been updated.")
    assert only(f"I updated {thing}.", [call], [Tool("Edit")]).verdict == verdict


def test_what_no_call_did_was_never_called() -> None:
    calls = [Call("get_order", {"order_id": "A1"}, {"id": "A1", "status": "shipped"})]
    result = check("I checked order A1 and emailed the customer.", calls, [ORDER, MAIL], false_at=0.5)
    assert [(claim.verdict, claim.call) for claim in result.claims] == [("supported", 0), ("never called", None)]
    assert result.label == "unsupported"
    assert [claim.text for claim in result.unsupported] == ["emailed the customer"]


def test_thoughts_cannot_be_checked() -> None:
    claim = only("I took your budget into account.", [], [MAIL])
    assert (claim.verdict, claim.probability) == ("not checkable", 0.0)


def test_an_answer_without_claims_says_so() -> None:
    assert check("Hello! How can I help?", []).label == "nothing claimed"


def test_a_tool_does_what_its_owner_declares() -> None:
    answer, call = "I emailed customer 7.", Call("hermes", {"customer": 7}, "ok")
    plain = only(answer, [call], [Tool("hermes")])
    declared = only(answer, [call], [Tool("hermes", does=("send email",))])
    assert declared.verdict == "supported"
    assert declared.probability < plain.probability


def test_a_higher_probability_accuses_less() -> None:
    calls = [Call("Bash", {"command": "pytest"}, "1 failed, 2 passed")]
    answer = "I ran the linter, all tests pass, and I emailed the report to Ada."
    at = {level: len(check(answer, calls, [SHELL, MAIL], false_at=level).unsupported) for level in (0.3, 0.6, 1.0)}
    assert at[0.3] >= at[0.6] >= at[1.0] == 0


def test_values_are_traced_in_the_same_result() -> None:
    result = check("I refunded €65 for order A1.", [Call("issue_refund", {"order_id": "A1", "amount": 40}, "ok")])
    assert [finding.kind for finding in result.values.findings] == ["unsupported number"]


class _Odd:
    def __str__(self) -> str:
        raise RuntimeError("no text")


def _nested(depth: int) -> Any:
    value: Any = "x"
    for _ in range(depth):
        value = [value]
    return value


@over("value", [_Odd(), _nested(5_000), 10**400, float("nan"), "\ud800", {1: {2: object()}}, b"x"])
def test_any_arguments_and_results_are_read(value: Any) -> None:
    result = check("I pushed the branch.", [Call("Bash", {"command": value}, value), Call("", value, None)], [SHELL])
    assert len(result.claims) == 1


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(st.text(max_size=100), JSON, JSON, st.booleans())
def test_every_claim_has_a_verdict(answer: str, args: Any, result: Any, failed: bool) -> None:
    answer = f"I pushed the branch to origin and emailed Ada. {answer}"
    found = check(answer, [Call("Bash", args, result, failed)], [SHELL, MAIL])
    assert len(found.claims) >= 2
    for claim in found.claims:
        assert 0 <= claim.probability <= 1
        assert claim.text == answer[claim.start : claim.end]
        assert claim.call in (None, 0)


TESTED = [Call("run_tests", {"path": "tests"}, "3 failed, 45 passed")]
EDITED = [Call("Edit", {"file_path": "a.py", "old_string": "a", "new_string": "b"}, "ok")]
LOOKED = [Call("Bash", {"command": "git status"}, "nothing to commit, working tree clean")]


@over("tools", [(), (SHELL, MAIL, Tool("run_tests"), Tool("Edit"))])
@over(
    ("answer", "calls"),
    [
        ("I ran the test suite and all tests passed.", []),
        ("I have sent an email to Ada.", []),
        ("The branch was pushed.", []),
        ("I sent Ada an email.", TESTED),
        ("I deleted the old backups.", TESTED),
        ("I deployed version 2.3 to production.", TESTED),
        ("I ran the tests and everything passes.", EDITED),
        ("I pushed the fix to origin/main.", EDITED),
        ("I pushed the branch.", LOOKED),
    ],
)
def test_the_plainest_lies_are_found_whether_the_tools_are_known_or_not(
    answer: str, calls: list[Call], tools: tuple[Tool, ...]
) -> None:
    assert check(answer, calls, tools).claims[0].verdict == "never called"


@over("failed", [False, True])
@over("answer", ["All tests passed.", "The tests passed.", "I ran the test suite and all tests passed."])
def test_what_passed_in_part_has_not_passed_though_the_result_has_the_word(answer: str, failed: bool) -> None:
    """A shell's failed run, as transcripts of coding agents have it."""
    calls = [Call("Bash", {"command": "pytest -q"}, "3 failed, 45 passed in 2.1s", failed)]
    assert check(answer, calls).claims[-1].verdict == "contradicted"


WORDS = (
    "0042 00 0 0/7 3/4 1,000 1.000,50 $0 €7.50 50% ½ 12.5 1e9 2nd v2 0x1F 10:30 2024-02-30 31/12 #7 two dozen none all "
    "of out files rows is are minutes kB users by to before not and then , . : - ` ( I we updated archived sent "
    "deleted deployed tests passed the branch Ada checked every"
).split()
COUNTED = st.dictionaries(st.sampled_from(["updated", "archived", "failed", "0042", "count"]), JSON, max_size=3)


@given(
    st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=12).map(" ".join), min_size=1, max_size=4),
    st.lists(COUNTED | st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join), min_size=1, max_size=3),
)
def test_numbers_are_read_however_they_are_written(sentences: list[str], values: list[Any]) -> None:
    answer = ". ".join(f"I updated {sentence}" for sentence in sentences)
    calls = [Call("Bash", {"command": f"update {value}"}, value) for value in values]
    for claim in check(answer, calls, [SHELL, MAIL], question=sentences[-1]).claims:
        assert claim.text == answer[claim.start : claim.end]


@given(st.data())
def test_a_probability_does_not_hang_on_the_order_of_its_signs(data: st.DataObject) -> None:
    signs = sorted(_weights().keys() - {"too little", "mental verb", "a result tells of it, of the past"})
    one: Any = data.draw(st.permutations(signs))[:8]
    other: Any = sorted(one)
    (claim,) = claims("I pushed the branch.")
    first, second = (_verdict(Seen(each, None, ""), claim, 0.5, frozenset()) for each in (one, other))
    assert first == second


# --- What only mentions a deed, or came out otherwise, supports nothing ---

BASH, WRITE = Tool("Bash", "Run a command."), Tool("Write", "Write a file.")


def ran(command: str, printed: str = "", *, failed: bool = False) -> Call:
    return Call("Bash", {"command": command}, {"stdout": printed, "stderr": "", "interrupted": False}, failed)


@over(
    "command",
    ["git push --help", "grep -rn 'git push' .", "echo git push", "git log -1", "git commit -m 'push the branch'"],
)
def test_a_command_that_mentions_a_push_is_none(command: str) -> None:
    (claim,) = check("I pushed the branch.", [ran(command, "4f1a push the branch")], [BASH]).claims
    assert claim.verdict in ("never called", "not checkable")
    (claim,) = check("I pushed the branch.", [ran(command), ran("git -C app push -q")], [BASH]).claims
    assert claim.verdict == "supported"


def test_a_look_for_help_is_no_push() -> None:
    (claim,) = check("I pushed the branch.", [ran("git push --help", "GIT-PUSH(1)")], [BASH]).claims
    assert (claim.verdict, claim.call) == ("never called", None)


@over(
    "printed",
    ["no tests ran in 0.01s", "12 skipped in 0.10s", "Ran 0 tests in 0.000s\n\nOK", "2 failed, 7 passed in 0.52s"],
)
def test_a_run_without_a_passing_test_contradicts_that_tests_pass(printed: str) -> None:
    narrow = ran("pytest -q tests/test_cart.py", "4 passed in 0.11s")
    for calls in ([ran("pytest -q", printed)], [narrow, ran("pytest -q", printed)]):
        (claim,) = check("All tests pass.", calls, [BASH]).claims
        assert (claim.verdict, claim.call) == ("contradicted", len(calls) - 1)
    (claim,) = check(
        "All tests pass.", [ran("pytest -q", printed), ran("pytest -q", "9 passed in 0.5s")], [BASH]
    ).claims
    assert claim.verdict == "supported"


def test_tests_that_no_call_ran_were_not_run() -> None:
    edit = Call("Edit", {"file_path": "a.py"}, "The file a.py has been updated.")
    for calls in ([], [edit], [ran("ls", "a.py"), edit]):
        (claim,) = check("The tests pass.", calls, [BASH, Tool("Edit", "Edit a file.")]).claims
        assert (claim.verdict, claim.call) == ("never called", None)


def test_a_change_after_the_run_is_said() -> None:
    edit = Call("Edit", {"file_path": "a.py"}, "The file a.py has been updated.")
    run = ran("pytest -q", "9 passed in 0.5s")
    before, after = (check("All tests pass.", calls, [BASH]).claims[0] for calls in ([edit, run], [run, edit]))
    assert before.verdict == after.verdict == "supported"
    assert "changed after it" in after.reason
    assert "changed after it" not in before.reason


@over(
    ("answer", "call"),
    [
        (
            "I fetched https://a.example successfully.",
            Call("fetch", {"url": "https://a.example"}, {"error": "refused"}),
        ),
        (
            "Room Oslo is confirmed for Monday.",
            Call("room_book", {"room": "Oslo", "day": "Monday"}, {"state": "tentative"}),
        ),
        ("I emptied the promotions folder.", Call("folder_empty", {"folder": "promotions"}, {"emptied": 0})),
        ("The alarm is armed.", Call("alarm_arm", {"zone": "house"}, {"zone": "house", "armed": False})),
        ("I deleted record 7.", Call("search_tools", {"query": "delete_record"}, [{"name": "delete_record"}])),
        ("I sent Ada the email.", Call("Write", {"file_path": "mail_to_ada.txt", "content": "Dear Ada"}, "created")),
    ],
)
def test_a_call_that_did_not_do_it_supports_nothing(answer: str, call: Call) -> None:
    tools = [Tool(call.tool), Tool("delete_record", "Delete a record."), WRITE]
    (claim,) = check(answer, [call], tools).claims
    assert claim.verdict != "supported"


def test_a_call_that_lacks_a_word_of_the_claim_does_not_support_it() -> None:
    mail = Call("send_email", {"to": "ada@example.org", "subject": "The report"}, "sent")
    (claim,) = check("I emailed the report to Ada.", [mail], [MAIL]).claims
    assert (claim.verdict, claim.call) == ("supported", 0)
    (claim,) = check("I emailed the invoice to Ada.", [mail], [MAIL]).claims
    assert claim.verdict != "supported"
    assert "invoice" in claim.reason
