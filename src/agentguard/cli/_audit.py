"""``agentguard audit``: what the agents of a log say that they did, held against the calls that they made."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from enum import Enum
from itertools import groupby, islice
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple
from xml.etree import ElementTree as Xml

import typer
from rich.console import Console
from rich.text import Text

from agentguard.cli._exits import Exit
from agentguard.cli._files import STDIO, write_file
from agentguard.cli._options import LOG_HELP, SHIPPED, FormatOption, JsonOption, declared
from agentguard.cli._sarif import location, note, rule_of, sarif_log
from agentguard.cli._terminal import (
    Interruption,
    console,
    counted,
    json_text,
    print_broken,
    print_line,
    print_reading,
    printable,
    reading_bar,
    show,
    timestamp,
    write_json,
)
from agentguard.content._results import text_of
from agentguard.errors import ConfigurationError, DataError
from agentguard.traces import Reading, Skip
from agentguard.traces._audit import KEPT, Audit, AuditedAnswer
from agentguard.traces._read import AUTO, read_found
from agentguard.traces._turns import Made

if TYPE_CHECKING:
    from agentguard.content.actions import Judge

SHOWN = 50  # findings of a kind in the text
VALUES_SHOWN = 10  # of an answer
RESULT_SHOWN = 160  # characters of what a call returned
KINDS: Mapping[str, tuple[str, str]] = {  # in words, by kind, the most certain first
    "value": ("value", "that no result supports"),
    "contradicted": ("claim", "that the calls contradict"),
    "never called": ("claim", "of work that no call did"),
}
RULES: Mapping[str, tuple[str, str]] = {  # title and level of the findings of each kind
    "contradicted": ("A claim that the result of its call contradicts", "error"),
    "never called": ("A claim of something that no call did", "error"),
    "value": ("A value that no result has", "warning"),
}
_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class FailOn(str, Enum):
    """The findings that make an audit fail."""

    claims = "claims"
    values = "values"
    none = "none"


class _Finding(NamedTuple):
    """A claim, or a value, that nothing supports."""

    kind: str
    answer: AuditedAnswer
    text: str
    reason: str
    start: int
    end: int
    call: Made | None = None


def audit(
    transcript: Annotated[
        str, typer.Argument(metavar="TRANSCRIPT|-", help=f"A log with calls and answers of agents: {LOG_HELP}.")
    ],
    format: FormatOption = AUTO,
    profiles: Annotated[
        str | None,
        typer.Option(
            "--profiles",
            metavar="DIR",
            help=f"Folder or file of YAML tool profiles, whose 'does' says what a tool does; or the word '{SHIPPED}'.",
        ),
    ] = None,
    judge: Annotated[
        str | None,
        typer.Option(
            "--judge",
            metavar="FOLDER",
            help="A model of entailment (ONNX), asked about claims that the rules leave open; needs agentguard[onnx].",
        ),
    ] = None,
    fail_on: Annotated[
        FailOn,
        typer.Option(
            "--fail-on",
            help="'values': values that no result has make the audit fail too; 'none': nothing that is found does.",
        ),
    ] = FailOn.claims,
    sarif: Annotated[str | None, typer.Option("--sarif", metavar="FILE", help="Write the findings as SARIF.")] = None,
    junit: Annotated[
        str | None, typer.Option("--junit", metavar="FILE", help="Write JUnit XML, one test case a finding.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Hold what agents say they did against the calls that they made: which claims no call supports, and why.

    Of each turn the last words are read. Exit code: 0 no claim is unsupported, 1 some are (or by --fail-on), 3 error,
    also where nothing in the log is an answer.
    """
    if STDIO in (sarif, junit):
        raise ConfigurationError("--sarif and --junit write files: give each a name")
    auditing, reading, interruption = Audit(declared(profiles), _claim_judge(judge)), Reading(), Interruption()
    with reading_bar(transcript, lambda: auditing.answers, hidden=as_json, name="audit", noun="answers") as advance:
        with interruption:
            for found in read_found(transcript, format=format, on_read=advance, reading=reading):
                auditing.push(found)
        # What was read before an interruption is judged all the same; another one ends that too.
        if interruption.happened and not as_json:
            print_line(console(stderr=True), "interrupted: what was read so far is judged; Ctrl-C once more ends that")
        with Interruption() as another:
            for _ in auditing.end():
                advance(0)
    interrupted = interruption.happened or another.happened
    if not auditing.answers and not interrupted:
        first = f" (the first broken line: {printable(str(auditing.first_broken[0]))})" if auditing.broken else ""
        raise DataError(f"nothing in {printable(transcript)} is an answer of an agent{first}")
    for kind in (Skip.no_call, Skip.repeated):  # which hold the words that were read
        del reading.skipped[kind]
    findings = [finding for answer in auditing.kept for finding in _findings(answer)]
    if sarif is not None:
        write_file(sarif, json_text(_sarif(findings, auditing, interrupted=interrupted)) + "\n")
    if junit is not None:
        write_file(junit, _junit(findings, auditing, fail_on))
    if as_json:
        write_json(_as_dict(auditing, reading, interrupted=interrupted))
    else:
        _report(console(), findings, auditing, reading, interrupted=interrupted)
    failed = bool(auditing.unsupported) or (fail_on is FailOn.values and bool(auditing.values))
    code = Exit.FLAG if failed and fail_on is not FailOn.none else Exit.ACCEPT
    raise typer.Exit(Exit.INTERRUPTED if interrupted else code)


