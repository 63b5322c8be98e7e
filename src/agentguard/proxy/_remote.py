"""A server at a URL, spoken to by MCP's streamable HTTP: each message as the body of a request, untouched."""

from __future__ import annotations

import asyncio
import base64
import logging
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, suppress
from typing import TYPE_CHECKING, Any, Final

from agentguard.errors import ConfigurationError
from agentguard.proxy._events import Events
from agentguard.proxy._messages import LONGEST, Line, key_of, read_message, write_message
from agentguard.proxy._pins import Tool

if TYPE_CHECKING:
    import httpx

_log = logging.getLogger("agentguard")

SESSION: Final = "mcp-session-id"
VERSION: Final = "mcp-protocol-version"
JSON: Final = "application/json"
EVENTS: Final = "text/event-stream"
#: A message that carries its protocol's version by itself (2026-07-28 and later) is sent without a session, and its
#: method and name stand in headers too.
_OWN_VERSION: Final = "io.modelcontextprotocol/protocolVersion"
_NAMED: Final = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_PLAIN: Final = re.compile(r"(?!=\?base64\?.*\?=$)(?:[!-~](?:[ -~]*[!-~])?)?")

_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # of a header's name (RFC 9110)

CONNECT_SECONDS: Final = 30.0  # and as long for a message to be taken; an answer may take as long as it takes
PAUSE_MS: Final = 1_000  # before a stream is gone on with, where the server does not say; as the reference SDKs wait
LEAST_PAUSE_MS: Final = 100
LONGEST_PAUSE_MS: Final = 60_000
MOST_TRIES: Final = 2  # at going on with a stream, as the reference SDKs do
MOST_WAITING: Final = 16  # messages for the client; the server waits then
INTERNAL_ERROR: Final = -32603


def http_client(headers: Mapping[str, str]) -> httpx.AsyncClient:
    """A client of HTTP with these headers on each request; follows no redirect, for they would go there too.

    Raises:
        ConfigurationError: where httpx is not installed.
    """
    try:
        import httpx
    except ImportError as error:
        raise ConfigurationError("a server at a URL needs httpx; pip install 'agentguard[proxy]'") from error
    timeout = httpx.Timeout(CONNECT_SECONDS, read=None, pool=None)
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=20)
    return httpx.AsyncClient(headers=dict(headers), timeout=timeout, limits=limits)


