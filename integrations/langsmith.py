"""Feedback that people give in LangSmith, for the engine that judged the call. Needs no LangSmith itself."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, TypeGuard

from agentguard.errors import ConfigurationError, DataError
from agentguard.guard import artifact_of
from agentguard.verification import VerificationEngine

__all__ = ["record_langsmith_feedback"]

_KEY = "agentguard"


def record_langsmith_feedback(
    engine: VerificationEngine, run: object, score: float | bool, *, threshold: float = 0.5
) -> None:
    """Tell the engine what a person said in LangSmith of a guarded tool call.

    The verdict is looked for where it can be: in the run's metadata under ``agentguard`` (``run.metadata`` or
    ``run.extra["metadata"]``), then in the ``response_metadata`` of the tool messages in its outputs, where the
    middleware and the guarded nodes leave it: that of an accepted result where they have a ``signer``. The run of the
    node that executed the tool has such a message; the tool's own run has not, because LangChain reports it before the
    guard is asked.

    Args:
        engine: the engine that judged the call, or one that learns in its place.
        run: a LangSmith run, as an object or as a dict: ``client.read_run(...)`` gives one. Used of it: ``name``,
            ``metadata``, ``extra``, ``outputs``.
        score: the feedback's score, higher for better: at or above ``threshold`` the result was genuine, below it
            was fabricated or corrupted. A bool is read as 1 or 0.
        threshold: where genuine begins, on the scale of the score.

    Raises:
        ConfigurationError: for a score or a threshold that is no finite number.
        DataError: for a run without a verdict of the guard, or with those of several calls.

    >>> from agentguard.verification import VerificationEngine
    >>> run = {"name": "weather", "extra": {"metadata": {"agentguard": {"posterior": 0.31, "call_id": "call-7"}}}}
    >>> record_langsmith_feedback(VerificationEngine(), run, score=1.0)
    """
    for name, number in (("score", score), ("threshold", threshold)):
        if not isinstance(number, (int, float)) or not math.isfinite(number):
            raise ConfigurationError(f"{name} must be a finite number, not {number!r}")
    verdict = _verdict_of(run)
    tool = verdict.get("tool") or _field(run, "name")
    if not isinstance(tool, str):
        raise DataError("the run names no tool: neither its verdict has 'tool' nor the run a name")
    engine.record_feedback(
        artifact_of(tool) if verdict.get("of") == "artifact" else tool,
        confidence_score=verdict["posterior"],
        was_hallucination=score < threshold,
        call_id=verdict.get("call_id"),
    )


def _verdict_of(run: object) -> Mapping[str, Any]:
    declared = [metadata.get(_KEY) for metadata in _metadata(run)]
    stamped = [metadata.get(_KEY) for metadata in _message_metadata(_field(run, "outputs"))]
    for source in (declared, stamped):
        verdicts = [metadata for metadata in source if _is_verdict(metadata)]
        calls = {(metadata.get("tool"), metadata.get("call_id")) for metadata in verdicts}
        if len(calls) > 1:
            raise DataError(f"the run holds verdicts of {len(calls)} calls; give the run of one of them")
        if verdicts:
            return verdicts[-1]
    raise DataError(
        "the run holds no verdict of the guard: it is in the run of the node that executed the tool, "
        "or where you put it yourself as metadata['agentguard']"
    )


def _is_verdict(found: object) -> TypeGuard[Mapping[str, Any]]:
    """A posterior is there; where the guard itself had failed there is none, and nothing to learn from."""
    return isinstance(found, Mapping) and isinstance(found.get("posterior"), (int, float))


def _metadata(run: object) -> Iterator[Mapping[str, Any]]:
    extra = _field(run, "extra")
    for metadata in (_field(run, "metadata"), _field(extra, "metadata")):
        if isinstance(metadata, Mapping):
            yield metadata


def _message_metadata(outputs: object) -> Iterator[Mapping[str, Any]]:
    """``response_metadata`` of the messages in a run's outputs; nothing else of the outputs is searched.

    A tool's content is never looked into: what stands there could be made to look like a verdict.
    """
    places = [_field(outputs, "messages"), _field(outputs, "output"), _field(_field(outputs, "output"), "messages")]
    for messages in places:
        for message in messages if isinstance(messages, list) else [messages]:
            # A message as an object, as its plain dict, or as LangChain writes constructors.
            for holder in (message, _field(message, "kwargs")):
                metadata = _field(holder, "response_metadata")
                if isinstance(metadata, Mapping):
                    yield metadata


def _field(holder: object, name: str) -> Any:
    return holder.get(name) if isinstance(holder, Mapping) else getattr(holder, name, None)
