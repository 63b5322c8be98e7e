"""Personal data in a text: what can be told by its form, held to its check digits and to the words around it.

Names, street addresses and other data without a form of their own are not looked for.
"""

from __future__ import annotations

from collections.abc import Collection

from agentguard.content._findings import Finding
from agentguard.content._recognizers import AT_LEAST, Detector, ScanResult, load_recognizers
from agentguard.content._redaction import Redaction, Vault
from agentguard.content.pii import _validators

__all__ = ["KINDS", "OPTIONAL_KINDS", "ScanResult", "redact", "scan"]

# Looked for where they are asked for by name only: most results hold them, and few are about a person.
OPTIONAL_KINDS = frozenset(["url"])
_RECOGNIZERS, KINDS = load_recognizers(__name__, _validators, {"iban_countries": "|".join(_validators.IBAN_LENGTHS)})
DETECTOR = Detector(_RECOGNIZERS, KINDS, "pii", OPTIONAL_KINDS)


def scan(text: str, kinds: Collection[str] | None = None, *, at_least: float = AT_LEAST) -> ScanResult:
    """Look for personal data.

    Args:
        text: any text; a result as the agent sees it.
        kinds: names of ``KINDS`` to look for; None for all but web addresses.
        at_least: how certain a finding must be, 0 to 1. Below 0.5, numbers count whose form alone says little, such as
            any nine digits that satisfy a bank's check digit.

    Raises:
        ConfigurationError: for a kind that does not exist.

    >>> scan("Write to ada@example.org.").findings[0][:4]
    ('email', 'the form of an e-mail address', 9, 24)
    >>> scan("card 4111 1111 1111 1112").label, scan("card 4111 1111 1111 1111").label
    ('clean', 'pii')
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
    return DETECTOR.redact(text, kinds, findings=findings, vault=vault, at_least=at_least)
