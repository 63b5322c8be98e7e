"""``agentguard scan``: prompt injections, personal data and secrets in files, and the files without them."""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from operator import itemgetter
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import DownloadColumn, TextColumn, TimeRemainingColumn
from rich.text import Text

from agentguard.cli._exits import VERDICT_EXITS, Exit
from agentguard.cli._files import STDIO, write_file, write_lines
from agentguard.cli._options import JsonOption
from agentguard.cli._sarif import location, note, rule_of, sarif_log
from agentguard.cli._scan.looking import Looked, Looker, Sighting
from agentguard.cli._scan.reading import find_scanned, read_pieces
from agentguard.cli._terminal import (
    VERDICT_STYLES,
    WIDTH_WITHOUT_TERMINAL,
    Interruption,
    console,
    counted,
    json_text,
    print_broken,
    printable,
    progress,
    show,
    table,
    write_json,
)
from agentguard.content._findings import Kind as KindName
from agentguard.errors import ConfigurationError, DataError
from agentguard.traces import BrokenLine
from agentguard.verification.types import Verdict

KEPT = 10_000  # findings
BROKEN_NAMED = 20
SHOWN = 100

SARIF_LEVELS: Mapping[str, str] = {"flag": "warning", "block": "error"}
SARIF_RULES: Mapping[str, tuple[str, str]] = {  # title and level of the findings of each kind
    "injection": ("Prompt injection", "error"),
    "pii": ("Personal data", "warning"),
    "secrets": ("Credentials", "error"),
}


class Kind(str, Enum):
    """Kinds of findings."""

    injection = "injection"
    pii = "pii"
    secrets = "secrets"


class Format(str, Enum):
    """Forms of the report."""

    table = "table"
    json = "json"
    sarif = "sarif"


class FailOn(str, Enum):
    """The least grave finding that makes a scan fail."""

    flag = "flag"
    block = "block"
    none = "none"


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
    if redact and (len(paths) > 1 or (paths[0] != STDIO and Path(files[0]).is_dir())):
        raise ConfigurationError("--redact takes one file, or '-'")
    wanted: list[KindName] = [kind.value for kind in kinds or Kind]
    redacted: tuple[KindName, ...] = (tuple(wanted) if kinds else ("pii", "secrets")) if redact else ()
    findings = Findings()
    looker = Looker(wanted, fields or (), redacted)
    size = None if STDIO in paths else sum(Path(path).stat().st_size for path in paths if Path(path).is_file())
    columns = (DownloadColumn(), TextColumn("{task.fields[findings]:,} findings"), TimeRemainingColumn())
    scanning = progress("scan", *columns, hidden=form is not Format.table, total=size or None, findings=0)
    with scanning as (bar, task), Interruption() as interruption:

        def advance(read: int) -> None:
            bar.update(task, advance=read, findings=findings.total)

        pieces = _look(paths, looker, findings, lines=bool(fields), on_read=advance)
        if redact:
            write_lines(output or STDIO, pieces)
        else:
            for _ in pieces:
                pass
    interrupted = interruption.happened
    if fields and not findings.texts and not findings.broken and not interrupted:
        raise DataError(f"no line has a field {' or '.join(printable(repr(field)) for field in fields)}")
    _report(findings, form, None if redact else output, stderr=redact and output is None, interrupted=interrupted)
    raise typer.Exit(Exit.INTERRUPTED if interrupted else _exit_code(findings, fail_on))


def _paths(files: list[str]) -> list[str]:
    paths = [path for file in files for path in ([file] if file == STDIO else map(str, find_scanned(file)))]
    if paths.count(STDIO) > 1:
        raise ConfigurationError("standard input can be read once only")
    return list(dict.fromkeys(paths))


