"""A store on a Redis server, which many processes and machines share."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from hashlib import blake2b, sha1
from importlib.resources import files
from itertools import islice
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

from agentguard import _forks as forks
from agentguard.errors import ConfigurationError, StoreError
from agentguard.stores._base import (
    HOUR,
    Delta,
    Document,
    Event,
    Record,
    Standing,
    checked_age,
    checked_delta,
    checked_name,
    decode,
    encode,
)

try:
    from redis import Redis
    from redis.backoff import NoBackoff
    from redis.connection import ConnectionPool, UnixDomainSocketConnection, parse_url
    from redis.exceptions import (
        AuthenticationError,
        AuthorizationError,
        BusyLoadingError,
        ClusterDownError,
        ConnectionError,
        MovedError,
        NoPermissionError,
        NoScriptError,
        OutOfMemoryError,
        ReadOnlyError,
        RedisError,
        ResponseError,
        TimeoutError,
    )
    from redis.retry import Retry
except ImportError as error:
    raise ConfigurationError("RedisStore needs redis; pip install 'agentguard[redis]'") from error


class _Script(NamedTuple):
    """A Lua script: its source, the name of a server that has seen it, and whether it may run twice."""

    source: str
    sha: str
    repeatable: bool


@cache
def _scripts() -> dict[str, _Script]:
    """The scripts of ``redis.lua`` by name."""
    text = files(__package__).joinpath("redis.lua").read_text(encoding="utf-8")
    _, _, shared, *rest = re.split(r"^--- (\w+)( once)?\n", text, flags=re.MULTILINE)[1:]
    scripts = {}
    for name, once, body in zip(rest[::3], rest[1::3], rest[2::3], strict=True):
        source = shared + body
        sha = sha1(source.encode(), usedforsecurity=False).hexdigest()  # by which EVALSHA knows a script
        scripts[name] = _Script(source, sha, repeatable=not once)
    return scripts


IDLE: Final = 30  # seconds after which a connection is tried before it is used
QUERY: Final = (
    "client_name", "db", "socket_keepalive", "ssl_ca_certs", "ssl_ca_data", "ssl_ca_path", "ssl_cert_reqs",
    "ssl_certfile", "ssl_check_hostname", "ssl_keyfile", "ssl_keyfile_password", "ssl_min_version",
)  # fmt: skip

# What to do, by the error's class, and for what the client has no class for by the first word of the server's message.
ADVICE: Final[tuple[tuple[type[Exception], str], ...]] = (
    (AuthenticationError, "refuses the login: check user and password in the URL"),
    (AuthorizationError, "refuses the login: check user and password in the URL"),
    (NoPermissionError, "does not let this user do that: allow the user the prefix and scripts"),
    (BusyLoadingError, "is still loading its data: try again shortly"),
    (TimeoutError, "did not answer in time: see whether it runs and can be reached, or allow a longer timeout"),
    (OutOfMemoryError, "is out of memory: prune the store, lower its bounds or raise maxmemory"),
    (ReadOnlyError, "is a replica: name the primary in the URL"),
    (MovedError, "is a node of a cluster, and another one keeps these keys: name that one, or a proxy, in the URL"),
    (ClusterDownError, "is a node of a cluster that is down"),
)
REFUSALS: Final = {
    "MISCONF": "cannot write to its disk: free some room, or mend what its log says",
    "NOAUTH": "asks for a password: put one into the URL",
    "WRONGTYPE": "has keys of something else under this prefix: choose another prefix",
    "NOREPLICAS": "has too few replicas to accept writes",
    "BUSY": "is busy with a script of somebody's",
}


class RedisConnection:
    """Runs scripts on one server; every failure is a ``StoreError`` that names the server and never a password.

    The client is asked for no patience: one attempt, ``timeout`` seconds to connect and as many for the answer. A
    connection that broke meanwhile is noticed and made anew before it is used; a child process makes its own.

    Args:
        server: a URL, or a client of redis-py.
        timeout: in seconds.

    >>> RedisConnection("redis://guard:secret@cache.example:6380/2", timeout=1.0).where
    'cache.example:6380/2'
    """

    def __init__(self, server: str | Redis, timeout: float) -> None:
        self._own = isinstance(server, str)
        self._client = _client(server, timeout) if isinstance(server, str) else server
        self._execute: Callable[..., Any] = self._client.execute_command
        self._open = True
        pool = self._client.connection_pool
        if pool.connection_kwargs.get("decode_responses"):
            raise ConfigurationError("the client of a RedisStore must answer with bytes: leave decode_responses off")
        # A Sentinel is asked for the server of a service at each connection.
        self.where = getattr(pool, "service_name", None) or _place(pool.connection_kwargs)

    def run(self, name: str, root: bytes, *arguments: bytes | str | int) -> Any:
        """Run a script and return its answer, texts in it as bytes.

        Raises:
            StoreError: where the server cannot be reached or refuses; whether the script ran may not be known then.
        """
        if not self._open:
            raise StoreError("the store is closed; open a new one")
        script = _scripts()[name]
        try:
            with forks.undivided():  # the client's locks, and its connections
                try:
                    return self._once(script, root, arguments)
                except ConnectionError as error:
                    if not script.repeatable or isinstance(error, AuthenticationError | BusyLoadingError):
                        raise
                    return self._once(script, root, arguments)
        except (RedisError, OSError, UnicodeError) as error:
            raise StoreError(f"Redis at {self.where} {_advice(error)}") from error

    def close(self) -> None:
        """Close the connections, where the client is not somebody else's."""
        self._open = False
        if self._own:
            self._client.close()
            self._client.connection_pool.disconnect()

    def _once(self, script: _Script, root: bytes, arguments: tuple[bytes | str | int, ...]) -> Any:
        try:
            return self._execute("EVALSHA", script.sha, 1, root, *arguments)
        except NoScriptError:  # a server that was restarted has forgotten it
            return self._execute("EVAL", script.source, 1, root, *arguments)


