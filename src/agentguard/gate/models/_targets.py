r"""Models under test, and files of prompts for them.

A target is a chat model, any function, or a file of recorded answers. Prompt sets of one's own come in three forms,
told apart by the file's ending::

    set.yaml    a list of texts, or of mappings with prompt (or text), and id and category where wanted;
                or a mapping with that list as prompts, and the set's name and version where wanted
    set.jsonl   one such mapping a line
    set.txt     one prompt a line
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from agentguard.content._text import encodable
from agentguard.errors import ConfigurationError, FileProblems, GateError, Problem
from agentguard.gate._kept import KeptAnswers, key_of
from agentguard.gate._types import Prompt, PromptSet
from agentguard.gate.models._asking import ChatModel, Question, ask_all, check_concurrency, describe_failure

MAX_FILE_BYTES = 256 << 20
MAX_LINE_BYTES = 8 << 20
MAX_ROWS = 100_000
MAX_FAULTS = 100  # of one file; it is no such file, and the report stays readable
MAX_PROMPTS = 10_000
MAX_PROMPT_FILE_BYTES = 16 << 20
MAX_PROMPT_CHARS = 100_000
MAX_RESPONSE_CHARS = 1_000_000
MAX_CATEGORY_CHARS = 200
MAX_DEPTH = 20  # of YAML
PROMPT_FIELDS = ("prompt", "text", "id", "category")
SET_FIELDS = ("name", "version", "prompts")
RESPONSE_FIELDS = ("prompt", "response", "id", "category")
PROMPT_SUFFIXES = (".yaml", ".yml", ".jsonl", ".ndjson", ".txt")

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_KINDS = {dict: "an object", list: "a list", str: "text", bool: "true or false", int: "a number", float: "a number"}


class CallableTarget:
    """A function as the model under test.

    Args:
        call: Takes a prompt's text and returns the answer; None counts as an empty answer.
        name: What records and reports call it.
        max_concurrency: How many calls are under way at once, each in a thread of its own; 1 calls one by one.
        kept: Has answers from before, and takes each that comes.

    >>> CallableTarget(str.upper, "shouting").respond([Prompt("p1", "Which?"), Prompt("p2", "Why?")])
    ['WHICH?', 'WHY?']
    """

    def __init__(
        self,
        call: Callable[[str], str | None],
        name: str = "callable",
        max_concurrency: int = 1,
        kept: KeptAnswers | None = None,
    ) -> None:
        self._call = call
        self.name = name
        self._max_concurrency = check_concurrency(max_concurrency)
        self._kept = kept or KeptAnswers()

    def respond(self, prompts: Sequence[Prompt]) -> list[str]:
        """Answer each prompt, in their order.

        Raises:
            GateError: Naming the first prompt whose call raised, or returned what is no text.
        """
        if self._max_concurrency == 1:
            return [self._answer(prompt) for prompt in prompts]
        with ThreadPoolExecutor(self._max_concurrency) as pool:
            return list(pool.map(self._answer, prompts))

    def _answer(self, prompt: Prompt) -> str:
        key = key_of(self.name, prompt.id, prompt.text)
        before = self._kept.get(key)
        if before is not None:
            return before
        answer = self._called(prompt)
        self._kept.add(key, answer)
        return answer

    def _called(self, prompt: Prompt) -> str:
        try:
            answer = self._call(prompt.text)
        except Exception as error:  # whatever a function of the user's may raise
            why = describe_failure(error, (prompt.text,))
            raise GateError(f"{self.name} did not answer prompt {prompt.id}: {why}") from None
        if answer is None:
            return ""
        if not isinstance(answer, str):
            raise GateError(f"{self.name} answered prompt {prompt.id} with {type(answer).__name__}, which is no text")
        return encodable(answer)


class ModelTarget:
    """A chat model of LangChain's as the model under test. Each prompt is a conversation of its own.

    Args:
        model: The model.
        name: What records and reports call it.
        max_concurrency: How many requests are under way at once.
        kept: Has answers from before, and takes each that comes.
    """

    def __init__(self, model: ChatModel, name: str, max_concurrency: int = 8, kept: KeptAnswers | None = None) -> None:
        self._model = model
        self.name = name
        self._max_concurrency = check_concurrency(max_concurrency)
        self._kept = kept

    def respond(self, prompts: Sequence[Prompt]) -> list[str]:
        """Answer each prompt, in their order; an answer without text is empty.

        Raises:
            GateError: Naming the first prompt that was not answered, and why.
        """
        questions = [Question(f"prompt {prompt.id}", prompt.text) for prompt in prompts]
        return ask_all(self._model, self.name, questions, self._max_concurrency, self._kept)


class RecordedTarget:
    r"""The answers of a file of JSON Lines: ``{"prompt": …, "response": …, "id": …, "category": …}``.

    ``id`` and ``category`` may be left out: prompts without an id are ``p1``, ``p2``, … by their place in the file.

    Args:
        path: The file.
        name: What records and reports call the model; None: ``recorded:`` and the file's name.

    Attributes:
        prompts: The prompts of the file, in its order.

    Raises:
        ConfigurationError: If there is no such file.
        FileProblems: Naming every line that is no recorded answer, or repeats an id or a prompt.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "answers.jsonl")
    ...     _ = path.write_text('{"prompt": "How long is the warranty?", "response": "Two years."}\n')
    ...     target = RecordedTarget(path)
    >>> target.prompts, target.respond(target.prompts)
    ((Prompt(id='p1', text='How long is the warranty?', category=''),), ['Two years.'])
    """

    def __init__(self, path: str | Path, name: str | None = None) -> None:
        file = _PromptFile(Path(path), "recorded responses", RESPONSE_FIELDS, MAX_FILE_BYTES)
        self.name = f"recorded:{Path(path).name}" if name is None else name
        self._answers: dict[str, tuple[str, str]] = {}
        prompts: list[Prompt] = []
        for row in file.rows():
            file.check_fields(row)
            text = file.text(row, "prompt", MAX_PROMPT_CHARS)
            answer = file.text(row, "response", MAX_RESPONSE_CHARS, blank=True)
            prompt = file.prompt(row, text, is_complete=answer is not None)
            if prompt is not None and answer is not None:
                prompts.append(prompt)
                self._answers[prompt.id] = (prompt.text, answer)
        file.finish(prompts, "holds no recorded response")
        self.prompts = tuple(prompts)

    def respond(self, prompts: Sequence[Prompt]) -> list[str]:
        """Give the recorded answers to prompts of the file, in the order asked for.

        Raises:
            GateError: If a prompt is not one of the file's.
        """
        answers = []
        for prompt in prompts:
            text, answer = self._answers.get(prompt.id, (None, ""))
            if text != prompt.text:
                raise GateError(f"{self.name} has no recorded response to prompt {prompt.id}")
            answers.append(answer)
        return answers


def read_prompt_set(path: str | Path) -> PromptSet:
    r"""Read the prompts of a file, in its order; those without an id are ``p1``, ``p2``, … by their place.

    Raises:
        ConfigurationError: If there is no such file, or its ending is none of the known ones.
        FileProblems: Naming every entry that is no prompt, or repeats an id or a text.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "prompts.txt")
    ...     _ = path.write_text("How long is the warranty?\n\nWho pays for returns?\n")
    ...     [prompt.id + ": " + prompt.text for prompt in read_prompt_set(path).prompts]
    ['p1: How long is the warranty?', 'p2: Who pays for returns?']
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in PROMPT_SUFFIXES:
        known = ", ".join(PROMPT_SUFFIXES)
        raise ConfigurationError(f"cannot read a prompt set from {path}: its ending is none of {known}")
    file = _PromptFile(path, "a prompt set", PROMPT_FIELDS, MAX_PROMPT_FILE_BYTES)
    if suffix == ".txt":
        rows: Iterable[_Row] = (_Row(number, {"prompt": text}) for number, text in file.lines())
    else:
        rows = _yaml_rows(path, file) if suffix in (".yaml", ".yml") else file.rows()
    prompts: list[Prompt] = []
    for row in rows:
        file.check_fields(row)
        if "text" in row.value and "prompt" in row.value:
            file.add(row.line, "text", "is another name of prompt: give one of them")
        text = file.text(row, "text" if "text" in row.value else "prompt", MAX_PROMPT_CHARS)
        prompt = file.prompt(row, text)
        if prompt is not None:
            prompts.append(prompt)
        if len(prompts) > MAX_PROMPTS:
            file.add(row.line, "", f"it has more than {MAX_PROMPTS} prompts: split it")
            break
    file.finish(prompts, "holds no prompt")
    return PromptSet(file.given.get("name", path.stem), file.given.get("version", ""), tuple(prompts))


