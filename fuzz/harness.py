"""What a family of code is tried with: one function that draws an input, calls the code and holds it to its word."""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from fuzz.trial import Trial, require

__all__ = ["Harness", "folder", "quiet", "scratch", "written"]


class Harness(NamedTuple):
    """A family of code under test.

    Attributes:
        name: as it is named on the command line.
        covers: what is called, for people.
        run: tries one input; raises where something does not hold.
    """

    name: str
    covers: str
    run: Callable[[Trial], None]


class _Kept(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(record.getMessage())


@contextmanager
def quiet() -> Iterator[None]:
    """The guard logs what fails within it and goes on: here nothing may."""
    handler, logger = _Kept(), logging.getLogger("agentguard")
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
    require(not handler.said, f"logged: {handler.said[:3]}")


def scratch() -> str | None:
    """Where files are made: in memory, where there is such a place, for they come by the thousand and need not last."""
    in_memory = "/dev/shm"  # noqa: S108  # a folder of its own is made in it
    return in_memory if "TMPDIR" not in os.environ and Path(in_memory).is_dir() else None


@lru_cache(maxsize=1)
def folder() -> Path:
    """A folder of this process alone, gone with it."""
    import atexit

    made = Path(tempfile.mkdtemp(prefix="agentguard-fuzz-", dir=scratch()))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


def written(name: str, data: bytes) -> Path:
    """A file with these bytes."""
    path = folder() / name
    path.write_bytes(data)
    return path
