"""The scripted agent: makes its planned calls, has each answer verified, and acts on the verdict as a user would."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from time import perf_counter
from typing import Any, NamedTuple, Protocol

from agentguard.verification import VerificationResult
from agentguard.verification.types import Verdict

from .faults import Fault, FaultKind, fabricated, tampered
from .plan import PlannedCall
from .toolbox import Toolbox

__all__ = ["Event", "Guard", "run_agent"]

MAX_RETRIES = 2


class Guard(Protocol):
    """What the demo needs of ``VerificationEngine``."""

    def register_tool_profile(self, name: str, **fields: Any) -> object: ...

    def verify(
        self,
        tool: str,
        *,
        args: Any = None,
        result: Any = None,
        execution_time_ms: float | None = None,
        session_id: str | None = None,
        call_id: str | None = None,
    ) -> VerificationResult: ...


class Event(NamedTuple):
    """One verified call, with the truth about it that only the demo knows.

    Attributes:
        number: counts verified calls from 1, retries included.
        step: the planned call, from 0.
        attempt: 0 for the first try, then the number of the retry.
        tool: the tool's name.
        fault: what was wrong with the answer; None for a genuine one.
        verdict, posterior: as the guard gave them.
        reasons: the signals that raised the odds most, the strongest first, at most two.
        execution_ms: how long the tool took.
        verify_us: how long the guard took, in microseconds.
    """

    number: int
    step: int
    attempt: int
    tool: str
    fault: FaultKind | None
    verdict: Verdict
    posterior: float
    reasons: tuple[str, ...]
    execution_ms: float
    verify_us: float

    @property
    def caught(self) -> bool:
        """The guard objected: it blocked or flagged."""
        return self.verdict != "accept"


def run_agent(
    plan: Sequence[PlannedCall], faults: Mapping[int, Fault], toolbox: Toolbox, guard: Guard, seed: int
) -> Iterator[Event]:
    """Make the planned calls one by one. A blocked answer is not used: the real call is made again, up to twice.

    The guard is given what an adapter would give it and nothing else; which calls are faulty stays here.
    """
    genuine: dict[int, str] = {}
    number = 0
    for call in plan:
        toolbox.advance(call.step)
        for attempt in range(1 + MAX_RETRIES):
            number += 1
            fault = faults.get(call.step) if attempt == 0 else None
            answer, execution_ms = _answer(call, fault, toolbox, genuine, seed)
            if fault is None:
                genuine[call.step] = answer
            start = perf_counter()
            judged = guard.verify(
                call.tool,
                args=call.args,
                result=answer,
                execution_time_ms=execution_ms,
                session_id=call.session,
                call_id=f"call-{number}",
            )
            verify_us = 1e6 * (perf_counter() - start)
            yield Event(
                number,
                call.step,
                attempt,
                call.tool,
                None if fault is None else fault.kind,
                judged.verdict,
                judged.posterior,
                _reasons(judged),
                execution_ms,
                verify_us,
            )
            if judged.verdict != "block":
                break


def _answer(
    call: PlannedCall, fault: Fault | None, toolbox: Toolbox, genuine: Mapping[int, str], seed: int
) -> tuple[str, float]:
    """The answer as the agent gets it and the time it took, in milliseconds; the time is always a measured one."""
    source = None if fault is None or fault.source is None else genuine[fault.source]
    start = perf_counter()
    if fault is not None and source is not None and fault.kind is FaultKind.INSTANT:
        answer = fabricated(fault, source, seed)
    else:
        answer = toolbox.call(call.tool, call.args if fault is None or fault.args is None else fault.args)
    execution_ms = 1e3 * (perf_counter() - start)
    if fault is None or fault.kind in (FaultKind.INSTANT, FaultKind.WRONG_ENTITY):
        return answer, execution_ms
    return tampered(fault, answer, call, seed) if source is None else source, execution_ms


def _reasons(judged: VerificationResult) -> tuple[str, ...]:
    raised = sorted((item for item in judged.contributions.items() if item[1] > 0), key=lambda item: -item[1])
    return tuple(f"{name}: {judged.signals[name].detail}" for name, _ in raised[:2])
