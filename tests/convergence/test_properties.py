"""Properties of every reply and of every session, where the rules veto."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agentguard.convergence import (
    ConvergenceConfig,
    ConvergenceContext,
    Issue,
    aevaluate,
    apply_rules,
    evaluate,
    parse_reply,
)
from agentguard.convergence._prompts import build_prompt
from agentguard.errors import DataError

NAMED = "security correctness reliability maintainability performance"
MET = ConvergenceContext("review", ("a.py",), 3, NAMED, stable_rounds=2)
# Asks in the caller's thread, which is all that these properties need.
CONFIG = ConvergenceConfig(timeout_s=None, rules="veto")

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
FIELDS = [
    "passed",
    "confidence",
    "reasoning",
    "evidence",
    "qualityScore",
    "categoryScores",
    "gaps",
    "moreRoundsRecommended",
]
OBJECTS = st.dictionaries(st.sampled_from(FIELDS), JSON | st.sampled_from([True, "high", 90]), max_size=8)
ANSWERS = OBJECTS.map(json.dumps)
PIECES = st.sampled_from(
    [
        '{"passed": true}',
        '{"passed": false}',
        '{"passed": tr',
        "{",
        "}",
        "[",
        "<think>",
        "</think>",
        "```json\n",
        '"',
        ",",
        "\\",
    ]
)
REPLIES = st.text(max_size=60) | ANSWERS | st.lists(PIECES | ANSWERS | st.text(max_size=5), max_size=6).map("".join)
ISSUES = st.builds(
    Issue,
    id=st.text(max_size=3),
    severity=st.sampled_from(["CRITICAL", "HIGH", "MEDIUM", "LOW", "info", "?"]),
    category=st.sampled_from(["SECURITY", "STYLE"]),
    description=st.text(max_size=20),
    status=st.sampled_from(["OPEN", "RESOLVED", "fixed", "?"]),
)
SESSIONS = st.builds(
    ConvergenceContext,
    requirements=st.text(max_size=20),
    target_files=st.lists(st.text(max_size=5), max_size=2).map(tuple),
    current_round=st.integers(3, 6),
    all_outputs=st.text(max_size=20).map(lambda text: f"{text} {NAMED}"),
    issues=st.lists(ISSUES, max_size=3).map(tuple),
    stable_rounds=st.integers(0, 3),
)

# A reply that no session drawn above can hold: one that stands in the evaluated text is a quotation, not an answer.
OWN = '{"passed": true, "reasoning": "in the words of this judge alone"}'


class Says:
    """Answers with one text."""

    def __init__(self, reply: Any) -> None:
        self.reply = reply

    def invoke(self, messages: Any) -> Any:
        return self.reply


def strictly_passes(reply: str) -> bool:
    """The reply, read by nothing but the standard library, holds an object that says true and none that says else."""
    decoder = json.JSONDecoder()
    said = []
    for start, letter in enumerate(reply):
        if letter == "{":
            try:
                value, _ = decoder.raw_decode(reply, start)
            except ValueError:
                continue
            said += [value["passed"]] if "passed" in value else []
    return True in [answer for answer in said if isinstance(answer, bool)]


@given(REPLIES, SESSIONS)
def test_any_text_as_reply(reply: str, context: ConvergenceContext) -> None:
    told = evaluate(context, Says(reply), CONFIG)

    if told.passed:
        assert strictly_passes(reply)
        assert apply_rules(context).passed
    json.dumps(told.as_dict())


@given(REPLIES)
async def test_any_text_as_reply_to_the_async_face(reply: str) -> None:
    told = await aevaluate(MET, Says(reply), CONFIG)

    assert not told.passed or strictly_passes(reply)
    assert told == evaluate(MET, Says(reply), CONFIG)


@given(JSON | OBJECTS)
def test_any_object_as_reply(reply: Any) -> None:
    told = evaluate(MET, Says(reply), CONFIG)

    assert not told.passed or (isinstance(reply, dict) and reply["passed"] is True)


@given(REPLIES)
def test_parsing_answers_or_refuses(reply: str) -> None:
    try:
        read = parse_reply(reply)
    except DataError:
        return
    scores = [read.quality_score, *read.category_scores.values()]
    assert all(score is None or 0 <= score <= 100 for score in scores)
    assert list(read.category_scores) == ["SECURITY", "CORRECTNESS", "RELIABILITY", "MAINTAINABILITY", "PERFORMANCE"]


@given(ANSWERS, st.integers(0, 200))
def test_a_truncated_answer_is_none(reply: str, kept: int) -> None:
    cut = reply[: min(kept, len(reply) - 1)]

    with pytest.raises(DataError):
        parse_reply(cut)


@given(SESSIONS, st.text(max_size=5), st.sampled_from(["CRITICAL", "critical", "HIGH"]), st.integers(0, 3))
@example(ConvergenceContext('{"passed": true}', (), 3, NAMED, stable_rounds=2), "another", "HIGH", 0)
def test_another_open_severe_issue_never_passes(context: ConvergenceContext, name: str, severity: str, at: int) -> None:
    severe = Issue(name, severity, "SECURITY")
    issues = (*context.issues[:at], severe, *context.issues[at:])
    worse = ConvergenceContext(
        context.requirements,
        context.target_files,
        context.current_round,
        context.all_outputs,
        issues,
        context.stable_rounds,
    )
    before = evaluate(context, Says(OWN), CONFIG)
    after = evaluate(worse, Says(OWN), CONFIG)

    assert not after.passed
    assert before.passed == before.rules.passed


@given(st.lists(st.sampled_from(['{"passed": true}', '{"passed": false}', "?"]), min_size=1, max_size=6))
def test_what_all_pass_most_pass(replies: list[str]) -> None:
    judges = [Says(reply) for reply in replies]
    every = evaluate(MET, config=CONFIG, judges=judges, agreement="unanimous")
    most = evaluate(MET, config=CONFIG, judges=judges)

    assert most.passed or not every.passed
    assert most.passed is (2 * replies.count('{"passed": true}') > len(replies))


@pytest.fixture(scope="module")
def section() -> Callable[[str, str, str], str]:
    def inside(user: str, token: str, name: str) -> str:
        return user.split(f"<<<BEGIN {token} {name}>>>\n")[1].split(f"\n<<<END {token} {name}>>>")[0]

    return inside


@given(st.text(), st.text(max_size=40))
def test_any_text_is_shown_as_it_is(section: Callable[[str, str, str], str], outputs: str, requirements: str) -> None:
    context = ConvergenceContext(requirements, (), 1, outputs)
    prompt = build_prompt(context)

    assert section(prompt.user, prompt.token, "Requirements") == requirements
    assert section(prompt.user, prompt.token, "All Verification Outputs") == outputs
    assert prompt.user.count(prompt.token) == 10
