"""Turns of a log: which words count as said to the user, and which calls stand beside them."""

import json
import math
from collections.abc import Iterable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agentguard.content._results import cut
from agentguard.traces._formats import Call, Found, Offered, OfferedTool, Said, Skip, Skipped
from agentguard.traces._formats._calls import decoded
from agentguard.traces._turns import LONGEST_TEXT, MOST_CALLS, MOST_VALUES, Sessions, Turn

from ..rows import over


def said(by: Any, text: str, *, session: str | None = "s1", at: float | None = None, again: bool = False) -> Said:
    return Said("log", 1, by, text, session, at, again)


def call(
    tool: str, *, session: str = "s1", identity: str | None = None, at: float | None = None, **fields: Any
) -> Call:
    known: dict[str, Any] = {"tool": tool, "args": {}, "result": "done", "session_id": session, "call_id": identity}
    return Call("log", 1, {**known, **fields}, at, None)


def turns(found: Iterable[Any], most_held: int = 1 << 20) -> list[Turn]:
    sessions = Sessions(most_held)
    return [turn for one in found for turn in sessions.push(one)] + list(sessions.end())


def told(found: Iterable[Any]) -> list[tuple[str, list[str]]]:
    """Answers, each with the tools that were called before it."""
    return [(turn.answer, [made.tool for made in turn.calls]) for turn in turns(found)]


ASKED, WILL, SENT, DONE = (
    said("user", "Write"),
    said("agent", "I will."),
    call("send"),
    said("agent", "I have written."),
)


def test_the_last_words_of_a_turn_count_and_no_words_before_a_call() -> None:
    assert told([ASKED, WILL, SENT, DONE]) == [("I have written.", ["send"])]
    assert told([ASKED, WILL, SENT]) == []
    assert told([ASKED, DONE, said("user", "And?"), WILL]) == [("I have written.", []), ("I will.", [])]


def test_later_answers_stand_beside_the_calls_of_the_whole_session() -> None:
    again = [said("user", "And?"), call("check"), said("agent", "It is there.")]
    assert told([ASKED, SENT, DONE, *again]) == [("I have written.", ["send"]), ("It is there.", ["send", "check"])]


def test_words_in_pieces_are_one_answer_and_repeated_ones_are_said_once() -> None:
    more = said("agent", "To Ada.")
    assert told([SENT, DONE, more, DONE]) == [("I have written.\n\nTo Ada.", ["send"])]


def test_sessions_are_apart_and_unnamed_words_belong_to_their_file() -> None:
    found = [call("send"), said("agent", "One.", session="s2"), said("agent", "None.", session=None)]
    assert [(turn.session, len(turn.calls)) for turn in turns(found)] == [("s2", 0), ("log", 0)]


def test_a_subagents_calls_count_for_its_parent() -> None:
    aside = call("read", session="s1/a")._replace(parent="s1")
    assert told([aside, DONE]) == [("I have written.", ["read"])]


def test_the_order_is_that_of_times_where_all_have_one() -> None:
    backwards = [
        said("agent", "I have written.", at=4.0), call("send", at=3.0), said("agent", "I will.", at=2.0),
        said("user", "Write", at=1.0),
    ]  # fmt: skip
    assert told(backwards) == [("I have written.", ["send"])]
    assert told([*backwards[:3], ASKED]) == [("I will.", ["send"])]  # one without a time: as they came


def test_what_was_recorded_before_is_known_and_is_no_new_answer() -> None:
    repeated = Skipped("log", 1, Skip.repeated, call("send", identity="c1"))
    found = [
        said("agent", "I have written.", again=True),
        said("user", "And?"),
        repeated,
        said("agent", "It is there."),
    ]
    assert told(found) == [("It is there.", ["send"])]
    assert told([call("send", identity="c1"), WILL, repeated, DONE]) == [("I have written.", ["send"])]


