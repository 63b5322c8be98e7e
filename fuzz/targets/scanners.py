"""Injected instructions, personal data and credentials; and what redaction leaves of a text or a value."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from typing import Any

from agentguard.content import injection, pii, secrets
from agentguard.content._findings import KINDS, Finding
from agentguard.content._redaction import Vault, replace
from agentguard.content._results import found_in, redacted, text_of
from agentguard.content._scanner import Scanner
from fuzz import carriers, grammar, objects, tokens
from fuzz.harness import Harness
from fuzz.trial import Trial, require

__all__ = ["HARNESSES"]

HOSTILE = (
    tokens.INSTRUCTIONS,
    tokens.PERSONAL,
    tokens.SECRETS,
    tokens.WORDS,
    tokens.UNICODE,
    tokens.MARKDOWN,
    tokens.HTML,
)
ALONE: dict[str, Callable[[str], Any]] = {"injection": injection.scan, "pii": pii.scan, "secrets": secrets.scan}


def spans_hold(findings: Iterable[Finding], length: int, *, apart: bool = False) -> None:
    """Every finding lies in its text; where asked for, none overlaps the one before."""
    end = 0
    for finding in findings:
        place = f"{finding.kind} at {finding.start}-{finding.end} of {length}"
        require(0 <= finding.start <= finding.end <= length, place)
        require(not apart or finding.start >= end, f"{place} overlaps what was found before it")
        end = finding.end if apart else end


def _scan(trial: Trial) -> None:
    text = grammar.text(trial.source, HOSTILE if trial.source.integer(0, 2) else grammar.PROSE)
    found = trial.call(Scanner().scan, text)
    for kind, result in found.items():
        require(0.0 <= result.score <= 1.0, f"{kind} scores {result.score}")
        require(
            (result.label == "clean") == (not result.findings),
            f"{kind}: {result.label} with {len(result.findings)} findings",
        )
        spans_hold(result.findings, len(text), apart=kind != "injection")
        if trial.thorough:
            require(repr(ALONE[kind](text)) == repr(result), f"{kind} finds another thing alone")


def _turns(trial: Trial) -> None:
    """A conversation, whose offsets are those of the contents joined by line breaks."""
    source = trial.source
    turns: list[Any] = []
    for _ in range(source.integer(1, 4)):
        said = grammar.text(source, HOSTILE, 6)
        parts = [{"type": "text", "text": said}, {"type": "image"}]
        role = source.choice(("user", "assistant", "system", "tool", "", None))
        turns.append(said if source.chance(3) else {"role": role, "content": parts if source.chance(4) else said})
    tools = source.choice((None, (), ("delete_all", "é")))
    found = trial.call(injection.scan, turns, tools=tools, expected=source.choice((None, ("a", "b", "c", "d", "e"))))
    require(0.0 <= found.score <= 1.0, f"score {found.score}")
    length = trial.size + 8 * len(turns)
    spans_hold(found.findings, length)


def _redact(trial: Trial) -> None:
    source = trial.source
    text = grammar.text(source, HOSTILE)
    results = Scanner().scan(text)
    findings = [finding for result in results.values() for finding in result.findings]
    if source.chance(3):
        findings += [Finding("made up", "", source.integer(-5, 99), source.integer(-5, 99)) for _ in range(3)]
    vault = Vault(source.choice(("<{kind}_{number}>", "[{kind}]", "{number}", "*")))
    template = vault.template
    found = trial.call(replace, text, findings, vault, of=text)
    if template == "<{kind}_{number}>":
        require(vault.restore(found.text) == text, "what was redacted cannot be put back")
    trial.call(pii.redact, text)
    trial.call(secrets.redact, text)


def _results(trial: Trial) -> None:
    value = grammar.value(trial.source, 5) if trial.source.integer(0, 1) else grammar.json_text(trial.source)
    kinds = trial.source.choice((KINDS, ("pii",), ("secrets", "pii"), ("injection",)))
    for kind, found in trial.call(found_in, value, kinds).items():
        require(0.0 <= found.score <= 1.0, f"{kind} scores {found.score}")
        require((found.score > 0) >= bool(found.findings), f"{kind}: findings and no score")
    trial.call(text_of, value)
    made = trial.call(redacted, value, ("pii", "secrets"))
    odd = objects.anything(trial.source)
    trial.call(redacted, odd, ("pii",), allowed=TypeError, again=False)
    require(type(made) is type(value), f"a {type(value).__name__} became a {type(made).__name__}")


def _secrets(trial: Trial) -> None:
    """A credential in one of the places where tools show one: of what was redacted, nothing is left."""
    made = carriers.shown(random.Random(trial.source.raw(8)))  # noqa: S311  # drawn again from the same input
    out = trial.call(redacted, made.text, ("secrets",))
    runs = carriers.left(out, made.secret)
    require(not runs, f"{made.carrier}: {len(runs)} pieces of a credential can be read")


HARNESSES = (
    Harness("scanners", "Scanner, injection, pii, secrets on texts", _scan),
    Harness("conversations", "injection.scan on messages", _turns),
    Harness("redaction", "replace and Vault, pii.redact, secrets.redact", _redact),
    Harness("credentials", "redacted on credentials in the texts of tools, whole and cut", _secrets),
    Harness("results", "found_in, text_of and redacted on values", _results),
)
