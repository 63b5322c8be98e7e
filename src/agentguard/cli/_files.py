"""Files of the commands: written whole or not at all, read line by line, gzipped by their name."""

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
from agentguard.cli._terminal import printable
from agentguard.errors import AgentGuardError, DataError
from agentguard.traces._read import reason_of as reason_of

STDIO = "-"


def write_file(path: str | os.PathLike[str], text: str) -> None:
    """Write a file that others may read, or leave the one that is there whole.

    Raises:
        DataError: where it cannot be written.
    """
    with _replacing(path) as file:
        file.write(text.encode())
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(file.name, 0o666 & ~umask)  # as any file; what mkstemp makes is for its owner alone


def write_lines(path: str, lines: Iterable[bytes]) -> None:
    """Write a file that only its owner may read, or leave the one that is there whole; ``"-"`` is standard output.

    Raises:
        DataError: where it cannot be written.
    """
    if path == STDIO:
        sys.stdout.buffer.writelines(lines)
        sys.stdout.buffer.flush()
        return
    with _replacing(path) as file:
        if Path(path).suffix == ".gz":
            # Neither name nor time in the head: the same state makes the same file.
            with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed:
                packed.writelines(lines)
        else:
            file.writelines(lines)


@contextmanager
def _replacing(path: str | os.PathLike[str]) -> Iterator[Any]:
    """A temporary file beside a path, which takes its place in the end, or is removed after an error."""
    try:
        target = Path(path)
        with tempfile.NamedTemporaryFile(dir=target.parent, prefix=f".{target.name[:100]}.", delete=False) as file:
            try:
                yield file
                file.close()
                os.replace(file.name, target)
            except BaseException:
                os.unlink(file.name)
                raise
    except AgentGuardError:
        raise  # of what the lines are made from
    except (OSError, ValueError) as error:
        raise DataError(f"cannot write {printable(os.fspath(path))}: {reason_of(error)}") from None


@contextmanager
def reader(path: str, longest: int) -> Iterator[Callable[[], Iterator[bytes]]]:
    """A function that reads a file's lines from the beginning each time it is called; ``"-"`` is standard input.

    The file may be gzipped. Of a line longer than ``longest`` bytes the first ones and one more are read. Raises
    ``DataError`` where it cannot be read.
    """
    try:
        if path != STDIO:
            with open(path, "rb") as file:
                yield lambda: _lines(file, printable(path), longest)
            return
        with tempfile.TemporaryFile() as copy:
            shutil.copyfileobj(sys.stdin.buffer, copy)
            yield lambda: _lines(copy, "standard input", longest)
    except AgentGuardError:
        raise
    except (OSError, ValueError) as error:
        raise DataError(f"cannot read {printable(path)}: {reason_of(error)}") from None


def _lines(file: Any, name: str, longest: int) -> Iterator[bytes]:
    file.seek(0)
    plain = unpacked(file)
    try:
        while line := plain.readline(longest + 1):
            yield line
    except DAMAGED:
        raise DataError(f"{name}: the compressed data is damaged or cut off") from None
    except Bloated as error:
        raise DataError(f"{name}: {error}") from None