def _client(url: str, timeout: float) -> Redis:
    settings = _settings(url)
    settings |= {
        "socket_timeout": timeout,
        "socket_connect_timeout": timeout,
        "health_check_interval": IDLE,
        "retry": Retry(NoBackoff(), 0),
        "protocol": 2,
    }
    try:
        pool = ConnectionPool(**settings)
        # Settings that do not go together are refused now, not at the first call.
        pool.connection_class(**pool.connection_kwargs)
    except (RedisError, TypeError, ValueError) as error:
        raise ConfigurationError(f"the URL of Redis: {type(error).__name__}: {error}") from None
    return Redis(connection_pool=pool)


def _settings(url: str) -> dict[str, Any]:
    """Parse the URL; messages name its parts and quote none, since any may be a misplaced password."""
    scheme, separator, rest = url.partition("://")
    url = scheme.lower() + separator + rest
    try:
        settings: dict[str, Any] = parse_url(url)  # type: ignore[no-untyped-call]  # redis-py leaves it bare
        parts = urlsplit(url)
    except ValueError:
        raise ConfigurationError(
            "the URL of Redis cannot be read: it is redis://user:password@host:port/0, rediss://… for TLS or "
            "unix:///path, with / # ? @ : and % in a password written as %2F %23 %3F %40 %3A and %25"
        ) from None
    kind = settings.get("connection_class")
    if kind is UnixDomainSocketConnection:
        if not settings.get("path"):
            raise ConfigurationError("the URL of Redis names no socket: unix:///path/to/redis.sock")
    elif parts.path.strip("/") and not parts.path.strip("/").isdecimal():
        raise ConfigurationError(
            "the URL of Redis must end in the number of a database; write a / in a password as %2F, # as %23, ? as %3F"
        )
    if not set(parse_qs(parts.query)) <= set(QUERY):
        raise ConfigurationError(f"the URL of Redis sets an option that is none of {', '.join(QUERY)}")
    if any(key.startswith("ssl_") for key in settings) and not url.startswith("rediss://"):
        raise ConfigurationError("the URL of Redis has settings for TLS, which only rediss:// uses")
    return settings


def _place(settings: Mapping[str, Any]) -> str:
    host = settings.get("host", "localhost")
    address = f"[{host}]" if ":" in host else host
    return f"{settings.get('path') or address + ':' + str(settings.get('port', 6379))}/{settings.get('db') or 0}"


def _advice(error: Exception) -> str:
    advice = next((text for kind, text in ADVICE if isinstance(error, kind)), None)
    if advice is None and isinstance(error, ResponseError):
        advice = REFUSALS.get(str(error).partition(" ")[0], "refuses what was asked")
    return f"{advice or 'cannot be reached: see whether it runs, and try again'} ({error})"


WEEK: Final = 168 * HOUR
PAGE: Final = 256  # events, keys of counts or names that one script reads: what the server does meanwhile is wait
DOCUMENTS: Final = 32  # of a page; these are longer
LAST: Final = 1 << 62


