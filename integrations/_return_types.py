"""A function's return annotation as the JSON Schema that its results are held to."""

from __future__ import annotations

import collections.abc
import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from types import FunctionType, GenericAlias
from typing import Any, Final, get_args, get_origin, get_type_hints

import orjson
from pydantic import TypeAdapter
from pydantic.errors import PydanticInvalidForJsonSchema, PydanticSchemaGenerationError, PydanticUserError
from pydantic.json_schema import GenerateJsonSchema

from agentguard.errors import ConfigurationError
from agentguard.verification import VerificationEngine
from agentguard.verification._contract import Contract

#: In the description of a profile that was made here, by which it is known again.
DERIVED: Final = "Held to the return annotation of "

_AWAITED: Final = (collections.abc.Awaitable, collections.abc.Coroutine)
_GENERATORS: Final = (
    collections.abc.Iterator, collections.abc.Generator, collections.abc.AsyncIterator, collections.abc.AsyncGenerator,
    collections.abc.AsyncIterable,
)  # fmt: skip
#: Texts of these formats are no JSON, so a result that is one stays a text.
_NO_JSON: Final = frozenset({"date", "date-time", "time", "duration", "uuid"})
_DECORATIONS: Final = frozenset({"title", "description", "default", "examples", "deprecated"})


class _Schemas(GenerateJsonSchema):
    """JSON Schemas without the pattern of decimals: that of older versions of pydantic is none to our validators."""

    def decimal_schema(self, schema: Any) -> dict[str, Any]:
        made = super().decimal_schema(schema)
        return {name: value for name, value in made.items() if name != "pattern"}


def declare_return_type(engine: VerificationEngine, tool: str, function: Callable[..., Any]) -> None:
    """Hold a tool to the return annotation of its function, unless its profile has an ``output_schema`` already.

    Raises:
        ConfigurationError: for an annotation that says nothing of a result's form, or cannot be understood.
    """
    schema = schema_of(function, tool)
    profile = engine.profile_of(tool)
    own, derived, _ = profile.description.partition(DERIVED)  # derived: the function is defined again
    if profile.output_schema is not None and not derived:
        return
    declared = frozenset() if profile == Contract.unregistered(tool).profile else profile.model_fields_set
    fields = {name: getattr(profile, name) for name in declared - {"name", "description"}}
    if profile.name != tool:  # it is that of an alias or a pattern, and stays that of the others
        fields.pop("aliases", None)
    where = f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', tool)}"
    engine.register_tool_profile(
        tool, **{**fields, "output_schema": schema, "description": f"{own.strip()} {DERIVED}{where}.".strip()}
    )


def schema_of(function: Callable[..., Any], tool: str) -> dict[str, Any]:
    """The JSON Schema of what a function returns, as the engine reads it: awaited, and a generator's items as a list.

    Raises:
        ConfigurationError: as ``declare_return_type``.

    >>> def count(word: str) -> dict[str, int]: ...
    >>> schema_of(count, "count")
    {'additionalProperties': {'type': 'integer'}, 'type': 'object'}
    """
    annotation = _returned(_annotation(function, tool))
    try:
        schema = TypeAdapter(annotation).json_schema(mode="serialization", by_alias=False, schema_generator=_Schemas)
    except (PydanticSchemaGenerationError, PydanticInvalidForJsonSchema, PydanticUserError) as error:
        reason = str(error).splitlines()[0]
        raise _unusable(tool, f"{_written(annotation)} has no JSON Schema ({reason})") from None
    if not schema.keys() - _DECORATIONS:
        raise _unusable(tool, f"{_written(annotation)} says nothing of a result")
    if any(_may_be_json(part) for part in _alternatives(schema, schema.get("$defs", {}))):
        raise _unusable(tool, f"{_written(annotation)} may be text, which is read as JSON where it is JSON")
    return schema


def _unusable(tool: str, what: str) -> ConfigurationError:
    return ConfigurationError(
        f"guarded(types='check') cannot check {tool!r}: {what}; annotate what it returns more exactly, as with a "
        "TypedDict, or declare it in the tool's profile and leave types='check' out"
    )


def _annotation(function: Callable[..., Any], tool: str) -> Any:
    """The return annotation, with every name in it resolved."""
    try:
        annotation = inspect.signature(function).return_annotation
    except (TypeError, ValueError):
        annotation = inspect.Signature.empty
    if annotation is inspect.Signature.empty:
        raise _unusable(tool, "it has no return annotation")

    def stub() -> None: ...

    stub.__annotations__ = {"return": annotation}
    try:
        return get_type_hints(stub, _globals_of(function), include_extras=True)["return"]
    except Exception as error:
        shown = _written(annotation)
        what = f"{shown} cannot be resolved ({error}); names in it have to be those of the function's module"
        raise _unusable(tool, what) from None


def _globals_of(function: Any) -> dict[str, Any]:
    while isinstance(function, functools.partial):
        function = function.func
    function = inspect.unwrap(function)
    function = getattr(function, "__func__", function)
    if not isinstance(function, FunctionType):
        function = getattr(type(function).__call__, "__func__", type(function).__call__)
    return getattr(function, "__globals__", {})


def _returned(annotation: Any) -> Any:
    """Take the annotation of a result that was awaited, or of a generator that was read to its end."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in _AWAITED and arguments:
        return _returned(arguments[-1])
    if origin in _GENERATORS and arguments:
        return GenericAlias(list, (arguments[0],))
    return list[Any] if annotation in _GENERATORS else annotation


def _alternatives(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    """The schemas of which a result may keep any one."""
    pending, seen = [schema], set()
    while pending:
        part = pending.pop()
        reference = part.get("$ref")
        if isinstance(reference, str):
            name = reference.removeprefix("#/$defs/")
            if name not in seen and name in definitions:
                seen.add(name)
                pending.append(definitions[name])
            continue
        several = [*part.get("anyOf", ()), *part.get("oneOf", ())]
        pending += several
        if not several:
            yield part


def _may_be_json(schema: Mapping[str, Any]) -> bool:
    """A text that keeps this schema may be read as JSON, and so as something else than a text."""
    named = schema.get("enum", [schema["const"]] if "const" in schema else None)
    if named is not None:
        return any(isinstance(text, str) and _is_json(text) for text in named)
    return not schema.keys() - _DECORATIONS or (schema.get("type") == "string" and schema.get("format") not in _NO_JSON)


def _is_json(text: str) -> bool:
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError:
        return False
    return True


def _written(annotation: Any) -> str:
    return annotation.__name__ if isinstance(annotation, type) and not get_args(annotation) else f"{annotation}"
