"""The helper of an installation from outside: which process it is, and its end."""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

LOCK: Final = "lock"  # the helper holds it for as long as it lives, and writes its process id there
END_SECONDS: Final = 15.0  # that a helper may take to end; it waits ten for answers under way


def helper_of(folder: Path) -> int | None:
    """The process id of the helper of an installation; None where none runs."""
    if sys.platform == "win32":
        return None
    import fcntl

    try:
        with open(folder / LOCK, "rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:  # the helper holds it for as long as it lives
                return int(file.read())
    except (OSError, ValueError):
        pass
    return None


def end_helper(folder: Path) -> bool:
    """End the helper of an installation, which keeps what it learned; returns whether it has ended, or none ran."""
    number = helper_of(folder)
    if number is None:
        return True
    with suppress(ProcessLookupError, PermissionError):
        os.kill(number, signal.SIGTERM)
    end = time.monotonic() + END_SECONDS
    while helper_of(folder) is not None and time.monotonic() < end:
        time.sleep(0.02)
    return helper_of(folder) is None
