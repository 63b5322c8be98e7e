"""With no agent framework installed the core works, and an integration says what to install."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
INTEGRATIONS = {path.stem for path in (ROOT / "integrations").glob("*.py")} - {"__init__"}
# What a user imports, and the extra that brings what it needs; None: it needs no framework.
FACES = {
    "agent_framework": "agent-framework",
    "callbacks": "langchain",
    "crewai": "crewai",
    "functions": None,
    "google_adk": "google-adk",
    "health": "langchain",
    "langchain": "langchain",
    "langgraph": "langgraph",
    "langsmith": None,
    "litellm": "litellm",
    "mcp": "mcp",
    "openai_agents": "openai-agents",
    "pydantic_ai": "pydantic-ai",
    "strands": "strands",
}
#: Those of frameworks that have environments of their own.
APART = {"agent_framework", "crewai", "google_adk", "litellm", "strands"}

# Names of modules as they are imported; every framework that an extra brings, and what they bring themselves.
HIDE = """
import sys

FRAMEWORKS = {
    "agent_framework", "agents", "crewai", "google.adk", "langchain", "langchain_core", "langchain_mcp_adapters",
    "langgraph", "langsmith", "litellm", "mcp", "openai", "pydantic_ai", "pydantic_graph", "strands",
}

class Hidden:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in FRAMEWORKS or name in FRAMEWORKS:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Hidden)
"""
TRY = """
import importlib, json, sys
said = {}
for module in sys.argv[1:]:
    try:
        importlib.import_module(f"agentguard.integrations.{module}")
        said[module] = None
    except ImportError as error:
        said[module] = str(error)
print(json.dumps(said))
"""


def python(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def said() -> dict[str, str | None]:
    """What importing each integration says where no framework is installed; None where it works."""
    run = python(HIDE + TRY, *INTEGRATIONS)
    assert run.returncode == 0, run.stderr
    found: dict[str, str | None] = json.loads(run.stdout)
    return found


def test_the_frameworks_are_hidden() -> None:
    run = python(HIDE + "import langchain_core.messages")

    assert "ModuleNotFoundError: No module named 'langchain_core'" in run.stderr


def test_the_core_works() -> None:
    code = """
import agentguard, agentguard.verification, agentguard.traces, agentguard.cli, agentguard.demo, agentguard.integrations
from agentguard.integrations.functions import guarded
from agentguard.verification import VerificationEngine
print(VerificationEngine().verify("add", args={"a": 1}, result=2).verdict)
print(guarded(VerificationEngine())(lambda: 5)())
"""
    run = python(HIDE + code)

    assert (run.returncode, run.stdout, run.stderr) == (0, "accept\n5\n", "")


def test_an_integration_names_its_extra(said: dict[str, str | None]) -> None:
    wrong = {}
    for module, extra in FACES.items():
        message = said[module]
        named = message is not None and f"pip install 'agentguard[{extra}]'" in message.replace("_", "-")  # as pip
        if named if extra is None else not named:
            wrong[module] = message
    assert not wrong
    assert [said[module] for module, extra in FACES.items() if extra is None] == [None, None]


def test_what_they_share_works_or_names_an_extra(said: dict[str, str | None]) -> None:
    named = {f"pip install 'agentguard[{extra}]'" for extra in FACES.values() if extra}

    for module in INTEGRATIONS - FACES.keys():
        message = said[module]
        assert message is None or any(each in message for each in named), module


def test_with_their_frameworks_they_are_imported() -> None:
    said = json.loads(python(TRY, *sorted(INTEGRATIONS)).stdout)
    not_here = APART | ({"pydantic_ai"} if sys.version_info < (3, 11) else set())  # it has no release for Python 3.10

    assert {module: error for module, error in said.items() if error is not None and module not in not_here} == {}


def test_importing_the_package_of_integrations_imports_no_framework() -> None:
    run = python(HIDE + "import agentguard.guard, agentguard.integrations.langsmith")

    assert (run.returncode, run.stderr) == (0, "")
