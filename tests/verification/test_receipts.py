"""Receipts: what they prove, and what cannot be made to look like one."""

from __future__ import annotations

import hmac
import json
import math
from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import datetime
from decimal import Decimal
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.errors import ConfigurationError, ReceiptError
from agentguard.stores import MemoryStore
from agentguard.verification.receipts import Receipt, ReceiptLedger, ReceiptSigner, ReceiptStatus

KEY = b"a key of sixteen bytes or more"
SIGNER = ReceiptSigner(KEY)
CALL: dict[str, Any] = {"tool": "add", "args": {"a": 1, "b": 2}, "shown": "3"}
NAMES: dict[str, Any] = {"call_id": "c1", "session_id": "s1"}


def token(**changes: Any) -> str:
    return SIGNER.sign(**{**CALL, **NAMES, "issued_at": 1_000.0, **changes})


def check(found: object, **changes: Any) -> ReceiptStatus:
    return SIGNER.check(found, **{**CALL, **NAMES, "now": 1_000.0, **changes})


def test_the_text_is_version_payload_and_mac() -> None:
    """Worked out by hand: RFC 2104 over the version and the payload, SHA-256 of sorted JSON inside."""
    version, payload, mac = token().split(".")
    held = json.loads(urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))

    assert version == "v2"
    assert mac == hmac.new(KEY, f"v2.{payload}".encode(), sha256).hexdigest()
    assert held == {
        "tool": "add",
        "args_digest": sha256(b'{"a":1,"b":2}').hexdigest(),
        "result_digest": sha256(b'"3"').hexdigest(),
        "call_id": "c1",
        "session_id": "s1",
        "issued_at": 1000.0,
    }


def test_it_holds_no_content() -> None:
    found = token(args={"card": "4000-1234"}, shown="secret")
    payload = urlsafe_b64decode(found.split(".")[1] + "==")

    assert b"4000-1234" not in payload
    assert b"secret" not in payload


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({}, ReceiptStatus.EXECUTED),
        ({"args": {"b": 2, "a": 1}}, ReceiptStatus.EXECUTED),
        ({"tool": "sub"}, ReceiptStatus.ALTERED),
        ({"args": {"a": 1, "b": 3}}, ReceiptStatus.ALTERED),
        ({"shown": "4"}, ReceiptStatus.ALTERED),
        ({"call_id": "c2"}, ReceiptStatus.OTHER_CALL),
        ({"session_id": "s2"}, ReceiptStatus.OTHER_SESSION),
        ({"session_id": None}, ReceiptStatus.OTHER_SESSION),
        ({"now": 1_060.0, "max_age": 60.0}, ReceiptStatus.EXECUTED),
        ({"now": 1_060.1, "max_age": 60.0}, ReceiptStatus.EXPIRED),
        ({"now": 9e9}, ReceiptStatus.EXECUTED),
        ({"now": 0.0}, ReceiptStatus.EXECUTED),
        ({"now": 940.0, "max_age": 60.0}, ReceiptStatus.EXECUTED),  # clocks of two machines
        ({"now": 939.9, "max_age": 60.0}, ReceiptStatus.AHEAD),
        ({"now": 939.9, "max_age": 9e9}, ReceiptStatus.AHEAD),
        ({"now": -1e308, "max_age": 1e308}, ReceiptStatus.AHEAD),
    ],
)
def test_a_receipt_proves_one_call_and_no_other(changes: dict[str, Any], status: ReceiptStatus) -> None:
    assert check(token(), **changes) is status
    assert status.is_genuine == (status is ReceiptStatus.EXECUTED)


def test_no_receipt_is_missing_and_another_keys_is_forged() -> None:
    other = ReceiptSigner(b"another key of enough bytes")

    assert check(None) is ReceiptStatus.MISSING
    assert other.check(token(), **CALL, **NAMES, now=1_000.0) is ReceiptStatus.FORGED


@pytest.mark.parametrize(
    "found",
    ["", "v2", "v2..", "v2.e30.", "é.e30.00", 7, b"v2.e30.00", ["v2"], token().replace("v2.", "v1.", 1), token() + "0",
     token()[:-1], token().upper(), "v2." + "a" * 5_000 + ".0"],
)  # fmt: skip
def test_what_is_no_receipt_is_forged_and_raises_nothing(found: object) -> None:
    assert SIGNER.read(found) is None
    assert check(found) is ReceiptStatus.FORGED


