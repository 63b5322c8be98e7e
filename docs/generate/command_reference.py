"""Every command of ``agentguard`` with its arguments and options, from the command line's own definitions."""

from __future__ import annotations

from typing import Any

import typer
from markdown_text import cell, code, table

from agentguard.cli import app

__all__ = ["commands"]


def commands() -> str:
    """A section for each command, in the order of ``agentguard --help``."""
    root: Any = typer.main.get_command(app)
    context = root.make_context("agentguard", [], resilient_parsing=True)
    return "\n\n".join(_sections(root, context))


def _sections(command: Any, context: Any) -> list[str]:
    parts = [f"## {context.command_path}", _paragraphs(command.help)]
    parts.append(f"```text\n{command.get_usage(context).removeprefix('Usage: ')}\n```")
    subcommands = getattr(command, "commands", {})
    if subcommands:
        rows = [[f"[`{name}`](#{_anchor(context, name)})", cell(sub.get_short_help_str(200))]
                for name, sub in subcommands.items()]  # fmt: skip
        parts.append(table(["command", "what it does"], rows))
    records = [parameter.get_help_record(context) for parameter in command.get_params(context)]
    rows = [[code(name), cell(meaning)] for name, meaning in filter(None, records) if name != "--help"]
    if rows:
        parts.append(table(["argument or option", "meaning"], rows))
    for name, sub in subcommands.items():
        if not sub.hidden:
            parts += _sections(sub, type(context)(sub, info_name=name, parent=context))
    return parts


def _anchor(context: Any, name: str) -> str:
    return f"{context.command_path} {name}".replace(" ", "-")


def _paragraphs(text: str | None) -> str:
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in (text or "").split("\n\n"))
