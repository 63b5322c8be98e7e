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
    code = f"import json, sys, {module}; print(json.dumps(list(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(json.loads(run.stdout))

    assert module in loaded
    assert not loaded & HEAVY
