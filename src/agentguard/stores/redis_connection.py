"""The way to a Redis server: its address, the client, and errors that say what to do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from agentguard import forks
from agentguard.errors import ConfigurationError, StoreError

from .redis_scripts import Script

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

__all__ = ["RedisConnection"]

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

    def run(self, script: Script, root: bytes, *arguments: bytes | str | int) -> Any:
        """What the script returns, texts in it as bytes.

        Raises:
            StoreError: where the server cannot be reached or refuses; whether the script ran may not be known then.
        """
        if not self._open:
            raise StoreError("the store is closed; open a new one")
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

    def _once(self, script: Script, root: bytes, arguments: tuple[bytes | str | int, ...]) -> Any:
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
    """What the URL says; messages name its parts and quote none, for any of them may be a misplaced password."""
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
