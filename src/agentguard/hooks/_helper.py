"""The resident helper: an engine that is loaded once, and answers the clients of one installation over a socket.

    python -I -m agentguard.hooks._helper FOLDER

One helper runs at a time: it holds a lock for as long as it lives. It ends by itself after an idle time, where its
code, its settings or its profiles are no longer those that it was started with, and at SIGTERM; what it learned is kept
then.
"""

from __future__ import annotations

import asyncio
import fcntl
import logging
import os
import signal
import socket
import struct
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from agentguard.errors import AgentGuardError
from agentguard.hooks._client import LARGEST, STALE
from agentguard.hooks._running import LOCK
from agentguard.hooks._settings import HookSettings, fingerprint, make_private, read_settings

_log = logging.getLogger("agentguard")

SOCKET, LOG = "socket", "log"
WAIT_FOR_LOCK: Final = 10.0  # seconds for the one before to end
REQUEST_SECONDS: Final = 30.0  # for a client to say what it has to say
LAST_SECONDS: Final = 10.0  # for answers under way when the helper ends
IDLE_WITHOUT_SETTINGS: Final = 60.0  # seconds, where the settings cannot be read
SAVE_SECONDS: Final = 1.0  # from an answer to the writing of the counts
LONGEST_LOG: Final = 1 << 20  # bytes, beyond which the log is begun anew


def main(arguments: list[str]) -> int:
    """Serve the clients of an installation until it is time to end; returns the exit code."""
    folder = Path(arguments[0]).resolve()
    os.umask(0o077)
    make_private(folder)
    os.chdir(folder)  # the path of a socket may have 107 bytes, that of the folder more
    lock = _locked()
    if lock is None:
        return 0  # another one serves
    with suppress(OSError):
        if os.stat(LOG).st_size > LONGEST_LOG:
            os.truncate(LOG, 0)
    logging.basicConfig(stream=sys.stderr, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    with suppress(FileNotFoundError):
        os.unlink(SOCKET)
    # Clients are let in before the engine is loaded: they wait for an answer, not for a socket.
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listening.bind(SOCKET)
    listening.listen(128)
    asyncio.run(_Helper(folder, listening).run())
    return 0


def _locked() -> int | None:
    """Take the lock; None where another helper has it and serves."""
    descriptor = os.open(LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    end = time.monotonic() + WAIT_FOR_LOCK
    while time.monotonic() < end:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if serves():
                return None
            time.sleep(0.02)  # it comes up, or is about to end
        else:
            os.truncate(descriptor, 0)
            os.write(descriptor, str(os.getpid()).encode())
            return descriptor
    return None


def serves() -> bool:
    """Tell whether a helper listens in the folder that this process is in."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.settimeout(1.0)
            probe.connect(SOCKET)
        except OSError:
            return False
        return True


class _Helper:
    """One helper: what it answers by, and when it ends."""

    def __init__(self, folder: Path, listening: socket.socket) -> None:
        # Imported only now, with clients waiting at the socket already.
        from agentguard.hooks._judging import Judge, NoJudge
        from agentguard.hooks._record import Record
        from agentguard.stores import open_store

        self._listening, self._folder = listening, folder
        self._record = Record(folder)
        self._store = None
        self._settings: HookSettings | None = None
        self._judge: Judge | NoJudge
        try:
            self._settings = settings = read_settings(folder)
            self._state = fingerprint(folder, settings.profiles)
            self._store = open_store(settings.store)
            self._judge = Judge(settings, self._store, self._record)
            trouble = ""
        except AgentGuardError as error:
            _log.error("the helper cannot judge: %s", error)
            trouble = str(error).splitlines()[0]
            self._judge = NoJudge(self._settings, trouble)
            self._state = fingerprint(folder, self._profiles)
        self._record.trouble(trouble)
        self._ending = asyncio.Event()
        self._answering = 0
        self._saving: asyncio.TimerHandle | None = None
        self._heard = time.monotonic()
        self._save()

    @property
    def _profiles(self) -> str | None:
        return None if self._settings is None else self._settings.profiles

    async def run(self) -> None:
        """Serve until it is time to end, then keep what is to be kept."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._ending.set)
        server = await asyncio.start_unix_server(self._serve, sock=self._listening, limit=1 << 20)
        await self._until_it_ends()
        # From here on a client finds no socket, or is hung up on, and starts another helper, which waits for the lock.
        with suppress(FileNotFoundError):
            os.unlink(SOCKET)
        server.close()
        end = time.monotonic() + LAST_SECONDS
        while self._answering and time.monotonic() < end:
            await asyncio.sleep(0.01)
        self._keep()

    async def _until_it_ends(self) -> None:
        idle = IDLE_WITHOUT_SETTINGS if self._settings is None else self._settings.idle_seconds
        while not self._ending.is_set():
            left = self._heard + idle - time.monotonic()
            if left <= 0.0 and not self._answering:
                return
            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._ending.wait(), max(left, 0.05))

    def _save(self) -> None:
        self._saving = None
        try:
            self._record.save()
        except OSError as error:
            _log.error("the counts could not be written: %s", type(error).__name__)

    def _keep(self) -> None:
        """Keep what was learned and counted."""
        try:
            self._record.save()
            engine = getattr(self._judge, "engine", None)
            if engine is not None:
                engine.close()
            if self._store is not None:
                self._store.close()
        except (AgentGuardError, OSError) as error:
            _log.error("what was learned could not be kept: %s", type(error).__name__)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._answering += 1
        try:
            if not _same_user(writer.get_extra_info("socket")):
                _log.error("a client of another user was turned away")
                return
            payload = await asyncio.wait_for(_request(reader), REQUEST_SECONDS)
            if not payload:
                return  # somebody only looked whether a helper listens
            self._heard = time.monotonic()
            if fingerprint(self._folder, self._profiles) != self._state:
                self._ending.set()
                writer.write(STALE)
            else:
                reply = await self._judge.answer(payload)
                writer.write(str(reply.code).encode() + reply.output)
            await writer.drain()
        except (asyncio.TimeoutError, OSError, ValueError) as error:
            _log.error("a client was not answered: %s", type(error).__name__)
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()
            self._heard = time.monotonic()
            self._answering -= 1
            if self._saving is None:
                self._saving = asyncio.get_running_loop().call_later(SAVE_SECONDS, self._save)


async def _request(reader: asyncio.StreamReader) -> bytes:
    """Read all that a client says.

    Raises:
        ValueError: for more than an event may have.
    """
    parts, size = [], 0
    while part := await reader.read(1 << 20):
        parts.append(part)
        size += len(part)
        if size > LARGEST:
            raise ValueError("the event is too large")
    return b"".join(parts)


def _same_user(connection: socket.socket) -> bool:
    """Tell whether a client is this user's. Where the system does not say, the folder keeps others out."""
    if not hasattr(socket, "SO_PEERCRED"):
        return True
    _, user, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return bool(user == os.getuid())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
