"""JSON Schemas as ``jsonschema_rs`` compiles them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import jsonschema_rs

__all__ = ["schema_validator"]


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
