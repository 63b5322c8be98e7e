"""A person's answer on flagged results: one interrupt for all of a turn, and no tool is run again for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import time
from typing import Any

from agentguard.errors import DataError
from agentguard.integrations.extras import needs
from agentguard.integrations.messages import messages_of, stamped, standing, this_turn, withheld
from agentguard.integrations.receipts import ToolAnswer, check, receipt_of, receipt_signer, seal, stamp_of
from agentguard.integrations.tool_calls import session_of
from agentguard.verification import VerificationEngine
from agentguard.verification.receipts import ReceiptSigner

try:
    from langchain_core.messages import ToolMessage
    from langgraph.config import get_config
    from langgraph.types import interrupt
except ImportError as error:
    raise needs("langgraph", error) from error

__all__ = ["DECISIONS", "ReviewNode"]

#: What a person may decide of a flagged result: it is genuine, it is not, or: say this in its place.
DECISIONS = ("approve", "reject", "respond")
#: As much of a result is shown to the person, in characters.
LONGEST_SHOWN = 2_000


class ReviewNode:
    """Asks a person about the flagged tool results of the last turn, all at once.

    A node for LangGraph, to which ``route_by_verdict`` sends ``"flag"``; the middleware uses it for
    ``on_flag="review"``. It interrupts with a request in the shape of LangChain's ``HITLRequest`` and is resumed with
    ``Command(resume={"decisions": [...]})``, one decision per result in their order::

        {"type": "approve"}                        the result stands
        {"type": "reject", "message": "..."}       a notice takes its place; the message is optional
        {"type": "respond", "message": "..."}      the message takes its place

    The engine is told what was decided: an approved result was genuine, the others were not. Needs a checkpointer and,
    as the framework's interrupts do under ``ainvoke``, Python 3.11.

    Args:
        engine: gets the feedback.
        signer: as the guard's; None: ``receipt_signer()``.
        messages_key: the state's messages, whose reducer must replace by id, as ``add_messages`` does.

    Raises:
        DataError: on resumption, where decisions do not fit the request. Nothing is changed then.
    """

    def __init__(
        self, engine: VerificationEngine, *, signer: ReceiptSigner | None = None, messages_key: str = "messages"
    ) -> None:
        self.engine = engine
        self.signer: ReceiptSigner = receipt_signer() if signer is None else signer
        self.messages_key = messages_key

    def __call__(self, state: Any) -> dict[str, Any] | None:
        """The messages as decided; None where nothing is flagged."""
        flagged = [
            answer
            for answer in this_turn(messages_of(state, self.messages_key))
            if stamp_of(answer.message) is not None and standing(answer.message) == "flag"
        ]
        if not flagged:
            return None
        decisions = _decisions(interrupt(_request(flagged)), len(flagged))
        changed = [self._decided(*pair) for pair in zip(flagged, decisions, strict=True)]
        return {self.messages_key: changed}

    def _decided(self, answer: ToolAnswer, decision: Mapping[str, Any]) -> ToolMessage:
        message, kind, said = answer.message, decision["type"], decision.get("message")
        stamp = {**(stamp_of(message) or {}), "review": kind, "action": "replace" if kind == "reject" else "pass"}
        receipt = self.signer.read(receipt_of(message))
        session = _session() if receipt is None else receipt.session_id
        now = time()
        if check(answer, self.signer, session_id=session, now=now).is_genuine:
            # Learn from verdicts that a guard gave, not from what a client wrote into the state.
            self.engine.record_feedback(
                answer.tool, float(stamp["posterior"]), was_hallucination=kind != "approve", call_id=answer.call_id
            )
        else:
            stamp["executed"] = False
        if kind == "respond":
            message = withheld(message, str(said)).model_copy(update={"status": "success"})
            stamp["executed"] = False  # what is shown now is a person's word
        elif kind == "reject":
            reason = f" ({said})" if said else ""
            message = withheld(
                message,
                f"A reviewer rejected the result of {answer.tool!r}{reason}. Do not guess the result; call the tool "
                "again or say it is missing.",
            )
        sealed = seal(
            stamp,
            message,
            self.signer,
            tool=answer.tool,
            args=answer.args,
            call_id=answer.call_id,
            session_id=session,
            issued_at=now if receipt is None else receipt.issued_at,
        )
        return stamped(message, sealed)


def _request(flagged: Sequence[ToolAnswer]) -> dict[str, Any]:
    return {
        "action_requests": [
            {"name": answer.tool, "args": answer.args, "description": _description(answer)} for answer in flagged
        ],
        "review_configs": [
            {"action_name": tool, "allowed_decisions": list(DECISIONS)}
            for tool in dict.fromkeys(answer.tool for answer in flagged)
        ],
    }


def _description(answer: ToolAnswer) -> str:
    content = answer.message.content
    shown = content if isinstance(content, str) else str(content)
    cut = " ..." if len(shown) > LONGEST_SHOWN else ""
    reason = (stamp_of(answer.message) or {}).get("reason", "")
    return f"Is this result genuine?\n\n{reason}\n\nResult of {answer.tool}:\n{shown[:LONGEST_SHOWN]}{cut}"


def _decisions(answered: Any, count: int) -> list[Mapping[str, Any]]:
    decisions = answered.get("decisions") if isinstance(answered, Mapping) else None
    if not isinstance(decisions, list) or len(decisions) != count:
        raise DataError(f"resume with {{'decisions': [...]}}, one for each of the {count} flagged results")
    for place, decision in enumerate(decisions):
        kind = decision.get("type") if isinstance(decision, Mapping) else None
        if kind not in DECISIONS:
            raise DataError(f"decision {place}: type must be one of {', '.join(map(repr, DECISIONS))}, not {kind!r}")
        if kind == "respond" and not decision.get("message"):
            raise DataError(f"decision {place}: respond needs a message, which takes the result's place")
    return decisions


def _session() -> str | None:
    try:
        return session_of(get_config())
    except RuntimeError:  # called outside a graph, or under ainvoke on Python 3.10
        return None
