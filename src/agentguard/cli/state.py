"""``agentguard state``: what was learned, looked at, moved, thinned out and forgotten."""

from __future__ import annotations

import re
import sys
import time
from typing import Annotated

import typer

from agentguard.admin.overview import overview
from agentguard.admin.transfer import Export, import_state
from agentguard.errors import ConfigurationError
from agentguard.verification.state import reset as reset_tool

from .exits import Exit
from .options import JsonOption, StoreOption
from .output import console, printable, show, write_json
from .state_files import STDIO, reader, write_lines
from .state_place import default_store, opened, shown
from .state_report import overview_as_dict, report_overview, report_tool, tool_as_dict, tool_in

__all__ = ["seconds", "state"]

state = typer.Typer(
    help="Look at what was learned, move it, thin it out, forget a tool. Without --store: in "
    "$XDG_STATE_HOME/agentguard, or ~/.local/state/agentguard."
)

_AGE = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)\s*([smhdw])", re.ASCII)
_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


@state.callback(invoke_without_command=True)
def _group(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(Exit.ERROR)


@state.command("inspect")
def inspect(
    tool: Annotated[str | None, typer.Argument(metavar="[TOOL]", help="Show what was learned of this tool.")] = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what a store holds, tool by tool, or what was learned of one. Never shows arguments or results."""
    where = shown(store or default_store())
    with opened(store) as kept:
        if tool is None:
            found = overview(kept)
            if as_json:
                write_json({"store": where, **overview_as_dict(found)})
            else:
                report_overview(console(), found, where)
            return
        known = tool_in(kept, tool)
        if as_json:
            write_json({"store": where, **tool_as_dict(known)})
        else:
            report_tool(console(), known)


@state.command("export")
def export(
    output: Annotated[
        str,
        typer.Option("-o", "--output", metavar="FILE|-", help="Where to write; gzipped where it ends in .gz."),
    ],
    store: StoreOption = None,
    tool: Annotated[
        list[str] | None, typer.Option("--tool", metavar="NAME", help="Only this tool; may be given again.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Write what a store holds into a file of JSON lines: documents, counts (their sum over all hours) and events.

    The file is for its owner only: it holds names of fields, words of texts and ids of calls, as the store does.
    """
    if as_json and output == STDIO:
        raise ConfigurationError("--json and the exported state cannot both go to standard output")
    with opened(store) as kept:
        lines = Export(kept, tool or None, at=time.time())
        write_lines(output, lines)
    if as_json:
        written = {"documents": lines.documents, "counts": lines.counts, "events": lines.events}
        write_json({"written": output, **written, "left_out": lines.left_out})
        return
    out = console(stderr=output == STDIO)
    what = f"documents: {lines.documents:,}, tools with counts: {lines.counts:,}, events: {lines.events:,}"
    out.print(show(f"{what}; written to {printable(output)}", limit=2_000), soft_wrap=True)
    if lines.left_out:
        named = ", ".join(printable(name) for name in lines.left_out[:5])
        out.print(show(f"left out, for no engine could read them: {len(lines.left_out):,}, first {named}", "yellow"))


@state.command("import")
def import_file(
    file: Annotated[str, typer.Argument(metavar="FILE|-", help="What 'state export' wrote, plain or gzipped.")],
    store: StoreOption = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Take the file's document of a tool that the store knows already.")
    ] = False,
    again: Annotated[
        bool, typer.Option("--again", help="Take in a file that was taken in before; nothing is counted twice.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Take in what 'state export' wrote. The whole file is checked first; a faulty one changes nothing.

    Engines that are running on the store keep what they have learned of a tool, and save that over the file's. Taken
    into the store that it came from, a file's counts and events are there twice.
    """
    with reader(file) as read, opened(store, create=True) as kept:
        done = import_state(kept, read, replace=replace, again=again)
    if as_json:
        write_json({"store": shown(store or default_store()), **done._asdict()})
        return
    what = f"documents: {done.documents:,}, tools with counts: {done.counts:,}, events: {done.events:,}"
    console().print(show(f"{what}; taken into {shown(store or default_store())}", limit=2_000), soft_wrap=True)


@state.command("prune")
def prune(
    older_than: Annotated[
        str, typer.Option("--older-than", metavar="AGE", help="As 90m, 12h, 30d or 8w: minutes, hours, days, weeks.")
    ],
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Remove events, documents and whole hours of counts that are older."""
    age = seconds(older_than)
    with opened(store) as kept:
        removed = kept.prune(age)
    if as_json:
        write_json({"store": shown(store or default_store()), "older_than_seconds": age, "removed": removed})
    else:
        console().print(f"records older than {older_than.strip()} that were removed: {removed:,}")


@state.command("reset")
def reset(
    tool: Annotated[str, typer.Argument(metavar="TOOL", help="The tool's name.")],
    store: StoreOption = None,
    labels: Annotated[bool, typer.Option("--labels", help="Forget the labels on its calls too.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Forget what was learned of a tool, in every mode; running engines drop it at their next flush.

    Labels stay unless --labels is given; audit records stay.
    """
    with opened(store) as kept:
        if not yes:
            known = tool_in(kept, tool)  # a name that nobody knows is no question
            _confirm(f"Forget what was learned of {printable(known.overview.tool)!r}{' and its labels' * labels}?")
        done = reset_tool(kept, tool, labels=labels)
    if as_json:
        write_json({"store": shown(store or default_store()), **done._asdict()})
        return
    what = f"documents: {done.documents:,}, calls counted: {done.calls:,}, labels: {done.labels:,}"
    console().print(show(f"{done.tool} is forgotten; {what}", limit=2_000), soft_wrap=True)


def _confirm(question: str) -> None:
    if not _is_terminal():
        raise ConfigurationError("there is nobody to ask whether it may be forgotten; say so with --yes")
    if not typer.confirm(question, err=True):
        raise typer.Abort


def _is_terminal() -> bool:
    return sys.stdin.isatty()


def seconds(age: str) -> float:
    """An age in seconds.

    Raises:
        ConfigurationError: where it is none.

    >>> seconds("90m"), seconds("30d")
    (5400.0, 2592000.0)
    """
    found = _AGE.fullmatch(age.strip())
    if found is None or float(found[1]) == 0.0:
        raise ConfigurationError(
            f"an age is a number above 0 and s, m, h, d or w, as 90m, 12h or 30d, not {printable(age)[:40]!r}"
        )
    return float(found[1]) * _UNITS[found[2]]