@given(st.text() | st.binary() | st.integers())
def test_anything_at_all_is_forged(found: object) -> None:
    assert check(found) is ReceiptStatus.FORGED


@given(st.data())
def test_one_changed_character_is_noticed(data: st.DataObject) -> None:
    whole = token()
    place = data.draw(st.integers(0, len(whole) - 1))
    character = data.draw(st.characters(codec="ascii").filter(lambda drawn: drawn != whole[place]))

    assert check(whole[:place] + character + whole[place + 1 :]) is ReceiptStatus.FORGED


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(exclude_categories=()))
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(st.text(st.characters(codec="utf-8"), max_size=50), VALUES, VALUES, st.none() | st.sampled_from(["s", ""]))
def test_whatever_was_signed_reads_back(tool: str, args: Any, shown: Any, session: str | None) -> None:
    found = SIGNER.sign(tool, args, shown, call_id="c", session_id=session, issued_at=1.5)
    receipt = SIGNER.read(found)
    after = [json.loads(json.dumps(value)) for value in (args, shown)]

    assert receipt is not None
    assert (receipt.tool, receipt.call_id, receipt.session_id, receipt.issued_at) == (tool, "c", session, 1.5)
    assert SIGNER.check(found, tool, args, shown, call_id="c", session_id=session, now=2.0).is_genuine
    assert SIGNER.check(found, tool, *after, call_id="c", session_id=session, now=2.0).is_genuine


def changed_somewhere(data: st.DataObject, value: Any) -> Any:
    """The value with one other thing in it, wherever that is."""
    if isinstance(value, dict) and value and data.draw(st.booleans()):
        key = data.draw(st.sampled_from(sorted(value)))
        return {**value, key: changed_somewhere(data, value[key])}
    if isinstance(value, list) and value and data.draw(st.booleans()):
        place = data.draw(st.integers(0, len(value) - 1))
        return [*value[:place], changed_somewhere(data, value[place]), *value[place + 1 :]]
    return data.draw(
        VALUES.filter(lambda other: json.dumps(other, sort_keys=True) != json.dumps(value, sort_keys=True))
    )


@given(st.data(), VALUES, st.sampled_from(["args", "shown"]))
def test_whatever_is_altered_anywhere_is_noticed(data: st.DataObject, value: Any, where: str) -> None:
    assert check(token(**{where: value}), **{where: changed_somewhere(data, value)}) is ReceiptStatus.ALTERED


def nested(value: Any, depth: int) -> Any:
    for _ in range(depth):
        value = [value]
    return value


def ring() -> list[Any]:
    made: list[Any] = []
    made.append(made)
    return made


#: What was signed, and what it was altered to, that 0.1.0 called executed.
ALTERED_UNSEEN: dict[str, tuple[Any, Any]] = {
    "below 64 levels": (nested("18", 70), nested("45", 70)),
    "below 254 levels": (nested("18", 300), nested("45", 300)),
    "beyond 200,000 values": ([0] * 199_000 + ["18"], [0] * 199_000 + ["45"]),
    "a marker of depth": (nested("18", 65), nested("<deeper than 64>", 64)),
    "half a surrogate pair": ("\ud800", "?"),
    "the other half": ("\ud800", "\udc00"),
    "half a pair in a key": ({"\ud800": 1}, {"?": 1}),
    "NaN": (math.nan, "NaN"),
    "infinity": ([math.inf], ["Infinity"]),
    "minus infinity": ([-math.inf], ["-Infinity"]),
    "a large integer": (2**70, str(2**70)),
    "a very large integer": (2**5_000, hex(2**5_000)),
    "a large integer and its float": (2**70, 2.0**70),
    "a key of None": ({None: 1}, {"None": 1}),
    "a key of infinity": ({math.inf: 1}, {"inf": 1}),
    "bytes": ("ok", b"ok"),
    "other bytes": ("<2 bytes 6f6b>", b"\xff\xfe"),
    "a set": ([1], {1}),
    "a decimal": ("1.0", Decimal("1.0")),
    "a datetime": ("2024-05-20T00:00:00", datetime(2024, 5, 20)),
    "an object": ("<object>", object()),
    "a cycle": (["<cycle>"], ring()),
    "two keys that are one": ({"1": "b"}, {1: "a", "1": "b"}),
}


