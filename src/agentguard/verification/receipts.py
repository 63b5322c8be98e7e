"""Receipts: proof that a tool message was really executed, by this guard, unaltered and once.

The guard that executed a call signs what the model is shown. Whoever reads the transcript later knows with certainty
which tool messages are executed results: one without a receipt was never executed, could not be signed, or was edited.

A receipt is text: ``v2.<payload>.<mac>``, the payload base64url JSON of the digests, the mac HMAC-SHA256 (RFC 2104)
over it. It holds no content: arguments and result stand in it as SHA-256 digests only, of their one text (see
"The signed form" below). All of a value is signed, or none: what JSON cannot say in one way is refused.
"""

from __future__ import annotations

import dataclasses
import hmac
import json
import logging
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from contextlib import suppress
from enum import Enum
from hashlib import sha256
from itertools import chain, count, islice, pairwise, repeat
from math import isfinite
from operator import itemgetter
from typing import Any, Final, NamedTuple, NoReturn
from uuid import UUID

import orjson
from pydantic import BaseModel

from agentguard._limits import LIMITS
from agentguard.errors import ConfigurationError, ReceiptError
from agentguard.stores import Store
from agentguard.stores._flusher import Outbox

__all__ = ["CLOCK_SKEW", "Receipt", "ReceiptLedger", "ReceiptSigner", "ReceiptStatus", "signed_form"]

#: Seconds by which the clock of the machine that signed may be ahead of the one that checks.
CLOCK_SKEW: Final = 60.0

SHORTEST_KEY: Final = 16  # bytes: 128 bits
LONGEST_NAME: Final = 1_000  # bytes; a longer one stands as its digest
SHORT_NAME: Final = 160  # characters of ASCII; however they are escaped, by \u and four digits, there is room for them
LONGEST_TOKEN: Final = 16_384  # characters
MOST_TOLD: Final = 1_000  # tools of which a refusal is logged
VERSION: Final = "v2"
RECEIPTS: Final = "receipts"
MAX_WAITING: Final = 10_000  # records
_HASHED: Final = "sha256:"
_log = logging.getLogger("agentguard")


