"""What models and their clients answer: evaluations of a session, responses of any client, what is kept of a model."""

from __future__ import annotations

import json
import math
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

from agentguard.convergence import parse_reply
from agentguard.errors import DataError
from agentguard.health import _baseline as baseline
from agentguard.health import _measuring as measuring
from fuzz import grammar, tokens
from fuzz.harness import Harness
from fuzz.source import Source
from fuzz.trial import Trial, encodable, require

__all__ = ["HARNESSES"]

TEXT = (
    tokens.JSON,
    tokens.WORDS,
    tokens.MARKDOWN,
    tokens.UNICODE,
    ("<think>", "</think>", "<reasoning", "</thinking >", '{"passed": true}', '{"passed": "false",}', "```json\n"),
)
FIELDS = ("passed", "confidence", "reasoning", "evidence", "qualityScore", "categoryScores", "gaps", "SECURITY")
SAID = (True, False, "false", " FALSE ", "true", 0, 1, 1.0, 0.5, 100, "high", [], ["a"], {}, {"SECURITY": 90}, None)


def _reply(source: Source) -> str:
    kind = source.integer(0, 3)
    if kind == 0:
        return grammar.text(source, TEXT)
    made: dict[str, Any] = {"passed": source.choice(SAID)}
    for _ in range(source.integer(0, 5)):
        made[source.choice(FIELDS)] = source.choice(SAID) if source.integer(0, 2) else grammar.value(source, 2)
    written = "{}"
    with suppress(ValueError, RecursionError):  # what cannot be written is in no reply
        written = json.dumps(made, separators=source.choice((None, (",", ":"), (" ,\n", " : "))))
    if kind == 1:
        return written
    around = grammar.text(source, TEXT, 4), grammar.text(source, TEXT, 4)
    if kind == 2 and len(written) > 2:
        at = source.integer(0, len(written) - 1)
        written = written[:at] + source.choice(tokens.JSON) + written[at + source.integer(0, 2) :]
    return around[0] + written + around[1]


def _evaluation(trial: Trial) -> None:
    text = _reply(trial.source)
    found = trial.call(parse_reply, text, allowed=DataError)
    if isinstance(found, DataError):
        require(encodable(str(found)), "the reason cannot be printed")
        return
    require(found.passed in (True, False) and isinstance(found.reasoning, str), "an evaluation of other types")
    scores = [each for each in (found.quality_score, *found.category_scores.values()) if each is not None]
    require(all(0.0 <= score <= 100.0 for score in scores), f"scores {scores}")
    quoted = trial.call(parse_reply, text, evaluated=[text], allowed=DataError)
    require(isinstance(quoted, DataError), "what stands in the evaluated text counts as an answer")


KEYS = ("text", "content", "choices", "message", "delta", "usage", "usage_metadata", "output_tokens", "tool_calls")


def _response(source: Source, depth: int = 4) -> Any:
    kind = source.integer(0, 7)
    if not depth or kind > 5:
        return grammar.value(source, 1)
    if kind == 5:
        return [_response(source, depth - 1) for _ in range(source.integer(0, 3))]
    made = {source.choice(KEYS): _response(source, depth - 1) for _ in range(source.integer(1, 3))}
    return SimpleNamespace(**made) if kind == 4 else made


def _client(trial: Trial) -> None:
    source = trial.source
    found = trial.call(measuring.read, _response(source))
    require(found.text is None or type(found.text) is str, "a text of another type")
    require(found.tokens is None or found.tokens >= 0, "fewer tokens than none")
    _learned(trial)


def _learned(trial: Trial) -> None:
    """What is kept of a model, with a part of it exchanged."""
    source = trial.source
    kept = baseline.encode("m", baseline.Levels(calls=source.integer(0, 300)))
    learned = kept["learned"]
    for _ in range(source.integer(0, 3)):
        name = source.choice(tuple(learned))
        level = learned[name]
        if isinstance(level, dict) and level and source.integer(0, 3):
            part = source.choice(tuple(level))
            figures = [grammar.number(source) for _ in range(source.integer(0, 2))]
            learned[name] = {**level, part: figures if source.integer(0, 1) else grammar.value(source, 1)}
        else:
            learned[name] = grammar.value(source, 2)
    levels = trial.call(baseline.decode, kept, allowed=DataError)
    if isinstance(levels, DataError):
        require(encodable(str(levels)), "the reason cannot be printed")
        return
    require(levels.calls >= 0 and levels.errors >= 0, "fewer calls than none")
    require(baseline.decode(baseline.encode("m", levels)) == levels, "what is read again is another")
    figures = [figure for level in levels if isinstance(level, tuple) for part in level for figure in _figures(part)]
    require(all(map(math.isfinite, figures)), "a figure is not finite")


def _figures(part: Any) -> tuple[float, ...]:
    return tuple(each for each in part if isinstance(each, float)) if isinstance(part, tuple) else ()


HARNESSES = (
    Harness("evaluations", "convergence.parse_reply", _evaluation),
    Harness("client_replies", "health._measuring.read, health._baseline.decode and encode", _client),
)
