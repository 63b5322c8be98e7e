"""Files of declarations: profiles, calibrations, the gate's configuration. Refused aloud, with lines, or read."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from agentguard.calibration import parse_label
from agentguard.calibration._labels import read_label
from agentguard.errors import ConfigurationError, DataError, FileProblems, ProfileError
from agentguard.gate._config import load_config, parse_config
from agentguard.verification import VerificationEngine, load_profiles
from agentguard.verification._calibration import load_calibration, parse_calibration
from agentguard.verification.profile import ToolProfile, parse_profile
from fuzz import grammar, tokens
from fuzz.harness import Harness, folder, written
from fuzz.source import Source
from fuzz.trial import Trial, encodable, require

__all__ = ["HARNESSES"]

PROFILE_FIELDS = tuple(ToolProfile.model_fields)
CALIBRATION_FIELDS = (
    *("version", "all", "tools", "made_from", "prior", "accept_below", "block_at", "max_false_block_rate"),
    *("likelihood_ratios", "schema_mismatch", "labels", "until"),
)
GATE_FIELDS = (
    *("use_case", "doc_sources", "type", "path", "url", "urls", "include", "bucket", "prefix", "model", "provider"),
    *("evaluation", "num_prompts", "prompt_categories", "prompts", "responses", "passages", "risk_tolerance"),
    *("deploy_threshold", "warn_threshold", "chunking", "judge", "embeddings", "evidence", "folder", "max_concurrency"),
)
VALUES = (
    *(
        "t",
        "re2",
        "re",
        "open",
        "local",
        "http",
        "s3",
        "rules",
        "(?=x)",
        "(a+)+$",
        "[",
        "*",
        "a.b",
        "rows[].id",
        "../x",
    ),
    *("https://x.org", "http://[::1", "file:///etc/passwd", "\\d{1000}{1000}", "\\p{Greek}", "$ref", "0.1", "true"),
)


def _data(source: Source, fields: tuple[str, ...], depth: int = 3) -> Any:
    """A mapping of fields, known ones most of the time, to values that may fit."""
    kind = source.integer(0, 9)
    if depth and source.left and kind < 4:
        made = {}
        for _ in range(source.integer(0, 6)):
            made[source.choice(fields) if source.integer(0, 7) else grammar.key(source)] = _data(
                source, fields, depth - 1
            )
        return made
    if depth and kind < 6:
        return [_data(source, fields, depth - 1) for _ in range(source.integer(0, 3))]
    if kind == 6:
        return grammar.number(source)
    return source.choice(VALUES) if kind < 9 else grammar.value(source, 1)


def _yaml(source: Source, fields: tuple[str, ...]) -> bytes:
    """A file: a mapping written as JSON (which is YAML), a block mapping, or pieces of YAML."""
    how = source.integer(0, 3)
    if how == 0:
        try:
            made = json.dumps(_mapping(source, fields), ensure_ascii=bool(source.integer(0, 1)))
        except (ValueError, RecursionError):  # an integer of more digits than Python writes, or too deep a value
            made = '{"name": ' + "9" * 5_000 + "}"
        return grammar.bytes_of(source, made)
    if how == 1:
        lines = []
        for _ in range(source.integer(1, 8)):
            indent = "  " * source.integer(0, 2)
            said = grammar.text(source, (tokens.YAML, tokens.NUMBERS, tokens.DATES, VALUES), 2)
            lines.append(f"{indent}{'- ' if source.chance(4) else ''}{source.choice(fields)}: {said}")
        return grammar.bytes_of(source, "\n".join(lines))
    return grammar.bytes_of(
        source, grammar.text(source, (tokens.YAML, tokens.YAML, fields, tokens.UNICODE, tokens.JSON))
    )


def _mapping(source: Source, fields: tuple[str, ...]) -> dict[str, Any]:
    made = _data(source, fields)
    return made if isinstance(made, dict) else {source.choice(fields): made}


def _problems_hold(error: FileProblems, lines: int) -> None:
    require(bool(error.problems), "an error without a problem")
    require(encodable(str(error)), "the message cannot be printed")
    require(len(str(error)) < 200_000, f"the message has {len(str(error)):,} characters")
    for problem in error.problems:
        require(bool(problem.message), "a problem without a message")
        require(problem.line is None or 1 <= problem.line <= lines, f"line {problem.line} of {lines}")


def _file(
    trial: Trial, fields: tuple[str, ...], load: Callable[[Path], Any], named: str, error: type[BaseException]
) -> Any:
    given = trial.source.verbatim()
    data = _yaml(trial.source, fields) if given is None else given
    path = written(named, data)
    found = trial.call(load, path, allowed=(error, ConfigurationError), of=data)
    if isinstance(found, FileProblems):
        # YAML ends lines at more signs than an editor does, and counts one more where the text has ended.
        ends = sum(
            data.decode(name, "replace").count(end) for name in ("utf-8", "utf-16") for end in "\n\r\x85\u2028\u2029"
        )
        _problems_hold(found, ends + 2)
    return found


def _profiles(trial: Trial) -> None:
    source = trial.source
    if source.chance(3):
        data = _mapping(source, PROFILE_FIELDS)
        data.setdefault("name", "t")
        found: Any = trial.call(parse_profile, data, allowed=ProfileError)
        profiles = [found] if isinstance(found, ToolProfile) else []
    else:
        found = _file(trial, PROFILE_FIELDS, load_profiles, "profile.yaml", ProfileError)
        profiles = found if isinstance(found, list) else []
    if profiles:  # what was read can be used, and says itself again
        require([parse_profile(each.model_dump()) for each in profiles] == profiles, "a profile read again is another")
        engine = trial.call(VerificationEngine, profiles=profiles, allowed=ProfileError, again=False)
        if not isinstance(engine, VerificationEngine):
            require(any(each.signals for each in profiles), "a profile without signals of others cannot be used")
            return
        verdict = trial.call(engine.verify, profiles[0].name, result={"a": 1}, again=False)
        require(0.0 <= verdict.posterior <= 1.0, "no probability")


def _calibration(trial: Trial) -> None:
    source = trial.source
    kind = source.integer(0, 3)
    if kind == 3:
        label = trial.call(read_label, grammar.bytes_of(source, grammar.json_text(source)), "labels", 1)
        require(encodable(str(getattr(label, "reason", ""))), "the reason cannot be printed")
        data = {
            "tool": "t",
            "confidence_score": 0.5,
            "was_hallucination": True,
            grammar.key(source): grammar.value(source, 2),
        }
        fields = ("propensity", "prior", "nats", "verdict", "call_id", "confidence_score", "tool", "was_hallucination")
        data[source.choice(fields)] = grammar.value(source, 2)
        trial.call(parse_label, data, allowed=DataError)
        return
    if kind == 2:
        data = {"version": 1, **_mapping(source, CALIBRATION_FIELDS)}
        trial.call(parse_calibration, data, allowed=ProfileError)
    else:
        found = _file(trial, CALIBRATION_FIELDS, load_calibration, "calibration.yaml", ProfileError)
        if not isinstance(found, BaseException):  # what was read can be used
            engine = VerificationEngine(calibration=folder() / "calibration.yaml")
            require(0.0 <= engine.verify("t", result=1).posterior <= 1.0, "no probability")


def _gate_config(trial: Trial) -> None:
    source = trial.source
    if source.chance(3):
        data = {"use_case": "help", "doc_sources": [_data(source, GATE_FIELDS, 1)], **_mapping(source, GATE_FIELDS)}
        parse: Callable[..., Any] = partial(parse_config, folder="/nowhere")
        found = trial.call(parse, data, allowed=FileProblems)
    else:
        found = _file(trial, GATE_FIELDS, load_config, ".llm-reliability.yaml", FileProblems)
    if not isinstance(found, BaseException):
        require(found.digest == found.digest, "two digests of one configuration")


HARNESSES = (
    Harness("profiles", "load_profiles, parse_profile, yaml_files; what was read is put to use", _profiles),
    Harness("calibration", "load_calibration, parse_calibration, parse_label, read_label", _calibration),
    Harness("gate_config", "load_config, parse_config", _gate_config),
)
