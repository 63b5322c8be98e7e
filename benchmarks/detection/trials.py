"""One course judged by one contestant: what is run in a process of its own, and what comes back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .contestants import Contestant, Score, ours, ours_in_full, reference, reviewed
from .forest import forest
from .rival import rival
from .stream import GENUINE, WARM, agents, events

__all__ = ["CONTESTANTS", "Judged", "Trial", "run", "trials"]

CONTESTANTS: dict[str, Contestant] = {
    "ours": ours, "ours, reviewed": reviewed, "ours, every signal": ours_in_full, "reference mode": reference,
    "isolation forest": forest, "awesome-agentguard": rival,
}  # fmt: skip


class Trial(NamedTuple):
    """One agent's course and who judges it; see ``stream.events`` for the last four."""

    contestant: str
    seed: int
    families: Sequence[str]
    calls: int
    spoiled: float = 0.0


class Judged(NamedTuple):
    """One judged call: of which family, what it was (see ``stream.Event``), and what was said of it."""

    seed: int
    family: str
    kind: str
    number: int
    ms: float
    usual_ms: float
    score: Score

    @property
    def genuine(self) -> bool:
        """Whether nothing was wrong with the call."""
        return self.kind == GENUINE

    @property
    def warm(self) -> bool:
        """Whether the tool had at least 20 calls before this one."""
        return self.number > WARM


def trials(contestant: str, seeds: Sequence[int], calls: int, spoiled: float = 0.0) -> list[Trial]:
    """All families once for each seed, four an agent."""
    return [Trial(contestant, seed, families, calls, spoiled) for seed in seeds for families in agents(seed)]


def run(trial: Trial) -> list[Judged]:
    """Let the contestant judge the course."""
    course = list(events(trial.seed, trial.families, trial.calls, trial.spoiled))
    scores = CONTESTANTS[trial.contestant](course)
    return [
        Judged(trial.seed, event.family, event.kind, event.number, event.call.ms, event.usual_ms, score)
        for event, score in zip(course, scores, strict=True)
    ]
