"""Order: what a claim says was done before all else, and was done after it.

"I took a dump before touching the schema" is false where the schema was changed first.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from agentguard.content.actions._compared import Compared
from agentguard.content.actions._english import words
from agentguard.content.actions._ledger import Deed


def says_before(claim: Compared) -> bool:
    """Tell whether a claim says that something was done before other things were.

    "Before" what was done, not before a time; "first" as the last word, not the first of several.
    """
    said = [token.low for token in claim.stated.objects]
    if "beforehand" in said:
        return True
    if said[-1:] == ["first"] and (len(said) < 2 or said[-2] not in words("determiner") | {"at"}):
        return True
    following = [after for low, after in pairwise(said) if low == "before"]
    return any(after.endswith("ing") or after in ("that", "anything") for after in following)


def comes_last(fitting: Sequence[Deed], others: Sequence[Deed]) -> bool:
    """Tell whether all other deeds were made before those that go with a claim."""
    numbers = {deed.number for deed in fitting}
    before = [deed.number for deed in others if deed.number not in numbers]
    return bool(before) and bool(numbers) and max(before) < min(numbers)