class Remote:
    """A session with a server at a URL.

    Args:
        url: where it is.
        client: sends the requests.
        tool: what the server listed of a tool, whose arguments may have to stand in headers.
    """

    def __init__(self, url: str, client: httpx.AsyncClient, tool: Callable[[str], Tool | None]) -> None:
        self._url = url
        self._client = client
        self._tool = tool
        self._messages: asyncio.Queue[bytes | None] = asyncio.Queue(MOST_WAITING)
        self._under_way: set[asyncio.Task[None]] = set()
        #: Requests that carry their version: the end of such a one's stream is what says that it is cancelled.
        self._ended_by_us: dict[Any, asyncio.Task[None]] = {}
        self._session: str | None = None
        self._version: str | None = None

    async def lines(self) -> AsyncIterator[Line]:
        """What the server sends, each message on a line."""
        while (message := await self._messages.get()) is not None:
            yield Line(message)

    async def send(self, line: Line) -> None:
        """Send a message; the answer to a request comes among ``lines``."""
        if not line.whole:
            _log.error("a message of the client is longer than %d bytes, and cannot be sent to a URL", LONGEST)
            return
        try:
            message = read_message(line.data)
        except ValueError:
            message = None
        if message is None and not line.data.strip():
            return
        first = message if isinstance(message, dict) else {}
        params = first.get("params")
        own = _version_of(params)
        if first.get("method") == "notifications/cancelled" and isinstance(params, dict):
            under_way = self._ended_by_us.get(key_of(params.get("requestId")))
            if under_way is not None:
                under_way.cancel()
                return
        if any("method" in each and "id" in each for each in _each(message)):
            task = asyncio.create_task(self._guarded(message, self._post(line.data, message, own)))
            self._under_way.add(task)
            task.add_done_callback(self._under_way.discard)
            if own is not None:
                key = key_of(first.get("id"))
                self._ended_by_us[key] = task
                task.add_done_callback(lambda _: self._ended_by_us.pop(key, None))
            return
        await self._guarded(message, self._post(line.data, message, own))
        if first.get("method") == "notifications/initialized":
            listening = asyncio.create_task(self._guarded(None, self._listen()))
            self._under_way.add(listening)
            listening.add_done_callback(self._under_way.discard)

    async def close(self) -> None:
        """End the session: requests under way are given up, and the server is told."""
        for task in self._under_way:
            task.cancel()
        await asyncio.gather(*self._under_way, return_exceptions=True)
        if self._session is not None:
            import httpx

            with suppress(httpx.HTTPError):
                await self._client.delete(self._url, headers=self._headers(None), timeout=5.0)
        await self._client.aclose()
        with suppress(asyncio.QueueFull):
            self._messages.put_nowait(None)

    # --- Requests ---

    def _headers(self, own_version: str | None) -> dict[str, str]:
        headers = {"accept": f"{JSON}, {EVENTS}", "content-type": JSON}
        if self._session is not None and own_version is None:
            headers[SESSION] = self._session
        version = own_version or self._version
        if version is not None:
            headers[VERSION] = version
        return headers

    async def _guarded(self, message: Any, work: Awaitable[None]) -> None:
        """Do some work about a message; where it fails the client is told, in the protocol's own way."""
        try:
            await work
        except Exception as error:
            why = str(error) if isinstance(error, _Failed) else f"the server cannot be reached ({type(error).__name__})"
            _log.error("%s", why)
            for each in _each(message):
                if "method" in each and "id" in each:
                    problem = {"code": INTERNAL_ERROR, "message": f"agentguard proxy: {why}"}
                    await self._put(write_message({"jsonrpc": "2.0", "id": each["id"], "error": problem}))

    async def _post(self, data: bytes, message: Any, own: str | None) -> None:
        headers = self._headers(own)
        if own is not None:
            headers |= mirrored(message, self._tool)
        async with self._client.stream("POST", self._url, content=data.strip(), headers=headers) as response:
            asks = any("method" in each and "id" in each for each in _each(message))
            begins = isinstance(message, dict) and message.get("method") == "initialize"
            if not response.is_success:
                await self._refused(response, message)
                return
            if begins:
                self._session = response.headers.get(SESSION)
            kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
            if response.status_code == 202 or not asks:
                if asks:
                    raise _Failed("the server took a request and gave no answer to it (HTTP 202)")
                return
            if kind == JSON:
                body = await _body(response)
                if begins:
                    self._begun(body)
                await self._put(body)
            elif kind == EVENTS:
                await self._follow(response, message, begins=begins)
            else:
                raise _Failed(
                    f"the server answered with {kind[:80] or 'something without a type'}, which is no message"
                )

    async def _refused(self, response: httpx.Response, message: Any) -> None:
        """Pass on an error that the server tells in the protocol's own way; of another one tell its status."""
        body = await _body(response)
        with suppress(ValueError):
            answer = read_message(body)
            if isinstance(answer, dict) and isinstance(answer.get("error"), dict):
                asked = [each["id"] for each in _each(message) if "method" in each and "id" in each]
                if answer.get("id") is None and len(asked) == 1:
                    body = write_message({**answer, "id": asked[0]})
                if asked:
                    await self._put(body)
                return
        if response.status_code == 404 and self._session is not None:
            raise _Failed("the server has ended this session (HTTP 404); the client has to connect again")
        where = response.headers.get("location")
        hint = " to another address, which is not followed" if response.is_redirect and where else ""
        raise _Failed(f"the server answered with HTTP {response.status_code}{hint}")

    def _begun(self, data: bytes) -> None:
        """Take note of the version that the two have agreed on."""
        with suppress(ValueError, TypeError, KeyError):
            version = read_message(data)["result"]["protocolVersion"]
            self._version = version if isinstance(version, str) and _PLAIN.fullmatch(version) else None

    # --- Streams of events ---

    async def _follow(self, response: httpx.Response, message: Any, *, begins: bool = False) -> None:
        """Pass on what a stream brings, until all that was asked is answered; go on with one that broke off."""
        due = {key_of(each["id"]) for each in _each(message) if "method" in each and "id" in each}
        place = _Place()
        stream: httpx.Response | None = response
        async with AsyncExitStack() as opened:
            while stream is not None:
                with _breaks():
                    async for data in _messages_in(stream, place):
                        if begins:
                            self._begun(data)
                        await self._put(data)
                        due -= _answered_in(data)
                        if not due:
                            return
                await opened.aclose()
                stream = await self._gone_on(place, opened)
        raise _Failed("the server's stream ended without an answer")

    async def _gone_on(self, place: _Place, opened: AsyncExitStack) -> httpx.Response | None:
        """Open a stream that broke off again, at the place that was reached; None where that cannot be."""
        for _ in range(MOST_TRIES if place.last is not None else 0):
            await asyncio.sleep(place.pause)
            with _breaks():
                response = await self._open(place)
                opened.push_async_callback(response.aclose)
                if response.is_success:
                    return response
                await opened.aclose()
        return None

    async def _open(self, place: _Place) -> httpx.Response:
        headers = self._headers(None)
        headers["accept"] = EVENTS
        del headers["content-type"]
        if place.last is not None:
            headers["last-event-id"] = place.last
        return await self._client.send(self._client.build_request("GET", self._url, headers=headers), stream=True)

    async def _listen(self) -> None:
        """Pass on what the server sends unasked, where it has a stream for that."""
        place = _Place()
        tries = 0
        while tries < MOST_TRIES:
            with _breaks():
                response = await self._open(place)
                try:
                    if response.status_code in (400, 404, 405):
                        return  # the server has no such stream
                    if response.is_success:
                        tries = 0
                        async for data in _messages_in(response, place):
                            await self._put(data)
                finally:
                    await response.aclose()
            tries += 1
            await asyncio.sleep(place.pause)

    async def _put(self, data: bytes) -> None:
        """Hand a message to the client: on one line, since line breaks in JSON stand between its parts only."""
        await self._messages.put(data.replace(b"\r", b" ").replace(b"\n", b" ") + b"\n")


