"""Turns of a log: what an agent said to its user in the end, with the calls of the session up to there.

A turn begins where the user speaks, and what counts as said to the user is its last text. Text that a call follows in
the same turn does not count: there an agent speaks of what it is about to do, and goes on. Calls of a subagent count
for the session that it works for.

Sessions are held until they end, in bounded memory: of too many, those that were not heard of for longest are given up
first, and of one that goes on after that it is known that its earlier calls are not there.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import orjson

from agentguard.content._results import cut
from agentguard.traces._formats import Call, Found, Offered, OfferedTool, Said, Skip, Skipped
from agentguard.traces._formats._calls import Remembered, decoded

MOST_SESSIONS: Final = 1_000
MOST_CALLS: Final = 1_000  # of a session up to an answer: as many as claims are held against
MOST_HELD: Final = 64 << 20  # characters of all sessions, a judgement: some hundreds of megabytes of memory at most
MOST_EVENTS: Final = 100_000  # of all sessions
LONGEST_TEXT: Final = 20_000  # characters of a text in arguments or result, as much as claims are held against
LONGEST_WORDS: Final = 100_000  # characters of what is said at a time
EARLIER_TEXT: Final = 2_000  # characters of one of an earlier turn, a judgement: an answer speaks of what was just done
MOST_VALUES: Final = 2_000  # of arguments, or of a result
MOST_SAID: Final = 50  # texts of the user, and of who set the agent up, that count for an answer

_OVERHEAD: Final = 200  # characters that an event counts for beside its texts


class Made(NamedTuple):
    """A call that was made.

    Attributes:
        source, line: where it stands in the log.
        tool: its name.
        args, result: as JSON has them, cut; of a failed call the error.
        failed: the agent's framework says that it failed.
        call_id: the log's name for it.
        at: seconds since the epoch at which it began; None where that is not known.
        finished: the log has its result.
    """

    source: str
    line: int
    tool: str
    args: Any
    result: Any
    failed: bool
    call_id: str | None
    at: float | None
    finished: bool


class Turn(NamedTuple):
    """An answer to the user.

    Attributes:
        source, line: where it stands in the log.
        session: the session's name; without one, the file's.
        at: seconds since the epoch; None where that is not known.
        answer: what was said.
        question: what it answers: the user's last words; "" where none are recorded.
        given: further words of the user, and of who set the agent up.
        calls: of the session up to the end of the turn; those of earlier turns cut further.
        tools: that the agent was offered.
        whole: the calls are all that the session had; False where earlier ones were given up.
    """

    source: str
    line: int
    session: str
    at: float | None
    answer: str
    question: str
    given: tuple[str, ...]
    calls: tuple[Made, ...]
    tools: tuple[OfferedTool, ...]
    whole: bool


class _Again(NamedTuple):
    """A call that is recorded once more."""

    at: float | None


class _Session:
    """The calls and words that are held of a session.

    Arguments and results are held packed: most sessions of a log have no answer, and nothing reads them.
    """

    def __init__(self, name: str, *, whole: bool) -> None:
        self.size = 0
        self.events: list[Made | Said | _Again] = []
        self._name, self._whole = name, whole
        self._tools: dict[str, OfferedTool] = {}
        self._ids: set[str] = set()

    def offer(self, offered: Offered) -> None:
        for tool in offered.tools:
            self._tools.setdefault(tool.name, tool)

    def say(self, said: Said) -> None:
        text = said.text[:LONGEST_WORDS]
        self._add(said._replace(text=text), len(text))

    def call(self, call: Call, *, finished: bool) -> None:
        fields = call.fields
        tool, identity = fields.get("tool"), fields.get("call_id")
        if not isinstance(tool, str) or not tool:
            return
        if isinstance(identity, str):
            if identity in self._ids:
                self._add(_Again(call.begun), 0)
                return
            self._ids.add(identity)
        args, result = _packed(fields.get("args")), _packed(fields.get("result"))
        made = Made(
            call.source, call.line, tool, args, result, fields.get("is_error") is True,
            identity if isinstance(identity, str) else None, call.begun, finished,
        )  # fmt: skip
        self._add(made, _size(args) + _size(result))

    def _add(self, event: Made | Said | _Again, size: int) -> None:
        self.events.append(event)
        self.size += size + _OVERHEAD

    def turns(self) -> Iterator[Turn]:
        """The turns of the session, in the order of their times where all that is in it has one."""
        events = self.events
        if not any(isinstance(event, Said) and event.by == "agent" for event in events):
            return  # nothing was said that calls are held against
        if all(event.at is not None for event in events):
            events = sorted(events, key=lambda event: event.at or 0.0)
        calls: list[Made] = []
        shortened = 0  # of them: those of earlier turns
        asked: list[str] = []
        given: list[str] = []
        answer: list[Said] = []
        for what in events:
            if isinstance(what, _Again):
                answer = []
            elif isinstance(what, Made):
                calls.append(what._replace(args=_unpacked(what.args), result=_unpacked(what.result)))
                if what.finished:
                    answer = []
            elif what.by == "agent":
                if all(what.text != said.text for said in answer):
                    answer.append(what)
            elif what.by == "user":
                yield from self._turn(answer, calls, asked, given)
                asked, answer = [*asked[-MOST_SAID:], what.text], []
                calls[shortened:] = map(_shortened, calls[shortened:])
                del calls[: -MOST_CALLS - 1]
                shortened = len(calls)
            elif what.text not in given:
                if what.summary and not calls:  # of what stands in another file, or nowhere
                    self._whole = False
                given = [*given[-MOST_SAID:], what.text]
        yield from self._turn(answer, calls, asked, given)

    def _turn(self, answer: list[Said], calls: list[Made], asked: list[str], given: list[str]) -> Iterator[Turn]:
        if not answer or all(said.again for said in answer):
            return
        first = answer[0]
        yield Turn(
            first.source, first.line, self._name, first.at, "\n\n".join(said.text for said in answer),
            asked[-1] if asked else "", (*given, *asked[:-1]), tuple(calls[-MOST_CALLS:]), tuple(self._tools.values()),
            self._whole and len(calls) <= MOST_CALLS,
        )  # fmt: skip


class Sessions:
    """Takes what is found in a log, and finds its turns.

    >>> sessions = Sessions()
    >>> for found in (
    ...     Said("log", 1, "user", "Write to Ada.", "s1"), Said("log", 2, "agent", "I will.", "s1"),
    ...     Call("log", 3, {"tool": "send", "args": {"to": "Ada"}, "result": "sent", "session_id": "s1"}),
    ...     Said("log", 4, "agent", "I have written to her.", "s1"),
    ... ):
    ...     assert not list(sessions.push(found))
    >>> [(turn.answer, [call.tool for call in turn.calls]) for turn in sessions.end()]
    [('I have written to her.', ['send'])]
    """

    def __init__(self, most_held: int = MOST_HELD) -> None:
        self._most_held = most_held
        self._sessions: OrderedDict[tuple[str, bool], _Session] = OrderedDict()
        self._given_up = Remembered()
        self._held = self._events = 0

    def push(self, found: Found) -> Iterator[Turn]:
        """Take what was found; yields the turns of sessions that are given up for want of room."""
        if isinstance(found, Skipped):
            if found.call is not None:
                yield from self._take(found.call, _named(found.call), unfinished=found.reason is not Skip.repeated)
        elif isinstance(found, Call):
            yield from self._take(found, _named(found))
        else:
            yield from self._take(found, found.session_id)

    def end(self) -> Iterator[Turn]:
        """The turns of all sessions that are held; the log has no more."""
        while self._sessions:
            yield from self._first()

    def _take(self, found: Call | Said | Offered, name: str | None, *, unfinished: bool = False) -> Iterator[Turn]:
        key = (name or Path(found.source).name, name is not None)
        session = self._sessions.get(key)
        if session is None:
            session = self._sessions[key] = _Session(key[0], whole=not self._given_up.has(key))
        self._sessions.move_to_end(key)
        before = session.size, len(session.events)
        if isinstance(found, Call):
            session.call(found, finished=not unfinished)
        elif isinstance(found, Said):
            session.say(found)
        else:
            session.offer(found)
        self._held += session.size - before[0]
        self._events += len(session.events) - before[1]
        while self._sessions and (
            self._held > self._most_held or self._events > MOST_EVENTS or len(self._sessions) > MOST_SESSIONS
        ):
            yield from self._first()

    def _first(self) -> Iterator[Turn]:
        """Give up the session that was not heard of for longest."""
        key, session = self._sessions.popitem(last=False)
        self._given_up.add(key)
        self._held -= session.size
        self._events -= len(session.events)
        yield from session.turns()


def _named(call: Call) -> str | None:
    session = call.fields.get("session_id")
    name = call.parent or (str(session) if isinstance(session, int) else session)
    return name if isinstance(name, str) else None


def _shortened(made: Made) -> Made:
    args, result = (cut(value, EARLIER_TEXT, MOST_VALUES) for value in (made.args, made.result))
    return made._replace(args=args, result=result)


def _packed(value: Any) -> Any:
    """A value as little as it can be held; ``_unpacked`` gives what is kept of it."""
    if isinstance(value, str) and len(value) <= LONGEST_TEXT:
        return value
    if isinstance(value, (dict, list)):
        try:
            packed = orjson.dumps(value)
        except (TypeError, ValueError):  # a number of more than 64 bits, half a character, or nested too deeply
            packed = b""
        if 0 < len(packed) <= LONGEST_TEXT and b"null" not in packed:  # so it writes NaN as well
            return bytes(memoryview(packed))  # a copy: what is written stands in a buffer of a kilobyte
    return cut(decoded(value), LONGEST_TEXT, MOST_VALUES)


def _unpacked(value: Any) -> Any:
    if isinstance(value, (str, bytes)):
        return cut(orjson.loads(value) if isinstance(value, bytes) else decoded(value), LONGEST_TEXT, MOST_VALUES)
    return value


def _size(value: Any) -> int:
    """About how many characters a value takes."""
    if isinstance(value, (str, bytes)):
        return len(value)
    if isinstance(value, dict):
        return sum(len(str(name)) + _size(held) + 16 for name, held in value.items())
    if isinstance(value, list):
        return sum(_size(held) + 8 for held in value)
    return 16
