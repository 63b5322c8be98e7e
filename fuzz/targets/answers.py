"""What is said of an answer as such: rules followed, risk of invention, depth, intent, language."""

from __future__ import annotations

import math
from typing import Any

from agentguard.content.answers import compliance, compression, hallucination, intent
from agentguard.content.answers.hallucination import contradictions
from agentguard.errors import ConfigurationError
from agentguard.health._judging import fingerprint_of, structure_of
from fuzz import grammar, tokens
from fuzz.harness import Harness
from fuzz.source import Source
from fuzz.targets.scanners import spans_hold
from fuzz.trial import Trial, require

__all__ = ["HARNESSES"]

TEXT = (tokens.WORDS, tokens.WORDS, tokens.MARKDOWN, tokens.JSON, tokens.UNICODE, tokens.ENTITIES, tokens.NUMBERS)
WORDS = (
    "price",
    "*",
    "",
    "a",
    "é",
    "(",
    "[a]",
    "P.S.",
    "json",
    "less than",
    "at least",
    "en",
    "xx",
    "Section",
    "\ud800",
    "\n",
)


def _rule(source: Source) -> dict[str, Any]:
    kind = source.choice(tuple(compliance.RULE_TYPES))
    rule: dict[str, Any] = {"type": kind}
    for name in compliance.RULE_TYPES[kind].model_fields:
        choice = source.integer(0, 7)
        if name == "type" or choice == 0:
            continue
        if choice < 3:
            rule[name] = source.integer(-1, 6)
        elif choice < 5:
            rule[name] = source.choice(WORDS)
        elif choice == 5:
            rule[name] = [source.choice(WORDS) for _ in range(source.integer(0, 3))]
        elif choice == 6 and name == "format":
            rule[name] = source.choice(("json", "list", "paragraph", "code"))
        else:
            rule[name] = grammar.value(source, 1)
    return rule


def _compliance(trial: Trial) -> None:
    source = trial.source
    rules = [_rule(source) for _ in range(source.integer(1, 4))]
    # One by one, so that a refused one does not keep the others from being tried.
    read = [trial.call(compliance.parse_rules, [rule], allowed=ConfigurationError) for rule in rules]
    usable = [rule for rule, parsed in zip(rules, read, strict=True) if not isinstance(parsed, ConfigurationError)]
    text = grammar.text(source, TEXT)
    found = trial.call(compliance.check, text, usable)
    require(0.0 <= found.score <= 1.0, f"score {found.score}")
    require(len(found.results) == len(usable), "a rule without an outcome")
    spans_hold(found.findings, len(text))


def _answer(trial: Trial) -> None:
    source = trial.source
    output, prompt = grammar.text(source, TEXT, 40), grammar.text(source, TEXT, 12)
    risk = trial.call(hallucination.risk, output, prompt)
    require(0.0 <= risk.score <= 1.0 and all(0.0 <= each <= 1.0 for each in risk.signals.values()), f"{risk.score}")
    spans_hold(risk.findings, len(output))
    spans_hold(trial.call(contradictions, output), len(output))
    depth = trial.call(compression.score, prompt, output, source.choice((None, 4.0, 1e-300)))
    require(0.0 <= depth.score <= 1.0, f"depth {depth.score}")
    spans_hold(depth.findings, len(output))
    for candidate in trial.call(intent.classify, output):
        require(0.0 <= candidate.confidence <= 1.0, f"confidence {candidate.confidence}")
        spans_hold(candidate.findings, len(output))


def _numbers_of(value: Any) -> list[float]:
    return [each for each in value if isinstance(each, float)] if isinstance(value, tuple) else []


def _health(trial: Trial) -> None:
    text = grammar.text(trial.source, TEXT, 40)
    for measure in (fingerprint_of, structure_of):
        found = trial.call(measure, text)
        require(all(math.isfinite(each) for each in _numbers_of(found)), "a figure is not finite")


HARNESSES = (
    Harness("compliance", "compliance.parse_rules and check, with the rule types of IFEval", _compliance),
    Harness("answers", "hallucination.risk, contradictions, compression.score, intent.classify", _answer),
    Harness("health", "health._judging.fingerprint_of and structure_of", _health),
)
