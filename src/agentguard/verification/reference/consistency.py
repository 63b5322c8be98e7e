"""The result's numbers against those of earlier calls: of the same session, and with the same arguments."""

from __future__ import annotations

from ..case import Case
from .baseline import Baseline
from .fields import numeric_fields, severity, swing
from .finding import Finding

__all__ = ["HISTORY_SWING", "SESSION_SWING", "historical", "session"]

SESSION_SWING = 50.0
HISTORY_SWING = 10.0
MIN_HISTORY = 3


def session(case: Case, *, limit: float = SESSION_SWING) -> Finding:
    """Mean severity of the fields that swung ``limit`` times or more against one of the session's last 10 results.

    A field is held against every one of these results that has it, and its largest swing counts. See ``swing`` for
    zeros and signs, ``severity`` for the scale.
    """
    if case.call.session_id is None:
        return Finding(None, "no session given")
    memory: Baseline = case.memory
    earlier = memory.session(case.call.session_id)
    if not earlier:
        return Finding(None, "first result of this tool in the session")
    factors: dict[str, float] = {}
    for path, number in numeric_fields(case.document).items():
        swings = [swing(result[path], number) for result in earlier if path in result]
        comparable = [factor for factor in swings if factor is not None]
        if comparable:
            factors[path] = max(comparable)
    return _swings(factors, limit, f"of {len(earlier)} earlier results in the session")


def historical(case: Case, *, limit: float = HISTORY_SWING) -> Finding:
    """Mean severity of the fields that are ``limit`` times or more away from their mean for the same arguments.

    A field is compared from 3 earlier values on, and where its mean says what size to expect: not where the mean is
    zero or smaller than the standard deviation. A tool that is declared stateful may rightly answer anew.
    """
    if case.call.args is None:
        return Finding(None, "no arguments given")
    if case.contract.profile.stateful:
        return Finding(None, "declared stateful: the same arguments may give other results")
    memory: Baseline = case.memory
    past = memory.history(case.arguments.key)
    calls = past.calls if past is not None else 0
    if past is None or calls < MIN_HISTORY:
        return Finding(None, f"{calls} of {MIN_HISTORY} calls with these arguments")
    factors: dict[str, float] = {}
    for path, number in numeric_fields(case.document).items():
        stats = past.fields.get(path)
        if stats is None or stats.n < MIN_HISTORY or stats.std > abs(stats.mean):
            continue
        factor = swing(stats.mean, number)
        if factor is not None:
            factors[path] = factor
    return _swings(factors, limit, f"of its mean over {calls} calls with these arguments")


def _swings(factors: dict[str, float], limit: float, against: str) -> Finding:
    """What the factors come to; the detail gives factors and not values, for it may end up in a log."""
    if not factors:
        return Finding(None, "no number to compare")
    swung = {path: factor for path, factor in factors.items() if factor >= limit}
    if not swung:
        return Finding(0.0, f"within {limit:g} times {against}")
    score = sum(map(severity, swung.values())) / len(swung)
    said = [f"Field {path or 'result'!r}: off by a factor of {factor:.3g}" for path, factor in swung.items()]
    traits = tuple([f"number {path}" for path in swung])
    return Finding(score, f"{'; '.join(said)}, {limit:g} is the limit {against}", traits)
