"""Conformance tests for a store of your own. Needs pytest."""

import pytest

# Only what is registered before it is imported shows the values of a failed assert.
pytest.register_assert_rewrite(f"{__name__}._conformance")

from agentguard.testing._conformance import StoreConformance  # noqa: E402  # after the registration

__all__ = ["StoreConformance"]
