"""A proxy at work, from its first message to its end: on standard input and output."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from agentguard.proxy._child import Child
from agentguard.proxy._guarding import Guarding
from agentguard.proxy._relay import Relay
from agentguard.proxy._remote import Remote, http_client
from agentguard.proxy._streams import Streams

SIGNALS = (signal.SIGTERM, signal.SIGINT)


def relay_command(command: Sequence[str], guarding: Guarding) -> int:
    """Stand before a server that is started here; its exit code.

    Raises:
        ConfigurationError: where it cannot be started.
    """
    return asyncio.run(_relay_command(command, guarding))


async def _relay_command(command: Sequence[str], guarding: Guarding) -> int:
    child = await Child.start(command)
    ended_by = await _relayed(child, guarding, child.end)
    return child.exit_code if ended_by is None else 128 + ended_by


def relay_url(url: str, headers: Mapping[str, str], guarding: Guarding) -> int:
    """Stand before a server at a URL; 0, or 128 and the number of the signal that ended it.

    Raises:
        ConfigurationError: where what is needed for that is not installed.
    """
    return asyncio.run(_relay_url(url, headers, guarding))


async def _relay_url(url: str, headers: Mapping[str, str], guarding: Guarding) -> int:
    remote = Remote(url, http_client(headers), guarding.tool)
    ended_by = await _relayed(remote, guarding, lambda: None)
    return 0 if ended_by is None else 128 + ended_by


async def _relayed(server: Child | Remote, guarding: Guarding, end: Callable[[], None]) -> int | None:
    """Relay until one side is gone or a signal comes; returns the signal."""
    stop = asyncio.Event()
    signals: list[int] = []

    def ended(number: int) -> None:
        signals.append(number)
        end()
        stop.set()

    loop = asyncio.get_running_loop()
    for number in SIGNALS:
        with suppress(NotImplementedError):  # of an event loop of Windows
            loop.add_signal_handler(number, ended, number)
    front = Streams(*_protocol_streams())
    await Relay(front, server, guarding).run(stop)
    front.close()
    return signals[0] if signals else None


def _protocol_streams() -> tuple[int, int]:
    """Standard input and output, kept for the protocol: whatever else is printed goes to standard error."""
    sys.stdout.flush()
    output = os.dup(1)
    os.dup2(2, 1)
    return 0, output
