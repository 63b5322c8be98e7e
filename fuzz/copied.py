"""A store in memory that begins with what another one holds."""

from __future__ import annotations

from agentguard.stores import MemoryStore

__all__ = ["Copied"]


class Copied(MemoryStore):
    """The documents of a store, in one of its own: an engine on it leaves the other as it was.

    They are taken over as they are kept. To write them anew takes as long as a dozen calls.

    >>> first = MemoryStore()
    >>> first.save({"a": {"n": 1}})
    >>> second = Copied(first)
    >>> second.save({"a": {"n": 2}})
    >>> first.load(), second.load()
    ({'a': {'n': 1}}, {'a': {'n': 2}})
    """

    def __init__(self, of: MemoryStore) -> None:
        super().__init__()
        self._documents.update(of._documents)
