"""The texts of a message's content: what there is to look through, and the content without what was found."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, Final, Literal, NamedTuple, TypeVar

from agentguard.errors import ResultBlocked
from agentguard.integrations._extras import needs

try:
    from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage, convert_to_messages
    from langgraph.types import Command, Send
except ImportError as error:
    raise needs("langgraph", error) from error

from agentguard.content._findings import Kind
from agentguard.content._results import Found, found_in, redacted, unambiguous
from agentguard.guard import Judgement
from agentguard.integrations.receipts import STAMP, ToolAnswer, kind_of, stamp_of, tool_answers

#: What to do where content is found: say so, put placeholders in its place, or withhold the whole.
Act = Literal["flag", "redact", "block"]
ACTS: Final[tuple[Act, ...]] = ("flag", "redact", "block")  # the graver one last

_MEDIA: Final = frozenset({"audio", "document", "file", "image", "image_url", "input_audio", "media", "video"})
#: Parts of a block that say nothing to a reader, and that a provider wants back as they were.
_OPAQUE: Final = frozenset({"encrypted_content", "index", "signature", "type"})
#: They tell places of a text, which move with a change, and quote it.
_PLACED: Final = frozenset({"annotations", "citations"})


class Looked(NamedTuple):
    """The answer of a look through content: what was found, what was not looked at, and the action for each kind."""

    found: Mapping[Kind, Found]
    acts: Mapping[Kind, Act]

    @property
    def act(self) -> Act | None:
        """The gravest of what is to be done; None where nothing was found."""
        return max(self.acts.values(), key=ACTS.index, default=None)

    @property
    def redact(self) -> tuple[Kind, ...]:
        """The kinds to be taken out."""
        return tuple(kind for kind, act in self.acts.items() if act == "redact")

    @property
    def reason(self) -> str:
        """The answer in words that quote no content: "holds pii (email)"."""
        found = [f"{kind} ({', '.join(each.names)})" for kind, each in self.found.items() if each.findings]
        unread = {kind: each.unread for kind, each in self.found.items() if each.unread}
        parts = [f"holds {', '.join(found)}"] if found else []
        if unread:
            why = ", ".join(dict.fromkeys(unread.values()))
            parts.append(f"was not looked through for {', '.join(unread)} to its end ({why})")
        return " and ".join(parts)

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON that holds no content."""
        return {
            kind: {
                "action": self.acts[kind],
                "score": round(result.score, 6),
                "sure": result.sure,
                "findings": result.findings,
                "names": list(result.names),
                **({"more": True} if result.more else {}),
                **({"unread": result.unread} if result.unread else {}),
            }
            for kind, result in self.found.items()
        }


def look(value: Any, asked: Mapping[Kind, Act], *, unread: str = "", closed: bool = False) -> Looked:
    """Look a value made of JSON's types through for the kinds that something is asked about, in one pass.

    What is only suspicious is flagged where it would be blocked if it were sure. What could not be looked at is no
    better than what was found.

    Args:
        value: the value.
        asked: what to do about each kind.
        unread: what is missing from the value already, in words.
        closed: what could not be looked at is to be blocked, whatever is asked.
    """
    results = found_in(value, tuple(asked)) if asked else {}
    findings, acts = {}, {}
    for kind, act in asked.items():
        each = results[kind]._replace(unread=results[kind].unread or unread)
        if each.findings or each.unread:
            findings[kind] = each
            acts[kind] = act if each.sure else _milder(act)
        if each.unread:
            acts[kind] = "block" if closed else act
    return Looked(findings, acts)


def _milder(act: Act) -> Act:
    return "flag" if act == "block" else act


def readable(content: Any) -> Any:
    """A message's content for a reader of values: text that is JSON as what it says.

    >>> readable('{"to": "Ada"}'), readable("{not JSON}")
    ({'to': 'Ada'}, '{not JSON}')
    """
    if not isinstance(content, str) or content.lstrip()[:1] not in ("{", "["):
        return content
    try:
        return unambiguous(content)
    except (ValueError, RecursionError):
        return content


def legible(content: Any, *, only_text: bool = False) -> Any:
    """The readable values of a content, one a block; None for pictures and other media.

    Args:
        content: a text, or blocks.
        only_text: leave all blocks out that are no text.

    >>> legible([{"type": "text", "text": "a dot"}, {"type": "image", "data": "AA=="}, {"type": "row", "n": "one"}])
    ['a dot', None, {'n': 'one'}]
    """
    if isinstance(content, str) or not isinstance(content, Sequence):
        return readable(content)
    return [readable(_said(block, only_text)) for block in content]


