"""Without the frameworks: the core and ``@guarded`` work, and each other module names the extra to install."""

import subprocess
import sys

import pytest

HIDE = """
import sys
from importlib.abc import MetaPathFinder

class Hidden(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"agents", "langchain", "langchain_core", "langchain_mcp_adapters", "langgraph",
                                      "langsmith", "mcp", "openai", "pydantic_ai"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return None

sys.meta_path.insert(0, Hidden())
"""


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", HIDE + code], capture_output=True, text=True, check=False, timeout=120)


def test_the_core_and_functions_need_no_framework() -> None:
    done = run(
        "import agentguard, agentguard.integrations, agentguard.guard\n"
        "from agentguard.integrations.functions import guarded\n"
        "print(guarded(agentguard.VerificationEngine())(lambda: 5)())\n"
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "5\n", "")


@pytest.mark.parametrize(
    ("module", "missing"),
    [("mcp", "mcp"), ("openai_agents", "agents"), ("pydantic_ai", "pydantic_ai")],
)
def test_an_integration_names_its_extra(module: str, missing: str) -> None:
    done = run(f"import agentguard.integrations.{module}")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        f"ImportError: agentguard.integrations.{module} needs {missing}; pip install 'agentguard[{module}]'"
    )
