"""``agentguard demo``: real tools, injected faults, and what the guard made of them."""

from __future__ import annotations

from typing import Annotated

import typer

from .options import JsonOption
from .output import console

__all__ = ["demo"]


def demo(
    calls: Annotated[
        int, typer.Option("--calls", min=1, metavar="N", help="How many tool calls the agent makes.")
    ] = 600,
    seed: Annotated[
        int, typer.Option("--seed", metavar="N", help="Chooses calls and faults; same seed, same run.")
    ] = 7,
    as_json: JsonOption = False,
) -> None:
    """Run an agent on real local tools with eight kinds of fault injected, and count what is caught."""
    # The demo brings an HTTP server and a database with it: only who asks for it pays for the import.
    from agentguard.demo import run_demo

    run_demo(console(), calls=calls, seed=seed, as_json=as_json)