class _Row(NamedTuple):
    """An object of a file, and the line, from 1, where it begins."""

    line: int
    value: Mapping[str, Any]


class _PromptFile:
    """A file of prompts: read in a bounded way, with all its faults at once; no id and no text comes twice.

    Raises:
        ConfigurationError: If there is no such file, or it is larger than ``limit`` bytes.
    """

    def __init__(self, path: Path, noun: str, fields: tuple[str, ...], limit: int) -> None:
        self._path, self._fields = path, fields
        self.problems: list[Problem] = []
        self.given: dict[str, str] = {}  # name and version of the set, where the file says so
        self._number = 0  # of prompts so far
        self._lines_of_ids: dict[str, int] = {}
        self._lines_of_texts: dict[str, int] = {}
        try:
            readable, exists = path.is_file(), path.exists()
            size = path.stat().st_size if readable else 0
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else "its name cannot be used"
            raise ConfigurationError(f"cannot read {noun} from {path}: {why}") from None
        if not readable:
            why = "is no file" if exists else "does not exist"
            raise ConfigurationError(f"cannot read {noun} from {path}: it {why}")
        if size > limit:
            raise ConfigurationError(f"cannot read {noun} from {path}: it has {size} bytes, more than {limit}")

    def add(self, line: int | None, field: str, message: str) -> None:
        """Note one fault."""
        self.problems.append(Problem(str(self._path), line, field, message))

    @property
    def is_hopeless(self) -> bool:
        """Whether so much is wrong that reading on would tell nothing new."""
        return len(self.problems) >= MAX_FAULTS

    def finish(self, prompts: Sequence[Prompt], when_empty: str) -> None:
        """Refuse a file that has faults, or nothing else.

        Raises:
            FileProblems: With every fault.
        """
        if not (prompts or self.problems):
            self.add(None, "", when_empty)
        if self.problems:
            raise FileProblems(sorted(self.problems[:MAX_FAULTS], key=lambda problem: problem.line or 0))

    def lines(self) -> Iterator[tuple[int, str]]:
        """Lines that are not blank, with their numbers, without what ends them."""
        try:
            with self._path.open("rb") as file:
                for number in range(1, MAX_ROWS + 1):
                    raw = file.readline(MAX_LINE_BYTES + 1)
                    if not raw or self.is_hopeless:
                        return
                    if len(raw) > MAX_LINE_BYTES:
                        message = f"the line has more than {MAX_LINE_BYTES} bytes; what follows is not read"
                        self.add(number, "", message)
                        return
                    try:
                        line = raw.decode("utf-8-sig" if number == 1 else "utf-8").strip()
                    except UnicodeDecodeError:
                        self.add(number, "", "the line is not UTF-8")
                        continue
                    if line:
                        yield number, line
                if file.read(1):
                    self.add(None, "", f"it has more than {MAX_ROWS} lines: split it")
        except OSError as error:
            raise _unreadable(self._path, error) from None

    def rows(self) -> Iterator[_Row]:
        """The objects of JSON Lines; a line that holds none is a fault."""
        for number, line in self.lines():
            try:
                value = json.loads(line, object_pairs_hook=_distinct, parse_constant=_refuse_constant)
            except (ValueError, RecursionError) as error:
                self.add(number, "", _why(error))
                continue
            if isinstance(value, dict):
                yield _Row(number, value)
            else:
                self.add(number, "", f"must be a JSON object, not {_kind_of(value)}")

    def check_fields(self, row: _Row) -> None:
        """Note every field that is none of the known ones."""
        for name in row.value:
            if name not in self._fields:
                message = f"is no field of such a line; there are {', '.join(self._fields)}"
                self.add(row.line, encodable(name[:80]), message)

    def text(self, row: _Row, name: str, limit: int, *, blank: bool = False) -> str | None:
        """A field that must be text, of at most ``limit`` characters; None, and a fault, if it is not."""
        if name not in row.value:
            self.add(row.line, name, "is missing")
            return None
        value = row.value[name]
        if not isinstance(value, str):
            self.add(row.line, name, f"must be text, not {_kind_of(value)}")
        elif not (blank or value.strip()):
            self.add(row.line, name, "must not be empty")
        elif len(value) > limit:
            self.add(row.line, name, f"has {len(value)} characters, more than {limit}")
        else:
            return encodable(value)
        return None

    def prompt(self, row: _Row, text: str | None, *, is_complete: bool = True) -> Prompt | None:
        """The prompt of a row, with its id and category; None if something of the row could not be read."""
        has_category = row.value.get("category") is not None
        category = self.text(row, "category", MAX_CATEGORY_CHARS) if has_category else ""
        if text is None or category is None or not is_complete:
            return None
        self._number += 1
        given = row.value.get("id")
        if given is not None and not (isinstance(given, str) and _ID.fullmatch(given)):
            self.add(row.line, "id", "must be text of at most 100 letters, digits, dots, hyphens and underscores")
            given = None
        chosen = f"p{self._number}" if given is None else str(given)
        first = self._lines_of_ids.get(chosen)
        if first is not None:
            message = f"the prompt in line {first} has the id {chosen!r} already; every prompt needs its own"
            self.add(row.line, "id", message)
        first = self._lines_of_texts.get(text)
        if first is not None:
            self.add(row.line, "prompt", f"line {first} has the same prompt: leave one of them out")
        self._lines_of_ids.setdefault(chosen, row.line)
        self._lines_of_texts.setdefault(text, row.line)
        return Prompt(chosen, text, category)


