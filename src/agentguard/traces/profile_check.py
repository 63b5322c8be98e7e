"""Profiles held against a log: what they name and no call of it has.

A path that no call has is a slip in nearly every case, and a silent one: a required field that is misspelt blocks every
result, an echo of an argument that is not there is never asked for.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from agentguard.errors import Problem
from agentguard.verification.arguments import Arguments
from agentguard.verification.contract import Contract
from agentguard.verification.document import Document, read
from agentguard.verification.profile import ProfileIndex, ToolProfile, in_order, line_of, place_of

from .row import BrokenLine, TraceRow

if TYPE_CHECKING:
    from agentguard.yaml_files import RawFile

__all__ = ["LogCheck"]

MAX_PATHS: Final = 5_000  # of one profile, that are remembered to tell what is near
SHOWN: Final = 5


class LogCheck:
    """Profiles, and the calls that are held against them.

    An error report has no answer's fields; a result too large to be read counts as one.

    Args:
        profiles: each with the file that it stands in.

    Attributes:
        calls: calls of tools that have a profile.
    """

    def __init__(self, profiles: Iterable[tuple[ToolProfile, RawFile]]) -> None:
        self.calls = 0
        self._found = [_Found(profile, file) for profile, file in profiles]
        self._by_name = {found.profile.name: found for found in self._found}
        self._index = ProfileIndex(found.profile for found in self._found)

    def push(self, row: TraceRow | BrokenLine) -> None:
        """Hold one line of a log against the profile of its tool."""
        profile = None if isinstance(row, BrokenLine) else self._index.find(row.call.tool)
        if isinstance(row, BrokenLine) or profile is None:
            return
        self.calls += 1
        document = read(row.call.result)
        is_answer = not (document.is_error or row.call.is_error or document.kind in ("large", "empty"))
        self._by_name[profile.name].push(Arguments(row.call.args), document if is_answer else None)

    def problems(self) -> list[Problem]:
        """One for each path that no call has."""
        return in_order(problem for found in self._found for problem in found.problems())


class _Found:
    """What was found of one profile's paths."""

    def __init__(self, profile: ToolProfile, file: RawFile) -> None:
        self.profile = profile
        self.file = file
        self.calls = 0
        self.answers = 0
        self._contracts = [Contract(ToolProfile(name="t", required_fields=(path,))) for path in profile.required_fields]
        self._required: Counter[int] = Counter()
        self._arguments: set[str] = set()
        self._places: set[str] = set()

    def push(self, arguments: Arguments, answer: Document | None) -> None:
        self.calls += 1
        _remember(self._arguments, (path for path, _ in arguments.values))
        if answer is None:
            return
        self.answers += 1
        _remember(self._places, answer.leaves)
        for position, contract in enumerate(self._contracts):
            if not self._required[position]:
                self._required[position] += not contract.field_violations(answer)

    def problems(self) -> Iterator[Problem]:
        if self.answers:
            for position, path in enumerate(self.profile.required_fields):
                if not self._required[position]:
                    message = f"no result of {_counted(self.answers)} has {path!r}{_near(path, self._places)}"
                    yield self._problem(("required_fields", position), message)
        for argument, echo in self.profile.echoes.items():
            if self.calls and place_of(argument) not in self._arguments:
                message = f"no call of {_counted(self.calls)} has an argument {argument!r}"
                yield self._problem(("echoes", argument), message + _near(argument, self._arguments))
            if self.answers and place_of(echo.path) not in self._places:
                message = f"no result of {_counted(self.answers)} has a value at {echo.path!r}"
                yield self._problem(("echoes", argument, "path"), message + _near(echo.path, self._places))

    def _problem(self, key: tuple[Any, ...], message: str) -> Problem:
        return Problem(self.file.source, line_of(self.file, key), ".".join(map(str, key)), message)


def _remember(known: set[str], paths: Iterable[str]) -> None:
    if len(known) < MAX_PATHS:
        known.update(paths)


def _counted(calls: int) -> str:
    return f"{calls:,} in the log"


def _near(path: str, known: set[str]) -> str:
    """What is there instead, the likeliest first."""
    near = difflib.get_close_matches(path, sorted(known), n=SHOWN, cutoff=0.5) or sorted(known)[:SHOWN]
    return f"; there {'is' if len(near) == 1 else 'are'} {', '.join(near)}" if near else ""
