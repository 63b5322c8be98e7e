"""What is kept, what waits, and what is new since when."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.live._board import Alike, Board, Label, Position, RecordedCall
from agentguard.stores._base import Record
from agentguard.verification._audit import AuditRecord, Judged
from agentguard.verification._changes import change_event
from agentguard.verification.types import Verdict


def verdict(
    sequence: int,
    call_id: str | None = "",
    tool: str = "t",
    posterior: float = 0.5,
    made: Verdict = "flag",
    **more: Any,
) -> RecordedCall:
    name = f"c{sequence}" if call_id == "" else call_id
    call = Judged(made, 0.15, (), {}, 1.0)
    return RecordedCall(AuditRecord(sequence, float(sequence), tool, name, None, posterior, None, call), **more)


def label(
    sequence: int, call_id: str | None, *, fabricated: bool = True, tool: str = "t", posterior: float | None = 0.5
) -> Label:
    return Label(sequence, float(sequence), tool, call_id, posterior, fabricated)


def put(board: Board, *what: RecordedCall | Label | str) -> None:
    """Each by itself, in this order; a text takes a tool's labels back."""
    for each in what:
        at = board.position
        if isinstance(each, RecordedCall):
            board.read_on(each.record.sequence, [each], 0, ())
        else:
            board.read_on(0, (), each.sequence if isinstance(each, Label) else at.feedback + 1, [each])


def waiting(board: Board) -> list[int]:
    return [shown.sequence for shown in board.queue(0, 100).verdicts]


def news(board: Board, position: Position, limit: int = 100) -> list[tuple[str, Any]] | None:
    found = board.news_after(position, limit)
    return None if found is None else [(each.kind, shown and shown.sequence) for each, shown in found]


def test_of_equals_the_oldest_is_first_and_a_label_ends_its_wait() -> None:
    board = Board()
    put(board, verdict(1), verdict(2), verdict(5), label(1, "c2"))

    assert waiting(board) == [1, 5]
    assert [shown.sequence for shown in board.queue(1, 100).verdicts] == [5]
    assert [shown.sequence for shown in board.queue(0, 1).verdicts] == [1]
    assert board.queue(0, 0).waiting == 2
    assert [(shown.sequence, shown.label and shown.label.was_hallucination) for shown in board.newest(2)] == [
        (5, None),
        (2, True),
    ]


def test_the_worst_is_first() -> None:
    board = Board()
    put(
        board, verdict(1, posterior=0.3, made="accept"), verdict(2, posterior=0.6), verdict(3, posterior=0.9),
        verdict(4, posterior=0.6, made="block"), verdict(5, posterior=0.3), verdict(6, posterior=0.97, made="block"),
    )  # fmt: skip

    assert waiting(board) == [6, 3, 4, 2, 5, 1]
    assert [shown.sequence for shown in board.queue(0, 2).verdicts] == [6, 3]
    assert [shown.sequence for shown in board.queue(3, 2).verdicts] == [4, 2]
    put(board, label(1, "c4"))
    assert [shown.sequence for shown in board.queue(4, 9).verdicts] == [2, 5, 1]  # behind where that one stood
    assert [shown.sequence for shown in board.queue(77, 9).verdicts] == [6, 3, 2, 5, 1]  # which nobody knows


def change(sequence: int, id_: str, state: Any, by: str = "engine", at: float = 0.0, **more: Any) -> Record:
    return Record(sequence, at or float(sequence), change_event(id_, "t", state, by, **more))


def test_changes_are_counted_with_the_calls_that_look_like_them() -> None:
    board = Board()
    put(board, verdict(1, change="a", made="block"), verdict(2, change="a"))  # heard of before the change itself
    board.read_changes([change(1, "a", "open", what="price is high"), change(2, "b", "open", what="a key is new")])
    put(
        board, verdict(3, change="a", asked=1, made="block"), verdict(4), verdict(5, change="b"), verdict(6, change="a")
    )

    found = board.changes()
    assert [(each.id, each.state, each.what, each.calls, each.blocked) for each in found.rows] == [
        ("b", "open", "a key is new", 1, 0), ("a", "open", "price is high", 4, 2),
    ]  # fmt: skip
    assert (found.more, found.open, found.waiting) == (0, 2, 2)


def test_a_decision_is_known_by_its_number_and_stands_until_the_next() -> None:
    board = Board()
    board.read_changes([change(1, "a", "open", what="price is high", at=100.0)])
    assert board.change("a") is not None
    before = board.changes_version
    board.read_changes([change(2, "a", "adopted", by="review", at=200.0), change(3, "a", "open", at=300.0)])

    found = board.change("a")
    assert found is not None
    assert (found.state, found.reviewed, found.decided, found.opened, found.since) == ("adopted", True, 2, 100.0, 200.0)
    assert board.changes_version > before
    assert board.changes_read == 3
    board.read_changes([change(4, "a", "fault", by="review", at=400.0)])
    found = board.change("a")
    assert found is not None
    assert (found.state, found.decided, found.since) == ("fault", 4, 400.0)
    assert board.change("z") is None


