"""What tools have in common: echo rates by name, whose results are whose, how often genuine results are odd."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from itertools import count
from threading import Lock
from typing import Any

from .decision import new_scores
from .document import Document
from .echoes import EchoPool
from .statistics import Rate

__all__ = ["SHORTEST_OWNED", "Pool", "outermost_form"]

POOLED_RESULTS = 20_000
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
        self.owners: OrderedDict[int, int] = OrderedDict()  # a result's digest to the one tool it belongs to, or 0
        self.forms: OrderedDict[Hashable, int] = OrderedDict()  # the same of a result's outermost keys
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


def _own(owners: OrderedDict[Any, int], thing: Any, tool: int) -> None:
    owner = owners.get(thing)
    if owner is None:
        owners[thing] = tool
        if len(owners) > POOLED_RESULTS:
            owners.popitem(last=False)
    elif owner != tool:
        owners[thing] = 0


def outermost_form(document: Document) -> Hashable | None:
    """The first object's place and keys: what tells one tool's records from another's. None below two keys."""
    form = next(iter(document.forms), None) if document.is_structured else None
    return form if form is not None and len(form[1]) > 1 else None
