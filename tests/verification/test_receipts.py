"""Receipts: what they prove, and what cannot be made to look like one."""

from __future__ import annotations

import hmac
import json
from base64 import urlsafe_b64decode
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.errors import ConfigurationError
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

    assert version == "v1"
    assert mac == hmac.new(KEY, f"v1.{payload}".encode(), sha256).hexdigest()
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
    ["", "v1", "v1..", "v1.e30.", "é.e30.00", 7, b"v1.e30.00", ["v1"], token().replace("v1.", "v2.", 1), token() + "0",
     token()[:-1], token().upper(), "v1." + "a" * 5_000 + ".0"],
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


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(st.text(st.characters(codec="utf-8"), max_size=50), VALUES, VALUES, st.none() | st.sampled_from(["s", ""]))
def test_whatever_was_signed_reads_back(tool: str, args: Any, shown: Any, session: str | None) -> None:
    found = SIGNER.sign(tool, args, shown, call_id="c", session_id=session, issued_at=1.5)
    receipt = SIGNER.read(found)

    assert receipt is not None
    assert (receipt.tool, receipt.call_id, receipt.session_id, receipt.issued_at) == (tool, "c", session, 1.5)
    assert SIGNER.check(found, tool, args, shown, call_id="c", session_id=session, now=2.0).is_genuine


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
