from hypothesis import given
from hypothesis import strategies as st

from agentguard.gate.models._judge import MAX_QUOTE_CHARS, SearchedText

from ...rows import over

PASSAGE = (
    "Devices are repaired\n  free of charge for 24 months\u2014\u201cwith receipt\u201d. It's 30.5 kg, not 130 kg."
)


@over(
    ("quote", "found"),
    [
        ("Devices are repaired", "Devices are repaired"),
        ("DEVICES  are\trepaired free", "Devices are repaired\n  free"),
        ('for 24 months-"with receipt"', "for 24 months\u2014\u201cwith receipt"),
        ("\u201cfree of charge.\u201d", "free of charge"),
        ("It\u2019s 30.5 kg", "It's 30.5 kg"),
        ("130 kg", "130 kg"),
        ("kg", "kg"),
        ("4 months", None),
        ("30 kg", None),
        ("30", None),
        ("5 kg", None),
        ("repair", None),
        ("free of charge \u2026 with receipt", None),
        ("Devices are repaired for 24 months", None),
        ("", None),
        (" ...\u201d", None),
        ("x" * (MAX_QUOTE_CHARS + 1), None),
    ],
)
def test_what_the_passage_says_is_found_and_nothing_else(quote: str, found: str | None) -> None:
    place = SearchedText(PASSAGE).find(quote)

    assert (None if place is None else PASSAGE[slice(*place)]) == found


def test_a_place_inside_of_a_word_does_not_hide_a_later_one() -> None:
    assert SearchedText("130 days, then 30 days").find("30 days") == (15, 22)
    assert SearchedText("ban an an").find("an an") == (4, 9)


def test_letters_that_grow_in_lower_case_keep_their_place() -> None:
    assert SearchedText("\u0130stanbul is open").find("is open") == (9, 16)


def test_a_text_of_one_repeated_letter_is_not_searched_for_ever() -> None:
    assert SearchedText("a" * 200_000).find("a" * 10_000) is None


@given(st.text(max_size=200), st.integers(0, 200), st.integers(0, 200))
def test_a_part_between_spaces_is_found(text: str, start: int, length: int) -> None:
    """Unless nothing of it is left without the signs at its ends; then there is nothing to find."""
    part = text[start : start + length]
    whole = f"{text} {part} {text}"
    place = SearchedText(whole).find(part)

    if place is not None:
        begin, end = place
        assert whole[begin:end].split() != []
        assert SearchedText(whole).find(whole[begin:end]) == place
    else:
        assert not part.strip(" \t\r\n\"'.,;:\u2026\u2018\u2019\u201a\u201b\u201c\u201d\u201e\u201f").split()


@given(st.text(max_size=100), st.text(max_size=30))
def test_nothing_is_found_that_is_not_there(text: str, quote: str) -> None:
    place = SearchedText(text).find(quote)

    assert place is None or 0 <= place[0] < place[1] <= len(text)
