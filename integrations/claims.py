"""LangChain: a middleware for ``create_agent`` that holds what the model says it did against the calls it made."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from agentguard.errors import AnswerUnsupported, ConfigurationError
from agentguard.integrations._extras import needs

try:
    from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse
    from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
    from langgraph.runtime import Runtime
except ImportError as error:
    raise needs("langchain", error) from error

from agentguard.content.actions import ActionClaim, ActionsResult, Tool
from agentguard.guard._guard import apart
from agentguard.guard._wording import lined
from agentguard.integrations._messages import messages_of, text_in_place
from agentguard.integrations.content import UNSUPPORTED_CLAIMS, Conversation, OnFinding, Records, record_of, recorded
from agentguard.integrations.review import Question, decisions_on
from agentguard.traces._formats import tools_in
from agentguard.verification.profile import ProfileIndex, ToolProfile, profiles_in

if TYPE_CHECKING:
    from os import PathLike

__all__ = ["ClaimGuardMiddleware"]

OnUnsupported = Literal["annotate", "correct", "review", "raise"]
ACTIONS: Final[tuple[OnUnsupported, ...]] = ("annotate", "correct", "review", "raise")
#: So many of the claims are named, to a reader and to the model.
MOST_NAMED: Final = 10
WITHHELD: Final = "This answer was withheld: it could not be held against the calls that were made."

_log = logging.getLogger("agentguard")


class _Held(NamedTuple):
    """An answer held against the calls; ``error`` where that failed."""

    result: ActionsResult | None
    error: str = ""


class _Reply(NamedTuple):
    """A reply as it may be handed on; or the request by which the model is asked once more instead."""

    response: ModelResponse[Any]
    again: ModelRequest[Any] | None = None


class ClaimGuardMiddleware(AgentMiddleware[AgentState[Any], Any, Any]):
    """Holds final answers against the calls, in ``create_agent(..., middleware=[..., ClaimGuardMiddleware()])``.

    "I ran the tests and pushed the branch" is two claims. Where one is contradicted by what its call returned, or no
    call did it, the answer is unsupported. Text beside tool calls is no answer. The calls are those of the messages in
    the state; what tools can do is read from the request's tools, and from the ``does`` of profiles.

    What is unsupported stands in ``response_metadata["agentguard_content"]["claims"]`` of the message as verdicts and
    places, never as words; it is an event of ``stream_mode="custom"`` too. It needs no engine and asks no model but in
    ``correct``. List it after a ``ContentGuardMiddleware``: places are then those of the answer as the model gave it.
    Both together ask the model once more at most.

    Args:
        on_unsupported: ``annotate`` adds a line after the answer that names the claims; ``correct`` asks the model once
            more, with a list of them, and annotates what is unsupported still: neither the first answer nor the list
            comes into the state. ``review`` asks a person by an interrupt (as ``ReviewNode``; needs a checkpointer) to
            approve, reject or replace the answer. ``raise`` raises ``AnswerUnsupported`` out of the run.
        profiles: tool profiles whose ``does`` says what a tool does: a folder or file, or profiles.
        known: texts that were given beside the conversation and the system prompt.
        on_finding: is given each record, as the events are; what it raises is logged and changes nothing.
        on_guard_error: when an answer cannot be read: ``open`` hands it on, ``closed`` withholds it.
        shadow: look and tell, change nothing.

    Raises:
        ConfigurationError, ProfileError: for a value that is not one of these.
    """

    def __init__(
        self,
        on_unsupported: OnUnsupported = "annotate",
        *,
        profiles: str | PathLike[str] | Iterable[ToolProfile] | None = None,
        known: Collection[str] = (),
        on_finding: OnFinding | None = None,
        on_guard_error: Literal["open", "closed"] = "open",
        shadow: bool = False,
    ) -> None:
        super().__init__()
        for name, value, allowed in (
            ("on_unsupported", on_unsupported, ACTIONS),
            ("on_guard_error", on_guard_error, ("open", "closed")),
        ):
            if value not in allowed:
                raise ConfigurationError(f"{name} must be one of {', '.join(map(repr, allowed))}, not {value!r}")
        if isinstance(known, str):
            raise ConfigurationError(f"known must be a collection of texts, not the text {known!r}")
        self._on_unsupported = on_unsupported
        self._profiles = ProfileIndex(profiles_in(profiles))
        self._known, self._records = tuple(known), Records(on_finding)
        self._closed, self._shadow = on_guard_error == "closed", shadow

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Hold the model's answer against the calls, and ask for another where the policy says so."""
        response = handler(request)
        reply = self._settled(request, response, self._held(request, response))
        if reply.again is not None:
            response = handler(reply.again)
            reply = self._settled(request, response, self._held(request, response), second=True)
        return reply.response

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """``wrap_model_call`` for asynchronous runs; much is read in a thread."""
        response = await handler(request)
        about = [message.content for message in request.messages]
        reply = self._settled(request, response, await apart(self._held, request, response, about=about))
        if reply.again is not None:
            response = await handler(reply.again)
            held = await apart(self._held, request, response, about=about)
            reply = self._settled(request, response, held, second=True)
        return reply.response

    def after_model(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Ask a person about an answer, where the policy says so."""
        messages = messages_of(state, "messages")
        message = messages[-1] if messages else None
        record = record_of(message).get("claims")
        if self._on_unsupported != "review" or self._shadow or not isinstance(message, AIMessage):
            return None
        if not isinstance(record, Mapping) or record.get("action") != "review":
            return None
        question = Question("answer", {}, _question(message, record))
        (decision,) = decisions_on([question], "answer")
        return {"messages": [_decided(message, record, decision)]}

    async def aafter_model(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:
        """``after_model`` for asynchronous runs."""
        return self.after_model(state, runtime)

    def _held(self, request: ModelRequest[Any], response: ModelResponse[Any]) -> dict[int, _Held]:
        """Hold each final answer of a reply against the calls; by the message's ``id``."""
        conversation = Conversation.before(request, self._known)
        held = {}
        for message in response.result:
            if isinstance(message, AIMessage) and not message.tool_calls:
                try:
                    held[id(message)] = _Held(conversation.claims(message, self._tools(request.tools)))
                except Exception as error:
                    held[id(message)] = _Held(None, type(error).__name__)
        return held

    def _tools(self, tools: Sequence[Any]) -> Iterator[Tool]:
        for each in tools:
            if isinstance(each, Mapping):
                for offered in tools_in([each]):
                    yield Tool(offered.name, offered.description, offered.arguments, self._does(offered.name))
            else:
                arguments = getattr(each, "args", None)
                named = tuple(map(str, arguments)) if isinstance(arguments, Mapping) else ()
                yield Tool(each.name, each.description, named, self._does(each.name))

    def _does(self, tool: str) -> tuple[str, ...]:
        profile = self._profiles.find(tool)
        return () if profile is None else profile.does

    def _settled(
        self,
        request: ModelRequest[Any],
        response: ModelResponse[Any],
        held: Mapping[int, _Held],
        *,
        second: bool = False,
    ) -> _Reply:
        """The reply as it may be handed on.

        Raises:
            AnswerUnsupported: where the policy says so.
        """
        asked_again = any("asked_again" in record_of(message) for message in response.result)
        asked_again = asked_again or Conversation.before(request, self._known).asked_again
        may_ask = self._on_unsupported == "correct" and not (second or self._shadow or asked_again)
        shown: list[BaseMessage] = []
        for message in response.result:
            if not isinstance(message, AIMessage):
                shown.append(message)
                continue
            made, record = self._answer(message, held.get(id(message)), may_ask=may_ask)
            if record:
                self._records.tell(request.runtime, {"where": "claims", **record})
            if record.get("action") == "ask again":
                result = held[id(message)].result
                correction = HumanMessage(_correction(() if result is None else result.unsupported))
                return _Reply(response, request.override(messages=[*request.messages, message, correction]))
            known = {**record_of(message), **({"claims": record} if record else {})}
            if second:
                known["asked_again"] = True
            shown.append(recorded(made, known) if known else made)
        return _Reply(response if self._shadow else replace(response, result=shown))

    def _answer(self, message: AIMessage, held: _Held | None, *, may_ask: bool) -> tuple[AIMessage, dict[str, Any]]:
        """A message as it may be shown, and the record of it."""
        if held is None:
            return message, {}
        if held.result is None:
            _log.error("holding an answer against its calls failed: %s", held.error)
            if not self._closed or self._shadow:
                return message, {}
            content = text_in_place(message.content, WITHHELD, whole=True)
            return message.model_copy(update={"content": content}), {"action": "block", "error": held.error}
        unsupported = held.result.unsupported
        if not unsupported:
            return message, {}
        action = self._on_unsupported
        places = [{"verdict": claim.verdict, "start": claim.start, "end": claim.end} for claim in unsupported]
        if may_ask:
            return message, {"action": "ask again", "unsupported": places}
        if action == "raise" and not self._shadow:
            raise AnswerUnsupported([(claim.text, claim.reason) for claim in unsupported])
        if action == "correct":
            action = "annotate"
        if action == "annotate":
            message = message.model_copy(update={"content": lined(message.content, _line(unsupported))})
        return message, {"action": action, "unsupported": places}


def _line(unsupported: Sequence[ActionClaim]) -> str:
    """The line after an answer, which names the claims."""
    named = "; ".join(f"“{claim.text}” ({claim.verdict})" for claim in unsupported[:MOST_NAMED])
    more = f"; and {len(unsupported) - MOST_NAMED} more" if len(unsupported) > MOST_NAMED else ""
    return f"{UNSUPPORTED_CLAIMS}{named}{more}]"


def _correction(unsupported: Sequence[ActionClaim]) -> str:
    listed = "\n".join(f"- “{claim.text}”: {claim.reason}" for claim in unsupported[:MOST_NAMED])
    more = f"\n- and {len(unsupported) - MOST_NAMED} more" if len(unsupported) > MOST_NAMED else ""
    return (
        f"Your answer says that these things were done, and no call of this conversation did them:\n{listed}{more}\n"
        "Do what is missing, or answer again, in full, and say what was done, what failed, and what was not done."
    )


def _question(message: AIMessage, record: Mapping[str, Any]) -> str:
    text = message.text
    claims = [
        f"- “{text[place['start'] : place['end']]}” ({place['verdict']})" for place in record.get("unsupported", ())
    ]
    return "\n".join(["Is this answer to be shown? No call supports these claims of it:", *claims, "", text])


def _decided(message: AIMessage, record: Mapping[str, Any], decision: Mapping[str, Any]) -> AIMessage:
    kind, comment = decision["type"], decision.get("message")
    decided = {**record, "action": "block" if kind == "reject" else "pass", "review": kind}
    if kind == "respond":
        message = message.model_copy(update={"content": comment})
    elif kind == "reject":
        reason = f": {comment}" if comment else "."
        message = message.model_copy(update={"content": f"A reviewer rejected this answer{reason}"})
    return recorded(message, {**record_of(message), "claims": decided})
