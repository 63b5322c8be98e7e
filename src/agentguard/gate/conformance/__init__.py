"""Conformance suites that hold evidence indices and run records of your own to their protocols. Needs pytest."""

import pytest

# Only what is registered before it is imported shows the values of a failed assert.
pytest.register_assert_rewrite(*(f"{__name__}.{part}" for part in ("_evidence", "_records")))

from agentguard.gate.conformance._evidence import EvidenceConformance  # noqa: E402  # after the registration
from agentguard.gate.conformance._records import RecordsConformance  # noqa: E402  # after the registration

__all__ = ["EvidenceConformance", "RecordsConformance"]
