"""Receipts: proof that a tool message was really executed, by this guard, unaltered and once.

The guard that executed a call signs what the model is shown. Whoever reads the transcript later knows with certainty
which tool messages are executed results: one without a receipt was never executed, could not be signed, or was edited.

A receipt is text: ``v2.<payload>.<mac>``, the payload base64url JSON of the digests, the mac HMAC-SHA256 (RFC 2104)
over it. It holds no content: arguments and result stand in it as SHA-256 digests only, of their one text in
``agentguard.verification.signed_form``. All of a value is signed, or none: what JSON cannot say in one way is refused.
"""

from __future__ import annotations

import hmac
import logging
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections import OrderedDict
from contextlib import suppress
from enum import Enum
from hashlib import sha256
from math import isfinite
from typing import Any, Final, NamedTuple

import orjson

from agentguard.errors import ConfigurationError, ReceiptError
from agentguard.stores import Store
from agentguard.stores.outbox import Outbox

from .signed_form import signed_form

__all__ = ["CLOCK_SKEW", "Receipt", "ReceiptLedger", "ReceiptSigner", "ReceiptStatus"]

#: Seconds by which the clock of the machine that signed may be ahead of the one that checks.
CLOCK_SKEW: Final = 60.0

SHORTEST_KEY: Final = 16
LONGEST_NAME: Final = 1_000
LONGEST_TOKEN: Final = 16_384
MOST_TOLD: Final = 1_000
VERSION: Final = "v2"
RECEIPTS: Final = "receipts"
MAX_WAITING: Final = 10_000  # records
_HASHED: Final = "sha256:"
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
    AHEAD = "from the future"  # issued later than now, by more than clocks differ

    @property
    def is_genuine(self) -> bool:
        """Only ``EXECUTED`` is."""
        return self is ReceiptStatus.EXECUTED


class Receipt(NamedTuple):
    """What was signed. Digests are SHA-256 in hexadecimal; ``issued_at`` is seconds since the epoch.

    A name (``tool``, ``call_id``, ``session_id``) of more than 1,000 bytes, and one with half a surrogate pair, which
    UTF-8 has no bytes for, stands as ``sha256:`` and the digest of its text.
    """

    tool: str
    args_digest: str
    result_digest: str
    call_id: str
    session_id: str | None
    issued_at: float


