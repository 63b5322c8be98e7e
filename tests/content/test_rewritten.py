"""A rewritten text leads back to the text as it was given."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agentguard.content._rewritten import rewrite

KEPT = st.text(alphabet="abc\u00e9", max_size=5)
PART = st.text(alphabet="xyz", max_size=5)


@given(st.lists(st.tuples(KEPT, PART, PART), max_size=5), KEPT)
def test_kept_parts_and_new_words_stand_where_they_did(parts: list[tuple[str, str, str]], rest: str) -> None:
    """The text is laid together from parts, so that each one's place is known before and after."""
    given_text = now = ""
    changes, places = [], []
    for kept, old, new in parts:
        places.append((len(now), len(now + kept), len(given_text), len(given_text + kept)))
        now, given_text = now + kept, given_text + kept
        changes.append((len(given_text), len(given_text + old), new))
        if old and (len(new) > 1 or len(new) == len(old)):  # a single letter for several has but one place
            places.append((len(now), len(now + new), len(given_text), len(given_text + old)))
        now, given_text = now + new, given_text + old
    places.append((len(now), len(now + rest), len(given_text), len(given_text + rest)))
    rewritten = rewrite(given_text + rest, changes)
    assert rewritten.text == now + rest
    for start, end, first, last in places:
        if start < end:
            assert rewritten.span(start, end) == (first, last)
