"""Options that the commands of ``agentguard gate`` share."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["CONFIG_NAME", "CONFIG_VARIABLE", "LATEST", "ConfigOption", "RootOption"]

CONFIG_NAME = ".llm-reliability.yaml"  # as agentguard.gate._config has it, which is not imported for help texts
LATEST = "latest"

CONFIG_VARIABLE = "AGENTGUARD_GATE_CONFIG"

ConfigOption = Annotated[
    str, typer.Option("--config", metavar="FILE", envvar=CONFIG_VARIABLE, help="The gate's configuration.")
]
RootOption = Annotated[
    list[str] | None,
    typer.Option(
        "--root",
        metavar="DIR",
        help="A further folder that documents may lie in, beside the configuration's; may be given again.",
    ),
]
