"""The criteria that need no model, each at its border."""

from collections.abc import Callable

import pytest

from agentguard.convergence import ConvergenceConfig, ConvergenceContext, Issue, apply_rules

from ..rows import over

Session = Callable[..., ConvergenceContext]


def unmet(context: ConvergenceContext, config: ConvergenceConfig | None = None) -> list[str]:
    return [criterion.name for criterion in apply_rules(context, config).criteria if not criterion.met]


def test_a_session_that_meets_every_rule(session: Session) -> None:
    rules = apply_rules(session())

    assert rules.passed
    assert rules.unmet == ()
    assert [criterion.name for criterion in rules.criteria] == ["severity", "stable_rounds", "rounds", "categories"]


@over(
    ("severity", "status", "blocks"),
    [
        ("CRITICAL", "OPEN", True),
        ("HIGH", "OPEN", True),
        ("high", "challenged", True),
        (" Critical ", "UNRESOLVED", True),
        ("BLOCKER", "OPEN", True),
        ("", "", True),
        ("MEDIUM", "OPEN", False),
        ("low", "open", False),
        ("INFO", "OPEN", False),
        ("CRITICAL", "RESOLVED", False),
        ("CRITICAL", " fixed ", False),
        ("HIGH", "Closed", False),
        ("HIGH", "DISMISSED", False),
    ],
)
def test_severity(session: Session, severity: str, status: str, blocks: bool) -> None:
    issue = Issue("I1", severity, "SECURITY", status=status)

    assert unmet(session(issues=(issue,))) == (["severity"] if blocks else [])


@pytest.mark.parametrize(("rounds", "met"), [(2, False), (3, True), (9, True)])
def test_rounds(session: Session, rounds: int, met: bool) -> None:
    assert unmet(session(current_round=rounds)) == ([] if met else ["rounds"])


@pytest.mark.parametrize(("stable", "met"), [(None, False), (0, False), (1, False), (2, True)])
def test_stable_rounds(session: Session, stable: int | None, met: bool) -> None:
    assert unmet(session(stable_rounds=stable)) == ([] if met else ["stable_rounds"])


@pytest.mark.parametrize(
    ("outputs", "missing"),
    [
        ("security correctness reliability maintainability performance", ""),
        ("Security; Correctness; Reliability; Maintainability", "PERFORMANCE"),
        ("insecurity correctness reliability maintainability performance", "SECURITY"),
        ("", "SECURITY, CORRECTNESS, RELIABILITY, MAINTAINABILITY, PERFORMANCE"),
    ],
)
def test_categories_named_in_the_outputs(session: Session, outputs: str, missing: str) -> None:
    assert apply_rules(session(all_outputs=outputs)).unmet == ((f"not examined: {missing}",) if missing else ())


def test_a_category_is_seen_where_an_issue_has_it(session: Session) -> None:
    issue = Issue("I1", "LOW", "performance", status="RESOLVED")
    outputs = "security correctness reliability maintainability"

    assert unmet(session(all_outputs=outputs)) == ["categories"]
    assert unmet(session(all_outputs=outputs, issues=(issue,))) == []


def test_declared_categories_stand_over_named_ones(session: Session) -> None:
    assert unmet(session(categories_examined={"security"})) == ["categories"]
    declared = {"Security", "correctness", "RELIABILITY", "maintainability", "performance"}
    assert unmet(session(all_outputs="", categories_examined=declared)) == []


def test_stable_rounds_that_nobody_gave_are_said_to_be_unknown() -> None:
    rules = apply_rules(ConvergenceContext("review", ("a.py",), 3, "looked"))

    assert rules.unmet[0] == "an unknown number of rounds in a row without a new issue, 2 needed"
    assert unmet(ConvergenceContext("review", (), 3, ""), ConvergenceConfig(min_stable_rounds=0)) == ["categories"]


def test_own_thresholds_and_categories(session: Session) -> None:
    config = ConvergenceConfig(categories=("DATA_LOSS", "C++"), min_rounds=1, min_stable_rounds=0)
    quick = session(current_round=1, stable_rounds=0, all_outputs="Looked for data loss in the C++ part.")

    assert apply_rules(quick, config).passed
    assert unmet(quick) == ["stable_rounds", "rounds", "categories"]


def test_no_setting_lets_a_severe_issue_pass(session: Session) -> None:
    config = ConvergenceConfig(min_rounds=1, min_stable_rounds=0)

    assert unmet(session(issues=(Issue("I1", "HIGH", "SECURITY"),)), config) == ["severity"]


def test_many_severe_issues_are_counted(session: Session) -> None:
    issues = tuple(Issue(f"I{number}", "HIGH", "SECURITY") for number in range(8))

    assert apply_rules(session(issues=issues)).unmet[0].endswith("'I4' (HIGH) and 3 more")
