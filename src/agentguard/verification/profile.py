"""What a user declares about a tool. Unknown keys are refused; all problems of a profile are reported at once."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

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

from agentguard.content.results import KINDS
from agentguard.errors import Problem, ProfileError

from .field_path import FieldPath
from .json_schema import schema_validator
from .output_schema import compiled
from .patterns import backtracking

__all__ = ["DeclaredEcho", "ToolProfile", "parse_profile", "schema_validator"]

_SHOWN = 80  # characters of a faulty value in a message
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
        shown = value if len(value) <= _SHOWN else f"{value[:_SHOWN]}…"
        raise ValueError(f"is one text, and must be a list: write [{_quoted(shown)}]")
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
Name = Annotated[str, Field(min_length=1)]
Aliases = Annotated[tuple[Annotated[Name, AfterValidator(_names_something)], ...], BeforeValidator(_no_bare_text)]
FieldName = Annotated[str, AfterValidator(_is_path)]
FieldNames = Annotated[tuple[FieldName, ...], BeforeValidator(_no_bare_text)]
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
    expected_latency_ms: tuple[Milliseconds, Milliseconds] = Field(
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
    has_network_io: bool = Field(default=True, description="A call crosses a network, so it cannot be instant.")
    output_schema: dict[str, Any] | bool | None = Field(default=None, description="JSON Schema of a real result.")
    cacheable: bool = Field(default=False, description="A cache may answer at once: no lower latency bound.")
    stateful: bool = Field(default=False, description="The same arguments may rightly give other results.")
    idempotent: bool = Field(default=False, description="A second call does no harm, so a guard may call again.")
    echoes: Annotated[Mapping[FieldName, Echo], BeforeValidator(_arguments)] = Field(
        default_factory=dict,
        description="Argument path to the result path that repeats its value; `path` and `rows` (any or every) say "
        "how many of several values must.",
    )
    allow_errors: bool = Field(
        default=False, description="A result that reports an error is not held to the declared fields and schema."
    )
    max_blocks: Annotated[int, Field(strict=True, ge=0)] = Field(
        default=3, description="Calls of one lasting change that are blocked; those after them are flagged."
    )
    adopt_after: Annotated[int, Field(strict=True, ge=1)] | None = Field(
        default=None, description="Calls after which a lasting change is taken for genuine without a review."
    )
    on_error: Literal["open", "closed"] = Field(
        default="open", description="When a check itself fails: go on without it, or block."
    )
    content: Mapping[str, Literal["flag", "block", "redact"]] = Field(
        default_factory=dict, description="Content scanners to run on results, and what a finding does."
    )

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
            where = list(getattr(error, "instance_path", ()))
            context = {"said": said, "where": where}
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
        said = error.args[0] if error.args else ""
        reason = said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
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
    where = (*(item["loc"][:-1] if of_key else item["loc"]), *item.get("ctx", {}).get("where", ()))
    line = next((lines[where[:k]] for k in range(len(where), -1, -1) if where[:k] in lines), None)
    field = ".".join(map(str, where))
    if item["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        known = sorted(ToolProfile.model_fields) if len(where) == 1 else ["path", "rows"]
        return Problem(source, line, field, f"unknown field; known are {', '.join(known)}")
    return Problem(source, line, field, item["msg"].removeprefix("Value error, "))
