"""Contradictions that an English text states outright: of one subject, that it is required and that it is optional."""

from __future__ import annotations

import re

from agentguard.content.findings import Finding
from agentguard.content.words import STOPWORDS, plural_stripped, trimmed, words

__all__ = ["contradictions"]

CLAUSE_END = re.compile(
    r"[.!?;:,\n](?=\s|$)|\n|\b(?:and|but|or|yet|while|whereas|although|though|however)\b", re.IGNORECASE
)
REQUIRED = re.compile(r"\b(?:is|are) (?:always |strictly )?(?:required|mandatory)\b", re.IGNORECASE)
OPTIONAL = re.compile(r"\b(?:is|are) (?:entirely |purely )?(?:optional|not required)\b", re.IGNORECASE)
MUST = re.compile(r"\bmust\b(?! not\b)", re.IGNORECASE)
NEED_NOT = re.compile(r"\b(?:do|does)(?: not|n['\u2019]t) (?:need|have) to\b|\bneed not\b", re.IGNORECASE)
# Each pair: both sides in words, the patterns of both, and whether the verb that follows must agree too.
PAIRS = (("required", "optional", REQUIRED, OPTIONAL, False), ("must", "does not need to", MUST, NEED_NOT, True))


def contradictions(text: str) -> tuple[Finding, ...]:
    """Where a text asserts one thing of a subject and, elsewhere, its opposite.

    "Is required" and "is optional" contradict each other where the subject is the same; "must" and "does not need to"
    where the verb is the same too. The subject is what stands before in the clause; a pronoun, or nothing, stands for
    the subject of the clause before.

    >>> [found.detail for found in contradictions("The port is required. For tests, the port is optional.")]
    ['of the same subject: required, and elsewhere optional']
    >>> contradictions("The port is required. The host is optional.")
    ()
    """
    # By pair and side, then by subject: the verbs that were claimed.
    claims: dict[tuple[str, bool], dict[tuple[str, ...], set[str]]] = {}
    last: tuple[str, ...] = ()
    found: list[Finding] = []
    for start, end in _clauses(text):
        clause = text[start:end]
        subject: tuple[str, ...] = ()
        for name, opposite, positive, negative, verb_counts in PAIRS:
            for pattern, affirms in ((positive, True), (negative, False)):
                match = pattern.search(clause)
                if match is None:
                    continue
                subject = _subject(clause[: match.start()]) or last
                verb = _verb(clause[match.end() :]) if verb_counts else ""
                if subject and _agree(verb, claims.get((name, not affirms), {}).get(subject, set())):
                    detail = f"of the same subject: {name}, and elsewhere {opposite}"
                    found.append(Finding("contradiction", detail, *trimmed(text, start, end)))
                claims.setdefault((name, affirms), {}).setdefault(subject, set()).add(verb)
        last = subject
    return tuple(found)


def _clauses(text: str) -> list[tuple[int, int]]:
    ends = [match.span() for match in CLAUSE_END.finditer(text)]
    starts = [0, *(end for _, end in ends)]
    spans = zip(starts, [*(start for start, _ in ends), len(text)], strict=True)
    return [(start, end) for start, end in spans if text[start:end].strip()]


def _subject(before: str) -> tuple[str, ...]:
    content = [word for word in words(before) if word.casefold() not in STOPWORDS]
    return tuple(plural_stripped(word) for word in content)


def _verb(after: str) -> str:
    return next((plural_stripped(word) for word in words(after) if word.casefold() not in STOPWORDS), "")


def _agree(verb: str, claimed: set[str]) -> bool:
    """Whether a verb was claimed; one that is left out agrees with any."""
    return bool(claimed) and (not verb or verb in claimed or "" in claimed)
