"""Walks the public entry points with the hostile corpus, in a process with bounded memory; run by the test beside it.

Says one line for each entry point that gave something other than an answer or an error of agentguard's, and how many
did answer.
"""

from __future__ import annotations

import faulthandler
import gc
import io
import logging
import resource
import sys
import time
from collections.abc import Callable, Iterable
from functools import partial
from importlib.abc import Traversable
from typing import Any, cast

from agentguard._yaml_files import Subject, read_yaml
from agentguard.content import grounding, injection, json_repair, pii, secrets
from agentguard.content._findings import KINDS
from agentguard.content._results import found_in, redacted
from agentguard.content.answers import compliance, compression, hallucination, intent
from agentguard.convergence._reply import parse_reply
from agentguard.errors import AgentGuardError
from agentguard.health import LLMCall, LLMMonitor
from agentguard.testing._corpus import OBJECTS, TEXTS
from agentguard.verification import VerificationEngine
from agentguard.verification.profile import parse_profile
from agentguard.verification.receipts import ReceiptSigner

MEMORY = 6 << 30  # bytes of address space
PATIENCE = 600  # seconds; what takes longer hangs
EXPRESSION = {
    "$defs": {
        name: {"properties": {"a": {"$ref": "#"}, "rows": {"items": {"$ref": "#"}}, "kind": {"const": name}}}
        for name in ("and", "or")
    },
    "anyOf": [{"$ref": "#/$defs/and"}, {"$ref": "#/$defs/or"}, {"not": {"type": "object"}}],
}
PROFILE: dict[str, Any] = {
    "required_fields": ["a", "rows[].id"],
    "forbidden_fields": ["mock", "rows[].mock"],
    "response_patterns": [r"no such words \d+", r"^(?:a+)+$"],
    "output_schema": EXPRESSION,
    "echoes": {"a": "a", "rows[].id": "rows[].id"},
    "min_response_length": 2,
    "max_response_length": 1_000,
    "content": {"injection": "block", "secrets": "redact", "pii": "flag"},
}
ENGINES = {
    "calibrated": VerificationEngine(),
    "reference": VerificationEngine(mode="reference"),
    "re": VerificationEngine(),
}
for mode, engine in ENGINES.items():
    ahead = {"response_patterns": [r"(?=a)(a+)+$"], "regex_engine": "re"}
    engine.register_tool_profile("fetch", **{**PROFILE, **(ahead if mode == "re" else {})})
MONITOR = LLMMonitor()
SIGNER = ReceiptSigner(b"a key of sixteen bytes or more")
SUBJECT = Subject("a profile", "name: fetch")


def verify(mode: str) -> Callable[[Any], Any]:
    """As arguments, as a result, as all that else is said of a call."""

    def judge(value: Any) -> None:
        engine = ENGINES[mode]
        found = engine.verify("fetch", args={"a": 1}, result=value, execution_time_ms=100.0, session_id="s")
        assert found.verdict in ("accept", "flag", "block")
        if mode == "calibrated":
            engine.verify("fetch", args=value, result={"a": 1}, execution_time_ms=100.0)
            engine.verify("other", args={"a": value}, result={"a": value}, is_error=value, learn=value)
            engine.verify(value, session_id=value, call_id=value, execution_time_ms=value)

    return judge


def refused(redact: Callable[[], Any]) -> None:
    """What cannot be redacted is refused by a TypeError that says so."""
    why = ""
    try:
        redact()
    except TypeError as error:
        why = str(error)
    assert not why or "cannot be redacted" in why


class File:
    """A file that holds a text."""

    def __init__(self, text: str) -> None:
        self.text = text

    def read_bytes(self) -> bytes:
        return self.text.encode("utf-8", "surrogatepass")

    def open(self, *args: Any, **options: Any) -> Any:
        return io.BytesIO(self.read_bytes())


def sign(value: Any) -> None:
    token = SIGNER.sign("fetch", value, value, call_id="c1", issued_at=1.0)
    SIGNER.check(token, "fetch", value, value, call_id="c1", now=2.0)


def health(value: Any) -> None:
    MONITOR.record(LLMCall("model", value, latency_ms=value, tokens=value))
    MONITOR.wrap(lambda: value, model="other")()


ON_VALUES: dict[str, Callable[[Any], Any]] = {
    **{f"verify, {mode}": verify(mode) for mode in ENGINES},
    "content": lambda value: found_in(value, KINDS),
    "redaction": lambda value: refused(lambda: redacted(value, KINDS)),
    "grounding": lambda value: grounding.check("It is 18 degrees in Oslo on 12 May.", [value]),
    "grounding of arguments": lambda value: grounding.check_arguments({"city": "Oslo", "n": value}, ["go"]),
    "receipts": sign,
    "profiles": lambda value: parse_profile({"name": value, "output_schema": value, "content": value}),
    "health": health,
}
ON_TEXTS: dict[str, Callable[[str], Any]] = {
    "injection": lambda text: injection.scan([text, {"role": "user", "content": text}]),
    "personal data": lambda text: pii.redact(text),
    "credentials": lambda text: secrets.redact(text),
    "JSON repair": json_repair.repair,
    "grounding of an answer": lambda text: grounding.check(text, [{"city": "Oslo"}]),
    "evaluations": parse_reply,
    "patterns": lambda text: parse_profile({"name": "t", "response_patterns": [text[:10_000]]}),
    "YAML": lambda text: read_yaml("profile.yaml", cast("Traversable", File(text)), SUBJECT),
    "compliance": lambda text: compliance.check(text, [{"name": "length", "max": 10}]),
    "hallucination": lambda text: hallucination.risk(text, "How is it in Oslo?"),
    "compression": lambda text: compression.score(text, "How is it in Oslo?"),
    "intent": intent.classify,
    "contradiction": hallucination.contradictions,
}


def walk(values: Iterable[tuple[str, Callable[[], Any]]], entries: dict[str, Callable[[Any], Any]], slow: float) -> int:
    """Give each of the values to each of the entry points; how many were answered as they may be."""
    answered = 0
    for what, make in values:
        gc.collect()
        for entry, call in entries.items():
            if entry == "profiles" and "endless" in what:  # declarations are the user's own, and have an end
                continue
            start = time.process_time()
            faulthandler.dump_traceback_later(PATIENCE, exit=True)
            try:
                call(make())
            except AgentGuardError:
                answered += 1
            except BaseException as error:
                print(f"{entry} on {what}: {type(error).__name__}: {str(error)[:200]}", flush=True)
            else:
                answered += 1
            faulthandler.cancel_dump_traceback_later()
            took = time.process_time() - start
            if took > slow:
                print(f"{took:6.2f} s {entry} on {what}", file=sys.stderr, flush=True)
    return answered


def main(size: int, slow: float, *only: str) -> None:
    """Walk all entry points, or those named, with texts of up to ``size`` characters; name those that take longer."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    logging.disable(logging.CRITICAL)
    gc.disable()  # it would go through each of the large values a hundred times

    def kept(entries: dict[str, Any]) -> dict[str, Any]:
        return {name: call for name, call in entries.items() if not only or name in only}

    answered = walk(OBJECTS.items(), kept(ON_VALUES), slow)
    texts = [(what, partial(make, size)) for what, make in TEXTS.items()]
    answered += walk(texts, kept({**ON_VALUES, **ON_TEXTS}), slow)
    print(f"{answered} answered")


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]), *sys.argv[3:])
