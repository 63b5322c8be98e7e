"""``VerificationEngine.verify``: anything in, a probability out, and nothing that fails inside."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

from agentguard.stores import MemoryStore
from agentguard.verification import VerificationEngine, VerificationResult
from agentguard.verification._read_back import ReadBack, Reading
from agentguard.verification.profile import DeclaredConfirmation, DeclaredSecondSource, ToolProfile
from agentguard.verification.types import ToolCall
from fuzz import grammar, objects
from fuzz.copied import Copied
from fuzz.harness import Harness, quiet
from fuzz.source import Source
from fuzz.trial import Trial, encodable, require, weight

__all__ = ["HARNESSES"]

MODES = ("calibrated", "reference")
GENUINE = {"a": 1, "b": {"c": "id-1"}, "rows": [{"id": 1, "note": "fine"}], "at": "2025-03-01T10:00:00Z"}
BY_ID: dict[str, Any] = {"tool": "read", "args": {"id": "$.result.id"}}
CONTENT: tuple[dict[str, Any], ...] = (
    {"injection": "block", "pii": "flag", "secrets": "block"},
    {"pii": "redact", "secrets": "redact"},
    {"injection": "flag"},
)


@cache
def _profiles(content: int) -> tuple[ToolProfile, ...]:
    """Everything declared, by a tool that fails closed, and one that is bounded."""
    engine = VerificationEngine()
    declared = engine.register_tool_profile(
        "declared", expected_latency_ms=(20, 5000), required_fields=["a", "rows[].id", "b.c"],
        forbidden_fields=["mock"], response_patterns=['"a"', "^x"], min_response_length=3, max_response_length=200,
        echoes={"a": "a", "b.c": "rows[].id"}, on_error="closed", content=CONTENT[content],
        output_schema={"properties": {"a": {"type": "number"}, "rows": {"type": "array"}}},
    )  # fmt: skip
    return declared, engine.register_tool_profile("bounded", max_bytes=1_024, max_nodes=16, on_error="closed")


@cache
def _learned(mode: Any, content: int) -> MemoryStore:
    """What was learned of a few calls."""
    store = MemoryStore()
    with VerificationEngine(mode=mode, profiles=_profiles(content), store=store) as engine:
        for n in range(10):
            result = {**GENUINE, "a": n % 3}
            engine.verify("declared", args={"a": n % 3}, result=result, execution_time_ms=90.0 + n, session_id="s")
    return store


def _engine(mode: Any, content: int, *, learned: bool, store: MemoryStore | None = None) -> VerificationEngine:
    """One of its own, with all that is declared; to learn some calls anew would take longer than all else."""
    if store is None:
        store = Copied(_learned(mode, content)) if learned else None
    return VerificationEngine(mode=mode, profiles=_profiles(content), store=store)


def _verdict_holds(found: VerificationResult) -> None:
    require(0.0 <= found.posterior <= 1.0, f"posterior {found.posterior}")
    require(0.0 < found.prior < 1.0, f"prior {found.prior}")
    require(found.verdict in ("accept", "flag", "block"), f"verdict {found.verdict!r}")
    require(found.false_block_p is None or 0.0 <= found.false_block_p <= 1.0, f"false_block_p {found.false_block_p}")
    require(all(math.isfinite(nats) for nats in found.contributions.values()), "a contribution is not finite")
    require(encodable(found.explanation), "the explanation cannot be printed")
    for signal in found.signals.values():
        require(0.0 <= signal.score <= 1.0, f"{signal.name} scores {signal.score}")
        require(signal.likelihood_ratio > 0.0, f"{signal.name} has the ratio {signal.likelihood_ratio}")
        require(signal.p_value is None or 0.0 <= signal.p_value <= 1.0, f"{signal.name} has p {signal.p_value}")
        require(encodable(signal.detail), f"the detail of {signal.name} cannot be printed")


def _calls(source: Source, kind: int) -> list[tuple[Any, dict[str, Any]]]:
    """Calls of one stream: of JSON values, of texts of JSON, or of any objects."""
    calls: list[tuple[Any, dict[str, Any]]] = []
    for _ in range(source.integer(1, 4)):
        tool: Any = source.choice(("declared", "bounded", "unknown"))
        call: dict[str, Any] = {"execution_time_ms": grammar.number(source) if source.integer(0, 3) else None}
        if kind == 2:
            call |= {"args": objects.anything(source), "result": objects.anything(source)}
            if source.chance(4):
                tool = objects.anything(source, 1)
                call |= {"session_id": objects.anything(source, 1), "call_id": objects.anything(source, 1)}
                call["execution_time_ms"] = objects.anything(source, 1)
        elif kind == 1:
            call |= {"args": grammar.value(source, 2), "result": grammar.text(source)}
            call["result"] = grammar.json_text(source) if source.integer(0, 1) else call["result"]
        else:
            call |= {"args": grammar.value(source, 3), "result": grammar.value(source)}
            if source.chance(2):  # a result as it should be, with one thing changed
                call["result"] = {**GENUINE, grammar.key(source): grammar.value(source, 2)}
        call.setdefault("session_id", source.choice((None, "s", "é")))
        call.setdefault("call_id", source.choice((None, "c1", "c2")))
        call["learn"] = bool(source.integer(0, 3))
        calls.append((tool, call))
    return calls


def _judge(engine: VerificationEngine, calls: list[tuple[Any, dict[str, Any]]]) -> list[VerificationResult]:
    return [engine.verify(tool, **call) for tool, call in calls]


def _verify(trial: Trial) -> None:
    _judged_twice(trial, trial.source.integer(0, 1))


def _verify_objects(trial: Trial) -> None:
    _judged_twice(trial, 2)


def _judged_twice(trial: Trial, kind: int) -> None:
    """A stream, judged by an engine, and in a thorough trial by another one, which must agree."""
    data = trial.source.raw(1 << 20)
    given = trial.source.verbatim()
    streams = []
    for _ in range(1 + trial.thorough):  # anew: an iterator is used up by the first engine
        source = Source(data, large=trial.source.large)
        mode, content = source.choice(MODES), source.integer(0, len(CONTENT) - 1)
        learned = source.chance(4)
        calls = _calls(source, kind)
        if given is not None:
            calls = [("declared", {"args": {"a": 1}, "result": given.decode("utf-8", "surrogateescape")})]
        streams.append(calls)
    with quiet():
        engine = _engine(mode, content, learned=learned)
        found = trial.call(_judge, engine, streams[0], again=False, of=[call["result"] for _, call in streams[0]])
        for each in found:
            _verdict_holds(each)
        if trial.thorough:
            others = _judge(_engine(mode, content, learned=learned), streams[1])
            require(repr(others) == repr(found), "two engines disagree on one stream")
            if kind != 2:
                require(weight(streams[0]) == weight(streams[1]), "arguments or results were changed")


def _restart(trial: Trial) -> None:
    """What was learned of anything can be written down, and read again by an engine that goes on the same."""
    source = trial.source
    mode, content = source.choice(MODES), source.integer(0, len(CONTENT) - 1)
    learned, next_call = (
        _calls(source, source.integer(0, 1)),
        ("declared", {"args": {"a": 1}, "result": GENUINE, "call_id": "c1"}),
    )
    store = Copied(_learned(mode, content)) if source.integer(0, 1) else MemoryStore()
    with quiet():
        with _engine(mode, content, learned=False, store=store) as first:
            trial.call(_judge, first, [*learned, next_call], again=False)
            first.record_feedback("declared", 0.4, bool(source.integer(0, 1)), "c1")
        again = [*learned[:1], next_call]
        found = _judge(VerificationEngine(mode=mode, store=Copied(store)), again)
        for each in found:
            _verdict_holds(each)
        if trial.thorough:
            others = _judge(VerificationEngine(mode=mode, store=Copied(store)), again)
            require(repr(others) == repr(found), "two engines on one store disagree")


def _read_back(trial: Trial) -> None:
    """Any answer can be held against any call, whatever a profile expects of it; what is said quotes none of them."""
    source = trial.source
    paths = ("$.args.a", "$.result.rows[].id", "$.result", "$.args", "plain", 7)
    args = {name: source.choice(paths) for name in ("id", "of")[: source.integer(0, 2)]}
    expect = {path: source.choice(paths) for path in ("a", "rows[].id", "rows[].note", "b.c")[: source.integer(1, 4)]}
    declared = DeclaredConfirmation("read", args, expect if source.integer(0, 1) else None, source.choice((0.0, 0.5)))
    if source.chance(3):
        declared = DeclaredSecondSource("read", args, {path: path for path in expect})
    texts = source.integer(0, 1)
    call = ToolCall("write", grammar.value(source, 3), grammar.json_text(source) if texts else grammar.value(source))
    answer = grammar.text(source) if source.chance(3) else grammar.value(source)
    if source.chance(2):
        answer = {**GENUINE, grammar.key(source): grammar.value(source, 2)}
    rule = ReadBack(declared)
    with quiet():
        question = trial.call(rule.question, call, again=False)
        require(isinstance(question, (dict, Reading)), "a question of another kind")
        found = trial.call(rule.held, call, answer, again=False)
        require(found == rule.held(call, answer), "another word on the same answer")
        require(encodable(found.detail), "the detail cannot be printed")
        engine = VerificationEngine(mode=source.choice(MODES), profiles=[ToolProfile(name="write", confirm=BY_ID)])
        _verdict_holds(engine.verify("write", args=call.args, result=call.result, readings=[found]))


HARNESSES = (
    Harness("read_back", "ReadBack: what is asked after a call, and what is made of the answer", _read_back),
    Harness("verify", "VerificationEngine.verify, both modes, profiles with content: values and texts", _verify),
    Harness(
        "verify_objects",
        "the same on any Python objects, those that share their parts 2^60 times among them",
        _verify_objects,
    ),
    Harness("restart", "what verify learned, written to a store and read again", _restart),
)
