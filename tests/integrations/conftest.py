"""Every test that takes ``run`` is made twice: synchronously and asynchronously."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from .apart import FRAMEWORKS

if TYPE_CHECKING:
    from .langchain.scripted import Run

# These send what they are used for to their makers, or ask a host at import, unless they are told not to.
os.environ.update(
    CREWAI_DISABLE_TELEMETRY="true",
    CREWAI_TRACING_ENABLED="false",
    HAYSTACK_TELEMETRY_ENABLED="False",
    HF_HUB_DISABLE_TELEMETRY="1",
    HF_HUB_OFFLINE="1",
    LITELLM_LOCAL_MODEL_COST_MAP="True",
)


class Absent(pytest.Module):
    """A file of tests whose framework is not installed."""

    def collect(self) -> Any:
        """Nothing, with the reason."""
        name = self.path.parent.name
        pytest.skip(next(each.missing or "" for each in FRAMEWORKS if each.name == name), allow_module_level=True)


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    """Skip the files whose framework is not installed, before they import it."""
    missing = {each.name for each in FRAMEWORKS if each.missing}
    return Absent.from_parent(parent, path=module_path) if module_path.parent.name in missing else None


@pytest.fixture(params=["sync", "async"])
def run(request: pytest.FixtureRequest) -> Run:
    async def invoke(graph: Any, value: Any, config: Any = None, **options: Any) -> Any:
        if request.param == "sync":
            return graph.invoke(value, config, **options)
        return await graph.ainvoke(value, config, **options)

    return invoke


@pytest.fixture(params=["sync", "async"])
def stream(request: pytest.FixtureRequest) -> Run:
    async def collect(graph: Any, value: Any, config: Any = None, **options: Any) -> list[Any]:
        if request.param == "sync":
            return list(graph.stream(value, config, **options))
        return [chunk async for chunk in graph.astream(value, config, **options)]

    return collect
