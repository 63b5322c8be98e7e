"""Tool profiles, which users declare: their fields, the paths in them, profiles from files, and finding a tool's.

Unknown keys are refused; all problems of a profile, and of all files that are read at once, are reported in one error.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Literal, NamedTuple

import re2
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
)
from pydantic.dataclasses import dataclass
from pydantic_core import PydanticCustomError

from agentguard import _forks as forks
from agentguard.content._findings import KINDS
from agentguard.errors import ConfigurationError, Problem, ProfileError
from agentguard.verification._output_schema import backtracking, compiled, schema_validator
from agentguard.verification._walk import child_path

if TYPE_CHECKING:
    from os import PathLike

    from agentguard._yaml_files import RawFile

__all__ = [
    "EACH", "CallReference", "DeclaredConfirmation", "DeclaredEcho", "DeclaredRetry", "DeclaredSecondSource",
    "FieldPath", "ProfileIndex", "ToolProfile", "in_order", "line_of", "load_profiles", "parse_profile", "place_of",
    "profiles_in", "read_profiles", "schema_validator",
]  # fmt: skip

EACH: Final = "[]"
MAX_STEPS: Final = 64  # deeper than any result is looked into
_SHOWN: Final = 80  # characters of a faulty value in a message

_PIECE = re.compile(r"([^.\[\]]*)((?:\[\])*)")  # a key and its []
_POSITION = re.compile(r"\[(?:\*|-?\d*(?::-?\d*)*)\]")  # [0], [*], [1:3], as other languages of paths write them
_QUOTED_KEY = re.compile(r"""\[(["'])([^"'.\[\]]+)\1\]""")
_DOTS = re.compile(r"\s*\.(?:\s*\.)*\s*")


class FieldPath(NamedTuple):
    """A path taken apart into keys, and ``"[]"`` for every element of a list; ``str`` puts it together again.

    >>> FieldPath.parse("orders[].customer.id").steps
    ('orders', '[]', 'customer', 'id')
    """

    steps: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> FieldPath:
        """Take a path apart.

        Raises:
            ValueError: in words, with what to write instead where that can be told.
        """
        steps = _steps(text)
        if steps is None:
            mended = _mended(text) if len(text) <= _SHOWN else ""
            instead = f"write {mended!r}" if _steps(mended) else "write it like 'quote.price' or 'rows[].id'"
            raise ValueError(f"{_shown(text)!r} {_fault(text)}; {instead}")
        if len(steps) > MAX_STEPS:
            raise ValueError(f"{_shown(text)!r} has {len(steps):,} steps; no result is looked into below {MAX_STEPS}")
        return cls(steps)

    def __str__(self) -> str:
        return "".join(step if step == EACH or not position else f".{step}" for position, step in enumerate(self.steps))

    @property
    def place(self) -> str:
        """The place as a walk over a value names it: digits in keys are ``#`` (see ``_walk``).

        >>> FieldPath.parse("cards[].line_1").place
        'cards[].line_#'
        """
        place = ""
        for step in self.steps:
            place = place + EACH if step == EACH else child_path(place, step)
        return place


@lru_cache(maxsize=4_096)
def place_of(path: str) -> str:
    """``FieldPath.parse(path).place``, remembered."""
    return FieldPath.parse(path).place


def _steps(text: str) -> tuple[str, ...] | None:
    """The steps of a path, or None where it is none."""
    steps: list[str] = []
    for position, part in enumerate(text.split(".")):
        match = _PIECE.fullmatch(part)
        if match is None:
            return None
        key, lists = match.groups()
        if key != key.strip() or not (key or (lists and position == 0)):
            return None
        steps += [key] if key else []
        steps += [EACH] * (len(lists) // 2)
    return tuple(steps)


def _fault(text: str) -> str:
    """Say what is wrong with text that is no path, the first thing first."""
    if not text.strip():
        return "is empty"
    if match := _POSITION.search(text.replace(EACH, "")) or _QUOTED_KEY.search(text):
        return f"has {_shown(match[0])!r}, where [] stands for every element of a list and a dot for a key"
    if "[" in text.replace(EACH, "") or "]" in text.replace(EACH, ""):
        return "has a bracket that is not part of []"
    parts = text.split(".")
    if not all(part.strip() for part in parts):
        return "has a dot with no name beside it"
    if any(part.startswith(EACH) for part in parts[1:]):
        return "has a dot before []"
    if any(EACH in part and not part.endswith(EACH) for part in parts):
        return "has a name right after [], without a dot"
    return "has white space around a name"


def _mended(text: str) -> str:
    """The path that is likely to be meant."""
    mended = _QUOTED_KEY.sub(r".\2", _POSITION.sub(EACH, text))
    mended = _DOTS.sub(".", mended.strip()).strip(".").replace(f".{EACH}", EACH)
    return re.sub(r"(\[\])(?=[^.\[\]])", r"\1.", mended).strip()


def _shown(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


SIDES: Final = ("args", "result")
_MEANT: Final = {"input": "args", "params": "args", "output": "result", "response": "result", "return": "result"}
_REFERENCE = re.compile(r"\$\.(args|result)(?:\.(?=[^.])|(?=\[)|$)(.*)", re.DOTALL)
_NEARLY = re.compile(r"(?:\$\.?|(?=(?:args|result)[.\[]))(\w+)\.?([^$\s]*)")


class CallReference(NamedTuple):
    """A value of a call, as declarations name it: ``$.args`` or ``$.result``, and a path below it.

    >>> CallReference.parse("$.result.order.id")
    CallReference(side='result', steps=('order', 'id'))
    """

    side: Literal["args", "result"]
    steps: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> CallReference:
        """Take a reference apart.

        Raises:
            ValueError: in words, with what to write instead where that can be told.
        """
        match = _REFERENCE.fullmatch(text)
        if match is None:
            raise ValueError(f"{_shown(text)!r} is no value of the call: {_instead_of(text)}")
        side: Literal["args", "result"] = "args" if match[1] == "args" else "result"
        return cls(side, FieldPath.parse(match[2]).steps if match[2] else ())

    def __str__(self) -> str:
        path = str(FieldPath(self.steps))
        return f"$.{self.side}{'.' * (path[:1] not in ('', '['))}{path}"


def is_reference(text: str) -> bool:
    """The text is meant to name a value of the call; any other stands for itself."""
    return text.startswith(("$.", *(f"{dollar}{side}{end}" for dollar in ("", "$") for side in SIDES for end in ".[")))


def _instead_of(text: str) -> str:
    match = _NEARLY.fullmatch(text)
    head, rest = (match[1], match[2]) if match is not None else ("", "")
    near = _MEANT.get(head) or next(iter(difflib.get_close_matches(head, SIDES, n=1, cutoff=0.4)), "")
    meant = f"$.{near}{'.' * (rest[:1] not in ('', '['))}{rest}"
    if near and _REFERENCE.fullmatch(meant):
        return f"did you mean {_shown(meant)!r}?"
    return "write it like '$.args.order_id' or '$.result.id'"


# --- The profile ---

_LONE = re.compile(r"[\ud800-\udfff]")
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")


def _quoted(text: str) -> str:
    """Text as YAML reads it back; a lone surrogate, which no message can hold, by its number."""
    if _PLAIN.fullmatch(text):
        return text
    return json.dumps(text, ensure_ascii=_LONE.search(text) is not None)


def _no_bare_text(value: Any) -> Any:
    """One text in place of a list is a slip; other values are left for pydantic to judge."""
    if isinstance(value, str):
        raise ValueError(f"is one text, and must be a list: write [{_quoted(_shown(value))}]")
    return value


def _is_path(text: str) -> str:
    FieldPath.parse(text)
    return text


def _names_something(alias: str) -> str:
    if not alias.strip("*"):
        raise ValueError(
            f"{alias[:_SHOWN]!r} claims every tool: write names, or patterns with more in them than stars, like "
            'shop_*; a profile for all tools that have none has name: "*"'
        )
    return alias


def _compiles(pattern: str, info: ValidationInfo) -> str:
    problem = regex_problem(pattern, info.data.get("regex_engine", "re2"))
    if problem is not None:
        raise ValueError(problem)
    return pattern


# Strict numbers: `true` and "10" are mistakes here, not the numbers 1 and 10.
Milliseconds = Annotated[float, Field(strict=True)]
Bytes = Annotated[int, Field(strict=True, ge=0)]
Flag = Annotated[bool, Field(strict=True)]
Name = Annotated[str, Field(min_length=1)]
Aliases = Annotated[tuple[Annotated[Name, AfterValidator(_names_something)], ...], BeforeValidator(_no_bare_text)]
FieldName = Annotated[str, AfterValidator(_is_path)]
FieldNames = Annotated[tuple[FieldName, ...], BeforeValidator(_no_bare_text)]
Names = Annotated[tuple[Name, ...], BeforeValidator(_no_bare_text)]
Patterns = Annotated[tuple[Annotated[Name, AfterValidator(_compiles)], ...], BeforeValidator(_no_bare_text)]


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class DeclaredEcho:
    """The place in a result that repeats an argument.

    Attributes:
        path: where in the result: ``order_id``, ``rows[].id``.
        rows: of several values there, whether ``any`` or ``every`` one must be the argument's; None: what every row of
            the past did.
    """

    path: FieldName
    rows: Literal["any", "every"] | None = None


def _two_numbers(value: Any) -> Any:
    """Refuse a range that is written in another way, and say how it is written."""
    if isinstance(value, (list, tuple)) and len(value) == 2:
        return value
    bounds = re.fullmatch(
        r"\s*(\d+(?:\.\d+)?)\s*(?:-|–|to|\.\.)\s*(\d+(?:\.\d+)?)\s*", value if isinstance(value, str) else ""
    )
    meant = "[50, 30000]" if bounds is None else f"[{bounds[1]}, {bounds[2]}]"
    raise ValueError(f"must be two numbers, the shortest and the longest time in milliseconds: write {meant}")


def _echo(value: Any) -> Any:
    """A path alone is a mapping that says no more."""
    if isinstance(value, str):
        return {"path": value}
    if isinstance(value, (Mapping, DeclaredEcho)):
        return value
    raise ValueError("must be a path like rows[].id, or a mapping with path and rows (any or every)")


def _as_written(echo: DeclaredEcho) -> str | dict[str, str]:
    return echo.path if echo.rows is None else {"path": echo.path, "rows": echo.rows}


def _arguments(value: Any) -> Any:
    """A list of arguments is a mapping that was not written out."""
    if isinstance(value, str) or (isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value)):
        names = [value] if isinstance(value, str) else value
        meant = ", ".join(f"{_quoted(name)}: {_quoted(name)}" for name in names[:3])
        raise ValueError(f"must map arguments to places in the result: write {{{meant}}}")
    return value


Echo = Annotated[
    DeclaredEcho,
    BeforeValidator(_echo),
    PlainSerializer(_as_written),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "object"}]}),
]


