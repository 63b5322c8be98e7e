"""The texts of an exception: what a framework may tell the model of it, and the exception without what was found."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

from agentguard.errors import AgentGuardError
from agentguard.guard._wording import appended

if TYPE_CHECKING:
    from agentguard.guard._guard import Judgement


#: Exceptions by which frameworks steer a run, by the module that has them.
_SIGNALS: Final = {
    "langgraph.errors": ("GraphBubbleUp",),
    "pydantic_ai.exceptions": ("ApprovalRequired", "CallDeferred"),
}


def is_signal(error: BaseException) -> bool:
    """It tells of no failure: the guard's own, whose text quotes no result, a cancellation, a framework's pause."""
    # Nobody has raised what is not loaded.
    loaded = [(sys.modules[name], names) for name, names in _SIGNALS.items() if name in sys.modules]
    signals = tuple([getattr(module, name) for module, names in loaded for name in names if hasattr(module, name)])
    return not isinstance(error, Exception) or isinstance(error, (AgentGuardError, *signals))


def texts_of(error: BaseException) -> list[str]:
    """The texts of an exception, each once: its own, those of its arguments, of its attributes and of its notes.

    >>> texts_of(KeyError("no such key"))
    ["'no such key'", 'no such key']
    """
    own = [_said(error), *error.args, *vars(error).values(), *getattr(error, "__notes__", ())]
    return list(dict.fromkeys(text for text in own if isinstance(text, str) and text))


def put_into(error: BaseException, judgement: Judgement) -> bool:
    """Put a judgement's placeholders, and its line for the model, into the texts of an exception.

    Returns:
        False where there is still something to be redacted: its class makes up a text of other things.
    """
    if judgement.redact:
        error.args = tuple(_changed(argument, judgement) for argument in error.args)
        vars(error).update({name: _changed(value, judgement) for name, value in vars(error).items()})
        if any(judgement.shown(text) != text for text in texts_of(error)):
            return False
    if judgement.line and len(error.args) == 1 and _said(error) == error.args[0]:
        said, error.args = error.args[0], (appended(error.args[0], judgement.line),)
        vars(error).update({name: error.args[0] for name, value in vars(error).items() if value == said})
    return True


def _changed(value: Any, judgement: Judgement) -> Any:
    if isinstance(value, str):
        return judgement.shown(value)
    if isinstance(value, list) and all(isinstance(item, str) for item in value):  # notes
        return [judgement.shown(item) for item in value]
    return value


def _said(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # foreign code: what cannot be said is not shown either
        return ""
