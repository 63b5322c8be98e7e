"""The key that opens what is served."""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Iterable
from typing import Final

from agentguard.errors import ConfigurationError

__all__ = ["KEY_HEADER", "KEY_VARIABLE", "MIN_KEY", "ServiceKey"]

KEY_HEADER: Final = "X-API-Key"
KEY_VARIABLE: Final = "AGENTGUARD_API_KEY"
#: Characters. 16 of an alphabet of 64 are 96 bits, which nobody guesses over a network.
MIN_KEY: Final = 16


class ServiceKey:
    """The key that requests must bring, kept as its digest: neither a log nor a debugger finds it here.

    >>> ServiceKey("zH0x1VxgIWLZ9sFq").opens([(b"x-api-key", b"zH0x1VxgIWLZ9sFq")])
    True
    """

    __slots__ = ("_digest",)

    def __init__(self, key: str | None) -> None:
        make = "make one with: python -c 'import secrets; print(secrets.token_urlsafe(32))'"
        if not key:
            raise ConfigurationError(f"what is served needs a key in {KEY_VARIABLE}; {make}")
        if not (key.isascii() and key.isprintable() and key == key.strip()):
            raise ConfigurationError(f"{KEY_VARIABLE} has characters that no header can carry; {make}")
        if len(key) < MIN_KEY:
            raise ConfigurationError(f"{KEY_VARIABLE} must have {MIN_KEY} characters or more; {make}")
        self._digest = _digest(key.encode())

    @classmethod
    def given(cls, key: str | None) -> ServiceKey:
        """This key, or where it is None that of the environment.

        Raises:
            ConfigurationError: where it cannot be used.
        """
        return cls(os.environ.get(KEY_VARIABLE) if key is None else key)

    def opens(self, headers: Iterable[tuple[bytes, bytes]]) -> bool:
        """Whether a request's headers have the key, once; takes the same time whatever is wrong with it."""
        name = KEY_HEADER.lower().encode()
        given = [value for header, value in headers if header == name]
        return self.is_key(given[0] if len(given) == 1 else b"")

    def is_key(self, text: bytes) -> bool:
        """Whether this is the key; takes the same time whatever is wrong with it."""
        # Digests are of one length, so that not even the key's length shows.
        return hmac.compare_digest(_digest(text), self._digest)


def _digest(key: bytes) -> bytes:
    return hashlib.sha256(key).digest()
