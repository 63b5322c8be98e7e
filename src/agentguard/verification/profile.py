"""What a user declares about a tool. Unknown keys are refused; all problems of a profile are reported at once."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import re2
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
)
from pydantic_core import PydanticCustomError

from agentguard.content.results import KINDS
from agentguard.errors import Problem, ProfileError

if TYPE_CHECKING:
    import jsonschema_rs

__all__ = ["ToolProfile", "parse_profile", "schema_validator"]


def _one_or_many(value: Any) -> Any:
    """A single string is a list of one; anything else is left for pydantic to judge."""
    return (value,) if isinstance(value, str) else value


def _compiles(pattern: str, info: ValidationInfo) -> str:
    problem = regex_problem(pattern, info.data.get("regex_engine", "re2"))
    if problem is not None:
        raise ValueError(problem)
    return pattern


# Strict numbers: `true` and "10" are mistakes here, not the numbers 1 and 10.
Milliseconds = Annotated[float, Field(strict=True)]
Bytes = Annotated[int, Field(strict=True, ge=0)]
Name = Annotated[str, Field(min_length=1)]
Names = Annotated[tuple[Name, ...], BeforeValidator(_one_or_many)]
Patterns = Annotated[tuple[Annotated[Name, AfterValidator(_compiles)], ...], BeforeValidator(_one_or_many)]


class ToolProfile(BaseModel):
    """What real results of one tool look like, as its user declares it.

    Every field is optional but the name. A declared field, pattern, schema or bound is a *contract*: its violation
    is evidence that repetition does not wash away. Fields may be named by path: ``"quote.price"``, ``"rows[].id"``.

    >>> ToolProfile(name="search_web", required_fields=["results"]).expected_latency_ms
    (50.0, 30000.0)
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    name: Annotated[str, Field(min_length=1, description="The tool's name; `*` makes it a pattern.")]
    aliases: Names = Field(default=(), description="Other names of the same tool; `*` makes one a pattern.")
    description: str = Field(default="", description="For people; the engine does not read it.")
    expected_latency_ms: tuple[Milliseconds, Milliseconds] = Field(
        default=(50.0, 30000.0), description="Shortest and longest plausible execution time, in milliseconds."
    )
    required_fields: Names = Field(default=(), description="Fields that every real result has.")
    forbidden_fields: Names = Field(default=(), description="Fields that no real result has.")
    regex_engine: Literal["re2", "re"] = Field(
        default="re2", description="`re2` runs in linear time; `re` allows lookaround and reads the first 20,000 bytes."
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
    echoes: Mapping[str, str] = Field(
        default_factory=dict, description="Argument path to the result path that repeats its value."
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
            schema_validator(value, info.data.get("regex_engine", "re2"))
        except (ValueError, TypeError, OverflowError) as error:
            said = str(error).splitlines()[0] if str(error) else type(error).__name__
            where = list(getattr(error, "instance_path", ()))
            context = {"said": said, "where": where}
            raise PydanticCustomError("json_schema", "is not a valid JSON Schema: {said}", context) from None
        return value


def schema_validator(schema: dict[str, Any] | bool, regex_engine: str = "re2") -> jsonschema_rs.Validator:
    """The compiled form of ``output_schema``. It never reads another document, from the network or from disk.

    With ``re2`` the regular expressions in it run in linear time; with ``re`` they may look around, and backtrack.

    Raises:
        ValueError: where the schema is not one, refers to another document, or has a pattern that does not compile.

    >>> schema_validator({"type": "object"}).is_valid([])
    False
    """
    import jsonschema_rs  # takes 9 ms, and few profiles have a schema

    if regex_engine == "re2":
        return jsonschema_rs.validator_for(
            schema, retriever=_refuse_reference, pattern_options=jsonschema_rs.RegexOptions()
        )
    return jsonschema_rs.validator_for(schema, retriever=_refuse_reference)


def _refuse_reference(uri: str) -> Any:
    raise ValueError(f"{uri} is another document; write what it says into $defs")


def regex_problem(pattern: str, engine: str) -> str | None:
    """Why a pattern does not compile, or None."""
    try:
        if engine == "re":
            re.compile(pattern)
            return None
        options = re2.Options()
        options.log_errors = False
        re2.compile(pattern, options=options)
        return None
    except (re.error, re2.error, RecursionError, OverflowError) as error:
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
    where = (*item["loc"], *item.get("ctx", {}).get("where", ()))
    line = next((lines[where[:k]] for k in range(len(where), -1, -1) if where[:k] in lines), None)
    field = ".".join(map(str, where))
    if item["type"] == "extra_forbidden":
        return Problem(source, line, field, f"unknown field; known are {', '.join(sorted(ToolProfile.model_fields))}")
    return Problem(source, line, field, item["msg"].removeprefix("Value error, "))
