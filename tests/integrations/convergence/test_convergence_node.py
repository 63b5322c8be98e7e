"""The convergence node in real graphs: rounds, stability, the end of the loop, state and streams. Sync and async."""

import json
import operator
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Annotated, Any

import pytest
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

from agentguard.convergence import ConvergenceConfig, Issue, SamplingRequest
from agentguard.errors import ConfigurationError, DataError
from agentguard.integrations.convergence import (
    ConvergenceNode,
    ConvergenceState,
    merge_issues,
    route_by_convergence,
    verification_loop,
)

PASSES = '{"passed": true, "confidence": "high", "reasoning": "deep enough"}'
FAILS = (
    '{"passed": false, "confidence": "high", "reasoning": "shallow", "moreRoundsRecommended": true,'
    ' "recommendedFocusAreas": ["login.py"]}'
)
NAMED = "security correctness reliability maintainability performance"
LEAK = {"id": "I1", "severity": "HIGH", "category": "SECURITY", "description": "the token is logged"}
VETO = ConvergenceConfig(rules="veto")
START_STATE = {"requirements": "No token may reach the log.", "target_files": ["login.py"]}

Run = Callable[..., Awaitable[Any]]


@pytest.fixture(params=["invoke", "ainvoke"])
def run(request: pytest.FixtureRequest) -> Run:
    async def call(graph: Any, state: Any, config: Any = None) -> Any:
        if request.param == "ainvoke":
            return await graph.ainvoke(state, config)
        return graph.invoke(state, config)

    return call


def says(*replies: str) -> GenericFakeChatModel:
    return GenericFakeChatModel(messages=iter([AIMessage(reply) for reply in replies]))


class Verifier:
    """Gives its findings in turn, and keeps what it was told before each round."""

    def __init__(self, *findings: dict[str, Any]) -> None:
        self.findings = findings
        self.told: list[Any] = []

    def __call__(self, state: ConvergenceState) -> dict[str, Any]:
        self.told.append(state.get("convergence"))
        return {"outputs": [NAMED], **self.findings[min(len(self.told), len(self.findings)) - 1]}


async def test_a_confident_judge_ends_the_loop_in_the_first_round(run: Run) -> None:
    graph = verification_loop(Verifier({"issues": [LEAK]}), ConvergenceNode(says(PASSES))).compile()
    end = await run(graph, START_STATE)

    assert (end["convergence"]["round"], end["convergence"]["decision"]) == (1, "converged")
    assert end["convergence"]["evaluation"]["accord"] == "rules_overruled"


async def test_a_function_judges(run: Run) -> None:
    async def sample(request: SamplingRequest) -> dict[str, Any]:
        prompt = request.messages[0]["content"]["text"]
        return {"content": {"type": "text", "text": PASSES if "\nRound 2\n" in prompt else FAILS}}

    end = await run(verification_loop(Verifier({}), ConvergenceNode(sample)).compile(), START_STATE)

    assert (end["convergence"]["round"], end["convergence"]["decision"]) == (2, "converged")


async def test_a_quiet_session_converges_in_the_third_round(run: Run) -> None:
    verifier = Verifier({})
    graph = verification_loop(verifier, ConvergenceNode(says(PASSES, PASSES, PASSES), VETO)).compile()
    end = await run(graph, START_STATE)

    assert len(verifier.told) == 3
    assert end["convergence"]["decision"] == "converged"
    assert end["convergence"]["evaluation"]["accord"] == "both_pass"
    assert (end["convergence"]["round"], end["convergence"]["stable_rounds"]) == (3, 3)


async def test_an_open_issue_keeps_the_loop_going_until_it_is_closed(run: Run) -> None:
    closed = {**LEAK, "status": "RESOLVED"}
    verifier = Verifier({"issues": [LEAK]}, {}, {}, {}, {"issues": [closed]})
    graph = verification_loop(verifier, ConvergenceNode(says(*[PASSES] * 5), VETO)).compile()
    end = await run(graph, START_STATE)

    accords = [told["evaluation"]["accord"] for told in verifier.told[1:]]
    assert accords == ["rules_veto"] * 4
    assert verifier.told[3]["evaluation"]["gaps"] == ["open and severe: 'I1' (HIGH)"]
    assert end["convergence"]["decision"] == "converged"
    assert end["convergence"]["round"] == 5