@pytest.mark.parametrize("where", ["args", "shown"])
@pytest.mark.parametrize("name", ALTERED_UNSEEN)
def test_what_was_altered_unseen_is_altered(name: str, where: str) -> None:
    signed, altered = ALTERED_UNSEEN[name]
    found = token(**{where: signed})

    assert check(found, **{where: signed}) is ReceiptStatus.EXECUTED
    assert check(found, **{where: altered}) is ReceiptStatus.ALTERED


@pytest.mark.parametrize("where", ["args", "shown"])
@pytest.mark.parametrize("value", [b"ok", {1}, ring(), object(), {1: "a", "1": "b"}, [0] * 200_000, "x" * (1 << 24)],
                         ids=lambda value: type(value).__name__)  # fmt: skip
def test_what_cannot_be_signed_whole_is_not_signed(where: str, value: Any) -> None:
    with pytest.raises(ReceiptError, match=f"^{where}.* cannot be signed: "):
        token(**{where: value})


@pytest.mark.parametrize(
    ("where", "value", "reason"),
    [
        *((name, value, "it must be text") for name in ("tool", "call_id") for value in (None, 7, b"add", ["add"])),
        ("session_id", 7, "it must be text"),
        *(
            ("issued_at", value, "it must be a finite number of seconds since the epoch")
            for value in (math.nan, math.inf, -math.inf, 10**400, "1000", None, True, 1j)
        ),
    ],
)
def test_a_name_is_text_and_a_time_a_finite_number(where: str, value: Any, reason: str) -> None:
    with pytest.raises(ReceiptError) as raised:
        token(**{where: value})

    assert (raised.value.part, raised.value.reason) == (where, reason)


@pytest.mark.parametrize("where", ["tool", "call_id", "session_id"])
@pytest.mark.parametrize(
    ("signed", "found"),
    [
        ("\ud800", "?"), ("\ud800", "\ud801"), ("a" * 1_000 + "b", "a" * 1_000 + "c"), ("7", 7), ("None", None),
        ("add", b"add"), ("", None), ("\ud800", "sha256:" + sha256(b'"\xed\xa0\x80"').hexdigest()),
    ],
)  # fmt: skip
def test_another_name_is_another(where: str, signed: Any, found: Any) -> None:
    genuine = token(**{where: signed})

    assert check(genuine, **{where: signed}) is ReceiptStatus.EXECUTED
    assert check(genuine, **{where: found}) not in (ReceiptStatus.EXECUTED, ReceiptStatus.FORGED)


@pytest.mark.parametrize("character", ["\x01", "\U0001f600", "\ud800", '"'])
def test_no_name_is_too_long_to_be_read_again(character: str) -> None:
    names = dict.fromkeys(("tool", "call_id", "session_id"), character * 1_000)

    assert check(token(**names), **names) is ReceiptStatus.EXECUTED


@given(
    st.text(st.sampled_from('ab\x00\x7f"\\\n\u00e9\u20ac'), max_size=8),
    st.sampled_from([1, 20, 21, 125, 200, 400]),
    st.sampled_from(["", "sha256:"]),
)
def test_a_name_of_up_to_1000_bytes_of_json_stands_as_it_is_and_another_as_its_digest(
    part: str, times: int, beginning: str
) -> None:
    name = beginning + part * times
    written = json.dumps(name, ensure_ascii=False).encode()
    stands = len(written) <= 1_000 and not beginning
    receipt = SIGNER.read(token(tool=name))

    assert receipt is not None
    assert receipt.tool == (name if stands else f"sha256:{sha256(written).hexdigest()}")