def _said(block: Any, only_text: bool) -> Any:
    if not isinstance(block, Mapping):
        return block
    if _is_text(block):
        return block["text"]
    if only_text or str(block.get("type")) in _MEDIA:
        return None
    return {key: value for key, value in block.items() if key not in _OPAQUE}


def _is_text(block: Mapping[str, Any]) -> bool:
    return isinstance(block.get("text"), str)


def without(content: Any, kinds: Collection[Kind], others: Literal["redact", "drop", "keep"] = "redact") -> Any:
    """The content with placeholders for findings of these kinds, the same ones throughout.

    Args:
        content: a text, or blocks.
        kinds: what to take out.
        others: what to do with blocks that are no text and hold such a thing.

    Raises:
        TypeError: for what is not made of JSON's types.
    """
    if isinstance(content, str) or not isinstance(content, Sequence):
        return redacted(content, kinds)
    texts = [readable(_said(block, others == "keep")) for block in content]
    cleaned = redacted(texts, kinds)
    made: list[Any] = []
    for block, before, after in zip(content, texts, cleaned, strict=True):
        if before == after:
            made.append(block)
        elif not isinstance(block, Mapping):
            made.append(_written(block, after))
        elif _is_text(block):
            kept = {key: value for key, value in block.items() if key not in _PLACED}
            made.append({**kept, "text": _written(block["text"], after)})
        elif others == "redact":
            made.append({**{key: value for key, value in block.items() if key in _OPAQUE}, **after})
    return made


def _written(before: Any, after: Any) -> Any:
    """Serialise what was parsed from a text, so that it is a text again."""
    return json.dumps(after, ensure_ascii=False) if isinstance(before, str) and not isinstance(after, str) else after


def text_in_place(content: Any, notice: str, *, whole: bool) -> Any:
    """The notice in place of a content's text; ``whole``: of all that it holds, else the other blocks stay."""
    if whole or isinstance(content, str):
        return notice
    return [*(block for block in content if _said(block, True) is None), {"type": "text", "text": notice}]


# --- Verdicts on messages ---


Change = Callable[[ToolMessage], ToolMessage]
ChangeOther = Callable[[BaseMessage], BaseMessage]

#: Messages of a state update are at most this deep: in the update, under a key, in a list.
DEEPEST = 3
#: By which a message that is written as a dict or a pair is known.
_ROLES: Final = frozenset({"ai", "assistant", "developer", "function", "human", "system", "user"})
#: The key of a state that is a list of messages, in LangGraph too.
_ROOT: Final = "__root__"


def stamped(message: ToolMessage, stamp: Mapping[str, Any]) -> ToolMessage:
    """The message with a verdict, which the model is not shown."""
    return message.model_copy(update={"response_metadata": {**message.response_metadata, STAMP: dict(stamp)}})


def unstamped(message: ToolMessage) -> ToolMessage:
    """The message without a verdict: what a tool claims about itself is none."""
    if STAMP not in message.response_metadata:
        return message
    kept = {key: value for key, value in message.response_metadata.items() if key != STAMP}
    return message.model_copy(update={"response_metadata": kept})


def withheld(message: ToolMessage, notice: str) -> ToolMessage:
    """The notice in place of the result, for the same call: same ``id``, ``tool_call_id`` and ``name``.

    The artifact and all other fields that may hold the result are cleared.
    """
    empty: dict[str, Any] = {"artifact": None, "additional_kwargs": {}, "response_metadata": {}}
    return message.model_copy(update={"content": notice, "status": "error", **empty})


Message = TypeVar("Message", bound=BaseMessage)


def without_redacted(message: Message, judgement: Judgement) -> Message:
    """The message with placeholders for what the profiles of its content and its artifact have taken out of them."""
    change: dict[str, Any] = {}
    if judgement.redact:
        change["content"] = judgement.shown(message.content, without)
    if judgement.redact_artifact and isinstance(message, ToolMessage):
        change["artifact"] = judgement.shown_artifact(message.artifact)
    changed = any(value != getattr(message, name) for name, value in change.items())
    return message.model_copy(update=change) if changed else message


