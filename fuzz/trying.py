"""One input tried under a limit of time, and what came of it."""

from __future__ import annotations

import signal
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Final, NamedTuple

from fuzz.source import Source
from fuzz.target import Target
from fuzz.trial import Broken, Hang, Trial

__all__ = ["HANG_SECONDS", "Failure", "Outcome", "attempt"]

HANG_SECONDS: Final = 30.0
"""An input that takes longer has hung. Generous: it is no measure of speed."""


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
        size: bytes it was given; 0 where that was not asked for.
        failure: None where everything held.
        harness: the name of the one that the input was for.
    """

    seconds: float
    size: int
    failure: Failure | None
    harness: str = ""

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
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def attempt(
    target: Target,
    data: bytes,
    seconds: float | None = HANG_SECONDS,
    *,
    thorough: bool = True,
    weighed_from: float = 0.0,
) -> Outcome:
    """Try one input.

    Args:
        target: what is tried.
        data: the input.
        seconds: it may take; None: somebody else sees to that.
        thorough: with the promises that cost as much as the call itself.
        weighed_from: the size is told of what takes so many seconds; it takes time to find out.
    """
    harness, body, large = target.opened(data)
    trial = Trial(Source(body, large=large), thorough=thorough)
    failure: Failure | None = None
    try:
        with nullcontext() if seconds is None else _limited(seconds):
            harness.run(trial)
    except (Exception, Hang) as error:
        failure = Failure(_key(error), "".join(traceback.format_exception(error)))
    return Outcome(trial.seconds, trial.size if trial.seconds >= weighed_from else 0, failure, harness.name)


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