def _look(
    paths: Iterable[str], looker: Looker, findings: Findings, *, lines: bool, on_read: Callable[[int], None]
) -> Iterator[bytes]:
    """Count the findings in the files; yields the files' bytes, with placeholders."""
    for path in paths:
        findings.files += 1
        for piece in read_pieces(path, lines=lines, on_read=on_read):
            if isinstance(piece, BrokenLine):
                findings.push_unread(piece)
                continue
            for looked in looker.look(piece):
                findings.push(looked, piece.source, piece.line)
                yield looked.raw


def _exit_code(findings: Findings, fail_on: FailOn) -> Exit:
    code = VERDICT_EXITS[findings.worst]
    least = {FailOn.flag: Exit.FLAG, FailOn.block: Exit.BLOCK, FailOn.none: Exit.ERROR}[fail_on]
    if code >= least:
        return code
    return Exit.ERROR if findings.unread else Exit.ACCEPT


class Findings:
    """Everything found so far. The first ``KEPT`` findings are kept, all are counted."""

    def __init__(self) -> None:
        self.kept: list[Sighting] = []  # in the order of the files
        self.counts: Counter[tuple[str, str, Verdict]] = Counter()  # by kind, name and verdict
        self.files = self.texts = 0  # that were looked through
        self.broken = self.unread = 0  # lines that were none, or not what they ought to be; those not looked through
        self._problems: list[tuple[int, BrokenLine]] = []
        self._unread: list[tuple[int, BrokenLine]] = []

    def push(self, looked: Looked, source: str, line: int) -> None:
        """Count the findings in a piece."""
        self.texts += looked.texts
        for sighting in looked.sightings:
            self.counts[sighting.kind, sighting.name, sighting.verdict] += 1
        self.kept += looked.sightings[: KEPT - len(self.kept)]
        if looked.problem is not None:
            self._name(self._problems, BrokenLine(source, line, looked.problem))

    def push_unread(self, line: BrokenLine) -> None:
        """Count a line that could not be looked through."""
        self.unread += 1
        self._name(self._unread, line)

    def _name(self, named: list[tuple[int, BrokenLine]], line: BrokenLine) -> None:
        self.broken += 1
        if len(named) < BROKEN_NAMED:
            named.append((self.broken, line))

    @property
    def first_broken(self) -> list[BrokenLine]:
        """The first broken lines; those that were not looked through are named before others."""
        others = self._problems[: BROKEN_NAMED - len(self._unread)]
        return [line for _, line in sorted([*self._unread, *others], key=itemgetter(0))]

    @property
    def total(self) -> int:
        """The number of findings."""
        return sum(self.counts.values())

    @property
    def worst(self) -> Verdict:
        """The gravest of all verdicts: ``"accept"`` where nothing was found."""
        verdicts = {verdict for _, _, verdict in self.counts}
        return "block" if "block" in verdicts else "flag" if verdicts else "accept"

    def as_dict(self, *, interrupted: bool) -> dict[str, Any]:
        """The findings as plain data."""
        return {
            "verdict": self.worst,
            "files": self.files,
            "texts": self.texts,
            "total": self.total,
            "counts": [
                {"kind": kind, "name": name, "verdict": verdict, "findings": number}
                for (kind, name, verdict), number in sorted(self.counts.items())
            ],
            "findings": self.kept,
            "findings_left_out": self.total - len(self.kept),
            "broken": self.broken,
            "not_looked_through": self.unread,
            "first_broken": self.first_broken,
            "interrupted": interrupted,
        }


def _report(findings: Findings, form: Format, output: str | None, *, stderr: bool, interrupted: bool) -> None:
    if form is Format.table:
        if output is None:
            _print_findings(console(stderr=stderr), findings, interrupted=interrupted)
            return
        text = io.StringIO()
        plain = Console(file=text, markup=False, emoji=False, highlight=False, width=WIDTH_WITHOUT_TERMINAL)
        _print_findings(plain, findings, interrupted=interrupted)
        write_file(output, text.getvalue())
        return
    data = findings.as_dict(interrupted=interrupted) if form is Format.json else _sarif(findings, interrupted)
    if output is None:
        write_json(data)
    else:
        write_file(output, json_text(data) + "\n")


