r"""Prompt sets of one's own: the questions that a model must not fail, in place of those that are written for it.

Three forms, told apart by the file's ending::

    set.yaml    a list of texts, or of mappings with prompt (or text), and id and category where wanted
    set.jsonl   one such mapping a line
    set.txt     one prompt a line
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml

from agentguard.errors import ConfigurationError
from agentguard.gate.models.record_files import (
    MAX_CATEGORY_CHARS,
    MAX_PROMPT_CHARS,
    Faults,
    PromptIds,
    Row,
    check_file,
    read_lines,
    read_rows,
    refuse_unknown,
    take_text,
)
from agentguard.gate.types import Prompt

__all__ = ["MAX_PROMPTS", "read_prompt_set"]

MAX_PROMPTS = 10_000
MAX_FILE_BYTES = 16 << 20
MAX_DEPTH = 20
FIELDS = ("prompt", "text", "id", "category")
SUFFIXES = (".yaml", ".yml", ".jsonl", ".ndjson", ".txt")


def read_prompt_set(path: str | Path) -> tuple[Prompt, ...]:
    r"""The prompts of a file, in its order; those without an id are ``p1``, ``p2``, … by their place.

    Raises:
        ConfigurationError: where there is no such file, or its ending is none of the known ones.
        FileProblems: naming every entry that is no prompt, or repeats an id or a text.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "prompts.txt")
    ...     _ = path.write_text("How long is the warranty?\n\nWho pays for returns?\n")
    ...     [prompt.id + ": " + prompt.text for prompt in read_prompt_set(path)]
    ['p1: How long is the warranty?', 'p2: Who pays for returns?']
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise ConfigurationError(f"cannot read a prompt set from {path}: its ending is none of {', '.join(SUFFIXES)}")
    check_file(path, "a prompt set", MAX_FILE_BYTES)
    faults = Faults(str(path))
    if suffix == ".txt":
        rows: Iterable[Row] = (Row(line, {"prompt": text}) for line, text in read_lines(path, faults))
    else:
        rows = _yaml_rows(path, faults) if suffix in (".yaml", ".yml") else read_rows(path, faults)
    ids = PromptIds(faults)
    prompts: list[Prompt] = []
    for row in rows:
        prompt = _prompt(row, ids, faults)
        if prompt is not None:
            prompts.append(prompt)
        if len(prompts) > MAX_PROMPTS:
            faults.add(row.line, "", f"it has more than {MAX_PROMPTS} prompts: split it")
            break
    if not (prompts or faults.count):
        faults.add(None, "", "holds no prompt")
    faults.refuse()
    return tuple(prompts)


def _prompt(row: Row, ids: PromptIds, faults: Faults) -> Prompt | None:
    refuse_unknown(row, FIELDS, faults)
    if "text" in row.value and "prompt" in row.value:
        faults.add(row.line, "text", "is another name of prompt: give one of them")
    text = take_text(row, "text" if "text" in row.value else "prompt", faults, limit=MAX_PROMPT_CHARS)
    has_category = row.value.get("category") is not None
    category = take_text(row, "category", faults, limit=MAX_CATEGORY_CHARS) if has_category else ""
    if text is None or category is None:
        return None
    return Prompt(ids.take(row.line, row.value.get("id"), text), text, category)


def _yaml_rows(path: Path, faults: Faults) -> Iterator[Row]:
    """The entries of a YAML list, from the parser's events: nothing is built that a prompt set has no use for."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        with path.open("rb") as file:
            yield from _entries(_Events(yaml.parse(file, Loader=loader)), faults)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        said = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error)
        faults.add(None if mark is None else mark.line + 1, "", f"is no YAML: {said}")
    except OSError as error:
        raise ConfigurationError(f"cannot read {path}: {error.strerror or type(error).__name__}") from None


class _Events:
    """The parser's events, one of them seen before it is taken."""

    def __init__(self, events: Iterator[Any]) -> None:
        self._events = events
        self.next: Any = next(events)

    def take(self) -> Any:
        taken, self.next = self.next, next(self._events, None)
        return taken

    def skip(self) -> None:
        """Pass over the value that comes next."""
        depth = 0
        while True:
            event = self.take()
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > MAX_DEPTH:  # the parser's time grows with the square of the depth
                raise yaml.YAMLError(f"nested deeper than {MAX_DEPTH}")
            if depth == 0:
                return


def _entries(events: _Events, faults: Faults) -> Iterator[Row]:
    while isinstance(events.next, (yaml.StreamStartEvent, yaml.DocumentStartEvent)):
        events.take()
    if isinstance(events.next, yaml.StreamEndEvent):
        return
    if not isinstance(events.next, yaml.SequenceStartEvent):
        faults.add(_line(events.next), "", "must be a list of prompts: each line of it begins with a hyphen")
        return
    events.take()
    while not isinstance(events.next, yaml.SequenceEndEvent) and not faults.full:
        line, before = _line(events.next), faults.count
        mapping = isinstance(events.next, yaml.MappingStartEvent)
        value = _mapping(events, faults) if mapping else {"prompt": _scalar(events, "", faults)}
        if faults.count == before:
            yield Row(line, value)
    if faults.full:
        return
    events.take()
    events.take()
    if isinstance(events.next, yaml.DocumentStartEvent):
        faults.add(_line(events.next), "", "a second document begins here: a prompt set is one list")


def _mapping(events: _Events, faults: Faults) -> dict[str, Any]:
    events.take()
    value: dict[str, Any] = {}
    while not isinstance(events.next, yaml.MappingEndEvent):
        line = _line(events.next)
        key = _scalar(events, "", faults)
        read = _scalar(events, key or "", faults)
        if key is None:
            faults.add(line, "", "the name of a field must be text")
        elif key in value:
            faults.add(line, key[:80], "is given twice")
        else:
            value[key] = read
    events.take()
    return value


def _scalar(events: _Events, field: str, faults: Faults) -> str | None:
    """Text as it is written, whatever else YAML would make of it; None where there is none."""
    event = events.next
    if not isinstance(event, yaml.ScalarEvent):
        what = "an alias" if isinstance(event, yaml.AliasEvent) else "a list or a mapping"
        faults.add(_line(event), field[:80], f"must be text, not {what}; put quotes around a text with such signs")
        events.skip()
        return None
    events.take()
    if event.anchor is not None or event.tag not in (None, "!", "tag:yaml.org,2002:str"):
        faults.add(_line(event), field[:80], "must be plain text without an anchor or a tag")
    empty = event.implicit[0] and event.value in ("", "~", "null", "Null", "NULL")
    return None if empty else str(event.value)


def _line(event: Any) -> int:
    return int(event.start_mark.line) + 1
