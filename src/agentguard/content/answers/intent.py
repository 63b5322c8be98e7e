"""What kind of answer an English text is: a summary, code, a list, an explanation, a comparison."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from agentguard.content._findings import Finding
from agentguard.content._text import count_words, encodable

BULLET, NUMBERED, FENCE = r"(?m)^[ \t]*[-*•][ \t]+\S", r"(?m)^[ \t]*\d{1,9}[.)][ \t]+\S", r"(?m)^[ \t]*```"
SOURCES: Mapping[str, Mapping[str, str]] = {
    "summary": {
        "in summary": r"\b(?:in summary|to summari[sz]e|to sum up)\b",
        "key points": r"\bkey (?:points|takeaways)\b",
        "tldr": r"\btl;?dr\b",
    },
    "code": {
        "code block": FENCE,
        "function": r"\bfunction\s*\w*\s?\(|\bdef \w+\(|=>\s?\{",
        "const": r"\b(?:const|let|var)\s\w+\s?=",
        "class": r"\bclass \w+\s?[:({]",
    },
    "list": {"bullet points": BULLET, "numbered items": NUMBERED},
    "explanation": {
        "because": r"\bbecause\b",
        "therefore": r"\btherefore\b",
        "this means": r"\bthis means\b",
    },
    "comparison": {
        "compared to": r"\bcompared (?:to|with)\b",
        "versus": r"\b(?:versus|vs)\b",
        "unlike": r"\bunlike\b",
    },
}
INTENTS = tuple(SOURCES)
PATTERNS = {
    intent: {name: re.compile(pattern, re.IGNORECASE) for name, pattern in patterns.items()}
    for intent, patterns in SOURCES.items()
}
LIST_BOOST, CODE_BOOST, MANY_BULLETS = 0.3, 0.4, 3
SHORT_FACTOR = 0.7


class Candidate(NamedTuple):
    """One kind of answer that a text may be.

    Attributes:
        intent: ``"summary"``, ``"code"``, ``"list"``, ``"explanation"`` or ``"comparison"``.
        confidence: 0 to 1.
        findings: the signs, each where it stands first.
    """

    intent: str
    confidence: float
    findings: tuple[Finding, ...]

    @property
    def label(self) -> str:
        """The intent."""
        return self.intent

    @property
    def score(self) -> float:
        """The confidence."""
        return self.confidence


def classify(text: str, *, weights: Mapping[str, float] | None = None, short_words: int = 20) -> tuple[Candidate, ...]:
    """Classify an English text: the kinds of answer that it shows signs of, the likeliest first.

    The confidence is the share of a kind's signs that occur, times its weight; 0.3 more for a list of three bullets or
    more, 0.4 more for code in a block; and 0.7 of that for a text below so many words.

    Args:
        text: the text.
        weights: by intent; 1 for those that are not named.
        short_words: a text with fewer words is short.

    >>> [(each.intent, round(each.confidence, 2)) for each in classify("TLDR: it fails because of rust.")]
    [('summary', 0.23), ('explanation', 0.23)]
    """
    text = encodable(text)
    factor = SHORT_FACTOR if count_words(text) < short_words else 1.0
    candidates = []
    for intent, patterns in PATTERNS.items():
        matches = {name: match for name, pattern in patterns.items() if (match := pattern.search(text))}
        if not matches:
            continue
        confidence = len(matches) / len(patterns) * (weights or {}).get(intent, 1.0) + _boost(intent, text, matches)
        findings = tuple(Finding(intent, f"a sign of it: {name}", *match.span()) for name, match in matches.items())
        candidates.append(Candidate(intent, min(1.0, confidence * factor), findings))
    return tuple(sorted(candidates, key=lambda candidate: -candidate.confidence))


def _boost(intent: str, text: str, matches: Mapping[str, re.Match[str]]) -> float:
    if intent == "code":
        return CODE_BOOST if "code block" in matches else 0.0
    if intent == "list":
        bullets = sum(1 for _ in PATTERNS["list"]["bullet points"].finditer(text))
        return LIST_BOOST if bullets >= MANY_BULLETS else 0.0
    return 0.0
