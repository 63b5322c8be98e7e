"""A verifier works on a small repository round by round, until its judge finds that it has looked closely enough.

Both models are scripted, so that this runs offline; put any chat model in their places.

    pip install '.[langgraph]'
    python examples/convergence_graph.py
"""

import json
import tempfile
from pathlib import Path
from typing import Any

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langgraph.graph import END, START, StateGraph

from agentguard.integrations.convergence import ConvergenceNode, ConvergenceState, verification_loop

REPOSITORY = {
    "accounts.py": "def find(db, name):\n    return db.execute(f\"select * from users where name = '{name}'\")\n",
    "totals.py": "def mean(values):\n    return sum(values) / len(values)\n",
}
INJECTION = {"id": "A1", "severity": "CRITICAL", "category": "SECURITY", "description": "find() builds SQL from input"}
EMPTY = {"id": "T1", "severity": "MEDIUM", "category": "CORRECTNESS", "description": "mean([]) divides by zero"}
ROUNDS: list[dict[str, Any]] = [  # what the verifier's model finds, and what it changes
    {"report": "Security: find() is open to injection. Correctness: mean([]) fails.", "issues": [INJECTION, EMPTY]},
    {
        "report": "Security: find() now binds its argument. Reliability: every caller handles no rows.",
        "issues": [{**INJECTION, "status": "RESOLVED"}],
        "edits": {"accounts.py": 'def find(db, name):\n    return db.execute("... where name = ?", (name,))\n'},
    },
    {"report": "Performance: name is indexed. Maintainability: two functions, no state.", "issues": []},
    {"report": "Correctness: followed mean() from its callers; none passes an empty list.", "issues": []},
]
OPEN = {"passed": False, "confidence": "high", "reasoning": "find() is open to injection.", "qualityScore": 20}
SHALLOW = {"passed": False, "confidence": "medium", "reasoning": "Nobody traced mean().", "qualityScore": 60}
DEEP = {"passed": True, "confidence": "high", "reasoning": "Every path was followed.", "qualityScore": 91}


class RoundState(ConvergenceState):
    """The state of the loop, and the files as they were read in this round."""

    sources: str


def scripted(replies: list[Any]) -> GenericFakeChatModel:
    """A chat model that gives these replies in turn."""
    return GenericFakeChatModel(messages=iter([AIMessage(json.dumps(reply)) for reply in replies]))


def verification_graph(folder: Path) -> Any:
    """One round: read the repository, have the model examine it, write down what it found, and fix it."""
    model = scripted(ROUNDS)

    def read(state: RoundState) -> dict[str, Any]:
        return {"sources": "\n".join(f"# {name}\n{(folder / name).read_text()}" for name in state["target_files"])}

    def examine(state: RoundState) -> dict[str, Any]:
        evaluation = state.get("convergence", {}).get("evaluation", {})
        focus = ", ".join(evaluation.get("recommended_focus_areas", []))
        found = json.loads(
            str(model.invoke(f"Verify: {state['requirements']}\nLook at: {focus}\n{state['sources']}").text)
        )
        for name, text in found.get("edits", {}).items():
            (folder / name).write_text(text)
        return {"outputs": [found["report"]], "issues": found["issues"]}

    graph: StateGraph[Any, Any, Any, Any] = StateGraph(RoundState)
    graph.add_node("read", read)
    graph.add_node("examine", examine)
    graph.add_edge(START, "read")
    graph.add_edge("read", "examine")
    graph.add_edge("examine", END)
    return graph.compile()


def main() -> None:
    """Run the loop in a folder of its own."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for path, text in REPOSITORY.items():
            (folder / path).write_text(text)
        judge = ConvergenceNode(scripted([OPEN, SHALLOW, SHALLOW, DEEP]), max_rounds=6)
        graph = verification_loop(verification_graph(folder), judge, RoundState).compile()
        end = graph.invoke({"requirements": "No input may reach SQL unbound.", "target_files": sorted(REPOSITORY)})
    told = end["convergence"]
    score = told["evaluation"]["quality_score"]
    print(f"{told['decision']} after {told['round']} rounds: {told['evaluation']['accord']}, quality {score:.0f}")


if __name__ == "__main__":
    main()
