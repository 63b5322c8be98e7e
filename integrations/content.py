"""LangChain: a middleware for ``create_agent`` that looks through what tools return and what the model answers."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple, TypeVar

from agentguard.errors import ConfigurationError, ResultBlocked
from agentguard.integrations._extras import needs

try:
    from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse
    from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolCall, ToolMessage
    from langgraph.prebuilt.tool_node import ToolCallRequest
    from langgraph.types import Command
    from pydantic import BaseModel
except ImportError as error:
    raise needs("langchain", error) from error

from agentguard.content._findings import KINDS, Finding, Kind
from agentguard.content._results import redacted
from agentguard.content.actions import ActionsResult, Call, Tool
from agentguard.content.actions import check as check_actions
from agentguard.content.grounding import check, check_arguments
from agentguard.guard._guard import apart
from agentguard.integrations._messages import (
    ACTS,
    Act,
    Looked,
    content_value,
    legible,
    look,
    messages_of,
    readable,
    rewritten,
    text_in_place,
    tool_messages,
    withheld,
    without,
)
from agentguard.integrations.receipts import as_text, stamp_of, tool_answers
from agentguard.verification._canonical import args_key, made_plain

__all__ = ["ContentGuardMiddleware"]

# --- Records of findings, which hold no content ---


#: Where a message keeps its record: ``response_metadata["agentguard_content"]``, which no model is sent.
STAMP: Final = "agentguard_content"
#: The ``type`` of the custom stream event that each record is.
EVENT: Final = "agentguard.content"

#: The beginning of the line by which a ``ClaimGuardMiddleware`` names claims after an answer; it is none of the answer.
UNSUPPORTED_CLAIMS: Final = "[agentguard: no call supports "

OnFinding = Callable[[dict[str, Any]], object]
Message = TypeVar("Message", bound=BaseMessage)

_log = logging.getLogger("agentguard")


class Records:
    """Tells of findings.

    Args:
        on_finding: is given each record; what it raises is logged.
    """

    def __init__(self, on_finding: OnFinding | None) -> None:
        self._on_finding = on_finding

    def tell(self, runtime: Any, record: Mapping[str, Any]) -> None:
        """Emit a record into the custom stream, where there is one, and hand it to who asked for it."""
        writer = getattr(runtime, "stream_writer", None)
        if writer is not None:
            writer({"type": EVENT, **record})
        if self._on_finding is None:
            return
        try:
            self._on_finding(dict(record))
        except Exception as error:
            _log.error("on_finding failed: %s", type(error).__name__)


def recorded(message: Message, record: Mapping[str, Any] | None) -> Message:
    """The message with this record, and without any other: what a tool claims about itself is none."""
    if record is None and STAMP not in message.response_metadata:
        return message
    metadata = {key: value for key, value in message.response_metadata.items() if key != STAMP}
    if record is not None:
        metadata[STAMP] = dict(record)
    return message.model_copy(update={"response_metadata": metadata})


def record_of(message: Any) -> Mapping[str, Any]:
    """The record that a message carries; empty where it has none."""
    record = getattr(message, "response_metadata", {}).get(STAMP)
    return record if isinstance(record, Mapping) else {}


# --- What a reply is traced to ---


MAX_SCHEMA_DEPTH: Final = 30


class Conversation:
    """The messages and tool results of a conversation so far.

    Args:
        messages: of the conversation.
        given: texts that values may come from, beside them: the system prompt, what the application knows.
        tools: those that can be called; what their schemas name is known.

    Attributes:
        asked_again: the model was asked once more already since the user last spoke.
    """

    def __init__(self, messages: Sequence[Any], given: Sequence[str], tools: Iterable[Any] = ()) -> None:
        self._messages, self._given = messages, given
        self._tools = {tool.name: tool for tool in tools if hasattr(tool, "name")}
        spoken = (index for index, message in enumerate(messages) if isinstance(message, HumanMessage))
        self._turn = max(spoken, default=0)
        self.asked_again = any("asked_again" in record_of(message) for message in messages[self._turn :])

    @classmethod
    def before(cls, request: ModelRequest[Any], known: Sequence[str]) -> Conversation:
        """The conversation before the model's reply to a request.

        What a middleware further out cleared for the model stays a source; what it added is one too.
        """
        state = messages_of(request.state, "messages")
        held = {id(message) for message in state}
        system = [] if request.system_message is None else [request.system_message.text]
        messages = [*state, *(message for message in request.messages if id(message) not in held)]
        return cls(messages, [*known, *system], request.tools)

    def unsupported(self, answer: str) -> tuple[Finding, ...]:
        """The parts of an answer that no tool result supports; none where no tool has answered."""
        results = [message for message in self._messages if isinstance(message, ToolMessage)]
        if not results:
            return ()
        questions = [message.text for message in self._messages if isinstance(message, HumanMessage)]
        return check(answer, _values(results), question="\n".join([*self._given, *questions])).findings

    def claims(self, message: AIMessage, tools: Iterable[Tool]) -> ActionsResult:
        """The claims of action of an answer, held against the calls of the conversation up to it."""
        made = calls_made([*self._messages, message])
        questions = [each.text for each in self._messages if isinstance(each, HumanMessage)]
        return check_actions(message.text, made, tools, question="\n".join(questions) or None, given=self._given)

    def invented(self, tool: str, args: Mapping[str, Any], now: datetime | None) -> tuple[Finding, ...]:
        """The arguments of a call that name what nobody said.

        A failed call echoes what it was given, so it is no source. What the model said is one once the user has read
        it and gone on.
        """
        results = [each for each in self._messages if isinstance(each, ToolMessage) and each.status != "error"]
        spoken_texts = [
            message.text
            for index, message in enumerate(self._messages)
            if isinstance(message, HumanMessage) or (isinstance(message, AIMessage) and index < self._turn)
        ]
        choices = [*self._given, *_choices(self._tools.get(tool))]
        return check_arguments(args, spoken_texts, _values(results), now=now, known=choices).findings


def calls_made(messages: Sequence[Any]) -> list[Call]:
    """The calls of a conversation with what they returned, those that a provider made itself among them.

    A result that was withheld is not known; a call that was refused has failed.
    """
    answers = {answer.position: answer for answer in tool_answers(messages)}
    made: list[Call] = []
    for position, message in enumerate(messages):
        if isinstance(message, AIMessage) and isinstance(message.content, list):
            made += _provider_calls(message)
        elif isinstance(message, ToolMessage) and position in answers:
            answer, failed = answers[position], message.status == "error"
            if failed and (record_of(message).get("found") or (stamp_of(message) or {}).get("action") == "replace"):
                made.append(Call(answer.tool, answer.args))
            else:
                made.append(Call(answer.tool, answer.args, readable(content_value(message.content)), failed))
    return made


def _provider_calls(message: AIMessage) -> Iterator[Call]:
    blocks: list[Mapping[str, Any]] = [block for block in message.content_blocks if isinstance(block, Mapping)]
    results = {block.get("tool_call_id"): block for block in blocks if block.get("type") == "server_tool_result"}
    for block in blocks:
        if block.get("type") == "server_tool_call":
            result = results.get(block.get("id"), {})
            failed = result.get("status") == "error"
            yield Call(as_text(block.get("name")), block.get("args"), readable(result.get("output")), failed)


def _values(messages: Sequence[ToolMessage]) -> list[Any]:
    return [readable(content_value(message.content)) for message in messages]


def _choices(tool: Any) -> Iterator[str]:
    """The values that a tool's own schema names: members of enumerations, constants, defaults."""
    schema = getattr(tool, "tool_call_schema", None)
    if schema is not None and not isinstance(schema, dict):
        schema = schema.model_json_schema()
    yield from _named(schema, 0)


