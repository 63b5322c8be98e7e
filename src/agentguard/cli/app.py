"""The commands put together, and every way in which one can end.

A verdict has the exit codes 0, 1 and 2 to itself (see ``exits.py``). Whatever else goes wrong is told in one
sentence on standard error, or with ``--json`` as ``{"error": ...}`` on standard output, and ends with 3.
"""

from __future__ import annotations

import io
import os
import sys
import traceback
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from agentguard.errors import AgentGuardError, FileProblems

from .calibrate import calibrate
from .changes import changes
from .demo import demo
from .exits import Exit
from .gate import gate
from .learn import learn
from .output import console, show, write_json
from .profiles import profiles
from .replay import replay
from .report import report
from .scan import scan
from .serve import serve
from .state import state
from .verify import verify

__all__ = ["app", "main"]


class Commands(TyperGroup):
    """The command group; turns every outcome into an exit code."""

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
                return _failed(error, as_json=as_json)
        except KeyboardInterrupt:
            return Exit.INTERRUPTED
        except (BrokenPipeError, SystemExit):
            # typer turns a closed pipe into SystemExit(1), which would read as a verdict; no command raises it itself.
            # What is still buffered has no reader: without this, Python would complain about it at its own exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            return Exit.OUTPUT_CLOSED


def _failed(error: Exception, *, as_json: bool) -> int:
    """Tell of an error: what a user can mend in one sentence, what is our fault with its traceback."""
    if isinstance(error, typer.Abort):
        return Exit.INTERRUPTED
    usage = getattr(error, "format_message", None)  # what typer raises has it, under whichever name typer imports it
    if isinstance(error, AgentGuardError):
        message = str(error)
    elif usage is not None:
        message = f"{usage()} ('agentguard --help' shows how it is used)"
    else:
        traceback.print_exception(error)
        message = f"internal error ({type(error).__name__}); please report it"
    if as_json:
        problems = [problem._asdict() for problem in error.problems] if isinstance(error, FileProblems) else None
        write_json({"error": message} if problems is None else {"error": message, "problems": problems})
        return Exit.ERROR
    lines = message.splitlines() if isinstance(error, FileProblems) else [message]
    err = console(stderr=True)
    err.print(show(f"error: {lines[0]}", limit=2_000), soft_wrap=True)
    for line in lines[1:]:
        err.print(show(line, limit=2_000), soft_wrap=True)
    return Exit.ERROR


app: typer.Typer = typer.Typer(cls=Commands, add_completion=False, pretty_exceptions_enable=False)
app.command("demo")(demo)
app.command("verify")(verify)
app.command("replay")(replay)
app.command("learn")(learn)
app.command("report")(report)
app.command("scan")(scan)
app.command("calibrate")(calibrate)
app.command("serve")(serve)
app.add_typer(changes, name="changes")
app.add_typer(gate, name="gate")
app.add_typer(profiles, name="profiles")
app.add_typer(state, name="state")


def _print_version(wanted: bool) -> None:
    if wanted:
        try:
            number = version("agentguard")
        except PackageNotFoundError:
            number = "(not installed)"
        typer.echo(f"agentguard {number}")
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
    """Run the command line; ends the process with an exit code of ``exits.py``."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that is not UTF-8 must not turn a verdict into an encoding error.
            stream.reconfigure(errors="backslashreplace")
    app()
