"""The fields of a profile and of a gate's configuration, from the models that read them."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, get_args, get_origin

from markdown_text import cell, prose, table
from pydantic import BaseModel

from agentguard.gate._config import GateConfig
from agentguard.verification import ToolProfile

__all__ = ["gate_fields", "profile_fields"]


def profile_fields() -> str:
    """A row for each field of a profile."""
    return _table(ToolProfile)


def gate_fields() -> str:
    """The fields at the top of the file, then a section for each object in it."""
    parts = [_table(GateConfig)]
    for name, model in _sections(GateConfig):
        parts += [f"## `{name}`", prose(model.__doc__ or ""), _table(model)]
    return "\n\n".join(parts)


def _table(model: type[BaseModel]) -> str:
    schema = model.model_json_schema()
    described = _attributes(model)
    rows = []
    for name, field in model.model_fields.items():
        if field.exclude:
            continue
        default = "required" if field.is_required() else _default(field)
        sections = list(_models(field.annotation))
        meaning = field.description or described.get(name, "")
        if len(sections) == 1:
            meaning = inspect.cleandoc(sections[0].__doc__ or "").split("\n\n")[0]
        elif sections:
            meaning = f"{meaning.rstrip('.')}; one of {len(sections)} types, below"
        kind = _kind(schema["properties"][name], schema.get("$defs", {}))
        rows.append([f"`{name}`", cell(kind), default, cell(meaning).replace("``", "`")])
    return table(["field", "value", "default", "meaning"], rows)


def _default(field: Any) -> str:
    value = field.get_default(call_default_factory=True)
    if isinstance(value, BaseModel):
        return "as below"
    return "none" if value in (None, (), {}, "") else f"`{json.dumps(value)}`"


def _kind(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> str:
    """What may stand there, in words."""
    if "$ref" in schema:
        return _kind(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    if "anyOf" in schema or "oneOf" in schema:
        kinds = [_kind(one, definitions) for one in (*schema.get("anyOf", ()), *schema.get("oneOf", ()))]
        return " or ".join(dict.fromkeys(kind for kind in kinds if kind != "null"))
    if "enum" in schema or "const" in schema:
        return " or ".join(json.dumps(value) for value in schema.get("enum", [schema.get("const")]))
    kind = schema.get("type", "any")
    if kind == "array":
        if "prefixItems" in schema:
            return f"[{', '.join(_kind(item, definitions) for item in schema['prefixItems'])}]"
        return f"list of {_kind(schema['items'], definitions)}s"
    if kind == "object":
        values = schema.get("additionalProperties")
        return f"object of {_kind(values, definitions)}" if isinstance(values, dict) else "object"
    named = {"string": "text", "boolean": "true or false"}.get(kind, kind)
    return f"{named}{_limits(schema)}"


def _limits(schema: Mapping[str, Any]) -> str:
    signs = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}
    said = [f"{sign} {schema[key]:,}" for key, sign in signs.items() if key in schema]
    return f" ({', '.join(said)})" if said else ""


def _attributes(model: type[BaseModel]) -> dict[str, str]:
    """What the docstring says of the fields under ``Attributes:``."""
    found: dict[str, str] = {}
    _, _, section = inspect.cleandoc(model.__doc__ or "").partition("Attributes:\n")
    for entry in re.split(r"\n(?=    \S)", section):
        names, _, said = entry.partition(": ")
        for name in names.replace(",", " ").split():
            found[name] = " ".join(said.split())
    for base in model.__bases__:
        if issubclass(base, BaseModel) and base is not BaseModel:
            found = {**_attributes(base), **found}
    return found


def _sections(model: type[BaseModel]) -> Iterator[tuple[str, type[BaseModel]]]:
    """The models below this one, each under its place in the file; where several may stand there, one after another."""
    for name, field in model.model_fields.items():
        models = list(_models(field.annotation))
        for section in models:
            kinds = get_args(section.model_fields["type"].annotation) if "type" in section.model_fields else ()
            place = f"{name}[]" if get_origin(field.annotation) is tuple else name
            yield (f"{place} of type {' or '.join(kinds)}" if kinds else place), section
            yield from ((f"{place}.{below}", model_below) for below, model_below in _sections(section))


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if get_origin(annotation) is None:
        if inspect.isclass(annotation) and issubclass(annotation, BaseModel):
            yield annotation
        return
    for argument in get_args(annotation):
        yield from _models(argument)
