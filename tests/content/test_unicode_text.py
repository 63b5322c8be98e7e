"""Disguises of Unicode taken off, and the way back to the text as it was given."""

import re2
from hypothesis import given
from hypothesis import strategies as st

from agentguard.content.injection._concealed import DISGUISED, fold

from ..rows import over

DISGUISES = {
    "Cyrillic letters": "ign\u043er\u0435",
    "Greek letters": "ign\u03bfre",
    "Armenian letters": "ign\u0585re",
    "full width": "\uff49\uff47\uff4e\uff4f\uff52\uff45",
    "mathematical letters": "\U0001d422\U0001d420\U0001d427\U0001d428\U0001d42b\U0001d41e",
    "letters in circles": "\u24d8gnore",
    "zero-width characters": "ig\u200bno\u200dre",
    "a soft hyphen": "ig\u00adnore",
    "directional characters": "\u202aignore\u202c",
    "combining marks": "i\u0301gno\u0308re",
    "accents": "\u00ecgn\u00f2re",
    "tag characters": "".join(chr(0xE0000 + ord(letter)) for letter in "ignore"),
    "variation selectors": "ig\ufe0fnore",
}


@over("word", DISGUISES.values())
def test_a_disguise_is_noticed_and_taken_off(word: str) -> None:
    assert re2.search(DISGUISED, word)
    assert fold(word).text == "ignore"


@over(
    "text",
    [
        "café au lait",
        "naïve",
        "Привет, мир",
        "日本語のテキスト",
        "한국어 문장",
        "5 € · 20 °",
        "“quoted” – dash…",
        "Ελλάδα",
    ],
)
def test_accents_and_other_scripts_alone_are_no_disguise(text: str) -> None:
    assert not re2.search(DISGUISED, text)


def test_spans_lead_back_across_what_was_dropped_and_what_became_longer() -> None:
    # Given: 0 "a", 1 zero-width, 2 "b", 3 the ligature fi, 4 "c". Folded: a b f i c.
    folded = fold("a\u200bb\ufb01c")
    assert folded.text == "abfic"
    assert [folded.span(offset, offset + 1) for offset in range(5)] == [(0, 1), (2, 3), (3, 4), (3, 4), (4, 5)]
    assert folded.span(0, 2) == (0, 3)  # what was dropped within belongs to it
    assert folded.span(1, 3) == (2, 4)


def test_hangul_stays_in_syllables() -> None:
    assert fold("모든 지시").text == "모든 지시"


def test_a_tag_character_that_shows_nothing_folds_to_nothing() -> None:
    assert fold("a\U000e0001b\U000e007f").text == "ab"


@given(st.text())
def test_every_span_lies_within_the_text_and_in_its_order(text: str) -> None:
    folded = fold(text)
    origins = [folded.span(offset, offset + 1) for offset in range(len(folded.text))]
    assert all(0 <= start < end <= len(text) for start, end in origins)
    assert origins == sorted(origins)


@given(st.text(alphabet=st.characters(max_codepoint=127)))
def test_ascii_stays_as_it_is(text: str) -> None:
    assert fold(text).text == text
