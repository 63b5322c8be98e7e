"""A profile's ``output_schema``, compiled into whatever holds a result against it in bounded time."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

import orjson

from agentguard.limits import LIMITS

from .json_schema import schema_validator
from .patterns import MOST_SEARCHED
from .schema_routes import takes_too_many_routes
from .schema_walk import WalkedSchema, objects_in, parts_in, spend
from .unread import NotLookedAt

__all__ = ["OutputSchema", "compiled"]

MOST_BACKTRACKS: Final = 20_000  # of the search for one pattern in one text
SEARCH: Final = 20  # steps that such a search counts for, and as many more as it is
SQUARE: Final = 10_000  # times as long as this is, squared: a look ahead from each place takes that
EXPLAINED: Final = 1 << 17  # bytes of a result for which all branches of a schema are gone through for a reason
_BRANCHES: Final = frozenset({"anyOf", "oneOf"})


@lru_cache(maxsize=256)  # tools that share a profile share what is compiled
def _of_text(text: bytes, engine: str) -> OutputSchema:
    return OutputSchema(orjson.loads(text), engine)


def compiled(schema: dict[str, Any] | bool, engine: str) -> OutputSchema:
    """The schema, compiled; a schema that was compiled before is not compiled again.

    Raises:
        ValueError: where it is none, or cannot be held to a bound.
    """
    if any(number >= LIMITS.values for number, _ in enumerate(parts_in(schema))):
        raise ValueError(f"it has more than {LIMITS.values:,} parts, or holds itself")
    try:
        return _of_text(orjson.dumps(schema), engine)
    except TypeError:  # no JSON throughout, an integer beyond 64 bits for one
        return OutputSchema(schema, engine)


class OutputSchema:
    """A JSON Schema, compiled.

    A schema that a validator may walk without end (see ``schema_routes``) is walked by ``schema_walk``, and so is one
    with patterns that need backtracking.

    Args:
        schema: the schema.
        engine: the profile's ``regex_engine``.

    Attributes:
        is_valid: a value satisfies the schema; False where only ``departure`` can tell.

    Raises:
        ValueError: where it is none, or cannot be held to a bound.

    >>> schema = OutputSchema({"properties": {"id": {"type": "integer"}}}, "re2")
    >>> schema.is_valid({"id": 1}), schema.departure({"id": "x"}, 10)
    (True, 'id breaks output_schema at properties/id/type')
    """

    def __init__(self, schema: dict[str, Any] | bool, engine: str) -> None:
        is_linear = engine == "re2" or _compiles(schema)
        self._walked: WalkedSchema | None = None
        self._validator = schema_validator(schema, "re2" if is_linear else engine)
        self._branches = any(not _BRANCHES.isdisjoint(part) for part in objects_in(schema))
        if isinstance(schema, dict) and (not is_linear or takes_too_many_routes(schema)):
            self._walked = WalkedSchema(schema, _linear_matches if is_linear else _backtracking_matches, _checked)
        self.is_valid: Callable[[Any], bool] = self._validator.is_valid if self._walked is None else _unknown

    def departure(self, value: Any, size: int) -> str:
        """Where and why a value departs from the schema that is not known to be valid; "" where it does not.

        Args:
            value: the value.
            size: of its JSON, in bytes.

        Raises:
            NotLookedAt: where that cannot be told within bounds.
        """
        if self._walked is not None:
            found = self._walked.departure(value)
            if found is None:
                return ""
            where, rule = found
        elif self._branches and size > EXPLAINED:
            return "does not match output_schema"
        else:
            where, rule = self._reason(value)
        return f"{where or 'the result'} breaks output_schema at {rule}" if rule else "does not match output_schema"

    def _reason(self, value: Any) -> tuple[str, str]:
        import jsonschema_rs

        try:
            self._validator.validate(value)
        except jsonschema_rs.ValidationError as error:
            return ".".join(map(str, error.instance_path)), "/".join(map(str, error.schema_path))
        return "", ""


def _compiles(schema: dict[str, Any] | bool) -> bool:
    """Its patterns, if it has any, need no backtracking."""
    try:
        schema_validator(schema, "re2")
    except ValueError:
        return False
    return True


def _unknown(value: Any) -> bool:
    return False


def _checked(schema: dict[str, Any]) -> Callable[[Any], bool]:
    return schema_validator(schema, "re2").is_valid


@lru_cache(maxsize=1_024)
def _linear(pattern: str) -> Callable[[Any], bool]:
    return _checked({"pattern": pattern})


def _linear_matches(pattern: str, text: str) -> bool:
    return _linear(pattern)(text)


@lru_cache(maxsize=1_024)
def _backtracking(pattern: str) -> Any:
    import jsonschema_rs

    options = jsonschema_rs.FancyRegexOptions(backtrack_limit=MOST_BACKTRACKS)
    return jsonschema_rs.validator_for({"pattern": pattern}, pattern_options=options)


def _backtracking_matches(pattern: str, text: str) -> bool:
    import jsonschema_rs

    if len(text) > MOST_SEARCHED:
        raise NotLookedAt(f"a text of more than {MOST_SEARCHED:,} characters under a pattern of regex_engine: re")
    spend(SEARCH + len(text) ** 2 // SQUARE)
    validator = _backtracking(pattern)
    if validator.is_valid(text):
        return True
    try:
        validator.validate(text)
    except jsonschema_rs.ValidationError as error:
        if "BacktrackLimit" in type(error.kind).__name__:
            raise NotLookedAt(f"a pattern was not searched to its end in {MOST_BACKTRACKS:,} steps") from None
    return False
