"""``agentguard convert``: a log of any format as lines in the common trace format."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer

from agentguard.cli._exits import Exit
from agentguard.cli._files import STDIO, write_lines
from agentguard.cli._options import LOG_HELP, FormatOption, JsonOption
from agentguard.cli._terminal import (
    console,
    counted,
    print_broken,
    print_line,
    print_reading,
    printable,
    reading_bar,
    write_json,
)
from agentguard.errors import ConfigurationError
from agentguard.traces import BrokenLine, Reading
from agentguard.traces._read import AUTO, parse_line, read_lines

_NAMED = 20  # broken lines


def convert(
    traces: Annotated[str, typer.Argument(metavar="TRACES|-", help=f"A log of calls: {LOG_HELP}.")],
    output: Annotated[
        str, typer.Option("-o", "--output", metavar="FILE|-", help="Where to write; gzipped where it ends with .gz.")
    ],
    format: FormatOption = AUTO,
    as_json: JsonOption = False,
) -> None:
    """Write the calls of a log of any format as a log in agentguard's own, one JSON object a line.

    The file is readable by its owner only. Exit code: 0; 3 error, also where nothing in the log is a call.
    """
    if as_json and output == STDIO:
        raise ConfigurationError("--json and the calls cannot both go to standard output")
    reading, first = Reading(), list[BrokenLine]()
    calls = broken = 0

    def lines() -> Iterator[bytes]:
        nonlocal calls, broken
        for line in read_lines(traces, format=format, on_read=advance, reading=reading):
            read = line if isinstance(line, BrokenLine) else parse_line(line[2], line[0], line[1])
            if isinstance(line, BrokenLine) or isinstance(read, BrokenLine):
                broken += 1
                first.extend([read] if isinstance(read, BrokenLine) and len(first) < _NAMED else [])
                continue
            calls += 1
            yield line[2] + b"\n"

    with reading_bar(traces, lambda: calls, hidden=as_json) as advance:
        write_lines(output, lines())
    if as_json:
        unread = {"broken": broken, "first_broken": first, "read": reading.as_dict()}
        write_json({"written": output, "calls": calls, **unread})
    else:
        out = console(stderr=output == STDIO)
        if broken:
            print_broken(out, f"broken lines left out: {broken:,}", broken, first)
        print_reading(out, reading)
        where = "standard output" if output == STDIO else printable(output)
        print_line(out, f"{counted(calls, 'call')} written to {where}")
    raise typer.Exit(Exit.ACCEPT if calls or not (broken or reading.skipped) else Exit.ERROR)
