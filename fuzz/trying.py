"""One input tried under a limit of time, and what came of it."""

from __future__ import annotations

import faulthandler
import signal
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Final, NamedTuple

from fuzz.harness import Harness
from fuzz.source import Source
from fuzz.trial import Broken, Hang, Trial

__all__ = ["HANG_SECONDS", "Failure", "Outcome", "attempt"]

HANG_SECONDS: Final = 30.0
"""An input that takes longer has hung. Generous: it is no measure of speed."""

_HARD: Final = 2.0  # times the limit, after which the process is ended with all stacks shown: C code heeds no signal


class Failure(NamedTuple):
    """What did not hold.

    Attributes:
        key: the same for the same fault: the error's class, and where it arose.
        said: the whole traceback.
    """

    key: str
    said: str


class Outcome(NamedTuple):
    """What came of one input.

    Attributes:
        seconds: in the code under test.
        size: bytes it was given.
        failure: None where everything held.
    """

    seconds: float
    size: int
    failure: Failure | None

    @property
    def per_kib(self) -> float:
        """Seconds for each KiB; an input of less than one counts as one, for its cost is that of a call."""
        return self.seconds / max(self.size / 1024, 1.0)


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    def stop(_: int, __: FrameType | None) -> None:
        raise Hang(f"more than {seconds:g} seconds")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    faulthandler.dump_traceback_later(_HARD * seconds, exit=True)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def attempt(harness: Harness, data: bytes, seconds: float = HANG_SECONDS) -> Outcome:
    """Try one input."""
    trial = Trial(Source(data))
    failure: Failure | None = None
    try:
        with _limited(seconds):
            harness.run(trial)
    except (Exception, Hang) as error:
        failure = Failure(_key(error), "".join(traceback.format_exception(error)))
    return Outcome(trial.seconds, trial.size, failure)


def _key(error: BaseException) -> str:
    where = _place(error.__traceback__)
    said = "".join(sign for sign in str(error) if not sign.isdigit())[:60] if isinstance(error, Broken) else ""
    return f"{type(error).__name__} {said} at {where}" if said else f"{type(error).__name__} at {where}"


def _place(trace: TracebackType | None) -> str:
    """The last place in agentguard, or else in the harness."""
    frames: list[Any] = []
    while trace is not None:
        frames.append(trace)
        trace = trace.tb_next
    ours = [each for each in frames if "/agentguard/" in each.tb_frame.f_code.co_filename] or [
        each for each in frames if "/fuzz/targets/" in each.tb_frame.f_code.co_filename
    ]
    last = (ours or frames)[-1]
    return f"{Path(last.tb_frame.f_code.co_filename).name}:{last.tb_frame.f_code.co_name}:{last.tb_lineno}"
