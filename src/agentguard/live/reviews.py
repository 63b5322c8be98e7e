"""What a reviewer says of a call becomes a label in the store's log, once."""

from __future__ import annotations

import logging
import time
from contextlib import suppress
from threading import Lock
from typing import Final

from agentguard.errors import StoreError
from agentguard.serving.problems import ProblemError
from agentguard.stores import Store
from agentguard.verification.persistence import FEEDBACK

from .board import Board
from .follower import Follower
from .records import Label, ShownVerdict, label_event, shown

__all__ = ["Reviews"]

CLAIMS: Final = "review"
_log = logging.getLogger("agentguard.live")


class Reviews:
    """Writes labels, so that of several reviewers one is heard and the others are told. Thread-safe.

    Within one server a lock sees to that; between servers on one store a claim on the call and the label that it has.

    Args:
        store: where labels go; the engines on it read them on.
        board: where the calls are.
        follower: reads on what others have said meanwhile.
    """

    def __init__(self, store: Store, board: Board, follower: Follower) -> None:
        self._store, self._board, self._follower = store, board, follower
        self._lock = Lock()
        self._held: set[str] = set()  # claims whose label could not be written: to be tried again

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
            _log.error("a label cannot be written: %s", error)
            raise ProblemError(
                503, "store", "the store cannot be used, and nothing was learned; try again later", retry_after=10
            ) from None

    def _review(self, sequence: int, was_hallucination: bool, corrects: int) -> ShownVerdict:
        self._follower.catch_up()
        found = self._board.find(sequence)
        if found is None:
            raise ProblemError(404, "no-such-verdict", "this verdict is not among the newest on record")
        record, label = found
        if record.call_id is None:
            raise ProblemError(409, "nameless", "this call has no id, by which anybody could find out what it was")
        if label is not None and label.sequence == corrects and label.fabricated == was_hallucination:
            return shown(record, label)
        if corrects != (0 if label is None else label.sequence):
            raise ProblemError(409, "reviewed", "somebody has reviewed this call meanwhile")
        key = f"{sequence} {corrects}"
        if key not in self._held and not self._store.claim(CLAIMS, key):
            raise ProblemError(409, "reviewed", "somebody is reviewing this call at another server")
        self._held.add(key)
        number = self._store.append(FEEDBACK, label_event(record, was_hallucination=was_hallucination))
        self._held.discard(key)
        given = Label(number, time.time(), record.tool, record.call_id, record.posterior, was_hallucination)
        with suppress(StoreError):  # the label is written; the follower tells of the store, and reads it later
            self._follower.catch_up()
            label = (self._board.find(sequence) or found)[1]
        return shown(record, label if label is not None and label.sequence == number else given)
