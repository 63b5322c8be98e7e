"""Importing the package loads no framework, no numerics and no client of a server."""

import json
import subprocess
import sys

HEAVY = {
    "boto3", "bs4", "diskcache", "elasticsearch", "fastapi", "httpx", "langchain", "langchain_core", "langgraph",
    "lxml", "numpy", "opentelemetry", "prometheus_client", "pypdf", "redis", "scipy",
}  # fmt: skip


MODULES = (
    "agentguard", "agentguard.convergence", "agentguard.gate", "agentguard.health", "agentguard.report",
    "agentguard.stores", "agentguard.telemetry", "agentguard.verification",
)  # fmt: skip


def test_imports_load_nothing_heavy() -> None:
    loaded = loaded_by(*MODULES)

    assert loaded >= set(MODULES)
    assert not loaded & HEAVY


def test_the_callback_handler_loads_no_more_of_langchain_than_its_core() -> None:
    loaded = loaded_by("agentguard.integrations.callbacks")

    assert "langchain_core" in loaded
    assert not loaded & {"langchain", "langgraph"}


def loaded_by(*modules: str) -> set[str]:
    code = f"import json, sys, {', '.join(modules)}; print(json.dumps(list(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(json.loads(run.stdout))
