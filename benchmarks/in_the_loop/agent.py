"""The scripted agent: it does what its script says, believes what it is told, and has no other wits.

Its whole policy:

1. A result that it is given it believes, whatever stands in it. Of one that is cut off it reads what is there.
2. Where a field that it needs is missing, it asks again once, and reports a failure where that brings it no further.
3. Where it is told that a result may be wrong, or gets a notice in its place, it makes the call again, up to twice,
   if the notice does not say otherwise. A write that must not be made twice it never makes twice.
4. Where that does not help it stops, changes nothing more, and reports a failure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol

from .tools import TOOLS

__all__ = ["MOST_ASKED", "Agent", "FailedError", "Given", "Standing", "Told", "read"]

MOST_ASKED = 3

Standing = Literal["given", "doubted", "withheld"]


class Told(NamedTuple):
    """What reaches an agent of a call.

    Attributes:
        text: what it reads: the result, with a line after it, or a notice in its place.
        standing: the result is ``given`` as it is, ``doubted`` in a line after it, or ``withheld``.
        again: it may make the call again, for all that it is told.
        verdict: the guard's, which no agent reads.
    """

    text: str
    standing: Standing = "given"
    again: bool = True
    verdict: str = "accept"


class Given(NamedTuple):
    """How the work on one task ended.

    Attributes:
        answer: what the agent gives as right; None where it reports a failure.
        failure: the failure, in words; empty where there is an answer.
        read: characters that it read.
        calls: calls that it made.
    """

    answer: Any
    failure: str
    read: int
    calls: int


class FailedError(Exception):
    """The agent gives the task up and says why."""


class Call(Protocol):
    """What makes the agent's calls: a guard, or nothing, before the tools."""

    def __call__(self, tool: str, args: Mapping[str, Any]) -> Told: ...


class Agent:
    """One agent at one task.

    Args:
        call: makes its calls.
    """

    def __init__(self, call: Call) -> None:
        self._call = call
        self.read = 0
        self.calls = 0

    def work(self, script: Callable[[Agent], Any]) -> Given:
        """Follow a script to its end."""
        answer, failure = None, ""
        try:
            answer = script(self)
        except FailedError as error:
            failure = str(error)
        except (AttributeError, KeyError, IndexError, TypeError, ValueError) as error:
            failure = f"cannot make sense of what it was told: {type(error).__name__}"
        return Given(answer, failure, self.read, self.calls)

    def ask(self, tool: str, *needs: str, **args: Any) -> Any:
        """Call a tool; what it says.

        Args:
            tool: its name.
            needs: the fields that the script will use, ``orders[].total`` for those of every element.
            args: its arguments.

        Raises:
            FailedError: where it cannot be had, or cannot be trusted.
        """
        incomplete = False
        for _ in range(MOST_ASKED):
            told = self._call(tool, args)
            self.calls += 1
            self.read += len(told.text)
            if told.standing != "given":
                if not (told.again and TOOLS[tool].repeatable):
                    break
                continue
            value = read(told.text)
            if isinstance(value, dict) and set(value) == {"error"}:
                raise FailedError(f"{tool} says: {value['error']}")
            missing = [path for path in needs if not _has(value, path.split("."))]
            if not missing:
                return value
            if incomplete or not TOOLS[tool].repeatable:
                raise FailedError(f"{tool} does not say {', '.join(missing)}")
            incomplete = True
        raise FailedError(f"the result of {tool} cannot be trusted")


def read(text: str) -> Any:
    """A result as a reader takes it: JSON, JSON that is cut off as far as it goes, or text.

    >>> read('{"a": 1, "b": [{"c": 2}, {"c"'), read("exit code 0")
    ({'a': 1, 'b': [{'c': 2}]}, 'exit code 0')
    """
    if text.lstrip()[:1] not in ("{", "["):
        return text
    try:
        return json.loads(text)
    except ValueError:
        pass
    # Cut back to a place where a value may have ended, and close what is open there.
    for end in sorted({match.end() for match in re.finditer(r'["\]}\d]|true|false|null', text)}, reverse=True):
        head = text[:end]
        try:
            return json.loads(head + "".join(reversed(_open(head))))
        except ValueError:
            continue
    return text


def _open(text: str) -> list[str]:
    """The brackets that close what a text leaves open."""
    closing: list[str] = []
    in_text = escaped = False
    for character in text:
        if in_text:
            in_text = escaped or character != '"'
            escaped = character == "\\" and not escaped
        elif character == '"':
            in_text = True
        elif character in "{[":
            closing.append("}" if character == "{" else "]")
        elif character in "}]" and closing:
            closing.pop()
    return closing


def _has(value: Any, steps: Sequence[str]) -> bool:
    if not steps:
        return True
    name = steps[0].removesuffix("[]")
    if not isinstance(value, dict) or name not in value:
        return False
    if steps[0].endswith("[]"):
        return isinstance(value[name], list) and all(_has(item, steps[1:]) for item in value[name])
    return _has(value[name], steps[1:])
