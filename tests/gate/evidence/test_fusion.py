"""Rankings fused by reciprocal rank."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.errors import ConfigurationError
from agentguard.gate._types import Chunk, Passage
from agentguard.gate.evidence._index import reciprocal_rank


def ranking(ids: str) -> list[Passage]:
    return [Passage(Chunk(name, "d.md", "", "", name.upper(), 0, 1), 9.0 - n) for n, name in enumerate(ids)]


def ids(passages: list[Passage]) -> str:
    return "".join(passage.chunk.id for passage in passages)


def test_the_scores_are_those_worked_out_by_hand() -> None:
    fused = reciprocal_rank([ranking("abc"), ranking("cbd")])

    # a: 1/61; b: 1/62 + 1/62; c: 1/63 + 1/61; d: 1/63
    assert ids(fused) == "cbad"
    assert [passage.score for passage in fused] == pytest.approx([0.032266458, 0.032258065, 0.016393443, 0.015873016])


def test_k_says_how_much_the_first_ranks_stand_out() -> None:
    # k = 0: a 1 + 1/4, b 1/2 + 1/2; k = 60: a 1/61 + 1/64 = 0.03202, b 1/62 + 1/62 = 0.03226
    rankings = [ranking("ab"), ranking("cbda")]

    assert ids(reciprocal_rank(rankings, k=0)[:2]) == "ab"
    assert ids(reciprocal_rank(rankings, k=60)[:2]) == "ba"


def test_of_equal_scores_an_earlier_ranking_decides() -> None:
    assert ids(reciprocal_rank([ranking("za"), ranking("mb")])) == "zmab"
    assert ids(reciprocal_rank([ranking("mb"), ranking("za")])) == "mzba"


def test_one_ranking_keeps_its_order_and_none_is_empty() -> None:
    assert ids(reciprocal_rank([ranking("cab"), []])) == "cab"
    assert reciprocal_rank([]) == []


def test_a_chunk_that_comes_twice_counts_once() -> None:
    assert reciprocal_rank([ranking("aba")]) == reciprocal_rank([ranking("ab")])


@pytest.mark.parametrize("k", [-1.0, math.nan, math.inf])
def test_k_must_be_a_number(k: float) -> None:
    with pytest.raises(ConfigurationError, match="k must be"):
        reciprocal_rank([ranking("a")], k)


@given(st.lists(st.lists(st.sampled_from("abcdefgh"), unique=True).map("".join), max_size=4))
def test_every_chunk_comes_once_the_best_first(found: list[str]) -> None:
    fused = reciprocal_rank([ranking(names) for names in found])

    assert sorted(ids(fused)) == sorted(set("".join(found)))
    for passage in fused:
        ranks = [names.index(passage.chunk.id) + 1 for names in found if passage.chunk.id in names]
        assert passage.score == pytest.approx(sum(1 / (60 + rank) for rank in ranks))
    scores = [passage.score for passage in fused]
    assert scores == sorted(scores, reverse=True)
