"""The gate's own files: prompt sets, recorded answers, and the bodies of its records."""

from __future__ import annotations

import json
from contextlib import suppress
from functools import partial
from typing import Any

from agentguard.errors import ConfigurationError, DataError, FileProblems, StoreError
from agentguard.gate.models._targets import RecordedTarget, read_prompt_set
from agentguard.gate.records._base import Event, decode_body, decode_summary, encode_body
from fuzz import grammar, tokens
from fuzz.harness import Harness, written
from fuzz.source import Source
from fuzz.trial import Trial, encodable, require

__all__ = ["HARNESSES"]

FIELDS = ("prompt", "text", "id", "category", "response")


def _rows(source: Source) -> list[dict[str, Any]]:
    rows = []
    for number in range(source.integer(0, 4)):
        row: dict[str, Any] = {"prompt": f"What is {number}?", "response": grammar.text(source, most=3)}
        for _ in range(source.integer(0, 3)):
            row[source.choice(FIELDS)] = grammar.name(source) if source.integer(0, 2) else grammar.value(source, 2)
        rows.append(row)
    return rows


def _file(source: Source, *, lines: bool) -> bytes:
    given = source.verbatim()
    if given is not None:
        return given
    if source.chance(3):
        return grammar.bytes_of(source, grammar.text(source, (tokens.YAML, tokens.JSON, FIELDS, tokens.UNICODE)))
    rows = _rows(source)
    ascii_only = bool(source.integer(0, 1))
    try:
        made = "\n".join(json.dumps(row, ensure_ascii=ascii_only) for row in rows) if lines else json.dumps(rows)
    except (ValueError, RecursionError):  # an integer of more digits than Python writes, or too deep a value
        made = '{"prompt": ' + "9" * 5_000 + "}"
    return grammar.bytes_of(source, made)


def _refusal_holds(found: Any) -> None:
    if isinstance(found, BaseException):
        require(encodable(str(found)) and len(str(found)) < 200_000, "the message cannot be printed")
        require(not isinstance(found, FileProblems) or bool(found.problems), "an error without a problem")


def _prompts(trial: Trial) -> None:
    suffix = trial.source.choice((".yaml", ".jsonl", ".txt"))
    data = _file(trial.source, lines=suffix != ".yaml")
    path = written(f"prompts{suffix}", data)
    found = trial.call(read_prompt_set, path, allowed=ConfigurationError, of=data)
    _refusal_holds(found)
    if not isinstance(found, BaseException):
        prompts = found.prompts
        require(
            bool(prompts) and len({prompt.id for prompt in prompts}) == len(prompts), "ids that are not each one's own"
        )
        require(all(encodable(prompt.text) and prompt.text.strip() for prompt in prompts), "a prompt that says nothing")
        require(bool(found.name) and found.title.isprintable(), "a set that cannot be named")


def _answers_of(path: Any) -> Any:
    target = RecordedTarget(path)
    return target.prompts, target.respond(target.prompts)


def _recorded(trial: Trial) -> None:
    data = _file(trial.source, lines=True)
    found = trial.call(_answers_of, written("answers.jsonl", data), allowed=ConfigurationError, of=data)
    _refusal_holds(found)
    if not isinstance(found, BaseException):
        prompts, answers = found
        require(len(prompts) == len(answers) > 0, "a prompt without its answer")
        require(all(map(encodable, answers)), "an answer that cannot be written")


def _bodies(trial: Trial) -> None:
    source = trial.source
    planted = grammar.json_text(source) if source.integer(0, 1) else grammar.text(source)
    body = trial.call(decode_body, planted, allowed=StoreError)
    require(isinstance(body, dict | StoreError), "a body that is no object")
    summary = {"run_id": "r1", "started": 1.0, "status": "finished", grammar.key(source): grammar.value(source, 1)}
    with suppress(ValueError, RecursionError):  # what cannot be written is in no record
        trial.call(decode_summary, json.dumps(summary), allowed=StoreError)
    trial.call(decode_summary, planted, allowed=StoreError)
    event = Event(source.choice(("failed", "claims", grammar.name(source))), 1.0, grammar.value(source))
    kept = trial.call(partial(encode_body, event), of=event.body, allowed=DataError)
    if isinstance(kept, str):
        require(kept.isascii(), "a body that is no ASCII")
        require(encode_body(Event("again", 1.0, decode_body(kept))) == kept, "a body read back is another")


HARNESSES = (
    Harness("prompt_sets", "read_prompt_set: YAML, JSON Lines, text", _prompts),
    Harness("recorded_answers", "RecordedTarget", _recorded),
    Harness("run_records", "encode_body, decode_body, decode_summary", _bodies),
)
