"""Fetch documents by their addresses on the web. Nothing that they link to is followed.

A client that checks a name and then connects to the name can be sent elsewhere in between. Here a name is looked up
once, as part of connecting, and what was checked is connected to. The name stays what the certificate is held against
and what the server is told.
"""

from __future__ import annotations

import re
import socket
import ssl
import time
import zlib
from collections.abc import Iterable, Iterator
from functools import partial
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Any, Final
from urllib.parse import unquote, urlsplit

import httpcore
import httpx

from agentguard.errors import DataError
from agentguard.gate._config import HttpSource
from agentguard.gate.documents._text import MAX_BYTES, Found, Listing, Raw

#: Where machines of a cloud are told their credentials, as far as these are not link-local: nothing lies there to read.
_METADATA: Final = frozenset({IPv4Address("100.100.100.200"), IPv4Address("192.0.0.192"), IPv6Address("fd00:ec2::254")})
#: The only IPv6 addresses that have been given out for the Internet.
_GLOBAL_UNICAST: Final = IPv6Network("2000::/3")
#: IPv6 addresses whose last 32 bits are the IPv4 address that a translator asks.
_TRANSLATED: Final = (IPv6Network("64:ff9b::/96"), IPv6Network("64:ff9b:1::/48"))
_SHARED: Final = IPv4Network("100.64.0.0/10")


def refusal(address: str, allow_private: bool = False) -> str | None:
    """Reason why an address must not be asked; None if it may be.

    Private networks, this machine and the addresses that providers share among customers may be asked where
    ``allow_private`` says so; link-local ones, metadata services, multicast and what stands for no machine never.
    IPv4 addresses inside IPv6 ones (mapped, 6to4, Teredo, NAT64) are judged as what they lead to.

    >>> refusal("169.254.169.254", allow_private=True)
    '169.254.169.254 is link-local'
    >>> refusal("::ffff:10.0.0.1"), refusal("10.0.0.1", allow_private=True), refusal("1.1.1.1")
    ('::ffff:10.0.0.1 is private', None, None)
    """
    parsed = ip_address(address)
    kind = _kind(parsed)
    if kind is None or (
        allow_private and kind in ("private", "this machine's own", "shared by a provider's customers")
    ):
        return None
    return f"{address} is {kind}"


def _kind(address: IPv4Address | IPv6Address) -> str | None:
    inner = _inside(address) if isinstance(address, IPv6Address) else []
    if inner:
        return next((kind for kind in map(_kind, inner) if kind is not None), None)
    if address in _METADATA:
        return "a metadata service's"
    if address.is_link_local:
        return "link-local"
    if address.is_multicast:
        return "multicast"
    if address.is_unspecified or (isinstance(address, IPv4Address) and address.packed[0] == 0):
        return "no machine's"
    if address.is_loopback:
        return "this machine's own"
    if isinstance(address, IPv4Address):
        if address.is_reserved:  # the broadcast address among them
            return "reserved"
        if address in _SHARED:
            return "shared by a provider's customers"
    elif address not in _GLOBAL_UNICAST:
        return "private" if address.is_private and not address.is_reserved else "reserved"
    return None if address.is_global else "private"


def _inside(address: IPv6Address) -> list[IPv4Address]:
    """The IPv4 addresses that an IPv6 address leads to."""
    if address.ipv4_mapped is not None:
        return [address.ipv4_mapped]
    if address.sixtofour is not None:
        return [address.sixtofour]
    if address.teredo is not None:
        return list(address.teredo)
    if any(address in network for network in _TRANSLATED) or (int(address) >> 32 == 0 and int(address) > 0xFFFF):
        return [IPv4Address(int(address) & 0xFFFFFFFF)]
    return []


# --- Connections to checked addresses ---


class AddressRefused(Exception):
    """A name leads to an address that is not asked; the message says which, and why."""


