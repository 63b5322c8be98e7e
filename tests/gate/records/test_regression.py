"""A run beside the last that was deployed."""

from dataclasses import replace

import pytest

from agentguard.errors import ConfigurationError
from agentguard.gate._history import regression
from agentguard.gate.records._base import RunSummary

DEPLOYED = RunSummary(
    "r1", "finished", 1.0, "help", "1f", "m1", "rules", "h:1", decision="deploy", risk=0.6, total_claims=80
)
NEW = replace(DEPLOYED, run_id="r9", started=9.0, risk=0.8, total_claims=70, decision="block")


def test_the_interval_is_newcombes() -> None:
    # Newcombe 1998 (Statistics in Medicine 17, 873), table II, example (a): 56/70 − 48/80, method 10
    found = regression(NEW, [DEPLOYED])

    assert found.against == "r1"
    assert found.difference == pytest.approx(0.2)
    assert found.low == pytest.approx(0.0524, abs=5e-5)
    assert found.high == pytest.approx(0.3339, abs=5e-5)
    assert found.is_regression
    assert found.explanation == (
        "risk 0.800 against 0.600 of run r1, which was deployed: +0.200 (95% interval +0.052 to +0.334), "
        "worse than chance explains"
    )


def test_a_rise_that_chance_explains_is_no_regression() -> None:
    found = regression(replace(NEW, total_claims=7), [replace(DEPLOYED, total_claims=8)])

    assert found.difference == pytest.approx(0.2)
    assert not found.is_regression
    assert "no more apart than chance explains" in found.explanation


def test_a_fall_is_told() -> None:
    found = regression(replace(NEW, risk=0.1), [DEPLOYED])

    assert not found.is_regression
    assert "better than chance explains" in found.explanation


def test_a_wider_confidence_is_a_wider_interval() -> None:
    usual, wide = regression(NEW, [DEPLOYED]), regression(NEW, [DEPLOYED], confidence=0.999)

    assert usual.low is not None
    assert wide.low is not None
    assert wide.low < usual.low
    assert not wide.is_regression


def test_the_last_deployed_run_of_the_use_case_is_taken() -> None:
    history = [
        replace(DEPLOYED, run_id="first", started=1.0),
        replace(DEPLOYED, run_id="last", started=5.0),
        replace(DEPLOYED, run_id="second", started=3.0),
        replace(DEPLOYED, run_id="warned", started=6.0, decision="warn"),
        replace(DEPLOYED, run_id="another", started=6.0, use_case="sales"),
        replace(DEPLOYED, run_id="died", started=6.0, status="interrupted", decision=None, risk=None),
        replace(DEPLOYED, run_id="later", started=10.0),
        replace(NEW, decision="deploy"),  # itself
    ]

    assert regression(NEW, history).against == "last"


def test_where_nothing_was_deployed_there_is_nothing_to_compare() -> None:
    found = regression(NEW, [replace(DEPLOYED, decision="block")])

    assert (found.against, found.difference, found.is_regression) == (None, None, False)
    assert "no earlier run of this use case was deployed" in found.explanation


def test_a_run_without_claims_is_not_compared() -> None:
    found = regression(replace(NEW, total_claims=0, risk=0.0, decision="warn"), [DEPLOYED])

    assert (found.against, found.is_regression) == (None, False)
    assert "no claims" in found.explanation


def test_what_else_differs_is_told() -> None:
    before = replace(DEPLOYED, prompts_digest="aa", evidence_digest="bb")
    found = regression(replace(NEW, prompts_digest="ab", evidence_digest="bb", target="m2", judge="model"), [before])

    assert found.notes == (
        "the prompts differ",
        "the model differs (m1, now m2)",
        "the judge differs (rules, now model)",
    )
    assert found.explanation.endswith("; ".join(found.notes))


@pytest.mark.parametrize(
    ("before", "after", "note"),
    [
        ("returns 2", "returns 3", "the prompts differ (returns 2, now returns 3)"),
        (
            "returns 3",
            "returns 3",
            "the prompts differ, though both are returns 3: a changed set needs another version",
        ),
        ("", "returns 3", "the prompts differ (generated, now returns 3)"),
    ],
)
def test_other_prompts_are_told_by_their_sets(before: str, after: str, note: str) -> None:
    deployed = replace(DEPLOYED, prompts_digest="aa", prompt_sets=before)

    assert regression(replace(NEW, prompts_digest="ab", prompt_sets=after), [deployed]).notes[0] == note


@pytest.mark.parametrize("status", ["running", "failed", "interrupted"])
def test_only_a_finished_run_is_compared(status: str) -> None:
    unfinished = replace(NEW, status=status, risk=None)  # type: ignore[arg-type]  # parametrized
    with pytest.raises(ConfigurationError, match=status):
        regression(unfinished, [DEPLOYED])


@pytest.mark.parametrize("confidence", [0.0, 1.0, 95.0])
def test_confidence_is_a_probability(confidence: float) -> None:
    with pytest.raises(ConfigurationError, match="confidence"):
        regression(NEW, [DEPLOYED], confidence=confidence)