def standing(message: Any) -> Literal["accept", "flag", "block"]:
    """The standing of a tool message after rules and review.

    ``accept`` where it has no stamp: what is flagged or blocked always has one, so it was accepted, or is not guarded.
    """
    stamp = stamp_of(message)
    if stamp is None:
        return "accept"
    actions: dict[str, Literal["accept", "block"]] = {"replace": "block", "pass": "accept"}
    return actions.get(str(stamp.get("action")), "flag")


def messages_of(state: Any, key: str) -> Sequence[Any]:
    """The messages of a state, which is a dict or an object."""
    result = state.get(key) if isinstance(state, Mapping) else getattr(state, key, None)
    return result if isinstance(result, Sequence) else ()


def this_turn(messages: Sequence[Any]) -> list[ToolAnswer]:
    """The tool messages after the last message of the model."""
    last = max((index for index, message in enumerate(messages) if isinstance(message, AIMessage)), default=-1)
    answers = (answer for answer in tool_answers(messages) if answer.position > last)
    return [answer for answer in answers if isinstance(answer.message, ToolMessage)]


def blocked_in(messages: Sequence[Any]) -> ResultBlocked | None:
    """The exception for the first result that a guard has just blocked, for who is to stop because of it.

    None where a person has spoken since: a thread that was stopped can be gone on with.
    """
    turn = this_turn(messages)
    if not turn or any(isinstance(message, HumanMessage) for message in messages[turn[0].position :]):
        return None
    for answer in turn:
        stamp = stamp_of(answer.message) or {}
        if stamp.get("action") == "replace" and "review" not in stamp:
            posterior = stamp.get("posterior", 1.0)
            return ResultBlocked(answer.tool, float(posterior), str(stamp.get("reason", "")), answer.call_id)
    return None


def tool_message(result: Any, call_id: str) -> ToolMessage | None:
    """The message by which a tool's outcome answers its call; None where a command answers nothing."""
    if isinstance(result, ToolMessage):
        return result
    return next((message for message in tool_messages(result) if message.tool_call_id == call_id), None)


def tool_messages(result: Any) -> list[ToolMessage]:
    """The tool messages in what a tool or a tool node returned, in their order."""
    messages: list[ToolMessage] = []

    def note(message: ToolMessage) -> ToolMessage:
        messages.append(message)
        return message

    rewritten(result, note)
    return messages


def beside(result: Any, own: ToolMessage | None) -> list[BaseMessage]:
    """The messages in what a tool returned, but for the one that answers its call."""
    if result is own:
        return []  # nearly always
    others: list[BaseMessage] = []

    def note(message: Any) -> Any:
        others.append(message)
        return message

    rewritten(result, note, note)
    # A message that was written as a dict is another object each time.
    place = next((place for place, message in enumerate(others) if message is own or message == own), None)
    return others if place is None else [*others[:place], *others[place + 1 :]]


def rewritten(result: Any, change: Change, change_other: ChangeOther | None = None) -> Any:
    """Apply a change to each tool message in what a tool or a tool node returned.

    Args:
        result: a message, a command, an update of the state, or a list of these.
        change: the change.
        change_other: a change to all other messages; None leaves them as they are. One that is written as a text stays
            a text, and one that is written as a pair or a dict stays so where it is not changed.
    """
    return _Rewriting(change, change_other, frozenset() if change_other is None else _keys(result)).of(result)


def _keys(part: Any, key: str = "", depth: int = 0) -> frozenset[str]:
    """Find the keys under which messages are kept, as far as there are any that are no mere texts."""
    if isinstance(part, Command):
        part, key, depth = _update_of(part), _ROOT, 0
    if key == "messages" or isinstance(part, BaseMessage) or _is_written(part):
        return frozenset({key} - {""})
    if depth == DEEPEST:
        return frozenset()
    return frozenset().union(*(_keys(item, own, depth + 1) for own, item in _items(part, key)))


def _items(part: Any, key: str) -> list[tuple[str, Any]]:
    """The parts of an update, each behind the key that it is kept under."""
    if isinstance(part, dict):
        return list(part.items())
    if type(part) is tuple and len(part) == 2 and isinstance(part[0], str):
        return [part]
    return [(key, item) for item in part] if isinstance(part, list) or type(part) is tuple else []


def _update_of(command: Command[Any]) -> Any:
    """The update of a command; an object of the state's class as the dict of its fields, which to LangGraph is one."""
    update = command.update
    if update is None or isinstance(update, (BaseMessage, dict, list, str, tuple)):
        return update
    pairs = getattr(command, "_update_as_tuples", lambda: getattr(update, "__dict__", {}).items())
    return {key: value for key, value in pairs() if key != _ROOT} or update


