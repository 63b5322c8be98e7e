"""injection_found, secret_found, pii_found: what a profile's ``content`` has a result looked through for.

A finding of the detectors is evidence that the result is corrupted where the profile says ``flag`` or ``block``, by a
ratio of its own; the profile's word then holds in any case, as that of any declaration does. Where it says ``redact``
the finding is no evidence: the result is what the tool says, and is shown without it.
"""

from __future__ import annotations

import re
from typing import Any, ClassVar, Final

from agentguard.content._findings import Kind
from agentguard.content._results import Found, found_in
from agentguard.verification._case import Case
from agentguard.verification._contract import Contract
from agentguard.verification._document import Document
from agentguard.verification.evidence import DEFAULT_RATIOS
from agentguard.verification.types import SignalResult, Trait, Verdict, VerificationTier, not_looked_at

GROUP: Final = "content"
SUSPICIOUS: Final = 0.1  # of the evidence of what is sure


class ContentFound:
    """One kind of content.

    Applicable where the profile names the kind. It fires where something is found that the profile would have flagged
    or blocked; a result without a finding is as likely fabricated as any other.
    """

    tier: ClassVar[VerificationTier] = VerificationTier.TIER_0

    def __init__(self, kind: Kind, name: str) -> None:
        self.kind = kind
        self.name = name

    def __call__(self, case: Case, /) -> SignalResult:
        action = case.contract.profile.content.get(self.kind)
        if action is None:
            return SignalResult.abstain(self.name, self.tier, "not asked for", GROUP)
        found = self._found(case)
        if not found.findings:
            if found.unread:
                return not_looked_at(self.name, self.tier, f"{found.unread}; nothing found before", GROUP)
            return SignalResult(self.name, True, False, 0.0, 1.0, None, self.tier, "nothing found", GROUP)
        number = f"{found.findings:,}{' or more' if found.more else ''}"
        detail = f"{number} finding{'s' if found.findings > 1 else ''}: {', '.join(found.names)}"
        if found.unread:
            detail += f"; not looked at: {found.unread}"
        if action == "redact":
            detail += ", to be redacted"
            return SignalResult(self.name, True, False, found.score, 1.0, None, self.tier, detail, GROUP)
        ratio = case.settings.likelihood_ratios.get(self.name, DEFAULT_RATIOS[self.name])
        ratio = ratio if found.sure else 1.0 + (ratio - 1.0) * found.score * SUSPICIOUS
        return SignalResult(
            self.name,
            True,
            True,
            found.score,
            max(ratio, 1.0),
            None,
            self.tier,
            detail,
            GROUP,
            tuple([Trait("content", "", name) for name in found.names]),
        )

    def _found(self, case: Case) -> Found:
        if case.found is None:
            case.found = look_through(case.contract, case.document)
        if isinstance(case.found, Exception):
            raise case.found
        found: Found = case.found[self.kind]
        return found


def look_through(contract: Contract, document: Document) -> dict[Kind, Found] | Exception:
    """Search a result for all content that its profile names, in one pass; returns what a failing detector raises."""
    asked = [check.kind for check in CONTENT if check.kind in contract.profile.content]
    large = document.kind == "large"  # it was not parsed, and is looked through as the text that it is
    try:
        results = found_in(document.text.decode("utf-8", "replace") if large else _all_of(document), asked)
    except Exception as error:
        return error
    if document.unread and not large:
        return {kind: each._replace(unread=each.unread or document.unread) for kind, each in results.items()}
    return results


def _all_of(document: Document) -> Any:
    """Return what a result says: its value, and the text that it was read from, where that may say more.

    A model reads the text. A value lacks the first of two fields of one name, the line of JSON Lines that is cut off,
    and a comment in a Python literal.
    """
    source = document.source
    if not (source and document.is_structured):
        return document.value
    # Each name and each text has two quotation marks, in either form; those of a field that is lost are lost, too.
    quotes = source.count('"') + source.count("\\u0022")
    if document.kind in ("object", "array", "lines") and not document.unclosed and quotes <= document.text.count(b'"'):
        return document.value
    return [document.value, _unescaped(source)]


_ESCAPE: Final = re.compile(r"\\(?:u([\da-fA-F]{4})|x([\da-fA-F]{2})|U000([\da-fA-F]{5})|(.))", re.DOTALL)
_SHORT: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


def _unescaped(text: str) -> str:
    """Return text with the characters that the escapes of JSON and Python in it stand for."""

    def character(escape: re.Match[str]) -> str:
        digits = escape[1] or escape[2] or escape[3]
        return chr(int(digits, 16)) if digits else _SHORT.get(escape[4], escape[4])

    return _ESCAPE.sub(character, text).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


CONTENT: Final = (
    ContentFound("injection", "injection_found"),
    ContentFound("secrets", "secret_found"),
    ContentFound("pii", "pii_found"),
)


def at_least(verdict: Verdict, case: Case, signals: dict[str, SignalResult]) -> Verdict:
    """The verdict, or the graver one that the profile asks for on what was found; what is suspicious is flagged."""
    actions = case.contract.profile.content
    for check in CONTENT:
        signal = signals.get(check.name)
        if signal is not None and signal.fired and verdict != "block":
            verdict = "block" if actions[check.kind] == "block" and case.found[check.kind].sure else "flag"
    return verdict


def to_redact(case: Case, signals: dict[str, SignalResult]) -> tuple[Kind, ...]:
    """The kinds of content that are to be taken out before anybody is shown the result.

    Also of a result of which a part was not looked at: whoever shows it looks through all of it, or withholds it.
    """
    unread = case.found if type(case.found) is dict else {}
    return tuple(
        check.kind
        for check in CONTENT
        if case.contract.profile.content.get(check.kind) == "redact"
        and (signals[check.name].score > 0.0 or (check.kind in unread and unread[check.kind].unread))
    )
