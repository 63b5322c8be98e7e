"""The texts of a message's content: what there is to look through, and the content without what was found."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

import orjson

from agentguard.content._findings import Kind
from agentguard.content._results import Found, found_in, redacted

__all__ = ["Act", "Looked", "legible", "look", "readable", "without"]

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
        names = ", ".join(f"{kind} ({', '.join(found.names)})" for kind, found in self.found.items() if found.findings)
        unread = ", ".join(dict.fromkeys(found.unread for found in self.found.values() if found.unread))
        kinds = ", ".join(kind for kind, found in self.found.items() if found.unread)
        held = [f"holds {names}"] * bool(names) + [f"was not looked through for {kinds} to its end ({unread})"] * bool(
            unread
        )
        return " and ".join(held)

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON that holds no content."""
        return {
            kind: {
                "action": self.acts[kind],
                "score": round(found.score, 6),
                "sure": found.sure,
                "findings": found.findings,
                "names": list(found.names),
                **({"more": True} if found.more else {}),
                **({"unread": found.unread} if found.unread else {}),
            }
            for kind, found in self.found.items()
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
    found, acts = {}, {}
    for kind, act in asked.items():
        each = results[kind]._replace(unread=results[kind].unread or unread)
        if each.findings or each.unread:
            found[kind] = each
            acts[kind] = act if each.sure else _milder(act)
        if each.unread:
            acts[kind] = "block" if closed else act
    return Looked(found, acts)


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
        return orjson.loads(content)
    except orjson.JSONDecodeError:
        return content


def legible(content: Any, *, only_text: bool = False) -> Any:
    """What a content's blocks say, one value a block: None for pictures and the like.

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
    said = [readable(_said(block, others == "keep")) for block in content]
    cleaned = redacted(said, kinds)
    made: list[Any] = []
    for block, before, after in zip(content, said, cleaned, strict=True):
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
    """What was read of a text as JSON, as a text again."""
    return json.dumps(after, ensure_ascii=False) if isinstance(before, str) and not isinstance(after, str) else after


def text_in_place(content: Any, notice: str, *, whole: bool) -> Any:
    """The notice in place of a content's text; ``whole``: of all that it holds, else the other blocks stay."""
    if whole or isinstance(content, str):
        return notice
    return [*(block for block in content if _said(block, True) is None), {"type": "text", "text": notice}]
