"""Work done in copies of this process: each starts from what is in memory now and leaves it as it is.

An engine that has learned a long history is at hand in every copy without being fed again, and what a copy's engine
goes on to learn ends with the copy.
"""

from __future__ import annotations

import json
import os
import selectors
import traceback
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, NoReturn

__all__ = ["WorkFailedError", "can_fork", "forked"]

AT_ONCE = 2
CHUNK = 1 << 16


class WorkFailedError(Exception):
    """A copy's work failed; has the traceback of the copy."""


class _Copy(NamedTuple):
    """A copy at work: which job, its process, and what it has said until now."""

    job: int
    process: int
    said: list[bytes]


def can_fork() -> bool:
    """Whether this system can copy a process."""
    return hasattr(os, "fork")


def forked(
    jobs: Sequence[Callable[[], Any]], at_once: int = AT_ONCE, done: Callable[[], object] = lambda: None
) -> list[Any]:
    """Run every job in a copy of this process; the results, as JSON gives them back, in the order of the jobs.

    Args:
        jobs: what to run. A result must be of what JSON knows.
        at_once: how many copies work at the same time.
        done: called in this process whenever a job has ended.

    Raises:
        WorkFailedError: for a job that raises, with its traceback, or whose process ends without a result.
    """
    results: list[Any] = [None] * len(jobs)
    waiting = list(range(len(jobs)))[::-1]
    with selectors.DefaultSelector() as pipes:
        try:
            while waiting or pipes.get_map():
                while waiting and len(pipes.get_map()) < at_once:
                    number = waiting.pop()
                    reading, process = _start(jobs[number])
                    pipes.register(reading, selectors.EVENT_READ, _Copy(number, process, []))
                for key, _ in pipes.select():
                    copy: _Copy = key.data
                    chunk = os.read(key.fd, CHUNK)
                    copy.said.append(chunk)
                    if not chunk:
                        _end(pipes, key.fd, copy)
                        results[copy.job] = _result(copy)
                        done()
        finally:
            # After a failure the other copies write to a closed pipe and end.
            for key in list(pipes.get_map().values()):
                _end(pipes, key.fd, key.data)
    return results


def _start(job: Callable[[], Any]) -> tuple[int, int]:
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        # Python warns where other threads run: a copy takes no lock of theirs, it reckons, writes and ends.
        warnings.simplefilter("ignore", DeprecationWarning)
        process = os.fork()
    if not process:
        os.close(reading)
        _work(job, writing)
    os.close(writing)
    return reading, process


def _work(job: Callable[[], Any], writing: int) -> NoReturn:
    code = 1
    try:
        try:
            said = json.dumps({"result": job()})
        except Exception:
            said = json.dumps({"failed": traceback.format_exc()})
        with os.fdopen(writing, "w") as pipe:
            pipe.write(said)
        code = 0
    finally:
        os._exit(code)  # nothing of the original's is to be flushed or cleaned up twice


def _end(pipes: selectors.BaseSelector, reading: int, copy: _Copy) -> None:
    pipes.unregister(reading)
    os.close(reading)
    os.waitpid(copy.process, 0)


def _result(copy: _Copy) -> Any:
    try:
        answer = json.loads(b"".join(copy.said))
    except ValueError as error:
        raise WorkFailedError(f"job {copy.job} ended without a result") from error
    if "failed" in answer:
        raise WorkFailedError(f"job {copy.job} failed:\n{answer['failed']}")
    return answer["result"]
