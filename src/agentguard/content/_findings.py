"""What a detector found in a text, and where."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

Kind = Literal["injection", "pii", "secrets"]
KINDS: Final[tuple[Kind, ...]] = ("injection", "pii", "secrets")
"""What results and files are looked through for."""

#: Characters of a field's name that stand before each element of its list: none is looked for further off.
LABEL: Final = 80


class Finding(NamedTuple):
    """A finding of a detector, for a person to check.

    Attributes:
        kind: what it is, by the detector's own names (``"email"``, ``"system override"``).
        detail: why it counts, in plain words; it quotes no more of the text than a pattern's own words.
        start, end: where it stands, in characters of the text as it was given.
        decoded: the words behind it, where it stood encoded or disguised; None where the text says it openly.
    """

    kind: str
    detail: str
    start: int
    end: int
    decoded: str | None = None