async def test_the_judge_holds_back_and_says_where_to_look(run: Run) -> None:
    verifier = Verifier({})
    graph = verification_loop(verifier, ConvergenceNode(says(FAILS, FAILS, FAILS, PASSES))).compile()
    end = await run(graph, START_STATE)

    assert verifier.told[3]["evaluation"]["accord"] == "model_veto"
    assert verifier.told[3]["evaluation"]["recommended_focus_areas"] == ["login.py"]
    assert end["convergence"]["round"] == 4


async def test_the_loop_ends_after_the_last_round(run: Run) -> None:
    verifier = Verifier({"issues": [LEAK]})
    node = ConvergenceNode(says(*[PASSES] * 4), VETO, max_rounds=4)
    end = await run(verification_loop(verifier, node).compile(), START_STATE)

    assert len(verifier.told) == 4
    assert end["convergence"]["decision"] == "exhausted"
    assert end["convergence"]["evaluation"]["passed"] is False


async def test_a_judge_that_fails_ends_in_exhaustion(run: Run) -> None:
    node = ConvergenceNode(says(), max_rounds=3)
    end = await run(verification_loop(Verifier({}), node).compile(), START_STATE)

    assert end["convergence"]["decision"] == "exhausted"
    assert end["convergence"]["evaluation"]["accord"] == "no_model"
    assert end["convergence"]["evaluation"]["confidence"] == "low"


@pytest.mark.parametrize(
    ("findings", "stable"),
    [
        pytest.param([{}, {}, {}], [1, 2, 3], id="nothing found"),
        pytest.param([{"issues": [LEAK]}, {}, {}], [0, 1, 2], id="found once, left open"),
        pytest.param([{}, {}, {"issues": [LEAK]}], [1, 2, 0], id="found at last"),
        pytest.param([{"issues": [{**LEAK, "status": "FIXED"}]}, {}, {}], [0, 1, 2], id="found and fixed in one round"),
        pytest.param([{"issues": [LEAK]}, {"issues": [{**LEAK, "status": "FIXED"}]}, {}], [0, 1, 2], id="fixed"),
        pytest.param(
            [{"issues": [{**LEAK, "status": "FIXED"}]}, {}, {"issues": [LEAK]}], [0, 1, 0], id="open once more"
        ),
        pytest.param([{"issues": [LEAK]}, {"issues": [{**LEAK, "id": "I2"}]}, {}], [0, 0, 1], id="another one"),
    ],
)
async def test_rounds_without_a_new_issue(run: Run, findings: list[Any], stable: list[int]) -> None:
    verifier = Verifier(*findings)
    node = ConvergenceNode(says(*[FAILS] * 3), max_rounds=3)
    end = await run(verification_loop(verifier, node).compile(), START_STATE)

    assert [told["stable_rounds"] for told in (*verifier.told[1:], end["convergence"])] == stable


async def test_the_evaluation_survives_a_checkpointer(run: Run) -> None:
    graph = verification_loop(Verifier({}), ConvergenceNode(says(*[PASSES] * 3), VETO)).compile(InMemorySaver())
    thread = {"configurable": {"thread_id": "t"}}
    end = await run(graph, START_STATE, thread)
    kept = graph.get_state(thread).values["convergence"]

    assert kept == end["convergence"]
    assert json.loads(json.dumps(kept)) == kept


async def test_a_stopped_loop_goes_on_where_it_was(run: Run) -> None:
    verifier = Verifier({})
    builder = verification_loop(verifier, ConvergenceNode(says(*[PASSES] * 3), VETO))
    graph = builder.compile(InMemorySaver(), interrupt_after=["evaluate"])
    thread = {"configurable": {"thread_id": "t"}}
    rounds = [(await run(graph, state, thread))["convergence"]["round"] for state in (START_STATE, None, None)]

    assert rounds == [1, 2, 3]
    assert graph.get_state(thread).values["convergence"]["decision"] == "converged"


