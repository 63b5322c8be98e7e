"""What a reviewer says of a call becomes a label in the store's log, and of a lasting change a decision; once."""

from __future__ import annotations

import logging
import time
from contextlib import suppress
from dataclasses import replace
from typing import Final, Literal

from agentguard import forks
from agentguard.errors import DataError, StoreError
from agentguard.live._board import Board, ShownChange
from agentguard.live._follower import Follower
from agentguard.live._records import Label, ShownVerdict, label_event, shown
from agentguard.serving._app import ProblemError
from agentguard.stores import Store
from agentguard.verification.changes import decide
from agentguard.verification.persistence import FEEDBACK

CLAIMS: Final = "review"
DECISIONS: Final = "decision"  # claims too
_log = logging.getLogger("agentguard.live")


class Reviews:
    """Writes labels and decisions, so that of several reviewers one is heard and the others are told. Thread-safe.

    Within one server a lock sees to that; between servers on one store a claim on the call and the label that it has,
    or on the change and its latest decision.

    Args:
        store: where they go; the engines on it read them on.
        board: where the calls and the changes are.
        follower: reads on what others have said meanwhile.
    """

    def __init__(self, store: Store, board: Board, follower: Follower) -> None:
        self._store, self._board, self._follower = store, board, follower
        self._lock = forks.lock(forks.Rank.LEAF)
        self._held: set[tuple[str, str]] = set()  # claims whose event could not be written: to be tried again

    def review(self, sequence: int, *, was_hallucination: bool, corrects: int = 0) -> ShownVerdict:
        """Say what a call was; the call with its label.

        Args:
            sequence: of its audit record.
            was_hallucination: what the reviewer found.
            corrects: the number of the label in whose place this one stands; 0 where there is none.

        Raises:
            ProblemError: where there is no such call, somebody else was first, or the store fails.
        """
        try:
            with self._lock:
                return self._review(sequence, was_hallucination, corrects)
        except StoreError as error:
            raise _failed("a label", error) from None

    def decide(self, id_: str, state: Literal["fault", "adopted"], *, corrects: int = 0) -> ShownChange:
        """Say what a lasting change is; the change with this decision.

        Args:
            id_: the change's.
            state: what the reviewer found.
            corrects: the number of the decision in whose place this one stands; 0 where there is none.

        Raises:
            ProblemError: where there is no such change, somebody else was first, or the store fails.
        """
        try:
            with self._lock:
                return self._decide(id_, state, corrects)
        except StoreError as error:
            raise _failed("a decision", error) from None
        except DataError as error:
            raise ProblemError(404, "no-such-change", str(error)) from None

    def _decide(self, id_: str, state: Literal["fault", "adopted"], corrects: int) -> ShownChange:
        self._follower.catch_up()
        found = self._board.change(id_)
        if found is None:
            raise ProblemError(404, "no-such-change", "there is no such change on record")
        if found.decided == corrects and found.reviewed and found.state == state:
            return found
        if corrects != found.decided:
            raise ProblemError(409, "decided", "somebody has decided this meanwhile")
        claim = DECISIONS, f"{id_} {corrects}"
        self._claim(claim, "decided", "somebody is deciding this at another server")
        change = decide(self._store, id_, state)
        self._held.discard(claim)
        with suppress(StoreError):  # it is written; the follower tells of the store, and reads it later
            self._follower.catch_up()
            return self._board.change(id_) or found
        return replace(found, state=change.state, reviewed=True)

    def _claim(self, claim: tuple[str, str], kind: str, said: str) -> None:
        """Be the first.

        Raises:
            ProblemError: where another server was.
        """
        if claim not in self._held and not self._store.claim(*claim):
            raise ProblemError(409, kind, said)
        self._held.add(claim)

    def _review(self, sequence: int, was_hallucination: bool, corrects: int) -> ShownVerdict:
        self._follower.catch_up()
        found = self._board.find(sequence)
        if found is None:
            raise ProblemError(404, "no-such-verdict", "this verdict is not among the newest on record")
        recorded, label = found
        record = recorded.record
        if record.call_id is None:
            raise ProblemError(409, "nameless", "this call has no id, by which anybody could find out what it was")
        if label is not None and label.sequence == corrects and label.fabricated == was_hallucination:
            return shown(recorded, label)
        if corrects != (0 if label is None else label.sequence):
            raise ProblemError(409, "reviewed", "somebody has reviewed this call meanwhile")
        claim = CLAIMS, f"{sequence} {corrects}"
        self._claim(claim, "reviewed", "somebody is reviewing this call at another server")
        number = self._store.append(FEEDBACK, label_event(record, was_hallucination=was_hallucination))
        self._held.discard(claim)
        given = Label(number, time.time(), record.tool, record.call_id, record.posterior, was_hallucination)
        with suppress(StoreError):  # the label is written; the follower tells of the store, and reads it later
            self._follower.catch_up()
            label = (self._board.find(sequence) or found)[1]
        return shown(recorded, label if label is not None and label.sequence == number else given)


def _failed(what: str, error: StoreError) -> ProblemError:
    _log.error("%s cannot be written: %s", what, error)
    return ProblemError(
        503, "store", "the store cannot be used, and nothing was learned; try again later", retry_after=10
    )
