"""What becomes of suspects that share what is odd about them: held, ended, opened again, learned, decided."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.errors import DataError
from agentguard.verification._arguments import Arguments
from agentguard.verification._case import Case
from agentguard.verification._causes import CLUES, grounds, p_fault
from agentguard.verification._changes import STATES, Change
from agentguard.verification._contract import Contract
from agentguard.verification._document import read
from agentguard.verification._incidents import (
    MAX_ANSWERS,
    MAX_HELD,
    MAX_INCIDENTS,
    MAX_SAME,
    MAX_TRAITS,
    Incident,
    Incidents,
    Settled,
    incident_id,
)
from agentguard.verification._method import Decision
from agentguard.verification._snapshot import FIELDS, encode_incidents, follow_changes, restore_incidents
from agentguard.verification.profile import ToolProfile
from agentguard.verification.types import Settings, SignalResult, ToolCall, Trait, Verdict, VerificationTier

BLOCKS, FLAGS = (0, 1, 3, 100), (4, 10, 30)
CONTRACTS = {
    (blocks, flags, on_change): Contract(
        ToolProfile(name="get_price", max_blocks=blocks, max_flags=flags, on_change=on_change)
    )
    for blocks in BLOCKS
    for flags in FLAGS
    for on_change in ("follow", "hold")
}
ODD, OTHER, KEY = Trait("added", "price", "str"), Trait("added", "price", "bool"), Trait("lost", "currency", "str")
MISSING = incident_id("get_price", KEY)
PRICE = incident_id("get_price", ODD)


def clues(*names: str) -> list[float]:
    return [float(name in names) for name in CLUES]


FAULT = clues("nulls", "same", "nats")
GENUINE = clues("renamed", "carried")
EITHER = clues("lost", "carried", "level")


@pytest.mark.parametrize(("kind", "low", "high"), [(FAULT, 0.5, 1.0), (GENUINE, 0.0, 0.2), (EITHER, 0.2, 0.5)])
def test_the_clues_that_these_tests_go_by(kind: list[float], low: float, high: float) -> None:
    assert all(low < p_fault([calls * one for one in kind], calls) < high for calls in range(3, 100))


class Tool:
    """One tool's incidents, and calls of which it is said beforehand how they are judged.

    Each call has arguments and a result of its own, where none are named, and says of its change what ``clues`` say.
    """

    def __init__(
        self,
        *,
        max_blocks: int = 3,
        max_flags: int = 30,
        on_change: str = "follow",
        holds: bool = True,
        clues: list[float] = FAULT,
    ) -> None:
        self.clues = clues
        self.incidents = Incidents(holds=holds, clues=lambda *case, **known: self.clues)
        self.contract = CONTRACTS[max_blocks, max_flags, on_change]
        self.number = 0

    def call(
        self,
        verdict: Verdict = "accept",
        *traits: Trait,
        result: Any = None,
        args: Any = None,
        session: str | None = None,
        is_error: bool = False,
        learn: bool = True,
        declared: bool = False,
        posterior: float | None = None,
    ) -> Settled:
        self.number += 1
        args = {"n": self.number} if args is None else args
        result = {"result": self.number} if result is None else result
        call = ToolCall("get_price", args, result, None, session)
        document = read(result, self.contract.limits)
        document.is_error = document.is_error or is_error
        case = Case(call, document, self.contract, None, Settings(), Arguments(args))
        signals = {
            "level": SignalResult(
                "level", True, bool(traits), 0.9 if traits else 0.0, 20.0 if traits else 1.0,
                None if declared else 0.01, VerificationTier.TIER_1, "1 trait never seen: price as str", "", traits,
            )
        }  # fmt: skip
        self.incidents.waive(signals, learn=learn)
        nats = {"level": 3.0 if signals["level"].fired else 0.0}
        if posterior is None:
            posterior = {"accept": 0.1, "flag": 0.4, "block": 0.9}[verdict]
        return self.incidents.settle(case, signals, Decision(verdict, posterior, nats, None), learn=learn)

    def calls(self, count: int, verdict: Verdict = "accept", *traits: Trait, **more: Any) -> list[Settled]:
        return [self.call(verdict, *traits, **more) for _ in range(count)]

    def find(self, id_: str = PRICE) -> Incident:
        found = self.incidents.find(id_)
        assert found is not None
        return found


def verdicts(settled: list[Settled]) -> str:
    return "".join(each.verdict[0] for each in settled)


def told(settled: list[Settled]) -> list[tuple[int, str]]:
    """After which calls somebody is told, counted from 1."""
    return [(place, moved.id) for place, each in enumerate(settled, 1) for moved in each.moved]


# --- A lasting fault is held ---

LEVEL = Trait("level", "price", "above")


@pytest.mark.parametrize(("calls", "between", "kept"), [(2, 2, "a"), (3, 2, "f"), (3, 51, "a")])
def test_a_doubtful_number_is_of_a_change_that_lasted_and_is_not_long_over(calls: int, between: int, kept: str) -> None:
    tool = Tool()
    tool.calls(calls, "flag", LEVEL)
    tool.calls(between)

    assert verdicts([tool.call("accept", LEVEL, posterior=0.3)]) == kept


SOONER = Trait("speed", "", "sooner")


def test_retries_of_a_call_that_is_odd_in_passing_teach_nothing() -> None:
    tool = Tool()
    retry: dict[str, Any] = {"args": {"n": 0}, "result": {"x": 1}, "session": "s"}
    settled = tool.calls(12, "block", SOONER, **retry)

    assert verdicts(settled) == "b" * 12
    assert [each.teaches for each in settled] == [True, *[False] * 9, True, True]  # from the eleventh on it is a poll
    assert tool.call("block", SOONER, **{**retry, "session": "t"}).teaches


def test_a_retry_has_the_graver_verdict() -> None:
    tool = Tool()
    retry: dict[str, Any] = {"args": {"n": 0}, "result": {"x": 1}, "session": "s"}
    settled = [tool.call(verdict, SOONER, **retry) for verdict in ("flag", "accept", "block")]

    assert verdicts(settled) == "ffb"


@pytest.mark.parametrize(("max_blocks", "held"), [(0, "f" * 30), (1, "b" + "f" * 29), (3, "bbb" + "f" * 27)])
def test_thirty_calls_are_held_and_so_many_blocked(max_blocks: int, held: str) -> None:
    tool = Tool(max_blocks=max_blocks)
    tool.calls(5)
    settled = tool.calls(30, "block", ODD)

    assert verdicts(settled) == held
    assert not any(each.teaches or each.released for each in settled)
    assert told(settled) == [(2, PRICE)]
    assert (tool.find().calls, tool.find().blocked) == (30, max_blocks)


def test_a_call_that_is_less_odd_by_itself_has_the_verdict_of_the_first_ones() -> None:
    tool = Tool()
    settled = [tool.call("block", ODD), *tool.calls(4, "flag", ODD)]

    assert verdicts(settled) == "bbbff"


def test_flagged_calls_are_flagged() -> None:
    assert verdicts(Tool().calls(6, "flag", ODD)) == "ffffff"


def test_a_suspect_with_nothing_that_names_it_is_left_alone() -> None:
    tool = Tool()
    (settled,) = tool.calls(1, "block")

    assert (settled.verdict, settled.incident, settled.teaches) == ("block", None, True)
    assert list(tool.incidents) == []


def test_one_call_is_no_change_that_anybody_is_told_of() -> None:
    tool = Tool(clues=GENUINE)
    settled = [tool.call("block", ODD), *tool.calls(3)]

    assert told(settled) == []
    assert [len(each.released) for each in settled] == [0, 0, 1, 0]  # learned, thinned, once it is over
    assert not settled[2].released[0].in_full


def test_two_kinds_of_oddness_are_two_changes() -> None:
    tool = Tool()
    settled = [*tool.calls(3, "flag", ODD), *tool.calls(3, "flag", KEY), *tool.calls(3, "flag", ODD)]

    assert told(settled) == [(2, PRICE), (5, incident_id("get_price", KEY))]
    assert (tool.find().calls, tool.find(incident_id("get_price", KEY)).calls) == (6, 3)


# --- It ends, and comes again ---


def test_two_ordinary_calls_end_it_and_it_opens_again_with_its_history() -> None:
    tool = Tool()
    tool.calls(10, "block", ODD)
    ended = tool.calls(2)
    assert told(ended) == [(2, PRICE)]
    assert tool.find().state == "recovered"
    assert not any(each.released for each in ended)  # ten bad ones are not the norm

    again = tool.calls(5, "block", ODD)
    assert verdicts(again) == "fffff"  # three were blocked already
    assert told(again) == [(1, PRICE)]
    assert (tool.find().state, tool.find().calls, tool.find().runs) == ("open", 15, 2)


def test_one_ordinary_call_ends_nothing() -> None:
    tool = Tool()
    settled = [each for _ in range(6) for each in (*tool.calls(3, "flag", ODD), tool.call())]

    assert told(settled) == [(2, PRICE)]
    assert tool.find().runs == 1


@pytest.mark.parametrize("kind", ["is_error", "empty"])
def test_errors_and_empty_results_end_nothing(kind: str) -> None:
    tool = Tool()
    tool.calls(3, "flag", ODD)
    for _ in range(5):
        tool.call(is_error=True) if kind == "is_error" else tool.call(result="")

    assert tool.find().state == "open"


def test_a_rare_form_between_ordinary_calls_is_a_mode_with_its_third_call() -> None:
    tool, released = Tool(clues=GENUINE), []
    for _ in range(3):
        tool.calls(10)
        settled = [tool.call("flag", ODD), *tool.calls(2)]
        released.append([held.in_full for each in settled for held in each.released])

    # Single ones are learned, thinned, when they are over; the third ends the change, with itself alone held back.
    assert released == [[False], [False], [True]]
    assert (tool.find().state, tool.find().why) == ("mode", grounds(GENUINE, 1))
    assert verdicts(tool.calls(2, "flag", OTHER)) == "ff"


def test_one_wrong_record_in_twenty_is_no_mode_and_is_not_learned() -> None:
    tool, settled = Tool(), list[Settled]()
    for _ in range(10):
        settled += [tool.call("block", ODD), *tool.calls(19)]

    assert not any(each.released for each in settled)
    assert tool.find().state == "recovered"


def test_what_was_followed_before_is_told_of_again_when_it_lasts_twice_as_long() -> None:
    """Two calls make a change, then four, then eight."""
    tool, said = Tool(), []
    for ends in range(3):
        said.append(told(tool.calls(9, "block", ODD)))
        tool.incidents.remember(Incident(PRICE, (ODD,), "what", "block", ends=ends + 1))

    assert said == [[(2, PRICE)], [(4, PRICE)], [(8, PRICE)]]


# --- Is it a fault, or has the service changed? ---


def test_a_genuine_change_is_followed_with_its_third_call() -> None:
    tool = Tool(clues=GENUINE)
    settled = tool.calls(3, "block", ODD)

    assert verdicts(settled) == "ffa"  # P(fault) is below block_at from the first call on, and now below accept_below
    assert [held.in_full for held in settled[2].released] == [True] * 3
    assert told(settled) == [(2, PRICE), (3, PRICE)]
    assert (tool.find().state, tool.find().reviewed, tool.find().why) == ("followed", False, grounds(GENUINE, 1))
    assert verdicts(tool.calls(5, "accept", ODD)) == "aaaaa"


def test_what_may_be_either_is_followed_after_max_flags_calls() -> None:
    tool = Tool(clues=EITHER, max_flags=10)
    settled = tool.calls(10, "block", ODD)

    assert verdicts(settled) == "f" * 10
    assert len(settled[-1].released) == 10
    assert tool.find().state == "followed"
    assert tool.find().why.startswith("nobody has reviewed it in 10 calls")


def test_a_fault_is_held_without_end() -> None:
    tool = Tool(max_flags=4)

    assert verdicts(tool.calls(200, "block", ODD)) == "bbb" + "f" * 197
    assert tool.find().state == "open"


@pytest.mark.parametrize("kind", [GENUINE, EITHER])
def test_on_change_hold_holds_what_is_genuine_too(kind: list[float]) -> None:
    tool = Tool(clues=kind, max_flags=4, on_change="hold")

    assert verdicts(tool.calls(60, "flag", ODD)) == "f" * 60


def test_a_broken_declaration_is_never_followed() -> None:
    tool = Tool(clues=GENUINE, max_flags=4)

    assert verdicts(tool.calls(40, "block", ODD, declared=True)) == "b" * 40


def test_beside_a_recent_fault_nothing_is_followed() -> None:
    tool = Tool()
    tool.calls(4, "block", KEY)
    tool.clues = GENUINE
    beside = tool.calls(20, "flag", ODD)
    later = tool.call("flag", ODD)

    assert verdicts(beside) == "f" * 20
    assert later.verdict == "accept"


def test_a_followed_change_can_be_rejected_and_blocks_then() -> None:
    tool = Tool(clues=GENUINE)
    tool.calls(3, "flag", ODD)
    tool.incidents.decide(tool.find(), "fault")

    assert verdicts(tool.calls(3, "accept", ODD)) == "bbb"


def test_of_the_memory_from_before_the_latest_two_are_kept() -> None:
    tool = Tool()
    for trait in (ODD, OTHER, KEY):
        tool.call("flag", trait)
        tool.incidents.keep_before(tool.find(incident_id("get_price", trait)), str(trait).encode())

    assert [incident.before for incident in tool.incidents] == [b"", str(OTHER).encode(), str(KEY).encode()]


# --- The same call again ---


def test_the_same_call_with_the_same_result_has_the_verdict_it_had() -> None:
    tool = Tool(max_blocks=1)
    asked: dict[str, Any] = {"args": {"sku": "A"}, "result": {"price": 9e6}}
    first = tool.call("block", ODD, **asked)
    tool.calls(3, "block", ODD)
    again = [tool.call(verdict, ODD, **asked) for verdict in ("accept", "flag", "block")]

    assert [(each.verdict, each.asked, each.teaches) for each in again] == [
        ("block", 1, False), ("block", 2, False), ("block", 3, False),
    ]  # fmt: skip
    assert all(each.incident is first.incident for each in again)
    assert (tool.find().calls, tool.find().judged, tool.find().blocked) == (7, 4, 1)


def test_a_call_that_comes_again_after_others_is_a_poll_and_no_retry() -> None:
    tool = Tool()
    asked: dict[str, Any] = {"args": {"sku": "A"}, "result": {"price": 9e6}}
    tool.call("block", ODD, **asked)
    tool.calls(8, "block", ODD)
    again = tool.call("block", ODD, **asked)

    assert (again.asked, tool.find().judged) == (0, 10)


@pytest.mark.parametrize(
    "other",
    [{"args": {"sku": "B"}}, {"result": {"price": 8e6}}, {"session": "another"}],
    ids=["args", "result", "session"],
)
def test_another_call_is_another(other: dict[str, Any]) -> None:
    tool = Tool()
    asked: dict[str, Any] = {"args": {"sku": "A"}, "result": {"price": 9e6}, "session": "s"}
    tool.call("block", ODD, **asked)
    settled = tool.call("block", ODD, **{**asked, **other})

    assert (settled.asked, tool.find().calls) == (0, 2)


def test_learn_false_leaves_everything_as_it_is() -> None:
    tool = Tool()
    asked: dict[str, Any] = {"args": {"sku": "A"}, "result": {"price": 9e6}}
    tool.call("block", ODD, **asked)
    tool.calls(3, "block", ODD)
    before = encode_incidents(tool.incidents)
    settled = [
        tool.call("block", ODD, learn=False), tool.call("block", KEY, learn=False), tool.call(learn=False),
        tool.call(learn=False), tool.call("block", ODD, **asked, learn=False),
    ]  # fmt: skip

    assert verdicts(settled) == "fbaab"
    assert encode_incidents(tool.incidents) == before


# --- Decided ---


def test_adoption_learns_what_was_held_back_in_full_and_waives_what_is_learned() -> None:
    tool = Tool()
    tool.calls(5, "block", ODD)
    released = tool.incidents.decide(tool.find(), "adopted")

    assert [held.in_full for held in released] == [True] * 5
    assert verdicts(tool.calls(5, "accept", ODD)) == "aaaaa"
    assert tool.incidents.decide(tool.find(), "adopted") == ()  # once


def test_what_is_declared_is_not_waived() -> None:
    tool = Tool()
    tool.calls(2, "block", ODD)
    tool.incidents.decide(tool.find(), "adopted")
    signals = tool.call("block", ODD, declared=True)

    assert signals.verdict == "block"


def test_rejection_blocks_however_many_were_blocked_and_whatever_they_would_be() -> None:
    tool = Tool(max_blocks=1)
    tool.calls(5, "block", ODD)
    assert tool.incidents.decide(tool.find(), "fault") == ()

    assert verdicts(tool.calls(5, "accept", ODD)) == "bbbbb"
    tool.calls(50)
    assert verdicts(tool.calls(2, "flag", ODD)) == "bb"
    assert tool.find().state == "fault"


def test_an_adoption_can_be_taken_back() -> None:
    tool = Tool()
    tool.calls(2, "block", ODD)
    tool.incidents.decide(tool.find(), "adopted")
    tool.incidents.decide(tool.find(), "fault")

    assert verdicts(tool.calls(2, "flag", ODD)) == "bb"


def test_it_is_told_of_also_where_the_results_were_too_large_to_be_held_back() -> None:
    tool = Tool(clues=GENUINE)
    settled = tool.calls(3, "flag", ODD, result="x" * 20_000)

    assert tool.find().state == "followed"
    assert told(settled) == [(2, PRICE), (3, PRICE)]


def test_learn_false_leaves_an_adopted_change_as_it_is() -> None:
    tool = Tool()
    tool.calls(2, "block", ODD)
    tool.incidents.decide(tool.find(), "adopted")
    tool.calls(7)
    before = encode_incidents(tool.incidents)
    tool.call("accept", ODD, learn=False)

    assert encode_incidents(tool.incidents) == before


def test_a_method_that_holds_nothing_back_only_takes_note() -> None:
    tool = Tool(holds=False)
    settled = tool.calls(6, "block", ODD)

    assert verdicts(settled) == "bbbbbb"
    assert all(each.teaches for each in settled)
    assert told(settled) == [(2, PRICE)]
    tool.incidents.decide(tool.find(), "fault")
    assert verdicts(tool.calls(2, "flag", ODD)) == "bb"


# --- Kept ---


def test_what_was_kept_is_gone_on_with() -> None:
    """All but the calls that were held back: the verdicts are those without a restart."""
    whole, parted = Tool(), Tool()
    asked: dict[str, Any] = {"args": {"sku": "A"}, "result": {"price": 9e6}, "session": "s1"}
    for tool in (whole, parted):
        tool.calls(3)
        tool.call("block", ODD, **asked)
        tool.calls(1, "flag", ODD, session="s2")
        tool.calls(2, "flag", KEY)
    data = encode_incidents(parted.incidents)
    parted.incidents = Incidents(clues=parted.incidents._clues)
    restore_incidents(parted.incidents, data)

    assert encode_incidents(parted.incidents) == data
    for tool in (whole, parted):
        settled = [
            tool.call("flag", ODD, **asked), *tool.calls(3, "flag", ODD), *tool.calls(2), tool.call("block", KEY),
        ]  # fmt: skip
        assert verdicts(settled) == "bbffaab"
        assert [each.asked for each in settled] == [1, 0, 0, 0, 0, 0, 0]
        missing = incident_id("get_price", KEY)
        assert sorted(told(settled)) == sorted([(6, PRICE), (6, missing), (7, missing)])


def test_all_of_an_incident_is_kept_but_the_calls_that_are_held_back() -> None:
    assert {*FIELDS, "held"} == {field.name for field in fields(Incident)}


def test_where_nothing_was_odd_nothing_is_kept() -> None:
    tool = Tool()
    tool.calls(5)
    assert encode_incidents(tool.incidents) is None


@pytest.mark.parametrize(
    "data",
    [7, [], {}, {"incidents": []}, {"incidents": [{}], "same": []}, {"incidents": 3, "same": 3}, {"~Pool": {}},
     {"incidents": [], "same": [[1]]}, {"incidents": [], "same": [["a", 1, "unknown", "block", None, 1, 0]]}],
)  # fmt: skip
def test_what_is_damaged_is_refused_whole(data: Any) -> None:
    incidents = Incidents()
    with pytest.raises(DataError):
        restore_incidents(incidents, data)
    assert list(incidents) == []


@pytest.mark.parametrize(
    ("field", "value"),
    [("state", "gone"), ("verdict", 7), ("id", 7), ("traits", [1]), ("what", None)],
)
def test_a_damaged_field_is_refused(field: str, value: Any) -> None:
    tool = Tool()
    tool.calls(2, "block", ODD)
    data = encode_incidents(tool.incidents)
    data["incidents"][0][field] = value
    with pytest.raises(DataError):
        restore_incidents(Incidents(), data)


def change(state: Any, *, reviewed: bool = False, id_: str = PRICE) -> Change:
    return Change(id_, "get_price", state, "1 trait never seen: price as str", (ODD,), 1.0, 2.0, 9, 3, reviewed)


@pytest.mark.parametrize(
    ("on_record", "after", "state"),
    [
        (change("open"), "ff", "open"),
        (change("recovered"), "ff", "open"),
        (change("fault", reviewed=True), "bb", "fault"),
        (change("adopted", reviewed=True), "aa", "adopted"),
        (change("followed"), "aa", "followed"),
        (change("mode"), "aa", "mode"),
    ],
)
@pytest.mark.parametrize("known", [False, True])
def test_the_log_says_more_than_the_document(on_record: Change, after: str, state: str, known: bool) -> None:
    tool = Tool(max_blocks=0)
    if known:
        tool.calls(2, "flag", ODD)
    follow_changes(tool.incidents, [on_record], None)

    verdict: Verdict = "accept" if state in ("adopted", "followed", "mode", "fault") else "flag"
    assert verdicts(tool.calls(2, verdict, ODD)) == after
    assert (tool.find().state, tool.find().told) == (state, True)


# --- Any sequence ---

TRAITS = st.lists(
    st.sampled_from([ODD, OTHER, KEY, Trait("size", "", "long"), *(Trait("lost", f"f{n}", "str") for n in range(40))]),
    max_size=20,
)
CALLS = st.tuples(
    st.sampled_from(["accept", "flag", "block"]), TRAITS, st.integers(0, 3), st.integers(0, 3),
    st.sampled_from([None, "s1", "s2", "s3", "s4"]), st.booleans(), st.sampled_from([True, True, True, False]),
)  # fmt: skip
DECISIONS = st.tuples(st.integers(0, 40), st.sampled_from(STATES), st.booleans())
RESTARTS = st.none()


@given(
    steps=st.lists(CALLS | DECISIONS | RESTARTS, max_size=60),
    max_blocks=st.sampled_from([0, 1, 3]),
    on_change=st.sampled_from(["follow", "hold"]),
    kinds=st.lists(st.sampled_from([FAULT, GENUINE, EITHER]), min_size=1, max_size=5),
    holds=st.booleans(),
)
def test_any_sequence_is_bounded_and_its_states_are_legal(
    steps: list[Any], max_blocks: int, on_change: str, kinds: list[list[float]], holds: bool
) -> None:
    tool = Tool(max_blocks=max_blocks, max_flags=4, on_change=on_change, holds=holds)
    for number, step in enumerate(steps):
        tool.clues = kinds[number % len(kinds)]
        known = list(tool.incidents)
        kept = encode_incidents(tool.incidents)
        if step is None:
            tool.incidents = Incidents(holds=holds, clues=lambda *case, **known: tool.clues)
            if kept is not None:
                restore_incidents(tool.incidents, kept)
            assert encode_incidents(tool.incidents) == kept
        elif len(step) == 3:
            if known:
                place, state, reviewed = step
                tool.incidents.decide(known[place % len(known)], state, reviewed=reviewed)
        else:
            verdict, traits, args, result, session, is_error, learn = step
            settled = tool.call(
                verdict, *traits, args=args, result={"r": result}, session=session, is_error=is_error, learn=learn
            )
            if not learn:
                assert encode_incidents(tool.incidents) == kept
            if verdict == "accept" and settled.verdict != "accept":
                assert settled.incident is not None
            if settled.verdict == "block" and verdict != "block":
                assert settled.incident is not None
            assert (settled.asked > 0) <= (not settled.teaches and not settled.released)
            for moved in settled.moved:
                assert moved.told
        sound(tool.incidents)


def sound(incidents: Incidents) -> None:
    known = list(incidents)
    assert len(known) <= MAX_INCIDENTS
    assert len(incidents._same) <= MAX_SAME
    for incident in known:
        assert incident.state in STATES
        assert incident.state != "mode" or not incident.run
        assert len(incident.held) <= MAX_HELD
        assert len(incident.traits) <= MAX_TRAITS
        assert len(incident.answers) <= MAX_ANSWERS
        assert incident.blocked <= incident.calls
        assert incidents.find(incident.id) is incident


def test_thousands_of_kinds_of_oddness_are_bounded() -> None:
    tool = Tool()
    for number in range(3_000):
        tool.call("flag", Trait("lost", f"f{number}", "str"))
        if number % 3 == 0:
            tool.incidents.decide(next(iter(tool.incidents)), "fault")
    sound(tool.incidents)