async def test_a_thread_run_again_is_a_new_session(run: Run) -> None:
    """It starts at round 1 with what is still open, and does not count what was written before."""
    first = verification_loop(
        Verifier({"issues": [{**LEAK, "severity": "LOW"}]}), ConvergenceNode(says(*[PASSES] * 3), VETO)
    )
    saver = InMemorySaver()
    thread = {"configurable": {"thread_id": "t"}}
    end = await run(first.compile(saver), START_STATE, thread)
    assert end["convergence"]["decision"] == "converged"

    silent = Verifier({"outputs": ["nothing to add"]})
    again = verification_loop(silent, ConvergenceNode(says(*[PASSES] * 3), VETO, max_rounds=3))
    end = await run(again.compile(saver), START_STATE, thread)

    assert (end["convergence"]["round"], end["convergence"]["decision"]) == (3, "exhausted")
    assert end["convergence"]["evaluation"]["rules"]["criteria"][3]["detail"] == (
        "not examined: CORRECTNESS, RELIABILITY, MAINTAINABILITY, PERFORMANCE"  # the issue still names SECURITY
    )


async def test_the_verifier_declares_what_it_examined(run: Run) -> None:
    class Declaring(ConvergenceState):
        note: str

    verifier = Verifier({"outputs": ["silent"], "categories_examined": ["Security"], "note": "kept"})
    config = ConvergenceConfig(rules="veto", categories=("SECURITY",))
    node = ConvergenceNode(says(*[PASSES] * 3), config)
    end = await run(verification_loop(verifier, node, Declaring).compile(), START_STATE)

    assert end["convergence"]["decision"] == "converged"
    assert end["note"] == "kept"


async def test_several_judges(run: Run) -> None:
    judges = [says(*[PASSES] * 3), says(*[PASSES] * 3), says(*[FAILS] * 3)]
    most = await run(
        verification_loop(Verifier({}), ConvergenceNode(judges=judges, max_rounds=3)).compile(), START_STATE
    )
    judges = [says(*[PASSES] * 3), says(*[PASSES] * 3), says(*[FAILS] * 3)]
    node = ConvergenceNode(judges=judges, agreement="unanimous", max_rounds=3)
    every = await run(verification_loop(Verifier({}), node).compile(), START_STATE)

    assert most["convergence"]["decision"] == "converged"
    assert every["convergence"]["decision"] == "exhausted"


def verification_graph(verify: Any) -> Any:
    """One round as a graph of its own."""
    graph: Any = StateGraph(ConvergenceState)
    graph.add_node("work", verify)
    graph.add_edge(START, "work")
    graph.add_edge("work", END)
    return graph.compile()


async def test_a_graph_as_verifier_adds_what_is_new_only(run: Run) -> None:
    verifier = Verifier({"outputs": ["round"], "issues": [LEAK], "categories_examined": ["SECURITY"]})
    node = ConvergenceNode(says(*[FAILS] * 3), max_rounds=3)
    end = await run(verification_loop(verification_graph(verifier), node).compile(), START_STATE)

    assert end["outputs"] == ["round"] * 3
    assert end["categories_examined"] == ["SECURITY"] * 3
    assert [issue["id"] for issue in end["issues"]] == ["I1"]
    assert verifier.told[1]["evaluation"]["reasoning"].startswith("shallow")


async def test_a_person_is_asked_inside_the_verifier(run: Run) -> None:
    def verify(state: ConvergenceState) -> dict[str, Any]:
        return {"outputs": [f"{NAMED} {interrupt('Is the token logged?')}"]}

    builder = verification_loop(verification_graph(verify), ConvergenceNode(says(*[PASSES] * 3), VETO))
    graph = builder.compile(InMemorySaver())
    thread = {"configurable": {"thread_id": "t"}}
    asked = await run(graph, START_STATE, thread)
    for number in range(3):
        assert asked["__interrupt__"][0].value == "Is the token logged?"
        asked = await run(graph, Command(resume=f"no {number}"), thread)

    assert asked["outputs"] == [f"{NAMED} no {number}" for number in range(3)]
    assert asked["convergence"]["decision"] == "converged"


def talking_graph() -> Any:
    """A verifier that streams, as the judge would."""
    verifier = says(*["verifier speaks"] * 3)

    def verify(state: ConvergenceState) -> dict[str, Any]:
        verifier.invoke("verify")
        return {"outputs": [NAMED]}

    return verification_loop(verify, ConvergenceNode(says(*[PASSES] * 3), VETO)).compile()


def test_the_judge_does_not_appear_in_the_message_stream() -> None:
    streamed = [chunk.content for chunk, _ in talking_graph().stream(START_STATE, stream_mode="messages")]

    assert "".join(streamed) == "verifier speaks" * 3


