"""Whether an English answer is too shallow for what was asked: length, variety, transitions, repetition."""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple, Protocol

from agentguard.content._findings import Finding
from agentguard.content._text import STOPWORDS, count_words, encodable, entropy, list_items, words

EXPECTED_WORDS = {1: 50, 2: 150, 3: 250}
WEIGHTS = {"length_deficit": 0.4, "entropy_drop": 0.3, "missing_transitions": 0.2, "repetition": 0.1}
MANY_WORDS, SOME_WORDS = 400, 150
REASONING = re.compile(
    r"\b(?:analy[sz]e|argue|assess|compare|contrast|critique|deduce|derive|discuss|evaluate|examine|explain|infer|"
    r"interpret|justify|prove|reason|why)\b",
    re.IGNORECASE,
)
PART_MARK = re.compile(
    r"\b(?:firstly|secondly|thirdly|finally|part [1-9a-d]|step [1-9]|question [1-9])\b|\([a-d1-9]\)", re.I
)
QUESTION = re.compile(r"\?(?=\s|$)")
TRANSITION = re.compile(
    r"\b(?:because|therefore|thus|hence|consequently|since|so that|as a result|this means|however|although|though|"
    r"whereas|nevertheless|on the other hand|in contrast|instead|moreover|furthermore|in addition|additionally|also|"
    r"similarly|for example|for instance|specifically|first|firstly|second|secondly|third|then|next|finally|overall|"
    r"in conclusion|in summary)\b",
    re.IGNORECASE,
)


class Baseline(Protocol):
    """The usual entropy of a model's texts, in bits a character."""

    @property
    def entropy(self) -> float:
        """Shannon entropy of the characters, in bits."""


class CompressionScore(NamedTuple):
    """The shortfall of an answer.

    Attributes:
        score: the weighted sum of the metrics, kept within 0 and 1.
        label: ``"low"``, ``"moderate"`` or ``"high"``.
        level: the prompt's complexity, 1 to 3.
        expected_words: so many words an answer to it has at least.
        metrics: each metric by name; an entropy drop below 0 says that the text varies more than usual.
        findings: what was counted against the answer.
    """

    score: float
    label: str
    level: int
    expected_words: int
    metrics: dict[str, float]
    findings: tuple[Finding, ...]


def score(
    prompt: str, output: str, baseline: Baseline | float | None = None, *, low: float = 0.3, moderate: float = 0.6
) -> CompressionScore:
    """Score how far an English answer falls short of what its prompt needs.

    Args:
        prompt: what was asked.
        output: the answer.
        baseline: the usual entropy of answers in bits a character, or a record that has it. Without it, the entropy
            drop counts as 0, and the score reaches 0.7 at most.
        low: highest score that counts as low.
        moderate: highest score that counts as moderate.

    >>> short = score("Explain why the sky is blue.", "It is blue.")
    >>> short.level, round(short.score, 3), short.label
    (2, 0.692, 'high')
    """
    prompt, output = encodable(prompt), encodable(output)
    level = complexity(prompt)
    expected, actual = EXPECTED_WORDS[level], count_words(output)
    usual = baseline if baseline is None or isinstance(baseline, (int, float)) else baseline.entropy
    share = _most_repeated(output)
    metrics = {
        "length_deficit": max(0.0, (expected - actual) / expected),
        "entropy_drop": (usual - entropy(output)) / usual if usual else 0.0,
        "missing_transitions": float(level >= 2 and not TRANSITION.search(output)),
        "repetition": share,
    }
    details = {
        "length_deficit": f"{actual} words, at least {expected} expected at level {level}",
        "entropy_drop": "the characters vary less than usual",
        "missing_transitions": "no transition words",
        "repetition": f"one word makes {share:.0%} of all but function words",
    }
    # Rounded, so that a sum that is .3 on paper is .3 at the threshold.
    total = round(min(1.0, max(0.0, sum(WEIGHTS[name] * value for name, value in metrics.items()))), 9)
    label = "low" if total <= low else "moderate" if total <= moderate else "high"
    findings = (
        Finding(name.replace("_", " "), details[name], 0, len(output)) for name, value in metrics.items() if value > 0
    )
    return CompressionScore(total, label, level, expected, metrics, tuple(findings))


def complexity(prompt: str) -> int:
    """Rate a prompt by the highest level whose condition holds.

    Level 3: more than 400 words, or several parts (two questions, list items or named parts). Level 2: 150 words or
    more, or a verb that asks for reasoning. Level 1: anything else.

    >>> complexity("List three colours."), complexity("Compare tea and coffee."), complexity("Who? When?")
    (1, 2, 3)
    """
    number = count_words(prompt)
    parts = max(len(QUESTION.findall(prompt)), len(list_items(prompt)), len(PART_MARK.findall(prompt)))
    if number > MANY_WORDS or parts >= 2:
        return 3
    return 2 if number >= SOME_WORDS or REASONING.search(prompt) else 1


def _most_repeated(text: str) -> float:
    """The share of the most frequent word in all but function words."""
    counts = Counter(word for word in map(str.casefold, words(text)) if word not in STOPWORDS)
    return max(counts.values()) / sum(counts.values()) if counts else 0.0
