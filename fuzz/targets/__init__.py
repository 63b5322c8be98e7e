"""All harnesses, by name."""

from __future__ import annotations

from fuzz.harness import Harness
from fuzz.targets import (
    answers,
    claims,
    configuration,
    documents,
    grounding,
    json_repair,
    receipts,
    record_files,
    report,
    scanners,
    search,
    stores,
    traces,
    verify,
)

__all__ = ["HARNESSES"]

_FAMILIES = (
    *(verify, configuration, traces, json_repair, receipts, scanners, grounding, answers, claims, documents),
    *(record_files, search, stores, report),
)

HARNESSES: dict[str, Harness] = {harness.name: harness for family in _FAMILIES for harness in family.HARNESSES}