class Whole(int):
    def __float__(self) -> float:
        return math.nan


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 10**400, "1000", True, Whole(1_000)])
@pytest.mark.parametrize("where", ["now", "max_age"])
def test_no_receipt_holds_at_a_time_that_is_none(where: str, value: Any) -> None:
    expected = ReceiptStatus.EXECUTED if type(value) is Whole else ReceiptStatus.EXPIRED

    assert check(token(), **{"max_age": 10.0, where: value}) is expected


@pytest.mark.parametrize("field", ["now"])
@pytest.mark.parametrize("value", [math.nan, math.inf, None])
def test_a_time_is_needed_also_where_no_age_is_asked_for(field: str, value: Any) -> None:
    assert check(token(), **{field: value}) is ReceiptStatus.EXPIRED


def signed_by_hand(held: Any) -> str:
    """A token with the mac of the key, whatever it holds."""
    payload = urlsafe_b64encode(json.dumps(held).encode()).rstrip(b"=").decode()
    return f"v2.{payload}.{hmac.new(KEY, f'v2.{payload}'.encode(), sha256).hexdigest()}"


HELD: dict[str, Any] = {
    "tool": "add", "args_digest": "a", "result_digest": "b", "call_id": "c1", "session_id": "s1", "issued_at": 1_000.0,
}  # fmt: skip


@pytest.mark.parametrize(
    "held",
    [
        [], 7, None, {}, {**HELD, "more": 1}, {name: HELD[name] for name in list(HELD)[1:]}, {**HELD, "tool": 7},
        {**HELD, "session_id": 7}, {**HELD, "args_digest": None}, *({**HELD, "issued_at": at} for at in
        (None, "1000", math.nan, math.inf, 10**400, True)),
    ],
)  # fmt: skip
def test_what_the_key_signed_elsewhere_is_no_receipt_of_ours(held: Any) -> None:
    assert SIGNER.read(signed_by_hand(HELD)) == Receipt(**HELD)
    assert SIGNER.read(signed_by_hand(held)) is None
    assert check(signed_by_hand(held), max_age=10.0) is ReceiptStatus.FORGED


class TestWhereItMayNotBePossible:
    """A receipt or none, for who goes on without."""

    def test_what_can_be_signed_is(self, caplog: pytest.LogCaptureFixture) -> None:
        assert SIGNER.sign_if_possible(**CALL, **NAMES, issued_at=1_000.0) == token()
        assert caplog.text == ""

    def test_what_cannot_is_logged_once_a_tool_without_content(self, caplog: pytest.LogCaptureFixture) -> None:
        signer = ReceiptSigner(KEY)

        def sign(**changes: Any) -> str | None:
            return signer.sign_if_possible(**{**CALL, **NAMES, "issued_at": 1_000.0, **changes})

        found = [
            sign(shown={"a secret": [{"a secret"}]}),
            sign(shown={"another": b"secret"}),
            sign(tool="sub", args={"a secret": b"a secret"}),
            sign(tool=None),
            sign(tool=7),
            sign(issued_at=math.nan),
        ]

        assert found == [None] * 6
        advice = "hand over the text, or the JSON, that the model is shown"
        assert [record.getMessage() for record in caplog.records] == [
            f"a result of 'add' has no receipt, for shown cannot be signed: a set is no JSON value; {advice}",
            f"a result of 'sub' has no receipt, for args cannot be signed: a bytes is no JSON value; {advice}",
            "a result of '?' has no receipt, for tool cannot be signed: it must be text",
        ]

    def test_names_without_end_are_not_all_kept(self, caplog: pytest.LogCaptureFixture) -> None:
        signer = ReceiptSigner(KEY)
        for tool in [*(f"tool {n}" for n in range(1_001)), "tool 1000", "tool 0"]:
            signer.sign_if_possible(tool, {}, b"", call_id="c1", issued_at=1_000.0)

        assert len(caplog.records) == 1_002


@pytest.mark.parametrize("key", [b"", b"fifteen bytes !", "a text of sixteen or more", None])
def test_a_key_that_is_too_short_or_no_bytes_is_refused(key: Any) -> None:
    with pytest.raises(ConfigurationError, match="at least 16 bytes"):
        ReceiptSigner(key)


