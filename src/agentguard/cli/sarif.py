"""Findings as SARIF 2.1.0, the format in which code hosts and editors take the findings of scanners.

Columns count characters (``unicodeCodePoints``), and an end column is that of the character after, as the standard has
it. Findings that block are errors, others warnings.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

if TYPE_CHECKING:
    from .scan_looking import Sighting
    from .scan_report import Findings

__all__ = ["sarif_of"]

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
LEVELS: Mapping[str, str] = {"flag": "warning", "block": "error"}
KIND_LEVELS: Mapping[str, str] = {"injection": "error", "pii": "warning", "secrets": "error"}
KIND_TITLES: Mapping[str, str] = {
    "injection": "Prompt injection", "pii": "Personal data", "secrets": "Credentials"
}  # fmt: skip


def sarif_of(found: Findings, version: str, *, interrupted: bool) -> dict[str, Any]:
    """A log of one run, with a rule for each name that occurs; what could not be read is among its notifications."""
    rules = sorted({(kind, name) for kind, name, _ in found.counts})
    numbers = {rule: number for number, rule in enumerate(rules)}
    notes = [_note(f"{line.reason}", _location(line.source, {"startLine": line.line})) for line in found.first_broken]
    if found.broken > len(notes):
        notes.append(_note(f"{found.broken - len(notes):,} more lines are not what they should be"))
    if found.total > len(found.kept):
        notes.append(_note(f"{found.total - len(found.kept):,} more findings are left out"))
    invocation = {"executionSuccessful": not interrupted and not found.unread, "toolExecutionNotifications": notes}
    driver = {"name": "agentguard", "version": version, "rules": [_rule(*rule) for rule in rules]}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "invocations": [invocation],
        "results": [_result(sighting, numbers[sighting.kind, sighting.name]) for sighting in found.kept],
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(kind: str, name: str) -> dict[str, Any]:
    return {
        "id": _rule_id(kind, name),
        "name": "".join(word.capitalize() for word in re.findall(r"\w+", f"{kind} {name}".replace("_", " "))),
        "shortDescription": {"text": f"{KIND_TITLES[kind]}: {name.replace('_', ' ')}"},
        "defaultConfiguration": {"level": KIND_LEVELS[kind]},
        "properties": {"tags": ["security", kind]},
    }


def _rule_id(kind: str, name: str) -> str:
    return f"{kind}/{re.sub(r'[^a-z0-9]+', '-', name.lower()).strip('-')}"


def _result(sighting: Sighting, rule: int) -> dict[str, Any]:
    region = {
        "startLine": sighting.line,
        "startColumn": sighting.column,
        "endLine": sighting.end_line,
        "endColumn": sighting.end_column,
    }
    location = _location(sighting.source, region)
    if sighting.path:
        location["logicalLocations"] = [{"fullyQualifiedName": sighting.path}]
    decoded = f" (decoded: {sighting.decoded})" if sighting.decoded else ""
    return {
        "ruleId": _rule_id(sighting.kind, sighting.name),
        "ruleIndex": rule,
        "level": LEVELS[sighting.verdict],
        "message": {"text": f"{sighting.name}: {sighting.detail}{decoded}"},
        "locations": [location],
    }


def _location(source: str, region: dict[str, int]) -> dict[str, Any]:
    path = Path(source)
    uri = path.as_uri() if path.is_absolute() else quote(path.as_posix())
    return {"physicalLocation": {"artifactLocation": {"uri": uri}, "region": region}}


def _note(text: str, location: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"level": "warning", "message": {"text": text}, **({"locations": [location]} if location else {})}
