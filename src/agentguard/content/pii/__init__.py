"""Personal data in a text: what can be told by its form, held to its check digits and to the words around it.

Names, street addresses and other data without a form of their own are not looked for.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from agentguard.content._findings import Finding
from agentguard.content._patterns import Catalogue, Occurrences
from agentguard.content._recognizers import AT_LEAST, Forms
from agentguard.content._redaction import Redaction, Vault, complete, replace
from agentguard.content.pii._kinds import FORMS, KINDS, OPTIONAL_KINDS
from agentguard.limits import LIMITS

__all__ = ["KINDS", "OPTIONAL_KINDS", "PiiResult", "redact", "scan"]

_FORMS = Forms(FORMS, KINDS, "pii", OPTIONAL_KINDS)
PATTERNS = _FORMS.patterns
_CATALOGUE = Catalogue(PATTERNS)


class PiiResult(NamedTuple):
    """The personal data in a text.

    Attributes:
        score: how certain the surest finding is, 0 to 1; 0 where there is none.
        label: ``"clean"`` or ``"pii"``.
        findings: what was found, in the order of the text, not overlapping. They quote nothing of the text.
        more: there may be more: the search was given up at 200,000.
    """

    score: float
    label: str
    findings: tuple[Finding, ...]
    more: bool = False


def scan(text: str, kinds: Collection[str] | None = None, *, at_least: float = AT_LEAST) -> PiiResult:
    """Look for personal data.

    Args:
        text: any text; a result as the agent sees it.
        kinds: names of ``pii_kinds.KINDS`` to look for; None for all but web addresses.
        at_least: how certain a finding must be, 0 to 1. Below 0.5, numbers count whose form alone says little, such as
            any nine digits that satisfy a bank's check digit.

    Raises:
        ConfigurationError: a kind that does not exist.

    >>> scan("Write to ada@example.org.").findings[0][:4]
    ('email', 'the form of an e-mail address', 9, 24)
    >>> scan("card 4111 1111 1111 1112").label, scan("card 4111 1111 1111 1111").label
    ('clean', 'pii')
    """
    return judge(_CATALOGUE.look(text), kinds, at_least=at_least)


def judge(
    found: Occurrences,
    kinds: Collection[str] | None = None,
    *,
    at_least: float = AT_LEAST,
    most: int = LIMITS.values,
) -> PiiResult:
    """The same, of what a catalogue that holds ``PATTERNS`` found; the search ends at ``most`` findings."""
    kept, more = _FORMS.find(found, None if kinds is None else frozenset(kinds), at_least, most)
    score = max([each.certainty for each in kept], default=0.0)
    return PiiResult(score, "pii" if kept else "clean", tuple([each.finding for each in kept]), more)


def redact(
    text: str,
    kinds: Collection[str] | None = None,
    *,
    findings: Collection[Finding] | None = None,
    vault: Vault | None = None,
    at_least: float = AT_LEAST,
) -> Redaction:
    """Put a placeholder in the place of each piece of personal data.

    Args:
        text: any text.
        kinds: as for ``scan``.
        findings: what was found in this text before, by any detector; None to look for it.
        vault: where placeholders are kept: the same value has the same one in several texts, and can be put back.
        at_least: as for ``scan``.

    Raises:
        DataError: for a text with more of it than can be taken out.

    >>> redact("Write to ada@example.org or bob@example.org; ada@example.org first.").text
    'Write to <EMAIL_1> or <EMAIL_2>; <EMAIL_1> first.'
    """
    if findings is None:
        found = scan(text, kinds, at_least=at_least)
        findings = complete(found.findings, more=found.more)
    return replace(text, findings, vault)