def _holds_references(value: Any) -> Any:
    """Parse every reference in a value of a declaration, at any depth, so that faults are told when it is read."""
    pending = [(value, 0)]
    while pending:
        item, level = pending.pop()
        if level > MAX_STEPS:
            raise ValueError(f"is nested more than {MAX_STEPS} levels deep")
        if isinstance(item, str) and is_reference(item):
            CallReference.parse(item)
        elif isinstance(item, Mapping):
            pending += [(inner, level + 1) for inner in item.values()]
        elif isinstance(item, (list, tuple)):
            pending += [(inner, level + 1) for inner in item]
    return value


def _same_names(value: Any) -> Any:
    """A list of fields is a mapping of each to itself."""
    if isinstance(value, str):
        raise ValueError(f"is one text, and must be a list or a mapping: write [{_quoted(_shown(value))}]")
    if isinstance(value, (list, tuple)) and all(isinstance(name, str) for name in value):
        return {name: name for name in value}
    return value


Template = Annotated[Any, AfterValidator(_holds_references)]
Seconds = Annotated[float, Field(strict=True, ge=0, le=600)]
Tolerance = Annotated[float, Field(strict=True, ge=0, lt=1)]
_ANOTHER_CALL: Final = ConfigDict(extra="forbid", allow_inf_nan=False)


