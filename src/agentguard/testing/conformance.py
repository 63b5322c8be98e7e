"""All that the ``Store`` protocol says, as one test class to subclass."""

from __future__ import annotations

from .claims import ClaimsConformance
from .counts import CountsConformance
from .documents import DocumentsConformance
from .events import EventsConformance
from .hostile import HostileConformance
from .lifetime import LifetimeConformance

__all__ = ["StoreConformance"]


class StoreConformance(
    EventsConformance,
    ClaimsConformance,
    CountsConformance,
    DocumentsConformance,
    HostileConformance,
    LifetimeConformance,
):
    """Holds a store to the ``Store`` protocol: subclass it in a file of tests, and say how yours is opened.

    ::

        from agentguard.testing import StoreConformance


        class TestMyStore(StoreConformance):
            def open(self, place, **options):
                return MyStore(place, **options)

    ``place`` is a folder of the test's own; a fixture ``place`` of your class gives something else, as the address of a
    server. Tests open the same place twice to see what is there for the next. ``survives = False`` says that nothing
    is, and ``takes`` which options your store has; what cannot be tested then is skipped, and says so.
    """
