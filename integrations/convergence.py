"""LangGraph: verify round by round until judges find that it is enough.

The evaluation after each round is a node of the graph, the loop one of its conditional edges::

    START -> verify -> evaluate -- continue --> verify
                          |------ converged --> END
                          `------ exhausted --> END

State holds plain JSON only and survives any checkpointer. A thread that is run again after its loop has ended starts a
new session: rounds and outputs count from there, issues that are still open remain.
"""

from __future__ import annotations

import operator
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import asdict
from typing import Annotated, Any, Literal, NamedTuple, TypedDict

from agentguard.convergence import (
    ConvergenceConfig,
    ConvergenceContext,
    ConvergenceEvaluation,
    Issue,
)
from agentguard.convergence._evaluator import Panel
from agentguard.convergence._types import Agreement
from agentguard.errors import ConfigurationError, DataError
from agentguard.integrations._extras import needs

try:
    from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda
    from langgraph.constants import TAG_NOSTREAM
    from langgraph.graph import END, START, StateGraph
    from langgraph.pregel import Pregel
except ImportError as error:
    raise needs("langgraph", error) from error

__all__ = [
    "ConvergenceNode",
    "ConvergenceState",
    "Decision",
    "merge_issues",
    "route_by_convergence",
    "verification_loop",
]

#: What follows from an evaluation: another round, or the end, for one reason or the other.
Decision = Literal["continue", "converged", "exhausted"]

_NOTHING_YET: dict[str, Any] = {"outputs": [], "categories_examined": []}


def merge_issues(known: Sequence[Any], found: Sequence[Any]) -> list[dict[str, Any]]:
    """The reducer of ``issues``: an issue of a known id replaces the one before.

    Raises:
        DataError: for an issue without id, severity or category.

    >>> first = {"id": "I1", "severity": "HIGH", "category": "SECURITY"}
    >>> [issue["status"] for issue in merge_issues([first], [{**first, "status": "RESOLVED"}])]
    ['RESOLVED']
    """
    merged: dict[str, dict[str, Any]] = {}
    for item in [*known, *found]:
        plain = asdict(item) if isinstance(item, Issue) else item
        merged[Issue.from_mapping(plain).id] = dict(plain)
    return list(merged.values())


class ConvergenceState(TypedDict, total=False):
    """The state that the node reads, and ``convergence``, which it writes. Graphs extend it with keys of their own.

    Attributes:
        requirements: what is to be verified, in words.
        target_files: paths of the files under verification.
        outputs: what the verifier wrote, one text a round or more; a node returns the new ones only.
        issues: found so far, as JSON objects with the fields of ``agentguard.convergence.Issue``; a node returns the
            new and the changed ones only.
        categories_examined: categories that the verifier declares as examined; where it declares none, those count
            that outputs or issues name.
        convergence: ``round``, ``decision`` (see ``Decision``), ``stable_rounds``, ``evaluation`` (see
            ``ConvergenceEvaluation.as_dict``), and what the next round needs.
    """

    requirements: str
    target_files: list[str]
    outputs: Annotated[list[str], operator.add]
    issues: Annotated[list[dict[str, Any]], merge_issues]
    categories_examined: Annotated[list[str], operator.add]
    convergence: dict[str, Any]


class _Round(NamedTuple):
    """A round as it is about to be evaluated, and what is to be remembered of it."""

    context: ConvergenceContext
    record: dict[str, Any]


class ConvergenceNode(Runnable[Any, dict[str, Any]]):
    """Evaluates a verification session after each of its rounds, sync and async.

    The judges' tokens do not appear in the graph's message stream.

    Args:
        model: judges the session: any chat model, or a sampling function (``agentguard.convergence.SamplingRequest``).
        config: limits and thresholds; None: the defaults.
        max_rounds: rounds after which the loop ends, converged or not; by ``rules="veto"`` at least
            ``config.min_rounds``.
        judges: several models in place of one; under ``ainvoke`` they are asked at the same time.
        agreement: how many of the judges must pass the session.

    Raises:
        ConfigurationError: for judges, an agreement or a number of rounds that cannot be used.
    """

    def __init__(
        self,
        model: Any = None,
        config: ConvergenceConfig | None = None,
        *,
        max_rounds: int = 6,
        judges: Sequence[Any] | None = None,
        agreement: Agreement = "majority",
    ) -> None:
        self._panel = Panel(model, config, judges=judges, agreement=agreement)
        settings = self._panel.config
        least = settings.min_rounds if settings.rules == "veto" else 1
        if isinstance(max_rounds, bool) or not isinstance(max_rounds, int) or max_rounds < least:
            raise ConfigurationError(f"max_rounds must be a whole number of at least {least}")
        self.name: str | None = "ConvergenceNode"
        self._max_rounds = max_rounds

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> dict[str, Any]:
        """The state's next ``convergence``.

        Raises:
            DataError: where the state holds no session that can be evaluated.
        """
        this_round = _round(input)
        return self._update(this_round, self._panel.evaluate(this_round.context, run_config=_unstreamed(config)))

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> dict[str, Any]:
        """As ``invoke``, without blocking the event loop."""
        this_round = _round(input)
        evaluation = await self._panel.aevaluate(this_round.context, run_config=_unstreamed(config))
        return self._update(this_round, evaluation)

    def _update(self, found: _Round, evaluation: ConvergenceEvaluation) -> dict[str, Any]:
        decision: Decision = "continue"
        if evaluation.passed:
            decision = "converged"
        elif found.context.current_round >= self._max_rounds:
            decision = "exhausted"
        return {"convergence": {**found.record, "decision": decision, "evaluation": evaluation.as_dict()}}


