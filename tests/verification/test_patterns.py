"""Declared patterns are searched within bounds, and what was not searched to its end is told."""

import pytest

from agentguard import ProfileError
from agentguard.verification._contract import Contract, Patterns
from agentguard.verification._document import read
from agentguard.verification.profile import ToolProfile, parse_profile
from agentguard.verification.types import NotLookedAt

#: Two to the power of the number of letters, to an engine that backtracks.
EXPLODING = r"(a+)+$"
BAIT = b"a" * 5_000 + b"!"


def contract(**fields):
    return Contract(ToolProfile(name="t", **fields))


def test_a_search_that_would_not_end_is_stopped():
    with pytest.raises(NotLookedAt, match="not searched to its end"):
        Patterns((EXPLODING,), "re").found_in(BAIT)
    assert not Patterns((EXPLODING,), "re2").found_in(BAIT)


def test_what_another_pattern_finds_is_found():
    assert Patterns((EXPLODING, "a!"), "re").found_in(BAIT)
    assert Patterns(("a!", EXPLODING), "re").found_in(BAIT)


@pytest.mark.parametrize(
    ("engine", "result", "why"),
    [
        ("re2", "x" * 3_000_000, ""),
        ("re", "x" * 20_000, ""),
        ("re", "x" * 20_001, "the first 20,000 of 20,001 bytes"),
        ("re", "é" * 10_001, "the first 20,000 of 20,002 bytes"),
        ("re2", {"rows": ["x" * 1_000] * 1_000}, ""),
        ("re2", {"rows": ["x" * 1_000] * 1_100}, "only the compact form"),
        ("re2", '{"a": ' * 300 + "1" + "}" * 300, "64 levels"),
    ],
)
def test_where_a_pattern_may_be_that_was_not_found(engine, result, why):
    declared = contract(response_patterns=["no such text"], regex_engine=engine)
    document = read(result)
    assert not declared.matches_a_pattern(document)
    said = declared.unsearched(document)
    assert why in said
    assert bool(said) == bool(why)


def test_text_that_is_too_large_to_be_parsed_is_searched_all_the_same():
    declared = contract(response_patterns=["needle"], max_bytes=1_024)
    text = "x" * 1_000_000
    assert declared.matches_a_pattern(read(text + "needle", declared.limits))
    assert declared.unsearched(read(text, declared.limits)) == ""


@pytest.mark.parametrize("pattern", ["(", "(?<=a", "[b-a]", "(?P<n>a)(?P<n>b)"])
def test_what_python_does_not_compile_is_refused(pattern):
    with pytest.raises(ProfileError, match="is not a regular expression"):
        parse_profile({"name": "t", "response_patterns": [pattern], "regex_engine": "re"})
