"""Whether an answer follows the rules it was given: each rule judged, and the share that holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any, NamedTuple

from pydantic import ValidationError

from agentguard.content.compliance_rules import Coverage, Exclude, Format, Include, Length, Rule, Schema
from agentguard.content.findings import Finding
from agentguard.content.ifeval_forms import FORM_RULES
from agentguard.content.ifeval_rules import WORDING_RULES
from agentguard.content.words import encodable
from agentguard.errors import ConfigurationError

__all__ = ["RULE_TYPES", "ComplianceResult", "RuleResult", "check", "parse_rules"]

RULES: tuple[type[Rule], ...] = (Format, Length, Include, Exclude, Schema, Coverage, *WORDING_RULES, *FORM_RULES)
RULE_TYPES: Mapping[str, type[Rule]] = {rule.model_fields["type"].default: rule for rule in RULES}


class RuleResult(NamedTuple):
    """How one rule fared.

    Attributes:
        rule: the rule.
        followed: whether the text follows it; None where that cannot be told.
        detail: what was found.
    """

    rule: Rule
    followed: bool | None
    detail: str


class ComplianceResult(NamedTuple):
    """How well a text follows its rules.

    Attributes:
        score: share of the rules that are followed, among those that could be judged (0 to 1; here 1 is good).
        label: ``"followed"``, ``"not followed"``, or ``"undecided"`` where rules were given and none could be judged.
        results: every rule with its outcome, in the order given.
        findings: every broken rule, by place where one can be named, else over the whole text.
    """

    score: float
    label: str
    results: tuple[RuleResult, ...]
    findings: tuple[Finding, ...]

    @property
    def ratio(self) -> float:
        """The compliance ratio: the score."""
        return self.score

    @property
    def followed(self) -> bool:
        """Whether the ratio reaches what was asked; False where nothing could be judged."""
        return self.label == "followed"


def check(output: str, rules: Iterable[Rule | Mapping[str, Any]], *, enough: float = 0.8) -> ComplianceResult:
    r"""Judge a text by rules.

    Args:
        output: the text.
        rules: records (``Length(min_words=50)``) or dictionaries (``{"type": "length", "min_words": 50}``). Types are
            format, length, include, exclude, schema, coverage, and the instruction ids of IFEval. Without any rule,
            the text follows all.
        enough: the share of rules from which the text counts as following them.

    Raises:
        ConfigurationError: for rules that cannot be read; it names all of them.

    >>> result = check("- tea\n- milk", [Format(format="list"), {"type": "include", "terms": ["sugar"]}])
    >>> result.ratio, result.followed, [(each.rule.type, each.detail) for each in result.results]
    (0.5, False, [('format', 'as list: 2 items, 0 code blocks'), ('include', "missing: 'sugar'")])
    """
    text = encodable(output)
    results, findings = [], []
    for rule in parse_rules(rules):
        followed, detail, spans = rule.judge(text)
        results.append(RuleResult(rule, followed, detail))
        if followed is False:
            findings += [Finding(rule.type, detail, start, end) for start, end in spans or ((0, len(text)),)]
    judged = [result.followed for result in results if result.followed is not None]
    if results and not judged:
        return ComplianceResult(0.0, "undecided", tuple(results), ())
    score = sum(judged) / len(judged) if judged else 1.0
    return ComplianceResult(score, "followed" if score >= enough else "not followed", tuple(results), tuple(findings))


def parse_rules(rules: Iterable[Rule | Mapping[str, Any]]) -> tuple[Rule, ...]:
    """Read rules; records stay as they are.

    Raises:
        ConfigurationError: naming every rule that cannot be read, by its place, and why.
    """
    parsed: list[Rule] = []
    problems: list[str] = []
    for place, rule in enumerate(rules):
        try:
            parsed.append(rule if isinstance(rule, Rule) else _parsed(rule))
        except ValidationError as error:
            problems += [
                f"rules[{place}]: {'.'.join(map(str, each['loc'])) or rule['type']}: {each['msg']}"  # type: ignore[index]
                for each in error.errors(include_url=False, include_input=False)
            ]
        except ConfigurationError as error:
            problems.append(f"rules[{place}]: {error}")
    if problems:
        raise ConfigurationError("; ".join(problems))
    return tuple(parsed)


def _parsed(rule: Mapping[str, Any]) -> Rule:
    if not isinstance(rule, Mapping):
        raise ConfigurationError(f"a rule is a record or a dictionary with a type, not a {type(rule).__name__}")
    name = rule.get("type")
    kind = RULE_TYPES.get(name) if isinstance(name, str) else None
    if kind is None:
        close = get_close_matches(str(name), RULE_TYPES, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"known are {', '.join(RULE_TYPES)}"
        raise ConfigurationError(
            f"unknown rule type {name!r}; {hint}" if "type" in rule else f"the type is missing; {hint}"
        )
    return kind.model_validate(dict(rule))