def _print_findings(out: Console, findings: Findings, *, interrupted: bool) -> None:
    """Print the findings in a line or two each, and how many there are of each name."""
    if interrupted:
        out.print("interrupted; found so far:")
    for sighting in findings.kept[:SHOWN]:
        where = f"{printable(sighting.source)}:{sighting.line}:{sighting.column}:"
        out.print(where, Text(sighting.verdict, VERDICT_STYLES[sighting.verdict]), end=" ", soft_wrap=True)
        decoded = f" (decoded: {sighting.decoded})" if sighting.decoded else ""
        message = show(f"{sighting.kind}: {sighting.name}: {sighting.detail}{decoded}")
        out.print(message, end=" ", soft_wrap=True)
        out.print(show(sighting.path, "dim"), soft_wrap=True)
    if findings.total > SHOWN:
        first = "the first " if findings.total > KEPT else ""
        listed = f"--format json lists {first}{min(findings.total, KEPT):,}"
        out.print(f"and {findings.total - SHOWN:,} more; {listed}")
    if findings.counts:
        out.print()
        rows = table("kind", "name", "verdict", "#findings")
        for (kind, name, verdict), number in sorted(findings.counts.items()):
            rows.add(kind, name, Text(verdict, VERDICT_STYLES[verdict]), number)
        out.print(rows, "")
    if findings.broken:
        heading = f"broken lines: {findings.broken:,}, of which {findings.unread:,} not looked through"
        print_broken(out, heading, findings.broken, findings.first_broken)
    looked = f"{counted(findings.files, 'file')}, {counted(findings.texts, 'text')}"
    out.print(f"{looked}: {counted(findings.total, 'finding')}")


# --- SARIF ---


def _sarif(findings: Findings, interrupted: bool) -> dict[str, Any]:
    """A log with a rule for each name that occurs; unread lines are among its notifications.

    Findings that block are errors, others warnings.
    """
    rules = sorted({(kind, name) for kind, name, _ in findings.counts})
    numbers = {rule: number for number, rule in enumerate(rules)}
    named = findings.first_broken
    notes = [note(line.reason, location(line.source, {"startLine": line.line})) for line in named]
    if findings.broken > len(named):
        notes.append(note(f"{findings.broken - len(named):,} more lines are not what they should be"))
    if findings.total > len(findings.kept):
        notes.append(note(f"{findings.total - len(findings.kept):,} more findings are left out"))
    return sarif_log(
        [_rule(*rule) for rule in rules],
        [_result(sighting, numbers[sighting.kind, sighting.name]) for sighting in findings.kept],
        notes,
        successful=not interrupted and not findings.unread,
    )


def _rule(kind: str, name: str) -> dict[str, Any]:
    title, level = SARIF_RULES[kind]
    return rule_of(_rule_id(kind, name), f"{title}: {name.replace('_', ' ')}", level, ["security", kind])


def _rule_id(kind: str, name: str) -> str:
    return f"{kind}/{re.sub(r'[^a-z0-9]+', '-', name.lower()).strip('-')}"


def _result(sighting: Sighting, rule: int) -> dict[str, Any]:
    region = {
        "startLine": sighting.line,
        "startColumn": sighting.column,
        "endLine": sighting.end_line,
        "endColumn": sighting.end_column,
    }
    place = location(sighting.source, region, sighting.path)
    decoded = f" (decoded: {sighting.decoded})" if sighting.decoded else ""
    return {
        "ruleId": _rule_id(sighting.kind, sighting.name),
        "ruleIndex": rule,
        "level": SARIF_LEVELS[sighting.verdict],
        "message": {"text": f"{sighting.name}: {sighting.detail}{decoded}"},
        "locations": [place],
    }
