"""Where events that must outlive a call are kept."""

from agentguard.stores.base import Store
from agentguard.stores.memory import MemoryStore

__all__ = ["MemoryStore", "Store"]
