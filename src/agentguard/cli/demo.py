"""``agentguard demo``: real tools, injected faults, and what the guard made of them."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Any

import typer

from agentguard.errors import ConfigurationError

from .options import JsonOption
from .output import console

__all__ = ["demo"]

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
    if agent:
        if calls is not None:
            raise ConfigurationError("--calls has no meaning with --agent: that agent's few calls are fixed")
        _agent_demo().run_agent_demo(console(), seed=seed, as_json=as_json)
        return
    # The demo brings an HTTP server and a database with it: only who asks for it pays for the import.
    from agentguard.demo import run_demo

    run_demo(console(), calls=CALLS if calls is None else calls, seed=seed, as_json=as_json)


def _agent_demo() -> Any:
    """The module, loaded by name: nothing in the package depends on its integrations."""
    try:
        return import_module("agentguard.integrations._demo")
    except ImportError as error:
        raise ConfigurationError(f"--agent shows a real agent, whose framework is missing: {error}") from error