class ReceiptStatus(Enum):
    """Standing of a tool message, by the receipt that it carries (or does not)."""

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
    """The signed content. Digests are SHA-256 in hexadecimal; ``issued_at`` is seconds since the epoch.

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
        signed_session = receipt.session_id
        if not (session_id is None if signed_session is None else _is_signed(signed_session, _name, session_id)):
            return ReceiptStatus.OTHER_SESSION
        if not _is_signed(receipt.call_id, _name, call_id):
            return ReceiptStatus.OTHER_CALL
        if not (
            _is_signed(receipt.tool, _name, tool)
            and _is_signed(receipt.args_digest, _digest, args)
            and _is_signed(receipt.result_digest, _digest, shown)
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
    if len(text) <= SHORT_NAME and text.isascii() and not text.startswith(_HASHED):
        return text
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


def _is_signed(signed: str, written: Callable[[Any, str], str], value: Any) -> bool:
    """Whether a value is written as it was signed; what cannot be written was not signed."""
    try:
        return written(value, "") == signed
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
    """The status of a receipt with a wrong time; None where its time is right."""
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


# --- The signed form: one text for each JSON value, so that two that differ never share one ---
#
# That text is JSON without blanks, in UTF-8, the keys of objects in the order of their code points. For JSON of
# ordinary numbers it is ``json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)``, so whoever
# has the value can write it in any language. All of a value is written, or ``ReceiptError`` is raised.
#
# ===================================== ==================================================================
# in Python                             counts as
# ===================================== ==================================================================
# ``None``, ``True``, ``False``         null, true, false
# text                                  text: UTF-16 units as JSON has them, so half of a surrogate pair is
#                                       kept as it is, and two halves are the one character
# an integer                            its decimal digits; beyond 4,096 bits hexadecimal ones after ``0x``
# a float                               the shortest digits that read back as this float, with a point or an
#                                       exponent: 1.0 is not 1, and -0.0 not 0.0; ``NaN``, ``Infinity``
# a list, a tuple                       an array
# a dict, another ``Mapping``           an object, the order of keys aside; keys that are numbers, booleans or
#                                       None are the texts that ``json`` makes of them: 1 is "1"
# an instance of a dataclass            an object of its fields
# a pydantic model                      its ``model_dump(mode="json")``
# an ``Enum`` member                    its value
# a UUID                                its text
# ===================================== ==================================================================
#
# A subclass of these built-in types counts as what it holds. All else is refused: that JSON has no one form for it
# (bytes, sets, dates, decimals), or that nobody can tell what it is.

# Decimal digits of longer integers take quadratic time, and Python refuses to make more than 4,300 of them.
MOST_BITS: Final = 4_096
LONGEST_PATH: Final = 200  # characters of a path in an error
ADVICE: Final = "hand over the text, or the JSON, that the model is shown"

_NOT_FINITE: Final = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
_UNWRAPPED: Final = frozenset({str, int, float, bool, type(None), list, tuple, dict})


def signed_form(value: Any, part: str) -> bytes:
    """The one text of a JSON value.

    Args:
        value: what is to be signed.
        part: what to call it in an error.

    Raises:
        ReceiptError: for what is no JSON value, holds itself, or is more than ``LIMITS.values`` values (a container is
            one) or ``LIMITS.bytes`` of text. It is the only error.

    >>> signed_form({"b": (1, 2.0), "a": None}, "shown")
    b'{"a":null,"b":[1,2.0]}'
    """
    try:
        written = _short_way(value)
    except Exception:  # somebody else may be changing the value: then the walk says so
        written = None
    if type(written) is str:
        raise ReceiptError(part, part, written)
    return written if type(written) is bytes else _Walk(part).written(value)


def _short_way(value: Any) -> bytes | str | None:
    """The form as ``orjson`` writes it, where that is the form; the reason where it is refused; None: to be walked.

    Everything in it must be of the very types of JSON. ``orjson`` raises on other keys than text, on integers over 64
    bits, on half surrogate pairs and beyond 254 levels. Floats it writes as Python does where Python uses no exponent.
    """
    pending, characters = [value], 0
    for item in pending:
        kind = type(item)
        if kind is str:
            characters += len(item)
        elif kind is float:
            if not (1e-4 <= item < 1e16 or -1e16 < item <= -1e-4 or item == 0.0):
                return None
        elif kind is list or kind is tuple:
            pending += item
        elif kind is dict:
            characters += len("".join(item))  # of keys that are text, which others are not
            pending += item.values()
        elif item is not None and kind is not int and kind is not bool:
            return None
        if len(pending) > LIMITS.values:
            return f"there are more than {LIMITS.values:,} values in it, or it holds itself; sign a shorter one"
        if characters > LIMITS.bytes:
            return f"there are more than {LIMITS.bytes:,} bytes in it; sign a shorter one"
    text = orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    return text if len(text) <= LIMITS.bytes else None


class _Open(NamedTuple):
    """A container that is being written; kept, so that no other object gets its id.

    What is left of it: for each part its path, what is written before it, and the part; then the closing bracket.
    """

    value: Any
    parts: Iterator[tuple[int | str, bytes, Any]]
    end: bytes


class _Walk:
    """One value being written: part by part, without recursion, so that no depth is too much.

    What a container holds is counted when it is opened: what is held many times counts as often.
    """

    def __init__(self, part: str) -> None:
        self._part = part
        self._pieces: list[bytes] = []
        self._values = self._in_models = LIMITS.values
        self._bytes = LIMITS.bytes
        self._open: list[_Open] = []
        self._inside: set[int] = set()
        self._steps: list[int | str] = []

    def written(self, value: Any) -> bytes:
        """All of it."""
        try:
            self._count(1)
            self._begin(value)
            while self._open:
                part = next(self._open[-1].parts, None)
                if part is None:
                    closed = self._open.pop()
                    self._steps.pop()
                    self._inside.discard(id(closed.value))
                    self._put(closed.end)
                else:
                    self._steps[-1], before, item = part
                    self._pieces.append(before)
                    self._begin(item)
        except ReceiptError:
            raise
        except Exception as error:  # properties, iterators and dump methods are foreign code
            self._refuse(f"reading it raised {_type_name(type(error))}; {ADVICE}")
        return b"".join(self._pieces)

    def _begin(self, value: Any) -> None:
        """Write a scalar; of a container the opening bracket."""
        value, kind = self._without_wrapping(value)
        if kind is str:
            self._put_text(value)
        elif value is None or kind is bool:
            self._put(b"null" if value is None else b"true" if value else b"false")
        elif issubclass(kind, str):
            self._put_text(str.__str__(value))
        elif issubclass(kind, int):
            number = int.__int__(value)
            bits = number.bit_length()
            if bits // 4 > self._bytes:
                self._too_long()
            self._put((int.__repr__(number) if bits <= MOST_BITS else hex(number)).encode())
        elif issubclass(kind, float):
            self._put(_digits(value).encode())
        elif kind is UUID:
            self._put_text(str(value))
        elif issubclass(kind, (list, tuple)):
            self._enter_array(value, list if issubclass(kind, list) else tuple)
        elif issubclass(kind, Mapping):
            self._enter_object(value, dict.items(value) if issubclass(kind, dict) else value.items())
        elif dataclasses.is_dataclass(kind):
            names = [field.name for field in dataclasses.fields(kind)]
            self._enter_object(value, ((name, getattr(value, name)) for name in names))
        else:
            self._refuse(f"{_a(kind)} is no JSON value; {ADVICE}")

    def _without_wrapping(self, value: Any) -> tuple[Any, type]:
        """Unwrap a value, and give its type: of a member of an enumeration its value, of a model its dump."""
        kind = type(value)
        while kind not in _UNWRAPPED and issubclass(kind, (Enum, BaseModel)):
            self._count(1)
            if issubclass(kind, Enum):
                value = value.value
            else:
                self._in_models -= _held_by(value, self._in_models + 1)
                if self._in_models < 0:
                    self._too_many()
                value = value.model_dump(mode="json", warnings=False)
            kind = type(value)
        return value, kind

    def _enter_array(self, value: Any, kind: type[list[Any]] | type[tuple[Any, ...]]) -> None:
        length = kind.__len__(value)
        self._count(length)
        self._spend(max(0, length - 1))
        items = [*kind.__iter__(value)]  # foreign code that is met below may change the list
        self._enter(value, b"[", zip(count(), chain((b"",), repeat(b",")), items, strict=False), b"]")

    def _enter_object(self, value: Any, items: Iterable[tuple[Any, Any]]) -> None:
        pairs = []
        for key, item in islice(items, self._values + 1):
            name = self._key(key)
            written = b"%b:" % _text(name)
            self._spend(len(written))
            pairs.append((name.encode("utf-8", "surrogatepass"), name, written, item))
        self._count(len(pairs))
        self._spend(max(0, len(pairs) - 1))
        pairs.sort(key=itemgetter(0))
        for (one, _, _, _), (other, name, _, _) in pairwise(pairs):
            if one == other:
                self._steps.append(name)
                self._refuse(f"two keys are this one in JSON; {ADVICE}")
        commas = chain((b"",), repeat(b","))
        parts = ((name, comma + written, item) for comma, (_, name, written, item) in zip(commas, pairs, strict=False))
        self._enter(value, b"{", parts, b"}")

    def _enter(self, value: Any, begin: bytes, parts: Iterator[tuple[int | str, bytes, Any]], end: bytes) -> None:
        if id(value) in self._inside:
            self._refuse(f"it holds itself; {ADVICE}")
        self._inside.add(id(value))
        self._open.append(_Open(value, parts, end))
        self._steps.append("")
        self._put(begin)

    def _key(self, key: Any) -> str:
        """The text that a key is in JSON."""
        key, kind = self._without_wrapping(key)
        if issubclass(kind, str):
            return _joined(str.__str__(key))
        if key is None or kind is bool:
            return json.dumps(key)
        if issubclass(kind, float):
            return _digits(key)
        if issubclass(kind, int) and int.bit_length(key) <= MOST_BITS:
            return int.__repr__(key)
        if kind is UUID:
            return str(key)
        self._refuse(f"{_a(kind)} as a key is no JSON; {ADVICE}")

    def _put_text(self, text: str) -> None:
        if len(text) > self._bytes:  # before it is copied
            self._too_long()
        self._put(_text(text))

    def _put(self, text: bytes) -> None:
        self._spend(len(text))
        self._pieces.append(text)

    def _spend(self, length: int) -> None:
        self._bytes -= length
        if self._bytes < 0:
            self._too_long()

    def _count(self, values: int) -> None:
        self._values -= values
        if self._values < 0:
            self._too_many()

    def _too_long(self) -> NoReturn:
        self._refuse(f"there are more than {LIMITS.bytes:,} bytes up to here; sign a shorter one")

    def _too_many(self) -> NoReturn:
        self._refuse(f"there are more than {LIMITS.values:,} values up to here; sign a shorter one")

    def _refuse(self, reason: str) -> NoReturn:
        raise ReceiptError(self._part, self._path(), reason) from None

    def _path(self) -> str:
        path = self._part
        for step in self._steps:
            named = type(step) is str and step.isidentifier()
            path += f".{step}" if named else f"[{step!r}]"
            if len(path) > LONGEST_PATH:
                return f"{path[:LONGEST_PATH]}…"
        return path


def _text(text: str) -> bytes:
    """A text in quotation marks, with nothing escaped that need not be."""
    try:
        return orjson.dumps(text)
    except TypeError:  # half a surrogate pair
        return json.dumps(_joined(text), ensure_ascii=False).encode("utf-8", "surrogatepass")


def _digits(number: float) -> str:
    """The shortest digits that read back as the float."""
    text = float.__repr__(number)
    return _NOT_FINITE.get(text, text)


def _joined(text: str) -> str:
    """The text with the two halves of a surrogate pair as the character that they are, in JSON as in UTF-16."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return text


def _held_by(model: BaseModel, most: int) -> int:
    """Count the values in a model, until there are too many: its dump would write all of them at once."""
    pending: list[Any] = [model]
    for item in pending:
        kind = type(item)
        held: Iterable[Any] = ()
        if issubclass(kind, BaseModel):
            held = [*vars(item).values(), item.__pydantic_extra__]
        elif dataclasses.is_dataclass(kind):
            held = [getattr(item, field.name) for field in dataclasses.fields(kind)]
        elif issubclass(kind, Mapping):
            held = item.values()
        elif issubclass(kind, (list, tuple, Set, deque)):
            held = item
        pending += islice(held, most)
        if len(pending) > most:
            break
    return len(pending)


def _a(kind: type) -> str:
    """A type's name with its article."""
    name = _type_name(kind)
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


def _type_name(kind: type) -> str:
    """A type's name, also of one whose own code hides it."""
    return str(type.__dict__["__name__"].__get__(kind))
