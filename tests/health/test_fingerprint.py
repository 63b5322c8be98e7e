"""The fingerprint engine: figures of texts and distances, with values worked out by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.errors import ConfigurationError
from agentguard.health import Fingerprint
from agentguard.health._judging import Method, check_fingerprint, cosine_distance, fingerprint_of, weighted_distance

from ..rows import over

USUAL = Fingerprint(100.0, 5.0, 20.0, 4.0, word_length=5.0, diversity=0.5, punctuation=2.0)
ANY_TEXT = st.text(st.characters(codec=None), max_size=200)


def test_the_figures_of_a_text() -> None:
    found = fingerprint_of("It is mild. Bring a coat!")

    assert (found.tokens, found.sentences, found.sentence_length) == (6.0, 2.0, 3.0)
    assert found.word_length == pytest.approx(20 / 6)  # 2 + 2 + 5 + 5 + 1 + 5
    assert (found.diversity, found.punctuation) == (1.0, 1.0)


def test_the_entropy_of_the_characters() -> None:
    """Of "aab b": a 2/5, b 2/5, space 1/5: 2 · 0.4 · log2(2.5) + 0.2 · log2(5) = 1.0575 + 0.4644."""
    assert fingerprint_of("aab b").entropy == pytest.approx(1.521928)


@over(
    ("text", "sentences"),
    [
        ("", 0),
        ("...", 0),
        ("no full stop", 1),
        ("Pi is 3.14 or so. See example.com for more", 2),
        ("Wait... what?!", 2),
        ('He said "yes." Then he left.', 2),
        ("\u4f60\u597d\u3002\u518d\u89c1\uff01", 2),  # two sentences of Chinese, without spaces
    ],
)
def test_sentences(text: str, sentences: int) -> None:
    assert fingerprint_of(text).sentences == sentences


def test_words_are_the_same_in_capitals() -> None:
    assert fingerprint_of("No no NO yes").diversity == 0.5


def test_an_empty_text_is_all_zeros() -> None:
    assert fingerprint_of("") == Fingerprint(0, 0, 0, 0, 0, 0, 0)


def test_small_usual_figures_divide_by_one() -> None:
    """Entropy 1 where 0.5 is usual: 0.2 · 0.5 / max(0.5, 1)."""
    usual = USUAL._replace(entropy=0.5)
    assert weighted_distance(usual._replace(entropy=1.0), usual) == pytest.approx(0.1)


def vector(sentences: float, word_length: float, diversity: float, punctuation: float) -> Fingerprint:
    return Fingerprint(9.0, sentences, 9.0, 9.0, word_length, diversity, punctuation)


@over(
    ("now", "usual", "distance", "status"),
    [
        (vector(2, 4, 1, 2), vector(2, 4, 1, 2), 0.0, "ok"),
        (vector(2, 4, 1, 2), vector(4, 2, 2, 1), 0.2, "ok"),  # 20 / (5 · 5) = 0.8
        (vector(3, 4, 0, 0), vector(4, 3, 0, 0), 0.04, "ok"),  # 24 / (5 · 5) = 0.96
        (vector(3, 4, 0, 0), vector(1, 0, 0, 0), 0.4, "warn"),  # 3 / 5
        (vector(3, 4, 0, 0), vector(1, 0, 0, 1e9), 1.0, "error"),
        (vector(0, 0, 0, 0), vector(0, 0, 0, 0), 0.0, "ok"),
        (vector(0, 0, 0, 0), vector(1, 1, 1, 1), 1.0, "error"),
    ],
)
def test_the_cosine_method(now: Fingerprint, usual: Fingerprint, distance: float, status: str) -> None:
    assert cosine_distance(now, usual) == pytest.approx(distance, abs=1e-8)
    assert check_fingerprint(now, usual, method="cosine").status == status


def test_thresholds_are_arguments() -> None:
    """Distance 0.25 by both limits at or below it."""
    now = USUAL._replace(tokens=50.0, sentence_length=10.0)
    assert check_fingerprint(now, USUAL, warn=0.25, error=0.5).status == "warn"
    assert check_fingerprint(now, USUAL, warn=0.1, error=0.25).status == "error"


def test_nothing_to_compare_is_not_judged() -> None:
    assert not check_fingerprint(None, USUAL).applicable
    assert not check_fingerprint(USUAL, None).applicable


def test_another_method_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="'weighted' or 'cosine', not 'euclid'"):
        check_fingerprint(USUAL, USUAL, method="euclid")  # type: ignore[arg-type]  # on purpose


@given(ANY_TEXT, ANY_TEXT, st.sampled_from(["weighted", "cosine"]))
def test_any_two_texts_have_a_distance(first: str, second: str, method: Method) -> None:
    found = check_fingerprint(fingerprint_of(first), fingerprint_of(second), method=method)

    assert found.applicable
    assert 0.0 <= found.value <= 1.0
    assert check_fingerprint(fingerprint_of(first), fingerprint_of(first), method=method).value < 1e-9


@pytest.mark.parametrize("text", ["." * 300_000 + "a", "a" * 300_000, "! " * 150_000, "\ud800" * 1000])
def test_hostile_texts_end(text: str) -> None:
    assert fingerprint_of(text).entropy >= 0.0
