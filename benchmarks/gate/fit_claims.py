"""Fits the weights of the rule judge's traits to the labelled claims' design part, and prints them.

    python benchmarks/gate/fit_claims.py [--data FOLDER]

A logistic regression in which no weight may point against its trait's direction, each set and label weighing the same;
standardised, with an L2 penalty. The accuracy printed beside is that of documents left out of the fit, eight folds.
What it prints is kept by hand in ``src/agentguard/gate/rules/_verdict.py``.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from scipy.optimize import minimize
from scipy.stats import rankdata

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from agentguard.gate.rules._alignment import align
from agentguard.gate.rules._reading import Reading
from agentguard.gate.rules._statements import statements
from agentguard.gate.rules._verdict import DIRECTIONS, Traits, traits
from gate.labelled import DATA, SETS, Labelled, labelled

FOLDS, SHUFFLES = 8, 3
Array = Any


def measured(claims: list[Labelled]) -> Array:
    """The traits of each claim beside its whole document, one row each."""
    readings: dict[str, Reading] = {}
    rows = []
    for claim in claims:
        if claim.doc_id not in readings:
            readings[claim.doc_id] = Reading(claim.document)
        alignment = align(Reading(claim.claim), readings[claim.doc_id])
        rows.append(traits(alignment, statements(alignment)))
    return np.array(rows, dtype=float)


def fitted(x: Array, y: Array, weights: Array, penalty: float) -> Array:
    """Weights of the traits as they are counted, and the intercept last."""
    middle, spread = x.mean(0), x.std(0) + 1e-9
    z = np.c_[(x - middle) / spread, np.ones(len(x))]

    def loss(b: Array) -> tuple[float, Array]:
        p = 1 / (1 + np.exp(-(z @ b)))
        likelihood = (weights * np.where(y, np.log(p + 1e-12), np.log(1 - p + 1e-12))).sum()
        return penalty * (b[:-1] ** 2).sum() - likelihood, z.T @ (weights * (p - y)) + 2 * penalty * np.r_[b[:-1], 0]

    bounds = [(0, None) if direction > 0 else (None, 0) for direction in DIRECTIONS]
    b = minimize(loss, np.zeros(z.shape[1]), jac=True, method="L-BFGS-B", bounds=[*bounds, (None, None)]).x
    slopes = b[:-1] / spread
    return np.r_[slopes, b[-1] - slopes @ middle]


def balanced(y: Array, sources: Array) -> Array:
    """Weights by which each set, and each label within it, counts the same."""
    weights = np.zeros(len(y))
    for source in set(sources):
        for label in (False, True):
            chosen = (sources == source) & (y == label)
            weights[chosen] = len(y) / (2 * len(set(sources)) * max(1, chosen.sum()))
    return weights


def auroc(y: Array, scores: Array) -> float:
    ranks, positive = rankdata(scores), int(y.sum())
    return float((ranks[y].sum() - positive * (positive + 1) / 2) / (positive * (len(y) - positive)))


def crossed(x: Array, y: Array, sources: Array, documents: Array, penalty: float, seed: int) -> Array:
    """The log-odds of each claim by weights that were fitted without its document."""
    names = np.random.default_rng(seed).permutation(sorted(set(documents)))
    scores = np.zeros(len(y))
    for fold in range(FOLDS):
        out = np.isin(documents, names[fold::FOLDS])
        b = fitted(x[~out], y[~out], balanced(y[~out], sources[~out]), penalty)
        scores[out] = x[out] @ b[:-1] + b[-1]
    return scores


def main(
    data: Annotated[Path, typer.Option(help="Folder of labelled claims.")] = DATA,
    penalty: Annotated[float, typer.Option(min=0.0, help="Of squared standardised weights.")] = 5.0,
) -> None:
    """Fit, and print the weights and the accuracy on documents left out."""
    console = Console()
    claims = [claim for source in SETS for claim in labelled(data, source) if claim.part == "design"]
    if not claims:
        console.print(f"not fitted: there are no labelled claims in {data}")
        raise typer.Exit(1)
    x = measured(claims)
    y = np.array([claim.supported for claim in claims])
    sources, documents = np.array([claim.source for claim in claims]), np.array([claim.doc_id for claim in claims])
    for source in SETS:
        chosen = sources == source
        found = []
        for seed in range(SHUFFLES):
            scores = crossed(x, y, sources, documents, penalty, seed)[chosen]
            right = ((scores[y[chosen]] > 0).mean() + (scores[~y[chosen]] <= 0).mean()) / 2
            found.append((auroc(y[chosen], scores), right))
        area, right = np.mean(found, axis=0)
        console.print(f"{source}: {chosen.sum()} claims, AUROC {area:.3f}, balanced accuracy {right:.3f}")
    b = fitted(x, y, balanced(y, sources), penalty)
    for name, weight, column in zip(Traits._fields, b, x.T, strict=False):
        by_source = [auroc(y[sources == source], column[sources == source]) for source in SETS]
        shown = ", ".join(f"{area:.3f}" for area in by_source)
        console.print(f"{name:12} {weight:+.3f}  standardised {weight * column.std():+.2f}  AUROC alone {shown}")
    console.print(f"Traits({', '.join(f'{weight:.2f}' for weight in b[:-1])}), intercept {b[-1]:.2f}")


if __name__ == "__main__":
    typer.run(main)