class ReceiptSigner:
    """Signs executed calls and checks receipts.

    Args:
        key: at least 16 bytes, shared by all processes that must accept each other's receipts.
        store: keeps a record of each receipt in its log ``"receipts"``, digests and no content, before ``sign``
            returns; behind it, where the store is not near. A store that fails is logged and stops no call: the
            receipt is as good without.

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
        self._outbox = None if store is None else Outbox(store, RECEIPTS, "a receipt", MAX_WAITING)
        if self._outbox is not None:
            self._outbox.write_behind()
        self._told: OrderedDict[str, None] = OrderedDict()

    def sign(
        self, tool: str, args: Any, shown: Any, *, call_id: str, issued_at: float, session_id: str | None = None
    ) -> str:
        """A receipt for a call that was executed; ``shown`` is the result as the model gets it.

        Raises:
            ReceiptError: where not all of it can be signed: ``args`` or ``shown`` is no JSON value, or has more than
                200,000 values or 16 MiB of text; a name is no text; ``issued_at`` is no finite number.
        """
        at = _seconds(issued_at)
        if at is None:
            raise ReceiptError("issued_at", "issued_at", "it must be a finite number of seconds since the epoch")
        receipt = Receipt(
            _name(tool, "tool"),
            _digest(args, "args"),
            _digest(shown, "shown"),
            _name(call_id, "call_id"),
            None if session_id is None else _name(session_id, "session_id"),
            at,
        )
        if self._outbox is not None:
            self._outbox.put(receipt._asdict())
        payload = urlsafe_b64encode(orjson.dumps(receipt._asdict())).rstrip(b"=").decode()
        return f"{VERSION}.{payload}.{self._mac(payload)}"

    def sign_if_possible(
        self, tool: str, args: Any, shown: Any, *, call_id: str, issued_at: float, session_id: str | None = None
    ) -> str | None:
        """The receipt, or None where ``sign`` refuses: that is logged once a tool, in words without content."""
        try:
            return self.sign(tool, args, shown, call_id=call_id, issued_at=issued_at, session_id=session_id)
        except ReceiptError as error:
            self._tell(tool, error)
            return None

    def _tell(self, tool: Any, error: ReceiptError) -> None:
        name = str.__str__(tool)[:LONGEST_NAME] if issubclass(type(tool), str) else "?"
        if name in self._told:
            return
        self._told[name] = None
        if len(self._told) > MOST_TOLD:
            self._told.popitem(last=False)
        _log.error("a result of %r has no receipt, for %s cannot be signed: %s", name, error.part, error.reason)

    def read(self, token: object) -> Receipt | None:
        """The receipt in a token that was signed with this key; None for anything else."""
        if type(token) is not str or len(token) > LONGEST_TOKEN or not token.isascii():
            return None
        version, _, rest = token.partition(".")
        payload, _, mac = rest.partition(".")
        if not hmac.compare_digest(mac, self._mac(payload)) or version != VERSION:
            return None
        try:
            receipt = Receipt(**orjson.loads(urlsafe_b64decode(payload + "=" * (-len(payload) % 4))))
        except (TypeError, ValueError):
            return None  # signed with this key, by something else
        return receipt if _is_sound(receipt) else None

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
        """Hold a tool message against its receipt. Never raises: what could not have been signed is altered.

        Args:
            token: the receipt as found; None where there is none.
            tool: the tool's name as the transcript has it.
            args: the arguments of the call.
            shown: the result as the model got it.
            call_id: the call's id.
            session_id: the session that the transcript belongs to.
            now: the time, in seconds since the epoch; at one that is no finite number every receipt has expired.
            max_age: receipts older than so many seconds have expired, and one that is more than ``CLOCK_SKEW`` seconds
                ahead of ``now`` is from the future; by an age that is no finite number all have expired. None: when
                they were issued is not looked at.
            ledger: remembers receipts, to notice one that is shown again.
        """
        if token is None:
            return ReceiptStatus.MISSING
        receipt = self.read(token)
        if receipt is None:
            return ReceiptStatus.FORGED
        if not _is_session(receipt.session_id, session_id):
            return ReceiptStatus.OTHER_SESSION
        if not _is_name(receipt.call_id, call_id):
            return ReceiptStatus.OTHER_CALL
        if not (
            _is_name(receipt.tool, tool)
            and _is_value(receipt.args_digest, args)
            and _is_value(receipt.result_digest, shown)
        ):
            return ReceiptStatus.ALTERED
        if (wrong := _wrong_time(receipt.issued_at, now, max_age)) is not None:
            return wrong
        if ledger is not None and not ledger.first(receipt):
            return ReceiptStatus.OTHER_CALL
        return ReceiptStatus.EXECUTED

    def _mac(self, payload: str) -> str:
        return hmac.new(self._key, f"{VERSION}.{payload}".encode(), sha256).hexdigest()


def _name(value: Any, part: str) -> str:
    """A name as it stands in a receipt: as it is, or where it is long or not UTF-8, as its digest."""
    if not issubclass(type(value), str):
        raise ReceiptError(part, part, "it must be text")
    text = str.__str__(value)
    written = signed_form(text, part)
    if len(written) <= LONGEST_NAME and not text.startswith(_HASHED):
        with suppress(UnicodeDecodeError):
            return str(orjson.loads(written.decode()))
    return f"{_HASHED}{sha256(written).hexdigest()}"


def _digest(value: Any, part: str) -> str:
    """SHA-256 of the value's one text: of equal JSON values equal, of others another."""
    return sha256(signed_form(value, part)).hexdigest()


def _is_sound(receipt: Receipt) -> bool:
    """Every field is what ``sign`` puts there."""
    session = "" if receipt.session_id is None else receipt.session_id
    texts = (receipt.tool, receipt.args_digest, receipt.result_digest, receipt.call_id, session)
    return all(type(text) is str for text in texts) and _seconds(receipt.issued_at) is not None


def _is_name(signed: str, found: Any) -> bool:
    try:
        return _name(found, "") == signed
    except ReceiptError:
        return False


def _is_session(signed: str | None, found: Any) -> bool:
    return found is None if signed is None else _is_name(signed, found)


def _is_value(signed: str, found: Any) -> bool:
    try:
        return _digest(found, "") == signed
    except ReceiptError:
        return False


def _seconds(value: Any) -> float | None:
    """A finite number as a float; None for anything else."""
    kind = type(value)
    if kind is bool or not issubclass(kind, (int, float)):
        return None
    try:
        made = int.__float__(value) if issubclass(kind, int) else float.__float__(value)
    except OverflowError:
        return None
    return made if isfinite(made) else None


def _wrong_time(issued_at: float, now: Any, max_age: Any) -> ReceiptStatus | None:
    """What is wrong with the time of a receipt, if anything."""
    at, most = _seconds(now), _seconds(0.0 if max_age is None else max_age)
    if at is None or most is None:
        return ReceiptStatus.EXPIRED
    if max_age is None:
        return None
    age = at - issued_at
    if age < -CLOCK_SKEW:
        return ReceiptStatus.AHEAD
    return ReceiptStatus.EXPIRED if age > most else None


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
