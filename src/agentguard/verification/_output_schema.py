"""A profile's ``output_schema``, compiled into whatever holds a result against it in bounded time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from functools import lru_cache
from itertools import combinations
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import unquote

import orjson

from agentguard._limits import LIMITS
from agentguard.verification.types import NotLookedAt

if TYPE_CHECKING:
    import jsonschema_rs


MOST_SEARCHED: Final = 20_000  # bytes of a text that a pattern is looked for in by backtracking


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


def backtracking(pattern: str) -> Any:
    """A pattern of Python's syntax, whose search can be stopped; raises ``regex.error`` where it is none."""
    import regex  # takes 20 ms, and few profiles have such patterns

    return regex.compile(pattern, regex.VERSION0)


# --- How long it takes: whether holding a result against a schema may take far longer than the two are long ---
#
# A validator walks a schema along with the result, and where two branches of an ``anyOf`` lead to the same part of the
# schema at the same place of the result, it walks that part twice. In a schema that refers to itself it does so again
# one level below: two to the power of the result's depth. ``Expression = And | Or``, both with operands that are
# expressions, is such a schema.
#
# The schema is taken for an automaton: a state for each part, a transition for each step into the result (a key, an
# element). Where no two steps that may be the same one lead from a state on a cycle back to a cycle, each place of the
# result is reached by one way. The others are walked with a bound, which is right and slower.

MOST_ROUTES: Final = 1_000  # to what a part of the schema holds against the same place of a result
MOST_IN_ALL: Final = 10_000  # to all parts of a schema without cycles
MOST_SEARCH_STEPS: Final = 1_000_000  # of the search
ANY, LATER, NAMES = "any", "later", "names"

_LISTS: Final = ("allOf", "anyOf", "oneOf")
_SINGLES: Final = ("not", "if", "then", "else")
_MAPS: Final = ("dependentSchemas", "dependencies")
#: What refers to other parts of a schema in ways that are not followed here.
_UNUSUAL: Final = ("$dynamicRef", "$recursiveRef", "$anchor", "$dynamicAnchor")
#: What makes an object refer to others, whatever it means there.
_REFERRING: Final = ("$ref", *_UNUSUAL)


class _Untold(Exception):
    """The number of routes cannot be told, or not soon enough."""


class _Step(NamedTuple):
    """A step from a value to one within it, and the part of the schema that holds there.

    Attributes:
        kind: ``key``, ``element``, ``names`` (of the keys themselves).
        which: the key, the element's number; ``any`` for all, ``later`` for all but ``others``.
        others: the keys that are others', or how many elements are.
        target: the part of the schema.
    """

    kind: str
    which: str | int
    others: frozenset[str] | int
    target: Any

    def meets(self, other: _Step) -> bool:
        """Whether some step is both."""
        if self.kind != other.kind:
            return False
        if self.which == ANY or other.which == ANY:
            return True
        if self.which == LATER:
            return other.which == LATER or _is_beyond(other.which, self.others)
        return self.which == other.which if other.which != LATER else _is_beyond(self.which, other.others)


def _is_beyond(which: str | int, others: frozenset[str] | int) -> bool:
    if isinstance(others, int):
        return not isinstance(which, int) or which >= others
    return which not in others


def takes_too_many_routes(schema: Any) -> bool:
    """A part of the schema may be held against the same place of a result more than a thousand times.

    Also where that cannot be told: a schema with anchors, dynamic references or parts with an ``$id`` of their own.

    >>> tree = {"properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}}}
    >>> takes_too_many_routes(tree), takes_too_many_routes({"anyOf": [tree, {"type": "null"}]})
    (False, False)
    >>> takes_too_many_routes({"anyOf": [tree, {**tree, "required": ["right"]}]})
    True
    """
    if not isinstance(schema, dict) or not any(name in part for part in objects_in(schema) for name in _REFERRING):
        return False  # it is a tree, and walked as often as it is large
    try:
        return _Automaton(schema).is_ambiguous()
    except (_Untold, RecursionError):
        return True


