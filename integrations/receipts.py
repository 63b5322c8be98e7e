"""Receipts in transcripts: where a tool message carries its receipt, what the receipt covers, and who holds the key.

Works on any messages that look like LangChain's or OpenAI's, as objects or as dicts; no framework is needed.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import orjson

from agentguard.verification.receipts import ReceiptLedger, ReceiptSigner, ReceiptStatus

__all__ = ["KEY_VARIABLE", "STAMP", "TranscriptFinding", "receipt_signer", "seal", "stamp_of", "verify_transcript"]

#: The environment variable with the key that several processes share, at least 16 bytes.
KEY_VARIABLE = "AGENTGUARD_RECEIPT_KEY"
#: Where a message keeps its verdict: ``response_metadata["agentguard"]``, plain JSON that no provider is sent.
STAMP = "agentguard"

_KINDS = {"assistant": "ai", "AIMessageChunk": "ai", "user": "human"}


class TranscriptFinding(NamedTuple):
    """What is known of one tool message of a transcript.

    Attributes:
        position: its place in the transcript, from 0.
        tool, call_id: which call it answers.
        status: ``EXECUTED`` only where a guard with this key saw the tool run and the message is as it left that guard.
        verdict: the verdict that the message was signed with; None where its signature does not hold.
    """

    position: int
    tool: str
    call_id: str
    status: ReceiptStatus
    verdict: str | None


class ToolAnswer(NamedTuple):
    """A tool message next to the call that it answers; ``args`` is None where the transcript has no such call."""

    position: int
    tool: str
    args: Any
    call_id: str
    message: Any


def receipt_signer() -> ReceiptSigner:
    """The signer of this process: with the key of ``AGENTGUARD_RECEIPT_KEY``, else with one of this process alone.

    Set the variable where a run may go on in another process (a resumed thread, several workers): receipts of a key
    that is not known count as forged.

    Raises:
        ConfigurationError: where the variable holds fewer than 16 bytes.
    """
    key = os.environ.get(KEY_VARIABLE)
    return _own_signer() if key is None else ReceiptSigner(key.encode())


@lru_cache(maxsize=1)
def _own_signer() -> ReceiptSigner:
    return ReceiptSigner(secrets.token_bytes(32))


def verify_transcript(
    messages: Iterable[Any],
    signer: ReceiptSigner | None = None,
    *,
    session_id: str | None = None,
    now: float | None = None,
    max_age: float | None = None,
) -> list[TranscriptFinding]:
    """Tell executed results from all else in a transcript, one finding per tool message.

    A message that was changed after the guard signed it (redacted, summarised, cleared) is altered, whoever did it.
    A result that a cache, an emulator or a reviewer gave was never executed. A call that a person edited is signed as
    it stands in the transcript.

    Args:
        messages: the whole transcript, so that calls and repetitions are seen.
        signer: holds the key; None: ``receipt_signer()``.
        session_id: the thread that the transcript belongs to; None: that of its first genuine receipt.
        now: seconds since the epoch; None: the clock's.
        max_age: receipts older than so many seconds have expired; None: they never do.
    """
    signer = receipt_signer() if signer is None else signer
    now = time.time() if now is None else now
    answers = list(tool_answers(list(messages)))
    if session_id is None:
        receipts = (signer.read(receipt_of(answer.message)) for answer in answers)
        session_id = next((found.session_id for found in receipts if found is not None), None)
    ledger = ReceiptLedger()
    findings = []
    for answer in answers:
        status = check(answer, signer, session_id=session_id, now=now, max_age=max_age, ledger=ledger)
        stamp = (stamp_of(answer.message) or {}) if status.is_genuine else {}
        if stamp.get("executed") is False:
            status = ReceiptStatus.MISSING
        findings.append(TranscriptFinding(answer.position, answer.tool, answer.call_id, status, stamp.get("verdict")))
    return findings


def seal(
    stamp: Mapping[str, Any],
    message: Any,
    signer: ReceiptSigner,
    *,
    tool: str,
    args: Any,
    call_id: str,
    session_id: str | None,
    issued_at: float | None = None,
) -> dict[str, Any]:
    """The stamp with a receipt that covers it together with the message's content and status.

    Args:
        stamp: plain JSON; ``executed`` False says that no guard saw the tool run.
        message: as the model gets it.
        signer: holds the key.
        tool: the call's, as the transcript has it.
        args: the call's, as the transcript has it.
        call_id: the call's.
        session_id: the thread.
        issued_at: seconds since the epoch; None: the clock's.
    """
    bare = {key: value for key, value in stamp.items() if key != "receipt"}
    issued_at = time.time() if issued_at is None else issued_at
    receipt = signer.sign(
        tool, args, _shown(message, bare), call_id=call_id, session_id=session_id, issued_at=issued_at
    )
    return {**bare, "receipt": receipt}


def check(
    answer: ToolAnswer,
    signer: ReceiptSigner,
    *,
    session_id: str | None,
    now: float,
    max_age: float | None = None,
    ledger: ReceiptLedger | None = None,
) -> ReceiptStatus:
    """Hold one tool message, with its stamp, against its receipt."""
    stamp = {key: value for key, value in (stamp_of(answer.message) or {}).items() if key != "receipt"}
    return signer.check(
        receipt_of(answer.message),
        answer.tool,
        answer.args,
        _shown(answer.message, stamp),
        call_id=answer.call_id,
        session_id=session_id,
        now=now,
        max_age=max_age,
        ledger=ledger,
    )


def stamp_of(message: Any) -> dict[str, Any] | None:
    """The verdict that a message carries, as found: it is proved by its receipt only."""
    metadata = _get(message, "response_metadata")
    stamp = metadata.get(STAMP) if isinstance(metadata, Mapping) else None
    return dict(stamp) if isinstance(stamp, Mapping) else None


def receipt_of(message: Any) -> Any:
    """The receipt as found; None where there is none."""
    return (stamp_of(message) or {}).get("receipt")


def tool_answers(messages: Sequence[Any]) -> Iterator[ToolAnswer]:
    """Every tool message with its call, which is the latest before it that has its id."""
    calls: dict[str, tuple[str, Any]] = {}
    for index, message in enumerate(messages):
        kind = kind_of(message)
        if kind == "ai":
            calls.update(_calls_of(message))
        elif kind == "tool":
            call_id = as_text(_get(message, "tool_call_id"))
            tool, args = calls.get(call_id, ("", None))
            yield ToolAnswer(index, as_text(_get(message, "name")) or tool, args, call_id, message)


def kind_of(message: Any) -> str:
    """``ai``, ``tool``, ``human`` or whatever the message calls itself."""
    kind = _get(message, "type")
    kind = kind if isinstance(kind, str) and kind != "message" else _get(message, "role")
    return _KINDS.get(kind, kind) if isinstance(kind, str) else ""


def as_text(value: Any) -> str:
    """A name or an id as text that can be signed: ids may be UUIDs, and lone surrogates cannot be encoded."""
    return "" if value is None else str(value).encode("utf-8", "replace").decode()


def _calls_of(message: Any) -> Iterator[tuple[str, tuple[str, Any]]]:
    calls = _get(message, "tool_calls")
    for call in calls if isinstance(calls, (list, tuple)) else ():
        function = _get(call, "function")
        named = call if function is None else function
        args = _get(call, "args") if function is None else _read(_get(function, "arguments"))
        yield as_text(_get(call, "id")), (as_text(_get(named, "name")), args)


def _read(arguments: Any) -> Any:
    try:
        return orjson.loads(arguments) if isinstance(arguments, (str, bytes)) else arguments
    except orjson.JSONDecodeError:
        return arguments


def _shown(message: Any, stamp: Mapping[str, Any]) -> dict[str, Any]:
    return {"content": _get(message, "content"), "status": _get(message, "status") or "success", "stamp": stamp}


def _get(holder: Any, name: str) -> Any:
    if not isinstance(holder, Mapping):
        return getattr(holder, name, None)
    inner = holder.get("data")  # LangChain's own dump of a message: {"type": ..., "data": {...}}
    return holder.get(name, inner.get(name)) if isinstance(inner, Mapping) else holder.get(name)