def _unreadable(path: Path, error: OSError) -> ConfigurationError:
    return ConfigurationError(f"cannot read {path}: {error.strerror or type(error).__name__}")


def _kind_of(value: Any) -> str:
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


# --- YAML ---


def _yaml_rows(path: Path, file: _PromptFile) -> Iterator[_Row]:
    """The entries of a YAML list, from the parser's events: nothing is built that a prompt set has no use for."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        with path.open("rb") as stream:
            yield from _entries(_Events(yaml.parse(stream, Loader=loader)), file)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        why = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error)
        file.add(None if mark is None else mark.line + 1, "", f"is no YAML: {why}")
    except OSError as error:
        raise _unreadable(path, error) from None


class _Events:
    """The parser's events, one of them seen before it is taken."""

    def __init__(self, events: Iterator[Any]) -> None:
        self._events = events
        self.next: Any = next(events)

    def take(self) -> Any:
        taken, self.next = self.next, next(self._events, None)
        return taken

    @property
    def line(self) -> int:
        """Line of the next event, from 1."""
        return int(self.next.start_mark.line) + 1

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


def _entries(events: _Events, file: _PromptFile) -> Iterator[_Row]:
    while isinstance(events.next, (yaml.StreamStartEvent, yaml.DocumentStartEvent)):
        events.take()
    if isinstance(events.next, yaml.StreamEndEvent):
        return
    if isinstance(events.next, yaml.MappingStartEvent):
        yield from _set(events, file)
    else:
        yield from _list(events, file)
    if file.is_hopeless:
        return
    events.take()  # the end of the document
    if isinstance(events.next, yaml.DocumentStartEvent):
        file.add(events.line, "", "a second document begins here: a prompt set is one of them")


