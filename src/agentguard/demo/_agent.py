"""The scripted agent, and the eight kinds of faults that are injected into the answers it gets."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from time import perf_counter
from typing import Any, NamedTuple, Protocol

from agentguard.demo._plan import PlannedCall, Rehearsed, facts
from agentguard.demo._tools import NETWORK_TOOLS, Toolbox, stamp
from agentguard.verification import VerificationResult
from agentguard.verification.types import Verdict

LATER_CALLS_PER_OCCURRENCE = 60  # planned calls after the warm-up for one fault of each kind
_RECENT = 20  # calls back that another tool's answer may come from


class FaultKind(Enum):
    """A fault of an answer; the value is its name on the screen."""

    INSTANT = "instant fabricated answer"
    MISSING_FIELD = "missing field"
    TIMES_TEN = "x10 value"
    WRONG_ENTITY = "wrong entity"
    STALE = "stale answer"
    TRUNCATED = "truncated JSON"
    PROSE = "prose instead of JSON"
    OTHER_TOOL = "another tool's answer"


class Fault(NamedTuple):
    """One fault at one planned call.

    Attributes:
        source: the earlier call whose genuine answer is used (stale, another tool's) or imitated (fabricated).
        newer: the call between whose answer replaced a stale one.
        args: the arguments that the tool really gets (wrong entity).
    """

    kind: FaultKind
    step: int
    source: int | None = None
    newer: int | None = None
    args: Mapping[str, Any] | None = None

    @property
    def draws_on(self) -> set[int]:
        """The calls that must stay genuine for this fault."""
        return {step for step in (self.source, self.newer) if step is not None}


def place_faults(rehearsed: Sequence[Rehearsed], warm_up: int, seed: int) -> dict[int, Fault]:
    """Place faults by step, equally many of each kind, at calls after the warm-up where that kind is possible.

    A call that another fault draws on stays genuine, so that its answer has really been seen.
    """
    draw = random.Random(f"faults {seed}")
    later = range(warm_up, len(rehearsed))
    wanted = -(-len(later) // LATER_CALLS_PER_OCCURRENCE)
    placed: dict[int, Fault] = {}
    sources: set[int] = set()
    # The kinds that draw on an earlier call choose first: the fewest calls are possible for them.
    first = (FaultKind.STALE, FaultKind.INSTANT, FaultKind.OTHER_TOOL)
    for kind in (*first, *(kind for kind in FaultKind if kind not in first)):
        left = wanted
        for step in draw.sample(later, len(later)):
            if left == 0:
                break
            if step in placed or step in sources:
                continue
            fault = _possible(kind, rehearsed, step, placed, draw)
            if fault is not None:
                placed[step] = fault
                left -= 1
                sources |= fault.draws_on
    return placed


def tampered(fault: Fault, answer: str, call: PlannedCall, seed: int) -> str:
    """Damage the tool's real answer."""
    draw = random.Random(f"{fault.kind.name} {fault.step} {seed}")
    if fault.kind is FaultKind.TRUNCATED:
        return answer[: int(len(answer) * draw.uniform(0.35, 0.95))]
    if fault.kind is FaultKind.PROSE:
        return _prose(call, draw)
    value = json.loads(answer)
    if fault.kind is FaultKind.MISSING_FIELD:
        _drop(value, draw.choice(_field_paths(value)))
    if fault.kind is FaultKind.TIMES_TEN:
        owner, key = draw.choice(_quantities(value))
        owner[key] = round(10 * owner[key], 6)
    return json.dumps(value)


def fabricated(fault: Fault, model: str, seed: int) -> str:
    """Make an answer up without a call: form and entity of the model, the present time, numbers 2 to 10% off."""
    draw = random.Random(f"{fault.kind.name} {fault.step} {seed}")
    value = json.loads(model)
    for key, item in value.items():
        if type(item) in (int, float):
            moved = item * (1 + draw.choice((-1, 1)) * draw.uniform(0.02, 0.1))
            # As many decimals as the model has: the form does not give a made-up number away.
            value[key] = round(moved) if isinstance(item, int) else round(moved, len(str(item).partition(".")[2]))
        elif key.endswith(("_at", "as_of")):
            value[key] = stamp(fault.step)
    return json.dumps(value)


def _possible(
    kind: FaultKind, rehearsed: Sequence[Rehearsed], step: int, placed: Mapping[int, Fault], draw: random.Random
) -> Fault | None:
    """Make a fault of a kind at a call; None if it would not be a fault."""
    call, answer, other_args = rehearsed[step]
    earlier = [k for k in range(step) if k not in placed]
    same = [k for k in earlier if rehearsed[k].call.tool == call.tool and rehearsed[k].call.args == call.args]
    if kind is FaultKind.STALE:
        # The newer answer must have been seen: without it the old one cannot be told from a current one.
        old = {k: facts(rehearsed[k].answer) for k in same}
        pairs = [(k, j) for k in same for j in same if k < j and old[k] != old[j] and old[k] != facts(answer)]
        if not pairs:
            return None
        source, newer = draw.choice(pairs)
        return Fault(kind, step, source=source, newer=newer)
    if kind is FaultKind.INSTANT:
        # Only where a real answer takes time: a tool that is a local function is always instant.
        return Fault(kind, step, source=same[-1]) if same and call.tool in NETWORK_TOOLS else None
    if kind is FaultKind.OTHER_TOOL:
        others = [k for k in earlier if k >= step - _RECENT and rehearsed[k].call.tool != call.tool]
        return Fault(kind, step, source=draw.choice(others)) if others else None
    if kind is FaultKind.WRONG_ENTITY:
        return None if other_args is None else Fault(kind, step, args=other_args)
    if kind is FaultKind.TIMES_TEN and not _quantities(json.loads(answer)):
        return None
    return Fault(kind, step)


def _quantities(value: Any) -> list[tuple[dict[str, Any], str]]:
    """The numbers of 1 and more, each as its owner and key, without identifiers and counts."""
    if isinstance(value, list):
        return [each for item in value for each in _quantities(item)]
    if not isinstance(value, dict):
        return []
    nested = [each for item in value.values() for each in _quantities(item)]
    return nested + [
        (value, key)
        for key, item in value.items()
        if type(item) in (int, float) and abs(item) >= 1 and not key.endswith(("_id", "_count"))
    ]


def _field_paths(value: Any) -> list[tuple[str, ...]]:
    """The distinct paths of fields, through lists."""
    if isinstance(value, list):
        return list(dict.fromkeys(path for item in value for path in _field_paths(item)))
    if not isinstance(value, dict):
        return []
    return [path for key, item in value.items() for path in ((key,), *((key, *rest) for rest in _field_paths(item)))]


def _drop(value: Any, path: Sequence[str]) -> None:
    """Delete a field wherever it stands, like an interface that stops sending it."""
    if isinstance(value, list):
        for item in value:
            _drop(item, path)
    elif isinstance(value, dict) and len(path) == 1:
        value.pop(path[0], None)
    elif isinstance(value, dict):
        _drop(value.get(path[0]), path[1:])


def _prose(call: PlannedCall, draw: random.Random) -> str:
    subject = ", ".join(str(item) for item in call.args.get("params", call.args.values()))
    return draw.choice(
        (
            f"I could not reach the service just now, but for {subject} nothing unusual is to be expected.",
            f"Sure! Here is what I found for {subject}: everything looks normal and up to date.",
            f"Based on what is generally known about {subject}, the value should be in the usual range.",
            f"The request for {subject} was completed successfully. Let me know if you need anything else.",
        )
    )


# --- The agent ---

MAX_RETRIES = 2


class Guard(Protocol):
    """The part of ``VerificationEngine`` that the demo needs."""

    def register_tool_profile(self, name: str, **fields: Any) -> object: ...

    @property
    def verify(self) -> Callable[..., VerificationResult]: ...


class Event(NamedTuple):
    """One verified call, with the truth that only the demo knows.

    Attributes:
        number: of the verified call, from 1, retries included.
        step: of the planned call, from 0.
        attempt: 0 for the first try, then the number of the retry.
        tool: the tool's name.
        fault: of the answer; None for a genuine one.
        verdict, posterior: the guard's.
        reasons: the signals that raised the odds most, the strongest first, at most two.
        execution_ms: time of the tool, in milliseconds.
        verify_us: time of the guard, in microseconds.
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
        """Whether the guard blocked or flagged it."""
        return self.verdict != "accept"


def run_agent(
    plan: Sequence[PlannedCall], faults: Mapping[int, Fault], toolbox: Toolbox, guard: Guard, seed: int
) -> Iterator[Event]:
    """Make the planned calls one by one; a blocked one is made again, up to twice.

    The guard gets what an integration would give it and nothing else; which calls are faulty stays here.
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
                number, call.step, attempt, call.tool, None if fault is None else fault.kind, judged.verdict,
                judged.posterior, _reasons(judged), execution_ms, verify_us,
            )  # fmt: skip
            if judged.verdict != "block":
                break


def _answer(
    call: PlannedCall, fault: Fault | None, toolbox: Toolbox, genuine: Mapping[int, str], seed: int
) -> tuple[str, float]:
    """The answer as the agent gets it, and its time in milliseconds, which is always a measured one."""
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
