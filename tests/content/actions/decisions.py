"""The names of what decides outright, by what it says of a claim."""

from __future__ import annotations

#: A call was otherwise than the claim says.
OTHERWISE = frozenset({
    "given another thing", "an item left out", "too late", "fewer than said", "its call has another",
    "its call came out badly", "one of several came out badly", "still under way", "nothing came of it",
    "fewer calls than said", "a part of the whole", "none were found", "its last call failed",
})  # fmt: skip
#: There is no call that can have been it.
ABSENT = frozenset({
    "no call was made", "no call is such a deed of the writer", "no call is such an act", "no call has its number",
    "no call has its identifier",
})  # fmt: skip
