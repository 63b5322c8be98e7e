"""Runs of LangSmith: those with ``run_type`` ``tool``.

As ``Client.list_runs`` gives them (``langsmith.schemas.Run``, written with ``run.model_dump_json()``), as the bulk
export writes them (https://docs.langchain.com/langsmith/data-export, columns ``inputs``, ``outputs`` and ``extra`` as
JSON text), or nested: a run with ``child_runs``. Fields: https://docs.langchain.com/langsmith/run-data-format.

``args`` are the ``inputs`` (of one field ``input`` with JSON text: that JSON); ``result`` is ``outputs.output``, where
that is a tool's message its content, or all ``outputs``; of a run that failed, its ``error`` without the traceback.
``session_id`` is the thread (metadata ``session_id``, ``thread_id`` or ``conversation_id``,
https://docs.langchain.com/langsmith/threads), or the trace; the run's own ``session_id`` is its project. ``latency_ms``
is ``end_time`` minus ``start_time``.

Words are read of runs with ``run_type`` ``llm``: of ``inputs`` the last that the user said, of ``outputs`` all; tools
of ``extra.invocation_params.tools``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from agentguard.traces._formats._calls import (
    Format,
    Found,
    Record,
    Remembered,
    Skip,
    Skipped,
    at,
    call_of,
    content_of,
    decoded,
    first_text,
    milliseconds,
    no_call,
    seconds,
    text_at,
    tool_message,
    values_of,
)
from agentguard.traces._formats._words import Asked, ModelCalls, messages_within

_THREADS: Final = ("session_id", "thread_id", "conversation_id")
_TRACEBACK: Final = "Traceback (most recent call last)"  # what LangChain puts behind the error that it records
MAX_DEPTH: Final = 100  # levels of nested runs


def _is_run(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("run_type"), str)
        and bool({"inputs", "trace_id", "dotted_order", "start_time"} & value.keys())
    )


def _is_export(value: Any) -> bool:
    """A run, or a page of the API: ``{"runs": […], "cursors": …}``."""
    runs = value.get("runs") if isinstance(value, dict) else None
    return _is_run(value) or (isinstance(runs, list) and bool(runs) and _is_run(runs[0]))


class _Runs:
    def __init__(self) -> None:
        self._met = Remembered()
        self._models = ModelCalls()

    def push(self, record: Record) -> Iterator[Found]:
        runs = record.value.get("runs") if isinstance(record.value, dict) else None
        for run in runs if isinstance(runs, list) else (record.value,):
            yield from self._of_run(run, record, 0)

    def end(self) -> Iterable[Found]:
        return ()

    def _of_run(self, run: Any, record: Record, depth: int) -> Iterator[Found]:
        if not _is_run(run) or run["run_type"] != "tool":
            yield from no_call(record)
            if _is_run(run) and run["run_type"] == "llm":
                yield from self._words(run, record)
        elif (identity := text_at(run, "id")) is not None and not self._met.add(identity):
            yield Skipped(record.source, record.line, Skip.repeated)
        else:
            yield _call_in(run, record)
        for child in values_of(at(run, "child_runs")) if depth < MAX_DEPTH else ():
            yield from self._of_run(child, record, depth + 1)

    def _words(self, run: Mapping[str, Any], record: Record) -> Iterator[Found]:
        identity = text_at(run, "id")
        if identity is not None and not self._met.add(identity):
            return
        asked = Asked(
            _session(run),
            at(decoded(run.get("extra")), "invocation_params", "tools"),
            messages_within(run.get("inputs"), "user"),
            messages_within(run.get("outputs"), "assistant"),
            seconds(run.get("start_time")),
            seconds(run.get("end_time")),
        )
        yield from self._models.found(asked, record)


def _call_in(run: Mapping[str, Any], record: Record) -> Found:
    outputs, error = decoded(run.get("outputs")), text_at(run, "error")
    message = tool_message(_only(outputs, "output"))
    result = content_of(message["content"]) if message else _only(outputs, "output")
    is_unfinished = not outputs and error is None
    call = call_of(
        record,
        tool=text_at(run, "name"),
        args=_arguments(decoded(run.get("inputs"))),
        result=error.split(_TRACEBACK)[0] or error if error is not None and not outputs else result,
        is_error=error is not None or "error" in (text_at(run, "status"), text_at(message, "status")) or None,
        latency_ms=milliseconds(run.get("start_time"), run.get("end_time")),
        begun=seconds(run.get("start_time")),
        session_id=_session(run),
        call_id=first_text(
            text_at(message, "tool_call_id"), text_at(decoded(run.get("extra")), "tool_call_id"), text_at(run, "id")
        ),
    )
    if is_unfinished:
        reason = Skip.no_result if run.get("end_time") is None else Skip.no_content
        return Skipped(record.source, record.line, reason, call)
    return call


def _arguments(inputs: Any) -> Any:
    """The inputs; of one field ``input`` with an object, or JSON text of one, that object."""
    read = decoded(_only(inputs, "input"))
    return read if isinstance(read, (dict, list)) else inputs


def _only(value: Any, name: str) -> Any:
    """The value of a field that an object has alone; any other value as it is."""
    return value[name] if isinstance(value, dict) and value.keys() == {name} else value


def _session(run: Mapping[str, Any]) -> str | None:
    metadata = at(decoded(run.get("extra")), "metadata")
    threads = (text_at(metadata, name) for name in _THREADS)
    return first_text(text_at(run, "thread_id"), *threads, text_at(run, "trace_id"))


LANGSMITH: Final = Format("langsmith", "runs of LangSmith", _is_export, _Runs)