class _Rewriting(NamedTuple):
    """Changes to messages.

    A bare text is a message where LangGraph makes one of it, which the graph's state says and no update: under the keys
    that other messages are kept under, and under any key where there are no others.
    """

    change: Change
    other: ChangeOther | None
    keys: frozenset[str]

    def of(self, result: Any) -> Any:
        if isinstance(result, list):
            return [self.of(item) for item in result]
        if not isinstance(result, Command):
            return self._update(result, "", 0)
        return replace(result, update=self._update(_update_of(result), _ROOT, 0), goto=self._sent(result.goto))

    def _sent(self, goto: Any) -> Any:
        """Change the messages that a command sends to a node."""
        if isinstance(goto, (list, tuple)):
            return type(goto)(map(self._sent, goto))
        if not isinstance(goto, Send):
            return goto
        sent = copy(goto)
        sent.arg = self._update(goto.arg, "", 0)
        return sent

    def _update(self, part: Any, key: str, depth: int) -> Any:
        message = part if isinstance(part, BaseMessage) else self._read(part, key)
        if message is not None:
            if isinstance(message, ToolMessage):
                made: BaseMessage = self.change(message)
            else:
                made = message if self.other is None else self.other(message)
            return part if made is message else made.content if isinstance(part, str) else made
        if depth == DEEPEST:
            return part
        if isinstance(part, dict):
            return {own: self._update(item, own, depth + 1) for own, item in part.items()}
        items = [self._update(item, own, depth + 1) for own, item in _items(part, key)]
        if isinstance(part, list):
            return items
        if type(part) is tuple:
            return (part[0], *items) if len(items) < len(part) else tuple(items)
        return part

    def _read(self, part: Any, key: str) -> BaseMessage | None:
        """The message that a part of an update is written for; None where it is none, or only others are wanted."""
        if isinstance(part, str):
            is_one = key == _ROOT or (key != "" and (not self.keys or key in self.keys))
        else:
            is_one = _is_written(part)
        is_tool = isinstance(part, dict) and kind_of(part) == "tool"
        if not is_one or (self.other is None and not is_tool):
            return None
        try:
            return convert_to_messages([part])[0]
        except Exception:  # the state's reducer will refuse it
            return None


def _is_written(part: Any) -> bool:
    """A dict or a pair that is written for a message."""
    if isinstance(part, dict):
        kind = kind_of(part)
        return ("tool_call_id" in part and kind == "tool") or ("content" in part and kind in _ROLES)
    return type(part) is tuple and len(part) == 2 and isinstance(part[0], str) and part[0] in _ROLES


def shown_value(raw: Any, message: ToolMessage, *, with_artifact: bool = False) -> Any:
    """The value to judge, given what the tool returned: its own, but for wrappings that are the framework's.

    Args:
        raw: what the tool returned.
        message: what became of it.
        with_artifact: the tool returns pairs of content and artifact; the content is what is shown.
    """
    if type(raw) is dict or type(raw) is str:
        return raw  # nearly always
    if with_artifact and isinstance(raw, tuple) and len(raw) == 2:
        raw = raw[0]
    if isinstance(raw, (ToolMessage, Command)) or inspect.isgenerator(raw) or inspect.isasyncgen(raw):
        return content_value(message.content)  # a generator is left for the framework, which shows its repr
    if isinstance(raw, Sequence) and raw and not isinstance(raw, (str, bytes)):
        if all(isinstance(item, (ToolMessage, Command)) for item in raw):
            return content_value(message.content)
        if isinstance(message.content, list) and len(raw) == len(message.content):
            return content_value(raw)
    return raw


def content_value(content: Any) -> Any:
    """The value in a message's content: text for text blocks, other blocks without the ids that are new each time.

    >>> content_value([{"type": "text", "text": "18 degrees", "id": "lc_1"}])
    '18 degrees'
    """
    if isinstance(content, str) or not isinstance(content, Sequence):
        return content
    if all(isinstance(block, str) for block in content):
        return list(content)
    blocks = [_block_value(block) for block in content]
    return blocks[0] if len(blocks) == 1 else blocks


def _block_value(block: Any) -> Any:
    if not isinstance(block, Mapping):
        return block
    if block.get("type") == "text" and _is_text(block):
        return block["text"]
    return {key: value for key, value in block.items() if key != "id"}
