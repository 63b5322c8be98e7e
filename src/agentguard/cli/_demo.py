"""``agentguard demo``: real tools with injected faults, and what the guard catches of them."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated

import typer

from agentguard.cli._options import JsonOption
from agentguard.cli._terminal import console
from agentguard.errors import ConfigurationError

CALLS = 600


def demo(
    calls: Annotated[
        int | None,
        typer.Option("--calls", min=1, metavar="N", help=f"How many tool calls the agent makes; {CALLS} unless given."),
    ] = None,
    seed: Annotated[
        int, typer.Option("--seed", metavar="N", help="Chooses calls and faults; same seed, same run.")
    ] = 7,
    agent: Annotated[
        bool, typer.Option("--agent", help="Show the guard at work in a LangGraph agent, step by step, instead.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Run an agent on real local tools with eight kinds of fault injected, and count what is caught."""
    if not agent:
        # The demo brings an HTTP server and a database with it: the help does not load them.
        from agentguard.demo import run_demo

        run_demo(console(), calls=CALLS if calls is None else calls, seed=seed, as_json=as_json)
        return
    if calls is not None:
        raise ConfigurationError("--calls has no meaning with --agent: that agent's few calls are fixed")
    try:
        # By name: nothing in the package depends on its integrations.
        module = import_module("agentguard.integrations._demo")
    except ImportError as error:
        raise ConfigurationError(f"--agent shows a real agent, whose framework is missing: {error}") from error
    module.run_agent_demo(console(), seed=seed, as_json=as_json)
