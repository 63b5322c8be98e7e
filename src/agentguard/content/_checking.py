"""One look at a text by every detector that applies to it, and what should be done about it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, get_args

from agentguard.content._findings import Finding
from agentguard.content._scanner import Scanner
from agentguard.errors import ConfigurationError

if TYPE_CHECKING:
    from agentguard.content.answers.compliance import Rule

Outcome = Literal["accept", "flag", "block"]


class Looked(NamedTuple):
    """The result of one detector on a text.

    Attributes:
        label: the detector's own word for it.
        score: the detector's own score; what is good differs (see the detector).
        findings: what it found.
        outcome: what should be done by it; None for a heuristic, which decides nothing by itself.
    """

    label: str
    score: float
    findings: tuple[Finding, ...]
    outcome: Outcome | None


class Checked(NamedTuple):
    """The results of all detectors on a text.

    Attributes:
        outcome: the gravest outcome of any.
        parts: by the detector's name.
        value: the JSON value that was asked for, mended where need was; None where none was, or there is none.
    """

    outcome: Outcome
    parts: Mapping[str, Looked]
    value: Any = None


def check(
    text: str,
    *,
    prompt: str | None = None,
    tool_results: Iterable[Any] | None = None,
    rules: Iterable[Rule | Mapping[str, Any]] | None = None,
    is_json: bool = False,
    outcomes: Mapping[str, Outcome] | None = None,
) -> Checked:
    """Look at a text by every detector that applies: always for injections, personal data and secrets.

    An injection or a secret blocks. Personal data, a text that is suspicious of an injection, what no tool result
    supports, a broken rule and JSON that had to be mended are flagged; JSON that cannot be read blocks. What goes with
    made-up or shallow answers, and the kind of text, are told and decide nothing: they are heuristics.

    Args:
        text: the text, an answer of a model for example.
        prompt: what it answers, with all that it may draw on; then it is looked at for signs of invention and
            shallowness, too.
        tool_results: what it rests on; then its numbers, dates, identifiers and names are traced to them.
        rules: rules of form, as :func:`agentguard.content.answers.compliance.check` takes them.
        is_json: the text is to be JSON.
        outcomes: what findings lead to otherwise, by detector (``injection``, ``pii``, ``secrets``, ``grounding``,
            ``compliance``, ``json``). What is in doubt, a suspicious text and mended JSON, leads to ``flag`` at most.

    Raises:
        ConfigurationError: for rules that cannot be read, or outcomes that are none.

    >>> checked = check("Mail ada@example.org: it is 7 degrees.", tool_results=[{"city": "Oslo", "temperature": 7}])
    >>> checked.outcome, {name: part.label for name, part in checked.parts.items()}
    ('flag', {'injection': 'clean', 'pii': 'pii', 'secrets': 'clean', 'grounding': 'ungrounded'})
    >>> check("Mail ada@example.org: it is 7 degrees.", outcomes={"pii": "block"}).outcome
    'block'
    """
    from agentguard.content import answers, grounding, json_repair

    led_to: dict[str, Outcome] = {**_OUTCOMES, **_known(outcomes or {})}
    parts: dict[str, Looked] = {}

    def add(name: str, found: Any, outcome: Outcome | None) -> None:
        parts[name] = Looked(found.label, found.score, tuple(found.findings), outcome)

    def decide(name: str, found: Any, *, clean: bool, sure: bool = True) -> None:
        """Add what a detector says, and what that leads to."""
        outcome = "accept" if clean else led_to[name]
        add(name, found, outcome if sure or outcome == "accept" else "flag")

    for name, found in Scanner().scan(text).items():
        decide(name, found, clean=found.label == "clean", sure=found.label != "suspicious")
    value = None
    if is_json:
        repair = json_repair.repair(text)
        value = repair.value
        decide("json", repair, clean=repair.label == "valid", sure=repair.label != "repaired")
    if tool_results is not None:
        traced = grounding.check(text, tool_results, question=prompt)
        decide("grounding", traced, clean=not traced.findings)
    if rules is not None:
        kept = answers.compliance.check(text, rules)
        decide("compliance", kept, clean=kept.label == "followed")
    if prompt is not None:
        add("hallucination", answers.hallucination.risk(text, prompt), None)
        add("compression", answers.compression.score(prompt, text), None)
    for likeliest in answers.intent.classify(text)[:1]:
        add("intent", likeliest, None)
    gravest = {part.outcome for part in parts.values()}
    outcome: Outcome = "block" if "block" in gravest else "flag" if "flag" in gravest else "accept"
    return Checked(outcome, MappingProxyType(parts), value)


#: What findings of a detector lead to, unless it is said otherwise.
_OUTCOMES: Final[Mapping[str, Outcome]] = {
    "injection": "block", "secrets": "block", "json": "block", "pii": "flag", "grounding": "flag", "compliance": "flag",
}  # fmt: skip


def _known(outcomes: Mapping[str, Outcome]) -> Mapping[str, Outcome]:
    """These outcomes, where each is one, of a detector that decides something."""
    for name, outcome in outcomes.items():
        if name not in _OUTCOMES:
            raise ConfigurationError(f"outcomes has {name!r}, and known are {', '.join(sorted(_OUTCOMES))}")
        if outcome not in get_args(Outcome):
            raise ConfigurationError(f"outcomes[{name!r}] must be 'accept', 'flag' or 'block', not {outcome!r}")
    return outcomes
