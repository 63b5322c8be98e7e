"""Receipts in transcripts: where a tool message carries its receipt, what the receipt covers, and who holds the key.

Works on any messages that look like LangChain's or OpenAI's, as objects or as dicts; no framework is needed.
"""

from __future__ import annotations

import json
import os
import secrets
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, NamedTuple

from agentguard.errors import DataError
from agentguard.verification.receipts import Receipt, ReceiptLedger, ReceiptSigner, ReceiptStatus

__all__ = ["KEY_VARIABLE", "STAMP", "TranscriptFinding", "receipt_signer", "seal", "stamp_of", "verify_transcript"]

#: The environment variable with the key that several processes share, at least 16 bytes.
KEY_VARIABLE = "AGENTGUARD_RECEIPT_KEY"
#: Where a message keeps its verdict: ``response_metadata["agentguard"]``, plain JSON that no provider is sent.
STAMP = "agentguard"

_KINDS = {
    **dict.fromkeys(("assistant", "AIMessage", "AIMessageChunk"), "ai"),
    **dict.fromkeys(("ToolMessage", "ToolMessageChunk"), "tool"),
    **dict.fromkeys(("user", "HumanMessage", "HumanMessageChunk"), "human"),
}


class TranscriptFinding(NamedTuple):
    """The findings on one tool message of a transcript.

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

    What is compared is what JSON says of the messages, so a transcript may have been through it. Numbers stay what they
    are, 1 and 1.0 apart, as Python's ``json`` keeps them.

    Args:
        messages: the whole transcript, so that calls and repetitions are seen.
        signer: holds the key; None: ``receipt_signer()``.
        session_id: the thread that the transcript belongs to; None: that of its first genuine receipt.
        now: seconds since the epoch; None: the clock's.
        max_age: receipts older than so many seconds have expired, and those of a later time than now, but for a minute,
            are from the future; None: when they were issued is not looked at.

    Raises:
        DataError: for a message that cannot be read, because its own code fails.
    """
    signer = receipt_signer() if signer is None else signer
    now = time.time() if now is None else now
    answers = list(tool_answers(list(messages)))
    if session_id is None:
        session_id = next((receipt.session_id for receipt in _receipts(answers, signer)), None)
    ledger = ReceiptLedger()
    findings = []
    for answer in answers:
        with _reading(answer.position):
            status = check(answer, signer, session_id=session_id, now=now, max_age=max_age, ledger=ledger)
        stamp = (stamp_of(answer.message) or {}) if status.is_genuine else {}
        if stamp.get("executed") is False:
            status = ReceiptStatus.MISSING
        findings.append(TranscriptFinding(answer.position, answer.tool, answer.call_id, status, stamp.get("verdict")))
    return findings


def _receipts(answers: Iterable[ToolAnswer], signer: ReceiptSigner) -> Iterator[Receipt]:
    """The receipts of this key, in the order of the transcript."""
    for answer in answers:
        with _reading(answer.position):
            receipt = signer.read(receipt_of(answer.message))
        if receipt is not None:
            yield receipt


@contextmanager
def _reading(position: int) -> Iterator[None]:
    """Turn what a message's own code raises into one error that names the message."""
    try:
        yield
    except Exception as error:
        raise DataError(f"message {position} of the transcript cannot be read: {type(error).__name__}") from None


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

    Without one where the message or the arguments cannot be signed, which is logged once a tool.

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
    bare = dict(stamp)
    bare.pop("receipt", None)
    issued_at = time.time() if issued_at is None else issued_at
    receipt = signer.sign_if_possible(
        tool, args, _shown(message, bare), call_id=call_id, session_id=session_id, issued_at=issued_at
    )
    return bare if receipt is None else {**bare, "receipt": receipt}


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
    metadata = _field(message, "response_metadata")
    stamp = metadata.get(STAMP) if isinstance(metadata, Mapping) else None
    return dict(stamp) if isinstance(stamp, Mapping) else None


def receipt_of(message: Any) -> Any:
    """The receipt as found; None where there is none."""
    return (stamp_of(message) or {}).get("receipt")


def tool_answers(messages: Sequence[Any]) -> Iterator[ToolAnswer]:
    """Every tool message with its call, which is the latest before it that has its id."""
    calls: dict[str, tuple[str, Any]] = {}
    for index, message in enumerate(messages):
        with _reading(index):
            kind = kind_of(message)
            if kind == "ai":
                calls.update(_calls_of(message))
            call_id, name = as_text(_field(message, "tool_call_id")), as_text(_field(message, "name"))
        if kind == "tool":
            tool, args = calls.get(call_id, ("", None))
            yield ToolAnswer(index, name or tool, args, call_id, message)


def kind_of(message: Any) -> str:
    """``ai``, ``tool``, ``human`` or whatever the message calls itself.

    Some frameworks go by ``type`` and some by ``role``: what is a tool's message to one of them is one.
    """
    named = [_get(reading, name) for reading in _readings(message) for name in ("type", "role")]
    kinds = [_KINDS.get(kind, kind) for kind in named if isinstance(kind, str) and kind != "message"]
    return next((kind for kind in ("tool", "ai") if kind in kinds), kinds[0] if kinds else "")


def as_text(value: Any) -> str:
    """A name or an id as text: ids may be UUIDs or numbers, which LangChain makes text of too."""
    return "" if value is None else str(value)


def _calls_of(message: Any) -> Iterator[tuple[str, tuple[str, Any]]]:
    readings = _readings(message)
    calls = _get(readings[0], "tool_calls") if len(readings) == 1 else None
    for call in calls if isinstance(calls, (list, tuple)) else ():
        function = _get(call, "function")
        named = call if function is None else function
        args = _get(call, "args") if function is None else _read(_get(function, "arguments"))
        yield as_text(_get(call, "id")), (as_text(_get(named, "name")), args)


def _read(arguments: Any) -> Any:
    """The arguments of a call as frameworks read them: integers of any size, NaN and half surrogate pairs too."""
    if not isinstance(arguments, (str, bytes)):
        return arguments
    try:
        return json.loads(arguments, strict=False)
    except (ValueError, RecursionError):
        return arguments


def _shown(message: Any, stamp: Mapping[str, Any]) -> dict[str, Any]:
    readings = _readings(message)
    status = _get(readings[0], "status")
    shown = {
        "content": _get(readings[0], "content"),
        "status": "success" if status is None else status,
        "stamp": stamp,
    }
    return shown if len(readings) == 1 else {**shown, "readings": readings}


def _readings(message: Any) -> list[Any]:
    """The message, and the dicts inside it where LangChain has dumped it, in one way or the other.

    It is more than one thing only where somebody made it so: what is checked must be all that anybody may show.
    """
    if not isinstance(message, Mapping):
        return [message]
    readings: list[Any] = []
    kind, data, given, path = (message.get(name) for name in ("type", "data", "kwargs", "id"))
    if isinstance(data, Mapping):
        readings.append({**data, "type": kind})
    if kind == "constructor" and isinstance(given, Mapping):
        readings.append({"type": path[-1] if isinstance(path, list) and path else None, **given})
    return [*readings, message] if "content" in message or not readings else readings


def _field(message: Any, name: str) -> Any:
    return _get(_readings(message)[0], name)


def _get(holder: Any, name: str) -> Any:
    return holder.get(name) if isinstance(holder, Mapping) else getattr(holder, name, None)
