"""Credentials in a text: keys and tokens by their issuers' forms, passwords in addresses and in assignments."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from agentguard._limits import LIMITS
from agentguard.content.findings import Finding
from agentguard.content.forms import AT_LEAST, Forms
from agentguard.content.patterns import Catalogue, Occurrences
from agentguard.content.redaction import Redaction, Vault, complete, replace
from agentguard.content.secret_kinds import FORMS, KINDS

__all__ = ["PATTERNS", "SecretsResult", "judge", "redact", "scan"]

_FORMS = Forms(FORMS, KINDS, "secrets")
PATTERNS = _FORMS.patterns
_CATALOGUE = Catalogue(PATTERNS)


class SecretsResult(NamedTuple):
    """The credentials in a text.

    Attributes:
        score: how certain the surest finding is, 0 to 1; 0 where there is none.
        label: ``"clean"`` or ``"secret"``.
        findings: what was found, in the order of the text, not overlapping. They quote nothing of the text.
        more: there may be more: the search was given up at 200,000.
    """

    score: float
    label: str
    findings: tuple[Finding, ...]
    more: bool = False


def scan(text: str, kinds: Collection[str] | None = None, *, at_least: float = AT_LEAST) -> SecretsResult:
    """Look for credentials.

    Args:
        text: any text; a result as the agent sees it.
        kinds: names of ``secret_kinds.KINDS`` to look for; None for all.
        at_least: how certain a finding must be, 0 to 1. Below 0.3, words that are assigned to a password count too.

    Raises:
        ConfigurationError: a kind that does not exist.

    >>> scan("postgres://app:tea4two@db.internal/shop").findings[0][:4]
    ('database_password', "the form of a password in a database's address, and what must hold of one", 15, 22)
    >>> scan("postgres://app:${DB_PASSWORD}@db.internal/shop").label
    'clean'
    """
    return judge(_CATALOGUE.look(text), kinds, at_least=at_least)


def judge(
    found: Occurrences,
    kinds: Collection[str] | None = None,
    *,
    at_least: float = AT_LEAST,
    most: int = LIMITS.values,
) -> SecretsResult:
    """The same, of what a catalogue that holds ``PATTERNS`` found; the search ends at ``most`` findings."""
    kept, more = _FORMS.find(found, None if kinds is None else frozenset(kinds), at_least, most)
    score = max([each.certainty for each in kept], default=0.0)
    return SecretsResult(score, "secret" if kept else "clean", tuple([each.finding for each in kept]), more)


def redact(
    text: str,
    kinds: Collection[str] | None = None,
    *,
    findings: Collection[Finding] | None = None,
    vault: Vault | None = None,
    at_least: float = AT_LEAST,
) -> Redaction:
    """Put a placeholder in the place of each credential; arguments and errors as for ``pii.redact``.

    >>> redact("postgres://app:tea4two@db.internal/shop").text
    'postgres://app:<DATABASE_PASSWORD_1>@db.internal/shop'
    """
    if findings is None:
        found = scan(text, kinds, at_least=at_least)
        findings = complete(found.findings, more=found.more)
    return replace(text, findings, vault)