async def test_the_judge_does_not_appear_in_the_async_message_stream() -> None:
    chunks = talking_graph().astream(START_STATE, stream_mode="messages")

    assert [chunk.content async for chunk, _ in chunks if "passed" in chunk.content] == []


async def test_the_run_s_own_callbacks_and_tags_reach_the_judge(run: Run) -> None:
    from langchain_core.callbacks import BaseCallbackHandler

    class Listening(BaseCallbackHandler):
        def __init__(self) -> None:
            self.tags: list[list[str]] = []

        def on_chat_model_start(self, *args: Any, tags: list[str] | None = None, **kwargs: Any) -> None:
            self.tags.append(tags or [])

    heard = Listening()
    graph = verification_loop(Verifier({}), ConvergenceNode(says(*[PASSES] * 3), VETO)).compile()
    await run(graph, START_STATE, {"callbacks": [heard], "tags": ["audit"]})

    assert len(heard.tags) == 3
    assert all({"nostream", "audit"} <= set(tags) for tags in heard.tags)


@dataclass
class Record:
    """A graph's state need not be a dict."""

    requirements: str = ""
    target_files: list[str] = field(default_factory=list)
    outputs: Annotated[list[str], operator.add] = field(default_factory=list)
    issues: Annotated[list[Any], merge_issues] = field(default_factory=list)
    convergence: dict[str, Any] = field(default_factory=dict)


async def test_a_dataclass_as_state(run: Run) -> None:
    graph: Any = StateGraph(Record)
    graph.add_node("verify", lambda state: {"outputs": [NAMED], "issues": [Issue("I1", "LOW", "SECURITY")]})
    graph.add_node("evaluate", ConvergenceNode(says(*[PASSES] * 3), VETO))
    graph.add_node("report", lambda state: {"outputs": [f"round {state.convergence['round']}"]})
    graph.add_edge(START, "verify")
    graph.add_edge("verify", "evaluate")
    ways = {"continue": "verify", "converged": "report", "exhausted": "report"}
    graph.add_conditional_edges("evaluate", route_by_convergence, ways)
    graph.add_edge("report", END)
    end = await run(graph.compile(), Record("review", ["a.py"]))

    assert end["convergence"]["decision"] == "converged"
    assert end["outputs"][-1] == "round 3"


@pytest.mark.parametrize(
    ("state", "fault"),
    [
        ({"outputs": "text"}, "'outputs' must be a list of texts"),
        ({"target_files": [1]}, "'target_files' must be a list of texts"),
        ({"requirements": 7}, "requirements must be text"),
        ({"issues": [{"id": "I1"}]}, "missing: severity, category"),
    ],
)
async def test_state_that_cannot_be_evaluated(run: Run, state: dict[str, Any], fault: str) -> None:
    with pytest.raises(DataError, match=fault):
        await run(ConvergenceNode(says(PASSES)), state)


@pytest.mark.parametrize("state", [{}, {"convergence": None}, {"convergence": {"decision": "maybe"}}])
def test_an_edge_without_a_node_before_it(state: dict[str, Any]) -> None:
    with pytest.raises(DataError, match="belongs behind a ConvergenceNode"):
        route_by_convergence(state)


@pytest.mark.parametrize(("config", "least", "rounds"), [(None, 1, 0), (None, 1, True), (None, 1, 1.0), (VETO, 3, 2)])
def test_rounds_that_cannot_converge(config: ConvergenceConfig | None, least: int, rounds: Any) -> None:
    ConvergenceNode(says(), config, max_rounds=least)
    with pytest.raises(ConfigurationError, match=f"at least {least}"):
        ConvergenceNode(says(), config, max_rounds=rounds)


def test_judges_are_checked_when_the_node_is_made() -> None:
    with pytest.raises(ConfigurationError, match="either one model or judges"):
        ConvergenceNode()


def test_issues_are_merged_by_id() -> None:
    other = {"id": "I2", "severity": "LOW", "category": "STYLE", "line": 4}
    merged = merge_issues([LEAK, other], [Issue("I1", "LOW", "SECURITY")])

    assert [(issue["id"], issue["severity"]) for issue in merged] == [("I1", "LOW"), ("I2", "LOW")]
    assert merged[1]["line"] == 4
