"""Twenty-four families of tools, written from what real tools do; each is an endless stream of genuine calls.

A family takes a seeded ``Random`` and yields calls in the order in which an agent makes them. Its tools have state:
records change, counters grow, caches fill, files are written. What is genuine may be rare, slow, empty or an error.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping

from ..calls import Call
from .amounts import calculations, counters, diurnal_latency, heavy_tails, random_walks, scalars
from .behaviour import actions, error_prone, evolving, few_calls, stateful
from .collections import empties, lists, search, tables
from .records import caches, enumerations, nested, prices, records, siblings
from .texts import logs, prose, yaml_text

__all__ = ["FAMILIES", "Family"]

Family = Callable[[random.Random], Iterator[Call]]

FAMILIES: Mapping[str, Family] = {
    family.__name__: family
    for family in (
        actions, caches, calculations, counters, diurnal_latency, empties, enumerations, error_prone, evolving,
        few_calls, heavy_tails, lists, logs, nested, prices, prose, random_walks, records, scalars, search, siblings,
        stateful, tables, yaml_text,
    )
}  # fmt: skip
