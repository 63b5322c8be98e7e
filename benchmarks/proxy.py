"""What a call takes longer through ``agentguard proxy`` than through a proxy that does nothing.

    python benchmarks/proxy.py

Both stand on stdio before the same small server, each in processes of its own, and the same calls go through them in
turns. The one that does nothing is a process of Python too, which passes on what it reads: what is left of the
difference is reading messages, judging results, and writing those anew that something is done about.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from time import perf_counter
from typing import Any, NamedTuple

from document import Section
from goals import Goal
from tables import Line, judged
from workload import PROFILE, SIZES, TOOL, calls

__all__ = ["Overhead", "measure", "section"]

WARM, ROUND, TURN = 300, 500, 50  # calls
ROUNDS = 10
COMMAND = "python benchmarks/proxy.py"


def _as_ms(figure: float | None) -> str:
    return "–" if figure is None else f"{figure:.2f} ms"


GOAL = Goal("at most", 3.0, _as_ms)


class Overhead(NamedTuple):
    """Milliseconds of a call by way of each, at the median and at the 99th percentile, in the quickest round."""

    nothing_p50: float
    nothing_p99: float
    proxy_p50: float
    proxy_p99: float


def measure(size: int) -> Overhead:
    """Time calls whose results have about ``size`` bytes."""
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, f"{TOOL}.yaml"), "w", encoding="utf-8") as file:
            json.dump({**PROFILE, "expected_latency_ms": [0.01, 60_000.0], "has_network_io": False}, file)
        server = [sys.executable, __file__, "serve"]
        guard = [sys.executable, "-m", "agentguard", "proxy", "--enforce", "--profiles", folder]
        guard += ["--store", os.path.join(folder, "store"), "--pin", os.path.join(folder, "pin"), "--", *server]
        with _running([sys.executable, __file__, "relay"]) as nothing, _running(guard) as proxy:
            stream = calls(size)
            for both in (nothing, proxy):
                for call in islice(stream, WARM):
                    _timed(both, call.args, call.result)
            rounds = [_round(nothing, proxy, stream) for _ in range(ROUNDS)]
    # What else runs on a machine only adds: the quickest round of each says what it takes.
    return Overhead(*(min(figures) for figures in zip(*rounds, strict=True)))


def _round(nothing: Any, proxy: Any, stream: Iterator[Any]) -> Overhead:
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(ROUND // TURN):
        for taken, one in zip(times, (nothing, proxy), strict=True):
            taken += [_timed(one, call.args, call.result) for call in islice(stream, TURN)]
    one, other = map(sorted, times)
    return Overhead(_at(one, 0.5), _at(one, 0.99), _at(other, 0.5), _at(other, 0.99))


def section() -> Section:
    """The figures as a section of the measurements document."""
    lines = []
    for name, size in SIZES.items():
        found = measure(size)
        for share, nothing, proxy in (
            ("median", found.nothing_p50, found.proxy_p50),
            ("99th percentile", found.nothing_p99, found.proxy_p99),
        ):
            lines.append(Line((name, share, _as_ms(nothing), _as_ms(proxy)), proxy - nothing, GOAL))
    text = [
        "## The proxy before an MCP server",
        f"`{COMMAND}`",
        "A call on stdio through `agentguard proxy --enforce`, with a profile and a store on disk, beside one through "
        f"a proxy that passes on what it reads: {ROUNDS} rounds of {ROUND:,} calls of each, in turns of {TURN}, after "
        f"{WARM}; the quickest round counts. Measured: the difference.",
        judged(("result", "of the calls", "nothing done", "judged"), lines),
    ]
    return Section(text, lines)


def _at(ordered: list[float], share: float) -> float:
    return ordered[int(share * (len(ordered) - 1))]


@contextmanager
def _running(command: list[str]) -> Iterator[Any]:
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        yield process


def _timed(process: Any, args: Any, result: Any) -> float:
    """Call the tool, which answers with this result; milliseconds until the answer is there."""
    params = {"name": TOOL, "arguments": args, "_meta": {"answer": json.dumps(result)}}
    request = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode() + b"\n"
    start = perf_counter()
    process.stdin.write(request)
    process.stdin.flush()
    answer = process.stdout.readline()
    took = 1_000.0 * (perf_counter() - start)
    assert json.loads(answer)["id"] == 1
    return took


def _serve() -> None:
    """A server whose tool answers with what the call brings along."""
    for line in sys.stdin:
        request = json.loads(line)
        content = [{"type": "text", "text": request["params"]["_meta"]["answer"]}]
        answer = {"jsonrpc": "2.0", "id": request["id"], "result": {"content": content}}
        sys.stdout.write(f"{json.dumps(answer)}\n")
        sys.stdout.flush()


def _relay() -> None:
    """A proxy that does nothing but pass on what it reads."""
    server = subprocess.Popen([sys.executable, __file__, "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert server.stdin is not None
    assert server.stdout is not None

    def pump(source: int, target: int) -> None:
        while chunk := os.read(source, 1 << 16):
            view = memoryview(chunk)
            while view:
                view = view[os.write(target, view) :]
        os.close(target)

    threading.Thread(target=pump, args=(0, server.stdin.fileno())).start()
    pump(server.stdout.fileno(), 1)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["serve"]:
            _serve()
        case ["relay"]:
            _relay()
        case _:
            print("\n\n".join(section().text))
