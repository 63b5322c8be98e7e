"""The command line ``agentguard``: its commands, each loaded when it is called, and every way in which one can end.

Verdicts have the exit codes 0, 1 and 2 to themselves. Any other failure is reported in one sentence on standard
error, or with ``--json`` as ``{"error": ...}`` on standard output, and ends with 3.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from functools import cache
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from agentguard._version import installed_version
from agentguard.cli._exits import Exit
from agentguard.errors import AgentGuardError, FileProblems

__all__ = ["app", "main"]

_STORE_DEFAULT = "Without --store: in $XDG_STATE_HOME/agentguard, or ~/.local/state/agentguard."

#: The summary of each command, in the order of the help: the first paragraph of the command's own help, to which a test
#: holds it. Command NAME is ``agentguard.cli._NAME.NAME``; --help and --version load none of them.
SUMMARIES: Mapping[str, str] = {
    "demo": "Run an agent on real local tools with eight kinds of fault injected, and count what is caught.",
    "verify": "Judge one tool call and explain the verdict. Exit code: 0 accept, 1 flag, 2 block, 3 error.",
    "replay": "Judge every call of a log. Exit code: 0, or by --fail-on 1 or 2; 3 error, also where no line holds a "
    "call.",
    "audit": "Hold what agents say they did against the calls that they made: which claims no call supports, and why.",
    "learn": "Infer a profile for each tool of a log, for review. Exit code: 0; 3 error, also where no line holds a "
    "call.",
    "report": "Write what was judged, learned and drifted as one file of HTML, to be opened anywhere: it asks for "
    "nothing else.",
    "convert": "Write the calls of a log of any format as a log in agentguard's own, one JSON object a line.",
    "scan": "Look for prompt injections, personal data and secrets, and say where they are, never what they are.",
    "check": "Look at one answer: injections, personal data, secrets, what no result supports, broken rules, broken "
    "JSON.",
    "calibrate": "Measure P(fabricated) against reviewed calls, fit it to them, and find thresholds that keep to a "
    "wish.",
    "serve": "Serve the guard, the reliability gate, a page over a store, or several; requests bring "
    "AGENTGUARD_API_KEY.",
    "hook": "Judge the tool results of coding agents (Claude Code, its SDK, Codex) by hooks in their settings.",
    "proxy": "Stand before an MCP server and judge what its tools answer; all else passes as it is. On stdio, or "
    "--listen.",
    "changes": f"Look at changes of tools that last, and say what they are. {_STORE_DEFAULT}",
    "gate": "Hold a model's claims against trusted documents: deploy, warn or block. Exit code: 0 deploy or warn, 1 "
    "block, 3 error, 130 interrupted.",
    "profiles": "List, show, check and compare tool profiles.",
    "state": f"Look at what was learned, move it, thin it out, forget a tool. {_STORE_DEFAULT}",
}


@cache
def _load(name: str) -> Any:
    target = getattr(import_module(f"agentguard.cli._{name}"), name)
    holder = typer.Typer()
    if isinstance(target, typer.Typer):
        holder.add_typer(target, name=name)
    else:
        holder.command(name)(target)
    return typer.main.get_group(holder).commands[name]


class _LazyCommands(Mapping[str, Any]):
    """All commands by name; the module of one is imported when it is looked up."""

    def __getitem__(self, name: str) -> Any:
        if name not in SUMMARIES:
            raise KeyError(name)
        return _load(name)

    def __iter__(self) -> Iterator[str]:
        return iter(SUMMARIES)

    def __len__(self) -> int:
        return len(SUMMARIES)


class Commands(TyperGroup):
    """The command group; turns every outcome into an exit code."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        lazy: Any = _LazyCommands()
        self.commands = lazy

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help from the summaries: no command is loaded for it."""
        listed = copy(self)
        listed.commands = {name: TyperCommand(name, help=summary) for name, summary in SUMMARIES.items()}
        TyperGroup.format_help(listed, ctx, formatter)

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        given = list(sys.argv[1:] if args is None else args)
        code = self._outcome(given, prog_name or "agentguard", complete_var, extra)
        if standalone_mode:
            sys.exit(code)
        return code

    def _outcome(self, args: list[str], prog_name: str, complete_var: str | None, extra: dict[str, Any]) -> int:
        as_json = "--json" in (args[: args.index("--")] if "--" in args else args)
        try:
            try:
                returned = super().main(args, prog_name, complete_var, standalone_mode=False, **extra)
                sys.stdout.flush()
                return int(returned or Exit.ACCEPT)
            except Exception as error:
                if isinstance(error, BrokenPipeError):
                    raise
                return _report_failure(error, as_json=as_json)
        except KeyboardInterrupt:
            return Exit.INTERRUPTED
        except (BrokenPipeError, SystemExit):
            # typer turns a closed pipe into SystemExit(1), which would read as a verdict; no command raises it itself.
            # What is still buffered has no reader: without this, Python would complain about it at its own exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            return Exit.OUTPUT_CLOSED


def _report_failure(error: Exception, *, as_json: bool) -> int:
    """Report an error: what a user can mend in one sentence, a fault of this program with its traceback."""
    if isinstance(error, typer.Abort):
        return Exit.INTERRUPTED
    from agentguard.cli._terminal import console, print_line, write_json

    usage = getattr(error, "format_message", None)  # what typer raises has it, under whichever name typer imports it
    if isinstance(error, AgentGuardError):
        message = str(error)
    elif usage is not None:
        message = f"{usage()} ('agentguard --help' shows how it is used)"
    else:
        import traceback

        traceback.print_exception(error)
        message = f"internal error ({type(error).__name__}); please report it"
    if as_json:
        problems = {"problems": error.problems} if isinstance(error, FileProblems) else {}
        write_json({"error": message, **problems})
        return Exit.ERROR
    lines = message.splitlines() if isinstance(error, FileProblems) else [message]
    err = console(stderr=True)
    for line in (f"error: {lines[0]}", *lines[1:]):
        print_line(err, line)
    return Exit.ERROR


app: typer.Typer = typer.Typer(cls=Commands, add_completion=False, pretty_exceptions_enable=False)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"agentguard {installed_version()}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _agentguard(
    context: typer.Context,
    show_version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Verify what an agent's tools return: P(fabricated), a verdict, and the reasons."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(Exit.ERROR)


def main() -> None:
    """Run the command line; ends the process with an exit code of ``Exit``."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that is not UTF-8 must not turn a verdict into an encoding error.
            stream.reconfigure(errors="backslashreplace")
    app()
