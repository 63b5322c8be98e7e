"""Answers to single requests, kept as they come.

A resumed run asks for none of them again, an incremental one for what is new alone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping


class KeptAnswers:
    """Answers of one run, by what was asked.

    Only answers from before are given: a request that is sent twice within a run is two requests.

    Attributes:
        reused: How many answers of another run were given.
    """

    def __init__(self) -> None:
        self.reused: int = 0
        self._before: Mapping[str, str] = {}
        self._others: dict[str, str] = {}
        self._write: Callable[[str, str], None] | None = None

    def begin(
        self,
        before: Mapping[str, str],
        write: Callable[[str, str], None],
        others: Mapping[str, str] | None = None,
    ) -> None:
        """Begin a run.

        Args:
            before: The answers that it has already.
            write: Records a further one; takes its key and its text.
            others: Answers of another run; each that is given counts as one of this run from then on.
        """
        self._before, self._write, self._others, self.reused = before, write, dict(others or {}), 0

    def get(self, key: str) -> str | None:
        """The answer that the run has already; None if there is none."""
        answer = self._before.get(key)
        if answer is None:
            answer = self._others.pop(key, None)
            if answer is not None:
                self.reused += 1
                self.add(key, answer)
        return answer

    def add(self, key: str, text: str) -> None:
        """Record an answer that has just come."""
        if self._write is not None:
            self._write(key, text)


def key_of(*parts: str) -> str:
    """Digest of a request: of who is asked, and what."""
    return hashlib.blake2b(json.dumps(parts).encode(), digest_size=16).hexdigest()
