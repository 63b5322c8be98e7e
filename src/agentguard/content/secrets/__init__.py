"""Credentials in a text: keys and tokens by their issuers' forms, passwords in addresses and in assignments."""

from __future__ import annotations

from collections.abc import Collection

from agentguard.content._findings import Finding
from agentguard.content._recognizers import AT_LEAST, Detector, ScanResult, load_recognizers
from agentguard.content._redaction import Redaction, Vault
from agentguard.content.secrets import _extents, _validators

__all__ = ["KINDS", "ScanResult", "redact", "scan"]

_RECOGNIZERS, KINDS = load_recognizers(__name__, _validators, extents=_extents)
DETECTOR = Detector(_RECOGNIZERS, KINDS, "secret", joined=True)


def scan(text: str, kinds: Collection[str] | None = None, *, at_least: float = AT_LEAST) -> ScanResult:
    """Look for credentials.

    Args:
        text: any text; a result as the agent sees it.
        kinds: names of ``KINDS`` to look for; None for all.
        at_least: how certain a finding must be, 0 to 1. Below 0.3, words that are assigned to a password count too.

    Raises:
        ConfigurationError: for a kind that does not exist.

    >>> scan("postgres://app:tea4two@db.internal/shop").findings[0][:4]
    ('database_password', "the form of a password in a database's address, and what must hold of one", 15, 22)
    >>> scan("postgres://app:${DB_PASSWORD}@db.internal/shop").label
    'clean'
    """
    return DETECTOR.scan(text, kinds, at_least=at_least)


def redact(
    text: str,
    kinds: Collection[str] | None = None,
    *,
    findings: Collection[Finding] | None = None,
    vault: Vault | None = None,
    at_least: float = AT_LEAST,
) -> Redaction:
    """Put a placeholder in the place of each credential; arguments and errors as of ``pii.redact``.

    >>> redact("postgres://app:tea4two@db.internal/shop").text
    'postgres://app:<DATABASE_PASSWORD_1>@db.internal/shop'
    """
    return DETECTOR.redact(text, kinds, findings=findings, vault=vault, at_least=at_least)
