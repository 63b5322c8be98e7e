"""SARIF 2.1.0, the format in which code hosts and editors take the findings of scanners.

Columns count characters (``unicodeCodePoints``), and an end column is that of the character after, as the standard has
it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from agentguard._version import installed_version

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def sarif_log(
    rules: Sequence[Mapping[str, Any]],
    results: Sequence[Mapping[str, Any]],
    notes: Sequence[Mapping[str, Any]],
    *,
    successful: bool,
) -> dict[str, Any]:
    """A log of one run: its rules, its results by the numbers of these, and what could not be read."""
    run = {
        "tool": {"driver": {"name": "agentguard", "version": installed_version(), "rules": rules}},
        "columnKind": "unicodeCodePoints",
        "invocations": [{"executionSuccessful": successful, "toolExecutionNotifications": notes}],
        "results": results,
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def rule_of(identity: str, title: str, level: str, tags: Sequence[str]) -> dict[str, Any]:
    """A rule, whose name in camel case is made from its id."""
    return {
        "id": identity,
        "name": "".join(word.capitalize() for word in re.findall(r"\w+", identity.replace("-", " ").replace("_", " "))),
        "shortDescription": {"text": title},
        "defaultConfiguration": {"level": level},
        "properties": {"tags": tags},
    }


def location(source: str, region: Mapping[str, int], path: str = "") -> dict[str, Any]:
    """A place in a file, and the path in what stands there."""
    file = Path(source)
    uri = file.as_uri() if file.is_absolute() else quote(file.as_posix())
    place: dict[str, Any] = {"physicalLocation": {"artifactLocation": {"uri": uri}, "region": region}}
    return {**place, "logicalLocations": [{"fullyQualifiedName": path}]} if path else place


def note(text: str, place: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """A notification about the run itself."""
    return {"level": "warning", "message": {"text": text}, **({"locations": [place]} if place else {})}
