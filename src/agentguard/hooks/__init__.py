"""The guard in coding agents: hooks that have Claude Code's and Codex's tool results judged by a resident helper.

The agent runs a small program at each event (``_client.py``), which hands the event to a helper over a socket of the
user's own; the helper has the engine loaded and keeps what it learns (``_helper.py``, ``_judging.py``). ``agentguard
hook`` puts the hooks into the agent's settings and takes them out again.
"""

from agentguard.hooks._installation import Place, install, place_of, remove
from agentguard.hooks._record import Recorded, Suspect
from agentguard.hooks._settings import AGENTS, Agent, HookSettings
from agentguard.hooks._status import Status, status_of

__all__ = [
    "AGENTS",
    "Agent",
    "HookSettings",
    "Place",
    "Recorded",
    "Status",
    "Suspect",
    "install",
    "place_of",
    "remove",
    "status_of",
]
