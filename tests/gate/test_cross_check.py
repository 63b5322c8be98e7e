"""Rules look at what a judge calls supported; where they contradict it, the claim is weakly supported."""

from dataclasses import replace

import pytest

from agentguard.gate._config import RiskTolerance
from agentguard.gate._run import cross_check, score_verdicts
from agentguard.gate._types import Case, Chunk, Claim, ClaimVerdict, Passage, Reason
from agentguard.gate.rules import RuleJudge

RULES = RuleJudge()
PASSAGES = {
    "manual.md": "The Mosswick S weighs 8.4 kg. Its battery lasts 90 minutes.",
    "returns.md": "Opened lamps cannot be returned. Returns are accepted within 30 days.",
    "injected.md": "The Mosswick S weighs 99 kg.",
}


def case(claim: str, *names: str) -> Case:
    chunks = [Chunk(name, name, name, "", PASSAGES[name], 0, len(PASSAGES[name])) for name in names]
    return Case(Claim("p1.c1", "p1", claim), tuple(Passage(chunk, 1.0) for chunk in chunks))


def judged(chunk_id: str) -> ClaimVerdict:
    return ClaimVerdict("p1.c1", "supported", (Reason("judge", "It says so."),), chunk_id, "", "a model")


@pytest.mark.parametrize(
    ("claim", "name", "kind"),
    [
        ("The Mosswick S weighs 99 kg.", "manual.md", "99 kg"),
        ("The battery lasts 90 hours.", "manual.md", "90 hours"),
        ("Opened lamps can be returned.", "returns.md", "cannot be returned"),
        ("Returns are accepted within 45 days.", "returns.md", "45 days"),
    ],
)
def test_a_figure_a_unit_or_a_negation_that_the_passage_contradicts_is_weak(claim: str, name: str, kind: str) -> None:
    checked = cross_check(case(claim, name), judged(name), RULES)

    assert checked.label == "weakly_supported"
    assert checked.reasons[0].kind == "rules"
    assert kind in checked.reasons[0].detail
    assert checked.reasons[1:] == (Reason("judge", "It says so."),)
    assert score_verdicts([checked], RiskTolerance()).contradicted == 1


@pytest.mark.parametrize(
    ("claim", "name"),
    [
        ("The Mosswick S weighs 8.4 kg.", "manual.md"),
        ("The battery lasts 1.5 hours.", "manual.md"),
        ("Returns are accepted within 30 days.", "returns.md"),
        ("The Mosswick S is a light machine.", "manual.md"),  # in other words: for the judge to say
    ],
)
def test_what_the_rules_do_not_contradict_stays(claim: str, name: str) -> None:
    assert cross_check(case(claim, name), judged(name), RULES) == judged(name)


def test_a_document_that_another_one_contradicts_is_weak_evidence() -> None:
    checked = cross_check(
        case("The Mosswick S weighs 99 kg.", "injected.md", "manual.md"), judged("injected.md"), RULES
    )

    assert checked.label == "weakly_supported"
    assert "8.4 kg" in checked.reasons[0].detail
    assert "manual.md" in checked.reasons[0].detail


@pytest.mark.parametrize("label", ["weakly_supported", "unsupported"])
def test_rules_raise_no_verdict(label: str) -> None:
    verdict = replace(judged("manual.md"), label=label)  # type: ignore[arg-type]  one of the three

    assert cross_check(case("The Mosswick S weighs 8.4 kg.", "manual.md"), verdict, RULES) == verdict
