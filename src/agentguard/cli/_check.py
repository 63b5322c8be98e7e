"""``agentguard check``: one answer, looked at by every detector that applies."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from agentguard._yaml_files import Subject, read_yaml_file
from agentguard.cli._exits import VERDICT_EXITS
from agentguard.cli._files import STDIO, reason_of, write_file
from agentguard.cli._options import JsonOption
from agentguard.cli._terminal import SHOWN, VERDICT_STYLES, console, print_more, printable, show, table, write_json
from agentguard.content._checking import Checked
from agentguard.content._checking import check as check_text
from agentguard.errors import ConfigurationError, DataError, FileProblems, Problem

MOST_BYTES = 16 << 20
_RULES = Subject("file of rules", "rules: [{type: length, min_words: 50}]")


def check(
    file: Annotated[str, typer.Argument(metavar="FILE|-", help="The text; '-' reads stdin.", show_default=False)],
    prompt: Annotated[
        str | None, typer.Option("--prompt", metavar="FILE", help="What it answers, with all that it may draw on.")
    ] = None,
    results: Annotated[
        list[str] | None,
        typer.Option("--results", metavar="FILE", help="JSON or text of a tool's result; may be given again."),
    ] = None,
    rules: Annotated[
        str | None,
        typer.Option(
            "--rules", metavar="FILE", help="YAML with rules of form, such as rules: [{type: length, min_words: 50}]."
        ),
    ] = None,
    is_json: Annotated[bool, typer.Option("--is-json", help="The text is to be JSON.")] = False,
    mended: Annotated[
        str | None, typer.Option("--mended", metavar="FILE", help="Where to write the JSON, mended where need was.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Look at one answer: injections, personal data, secrets, what no result supports, broken rules, broken JSON.

    Exit code: 0 nothing to say, 1 to flag, 2 to block (injections, secrets, JSON that cannot be read), 3 error. Signs
    of invention and shallowness are told and decide nothing.
    """
    if mended is not None and not is_json:
        raise ConfigurationError("--mended writes JSON: give --is-json too")
    given = [each for each in (file, prompt, rules, *(results or ())) if each is not None]
    if given.count(STDIO) > 1:
        raise ConfigurationError("standard input can be read once only")
    checked = check_text(
        _read(file),
        prompt=None if prompt is None else _read(prompt),
        tool_results=None if results is None else [_value(_read(each)) for each in results],
        rules=None if rules is None else _rules(rules),
        is_json=is_json,
    )
    if mended is not None and checked.parts["json"].label != "failed":
        write_file(mended, json.dumps(checked.value, ensure_ascii=False, indent=2) + "\n")
    if as_json:
        parts = {
            name: {**part._asdict(), "findings": [finding._asdict() for finding in part.findings]}
            for name, part in checked.parts.items()
        }
        write_json({"outcome": checked.outcome, "parts": parts})
    else:
        _report(console(), checked)
    raise typer.Exit(VERDICT_EXITS[checked.outcome])


def _read(file: str) -> str:
    try:
        if file == STDIO:
            raw = sys.stdin.buffer.read(MOST_BYTES + 1)
        else:
            with Path(file).open("rb") as stream:
                raw = stream.read(MOST_BYTES + 1)
    except OSError as error:
        raise DataError(f"cannot read {printable(file)}: {reason_of(error)}") from None
    except ValueError:
        raise DataError(f"cannot read {printable(file)}: its name cannot be used") from None
    if len(raw) > MOST_BYTES:
        raise DataError(f"{printable(file)} has more than {MOST_BYTES:,} bytes; 'agentguard scan' reads longer files")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"cannot read {printable(file)} as UTF-8 text: byte {error.start + 1}") from None


def _value(text: str) -> Any:
    """A result as its tool returned it: JSON, or text where it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _rules(path: str) -> list[Any]:
    """The rules of a file, which ``agentguard.content.answers.compliance`` reads further."""
    read, problems = read_yaml_file(path, _RULES)
    rules = None if read is None else read.data.get("rules")
    if not problems and not (isinstance(rules, list) and all(isinstance(rule, dict) for rule in rules)):
        problems = [Problem(printable(path), None, "rules", f"must be a list of rules: {_RULES.example}")]
    unknown = [] if read is None else sorted(read.data.keys() - {"rules"})
    problems += [Problem(printable(path), None, name, "is unknown; there is rules") for name in unknown]
    if problems:
        raise FileProblems(problems)
    return rules or []


def _report(out: Console, checked: Checked) -> None:
    rows = table("looked for", "says", "#score", "")
    findings = []
    for name, part in checked.parts.items():
        outcome = (
            Text("decides nothing", "dim") if part.outcome is None else Text(part.outcome, VERDICT_STYLES[part.outcome])
        )
        rows.add(name, part.label, f"{part.score:.2f}", outcome)
        findings += [(name, finding) for finding in part.findings]
    out.print(rows, "")
    for name, finding in findings[:SHOWN]:
        out.print(show(f"{name}, characters {finding.start:,} to {finding.end:,}: {finding.detail}"), soft_wrap=True)
    print_more(out, findings, SHOWN, "and {:,} more; --json lists all")
    out.print("outcome:", Text(checked.outcome, VERDICT_STYLES[checked.outcome]))
