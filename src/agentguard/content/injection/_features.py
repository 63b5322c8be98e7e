"""The features of an injection, read from ``features.ini``: phrases that give one away, and signs of a request."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple, cast

from agentguard.content._patterns import joined, read_table

# By the word that the names of their triggers begin with.
CATEGORY: Final = {
    "override": "system override",
    "exfiltration": "context exfiltration",
    "tool": "tool/function abuse",
    "manipulation": "instruction manipulation",
    "delimiter": "delimiter attack",
    "encoding": "encoding bypass",
    "turns": "multi-turn attack",
    "indirect": "indirect injection",
    "payload": "payload injection",
}
CATEGORIES: Final = tuple(CATEGORY.values())

# Nats (log-odds). By itself, a strong trigger makes a text an injection, a medium one suspicious; light and weak ones
# count beside others only.
STRONG, MEDIUM, LIGHT, WEAK = 6.0, 4.0, 3.0, 2.0
_WEIGHTS: Final = {"strong": STRONG, "medium": MEDIUM, "light": LIGHT, "weak": WEAK}


class Trigger(NamedTuple):
    """A phrase that gives an injection away; its weight is evidence in nats, its patterns are in re2's syntax.

    Where ``doubt`` reaches into the phrase, somebody tells of it: it is weak then.
    """

    name: str
    category: str
    weight: float
    meaning: str
    pattern: str
    doubt: str


class Sign(NamedTuple):
    """A sign that a request inside data is meant for the assistant.

    Attributes:
        name: its name.
        weight: evidence in nats; 0 for a sign that other signs are made of.
        meaning: why it counts, in a finding.
        of: what its pattern is looked for in; None where it is told from where the sentence stands.
        pattern: in re2's syntax.
    """

    name: str
    weight: float
    meaning: str
    of: Literal["sentence", "lead", "verb"] | None
    pattern: str


def _read() -> tuple[dict[str, Trigger], dict[str, Sign], str, str]:
    table = read_table(__package__, "features.ini")
    triggers, signs = {}, {}
    for name in table.sections():
        weight, meaning, pattern, doubt = (
            joined(table[name].get(field, "")) for field in ("weight", "meaning", "pattern", "doubt")
        )
        topic, slash, _ = name.partition("/")
        if slash:
            triggers[name] = Trigger(name, CATEGORY[topic], _WEIGHTS[weight], meaning, pattern, doubt)
        else:
            of = cast("Literal['sentence', 'lead', 'verb'] | None", table[name].get("of"))
            signs[name] = Sign(name, float(weight or 0.0), meaning, of, pattern)
    return triggers, signs, joined(table["DEFAULT"]["leads"]), joined(table["DEFAULT"]["questions"])


#: ``LEADS`` is what a request begins with, ``QUESTIONS`` the beginnings of questions.
TRIGGERS, SIGNS, LEADS, QUESTIONS = _read()
