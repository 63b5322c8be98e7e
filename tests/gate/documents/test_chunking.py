import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.errors import ConfigurationError
from agentguard.gate._types import Document
from agentguard.gate.documents._chunking import CHARACTERS_PER_TOKEN, Chunking, chunk_document

from ...rows import over

SMALL = Chunking(least=10, most=20, overlap_least=2, overlap_most=4)  # 40 to 80 characters, 8 to 16 repeated


def document(text, uri="docs/a.md"):
    return Document(uri, "Title", text, "00")


def chunks(text, chunking=SMALL):
    return chunk_document(document(text), chunking)


PIECES = st.sampled_from(
    [
        "# Head\n\n",
        "## Deeper\n\n",
        "A sentence of words. ",
        "Short. ",
        "Is it? ",
        "word ",
        "- an item of a list\n",
        "a | row | of cells\n",
        "```\ncode # here\n```\n",
        "\n\n",
        "\n",
        "   ",
        "unbroken" * 15,
        "大きさは五です。",
        "e.g. Dr. X said 3.5 ",
    ]
)


@given(st.lists(PIECES | st.text(max_size=30), max_size=40).map("".join))
def test_chunks_hold_all_of_the_text_in_its_order(text):
    made = chunks(text)
    held = set()
    for chunk in made:
        assert text[chunk.start : chunk.end] == chunk.text
        assert chunk.text == chunk.text.strip()
        assert 0 < len(chunk.text) <= SMALL.most * CHARACTERS_PER_TOKEN
        held.update(range(chunk.start, chunk.end))
    assert all(text[at].isspace() for at in set(range(len(text))) - held)
    for before, after in itertools.pairwise(made):
        assert before.start < after.start
        assert before.end < after.end
        assert before.end - after.start <= SMALL.overlap_most * CHARACTERS_PER_TOKEN
    assert made == chunks(text)
    assert len({chunk.id for chunk in made}) == len(made)


@given(st.lists(st.integers(1, 9), min_size=40, max_size=120))
def test_chunks_of_plain_sentences_have_the_lengths_asked_for(lengths):
    text = " ".join(" ".join(["Word", *["word"] * length]) + "." for length in lengths)
    chunking = Chunking(least=100, most=200, overlap_least=10, overlap_most=20)
    made = chunks(text, chunking)
    for before, after in itertools.pairwise(made):
        assert 4 * 100 - 1 <= len(before.text) <= 4 * 200  # the space after the last sentence is not counted
        assert 4 * 10 - 1 <= before.end - after.start <= 4 * 20
        assert before.text.endswith(".")
        assert text[before.end : before.end + 1] == " "


def test_a_short_document_is_one_chunk():
    (chunk,) = chunk_document(document("# A\n\nAll of it.\n"))
    assert (chunk.text, chunk.start, chunk.end, chunk.heading) == ("# A\n\nAll of it.", 0, 15, "A")
    assert (chunk.document, chunk.title) == ("docs/a.md", "Title")


@pytest.mark.parametrize("text", ["", " \n\n \t"])
def test_nothing_makes_no_chunk(text):
    assert chunks(text) == []


def test_a_chunk_ends_before_the_highest_heading_that_fits():
    text = "# A\n\nOne two three four five six seven eight.\n\n## B\n\nNine.\n\n# C\n\nTen. Eleven twelve thirteen."
    made = chunks(text)
    assert [chunk.heading for chunk in made] == ["A", "C"]
    assert made[0].text.endswith("Nine.")
    assert "# C\n\nTen." in made[1].text


def test_the_heading_is_what_all_of_the_new_text_has_above_it():
    sentence = "One two three four five six seven eight nine ten. "
    text = f"# A\n\n## B\n\n{sentence * 2}\n\n### C\n\n{sentence * 2}\n\n## D\n\nLast words."
    assert [chunk.heading for chunk in chunks(text)] == ["A > B", "A > B", "A > B > C", "A > B > C", "A > D"]


def test_headings_in_code_are_none():
    text = "# A\n\n```\n# comment\nrun()\n```\n\nText."
    assert [chunk.heading for chunk in chunks(text)] == ["A"]


def test_items_and_rows_are_not_cut_where_they_fit():
    items = [f"- item {number}: it is one. And it is two." for number in range(10)]
    rows = [f"row {number}. A | cell. B | cell. C" for number in range(10)]
    for lines in (items, rows):
        for chunk in chunks("\n".join(lines)):
            assert chunk.text.split("\n")[-1] in lines


@pytest.mark.parametrize(
    "sentence",
    [
        "Ask Dr. Smith of Example Inc. Today.",
        "It is 3.5 m, e.g. Here.",
        "See Sec. 5 and J. R. Tolkien.",
        "It costs 5. not more.",
    ],
)
def test_sentences_are_not_cut_at_abbreviations(sentence):
    text = f"Some words that go before it and fill. {sentence} Then more follows after it."
    for chunk in chunks(text, Chunking(10, 20, 0, 0)):
        assert chunk.end == len(text) or text[: chunk.end].endswith(("fill.", sentence))


def test_ids_are_stable_and_of_the_place_of_equal_text_only():
    page = "Some words that make a sentence of fifty characters. "
    first = chunk_document(document(page * 20), Chunking(10, 20, 0, 0))
    assert len({chunk.text for chunk in first}) < len(first)
    assert len({chunk.id for chunk in first}) == len(first)
    longer = chunk_document(
        document("An introduction that is put before all of it, and is long enough.\n\n" + page * 20),
        Chunking(10, 20, 0, 0),
    )
    assert {chunk.id for chunk in first} & {chunk.id for chunk in longer}
    other = chunk_document(document(page * 20, uri="docs/b.md"), Chunking(10, 20, 0, 0))
    assert not {chunk.id for chunk in first} & {chunk.id for chunk in other}


def test_a_large_document_takes_no_longer_than_many_small_ones():
    # The square of 25,000 sentences would take minutes.
    text = "A sentence of words. " * 25_000
    assert 125 < len(chunk_document(document(text))) < 300
    assert len(chunk_document(document("x" * 500_000))) > 125
    assert len(chunk_document(document("# H\n" * 25_000))) > 25


@over("figures", [(0, 10, 0, 0), (20, 10, 0, 0), (10, 20, 5, 4), (10, 20, 2, 10), (10, 20, -1, 4)])
def test_figures_that_contradict_each_other_are_refused(figures):
    with pytest.raises(ConfigurationError, match="tokens cannot overlap"):
        Chunking(*figures)


@pytest.mark.parametrize("gap", [" ", "\n \n", "\t", "\x1c"])
def test_a_gap_longer_than_a_chunk_is_passed_over(gap):
    text = "Before." + gap * 9_000 + "After."

    found = chunk_document(document(text))

    assert [chunk.text for chunk in found] == ["Before.", "After."]
