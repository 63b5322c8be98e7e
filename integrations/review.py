"""A person's answer on flagged results: one interrupt for all of a turn, and no tool is run again for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from reprlib import repr as short
from time import time
from typing import Any, NamedTuple

from agentguard.errors import ConfigurationError
from agentguard.guard import artifact_of
from agentguard.guard._wording import instead_of_again, notice_of, unlined
from agentguard.integrations._extras import needs
from agentguard.integrations._messages import messages_of, stamped, standing, this_turn, withheld
from agentguard.integrations._tool_calls import session_of
from agentguard.integrations.receipts import ToolAnswer, check, receipt_of, receipt_signer, seal, stamp_of
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

    Decisions that do not fit are asked for again, by another interrupt: the same request with ``"error"``, which says
    what was wrong and stands before each description too. Nothing has changed by then.

    The engine learns from the decisions: an approved result was genuine, the others were not. It learns nothing where
    the receipt of the verdict does not hold, since whoever writes into the state could teach it. Needs a checkpointer,
    from which the run goes on, and, as the framework's interrupts do under ``ainvoke``, Python 3.11.

    Args:
        engine: gets the feedback.
        signer: as the guard's; None: ``receipt_signer()``.
        messages_key: the state's messages, whose reducer must replace by id, as ``add_messages`` does.
    """

    def __init__(
        self, engine: VerificationEngine, *, signer: ReceiptSigner | None = None, messages_key: str = "messages"
    ) -> None:
        self.engine = engine
        self.signer: ReceiptSigner = receipt_signer() if signer is None else signer
        self.messages_key = messages_key

    def __call__(self, state: Any) -> dict[str, Any] | None:
        """The messages as decided; None where nothing is flagged.

        Raises:
            ConfigurationError: where the graph has no checkpointer: it would end here, and could never be resumed.
        """
        flagged = [
            answer for answer in this_turn(messages_of(state, self.messages_key)) if standing(answer.message) == "flag"
        ]
        if not flagged:
            return None
        questions = [Question(answer.tool, answer.args, _description(answer)) for answer in flagged]
        changed = [self._decided(*pair) for pair in zip(flagged, decisions_on(questions, "result"), strict=True)]
        return {self.messages_key: changed}

    def _decided(self, answer: ToolAnswer, decision: Mapping[str, Any]) -> ToolMessage:
        message, kind, comment = answer.message, decision["type"], decision.get("message")
        stamp = {**(stamp_of(message) or {}), "review": kind, "action": "replace" if kind == "reject" else "pass"}
        receipt = self.signer.read(receipt_of(message))
        session = _session() if receipt is None else receipt.session_id
        now = time()
        if check(answer, self.signer, session_id=session, now=now).is_genuine:
            # Learn from verdicts that a guard gave, not from what a client wrote into the state.
            self.engine.record_feedback(
                artifact_of(answer.tool) if stamp.get("of") == "artifact" else answer.tool,
                float(stamp["posterior"]),
                was_hallucination=kind != "approve",
                call_id=answer.call_id,
            )
            # The line said that the result may be wrong; now somebody has looked.
            if line := stamp.pop("line", ""):
                message = message.model_copy(update={"content": unlined(message.content, line)})
        else:
            stamp["executed"] = False
        if kind == "respond":
            message = withheld(message, comment or "").model_copy(update={"status": "success"})
            stamp["executed"] = False  # what is shown now is a person's word
        elif kind == "reject":
            reason = f" ({comment})" if comment else ""
            happened = f"A reviewer rejected the result of {answer.tool!r}{reason}."
            instead = instead_of_again(self.engine.profile_of(answer.tool))
            message = withheld(message, notice_of(happened, int(stamp.get("asked", 0)), instead))
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


class Question(NamedTuple):
    """Something that a person is asked about: its name, what came in, and the question in words."""

    name: str
    args: Any
    description: str


