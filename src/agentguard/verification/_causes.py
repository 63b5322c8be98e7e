"""P(fault | change): whether a tool's service has changed, or is broken.

Every call of a change is evidence for one or the other. ``clues_of`` reduces a call to a few numbers in [0, 1], each
of which can be said in a sentence; a change keeps their sums, and ``p_fault`` weighs the means. The weights are
learned from faults that last and from genuine changes (``make weights``).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from agentguard.verification._keys import numbers_of
from agentguard.verification.weights import CHANGE_CONSTANT, CHANGE_WEIGHTS

if TYPE_CHECKING:
    from agentguard.verification._case import Case
    from agentguard.verification.types import Trait

#: Each clue, and what it says where it speaks.
CLUES: Final[Mapping[str, str]] = {
    "renamed": "as many fields are new as are gone, of the same types",
    "added": "there are new fields, and none is gone",
    "carried": "the usual fields are there, under their own or another path",
    "nulls": "values are null that never were",
    "empty": "the results are empty",
    "cut": "the results break off",
    "prose": "there is text instead of a record",
    "canned": "the results have words of a mock, which the tool never used",
    "echoes": "what the results repeat of the arguments is repeated as before",
    "unasked": "what the results repeated of the arguments is not repeated",
    "level": "numbers lie off their levels",
    "factor": "numbers are off by a large factor",
    "format": "values are of another type or written in another way",
    "value": "there is a new value where there were always the same ones",
    "copied": "the same answer comes to other arguments",
    "again": "the same arguments were asked before since the change",
    "same": "the results are known as those of other calls",
    "short": "the results are shorter than before",
    "text": "the results are worded in another way",
    "volatile": "the tool gives other answers to the same arguments all the time",
    "nats": "each call by itself is a strong suspect",
}

FACTOR: Final = math.log(8.0)  # nats
FAR: Final = 4.0  # standard deviations
LEVEL_KNOWN: Final = 8.0  # values
STRONG: Final = 8.0  # nats of all evidence, from which on a call is as suspect as can be
SHORTER: Final = 3.0  # nats of size, from which on a result is as short as can be
ECHOES: Final = frozenset({"Equal", "EveryRow", "Somewhere"})
_CANNED: Final = re.compile(
    rb"\b(?:mock(?:ed)?|fake[ds]?|dummy|stub(?:bed)?|fixture|placeholder|lorem|ipsum|sample (?:data|response)"
    rb"|synthetic|simulated|not (?:yet )?implemented|tbd)\b",
    re.IGNORECASE,
)
MOST_READ: Final = 4_096  # bytes of a result that are searched for such words


def says_canned(text: bytes) -> bool:
    """Whether the beginning of a result has a word that gives mocks away.

    >>> says_canned(b'{"source": "mock_server", "id": 4}'), says_canned(b"a mockingbird")
    (True, False)
    """
    return _CANNED.search(text[:MOST_READ].replace(b"_", b" ")) is not None


def clues_of(case: Case, traits: Iterable[Trait], nats: float, *, again: bool, copied: bool) -> list[float]:
    """The clues of one call of a change, each in [0, 1], in the order of ``CLUES``.

    Args:
        case: the call, and the tool's memory as it was before.
        traits: in which it is odd.
        nats: of all its evidence.
        again: these arguments were asked before since the change.
        copied: this very answer came to other arguments since the change.
    """
    memory, document = case.memory, case.document
    odd = list(traits)
    kinds = {trait.kind for trait in odd}
    paths = {kind: {trait.path for trait in odd if trait.kind == kind} for kind in ("lost", "added")}
    retyped = paths["lost"] & paths["added"]
    lost = Counter(trait.what for trait in odd if trait.kind == "lost" and trait.path not in retyped)
    added = Counter(
        trait.what for trait in odd if trait.kind == "added" and trait.path not in retyped and trait.what != "NoneType"
    )
    leaves = document.leaves
    nulls = any(
        (trait.kind == "added" and trait.what == "NoneType")
        or (trait.kind == "type" and None in leaves.get(trait.path, ()))
        for trait in odd
    )
    structured = document.layout is not None
    empty = document.kind == "empty" or "empty" in kinds
    lengths = memory.lengths.get(document.kind) or max(memory.lengths.values(), key=len, default=None)
    short = 0.0
    if lengths is not None and len(lengths):
        short = lengths.ordered[len(lengths) // 2] - math.log1p(document.size)
    held, broken = _echoes(case)
    found = {
        "renamed": bool(lost) and not lost - added,
        "added": bool(added) and not lost,
        "carried": 0.0 if document.is_error or empty else _carried(case),
        "nulls": nulls,
        "empty": empty and not document.is_error,
        "cut": "cut" in kinds,
        "prose": not structured and not empty and memory.has_records,
        "canned": not memory.canned and says_canned(document.text),
        "echoes": held and not broken,
        "unasked": broken > 0,
        "level": "level" in kinds,
        "factor": _is_factor(case),
        "format": not kinds.isdisjoint(("type", "format", "writing")) and not nulls,
        "value": "value" in kinds,
        "copied": copied,
        "again": again,
        "same": "same" in kinds,
        "short": min(max(short, 0.0) / SHORTER, 1.0),
        "text": not kinds.isdisjoint(("word", "kind")) and not structured,
        "volatile": memory.repeats.mean(memory.pool.changes.mean(0.3, 2.0), 4.0),
        "nats": min(max(nats, 0.0) / STRONG, 1.0),
    }
    return [float(found[name]) for name in CLUES]


def p_fault(clues: Sequence[float], calls: int) -> float:
    """P(fault | change) of the sums of clues over so many calls; with each call the evidence counts for more."""
    share = 1.0 / (calls + 1.0)
    odds = CHANGE_CONSTANT + sum(
        CHANGE_WEIGHTS.get(name, 0.0) * total * share for name, total in zip(CLUES, clues, strict=True)
    )
    return 1.0 / (1.0 + math.exp(-max(min(odds, 30.0), -30.0)))


def grounds(clues: Sequence[float], calls: int) -> str:
    """The two clues that speak most against a fault, in words.

    >>> grounds([0.0] * len(CLUES), 3)
    ''
    """
    moved = [
        (CHANGE_WEIGHTS.get(name, 0.0) * total / max(calls, 1), name) for name, total in zip(CLUES, clues, strict=True)
    ]
    return "; ".join(CLUES[name] for nats, name in sorted(moved)[:2] if nats < 0.0)


def _carried(case: Case) -> float:
    """The share of the tool's usual fields that a result has, under their own path or another that ends alike."""
    memory = case.memory
    usual = memory.usual_fields()
    if not usual:
        return 1.0
    names = {path.rpartition(".")[2].removesuffix("[]") for path in case.document.leaves}
    there = sum(any(name.startswith(one) for name in names) for one in usual)
    return there / len(usual)


def _echoes(case: Case) -> tuple[int, int]:
    """How many of the relations to the arguments that the tool keeps hold here, and how many do not."""
    if case.document.is_error or not case.document.leaves:
        return 0, 0
    relations: Any = case.memory.relations
    result = case.document.side
    holds = [
        one for relation, one in relations.outcomes(case.arguments.side, result)
        if relation.key[0] in ECHOES and relation.strength > 1.0
    ]  # fmt: skip
    return sum(holds), len(holds) - sum(holds)


def _is_factor(case: Case) -> bool:
    """A number is off its level by a factor of eight and more, and far beyond its spread."""
    levels = case.memory.levels
    for path, x in numbers_of(case.document).items():
        level = levels.get(path)
        if (
            level is not None
            and level.count >= LEVEL_KNOWN
            and x * level.mean > 0.0
            and abs(x - level.mean) > max(FACTOR, FAR * math.sqrt(level.variance))
        ):
            return True
    return False
