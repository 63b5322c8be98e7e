"""The checks of the calibrated method, by what they look at, in the order in which they run."""

from agentguard.verification._checks._base import DeclaredCheck, LearnedCheck
from agentguard.verification._checks._declared import EchoMismatch, PatternMismatch, SchemaMismatch
from agentguard.verification._checks._earlier import (
    DuplicateResult,
    HistoricalInconsistency,
    MovedValue,
    SessionInconsistency,
    StaleResult,
)
from agentguard.verification._checks._form import (
    FormatMismatch,
    LengthAnomaly,
    StructureMismatch,
    TruncatedResult,
)
from agentguard.verification._checks._latency import LatencyAnomaly
from agentguard.verification._checks._values import NovelValue, RelationMismatch, SpcAnomaly, ValuePlausibility
from agentguard.verification._method import Check
from agentguard.verification.types import VerificationTier

__all__ = ["TIERS", "DeclaredCheck", "LearnedCheck"]

TIERS: tuple[tuple[VerificationTier, tuple[Check, ...]], ...] = (
    (
        VerificationTier.TIER_0,
        (SchemaMismatch(), LatencyAnomaly(), PatternMismatch(), LengthAnomaly(), TruncatedResult()),
    ),
    (
        VerificationTier.TIER_1,
        (
            StructureMismatch(),
            FormatMismatch(),
            EchoMismatch(),
            NovelValue(),
            RelationMismatch(),
            HistoricalInconsistency(),
            MovedValue(),
            SessionInconsistency(),
            StaleResult(),
            DuplicateResult(),
            ValuePlausibility(),
            SpcAnomaly(),
        ),
    ),
)