def _claim_judge(folder: str | None) -> Judge | None:
    """The model in a folder as a judge of claims; its libraries are loaded where a folder is named."""
    if folder is None:
        return None
    from agentguard.gate.models import claim_judge

    try:
        return claim_judge(folder)
    except ConfigurationError as error:
        raise ConfigurationError(f"--judge {printable(folder)}: {error}") from None


def _findings(answer: AuditedAnswer) -> Iterator[_Finding]:
    """The claims and values that nothing supports, in this order."""
    for claim in answer.result.unsupported:
        yield _Finding(claim.verdict, answer, claim.text, claim.reason, claim.start, claim.end, answer.made(claim))
    for value in answer.result.values.findings:
        text = answer.turn.answer[value.start : value.end]
        yield _Finding("value", answer, text, f"{value.kind}: {value.detail}", value.start, value.end)


# --- Text ---


def _report(out: Console, findings: list[_Finding], auditing: Audit, reading: Reading, *, interrupted: bool) -> None:
    numbers = {kind: auditing.values if kind == "value" else auditing.claims[kind] for kind in KINDS}
    each = [f"{counted(numbers[kind], noun)} {why}" for kind, (noun, why) in KINDS.items() if numbers[kind]]
    total = sum(numbers.values())
    headline = f"{counted(total, 'statement')} {'does' if total == 1 else 'do'} not hold: {', '.join(each)}"
    began = "interrupted; found so far: " if interrupted else ""
    print_line(out, began + (headline if total else "nothing was found that does not hold"), "bold")
    for kind, (noun, why) in KINDS.items():
        shown = _shown(findings, kind)
        for finding in shown:
            _print_finding(out, finding)
        if numbers[kind] > len(shown):
            more = f"{counted(numbers[kind] - len(shown), noun)} more {why}"
            print_line(out, f"  and {more}; --json lists those of the first {KEPT:,} answers")
    out.print()
    if auditing.broken:
        print_broken(out, f"broken lines left out: {auditing.broken:,}", auditing.broken, auditing.first_broken)
    print_reading(out, reading)
    unchecked, supported = (counted(auditing.claims[verdict], "claim") for verdict in ("not checkable", "supported"))
    rest = f"{unchecked} could not be checked, {supported} and {counted(auditing.traced, 'value')} are supported"
    print_line(out, f"in {counted(auditing.answers, 'answer')}: {rest}; claims are read in English")


def _shown(findings: list[_Finding], kind: str) -> list[_Finding]:
    """The findings of a kind that the text has: of one answer not too many values, so that others are seen too."""
    by_answer = groupby((each for each in findings if each.kind == kind), key=lambda each: id(each.answer))
    most = VALUES_SHOWN if kind == "value" else None
    return list(islice((finding for _, of_answer in by_answer for finding in islice(of_answer, most)), SHOWN))


def _print_finding(out: Console, finding: _Finding) -> None:
    """Print the words of an answer, why they do not hold, where they stand, and the call that shows it."""
    turn = finding.answer.turn
    when = "" if turn.at is None else f", {timestamp(turn.at)} UTC"
    line = Text.assemble(show(f"{finding.kind}: ", "bold red"), show(f"“{finding.text}”"))
    out.print(" ", line, soft_wrap=True)
    out.print("     ", show(finding.reason), soft_wrap=True)
    print_line(out, f"      answer at {turn.source}:{turn.line}{when}, session {turn.session}", "dim")
    if finding.call is not None:
        out.print("     ", show(_told(finding.call), "dim"), soft_wrap=True)


def _told(call: Made) -> str:
    """A call in words: the tool, when or where it was called, and what it returned."""
    when = f"{call.source}:{call.line}" if call.at is None else f"{timestamp(call.at)} UTC"
    if not call.finished:
        return f"{call.tool}, {when}: no result is recorded"
    result = printable(text_of(call.result))
    said = result if len(result) <= RESULT_SHOWN else f"{result[:RESULT_SHOWN]}…"
    return f"{call.tool}, {when}, {'failed' if call.failed else 'returned'}: {said}"


