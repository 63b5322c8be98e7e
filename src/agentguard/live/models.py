"""What goes in and comes out, as OpenAPI documents it, beside what the board itself shows."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from .board import Queue
from .changes import ShownChange, ShownChanges
from .records import KeptCall, ShownVerdict
from .tallies import Tools

__all__ = ["MOST", "CallDetail", "Decision", "QueueQuery", "Review", "State"]

MOST: Final = 2**53 - 1
"""A number that a script can still hold exactly."""


def _no_text(value: Any) -> Any:
    if isinstance(value, (str, bool)):
        raise ValueError("must be a number")
    return value


Number = Annotated[int, Field(ge=0, le=MOST), BeforeValidator(_no_text)]
"""Of an event, in JSON, where an integer may be written 7.0 but not "7"."""


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Review(_Model):
    """What a reviewer found."""

    sequence: Number = Field(description="The number of the verdict.")
    was_hallucination: bool = Field(description="Whether the call was fabricated or corrupted.", strict=True)
    corrects: Number = Field(0, description="The number of the label that this one corrects; 0 where there is none.")


class Decision(_Model):
    """What a reviewer found of a lasting change."""

    id: str = Field(min_length=1, max_length=1_000, description="The change's id.")
    state: Literal["fault", "adopted"] = Field(description="fault: its results are fabricated; adopted: genuine.")
    corrects: Number = Field(
        0, description="The number of the decision that this one corrects (its decided); 0 where there is none."
    )


class CallDetail(_Model):
    """One call, opened up."""

    verdict: ShownVerdict
    change: ShownChange | None = Field(description="The lasting change that the call looks like.")
    kept: KeptCall | None = Field(description="The call itself, redacted, where the engine keeps it (keep_reviewed).")


class QueueQuery(_Model):
    """Which part of the queue is asked for."""

    after: int = Field(0, ge=0, le=MOST, description="Only what comes behind the verdict of this number.")
    limit: int = Field(10, ge=1, le=100)


class State(_Model):
    """What the page begins with. Times are seconds since the epoch."""

    source: str = Field(description="The store's address, without user and password.")
    position: str = Field(description="How far the store's logs were read; the stream of events goes on from there.")
    reaches_store: bool
    csrf: str | None = Field(description="What a session brings with what changes anything; null where a key is used.")
    verdicts: tuple[ShownVerdict, ...] = Field(description="The newest, the newest first.")
    queue: Queue
    changes: ShownChanges
    tools: Tools
