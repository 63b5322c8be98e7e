"""What callers build is checked at once, frozen, and all faults are told together."""

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from agentguard.convergence import ConvergenceConfig, ConvergenceContext, Issue
from agentguard.errors import ConfigurationError, DataError

from ..rows import over


def test_documented_defaults() -> None:
    config = ConvergenceConfig()

    assert (config.temperature, config.max_tokens, config.max_output_chars) == (0.3, 2000, 8000)
    assert config.categories == ("SECURITY", "CORRECTNESS", "RELIABILITY", "MAINTAINABILITY", "PERFORMANCE")
    assert (config.min_rounds, config.min_stable_rounds) == (3, 2)


@over(
    "wrong",
    [
        {"temperature": -0.1},
        {"temperature": True},
        {"temperature": float("nan")},
        {"max_tokens": 0},
        {"max_tokens": 10.0},
        {"max_output_chars": 1},
        {"timeout_s": 0},
        {"timeout_s": float("inf")},
        {"categories": ()},
        {"categories": "SECURITY"},
        {"categories": ("A", "a")},
        {"categories": ("A\nB",)},
        {"categories": ("",)},
        {"categories": ("A" * 65,)},
        {"categories": (1,)},
        {"min_rounds": 0},
        {"min_stable_rounds": -1},
        {"structured": 1},
    ],
)
def test_setting_that_cannot_be_used(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match=f"1 fault:\n  {next(iter(wrong))} must be"):
        ConvergenceConfig(**wrong)


def test_all_settings_are_told_at_once() -> None:
    with pytest.raises(ConfigurationError) as caught:
        ConvergenceConfig(temperature=9, max_tokens=0, categories=(), min_rounds=0)

    assert [line.split()[0] for line in str(caught.value).splitlines()[1:]] == [
        "temperature",
        "max_tokens",
        "categories",
        "min_rounds",
    ]


def test_settings_may_be_left_to_the_model() -> None:
    config = ConvergenceConfig(temperature=None, max_tokens=None, timeout_s=None, categories=["A", "B"])  # type: ignore[arg-type]  # a list is taken too

    assert config.categories == ("A", "B")


@over(
    ("wrong", "named"),
    [
        ({"requirements": None}, "requirements"),
        ({"all_outputs": b"x"}, "all_outputs"),
        ({"target_files": "login.py"}, "target_files"),
        ({"target_files": [1]}, "target_files"),
        ({"issues": [{"id": "I1"}]}, "issues"),
        ({"current_round": -1}, "current_round"),
        ({"current_round": True}, "current_round"),
        ({"stable_rounds": 1.0}, "stable_rounds"),
        ({"stable_rounds": 4}, "cannot exceed current_round"),
        ({"categories_examined": "SECURITY"}, "categories_examined"),
    ],
)
def test_session_that_cannot_be_evaluated(
    session: Callable[..., ConvergenceContext], wrong: dict[str, Any], named: str
) -> None:
    with pytest.raises(DataError, match=named):
        session(**wrong)


def test_all_faults_of_a_session_are_told_at_once(session: Callable[..., ConvergenceContext]) -> None:
    with pytest.raises(DataError, match=r"requirements .*; current_round .*; issues "):
        session(requirements=1, current_round=None, issues="none")


def test_records_are_frozen(session: Callable[..., ConvergenceContext]) -> None:
    context = session(target_files=["a.py"], issues=[Issue("I1", "LOW", "SECURITY")])

    assert isinstance(context.target_files, tuple)
    assert isinstance(context.issues, tuple)
    for record, field in (
        (context, "current_round"),
        (context.issues[0], "severity"),
        (ConvergenceConfig(), "min_rounds"),
    ):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(record, field, 0)


@over("data", [{}, [], None, "I1", {"id": "I1", "category": "X"}])
def test_mapping_that_is_no_issue(data: Any) -> None:
    with pytest.raises(DataError, match=r"missing: .*severity"):
        Issue.from_mapping(data)


def test_issue_with_a_field_that_is_no_text() -> None:
    with pytest.raises(DataError, match="severity, status must be text"):
        Issue.from_mapping({"id": "I1", "severity": 1, "category": "X", "status": None})


def test_issue_from_a_mapping_with_more_keys() -> None:
    data = {"id": "I1", "severity": "HIGH", "category": "X", "line": 7, "status": "RESOLVED"}

    assert Issue.from_mapping(data) == Issue("I1", "HIGH", "X", status="RESOLVED")