class RedisStore:
    """A store that many processes and machines share, on one Redis server (5 or later; tested on 7).

    The server does each thing in one step, by its own clock. What it has acknowledged is as safe as Redis is set up to
    keep it. With ``appendonly yes``, ``appendfsync always`` and ``aof-load-truncated no`` it survives a kill and a
    power cut. With ``everysec`` the last two seconds may be lost with the process, and without an append-only file a
    restart loses what came since the last dump. ``docs/operations.md`` has the reason of each.

    Nothing waits long for a server that is gone: a call takes ``timeout`` seconds at most to connect and as many for
    the answer, twice that where it is repeated on a new connection, and raises ``StoreError``. The next call tries
    again. A claim or an event is never sent twice by one call.

    Login and encryption are the URL's: ``rediss://user:password@host:6379/0?ssl_ca_certs=/etc/ssl/redis.pem``. A user
    of its own needs ``~{agentguard}:* +@read +@write +@scripting +@connection +time``.

    Args:
        url: ``redis://``, ``rediss://`` (TLS) or ``unix://``; or a client of redis-py, of a Sentinel say, which must
            answer with bytes, should not retry by itself, and is not closed with the store.
        prefix: of all keys, without braces: ``{prefix}:…``, so that a cluster keeps them on one node.
        flush_seconds: how often an engine hands over what it learned.
        max_events: the newest of each kind that are kept; claims of a kind likewise.
        max_age: seconds after which events, claims and documents go, at some later write; None: never.
        max_names: documents, and names of counts in each hour; the ones longest untouched go first.
        max_hours: of counts. A worker that sent nothing for as long, and for a week, is forgotten.
        timeout: seconds to wait for a connection, and for an answer.
        clock: seconds since the epoch, for tests; None: the server's clock.

    Raises:
        ConfigurationError: for a URL or a bound that cannot be used. The server is not asked before the first call.
    """

    is_near: bool = False

    def __init__(
        self,
        url: str | Redis,
        *,
        prefix: str = "agentguard",
        flush_seconds: float = 1.0,
        max_events: int = 100_000,
        max_age: float | None = None,
        max_names: int = 10_000,
        max_hours: int = 168,
        timeout: float = 1.0,
        clock: Callable[[], float] | None = None,
    ) -> None:
        if not prefix or set(prefix) & set("{}"):
            raise ConfigurationError("the prefix of a RedisStore is one character or more, none of them { or }")
        for name, bound in {"max_events": max_events, "max_names": max_names, "max_hours": max_hours}.items():
            if bound < 1:
                raise ConfigurationError(f"{name} of a RedisStore must be at least 1, not {bound}")
        for name, seconds in {"flush_seconds": flush_seconds, "timeout": timeout, "max_age": max_age}.items():
            if seconds is not None and not seconds > 0:
                raise ConfigurationError(f"{name} of a RedisStore must be above 0 seconds, not {seconds}")
        self.flush_seconds: float | None = flush_seconds
        self._connection = RedisConnection(url, timeout)
        self._prefix, self._root = prefix, _key(f"{{{prefix}}}:1")
        self._max_events, self._max_names, self._max_hours = max_events, max_names, max_hours
        self._max_age, self._clock = max_age, clock
        self._pruned = -math.inf

    def __repr__(self) -> str:
        return f"<RedisStore at {self._connection.where}, prefix {self._prefix!r}>"

    def standing(self, kinds: Iterable[str], /) -> Standing:
        wanted = list(dict.fromkeys(checked_name("the kind of an event", kind) for kind in kinds))
        epoch, *last = self._run("standing", uuid4().hex, *map(_key, wanted))
        return Standing(_text(epoch), dict(zip(wanted, map(int, last), strict=True)))

    def append(self, kind: str, event: Event, /) -> int:
        return self.extend(kind, (event,))

    def extend(self, kind: str, events: Sequence[Event], /) -> int:
        key = _key(checked_name("the kind of an event", kind))
        encoded = [encode("an event", event) for event in events]
        if not encoded:
            return 0
        self._prune_now_and_then()
        return int(self._run("append", key, self._max_events, *encoded))

    def events(self, kind: str, /, after: int = 0) -> Iterator[Record]:
        key = _key(checked_name("the kind of an event", kind))
        first = min(max(after, 0), LAST) + 1
        # Read now, also where the iterator is not: an error belongs to this call, and so does the last number.
        page = self._run("events", key, first, "", PAGE)
        return self._pages(kind, key, page)

    def claim(self, kind: str, key: str, /) -> bool:
        name, key = checked_name("the kind of a claim", kind), checked_name("the key of a claim", key)
        self._prune_now_and_then()
        digest = blake2b(_key(key), digest_size=16).digest()
        return bool(self._run("claim", _key(name), digest, self._max_events))

    def merge(self, delta: Delta, /) -> int:
        arguments: list[bytes | int] = []
        for name, fields in checked_delta(delta).items():
            arguments += (_key(name), len(fields))
            for field, count in fields.items():
                arguments += (_key(field), count)
        known = max(self._max_hours * HOUR, WEEK)
        merged, answer = self._run(
            "merge", _key(delta.worker), delta.sequence, known, self._max_names, self._max_hours, *arguments
        )
        if not merged:
            raise StoreError(f"the counts of {_text(answer)!r} would pass 64 bits; nothing of this delta was added")
        return int(answer)

    def counts(self, names: Iterable[str] | None = None, /, since: int = 0) -> dict[int, dict[str, dict[str, int]]]:
        wanted = None if names is None else _keys(names)
        hours = self._run("hours", min(max(since, -LAST), LAST), self._max_hours)
        places = (
            (hour, key) for hour in hours for key in (self._run("names_of_hour", hour) if wanted is None else wanted)
        )
        result: dict[int, dict[str, dict[str, int]]] = {}
        while page := list(islice(places, PAGE)):
            answer = self._run("counts", *(part for hour_and_name in page for part in hour_and_name))
            for (hour, key), counted in zip(page, answer, strict=True):
                if counted:
                    result.setdefault(int(hour), {})[_text(key)] = self._counted(key, counted)
        return result

    def save(self, documents: Mapping[str, Document], /) -> None:
        arguments: list[bytes] = []
        for name, document in documents.items():
            arguments += (
                _key(checked_name("the name of a document", name)),
                encode(f"the document {name!r}", document),
            )
        self._prune_now_and_then()
        self._run("save", self._max_names, *arguments)

    def load(self, names: Iterable[str] | None = None, /) -> dict[str, Document]:
        keys = iter(self._run("names") if names is None else _keys(names))
        documents: list[tuple[float, str, Document]] = []
        while page := list(islice(keys, DOCUMENTS)):
            answer = self._run("load", *page)
            for key, position, data in zip(page, answer[::2], answer[1::2], strict=True):
                if position:
                    documents.append((float(position), _text(key), self._decoded(f"the document {_text(key)!r}", data)))
        return {name: document for _, name, document in sorted(documents, key=lambda item: item[0])}

    def names(self) -> Sequence[str]:
        return tuple(_text(key) for key in self._run("names"))

    def forget(self, names: Iterable[str], /) -> None:
        keys = iter(_keys(names))
        while page := list(islice(keys, PAGE)):
            self._run("forget", *page)

    def prune(self, max_age: float, /) -> int:
        checked_age(max_age)
        age, removed = repr(float(max_age)), 0
        for kind in self._run("kinds"):
            while gone := self._run("prune_kind", age, PAGE, kind):
                removed += gone
        while gone := self._run("prune_documents", age, PAGE):
            removed += gone
        while (answer := self._run("prune_hour", age))[0]:
            removed += answer[1]
        return removed

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> RedisStore:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _pages(self, kind: str, key: bytes, page: list[bytes]) -> Iterator[Record]:
        last = page[0]
        while len(page) > 1:
            for entry, at, data in zip(page[1::3], page[2::3], page[3::3], strict=True):
                sequence = int(entry.partition(b"-")[0])
                yield Record(sequence, float(at), self._decoded(f"event {sequence} of {kind!r}", data))
            if len(page) < 1 + 3 * PAGE:
                return
            page = self._run("events", key, sequence + 1, last, PAGE)

    def _prune_now_and_then(self) -> None:
        if self._max_age is None:
            return
        moment = (self._clock or time.monotonic)()
        if moment - self._pruned >= min(self._max_age / 10, HOUR):
            self.prune(self._max_age)
            self._pruned = moment

    def _run(self, script: str, *arguments: bytes | str | int) -> Any:
        moment = "" if self._clock is None else repr(float(self._clock()))
        return self._connection.run(script, self._root, moment, *arguments)

    def _decoded(self, what: str, data: bytes) -> Document:
        try:
            value = decode(data)
        except ValueError as error:
            raise self._foreign(what) from error
        if not isinstance(value, dict):
            raise self._foreign(what)
        return value

    def _counted(self, key: bytes, counted: list[bytes]) -> dict[str, int]:
        try:
            return {_text(field): int(count) for field, count in zip(counted[::2], counted[1::2], strict=True)}
        except ValueError as error:
            raise self._foreign(f"the counts of {_text(key)!r}") from error

    def _foreign(self, what: str) -> StoreError:
        return StoreError(
            f"Redis at {self._connection.where}: {what} is nothing that a store has written; find out who did, "
            "and remove it"
        )


def _keys(names: Iterable[str]) -> list[bytes]:
    return list(dict.fromkeys(_key(checked_name("a name", name)) for name in names))


def _key(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _text(key: bytes) -> str:
    return key.decode("utf-8", "surrogatepass")
