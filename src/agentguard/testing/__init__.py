"""Conformance tests for a store of your own, for a signal, and for an integration. Needs pytest."""

import pytest

# Only what is registered before it is imported shows the values of a failed assert.
pytest.register_assert_rewrite(f"{__name__}._conformance", f"{__name__}._integration", f"{__name__}._signals")

from agentguard.testing._conformance import StoreConformance  # noqa: E402  # after the registration
from agentguard.testing._integration import IntegrationConformance  # noqa: E402
from agentguard.testing._signals import SignalConformance  # noqa: E402

__all__ = ["IntegrationConformance", "SignalConformance", "StoreConformance"]
