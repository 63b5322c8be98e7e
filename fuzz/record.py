"""The figures of the last long campaign, as a file beside the harnesses: what the measurements document is made of."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final, NamedTuple

__all__ = ["LONG", "RECORD", "Finding", "Searched", "kept", "read"]

RECORD: Final = Path(__file__).with_name("campaign.json")
LONG: Final = 300.0
"""Seconds of a target: a shorter search is a trial, and changes no record."""


class Finding(NamedTuple):
    """A promise that an input broke.

    Attributes:
        broke: the error, and where it arose; or how the process ended.
        harness: the name of the one that the input was for.
        data: the input of the harness alone, as hexadecimal digits; none where it is not known.
    """

    broke: str
    harness: str
    data: str


class Searched(NamedTuple):
    """What the search of one target came to.

    Attributes:
        target: its name.
        engine: ``guided`` or ``blind``.
        inputs: how many were tried.
        seconds: how long.
        edges: branches of the code under test that were reached; None where nothing counts them.
        kept: inputs that reached something which no other had.
        tried: of the inputs, those of each harness.
        findings: what was found.
        slowest_ms_per_kib: of the input that took longest for its size; less than a KiB counts as one.
        slowest_bytes: its size.
    """

    target: str
    engine: str
    inputs: int
    seconds: float
    edges: int | None
    kept: int | None
    tried: Mapping[str, int]
    findings: tuple[Finding, ...]
    slowest_ms_per_kib: float
    slowest_bytes: int

    @property
    def rate(self) -> float:
        """Inputs a second."""
        return self.inputs / self.seconds if self.seconds else 0.0


def read(path: Path = RECORD) -> tuple[dict[str, str], list[Searched]]:
    """What was searched on, and each target's figures; nothing, where there was no long campaign."""
    if not path.exists():
        return {}, []
    data = json.loads(path.read_text("utf-8"))
    return data["on"], [_searched(target) for target in data["targets"]]


def kept(searched: Searched, path: Path, order: tuple[str, ...]) -> bool:
    """Put the figures of a target in place of its last ones, if the search was a long one.

    Args:
        searched: the figures.
        path: the file.
        order: names of all targets; what is none of them is left out.
    """
    if searched.seconds < LONG:
        return False
    figures = {**{each.target: each for each in read(path)[1]}, searched.target: searched}
    targets = [_plain(figures[name]) for name in order if name in figures]
    draft = path.with_suffix(".draft")
    draft.write_text(json.dumps({"on": _machine(), "targets": targets}, indent=1) + "\n", "utf-8")
    draft.replace(path)
    return True


def _plain(searched: Searched) -> dict[str, Any]:
    return {**searched._asdict(), "findings": [finding._asdict() for finding in searched.findings]}


def _searched(plain: dict[str, Any]) -> Searched:
    return Searched(**{**plain, "findings": tuple(Finding(**finding) for finding in plain["findings"])})


def _machine() -> dict[str, str]:
    try:
        engine = f"atheris {version('atheris')}"
    except PackageNotFoundError:
        engine = "blind"
    return {"Python": f"{platform.python_implementation()} {platform.python_version()}", "engine": engine}
