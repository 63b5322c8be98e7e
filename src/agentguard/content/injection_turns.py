"""Injection over the turns of a conversation: evidence that adds up, and a payload that is split among messages."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from agentguard.content.findings import Finding
from agentguard.content.injection_reading import CATALOGUE, NO_REQUEST, Context, Evidence, read
from agentguard.content.injection_triggers import MEDIUM, MULTI_TURN_ATTACK
from agentguard.errors import ConfigurationError

__all__ = ["read_turns"]

TRUSTED = frozenset({"system", "developer", "assistant", "ai"})
ASKING = frozenset({"user", "human"})


class _Turn(NamedTuple):
    number: int  # of the message, from 1
    role: str | None
    text: str
    start: int  # where it begins in the contents joined by line breaks


def read_turns(messages: Sequence[str | Mapping[str, Any]], tools: Iterable[str], expected: Iterable[str]) -> Evidence:
    """The evidence in a conversation; offsets are those in the messages' contents joined by line breaks.

    Raises:
        ConfigurationError: a message that is neither text nor a mapping.
    """
    turns = _turns(messages)
    of_data, unknown = Context(tools, expected, data=True), Context(tools, expected)
    triggers: dict[str, float] = {}
    request = NO_REQUEST
    findings: list[Finding] = []
    adding: list[int] = []  # messages that bring evidence which none before them had
    surest = NO_REQUEST
    for turn in turns:
        asks = turn.role in ASKING
        evidence = read(CATALOGUE.look(turn.text), unknown if turn.role is None or asks else of_data)
        if asks:
            evidence = evidence._replace(request=NO_REQUEST)
        if evidence.triggers.keys() - triggers.keys():
            adding.append(turn.number)
        triggers |= evidence.triggers
        request = max(request, evidence.request)
        surest = max(surest, evidence.log_odds)
        findings += _moved(evidence.findings, turn.start) if evidence.triggers or not asks else []
    together = Evidence(triggers, request, findings)
    if surest < 0.0 <= together.log_odds and len(adding) > 1:
        first, last = (next(turn for turn in turns if turn.number == number) for number in (adding[0], adding[-1]))
        said = f"evidence that adds up over the messages {', '.join(map(str, adding))}"
        findings.append(Finding(MULTI_TURN_ATTACK, said, first.start, last.start + len(last.text)))
    for separator in (" ", ""):
        _split(turns, separator, together)
    return together


def _split(turns: Sequence[_Turn], separator: str, together: Evidence) -> None:
    """Add to the evidence what is said only where messages meet."""
    texts = [turn.text.strip() for turn in turns]
    starts = list(accumulate((len(text) + len(separator) for text in texts), initial=0))
    evidence = read(CATALOGUE.look(separator.join(texts)), Context())

    def place(offset: int) -> tuple[_Turn, int]:
        number = min(bisect_right(starts, offset), len(turns)) - 1
        turn = turns[number]
        indent = len(turn.text) - len(turn.text.lstrip())
        return turn, turn.start + min(len(turn.text), indent + offset - starts[number])

    new = {name: weight for name, weight in evidence.triggers.items() if name not in together.triggers}
    for finding in evidence.findings:
        (first, start), (last, end) = place(finding.start), place(max(finding.start, finding.end - 1))
        if new and first.number != last.number:
            said = f"{finding.detail}, split over the messages {first.number} to {last.number}"
            together.findings.append(Finding(finding.kind, said, start, end + 1, finding.decoded))
            together.findings.append(Finding(MULTI_TURN_ATTACK, said, start, end + 1, finding.decoded))
            together.triggers.update(new)
            together.triggers["split"] = MEDIUM


def _moved(findings: Iterable[Finding], by: int) -> list[Finding]:
    return [finding._replace(start=finding.start + by, end=finding.end + by) for finding in findings]


def _turns(messages: Sequence[str | Mapping[str, Any]]) -> list[_Turn]:
    """The messages that are not trusted."""
    turns = []
    start = 0
    for number, message in enumerate(messages, 1):
        if isinstance(message, str):
            role, text = None, message
        elif isinstance(message, Mapping):
            role, text = str(message.get("role", "")).lower() or None, _content(message.get("content"))
        else:
            raise ConfigurationError(
                f"injection: message {number} is a {type(message).__name__}: give texts, or mappings with role and "
                "content"
            )
        if role not in TRUSTED:
            turns.append(_Turn(number, role, text, start))
        start += len(text) + 1
    return turns


def _content(content: object) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, (list, tuple)):
        parts = [
            part if isinstance(part, str) else part.get("text") for part in content if isinstance(part, (str, Mapping))
        ]
        return "\n".join(part for part in parts if isinstance(part, str))
    return ""
