"""The result against what its profile declares: fields, patterns, length."""

from __future__ import annotations

from ..case import Case
from ..contract import Contract
from ..unread import UNREAD, NotLookedAt
from .finding import Finding

__all__ = ["length", "pattern", "schema"]

NOT_AN_OBJECT = 0.8
NO_PATTERN_MATCHES = 0.8
TOO_SHORT = 0.5
TOO_LONG = 0.2


def schema(case: Case) -> Finding:
    """Violations ÷ (required + forbidden fields); 0.8 where required fields are declared of what has no fields.

    A declared ``output_schema`` counts as one item more. A list has fields where they are declared with a leading
    ``[]``. Text without fields violates no forbidden one. A result that was not read to its end is not looked at, but
    for the forbidden fields in what was read.
    """
    contract, document = case.contract, case.document
    declared = len(contract.required) + len(contract.forbidden) + contract.has_schema
    if not declared:
        return Finding(None, "no fields declared")
    if document.unread:
        forbidden = [said for said in contract.field_violations(document) if said.startswith("forbidden")]
        if not forbidden:
            return _not_looked_at(document.unread)
        return Finding(min(1.0, len(forbidden) / declared), "; ".join(forbidden))
    if contract.required and not _has_fields(document.value, contract):
        return Finding(NOT_AN_OBJECT, f"fields are declared and the result is no object ({document.kind})")
    violations = contract.field_violations(document)
    try:
        broken = contract.schema_violation(document)
    except NotLookedAt as error:
        if not violations:
            return _not_looked_at(str(error))
        broken = None
    if broken is not None:
        violations.append(broken)
    if not violations:
        return Finding(0.0, f"as declared ({declared} checked)")
    return Finding(min(1.0, len(violations) / declared), "; ".join(violations))


def _not_looked_at(why: str) -> Finding:
    return Finding(None, f"{UNREAD}: {why}", (UNREAD,))


def _has_fields(value: object, contract: Contract) -> bool:
    return isinstance(value, dict) or (
        isinstance(value, list) and any(steps[:1] == ("[]",) for _, steps in contract.required)
    )


def pattern(case: Case) -> Finding:
    """0.8 where none of the declared patterns is found in the result."""
    if not case.contract.has_patterns:
        return Finding(None, "no patterns declared")
    try:
        if case.contract.matches_a_pattern(case.document):
            return Finding(0.0, "a declared pattern matches")
        unread = case.contract.unsearched(case.document)
    except NotLookedAt as error:
        unread = str(error)
    if unread:
        return _not_looked_at(unread)
    return Finding(NO_PATTERN_MATCHES, f"none of {len(case.contract.profile.response_patterns)} patterns matches")


def length(case: Case) -> Finding:
    """0.5·(1 - length/minimum) where the result is too short, 0.2 where it is too long; in bytes of compact JSON."""
    size = case.document.size
    low, high = case.contract.profile.min_response_length, case.contract.profile.max_response_length
    if low is None and high is None:
        return Finding(None, "no length declared")
    if low is not None and size < low:
        return Finding(TOO_SHORT * (1.0 - size / low), f"{size} bytes, at least {low} declared")
    if high is not None and size > high:
        return Finding(TOO_LONG, f"{size} bytes, at most {high} declared")
    return Finding(0.0, f"{size} bytes, as declared")
