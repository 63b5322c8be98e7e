"""The texts of an exception: what a framework may tell the model of it, and the exception without what was found."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, cast

from agentguard.content._bytes import text_in, with_text
from agentguard.content._results import redacted, text_of
from agentguard.errors import AgentGuardError
from agentguard.guard._wording import appended

if TYPE_CHECKING:
    from agentguard.content._findings import Kind
    from agentguard.guard._guard import Judgement


#: Exceptions by which frameworks steer a run, by the module that has them.
_SIGNALS: Final = {
    "agent_framework": ("MiddlewareFailure", "MiddlewareTermination", "UserInputRequiredException"),
    "langgraph.errors": ("GraphBubbleUp",),
    "pydantic_ai.exceptions": ("ApprovalRequired", "CallDeferred"),
}
#: Exceptions within one that are looked at each for itself. Its own ``repr``, which has all of them, is looked at, too.
MOST_WITHIN: Final = 1_000


def is_signal(error: BaseException) -> bool:
    """It tells of no failure: the guard's own, whose text quotes no result, a cancellation, a framework's pause."""
    # Nobody has raised what is not loaded.
    loaded = [(sys.modules[name], names) for name, names in _SIGNALS.items() if name in sys.modules]
    signals = tuple([getattr(module, name) for module, names in loaded for name in names if hasattr(module, name)])
    return not isinstance(error, Exception) or isinstance(error, (AgentGuardError, *signals))


def texts_of(error: BaseException) -> list[str]:
    """The texts of an exception and of those within it, each once: what it says, its arguments, attributes and notes.

    No framework shows the model where an exception came from, or what caused it.

    >>> texts_of(KeyError("no such key"))
    ["'no such key'", "KeyError('no such key')", 'no such key']
    """
    texts = [text for each in _within(error) for text in (_said(each), _said(each, repr), *map(_text, _values(each)))]
    return list(dict.fromkeys(filter(None, texts)))


def put_into(error: BaseException, judgement: Judgement) -> bool:
    """Put a judgement's placeholders, and its line for the model, into the texts of an exception.

    Returns:
        False where there is still something to be redacted: its class makes up a text of other things.
    """
    if judgement.redact:
        try:
            for each in _within(error):
                each.args = tuple(_changed(argument, judgement) for argument in each.args)
                vars(each).update({name: _changed(value, judgement) for name, value in vars(each).items()})
        except Exception:  # of a foreign class
            return False
        if any(judgement.shown(text) != text for text in texts_of(error)):
            return False
    if judgement.line and len(error.args) == 1 and _said(error) == error.args[0]:
        said, error.args = error.args[0], (appended(error.args[0], judgement.line),)
        vars(error).update({name: error.args[0] for name, value in vars(error).items() if value == said})
    return True


def _within(error: BaseException) -> list[BaseException]:
    """The exception, and those in its group, its arguments and its attributes."""
    found, pending = {id(error): error}, [error]
    while pending:
        for value in _values(pending.pop()):
            for each in value if isinstance(value, (list, tuple)) else [value]:
                if isinstance(each, BaseException) and id(each) not in found:
                    found[id(each)] = each
                    pending.append(each)
    return list(found.values())[:MOST_WITHIN]


def _values(error: BaseException) -> list[Any]:
    """What an exception holds; its notes are among its attributes."""
    return [*error.args, *vars(error).values(), getattr(error, "exceptions", ())]


def _text(value: Any) -> str | None:
    if isinstance(value, bytes):
        return text_in(value)
    return text_of(value) if isinstance(value, (str, dict, list, tuple)) else None


def _changed(value: Any, judgement: Judgement) -> Any:
    if isinstance(value, str):
        return judgement.shown(value)
    if isinstance(value, bytes):
        return with_text(value, judgement.shown)
    if not isinstance(value, (dict, list, tuple)):
        return value
    try:
        return redacted(value, cast("tuple[Kind, ...]", judgement.redact))
    except Exception:  # it holds what is not made of JSON's types
        return value


def _said(error: BaseException, say: Callable[[Any], str] = str) -> str:
    try:
        return say(error)
    except Exception:  # foreign code: what cannot be said is not shown either
        return ""
