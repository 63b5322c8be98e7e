"""The demo's HTTP service: a real server on 127.0.0.1, with the waiting that a network brings."""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Mapping
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from urllib.parse import parse_qsl, urlencode, urlsplit

from .feeds import Feeds

__all__ = ["DELAYS_MS", "Service"]

# Median in milliseconds and sigma of the logarithm: tens of milliseconds, so that a demonstration is not a wait.
DELAYS_MS = {"/weather": (55.0, 0.35), "/quote": (35.0, 0.4)}
TIMEOUT_SECONDS = 10.0


class Service:
    """Serves the feeds while it is entered, from a thread that ends with it.

    Args:
        feeds: what to answer.
        seed: of the delays.
        delay_scale: factor on all delays, >= 0.
    """

    def __init__(self, feeds: Feeds, seed: int, delay_scale: float = 1.0) -> None:
        self._feeds = feeds
        self._scale = delay_scale
        self._random = random.Random(f"service {seed}")
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.05,), daemon=True, name="demo-service"
        )

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    def __enter__(self) -> Service:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(TIMEOUT_SECONDS)

    def fetch(self, path: str, query: Mapping[str, str]) -> str:
        """The body of ``GET path?query``, as a client gets it over the network.

        Raises:
            LookupError: where the service answers with anything but 200.
            OSError: where it does not answer.
        """
        # http.client and not urllib: a proxy set in the environment must not be asked for a loopback address.
        connection = HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT_SECONDS)
        try:
            connection.request("GET", f"{path}?{urlencode(query)}")
            response = connection.getresponse()
            body = response.read().decode()
        finally:
            connection.close()
        if response.status != 200:
            raise LookupError(f"HTTP {response.status}: {body}")
        return body

    def answer(self, target: str) -> tuple[int, str]:
        """Status and body for a request's target, after the delay that its path has."""
        parts = urlsplit(target)
        with self._lock:
            median, sigma = DELAYS_MS.get(parts.path, (0.0, 0.0))
            delay_ms = median * self._random.lognormvariate(0.0, sigma)
            try:
                status, payload = 200, self._feeds.respond(parts.path, dict(parse_qsl(parts.query)))
            except LookupError as error:
                status, payload = 404, {"error": str(error)}
        time.sleep(self._scale * delay_ms / 1000)
        return status, json.dumps(payload)


def _handler(service: Service) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        wbufsize = -1  # head and body leave together; apart, they wait for each other's acknowledgement

        def do_GET(self) -> None:
            status, body = service.answer(self.path)
            data = body.encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:
            """Nothing: the screen belongs to the demo."""

    return Handler
