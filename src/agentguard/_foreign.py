"""Objects of classes that are not ours: what their own code raises while they are read says something of them alone."""

from __future__ import annotations

from typing import Any, Final

#: In whose reading no code runs but Python's own.
_BUILT_IN: Final = frozenset({dict, list, tuple, set, frozenset, str, bytes, int, float, bool, type(None)})


def raised_by(value: Any, error: BaseException) -> bool:
    """Tell an exception raised by the value being read from one of the user or a signal handler.

    An object's own code may raise anything, ``SystemExit`` too. In reading a built-in value only a signal's handler
    does that, and what it raises ends the process as its writer meant it to.

    >>> raised_by([], TypeError()), raised_by([], SystemExit()), raised_by(object(), SystemExit())
    (True, False, True)
    """
    if isinstance(error, Exception):
        return True
    return not isinstance(error, KeyboardInterrupt) and type(value) not in _BUILT_IN
