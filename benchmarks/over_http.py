"""What ``POST /v1/verify`` takes over loopback, beside a request of the same door that does nothing.

    python benchmarks/over_http.py

One client on one kept connection; the server in a process of its own, as ``agentguard serve`` runs it. The two requests
take turns, with the same bodies.
"""

from __future__ import annotations

import http.client
import json
import socket
import subprocess
import sys
from itertools import islice
from time import perf_counter
from typing import NamedTuple

from document import Section
from goals import Goal
from tables import Line, judged
from workload import PROFILE, SIZES, TOOL, calls

__all__ = ["Served", "measure", "section"]

WARM, TIMED = 300, 2_000
GOAL = Goal("at most", 2.0, lambda figure: "–" if figure is None else f"{figure:.2f} ms")
COMMAND = "python benchmarks/over_http.py"
SERVE = "--serve"
KEY = "benchmark-key-0123456789"  # of a server that ends with this program


class Served(NamedTuple):
    """Milliseconds of a request: the median and the 99th percentile."""

    nothing_p50: float
    nothing_p99: float
    verify_p50: float
    verify_p99: float


def measure(size: int, *, warm: int = WARM, timed: int = TIMED) -> Served:
    """Time both requests with results of about ``size`` bytes."""
    server = subprocess.Popen([sys.executable, __file__, SERVE], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        client = http.client.HTTPConnection("127.0.0.1", int(server.stdout.readline()))
        client.connect()
        client.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # as every client of today does
        verify, nothing = [], []
        for call in islice(calls(size), warm + timed):
            body = json.dumps(
                {
                    "tool": TOOL, "args": call.args, "result": call.result, "execution_time_ms": call.ms,
                    "session_id": call.session,
                }
            ).encode()  # fmt: skip
            verify.append(_asked(client, "/v1/verify", body))
            nothing.append(_asked(client, "/nothing", body))
        client.close()
    finally:
        server.terminate()
        server.communicate()
    verify, nothing = sorted(verify[warm:]), sorted(nothing[warm:])
    return Served(_at(nothing, 0.5), _at(nothing, 0.99), _at(verify, 0.5), _at(verify, 0.99))


def section() -> Section:
    """The figures as a section of the measurements document."""
    lines = []
    for size, length in SIZES.items():
        served = measure(length)
        cells = (size, f"{served.nothing_p50:.2f} ms", f"{served.nothing_p99:.2f} ms", f"{served.verify_p99:.2f} ms")
        lines.append(Line(cells, served.verify_p50, GOAL))
    text = [
        "## Over HTTP",
        f"`{COMMAND}`",
        "`POST /v1/verify` on one kept connection over loopback, with client and server on the same processors, beside "
        "a request of the same door with the same body that does nothing. Measured: the median.",
        judged(("result", "nothing, median", "nothing, 99%", "verify, 99%"), lines),
    ]
    return Section(text, lines)


def _asked(client: http.client.HTTPConnection, path: str, body: bytes) -> float:
    began = perf_counter()
    client.request("POST", path, body, {"X-API-Key": KEY, "Content-Type": "application/json"})
    answer = client.getresponse()
    answer.read()
    took = 1e3 * (perf_counter() - began)
    assert answer.status == 200, answer.status
    return took


def _at(ordered: list[float], share: float) -> float:
    return ordered[int(share * (len(ordered) - 1))]


def _serve() -> None:
    import uvicorn
    from fastapi import APIRouter

    from agentguard.guard.api import guard_part
    from agentguard.serving import Connections, Part, ServiceKey, assemble
    from agentguard.verification import VerificationEngine

    engine = VerificationEngine()
    engine.register_tool_profile(TOOL, **PROFILE)
    router = APIRouter()

    @router.post("/nothing")
    def nothing() -> dict[str, str]:
        return {}

    door = Part("nothing", "Nothing.", router, lambda: None, bodies={"/nothing": 1 << 20})
    app = assemble([guard_part(engine), door], key=ServiceKey(KEY))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        print(listening.getsockname()[1], flush=True)
        config = uvicorn.Config(app, http=Connections().protocol(), log_config=None, access_log=False, ws="none")
        uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    if SERVE in sys.argv:
        _serve()
    else:
        print("\n\n".join(section().text))
