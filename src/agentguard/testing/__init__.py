"""Conformance tests for a store of your own, and for a signal. Needs pytest."""

import pytest

# Only what is registered before it is imported shows the values of a failed assert.
pytest.register_assert_rewrite(f"{__name__}._conformance", f"{__name__}._signals")

from agentguard.testing._conformance import StoreConformance  # noqa: E402  # after the registration
from agentguard.testing._signals import SignalConformance  # noqa: E402

__all__ = ["SignalConformance", "StoreConformance"]