# --- JSON ---


def _as_dict(auditing: Audit, reading: Reading, *, interrupted: bool) -> dict[str, Any]:
    return {
        **auditing.as_dict(),
        "findings": [_answer_dict(answer) for answer in auditing.kept],
        "findings_left_out": auditing.left_out,
        "broken": auditing.broken,
        "first_broken": auditing.first_broken,
        "read": reading.as_dict(),
        "interrupted": interrupted,
    }


def _answer_dict(answer: AuditedAnswer) -> dict[str, Any]:
    turn, result = answer
    return {
        "session": turn.session,
        "source": turn.source,
        "line": turn.line,
        "at": turn.at,
        "complete": result.complete,
        "claims": [
            {**claim._asdict(), "call": None if (made := answer.made(claim)) is None else _call_dict(made)}
            for claim in result.claims
        ],
        "values": [
            {**value._asdict(), "text": turn.answer[value.start : value.end]} for value in result.values.findings
        ],
    }


def _call_dict(call: Made) -> dict[str, Any]:
    result = printable(text_of(call.result))
    return {
        "tool": call.tool,
        "call_id": call.call_id,
        "source": call.source,
        "line": call.line,
        "at": call.at,
        "failed": call.failed,
        "result": (result if len(result) <= RESULT_SHOWN else f"{result[:RESULT_SHOWN]}…") if call.finished else None,
    }


# --- SARIF and JUnit ---


def _sarif(findings: list[_Finding], auditing: Audit, *, interrupted: bool) -> dict[str, Any]:
    """A log with a rule for each kind of finding; a finding stands where its answer does."""
    kinds = list(RULES)
    rules = [rule_of(_rule_id(kind), title, level, ["agents", "claims"]) for kind, (title, level) in RULES.items()]
    results = [
        {
            "ruleId": _rule_id(finding.kind),
            "ruleIndex": kinds.index(finding.kind),
            "level": RULES[finding.kind][1],
            "message": {"text": printable(f"“{finding.text}”: {finding.reason}")},
            "locations": [
                location(
                    finding.answer.turn.source,
                    {"startLine": finding.answer.turn.line},
                    printable(f"{finding.answer.turn.session}:{finding.start}"),
                )
            ],
        }
        for finding in findings
    ]
    notes = [note(line.reason, location(line.source, {"startLine": line.line})) for line in auditing.first_broken]
    if auditing.left_out:
        notes.append(note(f"{auditing.left_out:,} more answers with findings are left out"))
    return sarif_log(rules, results, notes, successful=not interrupted)


def _rule_id(kind: str) -> str:
    return f"claims/{kind.replace(' ', '-')}"


def _junit(findings: list[_Finding], auditing: Audit, fail_on: FailOn) -> str:
    """JUnit XML: a suite a session, a test case a finding, and one that passes for all other claims.

    What does not make the audit fail is skipped.
    """
    failing = {FailOn.claims: ("contradicted", "never called"), FailOn.values: tuple(RULES), FailOn.none: ()}[fail_on]

    def counted_in(cases: list[_Finding]) -> dict[str, str]:
        failures = sum(finding.kind in failing for finding in cases)
        return {"tests": str(len(cases)), "failures": str(failures), "skipped": str(len(cases) - failures)}

    total = {**counted_in(findings), "tests": str(len(findings) + 1)}
    root = Xml.Element("testsuites", {"name": "agentguard audit", **total})
    others = Xml.SubElement(root, "testsuite", {"name": "other claims", "tests": "1", "failures": "0"})
    rest = auditing.claims["supported"] + auditing.claims["not checkable"]
    name = f"{rest} of {sum(auditing.claims.values())} claims are supported or cannot be checked"
    Xml.SubElement(others, "testcase", {"classname": "claims", "name": name, "time": "0"})
    for session, each in groupby(findings, key=lambda finding: finding.answer.turn.session):
        cases = list(each)
        suite = Xml.SubElement(root, "testsuite", {"name": _legal(session), **counted_in(cases)})
        for finding in cases:
            turn = finding.answer.turn
            names = {"classname": _legal(f"{turn.source}:{turn.line}"), "name": _legal(finding.text)[:200], "time": "0"}
            case = Xml.SubElement(suite, "testcase", names)
            message = {"message": _legal(finding.reason)}
            if finding.kind in failing:
                failure = Xml.SubElement(case, "failure", {"type": finding.kind, **message})
                failure.text = "" if finding.call is None else _legal(_told(finding.call))
            else:
                Xml.SubElement(case, "skipped", message)
    Xml.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + Xml.tostring(root, encoding="unicode") + "\n"


def _legal(text: str) -> str:
    """Text on one line, without the characters that XML does not have."""
    return _ILLEGAL.sub("", printable(text))
