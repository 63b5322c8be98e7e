"""One connection of a client: which of its requests are open, and what is done with the answers."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from time import perf_counter
from typing import Any, Final, Literal, NamedTuple
from uuid import uuid4

from agentguard import _forks as forks
from agentguard.guard import Judgement, Outcome
from agentguard.guard._guard import LARGE, gravity, is_large
from agentguard.guard._read_back import Answer, Call, FindCall
from agentguard.guard._wording import notice_of
from agentguard.proxy._guarding import Guarding
from agentguard.proxy._messages import (
    is_answer,
    is_request,
    is_response,
    key_of,
    read_exactly,
    read_message,
    write_message,
)
from agentguard.proxy._pins import Pages
from agentguard.proxy._results import (
    beside_value,
    error_of,
    is_tool_result,
    mark,
    marked,
    own_meta,
    read_result,
    said,
)

_log = logging.getLogger("agentguard")

#: Bytes of a message's beginning, and of its end, where its id stands.
ENDS: Final = 256
_ID: Final = rb'"id"\s*:\s*("(?:[^"\\]|\\.)*"|-?\d+)'
_ANY_ID: Final = re.compile(_ID)
#: The id of a message itself, and of nothing that it holds.
_FIRST_ID: Final = re.compile(rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?(?:"method"\s*:\s*"[^"\\]*"\s*,\s*)?' + _ID)
_LAST_ID: Final = re.compile(_ID + rb'\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$')
ENVELOPE: Final = frozenset({"jsonrpc", "id", "method", "params", "result", "error"})
UNJUDGED: Final = ("tools/list", "other")
MOST_SECONDS: Final = 600.0  # that an answer to a request of the guard's own is waited for, whatever a profile says
MOST_OPEN: Final = 10_000  # requests, and tasks, of which the oldest is forgotten first
TOO_LONG: Final = "is too long to be verified"
MOST_PAST: Final = 256  # requests that were answered and are remembered
MESSAGE: Final = (b"{", b"[")  # by which a message, or a batch, begins
UNWRITTEN: Final = notice_of("The result could not be verified and was withheld.")


class Request(NamedTuple):
    """An open request whose answer is looked at.

    Attributes:
        method: what is asked for; ``other`` where nothing in the answer is judged.
        id: as the client has it.
        at: when it was passed on, by a clock of our own, in seconds; None where that tells nothing of the tool's time.
        tool: the tool that is called; of a resource and a prompt the method, whose profile applies.
        args: of the call.
        cursor: of the list's page.
        meta: what the protocol itself keeps in the request's ``_meta``.
        answered: by a message that a strict client does not take for the answer: it stays open, and teaches no more.
    """

    method: Literal["tools/call", "tools/list", "resources/read", "prompts/get", "tasks/result", "other"]
    id: Any
    at: float | None
    tool: str = ""
    args: Any = None
    cursor: str | None = None
    meta: Mapping[str, Any] | None = None
    answered: bool = False


class Work(NamedTuple):
    """Something to be done about a message of the server's.

    Attributes:
        message: as it came.
        run: does it; returns the message as it is to be passed on. It may run in any thread, and never raises.
        large: it takes its time.
        waits: the message is not passed on before.
        asks: the server is asked on the way, whose answer is received meanwhile.
    """

    message: bytes
    run: Callable[[], bytes]
    large: bool
    waits: bool
    asks: bool = False


class Connection:
    """Looks at the messages between one client and its server.

    A request stays open until an answer to it that every client takes for one: whatever else may be taken for its
    answer is judged as well, and so is an answer that comes again. A message that cannot be read is passed on. Where
    the guard acts and its failure is ``closed``, it is withheld, as any answer is that no request waits for; the client
    gets an error where the request can be told.

    Args:
        guarding: judges.
        pages: of lists whose other pages were asked for on other connections; None: there are none.
        send: sends a request of the guard's own to the server, from any thread; None: it makes none.

    Attributes:
        withholds: the guard acts, and what it cannot judge is withheld.
    """

    def __init__(
        self, guarding: Guarding, pages: Pages | None = None, send: Callable[[bytes], None] | None = None
    ) -> None:
        self.session = uuid4().hex[:12]
        self._guarding = guarding
        self.withholds = guarding.guard.on_guard_error == "closed" and not guarding.guard.shadow
        self._lock = forks.lock(forks.Rank.LEAF)
        self._open: dict[Any, list[Request]] = {}
        self._past: dict[Any, Request] = {}  # of which a stream that is gone on with may bring the answer again
        self._tasks: dict[str, Request] = {}
        self._pages = Pages() if pages is None else pages
        self._names: frozenset[str] | None = None  # of all tools, where they were listed on this connection
        self._calls = 0
        self._send = send
        self._own: dict[Any, Future[dict[str, Any]]] = {}  # requests of the guard's own, whose answers it waits for

    # --- From the client ---

    def sent(self, data: bytes) -> bytes | None:
        """Take note of a message to the server; an answer to it where it is not to be passed on, else None."""
        try:
            message = read_message(data)
        except ValueError:
            self._unread("client", data)
            return self.unsent(data, "it cannot be read") if self.withholds and data.strip() else None
        try:
            if isinstance(message, list):  # of a client of 2025-03-26
                return self._sent_together(message)
            return self._note(message) if isinstance(message, dict) else None
        except Exception as error:
            _log.error("a message of the client could not be looked at: %s", type(error).__name__)
            return self.unsent(data, "it could not be looked at") if self.withholds else None

    def unsent(self, ends: bytes, why: str) -> bytes:
        """The answer to a request that is not passed on, since nobody would know its answer.

        Args:
            ends: the message, or its beginning and its end.
            why: completes the sentence "the message was not sent to the server: …".
        """
        found = _FIRST_ID.match(ends) or _LAST_ID.search(ends[-ENDS:])
        self._guarding.count("messages of the client that were not sent")
        _log.error("a message of the client was not sent to the server: %s", why)
        return _error(None if found is None else _read_id(found[1]), f"the message was not sent to the server: {why}")

    def _sent_together(self, batch: list[Any]) -> bytes | None:
        """Take note of a batch; one of which a part is refused is not sent at all."""
        messages = [each for each in batch if isinstance(each, dict)]
        answers = [self._note(each) for each in messages]
        if not any(answers):
            return None
        made = []
        for each, answer in zip(messages, answers, strict=True):
            if answer is not None:
                made.append(read_exactly(answer))
            elif "id" in each and "method" in each:
                self._close(each["id"])
                made.append(read_exactly(_error(each["id"], "not sent to the server, for a part of the batch was not")))
        return write_message(made) + b"\n"

    def _note(self, message: dict[str, Any]) -> bytes | None:
        method, id_, params = message.get("method"), message.get("id"), message.get("params")
        params = params if isinstance(params, dict) else {}
        if method == "notifications/cancelled":
            self._close(params.get("requestId"))
        if "id" not in message or not isinstance(method, str):
            return None
        match method:
            case "tools/list":
                cursor = params["cursor"] if isinstance(params.get("cursor"), str) else None
                return self._put(Request(method, id_, None, cursor=cursor))
            case "tools/call" if isinstance(params.get("name"), str):
                name, meta = params["name"], own_meta(params.get("_meta"))
                refusal = self._guarding.refusal(name)
                if refusal is not None:
                    result = {"content": [{"type": "text", "text": refusal}], "isError": True}
                    return write_message({"jsonrpc": "2.0", "id": id_, "result": result}) + b"\n"
                return self._put(Request(method, id_, perf_counter(), name, params.get("arguments"), meta=meta))
            case "tasks/result" if isinstance(params.get("taskId"), str) and params["taskId"] in self._tasks:
                return self._put(self._tasks[params["taskId"]]._replace(id=id_, answered=False))
            case "resources/read" | "prompts/get" | "tasks/result":
                return self._put(Request(method, id_, None, method, params))
        return self._put(Request("other", id_, None)) if self.withholds else None

    def _put(self, request: Request) -> bytes | None:
        """Keep a request as open; the answer to it where there is no room, and nothing is to pass unjudged."""
        key = key_of(request.id)
        with self._lock:
            requests = self._open.setdefault(key, [])
            requests[:] = [each for each in requests if not (each.answered and is_same(each.id, request.id))]
            requests.append(request)
            if len(self._open) <= MOST_OPEN:
                return None
            # Rather one that was answered, or whose answer is not judged.
            idle = (k for k, held in self._open.items() if all(one.answered or one.method in UNJUDGED for one in held))
            oldest = next(idle, key if self.withholds else next(iter(self._open)))
            del self._open[oldest]
        self._guarding.count("forgotten requests")
        if oldest != key or not self.withholds:
            return None
        return _error(request.id, f"the request was not sent to the server: {MOST_OPEN:,} others wait for an answer")

    def _due(self, id_: Any, *, closes: bool) -> list[Request]:
        """The requests that a message of this id may answer: the open ones; else the latest one that was closed.

        Args:
            id_: the message's.
            closes: every client takes the message for the answer to the request of exactly this id.
        """
        key = key_of(id_)
        with self._lock:
            requests = self._open.get(key)
            if not requests:
                return [self._past[key]] if key in self._past else []
            exact = next((each for each in requests if closes and is_same(each.id, id_)), None)
            if exact is None:
                self._open[key] = [each._replace(answered=True) for each in requests]
                return requests
            requests.remove(exact)
            if not requests:
                del self._open[key]
            # Without its arguments, which may be large.
            self._past[key] = exact._replace(args=None, answered=True)
            if len(self._past) > MOST_PAST:
                self._past.pop(next(iter(self._past)))
            return [exact]

    def _close(self, id_: Any) -> None:
        """Forget a request whose answer nobody waits for."""
        self._due(id_, closes=True)
        with self._lock:
            self._past.pop(key_of(id_), None)

    def _unread(self, sender: str, data: bytes) -> None:
        if data.strip():
            self._guarding.count(f"unread messages of the {sender}")

    # --- From the server ---

    def received(self, data: bytes, asked: Any = None) -> bytes | Work:
        """Look at a message of the server's: as it is passed on, or what is to be done before or after that.

        Args:
            data: the message.
            asked: the id of the request that it came as the answer to, where the transport tells: some clients go by
                that, whatever id the answer has.
        """
        at = perf_counter()
        if len(data) > LARGE:
            return Work(
                data, lambda: self._done(data, asked, at), large=True, waits=not self._guarding.guard.shadow,
                asks=self._send is not None and self._may_ask(),
            )  # fmt: skip
        return self._step(data, asked, at)

    def _done(self, data: bytes, asked: Any, at: float) -> bytes:
        """Read a large message, and do what is to be done about it."""
        step = self._step(data, asked, at)
        return step if isinstance(step, bytes) else step.run()

    def _step(self, data: bytes, asked: Any, at: float) -> bytes | Work:
        try:
            message = read_message(data)
            if self._is_own(message):
                return b""
            parts = message if isinstance(message, list) else [message]
            due, odd = self._sorted(parts, asked)
        except Exception as error:
            self._unread("server", data)
            if not isinstance(error, ValueError):
                _log.error("a message of the server could not be looked at: %s", type(error).__name__)
            if not self.withholds or not data.strip():
                return data
            # Servers write other lines too, which no client takes for an answer.
            return self.withheld(data, asked) if _start(data) in MESSAGE else b""
        if odd:
            self._unread("server", data)
        if len(odd) == len(parts) and odd:
            if any(is_answer(each) for each in parts):
                return self.withheld(data, asked, "is no answer of the protocol")
            _log.error("a message of the server is none of the protocol: it is withheld")
            return b""
        if not due and not odd:
            return data
        requests = [each for some in due.values() for each in some]
        judged = [each for each in requests if each.method not in UNJUDGED]
        waits = bool(judged or odd) and not self._guarding.guard.shadow
        asks = self._send is not None and any(map(self._is_read_back, requests))
        return Work(data, lambda: self._settled(data, parts, due, odd, at), is_large(message), waits, asks)

    def _sorted(self, parts: list[Any], asked: Any) -> tuple[dict[int, list[Request]], list[int]]:
        """The requests that parts of a message may answer, by the part's place; and the places of what is withheld.

        That is nothing where the guard's failure is not ``closed``; else it is what no request waits for and some
        client might take for an answer all the same.
        """
        due: dict[int, list[Request]] = {}
        odd = []
        for place, each in enumerate(parts):
            if not isinstance(each, dict):
                odd.append(place)
                continue
            if each.get("method") == "notifications/tools/list_changed":
                self._names = None
            requests: list[Request] = []
            if is_answer(each):
                requests = self._due(each["id"], closes=is_response(each)) if "id" in each else []
                if asked is not None and not any(is_same(request.id, asked) for request in requests):
                    requests = [*requests, *self._due(asked, closes=False)]
            if requests and (each.keys() <= ENVELOPE or not self.withholds):
                due[place] = requests
            elif not is_request(each):
                odd.append(place)
        return due, odd if self.withholds else []

    def _settled(
        self, data: bytes, parts: list[Any], due: dict[int, list[Request]], odd: list[int], at: float
    ) -> bytes:
        """Do what is to be done about answers; the message with what was found, and without its odd parts."""
        found = [
            change
            for place, requests in due.items()
            for part in ("result", "error")
            if part in parts[place]
            for change in self._found(place, part, requests, parts[place][part], at)
        ]
        if not found and not odd:
            return data
        try:
            return _rewritten(data, found, odd)
        except Exception as error:  # a server may send numbers that JSON has not: nothing of it passes
            _log.error("an answer of the server cannot be written with its verdict: %s", type(error).__name__)
        made = [_instead(each, UNWRITTEN).strip() for requests in due.values() for each in requests]
        return (made[0] if len(made) == 1 else b"[" + b",".join(made) + b"]") + b"\n" if made else b""

    def _found(
        self, place: int, part: str, requests: list[Request], value: Any, at: float
    ) -> list[tuple[int, str, str, Judgement]]:
        """Judge a part of an answer: what changes it, the gravest judgement where it may answer several requests."""
        try:
            judged = [(self._settle(each, part, value, at), each.method) for each in requests]
        except Exception as error:
            self._guarding.count("failures")
            _log.error("an answer of the server could not be judged: %s", type(error).__name__)
            due = [each.method for each in requests if each.method not in UNJUDGED]
            return [(place, part, due[0], Judgement("replace", None, UNWRITTEN))] if self.withholds and due else []
        changes = [(judgement, method) for judgement, method in judged if judgement is not None]
        if self._guarding.guard.shadow or not changes:
            return []
        worst, method = max(changes, key=lambda change: gravity(change[0]))
        kinds = tuple(dict.fromkeys(kind for judgement, _ in changes for kind in judgement.redact))
        return [(place, part, method, worst._replace(redact=kinds))]

    def _settle(self, request: Request, part: str, value: Any, at: float) -> Judgement | None:
        """Judge an answer, or take note of a list; None where nothing is changed."""
        if request.method in UNJUDGED:
            if request.method == "tools/list" and part == "result" and isinstance(value, dict):
                tools, complete = self._pages.add(request.cursor, value)
                if complete:
                    self._names = frozenset(tools)
                self._guarding.listed(tools, complete=complete)
            return None
        if part == "error" or request.method != "tools/call" or not is_tool_result(value):
            if part == "result" and request.method == "tools/call" and isinstance(value, dict):
                self._begun(request, value)
            return self._judged_content(request, value)
        read = read_result(value)
        if read.is_error and self._names is not None and request.tool not in self._names:
            self._guarding.count("calls of unknown tools")
            return self._judged_content(request, value)  # the server's word that there is no such tool
        took = None if request.at is None else 1_000.0 * (at - request.at)
        outcome = Outcome(
            request.tool, request.args, read.value, took, self.session, self._call_id(), read.is_error,
            learn=not request.answered,
        )  # fmt: skip
        if self._guarding.guard.searches(request.tool):
            outcome = outcome._replace(beside=beside_value(value))
        if self._send is not None:
            outcome = self._guarding.guard.read_back(outcome, self._calls_for(request))
        return _change(self._guarding.judge(outcome))

    def _judged_content(self, request: Request, value: Any) -> Judgement | None:
        """Judge what is no tool's result by the content rules alone: an error, a resource, a prompt, a task."""
        if not self._guarding.guard.searches(request.tool):
            return None
        outcome = Outcome(request.tool, request.args, said(value), None, self.session, self._call_id())
        return _change(self._guarding.judge_content(outcome))

    def _call_id(self) -> str:
        with self._lock:
            self._calls += 1
            return f"{self.session}-{self._calls}"

    def _begun(self, request: Request, result: dict[str, Any]) -> None:
        """Remember the task that answers in a call's place: its result comes as the answer to ``tasks/result``."""
        task = result.get("task")
        if isinstance(task, dict) and isinstance(task.get("taskId"), str):
            self._tasks[task["taskId"]] = request._replace(at=None)
            if len(self._tasks) > MOST_OPEN:
                self._tasks.pop(next(iter(self._tasks)))

    # --- Requests of the guard's own ---

    def _may_ask(self) -> bool:
        """An answer that is due may be read back."""
        with self._lock:
            due = [each for requests in self._open.values() for each in requests]
        return any(map(self._is_read_back, due))

    def _is_read_back(self, request: Request) -> bool:
        return request.method == "tools/call" and self._guarding.reads_back(request.tool)

    def _calls_for(self, request: Request) -> FindCall:
        """The calls of the server's other tools that are made because of a call."""

        def find(tool: str) -> Call | None:
            unknown = self._names is not None and tool not in self._names
            if unknown or self._guarding.refusal(tool) is not None:
                return None
            return lambda args: self._asked(tool, args, request.meta)

        return find

    def _asked(self, tool: str, args: dict[str, Any], meta: Mapping[str, Any] | None) -> Answer:
        """Ask the server, and wait for what it says; whoever calls this bounds the time."""
        id_, answer = f"agentguard-{uuid4().hex}", Future[dict[str, Any]]()
        params = {"name": tool, "arguments": args, **({"_meta": dict(meta)} if meta else {})}
        with self._lock:
            self._own[key_of(id_)] = answer
        try:
            assert self._send is not None  # noqa: S101 -- else nobody asks
            self._send(write_message({"jsonrpc": "2.0", "id": id_, "method": "tools/call", "params": params}) + b"\n")
            message = answer.result(MOST_SECONDS)
        finally:
            with self._lock:
                self._own.pop(key_of(id_), None)
        result = message.get("result")
        if not isinstance(result, dict) or not is_tool_result(result):
            raise ConnectionError("the server has not answered the call")
        self._guarding.count("calls of the guard's own")
        said = read_result(result)
        return Answer(said.value, said.is_error)

    def _is_own(self, message: Any) -> bool:
        """Take in the answer to a request of the guard's own, which no client is to see."""
        if not self._own or not isinstance(message, dict) or "method" in message:
            return False
        with self._lock:
            answer = self._own.pop(key_of(message.get("id")), None)
        if answer is None:
            return False
        answer.set_result(message)
        return True

    def close(self) -> None:
        """Nothing more comes from the server: nobody waits for it."""
        with self._lock:
            waiting, self._own = list(self._own.values()), {}
        for answer in waiting:
            answer.set_exception(ConnectionError("the server is gone"))

    # --- Messages that cannot be read ---

    def withheld(self, ends: bytes, asked: Any = None, why: str = "cannot be read") -> bytes:
        """Close the request that such a message answers, and return a notice in its place; of a batch, all of them.

        Args:
            ends: the message, or its beginning and its end.
            asked: as for ``received``.
            why: completes "the result of … and was withheld".
        """
        start = _start(ends)
        told: list[bytes] = []
        if start in MESSAGE:
            own = [found[1] for found in (_FIRST_ID.match(ends), _LAST_ID.search(ends[-ENDS:])) if found]
            told = own or _ANY_ID.findall(ends[:ENDS] + ends[-ENDS:])
        made = []
        for id_ in (*([] if asked is None else [asked]), *map(_read_id, told)):
            with self._lock:
                request = next(iter(self._open.get(key_of(id_), ())), None)
            if request is None:
                continue
            self._due(request.id, closes=True)
            notice = notice_of(f"The result of {request.tool or request.method!r} {why} and was withheld.")
            made.append(_instead(request, notice))
            if start != b"[":
                return made[0]
        if made:
            return b"[" + b",".join(each.strip() for each in made) + b"]\n"
        _log.error("a message of the server %s: it is withheld, and its request cannot be told", why)
        return b""


