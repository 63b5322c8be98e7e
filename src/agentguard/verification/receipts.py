"""Receipts: proof that a tool message was really executed, by this guard, unaltered and once.

The guard that executed a call signs what the model is shown. Whoever reads the transcript later knows with certainty
which tool messages are executed results: one without a receipt was never executed, or was edited.

A receipt is text: ``v1.<payload>.<mac>``, the payload base64url JSON of the digests, the mac HMAC-SHA256 (RFC 2104)
over it. It holds no content: arguments and result stand in it as SHA-256 digests only.
"""

from __future__ import annotations

import hmac
import logging
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections import OrderedDict
from enum import Enum
from hashlib import sha256
from typing import Any, NamedTuple

import orjson

from agentguard.errors import ConfigurationError, StoreError
from agentguard.stores import Store

from .canonical import as_name, plain

__all__ = ["Receipt", "ReceiptLedger", "ReceiptSigner", "ReceiptStatus"]

SHORTEST_KEY = 16
LONGEST_TOKEN = 16_384
VERSION = "v1"
RECEIPTS = "receipts"
_log = logging.getLogger("agentguard")


class ReceiptStatus(Enum):
    """What a receipt says of the tool message that carries it (or does not)."""

    EXECUTED = "executed"  # by a guard that holds the key, unaltered, for the first time
    MISSING = "never executed"
    FORGED = "forged"  # not signed with this key, or not a receipt at all
    ALTERED = "altered"  # signed, but for another tool, other arguments or another result
    OTHER_CALL = "replayed"  # a true receipt of another call, or shown a second time
    OTHER_SESSION = "from another session"
    EXPIRED = "expired"

    @property
    def is_genuine(self) -> bool:
        """Only ``EXECUTED`` is."""
        return self is ReceiptStatus.EXECUTED


class Receipt(NamedTuple):
    """What was signed. Digests are SHA-256 in hexadecimal; ``issued_at`` is seconds since the epoch."""

    tool: str
    args_digest: str
    result_digest: str
    call_id: str
    session_id: str | None
    issued_at: float


def _name(value: Any) -> str:
    """As the name is remembered, but for lone surrogates, which JSON has no bytes for."""
    return as_name(value).encode("utf-8", "replace").decode()


def _digest(value: Any) -> str:
    """SHA-256 of the canonical JSON: equal for equal values, whatever the order of keys."""
    return sha256(orjson.dumps(plain(value), option=orjson.OPT_SORT_KEYS)).hexdigest()


class ReceiptSigner:
    """Signs executed calls and checks receipts.

    Args:
        key: at least 16 bytes, shared by all processes that must accept each other's receipts.
        store: keeps a record of each receipt in its log ``"receipts"``, digests and no content, before ``sign``
            returns. A store that fails is logged and stops no call: the receipt is as good without.

    Raises:
        ConfigurationError: where the key is too short.

    >>> signer = ReceiptSigner(b"a key of sixteen bytes or more")
    >>> token = signer.sign("add", {"a": 1}, "2", call_id="c1", issued_at=1000.0)
    >>> signer.check(token, "add", {"a": 1}, "2", call_id="c1", now=1001.0)
    <ReceiptStatus.EXECUTED: 'executed'>
    >>> signer.check(token, "add", {"a": 1}, "3", call_id="c1", now=1001.0)
    <ReceiptStatus.ALTERED: 'altered'>
    """

    def __init__(self, key: bytes, store: Store | None = None) -> None:
        if not isinstance(key, bytes) or len(key) < SHORTEST_KEY:
            raise ConfigurationError(f"a receipt key must be at least {SHORTEST_KEY} bytes")
        self._key = key
        self._store = store

    def sign(
        self, tool: str, args: Any, shown: Any, *, call_id: str, issued_at: float, session_id: str | None = None
    ) -> str:
        """A receipt for a call that was executed; ``shown`` is the result as the model gets it."""
        session = None if session_id is None else _name(session_id)
        receipt = Receipt(_name(tool), _digest(args), _digest(shown), _name(call_id), session, issued_at)
        if self._store is not None:
            self._put_on_record(self._store, receipt)
        payload = urlsafe_b64encode(orjson.dumps(receipt._asdict())).rstrip(b"=").decode()
        return f"{VERSION}.{payload}.{self._mac(payload)}"

    @staticmethod
    def _put_on_record(store: Store, receipt: Receipt) -> None:
        try:
            store.append(RECEIPTS, receipt._asdict())
        except Exception as error:
            reason = error if isinstance(error, StoreError) else type(error).__name__
            _log.error("a receipt for %r is not on record: %s", receipt.tool, reason)

    def read(self, token: object) -> Receipt | None:
        """The receipt in a token that was signed with this key; None for anything else."""
        if type(token) is not str or len(token) > LONGEST_TOKEN or not token.isascii():
            return None
        version, _, rest = token.partition(".")
        payload, _, mac = rest.partition(".")
        if not hmac.compare_digest(mac, self._mac(payload)) or version != VERSION:
            return None
        return Receipt(**orjson.loads(urlsafe_b64decode(payload + "=" * (-len(payload) % 4))))

    def check(
        self,
        token: object,
        tool: str,
        args: Any,
        shown: Any,
        *,
        call_id: str,
        now: float,
        session_id: str | None = None,
        max_age: float | None = None,
        ledger: ReceiptLedger | None = None,
    ) -> ReceiptStatus:
        """Hold a tool message against its receipt.

        Args:
            token: the receipt as found; None where there is none.
            tool: the tool's name as the transcript has it.
            args: the arguments of the call.
            shown: the result as the model got it.
            call_id: the call's id.
            session_id: the session that the transcript belongs to.
            now: the time, in seconds since the epoch.
            max_age: receipts older than so many seconds have expired; None: they never do.
            ledger: remembers receipts, to notice one that is shown again.
        """
        if token is None:
            return ReceiptStatus.MISSING
        receipt = self.read(token)
        if receipt is None:
            return ReceiptStatus.FORGED
        if receipt.session_id != (None if session_id is None else _name(session_id)):
            return ReceiptStatus.OTHER_SESSION
        if receipt.call_id != _name(call_id):
            return ReceiptStatus.OTHER_CALL
        if (receipt.tool, receipt.args_digest, receipt.result_digest) != (_name(tool), _digest(args), _digest(shown)):
            return ReceiptStatus.ALTERED
        if max_age is not None and now - receipt.issued_at > max_age:
            return ReceiptStatus.EXPIRED
        if ledger is not None and not ledger.first(receipt):
            return ReceiptStatus.OTHER_CALL
        return ReceiptStatus.EXECUTED

    def _mac(self, payload: str) -> str:
        return hmac.new(self._key, f"{VERSION}.{payload}".encode(), sha256).hexdigest()


class ReceiptLedger:
    """Receipts that were seen, the latest 100,000; one transcript checked twice is asked of two ledgers."""

    LIMIT = 100_000

    def __init__(self) -> None:
        self._seen: OrderedDict[tuple[str | None, str, float], None] = OrderedDict()

    def first(self, receipt: Receipt) -> bool:
        """True for a receipt that this ledger has not been shown."""
        # Some models count their calls anew in each turn: an id that comes again is not yet a replay.
        key = (receipt.session_id, receipt.call_id, receipt.issued_at)
        if key in self._seen:
            return False
        self._seen[key] = None
        if len(self._seen) > self.LIMIT:
            self._seen.popitem(last=False)
        return True
