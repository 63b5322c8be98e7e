"""Log lines on standard error, written by a thread: a client that does not read them holds up no message."""

from __future__ import annotations

import logging
import os
import threading
from contextlib import suppress
from queue import Full, Queue
from typing import Final

MOST_WAITING: Final = 1_000  # lines; further ones are left out until somebody reads
LAST_SECONDS: Final = 1.0  # that the end waits for the last lines to be read


class Saying(logging.Handler):
    """Writes records to a file descriptor, a line each.

    Args:
        to: the file descriptor.
    """

    def __init__(self, to: int = 2) -> None:
        super().__init__()
        self._to = to
        self._lines: Queue[bytes | None] = Queue(MOST_WAITING)
        self._writer = threading.Thread(target=self._write, name="agentguard-proxy-log", daemon=True)
        self._writer.start()

    def emit(self, record: logging.LogRecord) -> None:
        """Let a line wait to be written."""
        try:
            line = f"{self.format(record)}\n".encode("utf-8", "backslashreplace")
        except Exception:
            self.handleError(record)
            return
        with suppress(Full):
            self._lines.put_nowait(line)

    def close(self) -> None:
        """Write what waits, where somebody reads it."""
        with suppress(Full):
            self._lines.put_nowait(None)
        self._writer.join(LAST_SECONDS)
        super().close()

    def _write(self) -> None:
        while (line := self._lines.get()) is not None:
            with suppress(OSError):
                while line:
                    line = line[os.write(self._to, line) :]