def test_a_ledger_sees_a_receipt_that_comes_again() -> None:
    ledger = ReceiptLedger()

    assert check(token(), ledger=ledger) is ReceiptStatus.EXECUTED
    assert check(token(), ledger=ledger) is ReceiptStatus.OTHER_CALL
    assert check(token(), ledger=ReceiptLedger()) is ReceiptStatus.EXECUTED


def test_a_call_id_that_is_used_again_is_no_replay() -> None:
    ledger = ReceiptLedger()

    assert check(token(), ledger=ledger) is ReceiptStatus.EXECUTED
    assert check(token(issued_at=1_001.0), ledger=ledger) is ReceiptStatus.EXECUTED


def test_what_is_refused_for_another_reason_is_not_in_the_ledger() -> None:
    ledger = ReceiptLedger()

    assert check(token(), shown="4", ledger=ledger) is ReceiptStatus.ALTERED
    assert check(token(), ledger=ledger) is ReceiptStatus.EXECUTED


def test_a_ledger_forgets_the_oldest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ReceiptLedger, "LIMIT", 2)
    ledger = ReceiptLedger()
    receipts = [Receipt("t", "", "", f"c{n}", None, 0.0) for n in range(3)]

    assert [ledger.first(receipt) for receipt in receipts] == [True, True, True]
    assert [ledger.first(receipt) for receipt in reversed(receipts)] == [False, False, True]


class TestOnRecord:
    """A receipt is in the store's log before anybody holds it."""

    def test_each_receipt_is_kept_without_content(self) -> None:
        store = MemoryStore()
        signer = ReceiptSigner(KEY, store)
        token = signer.sign("add", {"a": "a secret"}, "the answer", call_id="c1", issued_at=1000.0, session_id="s")

        (record,) = store.events("receipts")
        receipt = signer.read(token)
        assert receipt is not None
        assert record.event == receipt._asdict()
        assert "secret" not in repr(record)
        assert "answer" not in repr(record)

    def test_a_receipt_of_any_names_is_json(self) -> None:
        store = MemoryStore()
        names = dict.fromkeys(("tool", "call_id", "session_id"), "half: \ud83d")
        token = ReceiptSigner(KEY, store).sign(**names, args={}, shown="\ud83d", issued_at=1000)

        (record,) = store.events("receipts")
        assert json.loads(json.dumps(record.event)) == SIGNER.read(token)._asdict()  # type: ignore[union-attr]
        assert record.event["tool"].startswith("sha256:")
        assert record.event["issued_at"] == 1000.0

    @pytest.mark.parametrize("changes", [{"shown": b""}, {"args": {1}}, {"issued_at": math.nan}, {"call_id": 7}])
    def test_what_is_not_signed_is_not_on_record(self, changes: dict[str, Any]) -> None:
        store = MemoryStore()
        with pytest.raises(ReceiptError):
            ReceiptSigner(KEY, store).sign(**{**CALL, **NAMES, "issued_at": 1_000.0, **changes})

        assert list(store.events("receipts")) == []

    def test_a_store_that_fails_is_logged_and_stops_no_call(self, caplog: pytest.LogCaptureFixture) -> None:
        store = MemoryStore()
        store.close()
        token = ReceiptSigner(KEY, store).sign("add", {"a": 1}, "2", call_id="c1", issued_at=1000.0)

        assert ReceiptSigner(KEY).check(token, "add", {"a": 1}, "2", call_id="c1", now=1001.0).is_genuine
        assert "not on record" in caplog.text


@pytest.mark.parametrize("where", ["tool", "call_id", "session_id"])
def test_a_name_with_half_of_a_surrogate_pair_can_be_signed(where: str) -> None:
    changes = {where: "half: \ud83d"}

    assert check(token(**changes), **changes) is ReceiptStatus.EXECUTED
    assert check(token(**changes)) is not ReceiptStatus.EXECUTED


class Proxy:
    """As lazy proxies do outside of their context: not even its class can be asked."""

    @property  # type: ignore[misc]  # a read-only class is the point of it: isinstance() raises
    def __class__(self) -> Any:
        raise RuntimeError("outside of its context")


def test_an_object_that_cannot_be_asked_for_its_class_is_no_receipt() -> None:
    assert check(Proxy()) is ReceiptStatus.FORGED
