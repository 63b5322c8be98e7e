"""awesome-agentguard 0.2.0 as a contestant, in a process of its own and the environment that ``peer.py`` makes."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable
from pathlib import Path

from peer import PeerMissingError, peer_python

from .contestants import Score
from .stream import Event

__all__ = ["rival", "rival_missing"]

WORKER = Path(__file__).with_name("rival_worker.py")


def rival(events: Iterable[Event]) -> list[Score]:
    """Judge a course, each event as the peer's own default settings do, without a profile.

    Raises:
        PeerMissingError: where the peer cannot be installed, started or asked.
    """
    course = [
        {"call": [event.call.tool, event.call.args, event.call.result, event.call.ms, event.call.session],
         "learn": event.learn}
        for event in events
    ]  # fmt: skip
    # -I: neither PYTHONPATH nor the working folder may put our own `agentguard` before the peer's.
    words = [str(peer_python()), "-I", str(WORKER)]
    ended = subprocess.run(words, input=json.dumps(course), stdout=subprocess.PIPE, text=True, check=False)
    if ended.returncode:
        raise PeerMissingError(f"the peer's process ended with code {ended.returncode}")
    return [Score(posterior, verdict) for posterior, verdict in json.loads(ended.stdout)]


def rival_missing() -> str:
    """Why the peer cannot take part; empty where it can. Installs it where it is not there yet."""
    if not hasattr(os, "fork"):
        return "it always learns, and to judge without learning takes a system that can fork"
    try:
        peer_python()
    except PeerMissingError as error:
        return str(error)
    return ""
