"""``agentguard scan``: what the text of files says that it should not, where, and the files without it."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from enum import Enum
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from agentguard.calibration import write_file
from agentguard.content._findings import Kind as KindName
from agentguard.errors import AgentGuardError, ConfigurationError, DataError
from agentguard.traces import BrokenLine
from agentguard.traces._read import STDIN

from .exits import VERDICT_EXITS, Exit
from .options import JsonOption
from .output import console, printable, write_json
from .sarif import sarif_of
from .scan_reading import find_scanned, read_pieces
from .scan_report import Findings, findings_as_dict, report_findings
from .state_files import write_lines

if TYPE_CHECKING:
    from .scan_looking import Looker

__all__ = ["scan"]

REPORT_WIDTH = 120


class Kind(str, Enum):
    """What is looked for."""

    injection = "injection"
    pii = "pii"
    secrets = "secrets"


class Format(str, Enum):
    """How findings are told."""

    table = "table"
    json = "json"
    sarif = "sarif"


class FailOn(str, Enum):
    """From which finding on a scan fails."""

    flag = "flag"
    block = "block"
    none = "none"


class _Unreadable(Exception):
    """Carries an error of reading past whoever writes the file, who would take it for one of writing."""

    def __init__(self, error: AgentGuardError) -> None:
        self.error = error


def scan(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE…|-",
            help="Text, JSON or JSONL, plain or gzipped, Parquet; folders of them; '-' reads stdin.",
            show_default=False,
        ),
    ],
    kinds: Annotated[
        list[Kind] | None, typer.Option("--kind", help="What to look for; may be given again. All unless given.")
    ] = None,
    redact: Annotated[
        bool,
        typer.Option(
            "--redact",
            help="Write the file to stdout, or to the file of -o, with placeholders for personal data and secrets, or "
            "for the kinds given.",
        ),
    ] = False,
    form: Annotated[Format, typer.Option("--format", help="How findings are told.")] = Format.table,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FILE", help="Where to write the findings; with --redact, the file."),
    ] = None,
    fail_on: Annotated[
        FailOn,
        typer.Option(
            "--fail-on", help="'block': what is only flagged does not make the scan fail; 'none': no finding does."
        ),
    ] = FailOn.flag,
    fields: Annotated[
        list[str] | None,
        typer.Option(
            "--jsonl",
            metavar="FIELD",
            help="Read lines of JSON objects and look through this field of each, by itself; may be given again.",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Look for prompt injections, personal data and secrets, and say where they are, never what they are.

    Exit code: 0 nothing found, 1 findings to flag (personal data, suspicious text), 2 findings to block (injections,
    secrets), 3 error, also where something could not be read and no finding makes the scan fail.
    """
    if as_json and form is Format.sarif:
        raise ConfigurationError("--json and --format sarif contradict each other: give one")
    form = Format.json if as_json else form
    if redact and output is None and form is not Format.table:
        raise ConfigurationError("--redact writes the file to stdout, where the findings cannot be too: give -o FILE")
    paths = _paths(files)
    if redact and (len(paths) > 1 or (paths[0] != STDIN and Path(files[0]).is_dir())):
        raise ConfigurationError("--redact takes one file, or '-'")
    wanted: list[KindName] = [kind.value for kind in kinds or Kind]
    found = Findings()
    from .scan_looking import Looker  # with all the detectors, which no other command needs

    looker = Looker(wanted, fields or (), _to_redact(kinds) if redact else ())
    interrupted = False
    with _bar(paths, found, hidden=form is not Format.table) as advance:
        pieces = _look(paths, looker, found, lines=bool(fields), on_read=advance)
        try:
            if redact:
                write_lines(output or STDIN, pieces)
            else:
                for _ in pieces:
                    pass
        except KeyboardInterrupt:
            interrupted = True
        except _Unreadable as stopped:
            raise stopped.error from None
    if fields and not found.texts and not found.broken and not interrupted:
        raise DataError(f"no line has a field {' or '.join(printable(repr(field)) for field in fields)}")
    _tell(found, form, None if redact else output, stderr=redact and output is None, interrupted=interrupted)
    raise typer.Exit(Exit.INTERRUPTED if interrupted else _code(found, fail_on))


def _paths(files: list[str]) -> list[str]:
    paths = [path for file in files for path in ([file] if file == STDIN else map(str, find_scanned(file)))]
    if paths.count(STDIN) > 1:
        raise ConfigurationError("standard input can be read once only")
    return list(dict.fromkeys(paths))


def _to_redact(kinds: list[Kind] | None) -> tuple[KindName, ...]:
    return tuple(kind.value for kind in kinds) if kinds else ("pii", "secrets")


def _look(
    paths: Iterable[str], looker: Looker, found: Findings, *, lines: bool, on_read: Callable[[int], None]
) -> Iterator[bytes]:
    """Count what is in the files; yields them, with placeholders."""
    try:
        for path in paths:
            found.files += 1
            for piece in read_pieces(path, lines=lines, on_read=on_read):
                if isinstance(piece, BrokenLine):
                    found.push_unread(piece)
                    continue
                for looked in looker.look(piece):
                    found.push(looked, piece.source, piece.line)
                    yield looked.raw
    except AgentGuardError as error:
        raise _Unreadable(error) from None


def _tell(found: Findings, form: Format, output: str | None, *, stderr: bool, interrupted: bool) -> None:
    if form is Format.table:
        if output is None:
            report_findings(console(stderr=stderr), found, interrupted=interrupted)
            return
        text = io.StringIO()
        plain = Console(file=text, markup=False, emoji=False, highlight=False, width=REPORT_WIDTH)
        report_findings(plain, found, interrupted=interrupted)
        write_file(output, text.getvalue())
        return
    data: dict[str, Any]
    if form is Format.json:
        data = findings_as_dict(found, interrupted=interrupted)
    else:
        data = sarif_of(found, _version(), interrupted=interrupted)
    if output is None:
        write_json(data)
    else:
        write_file(output, json.dumps(data, indent=2) + "\n")


def _code(found: Findings, fail_on: FailOn) -> Exit:
    code = VERDICT_EXITS[found.worst]
    least = {FailOn.flag: Exit.FLAG, FailOn.block: Exit.BLOCK, FailOn.none: Exit.ERROR}[fail_on]
    if code >= least:
        return code
    return Exit.ERROR if found.unread else Exit.ACCEPT


def _version() -> str:
    try:
        return version("agentguard")
    except PackageNotFoundError:
        return "0"


@contextmanager
def _bar(paths: list[str], found: Findings, *, hidden: bool) -> Iterator[Callable[[int], None]]:
    """A bar on standard error that moves by the bytes read; yields what is told of them."""
    size = sum(Path(path).stat().st_size for path in paths if Path(path).is_file()) or None
    if STDIN in paths:
        size = None
    err = console(stderr=True)
    columns = (
        TextColumn("scan"),
        BarColumn(),
        DownloadColumn(),
        TextColumn("{task.fields[findings]:,} findings"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=err, transient=True, disable=hidden or not err.is_terminal) as bar:
        task = bar.add_task("scan", total=size, findings=0)
        yield lambda read: bar.update(task, advance=read, findings=found.total)
