"""Transcripts with hostile receipts: nothing counts as executed that was not signed as it stands."""

from __future__ import annotations

import base64
import json
from typing import Any

from agentguard.errors import DataError, ReceiptError
from agentguard.integrations.receipts import verify_transcript
from agentguard.verification.receipts import ReceiptLedger, ReceiptSigner, ReceiptStatus
from fuzz import grammar, objects
from fuzz.harness import Harness
from fuzz.source import Source
from fuzz.trial import Trial, require

__all__ = ["HARNESSES"]

OURS, THEIRS = ReceiptSigner(b"the key of these trials"), ReceiptSigner(b"the key of somebody else")
TRUE = OURS.sign("t", {}, "x", call_id="c1", issued_at=1_000.0)


def _token(source: Source, true: str, tool: Any, args: Any, shown: Any, call_id: Any) -> tuple[Any, bool]:
    """A receipt, and whether it is the true one of just this call."""
    kind = source.integer(0, 9)
    if kind < 3:
        return true, True
    if kind == 3:
        return THEIRS.sign(tool, args, shown, call_id=call_id, issued_at=1_000.0), False
    if kind == 4:
        return objects.anything(source), False
    if kind == 5:
        return grammar.text(source), False
    version, payload, mac = true.split(".")
    at = source.integer(0, len(true) - 1)
    if kind == 6:
        changed = true[:at] + grammar.text(source, most=2) + true[at + source.integer(0, 2) :]
        return changed, changed == true
    if kind == 7:  # the same bytes behind another spelling of base64, or another case of the mac
        spelled = source.choice((f"{payload}=", f"{payload}\n", payload.swapcase(), f" {payload}"))
        return f"{version}.{spelled}.{mac.upper() if spelled == payload else mac}", False
    if kind == 8:
        made = base64.urlsafe_b64encode(json.dumps({"tool": tool, "issued_at": "x"}).encode()).decode()
        return f"v2.{made}.{mac}", False
    return f"{source.choice(('v0', 'v1', 'v2', ''))}.{payload}.{grammar.name(source)}", False


def _signed(trial: Trial) -> None:
    source = trial.source
    tool, call_id = grammar.name(source), grammar.name(source)
    args, shown = (
        (objects.anything(source), grammar.text(source))
        if source.chance(3)
        else (grammar.value(source), grammar.value(source))
    )
    session = source.choice((None, "s", "\ud800"))
    signed = trial.call(
        OURS.sign, tool, args, shown, call_id=call_id, issued_at=1_000.0, session_id=session, allowed=ReceiptError,
    )  # fmt: skip
    if isinstance(signed, ReceiptError):
        require(signed.part in ("args", "shown"), f"{signed.part} is refused")
        another = OURS.sign(tool, {}, "x", call_id=call_id, issued_at=1_000.0, session_id=session)
        status = OURS.check(another, tool, args, shown, call_id=call_id, now=1_001.0, session_id=session)
        require(status is ReceiptStatus.ALTERED, f"{status} for what cannot be signed")
        return
    token, true = _token(source, signed, tool, args, shown, call_id)
    ledger = ReceiptLedger()
    status = trial.call(
        OURS.check, token, tool, args, shown, call_id=call_id, now=1_001.0, session_id=session, again=False,
        of=[args, shown, token],
    )  # fmt: skip
    require(isinstance(status, ReceiptStatus), "no status")
    require(status.is_genuine == true, f"{status} for a receipt that is {'true' if true else 'not'}")
    if true:
        _true(source, tool, args, shown, {"call_id": call_id, "session_id": session}, token)
        first, second = (
            OURS.check(token, tool, args, shown, call_id=call_id, now=1_001.0, session_id=session, ledger=ledger)
            for _ in "12"
        )
        require(first.is_genuine and not second.is_genuine, "a replay passes")


def _true(source: Source, tool: Any, args: Any, shown: Any, names: Any, token: Any) -> None:
    """What holds of the receipt of a call: no other call has it, at no other time, and JSON takes nothing away."""
    other = OURS.check(token, f"{tool}x", args, shown, now=1_001.0, **names)
    require(other is ReceiptStatus.ALTERED, "another tool's")
    for now, status in ((2_000.0, ReceiptStatus.EXPIRED), (900.0, ReceiptStatus.AHEAD)):
        found = OURS.check(token, tool, args, shown, now=now, max_age=10.0, **names)
        require(found is status, f"{found} at another time")
    text = _as_json(shown)
    if text is not None:
        same = OURS.check(token, tool, args, json.loads(text), now=1_001.0, **names)
        require(same.is_genuine, "altered by JSON")
        altered = grammar.value(source)
        if _as_json(altered) not in (None, text):
            found = OURS.check(token, tool, args, altered, now=1_001.0, **names)
            require(found is ReceiptStatus.ALTERED, f"{found} for another result")


def _as_json(value: Any) -> str | None:
    try:
        return json.dumps(value, sort_keys=True)
    except (TypeError, ValueError, RuntimeError):  # what JSON has not, and what refuses to be asked
        return None


def _message(source: Source) -> Any:
    """As it is read from JSON; a framework's own are records."""
    kind = source.choice(("tool", "ai", "human", "message", "", None, "assistant", "function"))
    made: dict[Any, Any] = {source.choice(("type", "role")): kind}
    if kind in ("ai", "assistant"):
        call = {"id": "c1", "name": "t", "args": grammar.value(source, 2)}
        if source.integer(0, 1):
            call = {"id": "c1", "function": {"name": "t", "arguments": grammar.json_text(source, 2)}}
        made["tool_calls"] = grammar.value(source) if source.chance(4) else [call]
    else:
        made |= {"tool_call_id": source.choice(("c1", "c2", None)), "name": source.choice(("t", None))}
        made["content"] = grammar.value(source) if source.chance(3) else grammar.text(source, most=3)
        stamp: Any = {
            "receipt": _token(source, TRUE, "t", {}, "x", "c1")[0],
            "executed": source.choice((True, False, 1)),
        }
        stamp["verdict"] = grammar.value(source, 1)
        made["response_metadata"] = {"agentguard": grammar.value(source) if source.chance(6) else stamp}
    if source.chance(6):
        made[grammar.key(source)] = grammar.value(source)
    return grammar.value(source) if source.chance(8) else made


def _transcript(trial: Trial) -> None:
    source = trial.source
    messages = [_message(source) for _ in range(source.integer(1, 5))]
    session = source.choice((None, "s"))
    findings = trial.call(
        verify_transcript, messages, OURS, session_id=session, now=1_001.0, again=False, allowed=DataError
    )
    if isinstance(findings, DataError):  # an id of more digits than Python prints
        return
    for finding in findings:
        require(0 <= finding.position < len(messages), "a position outside of the transcript")
        require(isinstance(finding.status, ReceiptStatus), "no status")
        if finding.status.is_genuine:  # only this was ever signed
            require((finding.tool, finding.call_id) == ("t", "c1"), "executed, and never signed")


HARNESSES = (
    Harness("receipts", "ReceiptSigner.sign and check: true, forged, altered, replayed, expired", _signed),
    Harness("transcripts", "verify_transcript on hostile messages and receipts", _transcript),
)
