"""Connections to addresses that have been checked: a name is looked up once, and what was checked is connected to.

A client that checks a name and then connects to the name can be sent elsewhere in between. Here the look-up is part of
connecting. The name stays what the certificate is held against and what the server is told.
"""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Iterable, Iterator
from typing import Any

import httpcore
import httpx

from agentguard.gate.ingest.addresses import refusal

__all__ = ["AddressRefused", "CheckedTransport"]


class AddressRefused(Exception):
    """A name leads to an address that is not asked; the message says which, and why."""


class CheckedTransport(httpx.BaseTransport):
    """A transport of httpx; all its requests together must be done by a deadline, whatever the server does.

    Args:
        tls: whose certificates are believed.
        allow_private: whether private addresses may be connected to.
        seconds: from now on, for everything but looking up names, which the system limits itself.
    """

    def __init__(self, tls: ssl.SSLContext, allow_private: bool, seconds: float) -> None:
        network = _CheckedNetwork(allow_private, time.monotonic() + seconds)
        self._pool = httpcore.ConnectionPool(ssl_context=tls, network_backend=network)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send one request; redirects are not followed."""
        response = self._pool.handle_request(
            httpcore.Request(
                method=request.method,
                url=httpcore.URL(
                    scheme=request.url.raw_scheme,
                    host=request.url.raw_host,
                    port=request.url.port,
                    target=request.url.raw_path,
                ),
                headers=request.headers.raw,
                content=request.stream,
                extensions=request.extensions,
            )
        )
        if not isinstance(response.stream, Iterable):
            raise TypeError("a synchronous pool answered with an asynchronous stream")
        return httpx.Response(response.status, headers=response.headers, stream=_Body(response.stream))

    def close(self) -> None:
        """Close all connections."""
        self._pool.close()


class _Body(httpx.SyncByteStream):
    def __init__(self, stream: Iterable[bytes]) -> None:
        self._stream = stream

    def __iter__(self) -> Iterator[bytes]:
        yield from self._stream

    def close(self) -> None:
        close = getattr(self._stream, "close", None)
        if close is not None:
            close()


class _CheckedNetwork(httpcore.NetworkBackend):
    def __init__(self, allow_private: bool, deadline: float) -> None:
        self._allow_private = allow_private
        self._deadline = deadline
        self._system = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        try:
            answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            raise httpcore.ConnectError(f"{host} cannot be looked up: {error}") from None
        addresses = list(dict.fromkeys(str(answer[4][0]) for answer in answers))
        for address in addresses:
            reason = refusal(address, self._allow_private)
            if reason is not None:
                raise AddressRefused(f"{host} leads to an address that is not asked: {reason}")
        failure: Exception = httpcore.ConnectError(f"{host} has no address")
        for address in addresses:
            try:
                left = _left(self._deadline, timeout)
                stream = self._system.connect_tcp(address, port, left, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
            else:
                return _Stream(stream, self._deadline)
        raise failure

    def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[Any] | None = None
    ) -> httpcore.NetworkStream:
        raise httpcore.ConnectError("sockets of this machine are not asked")


class _Stream(httpcore.NetworkStream):
    """A connection that no single read, and no number of them, keeps open beyond the deadline."""

    def __init__(self, stream: httpcore.NetworkStream, deadline: float) -> None:
        self._stream = stream
        self._deadline = deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, _left(self._deadline, timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, _left(self._deadline, timeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        left = _left(self._deadline, timeout)
        return _Stream(self._stream.start_tls(ssl_context, server_hostname, left), self._deadline)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


def _left(deadline: float, timeout: float | None) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise httpcore.ReadTimeout("the time for the whole document is over")
    return left if timeout is None else min(left, timeout)