class _Automaton:
    """A schema as states and steps; a state is the ``id`` of a part of the schema."""

    def __init__(self, root: dict[str, Any]) -> None:
        self._root = root
        self._left = MOST_SEARCH_STEPS
        self._steps: dict[int, list[_Step]] = {}
        pending = [root]
        while pending:
            part = pending.pop()
            if id(part) not in self._steps:
                parts: list[dict[str, Any]] = []
                self._in_place(part, (), parts)
                steps = [step for each in parts for step in self._into(each)]
                self._spend(len(parts) + len(steps))
                self._steps[id(part)] = steps
                pending += [step.target for step in steps]

    def _spend(self, steps: int) -> None:
        self._left -= steps
        if self._left < 0:
            raise _Untold

    def _in_place(self, part: Any, above: tuple[int, ...], parts: list[dict[str, Any]]) -> None:
        """All that holds at the same place of a result, each as often as there are routes to it."""
        if not isinstance(part, dict) or id(part) in above:
            return
        if len(parts) >= MOST_ROUTES or any(name in part for name in _UNUSUAL) or (above and "$id" in part):
            raise _Untold
        parts.append(part)
        inside = (*above, id(part))
        if "$ref" in part:
            self._in_place(self._resolved(part["$ref"]), inside, parts)
        for name in _LISTS:
            for each in _listed(part.get(name)):
                self._in_place(each, inside, parts)
        for name in _SINGLES:
            self._in_place(part.get(name), inside, parts)
        for name in _MAPS:
            for each in _mapped(part.get(name)).values():
                self._in_place(each, inside, parts)

    def _resolved(self, reference: Any) -> Any:
        if not isinstance(reference, str) or not (reference == "#" or reference.startswith("#/")):
            raise _Untold
        part: Any = self._root
        for step in reference.split("/")[1:]:
            name = unquote(step).replace("~1", "/").replace("~0", "~")
            try:
                part = part[int(name)] if isinstance(part, list) else part[name]
            except (LookupError, ValueError, TypeError):
                raise _Untold from None
        return part

    @staticmethod
    def _into(part: dict[str, Any]) -> Iterator[_Step]:
        """The steps from a value to those within it."""
        nothing: frozenset[str] = frozenset()
        named = _mapped(part.get("properties"))
        for name, each in named.items():
            if isinstance(each, dict):
                yield _Step("key", f"={name}", nothing, each)  # a key may be called "any"
        for each in _mapped(part.get("patternProperties")).values():
            if isinstance(each, dict):
                yield _Step("key", ANY, nothing, each)
        if isinstance(part.get("additionalProperties"), dict):
            others = frozenset(f"={name}" for name in named)
            yield _Step("key", LATER, others, part["additionalProperties"])
        if isinstance(part.get("propertyNames"), dict):
            yield _Step("names", ANY, nothing, part["propertyNames"])
        for name, kind in (
            ("unevaluatedProperties", "key"),
            ("contains", "element"),
            ("unevaluatedItems", "element"),
        ):
            if isinstance(part.get(name), dict):
                yield _Step(kind, ANY, nothing, part[name])
        first = [*_listed(part.get("prefixItems")), *_listed(part.get("items"))]
        for number, each in enumerate(first):
            if isinstance(each, dict):
                yield _Step("element", number, 0, each)
        for name in ("items", "additionalItems"):
            if isinstance(part.get(name), dict):
                yield _Step("element", LATER, len(first), part[name])

    def is_ambiguous(self) -> bool:
        """Whether two steps from one state may be the same step of a value and both lead back to a cycle.

        Also where the schema, written out, has too many parts.
        """
        lasting = self._lasting()
        for state in lasting:
            steps = [step for step in self._steps[state] if id(step.target) in lasting]
            self._spend(len(steps) ** 2)
            if any(one.meets(other) for one, other in combinations(steps, 2)):
                return True
        return self._routes(self._root, {}) > MOST_IN_ALL

    def _lasting(self) -> set[int]:
        """The states on cycles, and those on the way from one to another."""
        after = {state: {id(step.target) for step in steps} for state, steps in self._steps.items()}
        left = set(after)
        while True:
            self._spend(len(left))
            entered = {target for state in left for target in after[state]}
            kept = {state for state in left if state in entered and not left.isdisjoint(after[state])}
            if kept == left:
                return left
            left = kept

    def _routes(self, part: Any, known: dict[int, int]) -> int:
        """Count the parts of the schema, written out where it refers to others, cycles once."""
        state = id(part)
        if state not in known:
            known[state] = 0  # of a cycle
            parts: list[dict[str, Any]] = []
            self._in_place(part, (), parts)
            below = sum(self._routes(step.target, known) for step in self._steps[state])
            known[state] = min(len(parts) + below, MOST_IN_ALL + 1)
        return known[state]


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _mapped(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


# --- The walk: a schema held against a value in bounded time, however often its parts refer to one another ---
#
# What a reference says of a place in the value is worked out once and remembered, so that the time is that of all parts
# of the schema times all places of the value, and a budget of steps bounds that. ``jsonschema`` does the walking; it is
# a hundred times slower than the validator that ordinary schemas are compiled to.

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


_RUN: ContextVar[_Run] = ContextVar("agentguard_schema_run")


def spend(steps: int) -> None:
    """Count steps of the walk that is under way; raises ``NotLookedAt`` where there are none left."""
    run = _RUN.get()
    run.left -= steps
    if run.left < 0:
        raise NotLookedAt(f"output_schema takes more than {MOST_STEPS:,} steps on it")


class WalkedSchema:
    """A valid schema, which refers to no other document, ready to be walked.

    ``matches`` decides on patterns; ``compiled`` is the validator of ordinary schemas, which decides on ``format`` and
    ``uniqueItems``.

    Raises:
        ValueError: for a combination of keywords that cannot be held to a bound.
    """

    def __init__(self, schema: dict[str, Any], matches: Matches, compiled: Compile) -> None:
        from jsonschema import validators as drafts  # with what it loads, which only such a schema needs
        from jsonschema.validators import Draft202012Validator
        from referencing import Registry

        base = drafts.validator_for(schema, default=Draft202012Validator)
        # It would have the parts that refer to the whole walked by the draft's own class, without a bound.
        schema = {name: value for name, value in schema.items() if name != "$schema"}
        names = {name for part in objects_in(schema) for name in part}
        if any(isinstance(part.get("$schema"), str) for part in objects_in(schema)):
            raise ValueError("has a part with a $schema of its own, beside parts that refer to one another")
        if names & {"unevaluatedProperties", "unevaluatedItems"} and "patternProperties" in names:
            raise ValueError(
                "has unevaluated… beside patternProperties, which takes time without a bound where parts meet"
            )
        keywords = {**base.VALIDATORS, **_bounded_keywords(base, matches, compiled)}
        if names & set(_UNSAID):
            keywords["$ref"] = base.VALIDATORS["$ref"]
        numbers = base.TYPE_CHECKER.redefine("number", lambda _, value: _is_number(value))
        made = drafts.extend(base, {name: _counted(keyword) for name, keyword in keywords.items()}, None, numbers)
        self._validator = made(schema, registry=Registry())

    def departure(self, value: Any) -> tuple[str, str] | None:
        """The path at which a value departs from the schema, and the rule that it breaks; None where it does not.

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
    """A keyword whose every use is a step of the walk."""

    def counted(validator: Any, rule: Any, value: Any, schema: Any) -> Iterable[Any] | None:
        spend(1 + (len(rule) // MEMBERS if isinstance(rule, (list, dict)) else 0))
        return keyword(validator, rule, value, schema)

    return counted


def _bounded_keywords(base: Any, matches: Matches, compiled: Compile) -> dict[str, Keyword]:
    """The keywords that ``jsonschema`` would take time without a bound for, by name."""
    from jsonschema.exceptions import ValidationError

    def reference(validator: Any, rule: Any, value: Any, schema: Any) -> Iterator[Any]:
        # Worked out once for each part of the schema that refers and each part of the value.
        known = _RUN.get().known
        key = (id(schema), id(value))
        if key not in known:
            known[key] = True  # of a reference that leads back to itself: it says nothing more
            error = next(iter(base.VALIDATORS["$ref"](validator, rule, value, schema) or ()), None)
            if error is None:
                return
            known[key] = False
            yield error
        elif not known[key]:
            yield ValidationError("as before")

    def pattern(validator: Any, rule: Any, value: Any, schema: Any) -> Iterator[Any]:
        if isinstance(value, str) and not matches(rule, value):
            yield ValidationError("another form")

    def pattern_properties(validator: Any, rule: Any, value: Any, schema: Any) -> Iterator[Any]:
        if not isinstance(value, dict):
            return
        spend(len(rule) * len(value))
        for pattern, below in rule.items():
            for key, item in value.items():
                if matches(pattern, key):
                    yield from validator.descend(item, below, path=key, schema_path=pattern)

    def additional_properties(validator: Any, rule: Any, value: Any, schema: Any) -> Iterator[Any]:
        if not isinstance(value, dict):
            return
        named, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
        spend(len(value) * (1 + len(patterns)))
        for key, item in value.items():
            if key in named or any(matches(pattern, key) for pattern in patterns):
                continue
            if rule is False:
                yield ValidationError("a key too many")
            elif rule is not True:
                yield from validator.descend(item, rule, path=key)

    def as_compiled(name: str) -> Keyword:
        """A keyword as the validator of ordinary schemas has it."""
        known: dict[Any, Callable[[Any], bool]] = {}
        dialect = {"$schema": base.ID_OF(base.META_SCHEMA)}

        def keyword(validator: Any, rule: Any, value: Any, schema: Any) -> Iterator[Any]:
            if rule not in known:
                known[rule] = compiled({**dialect, name: rule})
            if not known[rule](value):
                yield ValidationError(name)

        return keyword

    return {
        "$ref": reference,
        "pattern": pattern,
        "patternProperties": pattern_properties,
        "additionalProperties": additional_properties,
        "uniqueItems": as_compiled("uniqueItems"),
        "format": as_compiled("format"),
    }


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


# --- The compiled schema ---

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

    A schema that a validator may walk without end (see ``takes_too_many_routes``) is walked by ``WalkedSchema``, and so
    is one with patterns that need backtracking. ``is_valid`` is False where only ``departure`` can tell.

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
        self.is_valid: Callable[[Any], bool] = self._validator.is_valid if self._walked is None else lambda value: False

    def departure(self, value: Any, size: int) -> str:
        """Say where and why a value departs from the schema; "" where it does not.

        ``size`` is that of its JSON, in bytes.

        Raises:
            NotLookedAt: where that cannot be told within bounds.
        """
        if self._walked is not None:
            departure = self._walked.departure(value)
            if departure is None:
                return ""
            path, rule = departure
        elif self._branches and size > EXPLAINED:
            return "does not match output_schema"
        else:
            path, rule = self._reason(value)
        return f"{path or 'the result'} breaks output_schema at {rule}" if rule else "does not match output_schema"

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
