"""A shop's orders for an engine to learn, and servers of the guard on loopback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from agentguard.verification import VerificationEngine

KEY = "test-key-0123456789"
#: Of another order than was asked for: 40 genuine calls say that a result's id is the argument's.
SWAPPED = {"tool": "get_order", "args": {"id": "W999"}, "result": {"id": "W3", "total": 23.0}}


def learn_orders(engine: VerificationEngine) -> None:
    for n in range(40):
        engine.verify(
            "get_order", args={"id": f"W{n}"}, result={"id": f"W{n}", "total": 20.0 + n}, execution_time_ms=40.0
        )


class Server:
    """A running ``agentguard serve``, asked as any program would."""

    def __init__(self, url: str, process: subprocess.Popen[str]) -> None:
        self.url, self.process = url, process

    def ask(self, path: str, body: object = None) -> tuple[int, dict[str, Any]]:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(  # noqa: S310 - the address is that of the server just started
            self.url + path, data, {"X-API-Key": KEY, "Content-Type": "application/json"}
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310 - likewise
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.load(error)


@contextmanager
def running(*options: str) -> Iterator[Server]:
    process = subprocess.Popen(
        [sys.executable, "-m", "agentguard", "serve", "--verify", "--port", "0", *options],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "AGENTGUARD_API_KEY": KEY},
    )  # fmt: skip
    watch = threading.Timer(300, process.kill)  # whoever waits for a server that hangs is let go
    watch.daemon = True
    watch.start()
    # Read to its end: a pipe that is full holds the server up.
    drained = threading.Thread(target=lambda: process.stderr and process.stderr.read(), daemon=True)
    drained.start()
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert "http://" in line
        yield Server(line.split()[-1], process)
    finally:
        process.terminate()
        process.wait(60)
        watch.cancel()
        drained.join(60)
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        process.stderr.close()
