"""``agentguard profiles``: declarations about tools, listed, shown, checked and compared."""

from __future__ import annotations

import difflib
import json
from typing import Annotated, Any

import typer

from agentguard.cli import SUMMARIES
from agentguard.cli._exits import Exit
from agentguard.cli._options import SHIPPED, JsonOption, command_group, named_profiles
from agentguard.cli._terminal import console, counted, printable, show, table, write_json
from agentguard.errors import DataError, ProfileError
from agentguard.traces import read_traces
from agentguard.traces._profile_review import Change, LogCheck, ProfileDiff, diff_profiles
from agentguard.verification import ToolProfile, load_profiles
from agentguard.verification.profile import ProfileIndex, read_profiles

DIFFERENT = 1
"""The exit code of ``diff`` where something differs; as of diff(1), and as a flag it is no verdict on a call."""

profiles = command_group(SUMMARIES["profiles"])

FolderOption = Annotated[
    str | None,
    typer.Option("--profiles", metavar="DIR", help="Folder or file of YAML profiles; without it the shipped ones."),
]


@profiles.command("list")
def list_profiles(folder: FolderOption = None, as_json: JsonOption = False) -> None:
    """List profiles, one a line."""
    listed = load_profiles(folder)
    if as_json:
        write_json({"profiles": [_as_dict(profile) for profile in listed]})
        return
    rows = table("tool", "#latency ms", "required fields", "description")
    for profile in listed:
        low, high = profile.expected_latency_ms
        required = ", ".join(profile.required_fields) or "-"
        rows.add(profile.name, f"{low:g}-{high:g}", required, show(profile.description, limit=200))
    out = console()
    out.print(rows)
    out.print(f"{len(listed)} profiles")


@profiles.command("show")
def show_profile(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A tool's name, as the engine would look it up.")],
    folder: FolderOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the profile that a tool of this name would get, with every field."""
    known = load_profiles(folder)
    profile = ProfileIndex(known).find(name)
    if profile is None:
        names = [alias for item in known for alias in (item.name, *item.aliases) if "*" not in alias]
        near = difflib.get_close_matches(name, names, n=3)
        hint = f"; near it: {', '.join(near)}" if near else "; 'agentguard profiles list' shows what there is"
        raise DataError(f"no profile for a tool named {printable(name)!r}{hint}")
    if as_json:
        write_json(_as_dict(profile))
        return
    rows = table("field", "value")
    for field, value in _as_dict(profile).items():
        rows.add(field, show(value if isinstance(value, str) else json.dumps(value), limit=2_000))
    console().print(rows)


@profiles.command("check")
def check(
    path: Annotated[str, typer.Argument(metavar="DIR", help="Folder or file of YAML profiles.")],
    log: Annotated[
        list[str] | None,
        typer.Option(
            "--log",
            metavar="TRACES",
            help="A log of calls ('-': stdin): also tell paths that no call of it has; may be given again.",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Check profiles: all problems at once, each with file and line. Exit code: 0, or 3 where there is any."""
    checked = read_profiles(path)
    against = LogCheck(checked)
    for source in log or ():
        for row in read_traces(source):
            against.push(row)
    problems = against.problems()
    if problems:
        raise ProfileError(problems)
    if as_json:
        write_json({"profiles": len(checked), "calls": against.calls, "problems": []})
    else:
        held = f" with {counted(against.calls, 'call')} of the log" if log else ""
        console().print(f"{counted(len(checked), 'profile')}{held}, no problems")


@profiles.command("diff")
def diff(
    old: Annotated[str, typer.Argument(metavar="A", help=f"Folder or file of YAML profiles, or '{SHIPPED}'.")],
    new: Annotated[str, typer.Argument(metavar="B", help="The same, to compare with it.")],
    as_json: JsonOption = False,
) -> None:
    """Show what B declares otherwise than A, field by field. Exit code: 0 the same, 1 different, 3 error."""
    differences = diff_profiles(*map(named_profiles, (old, new)))
    if as_json:
        write_json(differences.as_dict())
    else:
        _report_diff(differences)
    raise typer.Exit(Exit.ACCEPT if differences.is_same else DIFFERENT)


def _report_diff(differences: ProfileDiff) -> None:
    out = console()
    for names, what in ((differences.removed, "only in A"), (differences.added, "only in B")):
        for name in names:
            out.print(f"{what}:", show(name), soft_wrap=True)
    for tool, changes in differences.changed.items():
        rows = table("", "field", "A", "B", "B is", title=printable(tool)[:200])
        for change in changes:
            rows.add(*_cells(change))
        out.print(rows, "")
    effects = [change.effect for changes in differences.changed.values() for change in changes]
    if differences.is_same:
        out.print("the same")
        return
    out.print(
        f"{len(differences.changed)} tools changed, {len(differences.added)} added, "
        f"{len(differences.removed)} removed; "
        f"of {len(effects)} changes {effects.count('stricter')} stricter, {effects.count('looser')} looser"
    )


def _cells(change: Change) -> tuple[Any, ...]:
    mark = {"added": "+", "removed": "-", "changed": "~"}[change.kind]
    before = "" if change.kind == "added" else json.dumps(change.old)
    after = "" if change.kind == "removed" else json.dumps(change.new)
    style = {"stricter": "yellow", "looser": "cyan", "": ""}[change.effect]
    return mark, change.place, before, after, show(change.effect, style)


def _as_dict(profile: ToolProfile) -> dict[str, Any]:
    return profile.model_dump(mode="json")
