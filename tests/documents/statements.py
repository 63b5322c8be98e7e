"""Name the statements of a published document that a test holds.

The page ``docs/documents.md`` lists them, read from these decorators. A statement that the default does not follow
names its row of ``docs/deviations.md``; the test then shows both: what the default does, and the document's behaviour
by the switch that the row names.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

Test = TypeVar("Test", bound=Callable[..., object])


def states(section: str, *statements: str, deviation: str = "") -> Callable[[Test], Test]:
    """Mark a test as holding statements of its module's ``DOCUMENT``.

    Args:
        section: the document's heading above them.
        statements: each in one sentence.
        deviation: the row of ``docs/deviations.md``, such as ``E3``, that says how the default differs; "" where it
            does as the document says.
    """
    assert all((section, *statements)), "a test that is marked holds a statement"

    def mark(test: Test) -> Test:
        return test

    return mark
