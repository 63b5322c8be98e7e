"""Importing the package loads no framework, no numerics and no client of a server."""

import json
import subprocess
import sys

import pytest

HEAVY = {
    "boto3", "bs4", "diskcache", "elasticsearch", "fastapi", "httpx", "langchain", "langchain_core", "langgraph",
    "lxml", "numpy", "opentelemetry", "prometheus_client", "pypdf", "redis", "scipy",
}  # fmt: skip


@pytest.mark.parametrize(
    "module",
    [
        "agentguard",
        "agentguard.convergence",
        "agentguard.gate",
        "agentguard.health",
        "agentguard.report",
        "agentguard.stores",
        "agentguard.telemetry",
        "agentguard.verification",
    ],
)
def test_import_loads_nothing_heavy(module: str) -> None:
    loaded = loaded_by(module)

    assert module in loaded
    assert not loaded & HEAVY


def test_the_callback_handler_loads_no_more_of_langchain_than_its_core() -> None:
    loaded = loaded_by("agentguard.integrations.callbacks")

    assert "langchain_core" in loaded
    assert not loaded & {"langchain", "langgraph"}


def loaded_by(module: str) -> set[str]:
    code = f"import json, sys, {module}; print(json.dumps(list(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(json.loads(run.stdout))
