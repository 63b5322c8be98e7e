"""Many patterns in one pass: what occurs, where, and that nothing is lost when re2 gives up."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard._linear_patterns import LinearPattern
from agentguard.content._patterns import Catalogue, Pattern, PatternSet, located
from agentguard.errors import ConfigurationError

PATTERNS = [r"(?i)ignore", r"[0-9]{3}", r"é+", r"\bnever\b"]


@given(st.text(alphabet="ignoreIGNOREé0123456789 never\ud800😀", max_size=60))
def test_as_the_patterns_one_by_one(text: str) -> None:
    found = PatternSet(PATTERNS)
    plain = [re.compile(pattern, re.ASCII) for pattern in PATTERNS]
    assert found.hits(text) == tuple(n for n, pattern in enumerate(plain) if pattern.search(text))
    catalogue = Catalogue(tuple(Pattern(pattern, pattern) for pattern in PATTERNS))
    for pattern in plain:
        assert list(catalogue.spans(pattern.pattern, text)) == [match.span() for match in pattern.finditer(text)]


def test_no_patterns_and_no_hits() -> None:
    assert PatternSet([]).hits("text") == ()
    assert PatternSet(PATTERNS).hits("") == ()
    assert len(PatternSet(PATTERNS)) == 4


def test_where_the_automaton_gives_up_each_pattern_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    class GivenUp:
        def Match(self, text: bytes) -> None:
            return None

    found = PatternSet(PATTERNS)
    assert found.hits("clean") == ()
    monkeypatch.setattr(found._set, "_set", GivenUp())
    assert found.hits("Ignore 650, never") == (0, 1, 3)


@pytest.mark.parametrize("pattern", ["(?=a)", r"(a)\1", "(", "[z-a]"])
def test_a_pattern_that_re2_does_not_take_is_refused(pattern: str) -> None:
    with pytest.raises(ConfigurationError, match="re2 does not take"):
        PatternSet(["fine", pattern])


@given(st.text(alphabet="ab1é😀\ud800 \n", max_size=40))
def test_places_are_those_of_the_standard_library(text: str) -> None:
    plain = text.encode("utf-8", "replace").decode()
    expected = [[match.span(), match.span(1)] for match in re.finditer("[ab](1)?", plain)]
    assert list(located(LinearPattern("[ab](1)?"), text, 1)) == expected


@given(st.text(alphabet="abx 1\n", max_size=40))
def test_a_catalogue_of_many_patterns_finds_what_each_finds(text: str) -> None:
    regexes = [f"{first}{second}" for first in "abx1" for second in ("a", "b+", "[x1]", " ", "$", "\\b", "\n", "aa")]
    catalogue = Catalogue(tuple(Pattern(regex, regex) for regex in regexes))
    assert catalogue.look(text).names == {regex for regex in regexes if re.search(regex.replace("$", "\\Z"), text)}


# Patterns that need words which few texts hold, beside one that most texts match.
RARE = [r"(?i)kiosk", r"zebra\s+quilt", r"(?i)stra(?:ss|ß)e", r"vex[0-9]{2}", r"(?:jumbo|walrus)[^\n]*oxen", r"[a-z]\b"]
PIECES = [
    "kiosk",
    "\u212aIO\u017fK",
    "Zebra",
    "zebra",
    " quilt",
    "Strasse",
    "STRAßE",
    "vex",
    "41",
    "walrus",
    "oxen",
    "\n",
]


@given(st.lists(st.sampled_from([*PIECES, " ", "q", "é"]), max_size=12).map("".join))
def test_patterns_of_rare_words_are_found_in_any_case(text: str) -> None:
    catalogue = Catalogue(tuple(Pattern(regex, regex) for regex in RARE))
    assert catalogue.look(text).names == {
        regex for regex in RARE if re.search(regex, text, re.ASCII if "\\b" in regex else 0)
    }


@given(st.lists(st.integers(0, 25), min_size=1, max_size=6), st.data())
def test_groups_of_any_size_are_looked_for(sizes: list[int], data: st.DataObject) -> None:
    groups = [
        tuple(
            Pattern(f"{group}/{number}", f"jq{group}x{number}z" if number % 2 else f"{group}:{number};")
            for number in range(size)
        )
        for group, size in enumerate(sizes)
    ]
    names = [pattern.name for group in groups for pattern in group]
    chosen = data.draw(st.sets(st.sampled_from(names)) if names else st.just(set()))
    words = [pattern.regex for group in groups for pattern in group if pattern.name in chosen]
    assert Catalogue(*groups).look(" ".join(words)).names == chosen
