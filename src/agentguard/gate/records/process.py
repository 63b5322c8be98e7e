"""Which process runs a gate, and whether it is still there."""

from __future__ import annotations

import os
import socket
from pathlib import Path

__all__ = ["has_ended", "this_process"]


def this_process() -> str:
    """``host:pid:started``, by which this process is told from every other; without ``started`` where nobody knows.

    ``started`` is the start of the process in ticks since the machine's, as Linux has it in ``/proc``: a number of a
    process is given again, but not at the same time.
    """
    state = _state(os.getpid())
    return f"{socket.gethostname()}:{os.getpid()}" + ("" if state is None else f":{state[1]}")


def has_ended(process: str) -> bool:
    """Whether a process of this machine is no longer there.

    Args:
        process: ``host:pid`` or ``host:pid:started``.

    Returns:
        False for one of another machine, and wherever it cannot be told.

    >>> has_ended(this_process()), has_ended("elsewhere:1")
    (False, False)
    """
    host, *numbers = process.split(":")
    if host != socket.gethostname() or not 1 <= len(numbers) <= 2 or not all(map(_is_number, numbers)):
        return False
    pid = int(numbers[0])
    if os.name != "posix" or not 0 < pid < 1 << 31:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:  # another user's
        pass
    state = _state(pid)
    if state is None:
        return False
    code, started = state
    return code in ("Z", "X") or (len(numbers) == 2 and started != numbers[1])


def _state(pid: int) -> tuple[str, str] | None:
    """The one-letter state of a process, and when it started."""
    try:
        line = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The second field is the program's name, which may hold anything, in parentheses; the third is the state.
    rest = line.rpartition(")")[2].split()
    return (rest[0], rest[19]) if len(rest) > 19 else None


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal()
