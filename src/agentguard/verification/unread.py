"""What could not be looked at: a result too large or too deep for it, a search without an end.

The signal does not apply then, for it is no evidence that the result is fabricated, and says what was not looked at.
What becomes of the verdict is for ``least_verdict`` to say.
"""

from __future__ import annotations

from typing import Final

from .types import SignalResult, VerificationTier

__all__ = ["UNREAD", "NotLookedAt", "not_looked_at"]

#: The trait of a signal of what could not be looked at.
UNREAD: Final = "not looked at"


class NotLookedAt(Exception):
    """A declaration could not be held against a result; the text says why."""


def not_looked_at(name: str, tier: VerificationTier, why: str, group: str = "") -> SignalResult:
    """The signal of a declaration that could not be held against the result.

    >>> not_looked_at("schema_mismatch", VerificationTier.TIER_0, "larger than max_bytes").detail
    'not looked at: larger than max_bytes'
    """
    return SignalResult(name, False, False, 0.0, 1.0, None, tier, f"{UNREAD}: {why}", group, (UNREAD,))
