"""Files of records, one JSON object a line, read in a bounded way and with all their faults at once."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from agentguard.content._text import encodable
from agentguard.errors import ConfigurationError, FileProblems, Problem

__all__ = [
    "MAX_CATEGORY_CHARS",
    "MAX_PROMPT_CHARS",
    "Faults",
    "PromptIds",
    "Row",
    "check_file",
    "read_lines",
    "read_rows",
    "refuse_unknown",
    "take_text",
]

MAX_FILE_BYTES = 256 << 20
MAX_LINE_BYTES = 8 << 20
MAX_ROWS = 100_000
MAX_FAULTS = 100  # of one file; it is no such file, and the report stays readable
MAX_PROMPT_CHARS = 100_000
MAX_CATEGORY_CHARS = 200

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_KINDS = {dict: "an object", list: "a list", str: "text", bool: "true or false", int: "a number", float: "a number"}


class Row(NamedTuple):
    """An object of a file, and the line (1-based) where it begins."""

    line: int
    value: Mapping[str, Any]


class Faults:
    """What is wrong with one file."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._problems: list[Problem] = []

    def add(self, line: int | None, field: str, message: str) -> None:
        """Take down one fault."""
        self._problems.append(Problem(self._source, line, field, message))

    @property
    def count(self) -> int:
        """How much is wrong so far."""
        return len(self._problems)

    @property
    def full(self) -> bool:
        """Whether so much is wrong that reading on would tell nothing new."""
        return len(self._problems) >= MAX_FAULTS

    def refuse(self) -> None:
        """End here where anything is wrong.

        Raises:
            FileProblems: with every fault.
        """
        if self._problems:
            problems = self._problems[:MAX_FAULTS]
            raise FileProblems(sorted(problems, key=lambda problem: problem.line or 0))


class PromptIds:
    """The ids of a file's prompts: those given, ``p1``, ``p2``, … where none is; no id and no text comes twice."""

    def __init__(self, faults: Faults) -> None:
        self._faults = faults
        self._taken = 0
        self._ids: dict[str, int] = {}
        self._texts: dict[str, int] = {}

    def take(self, line: int, given: Any, text: str) -> str:
        """The id of the next prompt."""
        self._taken += 1
        if given is not None and not (isinstance(given, str) and _ID.fullmatch(given)):
            self._faults.add(line, "id", "must be text of at most 100 letters, digits, dots, hyphens and underscores")
            given = None
        chosen = f"p{self._taken}" if given is None else str(given)
        if chosen in self._ids:
            first = self._ids[chosen]
            message = f"the prompt in line {first} has the id {chosen!r} already; every prompt needs its own"
            self._faults.add(line, "id", message)
        if text in self._texts:
            self._faults.add(line, "prompt", f"line {self._texts[text]} has the same prompt: leave one of them out")
        self._ids.setdefault(chosen, line)
        self._texts.setdefault(text, line)
        return chosen


def check_file(path: Path, what: str, limit: int = MAX_FILE_BYTES) -> None:
    """Whether there is such a file, and of a size to be read.

    Raises:
        ConfigurationError: where not.
    """
    try:
        readable, exists = path.is_file(), path.exists()
        size = path.stat().st_size if readable else 0
    except (OSError, ValueError) as error:
        said = error.strerror if isinstance(error, OSError) else "its name cannot be used"
        raise ConfigurationError(f"cannot read {what} from {path}: {said}") from None
    if not readable:
        raise ConfigurationError(f"cannot read {what} from {path}: it {'is no file' if exists else 'does not exist'}")
    if size > limit:
        raise ConfigurationError(f"cannot read {what} from {path}: it has {size} bytes, more than {limit}")


def read_lines(path: Path, faults: Faults) -> Iterator[tuple[int, str]]:
    """The lines of a file that are not blank, as text, without what ends them."""
    try:
        with path.open("rb") as file:
            for number in range(1, MAX_ROWS + 1):
                raw = file.readline(MAX_LINE_BYTES + 1)
                if not raw or faults.full:
                    return
                if len(raw) > MAX_LINE_BYTES:
                    faults.add(number, "", f"the line has more than {MAX_LINE_BYTES} bytes; what follows is not read")
                    return
                try:
                    line = raw.decode("utf-8-sig" if number == 1 else "utf-8").strip()
                except UnicodeDecodeError:
                    faults.add(number, "", "the line is not UTF-8")
                    continue
                if line:
                    yield number, line
            if file.read(1):
                faults.add(None, "", f"it has more than {MAX_ROWS} lines: split it")
    except OSError as error:
        raise ConfigurationError(f"cannot read {path}: {error.strerror or type(error).__name__}") from None


def read_rows(path: Path, faults: Faults) -> Iterator[Row]:
    """The objects of a file of JSON Lines; a line that holds none is a fault."""
    for number, line in read_lines(path, faults):
        try:
            value = json.loads(line, object_pairs_hook=_distinct, parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as error:
            faults.add(number, "", _why(error))
            continue
        if isinstance(value, dict):
            yield Row(number, value)
        else:
            faults.add(number, "", f"must be a JSON object, not {kind_of(value)}")


def take_text(row: Row, name: str, faults: Faults, *, limit: int, blank: bool = False) -> str | None:
    """A field that must be text, of at most ``limit`` characters; None, and a fault, where it is not."""
    if name not in row.value:
        faults.add(row.line, name, "is missing")
        return None
    value = row.value[name]
    if not isinstance(value, str):
        faults.add(row.line, name, f"must be text, not {kind_of(value)}")
    elif not (blank or value.strip()):
        faults.add(row.line, name, "must not be empty")
    elif len(value) > limit:
        faults.add(row.line, name, f"has {len(value)} characters, more than {limit}")
    else:
        return encodable(value)
    return None


def refuse_unknown(row: Row, known: tuple[str, ...], faults: Faults) -> None:
    """Take down every field that is none of the known ones."""
    for name in row.value:
        if name not in known:
            faults.add(row.line, encodable(name[:80]), f"is no field of such a line; there are {', '.join(known)}")


def kind_of(value: Any) -> str:
    """What a value is, for a person."""
    return _KINDS.get(type(value), "null")


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError("a field is given twice")
    return value


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _why(error: ValueError | RecursionError) -> str:
    if isinstance(error, RecursionError):
        return "is nested too deeply"
    if isinstance(error, json.JSONDecodeError):
        return f"is no JSON: {error.msg} at column {error.colno}"
    return str(error) if str(error).startswith(("a field", "NaN", "Infinity", "-Infinity")) else "has too long a number"