@dataclass(frozen=True, config=_ANOTHER_CALL)
class DeclaredConfirmation:
    """The read-back of a call that writes: which tool is asked afterwards, and what it has to say.

    Texts in ``args`` and ``expect`` that begin with ``$.args`` or ``$.result`` are values of the call that is
    confirmed, with a path as everywhere in a profile: ``$.result.order.id``. All others stand for themselves.

    Attributes:
        tool: what reads; it must change nothing.
        args: its arguments.
        expect: the value at each path of what it answers. None: every argument of the confirmed call that the answer
            has a field of the same name for.
        tolerance: share of a number by which it may differ, in [0, 1).
        within: seconds in which what was written can be read; until then it is asked again, in [0, 600].
        timeout: seconds that one answer is waited for; None: without end, and in the thread of the call itself.
    """

    tool: Name
    args: Mapping[Name, Template]
    expect: Annotated[Mapping[FieldName, Template], Field(min_length=1)] | None = None
    tolerance: Tolerance = 0.0
    within: Seconds = 0.0
    timeout: Annotated[Seconds, Field(gt=0)] | None = 10.0


@dataclass(frozen=True, config=_ANOTHER_CALL)
class DeclaredSecondSource:
    """Another tool that is asked the same, and the fields in which the two must agree.

    Attributes:
        tool: the second source; it must change nothing.
        args: its arguments, with values of the call as in ``DeclaredConfirmation``.
        fields: path in the result to path in what the second source answers; a list where they have the same names.
        tolerance: share of a number by which it may differ, in [0, 1).
        timeout: as in ``DeclaredConfirmation``.
    """

    tool: Name
    args: Mapping[Name, Template]
    fields: Annotated[Mapping[FieldName, FieldName], Field(min_length=1), BeforeValidator(_same_names)]
    tolerance: Tolerance = 0.0
    timeout: Annotated[Seconds, Field(gt=0)] | None = 10.0


