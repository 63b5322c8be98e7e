"""Every test that takes ``run`` is made twice: synchronously and asynchronously."""

from __future__ import annotations

from typing import Any

import pytest

from .langchain.scripted import Run


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
