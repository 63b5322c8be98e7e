"""A front of HTTP before a server at a URL: requests and answers pass, with the messages in them looked at."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from agentguard.guard._read_back import in_thread
from agentguard.proxy._connection import ENDS, TOO_LONG, Connection, Work
from agentguard.proxy._events import Events, read_event, with_data
from agentguard.proxy._guarding import Guarding
from agentguard.proxy._messages import LONGEST, read_message
from agentguard.proxy._pins import Pages
from agentguard.proxy._remote import EVENTS, JSON, SESSION, mirrored

if TYPE_CHECKING:
    import httpx

_log = logging.getLogger("agentguard")

Scope = Mapping[str, Any]
Receive = Callable[[], Any]
Send = Callable[[Mapping[str, Any]], Any]

PATHS: Final = ("/mcp", "/mcp/")
MOST_SESSIONS: Final = 10_000  # of which the least recently used one is forgotten first
REST_SECONDS: Final = 10.0  # for what still comes of a message that is too long
METHODS: Final = ("GET", "POST", "DELETE", "OPTIONS")
#: Headers of one connection (RFC 9110, 7.6.1), and those that are made anew for the other.
_NOT_PASSED: Final = frozenset(
    "accept-encoding connection content-encoding content-length host keep-alive origin proxy-authenticate "
    "proxy-authorization proxy-connection te trailer transfer-encoding upgrade".split()
)
_MIRRORING: Final = ("mcp-method", "mcp-name", "mcp-param-")  # headers that repeat what a message says
#: The headers of the request whose answer is being looked at.
_passed: Final[ContextVar[Mapping[str, str]]] = ContextVar("agentguard_proxy_passed", default={})  # noqa: B039 -- only read
_LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")


class HttpFront:
    """An ASGI application at ``/mcp``.

    Args:
        url: the server.
        client: sends the requests; what headers it has stand over the client's own.
        guarding: judges.
        is_open: other machines may reach it. Where they may not, a request that a page of some site makes a browser
            send is refused: it names another host.
    """

    def __init__(self, url: str, client: httpx.AsyncClient, guarding: Guarding, *, is_open: bool = False) -> None:
        self._url = url
        self._client = client
        self._guarding = guarding
        self._is_open = is_open
        self._sessions: OrderedDict[str, Connection] = OrderedDict()
        self._pages = Pages()  # of servers without sessions

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        if not self._is_open and not _is_local(headers):
            await _answer(send, 403, b"this address is for programs of this machine")
        elif scope["path"] not in PATHS:
            await _answer(send, 404, b"the server is at /mcp")
        elif scope["method"] not in METHODS:
            await _answer(send, 405, b"")
        else:
            body = await _body(receive)
            if body is None:
                await _answer(send, 413, b"the message is too long")
                return
            # Whoever goes away ends the request to the server too.
            work = asyncio.create_task(self._pass(scope["method"], headers, body, send))
            gone = asyncio.create_task(_gone(receive))
            try:
                await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
                if work.done():
                    work.result()
            finally:
                for task in (work, gone):
                    task.cancel()
                await asyncio.gather(work, gone, return_exceptions=True)

    async def _pass(self, method: str, headers: Mapping[str, str], body: bytes, send: Send) -> None:
        import httpx

        connection = self._connection(headers.get(SESSION))
        refusal = connection.sent(body) if method == "POST" else None
        if refusal is not None:
            await _answer(send, 200, refusal, JSON)
            return
        own = {name.lower() for name in self._client.headers if name.lower() not in ("accept", "user-agent")}
        passed = {name: value for name, value in headers.items() if name not in _NOT_PASSED and name not in own}
        passed["accept-encoding"] = "identity"  # so that what is streamed can be read as it comes
        _passed.set(passed)  # for what the guard itself asks because of the answer
        started = False
        try:
            async with self._client.stream(method, self._url, content=body, headers=passed) as response:
                session = response.headers.get(SESSION)
                if session is not None:
                    self._keep(session, connection)
                if method == "DELETE" and response.is_success:
                    self._sessions.pop(headers.get(SESSION, ""), None)
                started = True
                await self._return(response, connection, _id_in(body) if method == "POST" else None, send)
        except httpx.HTTPError as error:
            _log.error("the server cannot be reached: %s", type(error).__name__)
            if not started:
                await _answer(send, 502, b"the server cannot be reached")

    def _connection(self, session: str | None) -> Connection:
        if session is not None and session in self._sessions:
            self._sessions.move_to_end(session)
            return self._sessions[session]
        loop = asyncio.get_running_loop()

        def ask(data: bytes) -> None:
            asking = self._ask(connection, data, _passed.get())
            asyncio.run_coroutine_threadsafe(asking, loop).result()

        connection = Connection(self._guarding, None if session is not None else self._pages, ask)
        if session is not None:
            self._keep(session, connection)
        return connection

    async def _ask(self, connection: Connection, data: bytes, passed: Mapping[str, str]) -> None:
        """Send a request of the guard's own, as the client whose call it is about would; its answer is received."""
        headers = {name: value for name, value in passed.items() if not name.startswith(_MIRRORING)}
        if _MIRRORING[0] in passed:
            headers |= mirrored(read_message(data), self._guarding.tool)
        async with self._client.stream("POST", self._url, content=data, headers=headers) as response:
            if not response.is_success:  # of the address, and not of what was asked for
                raise ConnectionError(f"HTTP {response.status_code}")
            if _kind_of(response) == EVENTS:
                async for _ in _events(response, connection, None):
                    pass
                return
            size, parts = 0, []
            async for chunk in response.aiter_bytes():
                parts.append(chunk)
                size += len(chunk)
                if size > LONGEST:
                    raise ConnectionError("the answer is too long")
            await _looked_at(connection, b"".join(parts), None)

    def _keep(self, session: str, connection: Connection) -> None:
        self._sessions[session] = connection
        if len(self._sessions) > MOST_SESSIONS:
            self._sessions.popitem(last=False)

    async def _return(self, response: httpx.Response, connection: Connection, asked: Any, send: Send) -> None:
        """Return an answer, with the messages in it as they are to be passed on."""
        kind = _kind_of(response)
        headers = [
            (name.encode("latin-1"), value.encode("latin-1"))
            for name, value in response.headers.multi_items()
            if name.lower() not in _NOT_PASSED
        ]
        start = {"type": "http.response.start", "status": response.status_code, "headers": headers}
        if kind == EVENTS:
            await send(start)
            async for raw in _events(response, connection, asked):
                await send({"type": "http.response.body", "body": raw, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
            return
        parts, size = [], 0
        chunks = response.aiter_bytes()
        async for chunk in chunks:
            parts.append(chunk)
            size += len(chunk)
            if size > LONGEST:
                break
        else:
            body = b"".join(parts)
            # Whatever type a server gives its answer: some clients read it as JSON all the same.
            if kind == JSON or (connection.withholds and asked is not None and response.is_success):
                body = await _looked_at(connection, body, asked)
            headers.append((b"content-length", str(len(body)).encode()))
            await send(start)
            await send({"type": "http.response.body", "body": body})
            return
        if connection.withholds:
            await _answer(send, 200, connection.withheld(b"", asked, TOO_LONG), JSON)
            return
        _log.warning("a message of the server is longer than %d bytes: it passes unjudged", LONGEST)
        await send(start)
        for part in parts:
            await send({"type": "http.response.body", "body": part, "more_body": True})
        async for chunk in chunks:
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
        await send({"type": "http.response.body", "body": b""})


def _kind_of(response: httpx.Response) -> str:
    kind: str = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    return kind


async def _events(response: httpx.Response, connection: Connection, asked: Any) -> AsyncIterator[bytes]:
    """The events of a stream, with the messages in them as they are to be passed on."""
    events = Events(LONGEST)
    async for chunk in response.aiter_bytes():
        for event in events.feed(chunk):
            if not event.whole and connection.withholds:
                notice = connection.withheld(read_event(event.raw[:ENDS]).data, asked, TOO_LONG)
                yield b"data: " + notice + b"\n" if notice else b""
                return
            if not event.data:
                yield event.raw
                continue
            step = connection.received(event.data, asked)
            if isinstance(step, Work) and not step.waits:
                yield event.raw
                await _done(step)
                continue
            message = step if isinstance(step, bytes) else await _done(step)
            if message:  # else it was for the guard, or is withheld
                yield event.raw if message == event.data else with_data(event, message.rstrip(b"\n"))
    rest = events.rest()
    if rest and not connection.withholds:
        yield rest


async def _looked_at(connection: Connection, body: bytes, asked: Any) -> bytes:
    step = connection.received(body, asked)
    return step if isinstance(step, bytes) else await _done(step)


async def _done(step: Work) -> bytes:
    if step.asks:  # it waits for what others do
        return await asyncio.wrap_future(in_thread(step.run))
    return await asyncio.to_thread(step.run) if step.large else step.run()


def _id_in(body: bytes) -> Any:
    with suppress(ValueError):
        message = read_message(body)
        if isinstance(message, dict) and "method" in message:
            return message.get("id")
    return None


def _is_local(headers: Mapping[str, str]) -> bool:
    """The request was meant for this machine, and comes from no page of another.

    >>> _is_local({"host": "localhost:8000"}), _is_local({"host": "evil.example"})
    (True, False)
    >>> _is_local({"host": "127.0.0.1:8000", "origin": "https://evil.example"})
    False
    """
    try:
        named = [urlsplit(f"//{headers.get('host', '')}").hostname]
        if "origin" in headers:
            named.append(urlsplit(headers["origin"]).hostname)
    except ValueError:
        return False
    return all(name in _LOOPBACK for name in named)


async def _body(receive: Receive) -> bytes | None:
    """The body of a request; None where it is too long."""
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return b"".join(parts)
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > LONGEST:
            if message.get("more_body"):
                with suppress(asyncio.TimeoutError):  # a client that sends on would not see the answer
                    await asyncio.wait_for(_rest_of(receive), REST_SECONDS)
            return None
        if not message.get("more_body"):
            return b"".join(parts)


async def _rest_of(receive: Receive) -> None:
    """Throw away what still comes of a body."""
    while (message := await receive())["type"] == "http.request" and message.get("more_body"):
        pass


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _answer(send: Send, status: int, body: bytes, kind: str = "text/plain; charset=utf-8") -> None:
    headers = [(b"content-type", kind.encode()), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
