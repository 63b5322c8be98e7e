"""Checks of a result's values: their levels, values that never came, relations that held, control charts."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Final

from agentguard.verification._baseline import SHORTEST_MS, ToolMemory
from agentguard.verification._case import Case
from agentguard.verification._checks._base import Finding, LearnedCheck, learned_shape
from agentguard.verification._document import Document
from agentguard.verification._keys import numbers_of
from agentguard.verification._relations import FEWEST, TRIED
from agentguard.verification.drift import ALARM, WARM_UP, is_poor
from agentguard.verification.types import Trait

# --- value_plausibility: a number far from where this tool's results have it, or a string in another format ---

LEVEL_WARM_UP: Final = 8  # results
SHOWN: Final = 0.1  # P(a number has a sign that it never had | fabricated or corrupted)


class ValuePlausibility(LearnedCheck):
    """Each number by path, by Student's t with 4 degrees of freedom on the signed-log scale; and the format of strings.

    Numbers that only ever grow are held to growing. With m numbers the smallest p counts ``p (1 + (m - 1)/2)``. What is
    plausible for the tool as a whole says little of one call: capped at a ratio of 3, it may flag, not block. A number
    below 0 where none ever was is an event with a rate, and weighs what that rate says. One that the tool is not alone
    to say (``Case.vouched``) is left out.
    """

    name = "value_plausibility"
    group = "past"
    floor = 0.02
    cap = 3.0

    def examine(self, case: Case, document: Document, memory: ToolMemory) -> Finding | str:
        shape = learned_shape(document, memory, LEVEL_WARM_UP)
        if isinstance(shape, str):
            return shape
        least, least_path, above, sign, judged = 1.0, "", True, 1.0, 0
        vouched = case.vouched
        for path, x in numbers_of(document).items():
            level = memory.levels.get(path)
            if level is not None and level.count >= LEVEL_WARM_UP and path not in vouched:
                judged += 1
                p = level.p(x)
                if p < least:
                    least, least_path, above = p, path, x > level.mean
                if x < 0.0:
                    sign = min(sign, level.sign_p(x))
        worst, why, several = 0.0, "", 1.0 + 0.5 * (judged - 1)
        traits: tuple[Trait, ...] = ()
        if judged:
            worst = -math.log(min(least * several, 1.0))
            if worst > 0.0:
                why = f"{least_path or 'the number'} is far from its usual level"
                traits = (Trait("level", least_path, "above" if above else "below"),)
        x, detail, written = shape.format_surprise(document, {text for _, text in case.arguments.values})
        if x > worst:
            worst, why, traits = x, detail, (Trait("writing", written),)
        direct = SHOWN / (sign * several) if sign < 1.0 else 0.0
        return Finding(worst, why, direct=direct, traits=traits)


# --- novel_value: a new value where nearly all results had one and the same ---


class NovelValue(LearnedCheck):
    """A word, a state or a flag that was never there, at a path whose value hardly ever changes.

    What the arguments say is none, nor is any where an argument that hardly ever changes has changed too.
    """

    name = "novel_value"
    group = "form"
    share = 0.8

    def examine(self, case: Case, document: Document, memory: ToolMemory) -> Finding | str:
        if document.is_error or not document.leaves:
            return "an error, or a result without values"
        if memory.is_known(document):
            return "this very result is known"
        relations = memory.relations
        if relations.calls < FEWEST:
            return f"{relations.calls} of {FEWEST} results"
        path, p, times = relations.new_value(case.arguments.side, document.side, case.vouched)
        if p >= 1.0:
            return Finding(0.0, "")
        why = f"{path or 'the value'} has a value that none of {times:,} had"
        return Finding(-math.log(p), why, traits=(Trait("value", path),))


# --- relation_mismatch: a relation that held in every call so far does not hold in this one ---


class RelationMismatch(LearnedCheck):
    """Holds a call to the relations that this tool's calls kept.

    Its evidence is measured, as the ratio of how often other calls' results break the relation to how often the tool's
    own do, and ranked among what the tool's genuine calls break.
    """

    name = "relation_mismatch"
    group = "relation"
    share = 0.8
    floor = 0.0005
    prior = 4.0

    def examine(self, case: Case, document: Document, memory: ToolMemory) -> Finding | str:
        if document.is_error or not document.leaves:
            return "an error, or nothing that relations are about"
        relations = memory.relations
        if relations.calls < TRIED:
            return f"{relations.calls} of {TRIED} results"
        broken = relations.broken(case.arguments.side, document.side, case.vouched)
        return Finding(broken.nats, broken.message, traits=broken.traits)


# --- spc_anomaly: the tool as a whole drifts; an alarm of its control charts ---

EWMA_NATS: Final = 6.0  # at the control limit
MOST_EWMA: Final = 6.0  # below what the e-process of a number says when it alarms


class SpcAnomaly(LearnedCheck):
    """EWMA charts of log-latency and log-size, and a chart of each number (see ``drift.py``), with this call in.

    An alarm concerns the tool more than the call: it is capped at a ratio of 3.
    """

    name = "spc_anomaly"
    group = "drift"
    cap = 3.0

    @staticmethod
    def _numbers(case: Case, document: Document, memory: ToolMemory) -> Finding:
        """The number whose run of values is most surprising, among all that are charted."""
        if document.is_error or not memory.charts or memory.is_known(document):
            return Finding(0.0, "")
        finding, charted, vouched, key = Finding(0.0, ""), 0, case.vouched, case.arguments.key
        for path, x in numbers_of(document).items():
            chart = memory.charts.get(path)
            if chart is None or path in vouched:
                continue
            charted += 1
            level, name = memory.levels[path], path or "the number"
            stuck = chart.stuck.grown(hash(x), key)
            surprise, above = chart.surprise(x, level, key)
            if stuck >= max(ALARM, surprise) and stuck > finding.surprise:
                detail = f"{name} is the same in {chart.stuck.run + 2} calls in a row, whatever they asked"
                finding = Finding(stuck, detail, direct=math.exp(stuck), traits=(Trait("same", path, "stuck"),))
            elif surprise > finding.surprise:
                side = "above" if above else "below"
                detail = f"{name} has been {side} its level for several calls"
                direct = math.exp(surprise) if chart.is_beyond(x) else 0.0
                finding = Finding(surprise, detail, direct=direct, traits=(Trait("level", path, side),))
        several = math.log(1.0 + 0.5 * max(charted - 1, 0))
        return replace(finding, surprise=finding.surprise - several) if several else finding

    def examine(self, case: Case, document: Document, memory: ToolMemory) -> Finding | str:
        points: list[tuple[str, float]] = []
        if case.milliseconds is not None:
            points.append(("latency", math.log(max(case.milliseconds, SHORTEST_MS))))
        if not document.is_error and document.kind != "empty":
            points.append(("size", math.log1p(document.size)))
        worst, worst_name, warm = 0.0, "", False
        for name, x in points:
            statistic = memory.drift.statistic(name, x)
            if statistic is not None:
                warm = True
                if statistic > worst:
                    worst, worst_name = statistic, name
        poor = is_poor(document)
        stuck = 0.0 if document.is_error else memory.stuck.grown(document.digest, case.arguments.key, poor=poor)
        if stuck >= ALARM:
            detail = f"the same result to {memory.stuck.run + 2} calls in a row, whatever they asked"
            return Finding(stuck, detail, direct=math.exp(stuck), traits=(Trait("same", "", "stuck"),))
        numbers = self._numbers(case, document, memory)
        if numbers.surprise > max(EWMA_NATS * worst, 0.0):
            return numbers
        if not warm:
            return f"{max((memory.drift.count(name) for name, _ in points), default=0)} of {WARM_UP} calls"
        if worst < 1.0:
            return Finding(0.0, "within its control limits")
        detail = f"the EWMA of {worst_name} is beyond its control limit"
        return Finding(min(EWMA_NATS * worst, MOST_EWMA), detail, traits=(Trait("drift", worst_name),))
