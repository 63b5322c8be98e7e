"""``agentguard gate claims``: what a model said of a subject in some days, and how much of it was unsupported."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

from rich.console import Console

from agentguard.errors import ConfigurationError
from agentguard.gate._config import load_config
from agentguard.gate._types import Label
from agentguard.gate.reports import RecordedClaim, recorded_claims

from .gate_report import LABEL_STYLES
from .gate_runs import opened_records
from .output import console, printable, show, write_json

__all__ = ["show_claims"]

LABELS: tuple[Label, ...] = ("supported", "weakly_supported", "unsupported")

_DAYS = re.compile(r"(\d{1,5})d")


def show_claims(
    config: str,
    words: Sequence[str],
    *,
    since: str | None,
    until: str | None,
    label: str | None,
    limit: int,
    as_json: bool,
) -> None:
    """Count the claims that fit, and list the newest of them.

    Raises:
        ConfigurationError: where a day or a label is none.
    """
    if label is not None and label not in LABELS:
        raise ConfigurationError(f"--label is one of {', '.join(LABELS)}, not {printable(label)[:40]!r}")
    begin, end = _moment("--since", since), _moment("--until", until, timedelta(days=1))
    configured = load_config(config)
    counts: Counter[str] = Counter()
    runs = set()
    found: list[RecordedClaim] = []
    with opened_records(configured) as records:
        for said in recorded_claims(records, configured.use_case, words=words, since=begin, until=end):
            verdict = said.finding.verdict.label
            counts[verdict] += 1
            runs.add(said.run.run_id)
            if label in (None, verdict) and len(found) < limit:
                found.append(said)
    if as_json:
        told: dict[str, Any] = {"use_case": configured.use_case, "runs": len(runs)}
        told |= {name: counts[name] for name in LABELS}
        write_json({**told, "claims": [_as_dict(said) for said in found]})
    else:
        _report(console(), len(runs), counts, found, label)


def _moment(option: str, given: str | None, more: timedelta = timedelta()) -> float | None:
    """A day, as the seconds of its beginning (UTC) with ``more``; so many days before now; None where none is given."""
    if given is None:
        return None
    days = _DAYS.fullmatch(given)
    if days is not None:
        return time.time() - int(days[1]) * 86_400
    try:
        day = datetime.strptime(given, "%Y-%m-%d").replace(tzinfo=timezone.utc)
        return (day + more).timestamp()
    except (ValueError, OverflowError):
        raise ConfigurationError(
            f"{option} takes a day, 2026-03-15 for example, or days before now, 30d for example, not "
            f"{printable(given)[:40]!r}"
        ) from None


def _as_dict(said: RecordedClaim) -> Mapping[str, Any]:
    finding = said.finding
    return {
        "run_id": said.run.run_id,
        "started": said.run.started,
        "target": said.run.target,
        "claim_id": finding.claim.id,
        "claim": finding.claim.text,
        "label": finding.verdict.label,
        "prompt": finding.prompt.text,
    }


def _report(out: Console, runs: int, counts: Counter[str], found: Sequence[RecordedClaim], label: str | None) -> None:
    each = ", ".join(f"{counts[name]:,} {name.replace('_', ' ')}" for name in LABELS)
    out.print(show(f"{counts.total():,} claims in {runs:,} run{'s' * (runs != 1)}: {each}"), soft_wrap=True)
    run_id = ""
    for said in found:
        if said.run.run_id != run_id:
            run_id = said.run.run_id
            day = datetime.fromtimestamp(said.run.started, tz=timezone.utc).strftime("%Y-%m-%d %H:%M")
            out.print()
            out.print(show(f"{day} UTC, run {run_id}, {said.run.target}", "dim"), soft_wrap=True)
        verdict = said.finding.verdict.label
        told = show(verdict.replace("_", " "), LABEL_STYLES[verdict])
        out.print(show(f"  {said.finding.claim.id}", "bold"), told, show(said.finding.claim.text), soft_wrap=True)
    more = (counts.total() if label is None else counts[label]) - len(found)
    if more:
        out.print(f"  and {more:,} more; --limit N lists more of them")