def _start(data: bytes) -> bytes:
    """Return the first byte after white space and a byte order mark."""
    return data.lstrip(b" \t\r\n\xef\xbb\xbf")[:1]


def _read_id(text: bytes) -> Any:
    """An id as a message has it; None for text that is no JSON."""
    try:
        return read_message(text)
    except ValueError:
        return None


def is_same(one: Any, other: Any) -> bool:
    """Two ids are the same to every client."""
    return type(one) is type(other) and bool(one == other)


def _change(judgement: Judgement) -> Judgement | None:
    """The judgement, where something is to be changed by it."""
    return judgement if judgement.action != "pass" or judgement.redact else None


def _error(id_: Any, message: str) -> bytes:
    """An answer of the guard's own on a line."""
    return write_message({"jsonrpc": "2.0", "id": id_, "error": error_of(f"agentguard proxy: {message}")}) + b"\n"


def _instead(request: Request, notice: str) -> bytes:
    """An answer of the guard's own to a request, with a notice."""
    if request.method != "tools/call":
        return _error(request.id, notice)
    result = marked({}, Judgement("replace", None, notice))
    return write_message({"jsonrpc": "2.0", "id": request.id, "result": result}) + b"\n"


def _rewritten(data: bytes, found: list[tuple[int, str, str, Judgement]], odd: list[int]) -> bytes:
    """The message with what was found of each answer in it, without its odd parts, and the line's end that it had."""
    message = read_exactly(data)
    parts = message if isinstance(message, list) else [message]
    for place, part, method, judgement in found:
        mark(parts[place], part, method, judgement)
    if odd:
        message = [each for place, each in enumerate(parts) if place not in odd]
    return write_message(message) + data[len(data.rstrip(b"\r\n")) :]
