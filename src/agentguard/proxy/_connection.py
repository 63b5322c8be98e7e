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
from agentguard.guard._guard import LARGE, is_large
from agentguard.guard._read_back import Answer, Call, FindCall
from agentguard.guard._wording import notice_of
from agentguard.proxy._guarding import Guarding
from agentguard.proxy._messages import key_of, read_exactly, read_message, write_message
from agentguard.proxy._pins import Pages
from agentguard.proxy._results import is_tool_result, marked, own_meta, read_result

_log = logging.getLogger("agentguard")

#: Bytes of a message's beginning, and of its end, where servers put its id.
ENDS: Final = 256
_ID: Final = re.compile(rb'"id"\s*:\s*("(?:[^"\\]|\\.)*"|-?\d+)')
MOST_SECONDS: Final = 600.0  # that an answer to a request of the guard's own is waited for, whatever a profile says
MOST_OPEN: Final = 10_000  # requests, and tasks, of which the oldest is forgotten first


class Request(NamedTuple):
    """An open request whose answer is looked at.

    Attributes:
        method: ``tools/call`` or ``tools/list``.
        at: when it was passed on, by a clock of our own, in seconds; None where that tells nothing of the tool's time.
        tool, args: the call.
        cursor: of the list's page.
        meta: what the protocol itself keeps in the request's ``_meta``.
    """

    method: Literal["tools/call", "tools/list"]
    at: float | None
    tool: str = ""
    args: Any = None
    cursor: str | None = None
    meta: Mapping[str, Any] | None = None


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
    """Looks at the messages between one client and its server. A message that cannot be read is passed on.

    Args:
        guarding: judges.
        pages: of lists whose other pages were asked for on other connections; None: there are none.
        send: sends a request of the guard's own to the server, from any thread; None: it makes none.
    """

    def __init__(
        self, guarding: Guarding, pages: Pages | None = None, send: Callable[[bytes], None] | None = None
    ) -> None:
        self.session = uuid4().hex[:12]
        self._guarding = guarding
        self._lock = forks.lock(forks.Rank.LEAF)
        self._open: dict[Any, list[Request]] = {}
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
            return None
        try:
            if isinstance(message, list):  # of a client of 2025-03-26
                for each in message:
                    self._note(each)
                return None
            return self._note(message, answers=True)
        except Exception as error:
            _log.error("a message of the client could not be looked at: %s", type(error).__name__)
            return None

    def _note(self, message: Any, *, answers: bool = False) -> bytes | None:
        if not isinstance(message, dict) or not isinstance(message.get("method"), str):
            return None
        params = message.get("params")
        params = params if isinstance(params, dict) else {}
        match message["method"]:
            case "notifications/cancelled":
                self._taken(params.get("requestId"))
            case "tools/list" if "id" in message:
                cursor = params["cursor"] if isinstance(params.get("cursor"), str) else None
                self._put(message["id"], Request("tools/list", None, cursor=cursor))
            case "tools/call" if "id" in message and isinstance(params.get("name"), str):
                refusal = self._guarding.refusal(params["name"]) if answers else None
                if refusal is not None:
                    result = {"content": [{"type": "text", "text": refusal}], "isError": True}
                    return write_message({"jsonrpc": "2.0", "id": message["id"], "result": result}) + b"\n"
                meta = own_meta(params.get("_meta"))
                request = Request("tools/call", perf_counter(), params["name"], params.get("arguments"), meta=meta)
                self._put(message["id"], request)
            case "tasks/result" if "id" in message and isinstance(params.get("taskId"), str):
                task = self._tasks.get(params["taskId"])
                if task is not None:
                    self._put(message["id"], task)
        return None

    def _put(self, id_: Any, request: Request) -> None:
        with self._lock:
            self._open.setdefault(key_of(id_), []).append(request)
            full = len(self._open) > MOST_OPEN
            if full:
                self._open.pop(next(iter(self._open)))
        if full:
            self._guarding.count("forgotten requests")

    def _taken(self, id_: Any) -> Request | None:
        key = key_of(id_)
        with self._lock:
            requests = self._open.get(key)
            if not requests:
                return None
            request = requests.pop(0)
            if not requests:
                del self._open[key]
            return request

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
        if not self._open and not self._own:
            # No answer is due that is looked at; but what a client was told of the tools may hold no more.
            if self._names is not None and b"list_changed" in data:
                self._names = None
            return data
        at = perf_counter()
        if len(data) > LARGE:
            return Work(
                data, lambda: self._answered(data, asked, at), large=True, waits=not self._guarding.policy.shadow,
                asks=self._send is not None and self._may_ask(),
            )  # fmt: skip
        try:
            message = read_message(data)
        except ValueError:
            self._unread("server", data)
            return data
        try:
            return self._seen(data, message, asked, at)
        except Exception as error:
            _log.error("a message of the server could not be looked at: %s", type(error).__name__)
            return data

    def _seen(self, data: bytes, message: Any, asked: Any, at: float) -> bytes | Work:
        if self._is_own(message):
            return b""
        taken = self._requests_of(message, asked)
        if not taken:
            return data
        lists = all(request.method == "tools/list" for request in taken.values())
        waits = not (lists or self._guarding.policy.shadow)
        asks = self._send is not None and any(self._guarding.reads_back(each.tool) for each in taken.values())
        return Work(data, lambda: self._settled(data, message, taken, at), is_large(message), waits, asks)

    def _answered(self, data: bytes, asked: Any, at: float) -> bytes:
        """Read a large message, and do what is to be done about it."""
        try:
            message = read_message(data)
            if self._is_own(message):
                return b""
            taken = self._requests_of(message, asked)
        except Exception as error:
            self._unread("server", data)
            _log.error("a message of the server could not be looked at: %s", type(error).__name__)
            return data
        return self._settled(data, message, taken, at) if taken else data

    def _requests_of(self, message: Any, asked: Any) -> dict[int, Request]:
        """The requests that are answered, by the answer's place in a batch; those answered by an error are done."""
        taken = {}
        for place, each in enumerate(message if isinstance(message, list) else [message]):
            if not isinstance(each, dict):
                continue
            if each.get("method") == "notifications/tools/list_changed":
                self._names = None
            if "id" in each and ("result" in each or "error" in each):
                request = self._taken(each["id"])
                if request is None and asked is not None:
                    request = self._taken(asked)
                if request is not None and isinstance(each.get("result"), dict):
                    taken[place] = request
        return taken

    def _settled(self, data: bytes, message: Any, taken: dict[int, Request], at: float) -> bytes:
        """Do what is to be done about answers; the message with what was found."""
        judgements: dict[int, Judgement] = {}
        policy = self._guarding.policy
        closed = policy.on_guard_error == "closed" and not policy.shadow
        try:
            for place, request in taken.items():
                result = (message[place] if isinstance(message, list) else message)["result"]
                judgement = self._settle(request, result, at)
                if judgement is not None and not policy.shadow:
                    judgements[place] = judgement
            return _rewritten(data, judgements) if judgements else data
        except Exception as error:
            self._guarding.count("failures")
            _log.error("an answer of the server could not be judged: %s", type(error).__name__)
        calls = [place for place, request in taken.items() if request.method == "tools/call"]
        if not calls or not closed:
            return data
        notice = notice_of("The result could not be verified and was withheld.")
        try:
            return _rewritten(data, dict.fromkeys(calls, Judgement("replace", None, notice)))
        except Exception as error:  # it was read once already
            _log.error("an answer that could not be judged is not passed on: %s", type(error).__name__)
            return b""

    def _settle(self, request: Request, result: dict[str, Any], at: float) -> Judgement | None:
        """Judge a tool's result, or take note of a list; None where nothing is changed."""
        if request.method == "tools/list":
            tools, complete = self._pages.add(request.cursor, result)
            if complete:
                self._names = frozenset(tools)
            self._guarding.listed(tools, complete=complete)
            return None
        if not is_tool_result(result):
            self._begun(request, result)
            return None
        read = read_result(result)
        if read.is_error and self._names is not None and request.tool not in self._names:
            self._guarding.count("calls of unknown tools")
            return None  # the server's word that there is no such tool
        took = None if request.at is None else 1_000.0 * (at - request.at)
        with self._lock:
            self._calls += 1
            call_id = f"{self.session}-{self._calls}"
        outcome = Outcome(request.tool, request.args, read.value, took, self.session, call_id, read.is_error)
        if self._send is not None:
            outcome = self._guarding.guard.read_back(outcome, self._calls_for(request))
        judgement = self._guarding.judge(outcome, read.beside)
        if judgement.action == "pass" and not judgement.redact and not judgement.redact_artifact:
            return None
        return judgement

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
            tools = {each.tool for requests in self._open.values() for each in requests}
        return any(map(self._guarding.reads_back, tools))

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

    # --- Messages that are too long to be read ---

    @property
    def withholds(self) -> bool:
        """Such a message is not to be passed on: it may answer a call, and the policy is closed."""
        policy = self._guarding.policy
        if policy.shadow or policy.on_guard_error != "closed":
            return False
        with self._lock:
            return any(each.method == "tools/call" for requests in self._open.values() for each in requests)

    def withheld(self, ends: bytes, asked: Any = None) -> bytes:
        """What a client gets in the place of such a message: a notice, where it can be told which call it answers.

        Args:
            ends: the message's beginning and its end, where its id stands.
            asked: as for ``received``.
        """
        for id_ in (*([] if asked is None else [asked]), *map(read_message, _ID.findall(ends))):
            request = self._taken(id_)
            if request is not None and request.method == "tools/call":
                notice = notice_of(f"The result of {request.tool!r} is too long to be verified and was withheld.")
                result = marked({}, Judgement("replace", None, notice))
                return write_message({"jsonrpc": "2.0", "id": id_, "result": result}) + b"\n"
        _log.error("a message that is too long to be judged is withheld, and its request cannot be told")
        return b""


def _rewritten(data: bytes, judgements: dict[int, Judgement]) -> bytes:
    """The message with what was found of each answer in it, and the line's end that it had."""
    message = read_exactly(data)
    for place, judgement in judgements.items():
        answer = message[place] if isinstance(message, list) else message
        answer["result"] = marked(answer["result"], judgement)
    return write_message(message) + data[len(data.rstrip(b"\r\n")) :]
