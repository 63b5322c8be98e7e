"""Documents by their addresses on the web. Nothing that they link to is followed."""

from __future__ import annotations

import re
import ssl
import time
import zlib
from collections.abc import Iterator
from functools import partial
from urllib.parse import unquote, urlsplit

import httpcore
import httpx

from agentguard.errors import DataError
from agentguard.gate.config import HttpSource
from agentguard.gate.ingest.found import MAX_BYTES, Found, Listing, Raw
from agentguard.gate.ingest.network import AddressRefused, CheckedTransport

__all__ = ["fetch", "list_http"]

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
    """What lies at an address, after at most five redirects, each of them checked as the address itself was.

    No proxy, no netrc file and no cookie of the environment is used, and no credentials are sent.

    Args:
        address: ``http://`` or ``https://``.
        allow_private: whether addresses of private networks, and of this machine, may be asked.
        tls: whose certificates are believed.
        limit: the most bytes, after decompression.
        seconds: for everything together; 15 seconds without a byte are too many, too.

    Raises:
        DataError: where it cannot be had, with the reason.
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
