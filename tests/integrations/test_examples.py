"""Every example runs by itself, offline, and ends as it should."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from .apart import FRAMEWORKS

EXAMPLES = Path(__file__).parents[2] / "examples"

#: How the last line of each begins.
ENDINGS = {
    "agent_framework_agent": "Recovered: ",
    "callbacks": "the result of 'get_weather' was blocked: block: P(fabricated) ",
    "content_guard": "ai | The Aurora costs 65 a night.",
    "convergence_graph": "converged after ",
    "crewai_crew": "Recovered: ",
    "function": "Recovered: ",
    "google_adk_agent": "Recovered: ",
    "grounding": "The answer is partly grounded ",
    "haystack_agent": "Recovered: ",
    "health_monitor": "unstable: ",
    "langchain_agent": "ai | It is 18 degrees in Oslo.",
    "langgraph_guard_node": "ai | It is 18 degrees in Oslo.",
    "litellm_proxy": "Recovered: ",
    "llama_index_agent": "Recovered: ",
    "mcp_server": "Recovered: ",
    "openai_agents": "Recovered: ",
    "pydantic_ai_agent": "Recovered: ",
    "smolagents_agent": "Recovered: ",
    "strands_agent": "Recovered: ",
}
#: Those of frameworks that are not installed beside all others, and why they cannot run here.
MISSING = {each.example: each.missing for each in FRAMEWORKS if each.missing}
#: Runs in a test of its own, which reads all that it prints: convergence/test_convergence_example.py.
READ_IN_FULL = "convergence_graph"
#: Where the transcript is printed: in the first result's place stands the notice, and the second is let through.
TRANSCRIPTS = ["langchain_agent", "langgraph_guard_node"]


@cache
def run(name: str) -> list[str]:
    """What it prints; each runs once."""
    if name in MISSING:
        pytest.skip(MISSING[name])
    done = subprocess.run(
        [sys.executable, EXAMPLES / f"{name}.py"], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip().splitlines()


def test_each_example_is_named_here() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} == set(ENDINGS)


@pytest.mark.parametrize("name", sorted(set(ENDINGS) - {READ_IN_FULL}))
def test_the_example_runs_to_its_last_line(name: str) -> None:
    assert run(name)[-1].startswith(ENDINGS[name])


@pytest.mark.parametrize("name", TRANSCRIPTS)
def test_the_made_up_result_is_replaced_and_the_next_one_is_not(name: str) -> None:
    blocked, accepted = [line for line in run(name) if line.startswith("tool | ")]

    assert "The result of 'weather' was blocked" in blocked
    assert "nice" not in blocked
    assert accepted == 'tool | {"city": "Oslo", "degrees": 18}'
