"""Asks one or several models whether a verification session has converged, and holds the answer against the rules."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from agentguard.convergence.asking import Question, aask, ask
from agentguard.convergence.concluding import conclude
from agentguard.convergence.config import ConvergenceConfig, refuse
from agentguard.convergence.prompts import build_prompt
from agentguard.convergence.rules import apply_rules
from agentguard.convergence.session import ConvergenceContext
from agentguard.convergence.types import Agreement, ConvergenceEvaluation, Cut, Opinion

__all__ = ["Panel", "aevaluate", "evaluate"]


class Panel:
    """The judges of a session, and how many of them must pass it.

    Args:
        model: the one judge: a LangChain chat model, or anything with its ``invoke``.
        judges: several judges in place of one.
        agreement: ``majority`` (more than half) or ``unanimous``. A judge that fails does not pass the session.

    Raises:
        ConfigurationError: naming everything that cannot be used.
    """

    def __init__(
        self, model: Any = None, *, judges: Sequence[Any] | None = None, agreement: Agreement = "majority"
    ) -> None:
        faults = []
        if (model is None) == (judges is None):
            faults.append("give either one model or judges=[...]")
        if judges is not None and (isinstance(judges, (str, bytes)) or not isinstance(judges, Sequence) or not judges):
            faults.append("judges must be a list of at least one model")
            judges = []
        if agreement not in ("majority", "unanimous"):
            faults.append(f"agreement must be 'majority' or 'unanimous', not {agreement!r}")
        members = [*([] if model is None else [model]), *(judges or [])]
        faults += [
            f"judge {number} has neither invoke nor ainvoke: it is no chat model ({type(member).__name__})"
            for number, member in enumerate(members, 1)
            if not (hasattr(member, "invoke") or hasattr(member, "ainvoke"))
        ]
        refuse("the panel of judges", faults)
        self.members = [(f"judge {number}", member) for number, member in enumerate(members, 1)]
        self.agreement: Agreement = agreement


class _Case(NamedTuple):
    """A session made ready for the judges."""

    context: ConvergenceContext
    config: ConvergenceConfig
    question: Question
    cuts: tuple[Cut, ...]

    @classmethod
    def of(
        cls,
        context: ConvergenceContext,
        config: ConvergenceConfig | None,
        key: str,
        run_config: Mapping[str, Any] | None,
    ) -> _Case:
        config = ConvergenceConfig() if config is None else config
        prompt = build_prompt(context, config, key=key)
        return cls(context, config, Question(context, prompt, config, run_config), prompt.cuts)

    def conclude(self, opinions: Sequence[Opinion], agreement: Agreement) -> ConvergenceEvaluation:
        rules = apply_rules(self.context, self.config)
        return conclude(opinions, rules, self.config.categories, agreement=agreement, cuts=self.cuts)


def evaluate(
    context: ConvergenceContext,
    model: Any = None,
    config: ConvergenceConfig | None = None,
    *,
    judges: Sequence[Any] | None = None,
    agreement: Agreement = "majority",
    key: str = "",
    run_config: Mapping[str, Any] | None = None,
) -> ConvergenceEvaluation:
    """Whether the session has converged.

    A model that fails, is late, or answers anything but a valid evaluation never passes a session: the evaluation then
    says why, and what the rules alone say.

    Args:
        context: the session.
        model: any LangChain chat model.
        config: limits and thresholds; None: the defaults.
        judges: several models in place of one; they are asked one after the other.
        agreement: how many of the judges must pass the session: ``majority`` or ``unanimous``.
        key: mixed into the token that delimits the session's text in the prompt.
        run_config: handed to the models' ``invoke`` as it is: tags, callbacks, metadata.

    Raises:
        ConfigurationError: where the judges or their agreement cannot be used.
    """
    panel = Panel(model, judges=judges, agreement=agreement)
    case = _Case.of(context, config, key, run_config)
    return case.conclude([ask(name, member, case.question) for name, member in panel.members], panel.agreement)


async def aevaluate(
    context: ConvergenceContext,
    model: Any = None,
    config: ConvergenceConfig | None = None,
    *,
    judges: Sequence[Any] | None = None,
    agreement: Agreement = "majority",
    key: str = "",
    run_config: Mapping[str, Any] | None = None,
) -> ConvergenceEvaluation:
    """Whether the session has converged: as ``evaluate``, with all judges asked at the same time.

    Raises:
        ConfigurationError: where the judges or their agreement cannot be used.
    """
    panel = Panel(model, judges=judges, agreement=agreement)
    case = _Case.of(context, config, key, run_config)
    opinions = await asyncio.gather(*(aask(name, member, case.question) for name, member in panel.members))
    return case.conclude(opinions, panel.agreement)