def decisions_on(questions: Sequence[Question], noun: str) -> Sequence[Mapping[str, Any]]:
    """Interrupt the run, and go on with a person's decisions, one a question in their order.

    Args:
        questions: what is asked.
        noun: what is flagged: a result, an answer.

    Raises:
        ConfigurationError: where the graph has no checkpointer.
    """
    _require_checkpointer()
    # On resumption the node runs from its beginning, and each interrupt gives what it was answered: first the
    # earlier slips, in their order, then the latest answer.
    answered = interrupt(_request(questions))
    while (fault := _fault_in(answered, questions, noun)) is not None:
        answered = interrupt(_request(questions, fault))
    decisions: Sequence[Mapping[str, Any]] = answered["decisions"]
    return decisions


def _require_checkpointer() -> None:
    # LangGraph's own name; where another version has another one nothing is known, and nothing is refused.
    if get_config().get("configurable", {}).get("__pregel_checkpointer", True) in (None, False):
        raise ConfigurationError(
            "a review needs a checkpointer, or the run can never be resumed with what was decided: compile the graph "
            "with checkpointer=..., or let flagged results be annotated, with on_flag='annotate'"
        )


def _request(questions: Sequence[Question], fault: str | None = None) -> dict[str, Any]:
    """The request, again with what was wrong with the last answer: clients may show the descriptions alone."""
    before = "" if fault is None else f"Nothing was decided, {fault}.\n\n"
    return {
        "action_requests": [
            {"name": asked.name, "args": asked.args, "description": f"{before}{asked.description}"}
            for asked in questions
        ],
        "review_configs": [
            {"action_name": name, "allowed_decisions": list(DECISIONS)}
            for name in dict.fromkeys(asked.name for asked in questions)
        ],
        **({} if fault is None else {"error": fault}),
    }


def _description(answer: ToolAnswer) -> str:
    stamp = stamp_of(answer.message) or {}
    of_artifact = stamp.get("of") == "artifact"
    content: Any = answer.message.artifact if of_artifact else answer.message.content
    shown = content if isinstance(content, str) else str(content)
    cut = " ..." if len(shown) > LONGEST_SHOWN else ""
    what = "Artifact" if of_artifact else "Result"
    return (
        f"Is this {what.lower()} genuine?\n\n{stamp.get('reason', '')}\n\n"
        f"{what} of {answer.tool}:\n{shown[:LONGEST_SHOWN]}{cut}"
    )


def _fault_in(answered: Any, questions: Sequence[Question], noun: str) -> str | None:
    """The fault in a reviewer's answer, in words for the reviewer; None where it can be carried out."""
    decisions = answered.get("decisions") if isinstance(answered, Mapping) else None
    wanted = f"resume with {{'decisions': [...]}}, one decision for each flagged {noun} in their order"
    if not isinstance(decisions, (list, tuple)):
        return f"there were no decisions: {wanted}"
    if len(decisions) != len(questions):
        return f"there were {_count(decisions, 'decision')} for {_count(questions, f'flagged {noun}')}: {wanted}"
    for number, (decision, asked) in enumerate(zip(decisions, questions, strict=True), 1):
        where = f"decision {number} of {len(questions)} ({asked.name!r})"
        if not isinstance(decision, Mapping):
            return f"{where} must be like {{'type': 'approve'}}, not {short(decision)}"
        kind, comment = decision.get("type"), decision.get("message")
        if kind not in DECISIONS:
            return f"{where}: type must be one of {', '.join(map(repr, DECISIONS))}, not {short(kind)}"
        if kind == "respond" and not (isinstance(comment, str) and comment.strip()):
            return f"{where}: respond needs a message, a text that takes the {noun}'s place"
        if comment is not None and not isinstance(comment, str):
            return f"{where}: its message must be a text, not {short(comment)}"
    return None


def _count(things: Sequence[Any], name: str) -> str:
    return f"{len(things)} {name}{'' if len(things) == 1 else 's'}"


def _session() -> str | None:
    try:
        return session_of(get_config())
    except RuntimeError:  # called outside a graph, or under ainvoke on Python 3.10
        return None
