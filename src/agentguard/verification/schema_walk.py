"""A JSON Schema held against a value in bounded time, however often its parts refer to one another.

What a reference says of a place in the value is worked out once and remembered, so that the time is that of all parts
of the schema times all places of the value, and a budget of steps bounds that. ``jsonschema`` does the walking; it is
a hundred times slower than the validator that ordinary schemas are compiled to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from typing import Any, Final

from agentguard.limits import LIMITS

from .unread import NotLookedAt

__all__ = ["Matches", "WalkedSchema", "objects_in", "parts_in", "spend"]

#: Whether a text matches a pattern.
Matches = Callable[[str, str], bool]
#: Compiles a schema without references: to whether a value satisfies it.
Compile = Callable[[dict[str, Any]], Callable[[Any], bool]]

MOST_STEPS: Final = LIMITS.values  # keywords of the schema, each held against one place of the value
MEMBERS: Final = 16  # of a keyword's list that count as one step
_UNSAID: Final = ("$dynamicRef", "$recursiveRef")  # what they refer to depends on the way that led to them


class _Run:
    """One holding of the schema against a value: the steps that are left, and what is known already."""

    def __init__(self) -> None:
        self.left = MOST_STEPS
        self.known: dict[tuple[int, int], bool] = {}

    def spend(self, steps: int) -> None:
        self.left -= steps
        if self.left < 0:
            raise NotLookedAt(f"output_schema takes more than {MOST_STEPS:,} steps on it")


_RUN: ContextVar[_Run] = ContextVar("agentguard_schema_run")


def spend(steps: int) -> None:
    """Count steps of the walk that is under way.

    Raises:
        NotLookedAt: where there are none left.
    """
    _RUN.get().spend(steps)


class WalkedSchema:
    """A schema, ready to be walked.

    Args:
        schema: a valid one, which refers to no other document.
        matches: decides on patterns.
        compiled: the validator of ordinary schemas, which decides on ``format`` and ``uniqueItems``.

    Raises:
        ValueError: for a combination of keywords that cannot be held to a bound.
    """

    def __init__(self, schema: dict[str, Any], matches: Matches, compiled: Compile) -> None:
        from jsonschema import validators as drafts  # with what it loads, which only such a schema needs
        from jsonschema.validators import Draft202012Validator
        from referencing import Registry

        base = drafts.validator_for(schema, default=Draft202012Validator)
        # It would have the parts that refer to the whole walked by the draft's own class, without a bound.
        schema = {name: said for name, said in schema.items() if name != "$schema"}
        names = {name for part in objects_in(schema) for name in part}
        if any(isinstance(part.get("$schema"), str) for part in objects_in(schema)):
            raise ValueError("has a part with a $schema of its own, beside parts that refer to one another")
        if names & {"unevaluatedProperties", "unevaluatedItems"} and "patternProperties" in names:
            raise ValueError(
                "has unevaluated… beside patternProperties, which takes time without a bound where parts meet"
            )
        dialect = {"$schema": base.ID_OF(base.META_SCHEMA)}
        keywords = dict(base.VALIDATORS)
        keywords["pattern"] = _pattern(matches)
        keywords["patternProperties"] = _pattern_properties(matches)
        keywords["additionalProperties"] = _additional_properties(matches)
        keywords["uniqueItems"] = _by(compiled, dialect, "uniqueItems")
        keywords["format"] = _by(compiled, dialect, "format")
        if not names & set(_UNSAID):
            keywords["$ref"] = _remembered(base.VALIDATORS["$ref"])
        numbers = base.TYPE_CHECKER.redefine("number", lambda _, value: _is_number(value))
        made = drafts.extend(base, {name: _counted(keyword) for name, keyword in keywords.items()}, None, numbers)
        self._validator = made(schema, registry=Registry())

    def departure(self, value: Any) -> tuple[str, str] | None:
        """Where a value departs from the schema, and the rule that it breaks; None where it does not.

        Raises:
            NotLookedAt: where that cannot be told within the bounds.
        """
        token = _RUN.set(_Run())
        try:
            error = next(self._validator.iter_errors(value), None)
        except RecursionError:
            raise NotLookedAt("nested too deeply for output_schema") from None
        finally:
            _RUN.reset(token)
        if error is None:
            return None
        return ".".join(map(str, error.absolute_path)), "/".join(map(str, error.absolute_schema_path))


Keyword = Callable[[Any, Any, Any, Any], Iterable[Any] | None]


def _counted(keyword: Keyword) -> Keyword:
    def held(validator: Any, said: Any, value: Any, schema: Any) -> Iterable[Any] | None:
        spend(1 + (len(said) // MEMBERS if isinstance(said, (list, dict)) else 0))
        return keyword(validator, said, value, schema)

    return held


def _remembered(refer: Keyword) -> Keyword:
    """``$ref``, worked out once for each place in the schema that refers and each place of the value."""

    def held(validator: Any, said: Any, value: Any, schema: Any) -> Iterator[Any]:
        from jsonschema.exceptions import ValidationError

        known = _RUN.get().known
        place = (id(schema), id(value))
        if place not in known:
            known[place] = True  # of a reference that leads back to itself: it says nothing more
            error = next(iter(refer(validator, said, value, schema) or ()), None)
            if error is None:
                return
            known[place] = False
            yield error
        elif not known[place]:
            yield ValidationError("as before")

    return held


def _pattern(matches: Matches) -> Keyword:
    def held(validator: Any, said: Any, value: Any, schema: Any) -> Iterator[Any]:
        from jsonschema.exceptions import ValidationError

        if isinstance(value, str) and not matches(said, value):
            yield ValidationError("another form")

    return held


def _pattern_properties(matches: Matches) -> Keyword:
    def held(validator: Any, said: Any, value: Any, schema: Any) -> Iterator[Any]:
        if not isinstance(value, dict):
            return
        spend(len(said) * len(value))
        for pattern, below in said.items():
            for key, item in value.items():
                if matches(pattern, key):
                    yield from validator.descend(item, below, path=key, schema_path=pattern)

    return held


def _additional_properties(matches: Matches) -> Keyword:
    def held(validator: Any, said: Any, value: Any, schema: Any) -> Iterator[Any]:
        from jsonschema.exceptions import ValidationError

        if not isinstance(value, dict):
            return
        named, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
        spend(len(value) * (1 + len(patterns)))
        for key, item in value.items():
            if key in named or any(matches(pattern, key) for pattern in patterns):
                continue
            if said is False:
                yield ValidationError("a key too many")
            elif said is not True:
                yield from validator.descend(item, said, path=key)

    return held


def _by(compiled: Compile, dialect: dict[str, Any], name: str) -> Keyword:
    """A keyword as the validator of ordinary schemas has it."""
    known: dict[Any, Callable[[Any], bool]] = {}

    def held(validator: Any, said: Any, value: Any, schema: Any) -> Iterator[Any]:
        from jsonschema.exceptions import ValidationError

        if said not in known:
            known[said] = compiled({**dialect, name: said})
        if not known[said](value):
            yield ValidationError(name)

    return held


def _is_number(value: Any) -> bool:
    """JSON's numbers are finite."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value - value == 0


def objects_in(schema: Any) -> Iterator[dict[str, Any]]:
    """All objects in a schema, whatever they are there."""
    return (part for part in parts_in(schema) if isinstance(part, dict))


def parts_in(schema: Any) -> Iterator[Any]:
    """All values in a schema, itself among them; what stands there many times as often."""
    pending: list[Any] = [schema]
    while pending:
        part = pending.pop()
        yield part
        if isinstance(part, dict):
            pending += part.values()
        elif isinstance(part, list):
            pending += part
