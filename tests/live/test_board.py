"""What is kept, what waits, and what has changed since when."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.live.board import Board, Position
from agentguard.live.records import Label
from agentguard.verification.audit import AuditRecord, Judged


def verdict(sequence: int, call_id: str | None = "", tool: str = "t", posterior: float = 0.5) -> AuditRecord:
    name = f"c{sequence}" if call_id == "" else call_id
    call = Judged("flag", 0.15, (), {}, 1.0)
    return AuditRecord(sequence, float(sequence), tool, name, None, posterior, None, call)


def label(
    sequence: int, call_id: str | None, *, fabricated: bool = True, tool: str = "t", posterior: float | None = 0.5
) -> Label:
    return Label(sequence, float(sequence), tool, call_id, posterior, fabricated)


def put(board: Board, *what: AuditRecord | Label | str) -> None:
    """Each by itself, in this order; a text takes a tool's labels back."""
    for each in what:
        at = board.position
        if isinstance(each, AuditRecord):
            board.read_on(each.sequence, [each], 0, ())
        else:
            board.read_on(0, (), each.sequence if isinstance(each, Label) else at.feedback + 1, [each])


def waiting(board: Board) -> list[int]:
    return [shown.sequence for shown in board.queue(0, 100).verdicts]


def changes(board: Board, position: Position, limit: int = 100) -> list[tuple[str, Any]] | None:
    found = board.changes_after(position, limit)
    return None if found is None else [(change.kind, shown and shown.sequence) for change, shown in found]


def test_the_queue_is_in_order_and_ends_with_a_label() -> None:
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


def test_changes_are_told_from_a_position_on() -> None:
    board = Board()
    put(board, verdict(1), label(1, "c1"), verdict(2), verdict(4))

    assert changes(board, Position(0, 0)) == [("verdict", 1), ("label", None), ("verdict", 2), ("verdict", 4)]
    assert changes(board, Position(1, 0)) == [("label", None), ("verdict", 2), ("verdict", 4)]
    assert changes(board, Position(2, 1)) == [("verdict", 4)]
    assert changes(board, Position(4, 0)) == [("label", None)]  # as another server may have read the logs
    assert changes(board, Position(4, 1)) == []
    assert changes(board, Position(0, 0), limit=2) == [("verdict", 1), ("label", None)]


@pytest.mark.parametrize("position", [Position(2, 0), Position(9, 0), Position(5, 1)])
def test_what_is_not_kept_or_never_was_is_no_position(position: Position) -> None:
    board = Board(changes=2)
    put(board, *map(verdict, range(1, 6)))

    assert changes(board, position) is None
    assert changes(board, Position(3, 0)) == [("verdict", 4), ("verdict", 5)]


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
        for change, _ in board.changes_after(position, 100) or []:
            is_verdict = change.kind == "verdict"
            heard.append((change.kind, change.at.audit if is_verdict else change.at.feedback))
            position = (
                position._replace(audit=change.at.audit)
                if is_verdict
                else position._replace(feedback=change.at.feedback)
            )
    expected = {("verdict", n + 1) for n in range(ours.count("audit"))}
    expected |= {("label", n + 1) for n in range(ours.count("feedback"))}

    assert len(heard) == len(set(heard))
    assert set(heard) == expected
