"""Files of exported state: written whole or not at all, read line by line, gzipped by their name."""

from __future__ import annotations

import gzip
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from agentguard._line_files import DAMAGED, Bloated, unpacked
from agentguard.admin.transfer import MAX_LINE_BYTES
from agentguard.errors import DataError

from .output import printable

__all__ = ["STDIO", "reader", "write_lines"]

STDIO = "-"


def write_lines(path: str, lines: Iterable[bytes]) -> None:
    """Write a file that only its owner may read, or leave the one that is there whole; ``"-"`` is standard output.

    Raises:
        DataError: where it cannot be written.
    """
    if path == STDIO:
        for line in lines:
            sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()
        return
    target = Path(path)
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:100]}.")
        try:
            with os.fdopen(handle, "wb") as file:
                if target.suffix == ".gz":
                    # Neither name nor time in the head: the same state makes the same file.
                    with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed:
                        _write(packed, lines)
                else:
                    _write(file, lines)
            os.replace(name, target)
        except BaseException:
            os.unlink(name)
            raise
    except (OSError, ValueError) as error:
        raise DataError(f"cannot write {printable(path)}: {_reason(error)}") from None


def _write(file: Any, lines: Iterable[bytes]) -> None:
    for line in lines:
        file.write(line)


@contextmanager
def reader(path: str) -> Iterator[Callable[[], Iterator[bytes]]]:
    """What reads the lines of a file from its beginning, as often as it is called; ``"-"`` is standard input.

    Raises:
        DataError: where it cannot be read.
    """
    try:
        if path != STDIO:
            with open(path, "rb") as file:
                yield lambda: _lines(file, printable(path))
            return
        with tempfile.TemporaryFile() as copy:
            shutil.copyfileobj(sys.stdin.buffer, copy)
            yield lambda: _lines(copy, "standard input")
    except (OSError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"cannot read {printable(path)}: {_reason(error)}") from None


def _lines(file: Any, name: str) -> Iterator[bytes]:
    file.seek(0)
    plain = unpacked(file)
    try:
        while line := plain.readline(MAX_LINE_BYTES + 1):
            yield line
    except DAMAGED:
        raise DataError(f"{name}: the compressed data is damaged or cut off") from None
    except Bloated as error:
        raise DataError(f"{name}: {error}") from None


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
