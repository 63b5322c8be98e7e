"""A search through the inputs of one target: what was tried, what failed, what was slowest."""

from __future__ import annotations

import json
import os
import random
import time
from collections import Counter
from hashlib import sha256
from pathlib import Path
from typing import Any, Final
from zlib import crc32

from fuzz import tokens
from fuzz.harness import Harness
from fuzz.source import VERBATIM
from fuzz.target import Target
from fuzz.trying import HANG_SECONDS, Failure, Outcome, attempt

__all__ = ["ARTEFACTS", "CORPUS", "Campaign", "again", "minimised", "mutated", "seeds"]

HERE: Final = Path(__file__).parent
ARTEFACTS, CORPUS = HERE / "artefacts", HERE / "corpus"
LONGEST: Final = 4_096  # bytes of an input; what it stands for may be longer
THOROUGH: Final = 8  # one input in so many is tried thoroughly, where there are many
TOLD_EVERY: Final = 2.0  # seconds
LARGE_SHARE: Final = 0.1  # of the time, for large inputs: a single one may take seconds
AHEAD: Final = 2.0  # seconds that a harness may be ahead of its share: it has seeds to begin with
PIECES: Final = tuple(
    piece.encode("utf-8", "surrogatepass")
    for alphabet in (
        tokens.JSON,
        tokens.NUMBERS,
        tokens.DATES,
        tokens.MARKDOWN,
        tokens.HTML,
        tokens.UNICODE,
        tokens.YAML,
    )
    for piece in alphabet
    if len(piece) < 40
)


def again(target: Target, path: Path) -> str:
    """The command that tries a kept input again."""
    place = path.relative_to(HERE.parent) if path.is_relative_to(HERE.parent) else path
    return f"python -m fuzz {target.name} --replay {place}"


class Campaign:
    """The account of one search.

    Args:
        target: what is tried.
        artefacts: where inputs that fail are kept, with what they led to; None: nowhere.
        limited: an input that takes too long is stopped here; False where the engine does that.
        thorough: every input is tried with all promises; False: one in eight is, and always the same one.

    Attributes:
        inputs: how many were tried.
        failures: by their key, the shortest input that led to each.
        slowest: the input that took longest for its size, and its outcome.
    """

    def __init__(
        self, target: Target, artefacts: Path | None = None, *, limited: bool = True, thorough: bool = True
    ) -> None:
        self.target = target
        self.inputs = 0
        self.failures: dict[str, bytes] = {}
        self.slowest: tuple[bytes, Outcome] = (b"", Outcome(0.0, 0, None))
        self._tried: Counter[str] = Counter()
        self._spent: dict[str, float] = dict.fromkeys(target.shares, 0.0)
        self._spent_on_large = 0.0
        self._seconds = HANG_SECONDS if limited else None
        self._thorough = thorough
        self._folder = None if artefacts is None else artefacts / target.name
        self._began = self._told = time.monotonic()
        if self._folder is not None:
            self._folder.mkdir(parents=True, exist_ok=True)
        self._current: int | None = None
        if self._folder is not None and limited:  # what ends the process leaves no other trace
            self._current = os.open(self._folder / "current", os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)

    @property
    def seconds(self) -> float:
        """Since the search began."""
        return time.monotonic() - self._began

    def its_turn(self, data: bytes) -> bool:
        """Its harness has not had more than its share of the time; nor, if the input is a large one, have large ones.

        A search that is guided comes back to what has most branches, and that is what takes longest.
        """
        harness, _, large = self.target.opened(data)
        total = sum(self._spent.values())
        if large and self._spent_on_large > LARGE_SHARE * total + AHEAD:
            return False
        return self._spent[harness.name] <= self.target.shares[harness.name] * total + AHEAD

    def try_one(self, data: bytes) -> Outcome:
        """Try an input and take down what came of it."""
        if self._current is not None:
            os.pwrite(self._current, data, 0)
            os.ftruncate(self._current, len(data))
        slowest = self.slowest[1].per_kib
        thorough = self._thorough or crc32(data) % THOROUGH == 0
        began = time.monotonic()
        outcome = attempt(self.target, data, self._seconds, thorough=thorough, weighed_from=slowest)
        spent = time.monotonic() - began
        self._spent[outcome.harness] += spent
        if self.target.opened(data)[2]:
            self._spent_on_large += spent
        self.inputs += 1
        self._tried[outcome.harness] += 1
        if outcome.failure is not None:
            self._keep(data, outcome.failure)
        elif outcome.per_kib > slowest:
            # Again, for the first time includes what is loaded, compiled and cached.
            outcome = min(outcome, attempt(self.target, data, self._seconds), key=lambda each: each.seconds)
            if outcome.failure is None and outcome.per_kib > slowest:
                self.slowest = (data, outcome)
        return outcome

    def _keep(self, data: bytes, failure: Failure) -> None:
        known = self.failures.get(failure.key)
        if known is not None and len(known) <= len(data):
            return
        self.failures[failure.key] = data
        if self._folder is not None:
            path = self._folder / ("crash-" + sha256(failure.key.encode()).hexdigest()[:12])
            path.write_bytes(data)
            said = f"{failure.key}\n\n{again(self.target, path)}\n\n{failure.said}"
            path.with_suffix(".txt").write_text(said, "utf-8", "backslashreplace")

    def tell(self) -> None:
        """Write the account down, if that was not done lately: whatever ends the process, little of it is lost."""
        now = time.monotonic()
        if now - self._told >= TOLD_EVERY:
            self._told = now
            self._write(self.account())

    def account(self) -> dict[str, Any]:
        """What was done so far, as plain data."""
        outcome = self.slowest[1]
        return {
            "target": self.target.name,
            "inputs": self.inputs,
            "seconds": round(self.seconds, 1),
            "tried": dict(sorted(self._tried.items())),
            "failures": {key: data.hex() for key, data in sorted(self.failures.items())},
            "slowest_ms_per_kib": round(1000 * outcome.per_kib, 3),
            "slowest_bytes": outcome.size,
        }

    def _write(self, account: dict[str, Any]) -> None:
        if self._folder is not None:
            draft = self._folder / "account.draft"
            draft.write_text(json.dumps(account, indent=1), "utf-8")
            draft.replace(self._folder / "account.json")

    def finish(self) -> dict[str, Any]:
        """Minimise what failed, keep the slowest input, and give the account."""
        searched = self.account()["seconds"]
        for key, data in list(self.failures.items()):
            shorter = minimised(self.target, data, key)
            failure = attempt(self.target, shorter).failure
            if failure is not None and failure.key == key:
                self._keep(shorter, failure)
        account = {**self.account(), "seconds": searched}
        if self._folder is not None:
            (self._folder / "slowest").write_bytes(self.slowest[0])
        if self._folder is not None and self._current is not None:
            os.close(self._current)
            self._current = None
            (self._folder / "current").unlink(missing_ok=True)
        self._write(account)
        return account


