"""LangChain: a middleware for ``create_agent`` that looks through what tools return and what the model answers."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Collection, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple

from agentguard.content._findings import KINDS, Kind
from agentguard.errors import ConfigurationError
from agentguard.integrations.apart import apart
from agentguard.integrations.content_blocks import ACTS, Act, Looked, legible, look, without
from agentguard.integrations.extras import needs
from agentguard.integrations.receipts import as_text

try:
    from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse
    from langchain_core.messages import ToolMessage
    from langgraph.prebuilt.tool_node import ToolCallRequest
    from langgraph.types import Command
except ImportError as error:
    raise needs("langchain", error) from error

from agentguard.integrations.content_records import OnFinding, Records, recorded
from agentguard.integrations.content_refusals import refusal_of
from agentguard.integrations.content_replies import Replies
from agentguard.integrations.messages import contents_of, rewritten, withheld

__all__ = ["ContentGuardMiddleware"]

RESULTS: Final[Mapping[Kind, Act]] = MappingProxyType({"injection": "block", "secrets": "redact", "pii": "redact"})
ANSWERS: Final[Mapping[Kind, Act]] = MappingProxyType({"secrets": "redact", "pii": "redact"})

_log = logging.getLogger("agentguard")


class _Look(NamedTuple):
    """The answer for one message, with its content redacted; or the error of a detector.

    ``error`` beside ``looked`` is that of whoever should have taken it out.
    """

    message: ToolMessage
    looked: Looked | None = None
    content: Any = None
    error: str = ""


NOTHING: Final[Mapping[int, _Look]] = MappingProxyType({})


class ContentGuardMiddleware(AgentMiddleware[AgentState[Any], Any, Any]):
    """Looks through tool results and answers, in ``create_agent(..., middleware=[..., ContentGuardMiddleware()])``.

    It needs no engine and learns nothing. List it after a ``ToolGuardMiddleware``: the engine then judges what the
    tool itself returned, and the receipt covers what the model is shown. Listed before it, results are changed after
    they were signed, which a check of the transcript rightly reports.

    Results and answers are changed before they come into the state, and so into a checkpoint. What was found stands in
    ``response_metadata["agentguard_content"]`` of the message, as kinds, numbers and places, never as content; it is
    an event of ``stream_mode="custom"`` too. What cannot be reached from here: the tokens of
    ``stream_mode="messages"``, which are out before an answer is complete; ``stream_mode="tools"``, callbacks and
    traces, which are told by tool and model themselves; artifacts, and what a ``Command`` writes to other keys.

    Text beside tool calls is treated as an answer; the calls stay as they are. A structured response is redacted where
    it is valid without what it holds. Where it is not, and where it is to be blocked, ``ResultBlocked`` ends the run.

    Args:
        content: what to do where a tool result holds ``injection``, ``secrets`` or ``pii``: ``flag`` it, ``redact``
            (placeholders take the place of what was found) or ``block`` (a notice takes the place of the result). A
            result that is too large to be looked through to its end is treated as one that holds it.
        tools: names of the tools whose results and arguments are looked at; None: all.
        answers: the same as ``content`` for the model's answers; None: they are not looked through.
        grounding: trace the values of a final answer to the tool results of the conversation, where there are any.
            ``flag`` records what no result supports; ``block`` asks the model once more, with a list of that, and
            flags what is unsupported still. Neither the first answer nor the list comes into the state.
        arguments: trace ids, addresses, dates and names among a call's arguments to what was said and returned.
            ``flag`` records what nobody said; ``block`` does not make the call and tells the model why, unless a person
            has edited it since (list the middleware that asks the person before this one).
        known: texts that values may come from, beside the conversation and the system prompt.
        now: the time by which a user's "tomorrow" is read.
        on_finding: is given each record, as the events are; what it raises is logged and changes nothing.
        on_guard_error: when a detector fails: ``open`` hands on, ``closed`` withholds what could not be looked through,
            also where it is too large for that. What is found and cannot be taken out is withheld in any case.
        shadow: look and tell, change nothing.

    Raises:
        ConfigurationError: for a value that is not one of these.
    """

    def __init__(
        self,
        content: Mapping[Kind, Act] = RESULTS,
        *,
        tools: Collection[str] | None = None,
        answers: Mapping[Kind, Act] | None = ANSWERS,
        grounding: Literal["flag", "block"] | None = None,
        arguments: Literal["flag", "block"] | None = None,
        known: Collection[str] = (),
        now: Callable[[], datetime] = datetime.now,
        on_finding: OnFinding | None = None,
        on_guard_error: Literal["open", "closed"] = "open",
        shadow: bool = False,
    ) -> None:
        super().__init__()
        for name, value, allowed in (
            ("grounding", grounding, (None, "flag", "block")),
            ("arguments", arguments, (None, "flag", "block")),
            ("on_guard_error", on_guard_error, ("open", "closed")),
        ):
            if value not in allowed:
                raise ConfigurationError(f"{name} must be one of {', '.join(map(repr, allowed))}, not {value!r}")
        for name, texts in (("tools", tools), ("known", known)):
            if isinstance(texts, str):
                raise ConfigurationError(f"{name} must be a collection of texts, not the text {texts!r}")
        self._content = _acts("content", content)
        self._tools = None if tools is None else frozenset(tools)
        self._closed, self._shadow = on_guard_error == "closed", shadow
        self._known, self._records = tuple(known), Records(on_finding)
        self._replies = Replies(
            _acts("answers", answers or {}), grounding, arguments, self._known, now,
            covers=self._covers, closed=self._closed, shadow=shadow, records=self._records,
        )  # fmt: skip

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]]
    ) -> ToolMessage | Command[Any]:
        """Run the call and look through what it returns."""
        refusal = refusal_of(request, self._known)
        settled: ToolMessage | Command[Any] = refusal or self._settled(request, handler(request))
        return settled

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]]
    ) -> ToolMessage | Command[Any]:
        """``wrap_tool_call`` for asynchronous runs."""
        refusal = refusal_of(request, self._known)
        if refusal is not None:
            return refusal
        result = await handler(request)
        # A large result is looked through in a thread; what is found is told here, and its callbacks run here.
        looks = await apart(self._looks, request, result, about=contents_of(result))
        settled: ToolMessage | Command[Any] = self._settled(request, result, looks)
        return settled

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Look through the model's reply, and ask for another where the policy says so."""
        reply = self._replies.settled(request, handler(request))
        if reply.again is not None:
            reply = self._replies.settled(request, handler(reply.again), second=True)
        return reply.response

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """``wrap_model_call`` for asynchronous runs."""
        reply = self._replies.settled(request, await handler(request))
        if reply.again is not None:
            reply = self._replies.settled(request, await handler(reply.again), second=True)
        return reply.response

    def _covers(self, tool: str) -> bool:
        return self._tools is None or tool in self._tools

    def _looks(self, request: ToolCallRequest, result: Any) -> dict[int, _Look]:
        """Look each message through; the answers by the message's ``id``."""
        found: dict[int, _Look] = {}

        def look_at(message: ToolMessage) -> ToolMessage:
            if self._content and self._covers(_tool_of(message, request)):
                found[id(message)] = self._look(message)
            return message

        rewritten(result, look_at)
        return found

    def _look(self, message: ToolMessage) -> _Look:
        try:
            looked = look(legible(message.content), self._content, closed=self._closed)
        except Exception as error:
            return _Look(message, error=type(error).__name__)
        try:
            content = without(message.content, looked.redact, "redact") if looked.act == "redact" else None
        except Exception as error:
            return _Look(message, looked, error=type(error).__name__)
        return _Look(message, looked, content)

    def _settled(self, request: ToolCallRequest, result: Any, looks: Mapping[int, _Look] = NOTHING) -> Any:
        blocked: list[ToolMessage] = []

        def change(message: ToolMessage) -> ToolMessage:
            tool = _tool_of(message, request)
            if not self._content or not self._covers(tool):
                return message
            found = looks.get(id(message))
            if found is None or found.message is not message:  # made anew of a state's update
                found = self._look(message)
            shown, act = self._looked_through(message, found, tool, request.runtime)
            if act == "block" and message.tool_call_id == request.tool_call["id"]:
                blocked.append(shown)
            return shown

        made = rewritten(result, change)
        if self._shadow:
            return result
        # The other updates of a blocked command, and where it would go, are part of what is blocked.
        return blocked[0] if blocked else made

    def _looked_through(
        self, message: ToolMessage, found: _Look, tool: str, runtime: Any
    ) -> tuple[ToolMessage, Act | None]:
        looked, content = found.looked, found.content
        if looked is None:
            _log.error("looking through a result of %r failed: %s", tool, found.error)
            if not self._closed:
                return recorded(message, None), None
            return _notice(message, tool, "could not be looked through", {"error": found.error}), "block"
        if looked.act is None:
            return recorded(message, None), None
        act: Act = "block" if found.error else looked.act
        record = {"action": act, "found": looked.as_dict()}
        self._records.tell(runtime, {"where": "result", **record, "tool": tool, "call_id": message.tool_call_id})
        if found.error:
            _log.error("redacting a result of %r failed, it is withheld: %s", tool, found.error)
            return _notice(message, tool, f"{looked.reason}, and that could not be removed", record), "block"
        if act == "block":
            return _notice(message, tool, looked.reason, record), "block"
        shown = message if content is None else message.model_copy(update={"content": content})
        return recorded(shown, record), act


def _tool_of(message: ToolMessage, request: ToolCallRequest) -> str:
    return as_text(message.name) or as_text(request.tool_call["name"])


def _notice(message: ToolMessage, tool: str, why: str, record: Mapping[str, Any]) -> ToolMessage:
    notice = (
        f"The result of {tool!r} was withheld: it {why}. Do not guess what it says; use another source, or say that it "
        "is missing."
    )
    return recorded(withheld(message, notice), {"action": "block", **record})


def _acts(name: str, given: Mapping[Kind, Act]) -> dict[Kind, Act]:
    for kind, act in given.items():
        if kind not in KINDS or act not in ACTS:
            raise ConfigurationError(
                f"{name} must map {', '.join(KINDS)} to {', '.join(ACTS)}; {kind!r}: {act!r} does not"
            )
    return dict(given)
