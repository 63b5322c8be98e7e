"""Time and memory of ``verify`` on hostile results, each in a process of its own that may be given up.

Run with a name, this is that process: it writes its figures as one line of JSON.
"""

from __future__ import annotations

import gc
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

from growth_attacks import GROWING, LARGE, Attack
from growth_peak import peak_bytes, reset_peak

from agentguard.verification import VerificationEngine

__all__ = ["LONGEST", "Ordeal", "measure", "undergo"]

LONGEST = 10  # seconds that a process is given
STEPS = (1, 2, 4)
TRIES = 3
WARM = 12
PATTERN = "no such words[0-9]+"


class Ordeal(NamedTuple):
    """How an attack ended; what is None could not be measured.

    Attributes:
        name: the attack's name.
        times: processor seconds of one ``verify`` at each step, the least of three.
        reference: seconds of the standard library's ``json.dumps`` of the same result at the last step.
        peak: bytes by which the process grew at its largest during the last ``verify``.
        verdict: what the engine said.
        failed: checks of the engine that failed.
        given_up: why there are no figures; empty where there are.
    """

    name: str
    times: list[float]
    reference: float | None
    peak: int | None
    verdict: str
    failed: list[str]
    given_up: str = ""

    @property
    def growth(self) -> float | None:
        """The cost of a character at the last step as a multiple of that at the first."""
        return self.times[-1] / self.times[0] / STEPS[-1] if len(self.times) > 1 else None

    @property
    def relative(self) -> float | None:
        """Time as a multiple of the standard library's."""
        return self.times[-1] / self.reference if self.times and self.reference else None


def measure(advance: Callable[[int], object] = lambda attacks: None) -> tuple[list[Ordeal], list[Ordeal]]:
    """All growing and all large attacks."""
    found: list[list[Ordeal]] = []
    for attacks in (GROWING, LARGE):
        found.append([])
        for attack in attacks:
            found[-1].append(_in_a_process(attack))
            advance(1)
    return found[0], found[1]


def _in_a_process(attack: Attack) -> Ordeal:
    words = [sys.executable, str(Path(__file__).resolve()), attack.name]
    nothing = Ordeal(attack.name, [], None, None, "", [])
    try:
        ended = subprocess.run(words, capture_output=True, text=True, timeout=LONGEST, check=False)
    except subprocess.TimeoutExpired:
        return nothing._replace(given_up=f"not done after {LONGEST} s")
    if ended.returncode:
        return nothing._replace(given_up=f"the process ended with code {ended.returncode}")
    return Ordeal(**json.loads(ended.stdout.splitlines()[-1]))


def undergo(attack: Attack, steps: tuple[int, ...], tries: int) -> Ordeal:
    """The attack at some multiples of its size, in this process, on as many fresh tools as there are tries."""
    # Nothing is blocked and all is learned: no check is spared the result by an early end.
    engine = VerificationEngine(accept_below=1.0, block_at=1.0)
    tools = [f"tool-{place}" for place in range(tries)]
    for tool in tools:
        engine.register_tool_profile(
            tool, required_fields=["a", "rows[].id"], forbidden_fields=["mock"], response_patterns=[PATTERN]
        )
        for n in range(1, WARM + 1):
            args, result = attack.make(min(attack.n, 10 * n))
            engine.verify(tool, args=args, result=result, execution_time_ms=100.0 + n, session_id="session")
    times, peak, reference, failed, verdict = [], None, None, set(), ""
    for step in steps:
        args, result = attack.make(step * attack.n)
        fastest = float("inf")
        for tool in tools:
            gc.collect()
            reset_peak()
            before = peak_bytes()
            start = process_time()
            said = engine.verify(tool, args=args, result=result, execution_time_ms=100.0, session_id="session")
            fastest = min(fastest, process_time() - start)
            after = peak_bytes()
            peak = None if before is None or after is None else after - before
            verdict = said.verdict
            failed |= {name for name, signal in said.signals.items() if signal.detail.startswith("the check failed")}
        times.append(fastest)
        reference = _reference(result)
    return Ordeal(attack.name, times, reference, peak, verdict, sorted(failed))


def _reference(result: Any) -> float | None:
    start = process_time()
    try:
        json.dumps(result)
    except (ValueError, TypeError, RecursionError):
        return None
    return process_time() - start


def _main(name: str) -> None:
    for attacks, steps, tries in ((GROWING, STEPS, TRIES), (LARGE, (1,), 1)):
        for attack in attacks:
            if attack.name == name:
                print(json.dumps(undergo(attack, steps, tries)._asdict()))


if __name__ == "__main__":
    _main(sys.argv[1])
