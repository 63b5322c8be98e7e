"""The checks of the calibrated method, one signal a file, in the order in which they run."""

from agentguard.verification.method import Check

from ..types import VerificationTier
from .base import DeclaredCheck, LearnedCheck
from .duplicate import DuplicateResult
from .echo import EchoMismatch
from .format import FormatMismatch
from .history import HistoricalInconsistency
from .latency import LatencyAnomaly
from .length import LengthAnomaly
from .novelty import NovelValue
from .pattern import PatternMismatch
from .relation import RelationMismatch
from .schema import SchemaMismatch
from .session import SessionInconsistency
from .spc import SpcAnomaly
from .structure import StructureMismatch
from .text import TextAnomaly
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
            NovelValue(),
            RelationMismatch(),
            TextAnomaly(),
            HistoricalInconsistency(),
            SessionInconsistency(),
            DuplicateResult(),
            ValuePlausibility(),
            SpcAnomaly(),
        ),
    ),
)