def _set(events: _Events, file: _PromptFile) -> Iterator[_Row]:
    """The prompts of a mapping, whose other fields name the set."""
    events.take()
    seen: set[str] = set()
    while not isinstance(events.next, yaml.MappingEndEvent):
        line, name = events.line, _scalar(events, "", file) or ""
        if name in seen:
            file.add(line, name[:80], "is given twice")
        if name == "prompts" and name not in seen:
            yield from _list(events, file)
            if file.is_hopeless:
                return
        elif name in SET_FIELDS and name not in seen:
            text = _scalar(events, name, file) or ""
            if not text.strip() or len(text) > MAX_CATEGORY_CHARS or not text.isprintable():
                file.add(line, name, f"must be one line of 1 to {MAX_CATEGORY_CHARS} characters")
            file.given[name] = text.strip()
        else:
            events.skip()
            if name not in SET_FIELDS:
                message = f"is no field of a prompt set; there are {', '.join(SET_FIELDS)}"
                file.add(line, encodable(name[:80]), message)
        seen.add(name)
    events.take()


def _list(events: _Events, file: _PromptFile) -> Iterator[_Row]:
    if not isinstance(events.next, yaml.SequenceStartEvent):
        file.add(events.line, "", "must be a list of prompts: each line of it begins with a hyphen")
        events.skip()
        return
    events.take()
    while not isinstance(events.next, yaml.SequenceEndEvent) and not file.is_hopeless:
        line, before = events.line, len(file.problems)
        is_mapping = isinstance(events.next, yaml.MappingStartEvent)
        value = _mapping(events, file) if is_mapping else {"prompt": _scalar(events, "", file)}
        if len(file.problems) == before:
            yield _Row(line, value)
    if not file.is_hopeless:
        events.take()  # the end of the list


def _mapping(events: _Events, file: _PromptFile) -> dict[str, Any]:
    events.take()
    value: dict[str, Any] = {}
    while not isinstance(events.next, yaml.MappingEndEvent):
        line = events.line
        key = _scalar(events, "", file)
        read = _scalar(events, key or "", file)
        if key is None:
            file.add(line, "", "the name of a field must be text")
        elif key in value:
            file.add(line, key[:80], "is given twice")
        else:
            value[key] = read
    events.take()
    return value


def _scalar(events: _Events, field: str, file: _PromptFile) -> str | None:
    """Text as it is written, whatever else YAML would make of it; None if there is none."""
    event, line = events.next, events.line
    if not isinstance(event, yaml.ScalarEvent):
        what = "an alias" if isinstance(event, yaml.AliasEvent) else "a list or a mapping"
        file.add(line, field[:80], f"must be text, not {what}; put quotes around a text with such signs")
        events.skip()
        return None
    events.take()
    if event.anchor is not None or event.tag not in (None, "!", "tag:yaml.org,2002:str"):
        file.add(line, field[:80], "must be plain text without an anchor or a tag")
    is_empty = event.implicit[0] and event.value in ("", "~", "null", "Null", "NULL")
    return None if is_empty else str(event.value)
