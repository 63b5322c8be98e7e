"""``verify`` with everything on: profile, arguments, session, a history of 500 calls; beside the peer and the floor.

Run with ``python -m pytest benchmarks``. The table's rows are ours; the lines below it hold the ratios.
"""

from __future__ import annotations

import pytest
from pytest_benchmark.fixture import BenchmarkFixture
from race import FORMS, MODES, Race, Standing, length

from agentguard.verification import VerificationTier


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("size", FORMS)
def test_verify(benchmark: BenchmarkFixture, standings: list[Standing], size: str, mode: str) -> None:
    benchmark.group = f"verify, {size} result"
    with Race(size, mode) as race:
        # A call that tier 0 blocks skips half of the work: its time would say nothing.
        assert race.tiers[VerificationTier.TIER_1] >= 95
        # pytest-benchmark has no annotations on this method.
        benchmark.pedantic(race.verify, setup=race.next_call, rounds=length(size), iterations=1)  # type: ignore[no-untyped-call]
        if benchmark.stats is None:  # --benchmark-disable
            return
        standing = race.standing(benchmark.stats.stats.data)
    benchmark.extra_info["peer_p50_s"] = standing.p50("peer")
    benchmark.extra_info["floor_p50_s"] = standing.p50("floor")
    standings.append(standing)