def test_a_call_without_a_result_was_made_and_does_not_end_the_words_before_it() -> None:
    unfinished = Skipped("log", 1, Skip.no_result, call("send", result=None))
    (turn,) = turns([DONE, unfinished])
    assert (turn.answer, [made.finished for made in turn.calls]) == ("I have written.", [False])


def test_a_turn_has_what_was_asked_and_what_is_known() -> None:
    tool = OfferedTool("send", "Sends.", ("to",))
    (turn,) = turns([Offered("log", 1, "s1", (tool,)), said("system", "Be kind"), said("user", "Hi"), ASKED, DONE])
    assert (turn.question, turn.given, turn.tools) == ("Write", ("Be kind", "Hi"), (tool,))


def test_results_that_are_json_text_are_read_and_long_ones_cut() -> None:
    (turn,) = turns([call("send", result='{"id": 7}'), call("read", result="x" * 50_000), DONE])
    assert turn.calls[0].result == {"id": 7}
    assert len(turn.calls[1].result) == 20_000


def test_a_session_with_too_many_calls_is_not_whole() -> None:
    calls = [call("send") for _ in range(MOST_CALLS)]
    (whole,) = turns([*calls, DONE])
    (cut_off,) = turns([*calls, SENT, DONE])
    assert (whole.whole, cut_off.whole, len(cut_off.calls)) == (True, False, MOST_CALLS)


def test_a_session_that_begins_with_a_summary_of_an_earlier_one_is_not_whole() -> None:
    summary = said("system", "Ada was mailed.")._replace(summary=True)
    (resumed,) = turns([summary, said("user", "And?"), said("agent", "I mailed Ada.")])
    (compacted,) = turns([call("send"), summary, said("user", "And?"), said("agent", "I mailed Ada.")])
    assert (resumed.whole, compacted.whole) == (False, True)


def test_sessions_are_given_up_in_bounded_memory_and_one_that_goes_on_is_not_whole() -> None:
    sessions = Sessions(most_held=1_000)
    found: list[Found] = [SENT, DONE, *(call("read", session="s2", result="x" * 300) for _ in range(3))]
    early = [turn for one in found for turn in sessions.push(one)]
    assert [(turn.session, turn.whole) for turn in early] == [("s1", True)]
    later = [turn for one in (said("user", "?"), said("agent", "I checked.")) for turn in sessions.push(one)]
    assert [(turn.session, turn.whole) for turn in [*later, *sessions.end()] if turn.session == "s1"] == [("s1", False)]


FOUND = st.one_of(
    st.builds(said, st.sampled_from(["agent", "user", "system"]), st.text(min_size=1, max_size=5)),
    st.builds(call, st.text(max_size=3), identity=st.none() | st.sampled_from("ab"), at=st.none() | st.floats(0, 9)),
)


@given(st.lists(FOUND, max_size=20), st.integers(0, 2_000))
def test_no_log_makes_it_fail_and_no_answer_is_made_up(found: list[Found], most_held: int) -> None:
    words = {one.text for one in found if isinstance(one, Said) and one.by == "agent"}
    for turn in turns(found, most_held):
        assert set(turn.answer.split("\n\n")) <= {part for text in words for part in text.split("\n\n")}


@over("value", [
        {"a": [1, 2.5, True, "é"]}, {"a": None}, {"a": 2**70}, {"a": "\ud800"}, '{"a": [1, 2]}', "[1", "a", 7, None, [],
        {"a": "x" * 30_000}, list(range(3_000)), "x" * 30_000, json.dumps(list(range(9_000))),
    ])  # fmt: skip
def test_a_call_is_held_against_an_answer_with_the_values_that_the_log_has(value: Any) -> None:
    calls = turns([call("look", args=value, result=value), said("agent", "I looked.")])[0].calls
    expected = cut(decoded(value), LONGEST_TEXT, MOST_VALUES)
    assert [(made.args, made.result) for made in calls] == [(expected, expected)]


def test_a_number_that_is_none_stays_so() -> None:
    (made,) = turns([call("look", result={"a": math.nan}), said("agent", "I looked.")])[0].calls
    assert math.isnan(made.result["a"])