@dataclass(frozen=True, config=_ANOTHER_CALL)
class DeclaredRetry:
    """Calls made again by the guard.

    Attributes:
        attempts: calls in all, the first one too, in [2, 10].
    """

    attempts: Annotated[int, Field(strict=True, ge=2, le=10)]


class ToolProfile(BaseModel):
    """What real results of one tool look like, as its user declares it.

    Every field is optional but the name. A declared field, pattern, schema or bound is a *contract*: its violation
    is evidence that repetition does not wash away. Fields may be named by path: ``"quote.price"``, ``"rows[].id"``.

    >>> ToolProfile(name="search_web", required_fields=["results"]).expected_latency_ms
    (50.0, 30000.0)
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    name: Annotated[str, Field(min_length=1, description="The tool's name; `*` makes it a pattern.")]
    aliases: Aliases = Field(default=(), description="Other names of the same tool; `*` makes one a pattern.")
    description: str = Field(default="", description="For people; the engine does not read it.")
    does: Names = Field(
        default=(),
        description="Verbs, each with its object, for what a call does: `send email`. Claims are held to it.",
    )
    expected_latency_ms: Annotated[tuple[Milliseconds, Milliseconds], BeforeValidator(_two_numbers)] = Field(
        default=(50.0, 30000.0), description="Shortest and longest plausible execution time, in milliseconds."
    )
    required_fields: FieldNames = Field(default=(), description="Fields that every real result has.")
    forbidden_fields: FieldNames = Field(default=(), description="Fields that no real result has.")
    regex_engine: Literal["re2", "re"] = Field(
        default="re2",
        description="`re2` runs in linear time; `re` allows lookaround, and searches the first 20,000 bytes for a "
        "tenth of a second at most.",
    )
    response_patterns: Patterns = Field(
        default=(), description="Regular expressions; a real result matches at least one, as compact JSON or text."
    )
    min_response_length: Bytes | None = Field(default=None, description="Bytes of the result as compact JSON.")
    max_response_length: Bytes | None = Field(default=None, description="Bytes of the result as compact JSON.")
    max_bytes: Annotated[int, Field(ge=1_024)] = Field(
        default=16_777_216, description="Bytes of a result given as text beyond which it is not parsed."
    )
    max_nodes: Annotated[int, Field(ge=16)] = Field(
        default=1_500, description="Values of a result that are looked at; of a larger one, a sample."
    )
    has_network_io: Flag = Field(default=True, description="A call crosses a network, so it cannot be instant.")
    output_schema: dict[str, Any] | bool | None = Field(default=None, description="JSON Schema of a real result.")
    cacheable: Flag = Field(default=False, description="A cache may answer at once: no lower latency bound.")
    stateful: Flag = Field(default=False, description="The same arguments may rightly give other results.")
    idempotent: Flag = Field(default=False, description="A second call does no harm, so a guard may call again.")
    retry: DeclaredRetry | None = Field(
        default=None,
        description="`attempts`: how many calls a guard makes in all where one was blocked or reports an error; only "
        "with `idempotent: true`.",
    )
    confirm: DeclaredConfirmation | None = Field(
        default=None,
        description="The read-back after a call that writes: `tool`, `args`, and what it has to answer (`expect`, "
        "`tolerance`, `within`, `timeout`).",
    )
    against: DeclaredSecondSource | None = Field(
        default=None,
        description="A second source that is asked the same: `tool`, `args`, and the `fields` in which both must agree "
        "(`tolerance`, `timeout`).",
    )
    echoes: Annotated[Mapping[FieldName, Echo], BeforeValidator(_arguments)] = Field(
        default_factory=dict,
        description="Argument path to the result path that repeats its value; `path` and `rows` (any or every) say "
        "how many of several values must.",
    )
    allow_errors: Flag = Field(
        default=False, description="A result that reports an error is not held to the declared fields and schema."
    )
    max_blocks: Annotated[int, Field(strict=True, ge=0)] = Field(
        default=3, description="Calls of one lasting change that are blocked; those after them are flagged."
    )
    max_flags: Annotated[int, Field(strict=True, ge=1)] = Field(
        default=30,
        description="Calls of one lasting change that are flagged, where it may be genuine; then it is followed.",
    )
    on_change: Literal["follow", "hold"] = Field(
        default="follow",
        description="A lasting change that is probably genuine: follow it, or hold its calls back until a review.",
    )
    on_error: Literal["open", "closed"] = Field(
        default="open", description="When a check itself fails: go on without it, or block."
    )
    content: Mapping[str, Literal["flag", "block", "redact"]] = Field(
        default_factory=dict, description="Content scanners to run on results, and what a finding does."
    )

    signals: Names = Field(
        default=(), description="Signals of installed packages to run on this tool, by their entry points' names."
    )

    @property
    def acts(self) -> bool:
        """The profile says that a call does something: it has it read back, or denies that it is idempotent."""
        return self.confirm is not None or ("idempotent" in self.model_fields_set and not self.idempotent)

    @field_validator("signals")
    @classmethod
    def _each_once(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        twice = sorted({name for name in value if value.count(name) > 1})
        if twice:
            raise ValueError(f"{', '.join(map(repr, twice))} is named twice")
        return value

    @field_validator("expected_latency_ms")
    @classmethod
    def _ordered(cls, value: tuple[float, float]) -> tuple[float, float]:
        low, high = value
        if low < 0 or high <= low:
            raise ValueError(f"must be 0 <= minimum < maximum in milliseconds, not ({low:g}, {high:g})")
        return value

    @field_validator("forbidden_fields")
    @classmethod
    def _not_required_too(cls, value: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        both = sorted(set(value) & set(info.data.get("required_fields", ())))
        if both:
            raise ValueError(f"no result can satisfy this: {', '.join(map(repr, both))} is required too")
        return value

    @field_validator("retry")
    @classmethod
    def _harmless(cls, value: DeclaredRetry | None, info: ValidationInfo) -> DeclaredRetry | None:
        if value is not None and not info.data.get("idempotent"):
            raise ValueError("needs idempotent: true, for a second call must do no harm")
        return value

    @field_validator("confirm", "against")
    @classmethod
    def _asks_another(cls, value: Any, info: ValidationInfo) -> Any:
        if value is not None and value.tool in (info.data.get("name"), *info.data.get("aliases", ())):
            raise ValueError(f"asks the tool itself ({value.tool!r}), which must be another one")
        return value

    @field_validator("max_response_length")
    @classmethod
    def _not_below_minimum(cls, value: int | None, info: ValidationInfo) -> int | None:
        low = info.data.get("min_response_length")
        if value is not None and low is not None and value < low:
            raise ValueError(f"must be at least min_response_length ({low}), not {value}")
        return value

    @field_validator("content")
    @classmethod
    def _kinds_are_known(cls, value: Mapping[str, str]) -> Mapping[str, str]:
        unknown = sorted(set(value) - set(KINDS))
        if unknown:
            raise ValueError(f"no such content: {', '.join(map(repr, unknown))}; known are {', '.join(KINDS)}")
        return value

    @field_validator("output_schema")
    @classmethod
    def _schema_is_valid(
        cls, value: dict[str, Any] | bool | None, info: ValidationInfo
    ) -> dict[str, Any] | bool | None:
        if value is None:
            return None
        try:
            compiled(value, info.data.get("regex_engine", "re2"))
        except (ValueError, TypeError, OverflowError) as error:
            said = str(error).splitlines()[0] if str(error) else type(error).__name__
            path = list(getattr(error, "instance_path", ()))
            context = {"said": said, "where": path}
            raise PydanticCustomError("json_schema", "is not a valid JSON Schema: {said}", context) from None
        return value


def regex_problem(pattern: str, engine: str) -> str | None:
    """Why a pattern does not compile, or None."""
    try:
        if engine == "re":
            re.compile(pattern)
            backtracking(pattern)
            return None
        options = re2.Options()
        options.log_errors = False
        re2.compile(pattern, options=options)
        return None
    except (re.error, re2.error, RecursionError, OverflowError, ValueError) as error:
        message = error.args[0] if error.args else ""
        reason = message.decode("utf-8", "replace") if isinstance(message, bytes) else str(message)
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError):
        return f"{pattern!r} is not a regular expression: {reason}"
    return f"{pattern!r} needs what re2 does not have ({reason}); rewrite it or set regex_engine: re"


def parse_profile(
    data: Mapping[str, Any], source: str = "profile", lines: Mapping[tuple[str | int, ...], int] | None = None
) -> ToolProfile:
    """Build a profile from plain data and report every problem in it at once.

    Args:
        data: the profile's fields.
        source: what to call the data in messages, usually the file's name.
        lines: the line (1-based) of each key path, where the data came from a file.

    Raises:
        ProfileError: with one ``Problem`` for each fault.
    """
    try:
        return ToolProfile.model_validate(data)
    except ValidationError as error:
        raise ProfileError([_problem(item, source, lines or {}) for item in error.errors()]) from None


def _problem(item: Any, source: str, lines: Mapping[tuple[str | int, ...], int]) -> Problem:
    of_key = item["loc"][-1:] == ("[key]",)  # pydantic's mark on a mapping's key
    path = (*(item["loc"][:-1] if of_key else item["loc"]), *item.get("ctx", {}).get("where", ()))
    message = item["msg"].removeprefix("Value error, ")
    if item["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        message = _unknown(str(item["loc"][-1]), str(path[0]) if len(path) > 1 else "")
    elif item["type"] in ("bool_type", "int_type", "float_type") and isinstance(item["input"], str):
        meant = _UNQUOTED.get(item["input"].lower(), item["input"])
        message += f", not the text {_quoted(_shown(item['input']))}: write {_shown(meant)} without quotes"
    return Problem(source, _nearest_line(lines, path), ".".join(map(str, path)), message)


def _unknown(name: str, part: str) -> str:
    """Say that a field is unknown, and which one is probably meant.

    Args:
        name: the field.
        part: the field of the profile that it is written in; "" for the profile itself.
    """
    known = list(_PARTS.get(part, ())) if part else sorted(ToolProfile.model_fields)
    near = [_OTHERWISE[name]] if name in _OTHERWISE and not part else difflib.get_close_matches(name, known, n=1)
    if near:
        return f"unknown field; did you mean {near[0]!r}?"
    listed = f"known are {', '.join(known)}" if part else "docs/reference/profile.md lists the fields of a profile"
    return f"unknown field; {listed}"


#: What some call a field.
_OTHERWISE: Final = {"tool": "name", "tool_name": "name", "latency_ms": "expected_latency_ms"}
#: How YAML 1.2 writes what older YAML, and people, write otherwise.
_UNQUOTED: Final = {"yes": "true", "on": "true", "no": "false", "off": "false"}
#: The fields of what is an object in a profile.
_PARTS: Final[Mapping[str, tuple[str, ...]]] = {
    "echoes": ("path", "rows"),
    "retry": ("attempts",),
    "confirm": ("tool", "args", "expect", "tolerance", "within", "timeout"),
    "against": ("tool", "args", "fields", "tolerance", "timeout"),
}


def _nearest_line(lines: Mapping[tuple[str | int, ...], int], path: tuple[str | int, ...]) -> int | None:
    return next((lines[path[:k]] for k in range(len(path), -1, -1) if path[:k] in lines), None)


# --- Profiles from files ---


def load_profiles(path: str | PathLike[str] | None = None) -> list[ToolProfile]:
    """Read tool profiles from YAML files, one profile a file.

    A profile without a ``name`` takes its file's. No two profiles may claim the same name or alias, because only one
    of them could ever be found.

    Args:
        path: a file, or a folder whose ``*.yaml`` and ``*.yml`` files are read in the order of their names. None: the
            profiles shipped with agentguard.

    Raises:
        ConfigurationError: where there is no such path, or nothing in it to read.
        ProfileError: with every problem of every file, each with its file and line.

    >>> [profile.name for profile in load_profiles() if "tavily_search_results_json" in profile.aliases]
    ['tavily_search']
    """
    return [profile for profile, _ in read_profiles(path)]


def read_profiles(path: str | PathLike[str] | None = None) -> list[tuple[ToolProfile, RawFile]]:
    """Read profiles as ``load_profiles`` does, each with the file that it stands in and the lines of its fields."""
    from agentguard._yaml_files import read_profile_files  # with the YAML reader, which few imports need

    files, problems = read_profile_files(path)
    profiles: list[tuple[ToolProfile, RawFile]] = []
    claimed: dict[str, str] = {}
    for file in files:
        try:
            profile = parse_profile({"name": file.stem, **file.data}, file.source, file.lines)
        except ProfileError as error:
            problems += error.problems
            continue
        profiles.append((profile, file))
        problems += unknown_signals(profile, file.source, file.lines)
        for name, key in (
            (profile.name, ("name",)),
            *((name, ("aliases", k)) for k, name in enumerate(profile.aliases)),
        ):
            holder = claimed.setdefault(name, file.source)
            if holder != file.source:
                message = f"{name!r} is claimed by {holder} too; a tool name can have one profile"
                problems.append(Problem(file.source, line_of(file, key), ".".join(map(str, key)), message))
    problems += _misled(profiles)
    if problems:
        raise ProfileError(in_order(problems))
    return profiles


def _misled(profiles: list[tuple[ToolProfile, RawFile]]) -> Iterator[Problem]:
    """Read-backs that ask a tool whose name is likely misspelt, or one that writes. Tools need have no profile."""
    index = ProfileIndex(profile for profile, _ in profiles)
    names = sorted({name for profile, _ in profiles for name in (profile.name, *profile.aliases) if "*" not in name})
    for profile, file in profiles:
        for field in ("confirm", "against"):
            declared = getattr(profile, field)
            if declared is None:
                continue
            asked = index.find(declared.tool)
            near = difflib.get_close_matches(declared.tool, names, n=1, cutoff=0.8) if asked is None else []
            message = f"no profile is for a tool {declared.tool!r}; did you mean {near[0]!r}?" if near else ""
            if asked is not None and asked.acts:
                message = (
                    f"{declared.tool!r} is asked to read, and its own profile says that a call of it does something"
                )
            if message:
                yield Problem(file.source, line_of(file, (field, "tool")), f"{field}.tool", message)


def unknown_signals(
    profile: ToolProfile, source: str, lines: Mapping[tuple[str | int, ...], int] | None = None
) -> list[Problem]:
    """The signals that a profile names and no installed package offers; nothing is imported."""
    if not profile.signals:
        return []
    from agentguard._entry_points import offered  # which few profiles need

    signals = offered()
    return [
        Problem(source, _nearest_line(lines or {}, ("signals", k)), f"signals.{k}", fault)
        for k, name in enumerate(profile.signals)
        if (fault := signals.fault(name)) is not None
    ]


def in_order(problems: Iterable[Problem]) -> list[Problem]:
    """Problems by file and line."""
    return sorted(problems, key=lambda problem: (problem.source, problem.line or 0))


def profiles_in(given: str | PathLike[str] | Iterable[ToolProfile] | None) -> list[ToolProfile]:
    """The profiles that an engine is given: themselves, or those at a path.

    Raises:
        ConfigurationError: for anything else, or a path with nothing to read.
        ProfileError: as ``load_profiles``.
    """
    if given is None:
        return []
    if isinstance(given, str) or not isinstance(given, Iterable):
        return load_profiles(given)
    profiles = list(given)
    for profile in profiles:
        if not isinstance(profile, ToolProfile):
            raise ConfigurationError(f"profiles must be a path or ToolProfiles, not {type(profile).__name__}s")
    return profiles


def line_of(file: RawFile, key: tuple[str | int, ...]) -> int | None:
    """The line of a key path, or of the nearest above it."""
    return _nearest_line(file.lines, key)


MAX_CACHED = 10_000  # names of tools
MAX_CACHED_LENGTH = 256  # characters; a longer name is looked up afresh each time, so the cache stays small

_Pattern = tuple[tuple[str, ...], ToolProfile]  # the text between the stars, and whose it is


class ProfileIndex:
    """Finds the profile of a tool by name: exact name first, then alias, then the patterns.

    A name or alias with ``*`` is a pattern, in which ``*`` stands for any run of characters, also an empty one, and
    every other character for itself. Where several patterns match, the one with the most characters besides ``*``
    wins; between equals the one added last. Case counts. Safe to share between threads.

    >>> index = ProfileIndex([ToolProfile(name="search", aliases=["search_*", "*_news"])])
    >>> index.add(ToolProfile(name="search_new*"))
    >>> [found.name if (found := index.find(tool)) else None for tool in ("search", "search_news", "Search")]
    ['search', 'search_new*', None]
    """

    def __init__(self, profiles: Iterable[ToolProfile] = ()) -> None:
        """Start from these profiles; more can be added."""
        self._lock = forks.lock(forks.Rank.LEAF)
        self._profiles: dict[str, ToolProfile] = {}
        self._aliases: dict[str, ToolProfile] = {}
        self._patterns: tuple[_Pattern, ...] = ()
        self._cache: dict[str, ToolProfile | None] = {}
        for profile in profiles:
            self.add(profile)

    def add(self, profile: ToolProfile) -> None:
        """Add a profile; it replaces one of the same name, and takes over the aliases that it shares with others."""
        with self._lock:
            if profile.name in self._profiles:
                kept = [other for other in self._profiles.values() if other.name != profile.name]
                rebuilt = ProfileIndex([*kept, profile])
                self._profiles, self._aliases = rebuilt._profiles, rebuilt._aliases
                self._patterns = rebuilt._patterns
            else:
                self._profiles[profile.name] = profile
                self._aliases.update((alias, profile) for alias in profile.aliases if "*" not in alias)
                names = [name for name in (profile.name, *profile.aliases) if "*" in name]
                patterns = [(tuple(name.split("*")), profile) for name in names]
                # The most characters besides ``*`` first; of patterns equally long, the ones put in front stay there.
                patterns += self._patterns
                self._patterns = tuple(sorted(patterns, key=lambda pattern: -sum(map(len, pattern[0]))))
            # A new object, last of all: a lookup that began before this line writes into the old one.
            self._cache = {}

    def find(self, tool: str) -> ToolProfile | None:
        """The profile of a tool, or None where none matches. Costs one dictionary lookup for a name seen before."""
        cache = self._cache
        try:
            return cache[tool]
        except KeyError:
            match = self._profiles.get(tool) or self._aliases.get(tool)
        if match is None:
            match = next((profile for pieces, profile in self._patterns if _matches(tool, pieces)), None)
        if len(tool) <= MAX_CACHED_LENGTH:
            if len(cache) >= MAX_CACHED:
                cache.clear()
            cache[tool] = match
        return match

    def __iter__(self) -> Iterator[ToolProfile]:
        """The profiles, in the order of their addition."""
        return iter(tuple(self._profiles.values()))

    def __len__(self) -> int:
        """The number of profiles."""
        return len(self._profiles)


def _matches(tool: str, pieces: tuple[str, ...]) -> bool:
    """The text between the stars occurs in order; the first piece at the start, the last at the end.

    Taking the earliest place for each piece is enough, so nothing is ever tried twice.

    >>> _matches("get_weather_now", tuple("get_*_n*".split("*")))
    True
    """
    first, *middle, last = pieces
    if len(tool) < len(first) + len(last) or not tool.startswith(first) or not tool.endswith(last):
        return False
    position, end = len(first), len(tool) - len(last)
    for piece in middle:
        index = tool.find(piece, position, end)
        if index < 0:
            return False
        position = index + len(piece)
    return True
