"""``.llm-reliability.yaml`` read into a ``GateConfig``: every fault at once, each with its line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Final, get_args, get_origin

from pydantic import BaseModel, ValidationError

from agentguard._yaml_files import Subject, read_yaml_file
from agentguard.errors import FileProblems, Problem
from agentguard.gate.config import GateConfig

__all__ = ["CONFIG_NAME", "load_config", "parse_config"]

CONFIG_NAME: Final = ".llm-reliability.yaml"
_SUBJECT = Subject("gate configuration", "use_case: customer support")
_SOURCE_KINDS = frozenset({"local", "http", "https", "url", "s3"})


def load_config(path: str | PathLike[str] = CONFIG_NAME) -> GateConfig:
    """Read a gate's configuration.

    Args:
        path: the file; the relative paths in it begin at its folder.

    Raises:
        ConfigurationError: where there is no such file.
        FileProblems: with every problem of the file, each with its line.
    """
    raw, problems = read_yaml_file(path, _SUBJECT)
    if raw is None:
        raise FileProblems(problems)
    try:
        config = GateConfig.model_validate({**raw.data, "folder": Path(path).absolute().parent})
    except ValidationError as error:
        problems += [_problem(fault, raw.source, raw.lines) for fault in error.errors(include_url=False)]
    if "folder" in raw.data:
        problems.append(Problem(raw.source, raw.lines.get(("folder",)), "folder", "is no field of the file"))
    if problems:
        raise FileProblems(sorted(problems, key=lambda problem: problem.line or 0))
    return config


def parse_config(data: Mapping[str, Any], folder: str | PathLike[str] = ".") -> GateConfig:
    """A gate's configuration from plain data.

    Raises:
        FileProblems: with every problem.

    >>> parse_config({"use_case": "help desk", "num_prompts": 5})
    Traceback (most recent call last):
    agentguard.errors.FileProblems: configuration has 2 problems:
      configuration: doc_sources: is missing
      configuration: num_prompts: is unknown here; did you mean evaluation.num_prompts?
    """
    try:
        return GateConfig.model_validate({**data, "folder": Path(folder).absolute()})
    except ValidationError as error:
        raise FileProblems(
            [_problem(fault, "configuration", {}) for fault in error.errors(include_url=False)]
        ) from None


def _problem(fault: Any, source: str, lines: Mapping[tuple[str | int, ...], int]) -> Problem:
    place = tuple(fault["loc"])
    if place[:1] == ("doc_sources",) and len(place) > 2 and place[2] in _SOURCE_KINDS:
        place = place[:2] + place[3:]  # the kind of source, which pydantic puts between its number and its field
    line = next((lines[place[:end]] for end in range(len(place), -1, -1) if place[:end] in lines), None)
    return Problem(source, line, ".".join(map(str, place)), _message(fault, place))


def _message(fault: Any, place: Sequence[str | int]) -> str:
    kind = fault["type"]
    if kind == "missing":
        return "is missing"
    if kind == "extra_forbidden":
        known = [name for name in _places_of(str(place[-1])) if name.split(".")[0] != place[0]]
        return f"is unknown here; did you mean {' or '.join(known)}?" if known else "is unknown"
    if kind == "union_tag_invalid":
        return f"type {fault['ctx']['tag']!r} is not known; known are local, http and s3"
    if kind == "union_tag_not_found":
        return "needs a type: local, http or s3"
    if kind == "value_error":
        return str(fault["ctx"]["error"])
    said = str(fault["msg"])
    return said[:1].lower() + said[1:]


def _places_of(name: str, model: type[BaseModel] = GateConfig, above: tuple[str, ...] = ()) -> list[str]:
    """Where a field of this name belongs."""
    found = []
    for field, info in model.model_fields.items():
        if info.exclude:
            continue
        if field == name:
            found.append(".".join((*above, field)))
        for section in _sections(info.annotation):
            found += _places_of(name, section, (*above, field))
    return found


def _sections(annotation: Any) -> list[type[BaseModel]]:
    if get_origin(annotation) is None:
        return [annotation] if isinstance(annotation, type) and issubclass(annotation, BaseModel) else []
    return [section for argument in get_args(annotation) for section in _sections(argument)]
