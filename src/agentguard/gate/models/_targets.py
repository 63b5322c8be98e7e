"""The model under test: a chat model, any function, or a file of recorded answers; and files of prompts for it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from agentguard.content.words import encodable
from agentguard.errors import ConfigurationError, FileProblems, GateError, Problem
from agentguard.gate._types import Prompt
from agentguard.gate.models._asking import ChatModel, Question, ask_all, check_concurrency, describe_failure

# --- Files of records ---

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
            FileProblems: With every fault.
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
        ConfigurationError: If not.
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


# --- Prompt sets ---

MAX_PROMPTS = 10_000
MAX_PROMPT_FILE_BYTES = 16 << 20
MAX_DEPTH = 20
PROMPT_FIELDS = ("prompt", "text", "id", "category")
SUFFIXES = (".yaml", ".yml", ".jsonl", ".ndjson", ".txt")


def read_prompt_set(path: str | Path) -> tuple[Prompt, ...]:
    r"""The prompts of a file, in its order; those without an id are ``p1``, ``p2``, … by their place.

    Raises:
        ConfigurationError: If there is no such file, or its ending is none of the known ones.
        FileProblems: Naming every entry that is no prompt, or repeats an id or a text.

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
    check_file(path, "a prompt set", MAX_PROMPT_FILE_BYTES)
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
    refuse_unknown(row, PROMPT_FIELDS, faults)
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
    """Text as it is written, whatever else YAML would make of it; None if there is none."""
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


# --- Recorded answers ---

RESPONSE_FIELDS = ("prompt", "response", "id", "category")
MAX_RESPONSE_CHARS = 1_000_000


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
        FileProblems: Naming every line that is no recorded answer, that repeats an id or a prompt.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "answers.jsonl")
    ...     _ = path.write_text('{"prompt": "How long is the warranty?", "response": "Two years."}\n')
    ...     target = RecordedTarget(path)
    >>> target.prompts, target.respond(target.prompts)
    ((Prompt(id='p1', text='How long is the warranty?', category=''),), ['Two years.'])
    """

    def __init__(self, path: str | Path, name: str | None = None) -> None:
        path = Path(path)
        self._name = f"recorded:{path.name}" if name is None else name
        check_file(path, "recorded responses")
        faults = Faults(str(path))
        ids = PromptIds(faults)
        prompts: list[Prompt] = []
        self._answers: dict[str, tuple[str, str]] = {}
        for row in read_rows(path, faults):
            refuse_unknown(row, RESPONSE_FIELDS, faults)
            text = take_text(row, "prompt", faults, limit=MAX_PROMPT_CHARS)
            answer = take_text(row, "response", faults, limit=MAX_RESPONSE_CHARS, blank=True)
            has_category = row.value.get("category") is not None
            category = take_text(row, "category", faults, limit=MAX_CATEGORY_CHARS) if has_category else ""
            if text is None or answer is None or category is None:
                continue
            prompt = Prompt(ids.take(row.line, row.value.get("id"), text), text, category)
            prompts.append(prompt)
            self._answers[prompt.id] = (text, answer)
        if not (prompts or faults.count):
            faults.add(None, "", "holds no recorded response")
        faults.refuse()
        self.prompts = tuple(prompts)

    @property
    def name(self) -> str:
        """What records and reports call it."""
        return self._name

    def respond(self, prompts: Sequence[Prompt]) -> list[str]:
        """The recorded answers to prompts of the file, in the order asked for.

        Raises:
            GateError: If a prompt is not one of the file's.
        """
        answers = []
        for prompt in prompts:
            text, answer = self._answers.get(prompt.id, (None, ""))
            if text != prompt.text:
                raise GateError(f"{self._name} has no recorded response to prompt {prompt.id}")
            answers.append(answer)
        return answers


# --- Models and functions ---


class ModelTarget:
    """A chat model of LangChain's as the model under test. Each prompt is a conversation of its own.

    Args:
        model: The model.
        name: What records and reports call it.
        max_concurrency: How many requests are under way at once.
    """

    def __init__(self, model: ChatModel, name: str, max_concurrency: int = 8) -> None:
        self._model = model
        self._name = name
        self._max_concurrency = check_concurrency(max_concurrency)

    @property
    def name(self) -> str:
        """What records and reports call it."""
        return self._name

    def respond(self, prompts: Sequence[Prompt]) -> list[str]:
        """The answers, one a prompt, in their order; an answer without text is empty.

        Raises:
            GateError: Naming the first prompt that was not answered, and why.
        """
        questions = [Question(f"prompt {prompt.id}", prompt.text) for prompt in prompts]
        return ask_all(self._model, self._name, questions, self._max_concurrency)


class CallableTarget:
    """A function as the model under test.

    Args:
        call: Takes a prompt's text and returns the answer; None counts as an empty answer.
        name: What records and reports call it.
        max_concurrency: How many calls are under way at once, each in a thread of its own; 1 calls one by one.

    >>> CallableTarget(str.upper, "shouting").respond([Prompt("p1", "Which?"), Prompt("p2", "Why?")])
    ['WHICH?', 'WHY?']
    """

    def __init__(self, call: Callable[[str], str | None], name: str = "callable", max_concurrency: int = 1) -> None:
        self._call = call
        self._name = name
        self._max_concurrency = check_concurrency(max_concurrency)

    @property
    def name(self) -> str:
        """What records and reports call it."""
        return self._name

    def respond(self, prompts: Sequence[Prompt]) -> list[str]:
        """The answers, one a prompt, in their order.

        Raises:
            GateError: Naming the first prompt whose call raised, or returned what is no text.
        """
        if self._max_concurrency == 1:
            return [self._answer(prompt) for prompt in prompts]
        with ThreadPoolExecutor(self._max_concurrency) as pool:
            return list(pool.map(self._answer, prompts))

    def _answer(self, prompt: Prompt) -> str:
        try:
            answer = self._call(prompt.text)
        except Exception as error:  # whatever a function of the user's may raise
            why = describe_failure(error, (prompt.text,))
            raise GateError(f"{self._name} did not answer prompt {prompt.id}: {why}") from None
        if answer is None:
            return ""
        if not isinstance(answer, str):
            raise GateError(f"{self._name} answered prompt {prompt.id} with {type(answer).__name__}, which is no text")
        return encodable(answer)
