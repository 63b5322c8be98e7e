"""Any object as JSON: always some JSON, the same for the same value, whatever the order of its keys."""

from __future__ import annotations

from typing import Any

import orjson

from agentguard.verification._canonical import args_key, as_name, digest, plain, serialise, weighs_too_much
from fuzz import grammar, objects
from fuzz.harness import Harness
from fuzz.trial import Trial, require

__all__ = ["HARNESSES"]

MOST_NAMED = 1_000


def _turned(value: Any, depth: int = 100) -> Any:
    """The same value, the keys of its dictionaries the other way round; not those that lie too deep to count."""
    if type(value) is dict and depth:
        return {key: _turned(value[key], depth - 1) for key in reversed(value)}
    return [_turned(item, depth - 1) for item in value] if type(value) is list and depth else value


def _canonical(trial: Trial) -> None:
    source = trial.source
    as_json = bool(source.integer(0, 1))
    value = grammar.value(source) if as_json else objects.anything(source)
    key = trial.call(args_key, value)
    require(len(key) == 16, "a key of another length")
    made = trial.call(plain, value)
    written = orjson.dumps(made)
    require(orjson.dumps(plain(made)) == written, "what is plain is made plainer")
    require(0 <= trial.call(digest, written) < 2**64, "a digest of another length")
    require(len(trial.call(as_name, value)) <= MOST_NAMED, "a name without bounds")
    if not trial.call(weighs_too_much, value):
        text, said = trial.call(serialise, value, again=False)
        require(isinstance(orjson.loads(text), object), "no JSON")
        require(orjson.dumps(said, option=orjson.OPT_NON_STR_KEYS) is not None, "what was written cannot be written")
    if as_json and source.chance(2):
        require(args_key(_turned(value)) == key, "the order of keys makes another key")


HARNESSES = (Harness("canonical", "canonical: serialise, plain, args_key, digest, as_name", _canonical),)
