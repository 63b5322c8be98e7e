"""The checks of the calibrated method, one signal a file, in the order in which they run."""

from agentguard.verification.method import Check
from agentguard.verification.types import VerificationTier

from .base import DeclaredCheck, LearnedCheck
from .duplicate import DuplicateResult
from .echo import EchoMismatch
from .format import FormatMismatch
from .history import HistoricalInconsistency
from .latency import LatencyAnomaly
from .length import LengthAnomaly
from .pattern import PatternMismatch
from .schema import SchemaMismatch
from .session import SessionInconsistency
from .spc import SpcAnomaly
from .structure import StructureMismatch
from .truncation import TruncatedResult
from .value import ValuePlausibility

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
            HistoricalInconsistency(),
            SessionInconsistency(),
            DuplicateResult(),
            ValuePlausibility(),
            SpcAnomaly(),
        ),
    ),
)