def _named(schema: Any, depth: int) -> Iterator[str]:
    if depth > MAX_SCHEMA_DEPTH or not isinstance(schema, (dict, list)):
        return
    if isinstance(schema, list):
        for item in schema:
            yield from _named(item, depth + 1)
        return
    for key, value in schema.items():
        if key in ("const", "default", "enum"):
            yield from (str(item) for item in (value if isinstance(value, list) else [value]))
        else:
            yield from _named(value, depth + 1)


# --- Calls refused for their arguments ---


#: So many of the arguments are explained to the model.
MOST_EXPLAINED: Final = 10


def refusal_of(request: ToolCallRequest, known: Sequence[str]) -> ToolMessage | None:
    """The message that answers a call in the tool's place; None where it may be made.

    The call must still be the one that was doubted: a person may have edited it since.
    """
    call_id, args = as_text(request.tool_call["id"]), request.tool_call["args"]
    messages = messages_of(request.state, "messages")
    doubt = next((each for each in _doubts(messages) if each.get("call_id") == call_id), None)
    if doubt is None or doubt.get("digest") != digest_of(args):
        return None
    tool = as_text(request.tool_call["name"])
    why = _reason(tool, args, doubt.get("invented"), Conversation(messages, known))
    notice = (
        f"The call of {tool!r} was not made: {why}. Take such values from the user or from tool results: look them up, "
        "or ask."
    )
    answer = ToolMessage(notice, tool_call_id=request.tool_call["id"], name=tool, status="error")
    return recorded(answer, {key: value for key, value in doubt.items() if key != "digest"})


