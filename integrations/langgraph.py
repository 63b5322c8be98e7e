"""LangGraph: wrappers for any tool node, a tool node with them built in, and the guard as a node of its own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from math import inf
from time import time
from typing import TYPE_CHECKING, Annotated, Any, Literal

from agentguard.errors import ConfigurationError
from agentguard.integrations._extras import needs

try:
    from langchain_core.messages import ToolMessage
    from langchain_core.runnables import RunnableConfig
    from langchain_core.tools import BaseTool
    from langgraph.graph import MessagesState
    from langgraph.prebuilt import ToolNode
    from langgraph.prebuilt.tool_node import ToolCallRequest
    from langgraph.types import Command, StreamWriter
except ImportError as error:
    raise needs("langgraph", error) from error

from agentguard.guard import Guard, Judgement, Outcome, Rules
from agentguard.guard._guard import OnBlock
from agentguard.guard._wording import blocked, flag_line, instead_of_again, lined, notice_of, unlined
from agentguard.integrations._messages import (
    blocked_in,
    content_value,
    messages_of,
    stamped,
    standing,
    this_turn,
    tool_messages,
    withheld,
    without_redacted,
)
from agentguard.integrations._tool_calls import GuardedCalls, event_of, session_of, stamp_on_failure
from agentguard.integrations.receipts import ToolAnswer, check, receipt_of, receipt_signer, seal, stamp_of, tool_answers
from agentguard.integrations.review import ReviewNode
from agentguard.verification import VerificationEngine
from agentguard.verification.receipts import ReceiptLedger, ReceiptSigner, ReceiptStatus

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["GuardNode", "GuardState", "GuardedToolNode", "ReviewNode", "guard_wrappers", "route_by_verdict"]

# --- Verification as a node of its own ---


#: A stamp, and the notice that takes the message's place, if one does.
Found = tuple[dict[str, Any], str | None]


def _merged(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    return {**(old or {}), **(new or {})}


class GuardState(MessagesState):
    """``MessagesState`` with what ``GuardNode`` found: the verdicts, as plain JSON, by call id."""

    verdicts: Annotated[dict[str, dict[str, Any]], _merged]


class GuardNode:
    """Judges the tool messages after the model's last message.

    Behind guarded tools that sign (``guard_wrappers`` or ``GuardedToolNode`` with a ``signer``) it takes their
    verdicts, which their receipts prove. Behind a plain ``ToolNode`` it verifies the messages as they are shown,
    without times or raw values; so it does with the accepted results of guarded tools without a signer. It blocks a
    message whose receipt is forged, altered, replayed, expired, from the future or from another session; one that
    could not be signed has none, and is verified here. It puts each verdict into the message and, where the state
    has it (``GuardState``), into ``verdicts``. Let ``route_by_verdict`` choose the next node.

    Args:
        guard: the guard, or an engine; it judges what was not judged. The line of ``on_flag="annotate"`` is taken
            away by the approval of a ``ReviewNode``. In shadow mode messages are stamped, and what was judged here
            passes as accepted.
        rules: rules of the guard by name, see ``Guard``.
        require_receipts: block also what no guard saw executed, and what could not be signed. For graphs in which all
            tools are guarded.
        max_age: receipts older than so many seconds have expired, and those of a later time than now, but for a minute,
            are from the future; None: when they were issued is not looked at.
        signer: as the guard's that executed the calls; None: ``receipt_signer()``.
        events: emit each verdict as an event of ``stream_mode="custom"``.
        messages_key: the state's messages, whose reducer must replace by id, as ``add_messages`` does.

    Raises:
        ConfigurationError: for a value that is not one of these; on a call, for messages without an id.
    """

    def __init__(
        self,
        guard: Guard | VerificationEngine,
        *,
        require_receipts: bool = False,
        max_age: float | None = None,
        signer: ReceiptSigner | None = None,
        events: bool = False,
        messages_key: str = "messages",
        **rules: Unpack[Rules],
    ) -> None:
        self.guard: Guard = Guard.of(guard, "GuardNode: route_by_verdict leads to a ReviewNode or to END", rules)
        if max_age is not None and not (isinstance(max_age, (int, float)) and -inf < max_age < inf):
            raise ConfigurationError(f"max_age must be a finite number of seconds, or None, not {max_age!r}")
        self.require_receipts = require_receipts
        self.max_age = max_age
        self.signer: ReceiptSigner = receipt_signer() if signer is None else signer
        self._events = events
        self.messages_key = messages_key

    def __call__(self, state: Any, config: RunnableConfig, writer: StreamWriter) -> dict[str, Any] | None:
        """The messages with their verdicts, and the verdicts by call id; None where no tool has answered."""
        messages = messages_of(state, self.messages_key)
        turn = [answer for answer in this_turn(messages) if self.guard.covers(answer.tool)]
        if not turn:
            return None
        session, ledger = session_of(config), ReceiptLedger()
        for earlier in tool_answers(messages[: turn[0].position]):
            if (receipt := self.signer.read(receipt_of(earlier.message))) is not None:
                ledger.first(receipt)
        shown, verdicts = [], {}
        for answer in turn:
            if answer.message.id is None:
                key = self.messages_key
                raise ConfigurationError(f"a message in {key!r} has no id: the reducer must be add_messages")
            bare = _without_claims(answer)
            stamp, notice = self._found(bare, session, ledger)
            if self._events:
                writer(event_of(stamp))
            verdicts[answer.call_id] = {key: value for key, value in stamp.items() if key != "receipt"}
            shown.append(self._shown(answer if self.guard.shadow else bare, stamp, notice, session))
        stops = self.guard.on_block == "raise" and not self.guard.shadow
        if stops and (error := blocked_in(shown)) is not None:
            raise error
        return {self.messages_key: shown, "verdicts": verdicts}

    def _found(self, answer: ToolAnswer, session: str | None, ledger: ReceiptLedger) -> Found:
        status = check(answer, self.signer, session_id=session, now=time(), max_age=self.max_age, ledger=ledger)
        stamp: dict[str, Any] = (stamp_of(answer.message) or {}) if status.is_genuine else {"executed": False}
        if stamp.get("action") == "replace" or "review" in stamp:
            return stamp, None  # settled: by the guard that executed the call, or by a person
        verdict = stamp.get("verdict")
        unseen = stamp.get("executed") is False and verdict != "unjudged"
        if status not in (ReceiptStatus.EXECUTED, ReceiptStatus.MISSING) or (unseen and self.require_receipts):
            return self._refused(answer, stamp, ReceiptStatus.MISSING if status.is_genuine else status)
        if verdict in ("accept", "flag", "block"):
            return self._of_another(answer, {**stamp, "action": self.guard.action_on(verdict)})
        if verdict != "unjudged" and answer.message.status != "error":
            return self._judged(answer, stamp, session)
        described = Outcome(answer.tool, None, None, None, session, answer.call_id)
        outcome = self.guard.error_text(described, content_value(answer.message.content))
        judgement = None if outcome is None else self.guard.judge(outcome)
        stamp = {**stamp, **stamp_on_failure(judgement), **_named(answer)}
        return stamp, judgement.notice if judgement is not None and judgement.action == "replace" else None

    def _of_another(self, answer: ToolAnswer, stamp: dict[str, Any]) -> Found:
        """This guard's rules applied to another guard's verdict."""
        hazard, posterior = str(stamp.get("hazard") or stamp.get("reason")), float(stamp["posterior"])
        if stamp["action"] == "replace":
            stamp.pop("line", None)
            instead = instead_of_again(self.guard.engine.profile_of(answer.tool))
            return stamp, notice_of(blocked(answer.tool, hazard, posterior), int(stamp.get("asked", 0)), instead)
        if stamp["action"] == "annotate" and "line" not in stamp:
            stamp["line"] = flag_line(self.guard.flag_text, answer.tool, hazard, posterior)
        return stamp, None

    def _judged(self, answer: ToolAnswer, stamp: Mapping[str, Any], session: str | None) -> Found:
        value, took = content_value(answer.message.content), stamp.get("execution_time_ms")
        outcome = Outcome(answer.tool, answer.args, value, took, session, answer.call_id)
        judgement = self.guard.judge_with_artifact(outcome, answer.message.artifact)
        judged = {**stamp, **judgement.as_dict(), **_named(answer)}
        return judged, judgement.notice if judgement.action == "replace" else None

    def _refused(self, answer: ToolAnswer, stamp: Mapping[str, Any], status: ReceiptStatus) -> Found:
        reason = "it has no receipt" if receipt_of(answer.message) is None else f"its receipt says: {status.value}"
        action = self.guard.action_on("block")
        refused = {**stamp, "verdict": "block", "posterior": 1.0, "action": action, "fired": ["receipt"]}
        happened = f"The result of {answer.tool!r} was blocked: {reason}."
        notice = notice_of(happened) if action == "replace" else None
        return {**refused, "reason": reason, **_named(answer)}, notice

    def _shown(
        self, answer: ToolAnswer, stamp: Mapping[str, Any], notice: str | None, session: str | None
    ) -> ToolMessage:
        message = answer.message if notice is None else withheld(answer.message, notice)
        if notice is None:
            redact, of_artifact = (tuple(stamp.get(name, ())) for name in ("redacted", "redacted_artifact"))
            message = without_redacted(message, Judgement("pass", None, "", redact, redact_artifact=of_artifact))
        if stamp.get("action") == "annotate":
            message = message.model_copy(update={"content": lined(message.content, stamp["line"])})
        receipt = self.signer.read(stamp.get("receipt"))
        sealed = seal(
            stamp,
            message,
            self.signer,
            tool=answer.tool,
            args=answer.args,
            call_id=answer.call_id,
            session_id=session,
            issued_at=None if receipt is None else receipt.issued_at,
        )
        return stamped(message, sealed)


def _without_claims(answer: ToolAnswer) -> ToolAnswer:
    """The answer without the line of a verdict that nothing proves: it is judged, and shown, as if it had none."""
    line = (stamp_of(answer.message) or {}).get("line")
    if receipt_of(answer.message) is not None or not isinstance(line, str):
        return answer
    content = unlined(answer.message.content, line)
    return answer._replace(message=answer.message.model_copy(update={"content": content}))


def route_by_verdict(state: Any, messages_key: str = "messages") -> Literal["accept", "flag", "block"]:
    """The worst standing of the tool messages after the model's last message, for conditional edges.

    A result that a person approved, or gave, is accepted, and so is one without a verdict: what a guard flagged or
    blocked always carries its own, so nothing spoke against it, or no guard has judged it.
    """
    standings = {standing(answer.message) for answer in this_turn(messages_of(state, messages_key))}
    return "block" if "block" in standings else "flag" if "flag" in standings else "accept"


def _named(answer: ToolAnswer) -> dict[str, Any]:
    return {"tool": answer.tool, "call_id": answer.call_id}


# --- Wrappers and the tool node ---


OnError = Literal["open", "closed"]
ToolResult = ToolMessage | Command[Any]
Wrapper = Callable[[ToolCallRequest, Callable[[ToolCallRequest], ToolResult]], ToolResult]
AsyncWrapper = Callable[[ToolCallRequest, Callable[[ToolCallRequest], Awaitable[ToolResult]]], Awaitable[ToolResult]]


def guard_wrappers(
    guard: Guard | VerificationEngine,
    *,
    signer: ReceiptSigner | None = None,
    events: bool = False,
    **rules: Unpack[Rules],
) -> tuple[Wrapper, AsyncWrapper]:
    """``(wrap_tool_call, awrap_tool_call)`` for any ``ToolNode``; give it both.

    With one of them alone, a run of the other kind goes around the guard or waits for it. A wrapper cannot stop a run
    (what it raises becomes a message under ``handle_tool_errors``) nor ask a person (the tool would run again on
    resumption): ``GuardedToolNode`` and ``GuardNode`` can stop, ``ReviewNode`` asks.

    An accepted result, and one that is not judged, is handed on as it came. One that is flagged, blocked or redacted,
    or could not be verified, carries its verdict in ``response_metadata["agentguard"]``, which no model is sent.

    Args:
        guard: the guard, or an engine.
        rules: rules of the guard by name, see ``Guard``.
        signer: signs what the model is shown, such as ``receipt_signer()``: every result carries its verdict and a
            receipt then, for ``GuardNode`` and ``verify_transcript``. None: ``receipt_signer()`` signs only what is not
            accepted.
        events: emit each verdict as an event of ``stream_mode="custom"``.

    Raises:
        ConfigurationError: for a value that is not one of these.
    """
    calls = _calls(guard, signer, events, rules, on_block=["replace"])
    return calls.run, calls.arun


class GuardedToolNode(ToolNode):
    """A ``ToolNode`` whose results are verified.

    Args:
        tools: the tools to execute, as for ``ToolNode``.
        guard: the guard, or an engine. ``on_block="raise"`` raises ``ResultBlocked`` out of the node once all its
            calls are done, whatever ``handle_tool_errors`` says.
        signer, events: as for ``guard_wrappers``.
        wrap_tool_call, awrap_tool_call: wrappers of your own, as for ``ToolNode``. The guard is around them: it judges
            what the tool returned the last time that they called it, or what they answer in its place, blocks what
            they hand on, and makes a call again through them. With ``wrap_tool_call`` alone asynchronous runs go
            through it too, and wait for it, as in ``ToolNode``; with ``awrap_tool_call`` alone synchronous runs have
            no wrapper.
        node: the rules of the guard but ``tools``, and further arguments of ``ToolNode``: ``name``, ``tags``,
            ``handle_tool_errors``, ``messages_key``.

    Raises:
        ConfigurationError: for a value that is not one of these.
    """

    def __init__(
        self,
        tools: Sequence[BaseTool | Callable[..., Any]],
        guard: Guard | VerificationEngine,
        *,
        signer: ReceiptSigner | None = None,
        events: bool = False,
        wrap_tool_call: Wrapper | None = None,
        awrap_tool_call: AsyncWrapper | None = None,
        **node: Any,
    ) -> None:
        own: Any = {name: node.pop(name) for name in list(node) if name in Rules.__annotations__}
        calls = _calls(guard, signer, events, own)
        wrap, awrap = _around(calls, wrap_tool_call, awrap_tool_call)
        super().__init__(tools, wrap_tool_call=wrap, awrap_tool_call=awrap, **node)
        self._raises = calls.guard.on_block == "raise" and not calls.guard.shadow

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Execute the calls, verify the results."""
        return self._unless_blocked(super().invoke(input, config, **kwargs))

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Execute the calls, verify the results."""
        return self._unless_blocked(await super().ainvoke(input, config, **kwargs))

    def _unless_blocked(self, output: Any) -> Any:
        if self._raises and (error := blocked_in(tool_messages(output))) is not None:
            raise error
        return output


def _around(
    calls: GuardedCalls, inner: Wrapper | None, ainner: AsyncWrapper | None
) -> tuple[Wrapper, AsyncWrapper | None]:
    """The guard's wrappers around others; None for the one that the node is to do without, by taking the other."""
    if inner is None and ainner is None:
        return calls.run, calls.arun

    def wrap(request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolResult]) -> ToolResult:
        result: ToolResult = calls.run(request, handler if inner is None else lambda asked: inner(asked, handler))
        return result

    if ainner is None:
        return wrap, None  # only the node itself can hand an asynchronous run to a synchronous wrapper

    async def awrap(
        request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolResult]]
    ) -> ToolResult:
        result: ToolResult = await calls.arun(request, lambda asked: ainner(asked, handler))
        return result

    return wrap, awrap


def _calls(
    guard: Guard | VerificationEngine,
    signer: ReceiptSigner | None,
    events: bool,
    rules: Rules,
    on_block: Collection[OnBlock] = ("replace", "raise"),
) -> GuardedCalls:
    where = "a tool node: route_by_verdict leads to a ReviewNode or to END"
    return GuardedCalls(Guard.of(guard, where, rules, on_block=on_block), signer, events=events)
