"""What tools have in common: echo rates by name, whose results are whose, how often genuine results are odd."""

from __future__ import annotations

from itertools import count
from threading import Lock

from .decision import new_scores
from .document import Document
from .echoes import EchoPool
from .statistics import Rate

__all__ = ["SHORTEST_OWNED", "Pool", "outermost_form"]

POOLED_RESULTS = 20_000
POOLED_SESSIONS = 10_000
SHORTEST_OWNED = 20  # bytes; shorter results are shared by chance


class Pool:
    """One for all tools of an engine, used under its lock; bounded."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.echoes = EchoPool()
        self.scores = new_scores()
        self.broken = Rate()
        self.errors = Rate()
        self.changes = Rate()  # of calls with a known key: another result than the current one
        self.owners: dict[int, int] = {}  # a result's digest to the one tool it belongs to, or 0
        self.forms: dict[int, int] = {}  # the same of a result's outermost keys
        self.sessions: dict[int, int] = {}  # the latest result of each tool, key and session, by their hash
        self.foreign = Rate()  # of all results: known only under quite other arguments
        self.foreign_tool = Rate()  # known from one other tool only
        self.foreign_form = Rate()  # of a form new to its tool: known from one other tool only
        self.tool_numbers = count(1)

    def is_anothers(self, digest: int, tool: int) -> bool:
        """The result was learned from exactly one tool, and not from this one; what several tools say is a formula."""
        return self.owners.get(digest, 0) not in (0, tool)

    def has_anothers_form(self, document: Document, tool: int) -> bool:
        """The same of the result's outermost keys; False where it has none."""
        form = outermost_form(document)
        return form is not None and self.forms.get(form, 0) not in (0, tool)

    def own(self, document: Document, tool: int) -> None:
        """Note whose the result and its form are."""
        if document.size >= SHORTEST_OWNED:
            _own(self.owners, document.digest, tool)
        form = outermost_form(document)
        if form is not None:
            _own(self.forms, form, tool)

    def in_session(self, session_id: str, tool: int, key: bytes) -> int | None:
        """The digest of the latest result of a tool for these arguments in this session."""
        return self.sessions.get(hash((session_id, tool, key)))

    def swap_session(self, session_id: str, tool: int, key: bytes, digest: int) -> int | None:
        """Put the digest in the place of the latest one, which is returned."""
        place = hash((session_id, tool, key))
        earlier = self.sessions.pop(place, None)
        self.sessions[place] = digest
        if len(self.sessions) > POOLED_SESSIONS:
            del self.sessions[next(iter(self.sessions))]
        return earlier


def _own(owners: dict[int, int], thing: int, tool: int) -> None:
    owner = owners.get(thing)
    if owner is None:
        owners[thing] = tool
        if len(owners) > POOLED_RESULTS:
            del owners[next(iter(owners))]
    elif owner != tool:
        owners[thing] = 0


def outermost_form(document: Document) -> int | None:
    """The first object's place and keys, as a digest: what tells one tool's records from another's.

    None below two keys, and where the result is no structure.
    """
    return document.layout.outermost if document.layout is not None and document.is_structured else None