def test_many_changes_are_told_by_their_number() -> None:
    board = Board()
    board.read_changes([change(n, f"c{n:03}", "open", what="odd") for n in range(1, 31)])

    assert (len(board.changes().rows), board.changes().more, board.changes().open) == (20, 10, 30)
    board.read_changes([change(31 + n, f"c{n:03}", "fault", by="review") for n in range(1, 4)])
    found = board.changes()  # the decided ones beside them, though 27 others wait
    assert (len(found.rows), found.more, found.waiting) == (23, 7, 27)
    assert [each.reviewed for each in found.rows] == [False] * 20 + [True] * 3
    assert board.changes_by_state() == {("t", "open"): 27, ("t", "fault"): 3}


def test_what_is_no_event_of_a_change_is_passed_over() -> None:
    board = Board()

    assert not board.read_changes([Record(7, 1.0, {"change": 3}), Record(8, 1.0, {})])
    assert not board.read_changes([])
    assert (board.changes().rows, board.changes_read) == ((), 8)
    assert Alike()[:2] == (0, 0)


def test_calls_of_a_change_wait_on_its_card_and_others_on_their_own() -> None:
    board = Board()
    put(board, verdict(1, change="a"), verdict(2), verdict(3, change="never told of"), verdict(4, None, change="a"))
    assert waiting(board) == [1, 2, 3]  # nobody has been told of a change yet
    before = board.version
    board.read_changes([change(1, "a", "open", what="price is high")])
    put(board, verdict(5, change="a"), verdict(6))

    assert waiting(board) == [2, 3, 6]
    assert board.version > before
    assert [(row.tool, row.waiting) for row in board.tools().rows] == [("t", 3 + 1)]
    assert board.tools().waiting == 3
    assert [(shown.sequence, shown.has_card) for shown in board.newest(9)] == [
        (6, False), (5, True), (4, True), (3, False), (2, False), (1, True),
    ]  # fmt: skip
    assert [shown.sequence for shown in board.calls_of("a", 2)] == [5, 4]
    assert board.calls_of("z", 2) == ()
    put(board, label(1, "c5"), "t")  # labels that are taken back bring back no card
    assert waiting(board) == [2, 3, 6]


def test_a_decided_change_waits_no_more_and_neither_do_its_calls() -> None:
    board = Board()
    board.read_changes([change(1, "a", "open", what="price is high"), change(2, "b", "followed", why="it evolved")])
    put(board, verdict(7, change="a"), verdict(8, change="b"))
    assert [(each.id, each.reviewed, each.why) for each in board.changes().rows] == [
        ("a", False, ""), ("b", False, "it evolved"),
    ]  # fmt: skip
    board.read_changes([change(3, "a", "adopted", by="review")])

    assert [(each.id, each.reviewed) for each in board.changes().rows] == [("b", False), ("a", True)]
    assert (board.changes().open, board.changes().waiting, waiting(board)) == (0, 1, [])
    assert [(row.tool, row.waiting) for row in board.tools().rows] == [("t", 1)]


def test_a_change_begins_with_its_first_call_and_no_decision_moves_that() -> None:
    board = Board()
    put(board, verdict(3, change="a"))
    board.read_changes([change(1, "a", "open", what="price is high", at=100.0)])
    put(board, verdict(5, change="a"))
    board.read_changes([change(2, "a", "fault", by="review", at=200.0)])

    (row,) = board.changes().rows
    assert (row.opened, row.since, row.calls) == (3.0, 200.0, 2)


def test_calls_of_a_change_that_are_not_kept_are_counted_on() -> None:
    board = Board(kept=2)
    board.read_changes([change(1, "a", "open", what="price is high")])
    put(board, *(verdict(n, change="a") for n in range(1, 6)), verdict(6), verdict(7))

    assert board.calls_of("a", 9) == ()
    assert [(row.calls, row.opened) for row in board.changes().rows] == [(5, 1.0)]


def test_what_nobody_could_look_up_does_not_wait() -> None:
    board = Board()
    put(board, verdict(1, None), label(1, None))

    assert waiting(board) == []
    assert [shown.label for shown in board.newest(9)] == [None]


def test_a_name_that_came_again_is_told_apart_by_its_posterior() -> None:
    board = Board()
    put(board, verdict(1, "c", posterior=0.3), verdict(2, "c", posterior=0.6), verdict(3, "c", tool="other"))

    put(board, label(1, "c", posterior=0.3))
    assert waiting(board) == [2, 3]
    put(board, label(2, "c", posterior=0.99))  # of no record: the newest of the name
    assert waiting(board) == [3]