class CheckedTransport(httpx.BaseTransport):
    """A transport of httpx; all its requests together must be done by a deadline, whatever the server does.

    Args:
        tls: Whose certificates are believed.
        allow_private: Whether private addresses may be connected to.
        seconds: From now on, for everything but looking up names, which the system limits itself.
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


# --- Fetching ---

#: How many times an answer may point elsewhere.
MAX_REDIRECTS = 5
#: For a whole document, from the first look-up to its last byte.
SECONDS = 120.0
#: Without a byte.
SILENCE_SECONDS = 15.0

_HEADERS = {
    "User-Agent": "agentguard",
    "Accept": "text/html, text/markdown, text/plain, application/pdf;q=0.9, */*;q=0.1",
    "Accept-Encoding": "gzip",  # the one that is unpacked here, piece by piece and never further than the limit
}
_CHARSET = re.compile(r'charset\s*=\s*"?([A-Za-z0-9._:-]{1,40})', re.IGNORECASE)


def list_http(source: HttpSource) -> Iterator[Listing]:
    """The pages that a source names, each with its address as uri, wherever that redirects to."""
    tls: list[ssl.SSLContext] = []  # reading the certificates takes longer than many a page
    for address in dict.fromkeys(source.addresses):
        yield Found(address, _name_of(address), partial(_read, address, source.allow_private, tls))


def _name_of(address: str) -> str:
    return unquote(urlsplit(address).path).rstrip("/").rpartition("/")[2] or urlsplit(address).hostname or address


def _read(address: str, allow_private: bool, tls: list[ssl.SSLContext]) -> Raw:
    if not tls:
        tls.append(httpx.create_ssl_context())  # heeds SSL_CERT_FILE and SSL_CERT_DIR, as a company's own CA needs
    return fetch(address, allow_private=allow_private, tls=tls[0])


def fetch(
    address: str, *, allow_private: bool = False, tls: ssl.SSLContext, limit: int = MAX_BYTES, seconds: float = SECONDS
) -> Raw:
    """Fetch a document, after at most five redirects, each of them checked as the address itself was.

    No proxy, no netrc file and no cookie of the environment is used, and no credentials are sent.

    Args:
        address: ``http://`` or ``https://``.
        allow_private: Whether addresses of private networks, and of this machine, may be asked.
        tls: Whose certificates are believed.
        limit: The most bytes, after decompression.
        seconds: For everything together; 15 seconds without a byte are too many, too.

    Raises:
        DataError: If it cannot be had, with the reason.
    """
    transport = CheckedTransport(tls, allow_private, seconds)
    deadline = time.monotonic() + seconds
    try:
        with httpx.Client(transport=transport, trust_env=False, timeout=SILENCE_SECONDS, headers=_HEADERS) as client:
            url = httpx.URL(address)
            for _ in range(MAX_REDIRECTS + 1):
                client.cookies.clear()
                with client.stream("GET", url) as response:
                    if not response.has_redirect_location:
                        return _answer(response, limit, deadline)
                    url = _next(url, response.headers["Location"])
    except AddressRefused as error:
        hint = "" if allow_private else "; allow_private: true allows private ones"
        raise DataError(f"{error}{hint}") from None
    except (httpcore.TimeoutException, httpx.TimeoutException):
        raise DataError("took too long to answer") from None
    except (httpx.HTTPError, httpx.InvalidURL, httpcore.ConnectError, httpcore.NetworkError) as error:
        raise DataError(f"cannot be fetched: {error}") from None
    except (httpcore.ProtocolError, httpcore.UnsupportedProtocol, zlib.error, ssl.SSLError) as error:
        raise DataError(f"the answer cannot be read: {error}") from None
    raise DataError(f"redirects more than {MAX_REDIRECTS} times")


def _next(url: httpx.URL, location: str) -> httpx.URL:
    target = url.join(location)
    if target.scheme not in ("http", "https") or not target.host:
        raise DataError(f"redirects to something that is no http:// or https:// address: {location[:100]!r}")
    if url.scheme == "https" and target.scheme == "http":
        raise DataError(f"redirects from https:// to http://, where anybody on the way may change it: {target.host}")
    return target.copy_with(userinfo=b"")


def _answer(response: httpx.Response, limit: int, deadline: float) -> Raw:
    if response.status_code != 200:
        raise DataError(f"answered {response.status_code} {response.reason_phrase}".rstrip())
    encoding = response.headers.get("Content-Encoding", "identity").strip().lower()
    if encoding not in ("identity", "gzip", "x-gzip", ""):
        raise DataError(f"is compressed as {encoding[:40]!r}, which was not asked for")
    packed = encoding in ("gzip", "x-gzip")
    unpacker = zlib.decompressobj(wbits=31)
    data = bytearray()
    for piece in response.iter_raw():
        # One byte over the limit is enough to know.
        data += unpacker.decompress(piece, limit + 1 - len(data)) if packed else piece
        if len(data) > limit:
            raise DataError(f"has more than the {limit:,} bytes that are read")
        if time.monotonic() > deadline:
            raise DataError("took too long to answer")
    if packed and not unpacker.eof:
        raise DataError("the answer ends in the middle")
    content_type = response.headers.get("Content-Type", "")
    charset = _CHARSET.search(content_type)
    return Raw(bytes(data), content_type.partition(";")[0].strip().lower(), charset[1] if charset else "")
