"""``agentguard profiles``: what is declared about tools, listed, shown and checked."""

from __future__ import annotations

import difflib
import json
from typing import Annotated, Any

import typer

from agentguard.errors import DataError
from agentguard.verification import ToolProfile, load_profiles
from agentguard.verification.profile_index import ProfileIndex

from .exits import Exit
from .options import JsonOption
from .output import console, printable, show, table, write_json

__all__ = ["profiles"]

profiles = typer.Typer(help="List, show and check tool profiles.")

FolderOption = Annotated[
    str | None,
    typer.Option("--profiles", metavar="DIR", help="Folder or file of YAML profiles; without it the shipped ones."),
]


@profiles.callback(invoke_without_command=True)
def _group(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(Exit.ERROR)


@profiles.command("list")
def list_profiles(folder: FolderOption = None, as_json: JsonOption = False) -> None:
    """List profiles, one a line."""
    found = load_profiles(folder)
    if as_json:
        write_json({"profiles": [_as_dict(profile) for profile in found]})
        return
    made = table("tool", "latency ms", "required fields", "description", right=["latency ms"])
    for profile in found:
        low, high = profile.expected_latency_ms
        made.add_row(
            show(profile.name),
            f"{low:g}-{high:g}",
            show(", ".join(profile.required_fields) or "-"),
            show(profile.description, limit=200),
        )
    out = console()
    out.print(made)
    out.print(f"{len(found)} profiles")


@profiles.command("show")
def show_profile(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A tool's name, as the engine would look it up.")],
    folder: FolderOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the profile that a tool of this name would get, with every field."""
    found = load_profiles(folder)
    profile = ProfileIndex(found).find(name)
    if profile is None:
        names = [known for item in found for known in (item.name, *item.aliases) if "*" not in known]
        near = difflib.get_close_matches(name, names, n=3)
        hint = f"; near it: {', '.join(near)}" if near else "; 'agentguard profiles list' shows what there is"
        raise DataError(f"no profile for a tool named {printable(name)!r}{hint}")
    if as_json:
        write_json(_as_dict(profile))
        return
    made = table("field", "value")
    for field, value in _as_dict(profile).items():
        made.add_row(field, show(value if isinstance(value, str) else json.dumps(value), limit=2_000))
    console().print(made)


@profiles.command("check")
def check(
    path: Annotated[str, typer.Argument(metavar="DIR", help="Folder or file of YAML profiles.")],
    as_json: JsonOption = False,
) -> None:
    """Check profiles: all problems at once, each with file and line. Exit code: 0, or 3 where there is any."""
    found = load_profiles(path)
    if as_json:
        write_json({"profiles": len(found), "problems": []})
    else:
        console().print(f"{len(found)} profiles, no problems")


def _as_dict(profile: ToolProfile) -> dict[str, Any]:
    return profile.model_dump(mode="json")
