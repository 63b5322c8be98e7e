"""The largest size that this process has had in memory."""

from __future__ import annotations

import sys
from pathlib import Path

__all__ = ["peak_bytes", "reset_peak"]

_PROCESS = Path("/proc/self")


def peak_bytes() -> int | None:
    """The largest resident size in bytes, since it was reset or since the program began; None where not known.

    ``getrusage`` would count the parent of which the process was forked.
    """
    if sys.platform != "linux":
        return None
    for line in (_PROCESS / "status").read_text(encoding="ascii", errors="replace").splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) * 1_024
    return None


def reset_peak() -> None:
    """Begin anew from the present size."""
    if sys.platform == "linux":
        (_PROCESS / "clear_refs").write_text("5", encoding="ascii")
