"""A finished run as Markdown, for the summary of a job or the comment below a change.

Claims, reasons and documents come from outside: what they hold is shown, never obeyed. No link, no picture, no HTML and
no table cell can begin in them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from agentguard.gate.types import Label

from .as_json import DIGITS
from .findings import Finding, findings

if TYPE_CHECKING:
    from agentguard.gate.runs import GateRun

__all__ = ["escape", "markdown_summary"]

ROWS = 100
REASONS = 3
MOST_OF_A_CELL = 600

_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ud800-\udfff\ufeff\ufff9-\ufffb\\s]+")
# Whatever begins a construct of Markdown, of GitHub's extensions to it (@names, #numbers, www., ://, $formulas$) or of
# HTML. As character references: a backslash before a pipe means two things, by whether it stands in a table.
_ACTIVE = re.compile(r"[\\`*_{}\[\]<>()#+\-!|~&@:$^=\"']|(?<=www)\.|(?<=\d)\.", re.IGNORECASE)


def escape(text: str, limit: int = MOST_OF_A_CELL) -> str:
    """Text from outside on one line, that renders as itself in any place of a Markdown document.

    >>> escape("a|b <img src=x>")
    'a&#124;b &#60;img src&#61;x&#62;'
    """
    line = _UNSEEN.sub(" ", text[: 4 * limit]).strip()
    if len(line) > limit:
        line = line[: limit - 1] + "…"
    return _ACTIVE.sub(lambda found: f"&#{ord(found[0])};", line)


def markdown_summary(run: GateRun) -> str:
    """The decision, how many claims there are of each kind, and those that are not supported, with reason and passage.

    Raises:
        GateError: where the run is not finished.
    """
    return "\n".join(_lines(run)) + "\n"


def _lines(run: GateRun) -> Iterator[str]:
    score, summary, tolerance = run.state.score, run.summary, run.state.config.risk_tolerance
    yield f"## Reliability gate: {score.decision}"
    yield ""
    yield f"{escape(summary.use_case)}: {escape(score.reason)}"
    yield ""
    yield "| claims | |"
    yield "|---|---:|"
    yield f"| supported | {score.supported} |"
    yield f"| weakly supported | {score.weakly_supported} |"
    yield f"| unsupported | {score.unsupported} |"
    yield f"| all | {score.total_claims} |"
    yield f"| **risk** | **{round(score.risk, DIGITS):g}** |"
    yield f"| deployed up to | {tolerance.deploy_threshold:g} |"
    yield f"| with a warning up to | {tolerance.warn_threshold:g} |"
    found = findings(run.state)
    yield from _claims("Unsupported claims", found, "unsupported")
    yield from _claims("Weakly supported claims", found, "weakly_supported")
    yield ""
    yield (
        f"Run {escape(run.run_id)}, model under test {escape(summary.target)}, judged by {escape(summary.judge)}, "
        f"evidence {escape(summary.evidence_digest[:12])}"
    )


def _claims(title: str, found: Sequence[Finding], label: Label) -> Iterator[str]:
    chosen = [finding for finding in found if finding.verdict.label == label]
    if not chosen:
        return
    yield ""
    yield f"### {title}"
    yield ""
    yield "| | claim | why | the documents say |"
    yield "|---|---|---|---|"
    for finding in chosen[:ROWS]:
        why = escape("; ".join(reason.detail for reason in finding.verdict.reasons[:REASONS]))
        yield f"| {escape(finding.claim.id)} | {escape(finding.claim.text)} | {why} | {_said(finding)} |"
    if len(chosen) > ROWS:
        yield ""
        yield f"… and {len(chosen) - ROWS} more"


def _said(finding: Finding) -> str:
    if finding.passage is None:
        return "nothing"
    place = escape(" · ".join(part for part in (finding.passage.chunk.document, finding.heading) if part))
    quote = escape(finding.verdict.quote)
    return f"{quote}<br>*{place}*" if quote else f"*{place}*"