def digest_of(args: Any) -> str:
    """128 bits that tell arguments apart."""
    return args_key(args).hex()


def path_of(finding: Finding) -> str:
    """The argument that a finding is about."""
    return finding.detail.partition(": ")[0]


def _doubts(messages: Sequence[Any]) -> Iterator[Mapping[str, Any]]:
    """The records of calls that are not to be made, the latest first."""
    for message in reversed(messages):
        doubts = record_of(message).get("arguments")
        for doubt in doubts if isinstance(doubts, list) else ():
            if isinstance(doubt, Mapping) and doubt.get("action") == "block":
                yield doubt


def _reason(tool: str, args: Any, paths: Any, conversation: Conversation) -> str:
    if not isinstance(paths, list):
        return "its arguments could not be traced"
    try:
        # Traced again for the words only, which records do not hold.
        details = [each.detail for each in conversation.invented(tool, args, None) if path_of(each) in paths]
    except Exception as error:
        _log.error("tracing the arguments of a call of %r failed: %s", tool, type(error).__name__)
        details = []
    return "; ".join(details[:MOST_EXPLAINED]) or f"nobody said what it names in {', '.join(map(str, paths))}"


# --- Replies of the model ---


#: So many of the values that nothing supports are listed for the model.
MOST_LISTED: Final = 10


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
        asked_again = second or conversation.asked_again or any("asked_again" in record_of(m) for m in response.result)
        may_ask = self.grounding == "block" and not (self.shadow or asked_again)
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
            # What a middleware further in has recorded of the answer stays.
            shown.append(recorded(made, {**record_of(message), **record}) if record else made)
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
                unsupported = conversation.unsupported(message.text.partition(UNSUPPORTED_CLAIMS)[0])
        except Exception as error:
            _log.error("looking through an answer failed: %s", type(error).__name__)
            if not self.closed:
                return Answer(message, {}, ())
            content = text_in_place(content, "This answer was withheld: it could not be looked through.", whole=final)
            return Answer(_saying(message, content), {"action": "block", "error": type(error).__name__}, ())
        record: dict[str, Any] = {} if act is None else {"action": act, "found": looked.as_dict()}
        if unsupported:
            as_it_was = content is message.content  # else the places are those of a text that is gone
            places = [
                {"kind": each.kind, **({"start": each.start, "end": each.end} if as_it_was else {})}
                for each in unsupported
            ]
            record = {"action": "flag", **record, "unsupported": places}
        return Answer(message if content is message.content else _saying(message, content), record, unsupported)

    def _doubts(
        self, calls: Sequence[ToolCall], conversation: Conversation, request: ModelRequest[Any]
    ) -> list[dict[str, Any]]:
        """The records of calls whose arguments name what nobody said."""
        doubts: list[dict[str, Any]] = []
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
            doubts.append({**record, "digest": digest_of(call["args"])} if self.arguments == "block" else record)
        return doubts

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


# --- The middleware ---


RESULTS: Final[Mapping[Kind, Act]] = MappingProxyType({"injection": "block", "secrets": "redact", "pii": "redact"})
ANSWERS: Final[Mapping[Kind, Act]] = MappingProxyType({"secrets": "redact", "pii": "redact"})


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
        looks = await apart(self._looks, request, result, about=[message.content for message in tool_messages(result)])
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
        if not self._content:
            return {}
        covered = [message for message in tool_messages(result) if self._covers(_tool_of(message, request))]
        return {id(message): self._look(message) for message in covered}

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
            looked = looks.get(id(message))
            if looked is None or looked.message is not message:  # made anew of a state's update
                looked = self._look(message)
            shown, act = self._looked_through(message, looked, tool, request.runtime)
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
