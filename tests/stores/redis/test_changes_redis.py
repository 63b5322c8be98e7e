"""A fleet on one Redis meets one change, not eight, and loses none of it where a worker is killed.

The scenes assert, on Redis as on the other stores.
"""

from __future__ import annotations

from typing import Any

import pytest
from tests.engine.fleet_of_changes import SCENES


@pytest.mark.parametrize("scene", SCENES)
def test_on_redis(scene: str, started: Any) -> None:
    SCENES[scene](started().url)
