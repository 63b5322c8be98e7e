"""A search through the inputs of one harness: what was tried, what failed, what was slowest."""

from __future__ import annotations

import json
import random
import time
from hashlib import sha256
from pathlib import Path
from typing import Final

from fuzz import tokens
from fuzz.harness import Harness
from fuzz.source import VERBATIM
from fuzz.trying import Outcome, attempt

__all__ = ["ARTEFACTS", "CORPUS", "Campaign", "minimised", "mutated", "seeds"]

HERE: Final = Path(__file__).parent
ARTEFACTS, CORPUS = HERE / "artefacts", HERE / "corpus"
LONGEST: Final = 4_096  # bytes of an input; what it stands for may be longer
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


class Campaign:
    """The account of one search.

    Args:
        harness: what is tried.
        artefacts: where inputs that fail are kept, with what they led to; None: nowhere.

    Attributes:
        inputs: how many were tried.
        failures: by their key, the shortest input that led to each.
        slowest: the input that took longest for its size, and its outcome.
    """

    def __init__(self, harness: Harness, artefacts: Path | None = None) -> None:
        self.harness = harness
        self.inputs = 0
        self.failures: dict[str, bytes] = {}
        self.slowest: tuple[bytes, Outcome] = (b"", Outcome(0.0, 0, None))
        self._folder = None if artefacts is None else artefacts / harness.name
        self._began = time.monotonic()
        if self._folder is not None:
            self._folder.mkdir(parents=True, exist_ok=True)

    @property
    def seconds(self) -> float:
        """Since the search began."""
        return time.monotonic() - self._began

    def try_one(self, data: bytes) -> Outcome:
        """Try an input and take down what came of it."""
        if self._folder is not None:  # what ends the process leaves no other trace
            (self._folder / "current").write_bytes(data)
        outcome = attempt(self.harness, data)
        self.inputs += 1
        self._keep(data, outcome)
        if outcome.failure is None and outcome.per_kib > self.slowest[1].per_kib:
            # Again, for the first time includes what is loaded, compiled and cached.
            outcome = min(outcome, attempt(self.harness, data))
            if outcome.failure is None and outcome.per_kib > self.slowest[1].per_kib:
                self.slowest = (data, outcome)
        return outcome

    def _keep(self, data: bytes, outcome: Outcome) -> None:
        if outcome.failure is None:
            return
        known = self.failures.get(outcome.failure.key)
        if known is not None and len(known) <= len(data):
            return
        self.failures[outcome.failure.key] = data
        if self._folder is not None:
            name = "crash-" + sha256(outcome.failure.key.encode()).hexdigest()[:12]
            (self._folder / name).write_bytes(data)
            said = f"{outcome.failure.key}\n\n{outcome.failure.said}"
            (self._folder / f"{name}.txt").write_text(said, "utf-8", "backslashreplace")

    def finish(self) -> dict[str, object]:
        """Minimise what failed, keep the slowest input, and give the account as plain data."""
        searched = self.seconds
        for key, data in list(self.failures.items()):
            shorter = minimised(self.harness, data, key)
            self._keep(shorter, attempt(self.harness, shorter))
        slowest, outcome = self.slowest
        account: dict[str, object] = {
            "target": self.harness.name,
            "inputs": self.inputs,
            "seconds": round(searched, 1),
            "failures": sorted(self.failures),
            "slowest_ms_per_kib": round(1000 * outcome.per_kib, 3),
            "slowest_bytes": outcome.size,
        }
        if self._folder is not None:
            (self._folder / "slowest").write_bytes(slowest)
            (self._folder / "account.json").write_text(json.dumps(account, indent=1), "utf-8")
            (self._folder / "current").unlink(missing_ok=True)
        return account


def seeds(harness: Harness) -> list[bytes]:
    """The inputs that a search begins with: those of everybody, and the harness's own."""
    found = [b"", *(path.read_bytes() for name in ("all", harness.name) for path in sorted((CORPUS / name).glob("*")))]
    return list(dict.fromkeys(found))


def mutated(numbers: random.Random, known: list[bytes]) -> bytes:
    """An input made of known ones, or anew."""
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


def minimised(harness: Harness, data: bytes, key: str, seconds: float = 20.0) -> bytes:
    """The shortest input found in some time that fails in the same way: parts are left out, ever smaller ones."""
    began = time.monotonic()

    def same(tried: bytes) -> bool:
        outcome = attempt(harness, tried)
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