def test_the_last_word_stands() -> None:
    board = Board()
    put(board, verdict(1), label(1, "c1"), label(2, "c1", fabricated=False))

    (shown,) = board.newest(1)
    assert shown.label is not None
    assert (shown.label.sequence, shown.label.was_hallucination) == (2, False)
    (row,) = board.tools().rows
    assert (row.fabricated, row.genuine, row.waiting) == (1, 1, 0)


def test_a_label_may_be_there_before_its_record() -> None:
    board = Board()
    put(board, label(1, "c1"), label(2, "c2", posterior=0.9), verdict(1), verdict(2))

    assert waiting(board) == [2]  # whose label is on another posterior


def test_labels_that_were_taken_back_wait_again() -> None:
    board = Board()
    put(board, verdict(1), verdict(2, tool="u"), verdict(3), label(1, "c1"), label(2, "c2", tool="u"), "t")

    assert waiting(board) == [1, 3]
    assert {row.tool: (row.fabricated, row.waiting) for row in board.tools().rows} == {"t": (0, 2), "u": (1, 0)}


def test_only_the_newest_are_kept() -> None:
    board = Board(kept=2)
    put(board, *map(verdict, range(1, 6)), label(1, "c1"), label(2, "c4"))

    assert [shown.sequence for shown in board.newest(9)] == [5, 4]
    assert waiting(board) == [5]
    assert board.find(3) is None
    (row,) = board.tools().rows
    assert (row.flag, row.waiting, row.fabricated) == (5, 1, 2)


def test_tools_with_most_to_look_at_come_first() -> None:
    board = Board()
    put(board, verdict(1, tool="b"), verdict(2, tool="a"), verdict(3, None, tool="c"))
    board.set_calls({"d": 7, "a": 3})

    assert [(row.tool, row.waiting, row.calls) for row in board.tools().rows] == [
        ("a", 1, 3), ("b", 1, None), ("c", 0, None), ("d", 0, 7),
    ]  # fmt: skip
    assert board.tools().waiting == 2


def test_many_tools_are_told_by_their_number() -> None:
    board = Board()
    put(board, *(verdict(n, tool=f"t{n:03}") for n in range(1, 131)))

    assert (len(board.tools().rows), board.tools().more) == (100, 30)


def test_news_is_told_from_a_position_on() -> None:
    board = Board()
    put(board, verdict(1), label(1, "c1"), verdict(2), verdict(4))

    assert news(board, Position(0, 0)) == [("verdict", 1), ("label", None), ("verdict", 2), ("verdict", 4)]
    assert news(board, Position(1, 0)) == [("label", None), ("verdict", 2), ("verdict", 4)]
    assert news(board, Position(2, 1)) == [("verdict", 4)]
    assert news(board, Position(4, 0)) == [("label", None)]  # as another server may have read the logs
    assert news(board, Position(4, 1)) == []
    assert news(board, Position(0, 0), limit=2) == [("verdict", 1), ("label", None)]


@pytest.mark.parametrize("position", [Position(2, 0), Position(9, 0), Position(5, 1)])
def test_what_is_not_kept_or_never_was_is_no_position(position: Position) -> None:
    board = Board(news=2)
    put(board, *map(verdict, range(1, 6)))

    assert news(board, position) is None
    assert news(board, Position(3, 0)) == [("verdict", 4), ("verdict", 5)]


LOGS = st.lists(st.sampled_from(["audit", "feedback"]), max_size=30)


@given(ours=LOGS, cut=st.integers(0, 30), seed=st.randoms(use_true_random=False))
def test_a_reader_misses_nothing_and_hears_nothing_twice(ours: list[str], cut: int, seed: Any) -> None:
    """It goes on with a server that has read the same two logs in another order."""

    def told(order: list[str]) -> Board:
        board, numbers = Board(), {"audit": 0, "feedback": 0}
        for kind in order:
            numbers[kind] += 1
            put(board, verdict(numbers[kind]) if kind == "audit" else label(numbers[kind], None))
        return board

    theirs = seed.sample(ours, len(ours))
    heard: list[tuple[str, int]] = []
    position = Position()
    for order in (ours[:cut], theirs):
        board = told(order)
        if position.audit > board.position.audit or position.feedback > board.position.feedback:
            continue
        for each, _ in board.news_after(position, 100) or []:
            is_verdict = each.kind == "verdict"
            heard.append((each.kind, each.at.audit if is_verdict else each.at.feedback))
            position = (
                position._replace(audit=each.at.audit) if is_verdict else position._replace(feedback=each.at.feedback)
            )
    expected = {("verdict", n + 1) for n in range(ours.count("audit"))}
    expected |= {("label", n + 1) for n in range(ours.count("feedback"))}

    assert len(heard) == len(set(heard))
    assert set(heard) == expected
