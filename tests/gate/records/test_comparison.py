"""Two models on one set of prompts."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from agentguard.errors import ConfigurationError
from agentguard.gate._config import GateConfig, LocalSource
from agentguard.gate._history import LabelChange, PromptRisk, compare
from agentguard.gate._run import GateRun, GateState
from agentguard.gate._types import Claim, ClaimVerdict, Label, Prompt, Reason
from agentguard.gate.records._base import RunSummary

CONFIG = GateConfig(use_case="help", doc_sources=(LocalSource(type="local", path="docs"),))
SUMMARY = RunSummary(
    "ra", "finished", 1.0, "help", "1f", "old", "rules", "h:1", prompts_digest="aa", evidence_digest="ee", risk=0.1
)
LABELS: Mapping[str, Label] = {"s": "supported", "w": "weakly_supported", "u": "unsupported"}


def run(name: str, answers: Sequence[tuple[str, Mapping[str, str]]], **changes: str) -> GateRun:
    """A run of prompts, each with the claims of its answer and the first letters of their labels."""
    state = GateState(CONFIG)
    claims, verdicts = [], []
    for number, (_, said) in enumerate(answers, 1):
        for part, (text, label) in enumerate(said.items(), 1):
            claims.append(Claim(f"p{number}.c{part}", f"p{number}", text))
            verdicts.append(
                ClaimVerdict(f"p{number}.c{part}", LABELS[label], (Reason("overlap", "said"),), None, "", "rules")
            )
    state.prompts = tuple(Prompt(f"p{number}", text) for number, (text, _) in enumerate(answers, 1))
    state.claims, state.verdicts = tuple(claims), tuple(verdicts)
    return GateRun(f"r{name}", state, replace(SUMMARY, run_id=f"r{name}", target=name, **changes))  # type: ignore[arg-type]  # texts


def test_risks_are_compared_prompt_by_prompt() -> None:
    old = run("old", [("How long?", {"Two years.": "s", "For all.": "u"}), ("How much?", {"Ten.": "w"}), ("Who?", {})])
    new = run("new", [("How long?", {"Two years.": "s"}), ("How much?", {"Nine.": "u"}), ("Who?", {"We.": "s"})])
    found = compare(old, new)

    assert found.prompts == (
        PromptRisk("p1", "How long?", 0.5, 0.0),
        PromptRisk("p2", "How much?", 0.5, 1.0),
        PromptRisk("p3", "Who?", None, 0.0),
    )
    assert (found.compared, found.difference, found.p_value, found.lower) == (2, 0.0, 1.0, None)
    assert "old and new are 0.000 apart, which chance explains" in found.explanation


def test_a_difference_in_all_prompts_is_beyond_chance() -> None:
    prompts = [f"Question {n}?" for n in range(6)]
    old = run("old", [(prompt, {"Yes.": "s"}) for prompt in prompts])
    new = run("new", [(prompt, {"No.": "u"}) for prompt in prompts])
    found = compare(old, new)

    assert found.difference == 1.0
    assert found.p_value == pytest.approx(2 / 2**6)
    assert found.lower == "a"
    assert found.explanation.startswith(
        "over 6 prompts the mean risk of old is 1.000 below that of new (p = 0.031). 6 claims"
    )
    assert compare(new, old).lower == "b"


def test_claims_judged_differently_are_told() -> None:
    old = run("old", [("How long?", {"It lasts  two years.": "s", "For all.": "w", "Only here.": "s"})])
    new = run("new", [("How long?", {"it lasts two years": "u", "For all.": "w", "Only there.": "u"})])

    assert compare(old, new).changes == (
        LabelChange("p1", "How long?", "It lasts  two years.", "supported", "it lasts two years", "unsupported"),
        LabelChange("p1", "How long?", "Only here.", "supported", "Only there.", "unsupported"),
    )


def test_a_regression_of_two_in_six_is_named_though_chance_may_explain_it() -> None:
    good = [(f"Question {n}?", {f"Answer {n} is right.": "s"}) for n in range(1, 7)]
    bad = [*good[:4], ("Question 5?", {"It costs 9 euros.": "u"}), ("Question 6?", {"Answer 6 is wrong.": "u"})]

    found = compare(run("old", good), run("new", bad))

    assert found.lower is None
    assert [(change.prompt_id, change.claim, change.claim_b) for change in found.worse] == [
        ("p5", "", "It costs 9 euros."),
        ("p6", "Answer 6 is right.", "Answer 6 is wrong."),
    ]
    assert found.explanation.endswith(
        "2 claims got worse: p5 'It costs 9 euros.': not said → unsupported; "
        "p6 'Answer 6 is wrong.': supported → unsupported"
    )


def test_what_is_no_longer_claimed_is_no_loss() -> None:
    found = compare(run("old", [("A?", {"Wrong.": "u", "Right.": "s"})]), run("new", [("A?", {})]))

    assert found.changes == (LabelChange("p1", "A?", "Wrong.", "unsupported", "", None),)
    assert found.worse == ()


def test_different_prompts_are_refused_unless_asked_for() -> None:
    old = run("old", [("A?", {"x": "s"}), ("B?", {"x": "s"})])
    new = run("new", [("B?", {"x": "u"}), ("C?", {"x": "s"})], prompts_digest="bb")
    with pytest.raises(ConfigurationError, match="different prompts"):
        compare(old, new)
    found = compare(old, new, allow_different_prompts=True)

    assert found.prompts == (PromptRisk("p2", "B?", 0.0, 1.0),)
    assert found.notes == ("the prompts differ, and 1 of them are common to both",)


def test_a_prompt_asked_twice_is_compared_in_order() -> None:
    old = run("old", [("A?", {"x": "s"}), ("A?", {"x": "w"})])
    new = run("new", [("A?", {"x": "w"}), ("A?", {"x": "u"})])

    assert [(prompt.risk_a, prompt.risk_b) for prompt in compare(old, new).prompts] == [(0.0, 0.5), (0.5, 1.0)]


def test_what_else_differs_is_told() -> None:
    found = compare(run("old", [("A?", {"x": "s"})]), run("new", [("A?", {"x": "s"})], evidence_digest="ff", judge="m"))

    assert found.notes == ("the documents differ", "the judges differ (rules, m)")


def test_answers_without_claims_leave_nothing_to_compare() -> None:
    found = compare(run("old", [("A?", {})]), run("new", [("A?", {"x": "s"})]))

    assert (found.compared, found.difference, found.p_value, found.lower) == (0, None, None, None)
    assert "nothing to compare" in found.explanation


def test_only_finished_runs_are_compared() -> None:
    with pytest.raises(ConfigurationError, match="rnew is failed"):
        compare(run("old", [("A?", {"x": "s"})]), run("new", [("A?", {"x": "s"})], status="failed"))
