"""What becomes of a model's reply: its answer looked through and traced to tool results, its calls' arguments too."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, Literal, NamedTuple, TypeVar

from agentguard.content._findings import Finding, Kind
from agentguard.content._results import redacted
from agentguard.errors import ResultBlocked
from agentguard.integrations.content_blocks import Act, legible, look, text_in_place, without
from agentguard.integrations.content_conversation import Conversation
from agentguard.integrations.content_records import Records, recorded
from agentguard.integrations.content_refusals import digest_of, path_of
from agentguard.integrations.extras import needs
from agentguard.integrations.receipts import as_text
from agentguard.verification.canonical import made_plain

try:
    from langchain.agents.middleware import ModelRequest, ModelResponse
    from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolCall, ToolMessage
    from pydantic import BaseModel
except ImportError as error:
    raise needs("langchain", error) from error

__all__ = ["Replies", "Reply"]

#: So many of the values that nothing supports are listed for the model.
MOST_LISTED: Final = 10

Message = TypeVar("Message", bound=BaseMessage)
_log = logging.getLogger("agentguard")


class Reply(NamedTuple):
    """A reply as it may be handed on; or the request by which the model is asked once more instead."""

    response: ModelResponse[Any]
    again: ModelRequest[Any] | None = None


class Answer(NamedTuple):
    """A message of the model as it may be shown, what is recorded of it, and what of it no tool result supports."""

    message: AIMessage
    record: dict[str, Any]
    unsupported: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class Replies:
    """Settles replies by a policy.

    Attributes:
        answers: what to do where an answer holds content of a kind.
        grounding: what to do where an answer states what no result supports.
        arguments: what to do where a call's arguments name what nobody said.
        known: texts that values may come from, beside the conversation.
        now: the time by which "tomorrow" is read.
        covers: whether the arguments of a tool are looked at.
        closed: withhold what could not be looked through.
        shadow: tell of findings, change nothing.
        records: is told of findings.
    """

    answers: Mapping[Kind, Act]
    grounding: Literal["flag", "block"] | None
    arguments: Literal["flag", "block"] | None
    known: Sequence[str]
    now: Callable[[], datetime]
    covers: Callable[[str], bool]
    closed: bool
    shadow: bool
    records: Records

    def settled(self, request: ModelRequest[Any], response: ModelResponse[Any], *, second: bool = False) -> Reply:
        """The reply as it may be handed on.

        Args:
            request: what the model was asked.
            response: what it replied.
            second: it was asked once more already.

        Raises:
            ResultBlocked: for a structured response that nothing can stand in the place of.
        """
        conversation = Conversation.before(request, self.known)
        may_ask = self.grounding == "block" and not (second or self.shadow or conversation.asked_again)
        structured = self._structured(response.structured_response, request)
        answered = {message.tool_call_id for message in response.result if isinstance(message, ToolMessage)}
        shown: list[BaseMessage] = []
        for message in response.result:
            if not isinstance(message, AIMessage):
                shown.append(message)
                continue
            made, record, unsupported = self._answer(message, conversation)
            if unsupported and may_ask:
                self.records.tell(request.runtime, {"where": "answer", **record, "action": "ask again"})
                correction = HumanMessage(_correction(unsupported))
                return Reply(response, request.override(messages=[*request.messages, message, correction]))
            if record:
                self.records.tell(request.runtime, {"where": "answer", **record})
            pending = [call for call in message.tool_calls if call["id"] not in answered]
            doubts = self._doubts(pending, conversation, request)
            if doubts:
                record = {"action": self.arguments, **record, "arguments": doubts}
            if second:
                record = {"action": "pass", **record, "asked_again": True}
            shown.append(recorded(made, record) if record else made)
        if self.shadow:
            return Reply(response)
        if structured is not response.structured_response:
            shown = [self._repeating(message) for message in shown]
        return Reply(replace(response, result=shown, structured_response=structured))

    def _answer(self, message: AIMessage, conversation: Conversation) -> Answer:
        final, content = not message.tool_calls, message.content
        unsupported: tuple[Finding, ...] = ()
        try:
            looked = look(legible(content, only_text=not final), self.answers, closed=self.closed)
            act = looked.act
            if act == "redact":
                try:
                    content = without(content, looked.redact, "drop" if final else "keep")
                except Exception as error:
                    _log.error("redacting an answer failed, it is withheld: %s", type(error).__name__)
                    act = "block"
            if act == "block":
                content = text_in_place(content, f"This answer was withheld: it {looked.reason}.", whole=final)
            if self.grounding and final and act != "block":
                unsupported = conversation.unsupported(message.text)
        except Exception as error:
            _log.error("looking through an answer failed: %s", type(error).__name__)
            if not self.closed:
                return Answer(message, {}, ())
            content = text_in_place(content, "This answer was withheld: it could not be looked through.", whole=final)
            return Answer(_saying(message, content), {"action": "block", "error": type(error).__name__}, ())
        record: dict[str, Any] = {} if act is None else {"action": act, "found": looked.as_dict()}
        if unsupported:
            as_it_was = content is message.content  # else the places are those of a text that is gone
            told = [
                {"kind": each.kind, **({"start": each.start, "end": each.end} if as_it_was else {})}
                for each in unsupported
            ]
            record = {"action": "flag", **record, "unsupported": told}
        return Answer(message if content is message.content else _saying(message, content), record, unsupported)

    def _doubts(
        self, calls: Sequence[ToolCall], conversation: Conversation, request: ModelRequest[Any]
    ) -> list[dict[str, Any]]:
        """The records of calls whose arguments name what nobody said."""
        found: list[dict[str, Any]] = []
        for call in calls if self.arguments else ():
            tool = as_text(call["name"])
            if not self.covers(tool):
                continue
            record: dict[str, Any] = {"action": self.arguments, "tool": tool, "call_id": as_text(call["id"])}
            try:
                invented = conversation.invented(tool, call["args"], self.now())
            except Exception as error:
                _log.error("tracing the arguments of a call of %r failed: %s", tool, type(error).__name__)
                if not self.closed:
                    continue
                record["error"] = type(error).__name__
            else:
                if not invented:
                    continue
                record["invented"] = [path_of(each) for each in invented]
            self.records.tell(request.runtime, {"where": "arguments", **record})
            found.append({**record, "digest": digest_of(call["args"])} if self.arguments == "block" else record)
        return found

    def _structured(self, response: Any, request: ModelRequest[Any]) -> Any:
        if response is None or not self.answers:
            return response
        try:
            made, cut = made_plain(response)
            looked = look(made, self.answers, unread=cut, closed=self.closed)
        except Exception as error:
            _log.error("looking through a structured response failed: %s", type(error).__name__)
            if self.closed and not self.shadow:
                raise ResultBlocked("structured response", 1.0, "it could not be looked through") from None
            return response
        if looked.act is None:
            return response
        record = {"where": "structured response", "action": looked.act, "found": looked.as_dict()}
        self.records.tell(request.runtime, record)
        if self.shadow or looked.act == "flag":
            return response
        if looked.act == "redact":
            try:
                return _rebuilt(response, looked.redact)
            except Exception as error:  # of the type's own validation, too
                _log.error("a structured response is not valid without what it holds: %s", type(error).__name__)
        raise ResultBlocked("structured response", 1.0, f"it {looked.reason}")

    def _repeating(self, message: BaseMessage) -> BaseMessage:
        """A message that repeats a structured response which was redacted: as content, or as a call's arguments."""
        kinds = tuple(kind for kind, act in self.answers.items() if act == "redact")
        made = _saying(message, without(message.content, kinds, "drop"))
        if not isinstance(made, AIMessage):
            return made
        calls = [{**call, "args": redacted(call["args"], kinds)} for call in made.tool_calls]
        return made.model_copy(update={"tool_calls": calls, "additional_kwargs": {}})


def _saying(message: Message, content: Any) -> Message:
    """The message with other content, and without what repeats the old: fields of its provider, probabilities."""
    metadata = {key: value for key, value in message.response_metadata.items() if key != "logprobs"}
    kept = message.additional_kwargs if getattr(message, "tool_calls", None) else {}
    return message.model_copy(update={"content": content, "response_metadata": metadata, "additional_kwargs": kept})


def _rebuilt(response: Any, kinds: Sequence[Kind]) -> Any:
    if isinstance(response, BaseModel):
        return type(response).model_validate(redacted(response.model_dump(mode="json", by_alias=True), kinds))
    if isinstance(response, dict):
        return redacted(response, kinds)
    raise TypeError(f"a {type(response).__name__} cannot be made again from its fields")


def _correction(unsupported: Sequence[Finding]) -> str:
    listed = "\n".join(f"- {each.detail}" for each in unsupported[:MOST_LISTED])
    more = f"\n- and {len(unsupported) - MOST_LISTED} more" if len(unsupported) > MOST_LISTED else ""
    return (
        f"No tool result supports these parts of your answer:\n{listed}{more}\nAnswer again, in full, with what the "
        "tool results say; leave out what they do not say, or say that it is not known."
    )
