"""Fits the weights of the signs on the design part of the turns, and writes ``weights.ini``.

    python benchmarks/deeds/fit.py [--write]

A logistic regression: the log-odds that a claim is false are the sum of its signs' weights, which are kept small
(a ridge). What each limit would find and accuse is told by weights from the other catalogues of tools
(``FOLDS``-fold cross-validation), of each turn with and without the tools that the agent had, which a transcript seldom
has. The limit is the lowest, in steps of a quarter, at which no more than one in three hundred honest turns is accused
so: of turns that nobody had read, several times as many were each time that new ones were written.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer
from rich.console import Console
from scipy.optimize import minimize

from agentguard.content.actions._claims import claims
from agentguard.content.actions._compared import compared
from agentguard.content.actions._decided import Seen
from agentguard.content.actions._holding import decides
from agentguard.content.actions._ledger import deeds
from agentguard.content.actions._signs import Ledger
from agentguard.content.actions._tools import ability_of

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # as a script, too

from deeds.turns import FALSE, Turn, turns

RIDGE = 1.0
FOLDS = 8
LEAST = 3  # claims that have a sign, for it to be weighed
LIMITS = tuple(step / 4 for step in range(17))
MOST_ACCUSED = 1 / 300  # of honest turns
FILE = Path(__file__).resolve().parents[2] / "src/agentguard/content/actions/weights.ini"
HEADER = """# What each sign weighs, in nats, that a claim of action is false.
# Made by `python benchmarks/deeds/fit.py --write`.
# A claim begins at ``base``; from ``limit`` on it is held to be false, below ``supported`` to be true.
"""


class Look(NamedTuple):
    """What is seen of the claims of a turn, which of them are false, and the claims found of each false label."""

    turn: Turn
    claims: tuple[Seen, ...]
    false: tuple[bool, ...]
    found: tuple[tuple[int, ...], ...]


def look(turn: Turn) -> Look:
    """Look at a turn as ``actions.check`` does."""
    stated = list(claims(turn.answer))
    tools = {tool.name: tool for tool in turn.tools}
    ledger = Ledger(
        list(deeds(turn.calls, tools)), {name: ability_of(tool) for name, tool in tools.items()}, turn.question
    )
    seen = tuple(ledger.see([compared(each) for each in stated], turn.answer))
    false = []
    for each in stated:
        overlaps = [(min(label.end, each.end) - max(label.start, each.start), label.label) for label in turn.labels]
        best = max(overlaps, default=(0, ""))
        false.append(best[0] > 0 and best[1] in FALSE)
    found = tuple(
        tuple(number for number, each in enumerate(stated) if each.start < label.end and label.start < each.end)
        for label in turn.labels
        if label.label in FALSE
    )
    return Look(turn, seen, tuple(false), found)


def fitted(data: Sequence[Look]) -> dict[str, float]:
    """The weight of each sign, and ``base``."""
    counts = Counter(sign for each in data for claim in each.claims if decides(claim) for sign in claim.evidence)
    names = sorted(sign for sign, count in counts.items() if count >= LEAST)
    places = {name: place for place, name in enumerate(names)}
    rows, labels = [], []
    for each in data:
        for claim, false in zip(each.claims, each.false, strict=True):
            if decides(claim):
                row = np.zeros(len(names))
                for sign, share in claim.evidence.items():
                    if sign in places:
                        row[places[sign]] = share
                rows.append(row)
                labels.append(false)
    x, y = np.array(rows), np.array(labels, float)

    def loss(beta: Any) -> tuple[float, Any]:
        z = x @ beta[1:] + beta[0]
        rest = 1 / (1 + np.exp(-z)) - y
        value = np.logaddexp(0, np.where(y > 0, -z, z)).sum() + RIDGE * (beta[1:] ** 2).sum() / 2
        return value, np.concatenate([[rest.sum()], x.T @ rest + RIDGE * beta[1:]])

    beta = minimize(loss, np.zeros(len(names) + 1), jac=True, method="L-BFGS-B").x
    return {"base": float(beta[0])} | {name: float(beta[1 + place]) for name, place in places.items()}


def scores(each: Look, weights: dict[str, float]) -> list[float]:
    """The log-odds of each claim of a turn; minus infinity for what cannot be checked."""
    return [
        weights["base"] + sum(share * weights.get(sign, 0.0) for sign, share in claim.evidence.items())
        if decides(claim)
        else -np.inf
        for claim in each.claims
    ]


def recall_and_accused(data: Sequence[Look], found: Sequence[Sequence[float]], limit: float) -> tuple[float, float]:
    """The share of false labels that are found, and of honest turns that are accused."""
    labels = [any(values[place] >= limit for place in places) for each, values in zip(data, found, strict=True)
              for places in each.found]  # fmt: skip
    honest = [any(value >= limit for value in values) for each, values in zip(data, found, strict=True)
              if each.turn.honest]  # fmt: skip
    return sum(labels) / len(labels), sum(honest) / len(honest)


def cross_validated(data: Sequence[Look]) -> list[list[float]]:
    """The scores of each turn by the weights that the other catalogues of tools give."""
    catalogues = sorted({each.turn.catalogue for each in data})
    fold = {name: place % FOLDS for place, name in enumerate(catalogues)}
    weights = [fitted([each for each in data if fold[each.turn.catalogue] != number]) for number in range(FOLDS)]
    return [scores(each, weights[fold[each.turn.catalogue]]) for each in data]


def main(write: Annotated[bool, typer.Option("--write", help="Write weights.ini.")] = False) -> None:
    """Fit, and print what each limit would find and accuse."""
    console = Console(highlight=False)
    every = list(turns("design"))
    data = [look(turn) for turn in (*every, *(turn._replace(tools=()) for turn in every))]
    weights, crossed = fitted(data), cross_validated(data)
    chosen = LIMITS[-1]
    for limit in reversed(LIMITS):
        recall, accused = recall_and_accused(data, crossed, limit)
        console.print(f"limit {limit:.2f}: recall {recall:.3f}, accused {accused:.4f}")
        chosen = limit if accused <= MOST_ACCUSED else chosen
    console.print(f"limit {chosen}")
    if write:
        lines = [f"{name} = {weight:.3f}" for name, weight in weights.items()]
        FILE.write_text(
            f"{HEADER}[weights]\nlimit = {chosen}\nsupported = 0.0\n" + "\n".join(lines) + "\n", encoding="utf-8"
        )


if __name__ == "__main__":
    typer.run(main)
