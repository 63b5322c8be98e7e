"""What all sections of a configuration share: unknown fields are refused, and nothing is changed once it is read."""

from __future__ import annotations

from typing import Annotated, ClassVar
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["Section", "Text", "check_url"]

Text = Annotated[str, Field(min_length=1, max_length=10_000)]


class Section(BaseModel):
    """One section of the file."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)


def check_url(address: str) -> str:
    """The address, where it is one of HTTP and carries no password.

    Raises:
        ValueError: where it is not.
    """
    try:
        parts = urlsplit(address)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        usable = False
    if not usable:
        raise ValueError(f"{address[:200]!r} is no http:// or https:// address")
    if parts.username is not None or parts.password is not None:
        raise ValueError("an address must not carry a password: credentials come from the environment")
    return address
