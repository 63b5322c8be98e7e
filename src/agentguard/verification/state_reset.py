"""How a tool is forgotten, by every engine on a store."""

from __future__ import annotations

from typing import NamedTuple

from agentguard.stores import Store

from .persistence import FEEDBACK, document_name
from .state import DAMAGED, MODES, calls_of, documents_of, labels_of, require, sayable

__all__ = ["Reset", "reset"]


class Reset(NamedTuple):
    """What was forgotten of a tool: documents, calls in its counts, and labels (0 where they were kept)."""

    tool: str
    documents: int
    calls: int
    labels: int


def reset(store: Store, tool: str, *, labels: bool = False) -> Reset:
    """Forget what was learned of a tool, in every mode. Engines on the store drop it at their next flush.

    Audit records stay: they are what happened. So do labels, unless they are to be forgotten too.

    Raises:
        DataError: where the store holds nothing of the tool.
        StoreError: where it cannot be written.
    """
    require(store, [tool])
    documents = documents_of(store, tool)
    written = [str(document["tool"]) for document in documents.values() if isinstance(document.get("tool"), str)]
    tool = written[0] if written else tool  # as the engine knows it, where the name had to be written otherwise
    calls = calls_of(store, tool).calls
    forgotten = labels_of(store, tool) if labels else ()
    _forget(store, tool)
    store.append(FEEDBACK, {"reset": tool, "labels": labels})
    _forget(store, tool)  # an engine that had not yet read of the reset may have saved the tool again
    return Reset(tool, len(documents), calls, sum(forgotten))


def _forget(store: Store, tool: str) -> None:
    own = [damaged + document_name(mode, tool) for mode in MODES for damaged in ("", DAMAGED)]
    counted = sayable(tool)
    # Counts are forgotten by the tool's name, and with them a document of that name: of a tool named "calibrated"
    # that would be what all tools have in common.
    namesakes = {} if counted in own else store.load([counted])
    store.forget([*own, counted])
    if namesakes:
        store.save(namesakes)