def seeds(harness: Harness) -> list[bytes]:
    """The inputs that a search of a harness begins with: those of everybody, and its own."""
    found = [b"", *(path.read_bytes() for name in ("all", harness.name) for path in sorted((CORPUS / name).glob("*")))]
    return list(dict.fromkeys(found))


def mutated(numbers: random.Random, known: list[bytes]) -> bytes:
    """An input of a harness made of known ones, or anew."""
    kind = numbers.random()
    if kind < 0.5 or not known:
        return numbers.randbytes(int(2 ** numbers.uniform(2, 10)))
    data = bytearray(numbers.choice(known))
    for _ in range(numbers.randint(1, 6)):
        at = numbers.randint(0, len(data))
        change = numbers.randint(0, 5)
        if change == 0:
            data[at:at] = numbers.randbytes(numbers.randint(1, 8))
        elif change == 1:
            del data[at : at + numbers.randint(1, 16)]
        elif change == 2 and at < len(data):
            data[at] = numbers.randint(0, 255)
        elif change == 3:
            data[at:at] = numbers.choice(PIECES)
        elif change == 4:
            other = numbers.choice(known)
            cut = numbers.randint(0, len(other))
            data[at:] = other[cut:].removeprefix(VERBATIM)
        else:
            piece = bytes(data[at : at + numbers.randint(1, 32)])
            data[at:at] = piece * numbers.choice((1, 2, 30))
    return bytes(data[:LONGEST])


def minimised(target: Target, data: bytes, key: str, seconds: float = 20.0) -> bytes:
    """The shortest input found in some time that fails in the same way: parts are left out, ever smaller ones."""
    began = time.monotonic()

    def same(tried: bytes) -> bool:
        outcome = attempt(target, tried)
        return outcome.failure is not None and outcome.failure.key == key

    step = max(len(data) // 2, 1)
    while step and time.monotonic() - began < seconds:
        at = 0
        while at < len(data) and time.monotonic() - began < seconds:
            shorter = data[:at] + data[at + step :]
            if same(shorter):
                data = shorter
            else:
                at += step
        step //= 2
    return data