def route_by_convergence(state: Any) -> Decision:
    """For a conditional edge behind the node: ``continue``, ``converged`` or ``exhausted``.

    Raises:
        DataError: where no ``ConvergenceNode`` has written into the state.
    """
    decision = _previous(state).get("decision")
    if decision not in ("continue", "converged", "exhausted"):
        raise DataError("the state holds no evaluation: route_by_convergence belongs behind a ConvergenceNode")
    chosen: Decision = decision
    return chosen


def verification_loop(
    verifier: Any, node: ConvergenceNode, state_schema: type[Any] = ConvergenceState
) -> StateGraph[Any, Any, Any, Any]:
    """A graph that runs the verifier round by round until the node ends it; compile it with a checkpointer or without.

    Args:
        verifier: one round: a compiled graph, which starts each round with no ``outputs`` of its own, or anything else
            that can be a node. It reads the last evaluation in ``state["convergence"]["evaluation"]``.
        node: evaluates each round.
        state_schema: ``ConvergenceState`` or an extension of it.
    """
    graph: StateGraph[Any, Any, Any, Any] = StateGraph(state_schema)
    graph.add_node("verify", _one_round(verifier) if isinstance(verifier, Pregel) else verifier)
    graph.add_node("evaluate", node)
    graph.add_edge(START, "verify")
    graph.add_edge("verify", "evaluate")
    ways: dict[Hashable, str] = {"continue": "verify", "converged": END, "exhausted": END}
    graph.add_conditional_edges("evaluate", route_by_convergence, ways)
    return graph


def _one_round(graph: Pregel[Any, Any, Any, Any]) -> Runnable[Any, Any]:
    """The graph as a node that gives what is new: from a graph the reducers would add the old outputs once more."""

    def invoke(state: Mapping[str, Any], config: RunnableConfig) -> Any:
        return graph.invoke({**state, **_NOTHING_YET}, config)

    async def ainvoke(state: Mapping[str, Any], config: RunnableConfig) -> Any:
        return await graph.ainvoke({**state, **_NOTHING_YET}, config)

    return RunnableLambda(invoke, afunc=ainvoke, name="verify")


def _round(state: Any) -> _Round:
    """The session in the state, one round on from the last evaluation."""
    last = _previous(state)
    if last.get("decision") in ("converged", "exhausted"):
        last = {"outputs_before": last.get("outputs_seen", 0)}
    outputs, paths = _texts(state, "outputs"), _texts(state, "target_files")
    issues = [Issue.from_mapping(item) for item in merge_issues([], _read(state, "issues") or [])]
    ids = {issue.id for issue in issues}
    still_open = {issue.id for issue in issues if issue.is_open}
    # Raised in this round, or closed before and open again.
    news = (ids - set(last.get("seen", ()))) | (still_open - set(last.get("open", ())))
    number = last.get("round", 0) + 1
    record = {
        "round": number,
        "stable_rounds": 0 if news else last.get("stable_rounds", 0) + 1,
        "seen": sorted(ids),
        "open": sorted(still_open),
        "outputs_before": last.get("outputs_before", 0),
        "outputs_seen": len(outputs),
    }
    context = ConvergenceContext(
        requirements=_read(state, "requirements") or "",
        target_files=tuple(paths),
        current_round=number,
        all_outputs="\n\n".join(outputs[record["outputs_before"] :]),
        issues=tuple(issues),
        stable_rounds=record["stable_rounds"],
        categories_examined=frozenset(_texts(state, "categories_examined")) or None,
    )
    return _Round(context, record)


def _previous(state: Any) -> Mapping[str, Any]:
    previous = _read(state, "convergence")
    return previous if isinstance(previous, Mapping) else {}


def _texts(state: Any, key: str) -> list[str]:
    value = _read(state, key) or []
    if not isinstance(value, (list, tuple)) or not all(isinstance(item, str) for item in value):
        raise DataError(f"the state's {key!r} must be a list of texts")
    return list(value)


def _read(state: Any, key: str) -> Any:
    """State is a mapping, or an object where the graph's schema is a dataclass or a pydantic model."""
    return state.get(key) if isinstance(state, Mapping) else getattr(state, key, None)


def _unstreamed(config: RunnableConfig | None) -> Mapping[str, Any]:
    given: Mapping[str, Any] = config or {}
    return {**given, "tags": [*(given.get("tags") or []), TAG_NOSTREAM]}