class _Failed(Exception):
    """A message could not be sent, or its answer did not come; says why."""


class _Place:
    """How far a stream was read."""

    def __init__(self) -> None:
        self.last: str | None = None
        self._pause_ms = PAUSE_MS

    @property
    def pause(self) -> float:
        """Seconds to wait before the stream is gone on with."""
        return min(max(self._pause_ms, LEAST_PAUSE_MS), LONGEST_PAUSE_MS) / 1_000

    def move(self, id_: str | None, retry: int | None) -> None:
        """Take note of an event."""
        self.last = id_ or self.last
        self._pause_ms = self._pause_ms if retry is None else retry


def _breaks() -> suppress:
    """A context that ends where a connection breaks."""
    import httpx

    return suppress(httpx.HTTPError, httpx.StreamError)


async def _messages_in(response: httpx.Response, place: _Place) -> AsyncIterator[bytes]:
    """The messages that a stream of events brings."""
    events = Events()
    async for chunk in response.aiter_bytes():
        for event in events.feed(chunk):
            if not event.whole:
                raise _Failed(f"the server sent an event longer than {LONGEST:,} bytes")
            place.move(event.id, event.retry)
            if event.data:
                yield event.data


async def _body(response: httpx.Response) -> bytes:
    parts, size = [], 0
    async for chunk in response.aiter_bytes():
        parts.append(chunk)
        size += len(chunk)
        if size > LONGEST:
            raise _Failed(f"the server sent a message longer than {LONGEST:,} bytes")
    return b"".join(parts)


def _each(message: Any) -> Iterator[dict[str, Any]]:
    """The messages of a batch, or the one that there is."""
    for each in message if isinstance(message, list) else [message]:
        if isinstance(each, dict):
            yield each


def _answered_in(data: bytes) -> set[Any]:
    try:
        message = read_message(data)
    except ValueError:
        return set()
    return {key_of(each["id"]) for each in _each(message) if "id" in each and ("result" in each or "error" in each)}


# --- Messages that carry their version ---


def _version_of(params: Any) -> str | None:
    meta = params.get("_meta") if isinstance(params, dict) else None
    version = meta.get(_OWN_VERSION) if isinstance(meta, dict) else None
    return version if isinstance(version, str) and _PLAIN.fullmatch(version) else None


def mirrored(message: dict[str, Any], tool: Callable[[str], Tool | None]) -> dict[str, str]:
    """The headers that repeat what a message says: its method, its name, and the arguments that a tool's schema names.

    >>> mirrored({"method": "tools/call", "params": {"name": "search"}}, lambda name: None)
    {'mcp-method': 'tools/call', 'mcp-name': 'search'}
    """
    method, params = message.get("method"), message.get("params")
    if not isinstance(method, str) or not isinstance(params, dict):
        return {}
    headers = {"mcp-method": _written(method)}
    name = params.get(_NAMED.get(method, ""))
    if isinstance(name, str):
        headers["mcp-name"] = _written(name)
    if method == "tools/call" and isinstance(name, str):
        schema = (tool(name) or {}).get("inputSchema")
        for header, value in _arguments_in_headers(schema, params.get("arguments")):
            headers[f"mcp-param-{header}"] = _written(value)
    return headers


def _arguments_in_headers(schema: Any, arguments: Any) -> Iterator[tuple[str, str]]:
    """The arguments whose schema says ``x-mcp-header``, as the text that stands in that header."""
    pending = [(schema, arguments)]
    while pending:
        part, value = pending.pop()
        properties = part.get("properties") if isinstance(part, Mapping) else None
        if not isinstance(properties, Mapping) or not isinstance(value, Mapping):
            continue
        for name, inner in properties.items():
            argument = value.get(name)
            header = inner.get("x-mcp-header") if isinstance(inner, Mapping) else None
            if isinstance(header, str) and _TOKEN.fullmatch(header) and isinstance(argument, (str, int, float)):
                yield header, str(argument).lower() if isinstance(argument, bool) else str(argument)
            pending.append((inner, argument))


def _written(value: str) -> str:
    """A text as a header has it: as it is, or in Base64 where a header cannot hold it."""
    if _PLAIN.fullmatch(value):
        return value
    return f"=?base64?{base64.b64encode(value.encode('utf-8', 'surrogatepass')).decode('ascii')}?="
