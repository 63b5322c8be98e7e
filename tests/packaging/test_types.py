"""What users get is typed throughout: no name that a package exports is unknown to a type checker, or a guess."""

import importlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ready = importlib.util.find_spec("pyright") is not None and shutil.which("node") is not None
pytestmark = [
    pytest.mark.packaging,
    pytest.mark.skipif(not ready, reason="pyright comes with the extra 'dev', and runs on node"),
]

PACKAGES = [
    "agentguard",
    *(
        f"agentguard.{name}"
        for name in (
            *(
                "calibration",
                "convergence",
                "demo",
                "errors",
                "gate",
                "guard",
                "health",
                "report",
                "stores",
                "telemetry",
            ),
            *("guard.api", "testing", "traces", "verification", "verification.receipts", "verification.signals"),
            *(f"integrations.{name}" for name in ("callbacks", "content", "convergence", "functions")),
            *(f"integrations.{name}" for name in ("health", "langchain", "langgraph", "langsmith", "mcp")),
            *(f"integrations.{name}" for name in ("openai_agents", "pydantic_ai", "receipts", "review")),
        )
    ),
]

#: What pyright cannot tell because of what a framework declares, which is not ours to annotate.
THEIRS = {
    "agentguard.integrations.langgraph.GuardState": "langgraph's MessagesState",
    "agentguard.integrations.langgraph.GuardedToolNode": "langgraph's ToolNode",
    "agentguard.integrations.mcp.MCPGuardInterceptor": "its __call__",
    "agentguard.integrations.mcp.MCPGuardInterceptor.__call__": "MCPToolCallResult is a variable, and no alias",
}


def exported() -> set[str]:
    """The full names of what the packages export, where they are defined."""
    found = set()
    for package in PACKAGES:
        module = importlib.import_module(package)
        for name in module.__all__:
            thing = getattr(module, name)
            place, own = getattr(thing, "__module__", ""), getattr(thing, "__qualname__", None)
            found.add(f"{place}.{own}" if own and place.startswith("agentguard") else f"{package}.{name}")
    return found


@pytest.fixture
def symbols(editable: Path, tmp_path: Path) -> dict[str, dict[str, Any]]:
    """Every public symbol of the installed package, as pyright sees it, by its name."""
    verify = [sys.executable, "-m", "pyright", "--verifytypes", "agentguard", "--ignoreexternal", "--outputjson"]
    done = subprocess.run(
        verify,
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{editable}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,  # it fails by whatever falls short of everything
    )
    found = json.loads(done.stdout)["typeCompleteness"]
    assert found["pyTypedPath"], "agentguard says that it is typed"
    return {symbol["name"]: symbol for symbol in found["symbols"]}


def test_every_exported_name_and_its_members_have_known_types(symbols: dict[str, dict[str, Any]]) -> None:
    names = exported()
    ours = {
        name: symbol
        for name, symbol in symbols.items()
        if any(name == each or name.startswith(f"{each}.") for each in names)
    }
    assert len(ours) > 1000
    wanting = {name for name, symbol in ours.items() if not symbol["isTypeKnown"] or symbol["isTypeAmbiguous"]}

    told = {name: [one["message"] for one in ours[name]["diagnostics"]] for name in sorted(wanting - THEIRS.keys())}
    assert told == {}
