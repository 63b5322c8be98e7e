"""Text of ``key: value`` lines: what is found in it, what is open at its end, what only looks like it."""

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from agentguard.verification._document import keyed_lines, read

LIST = """\
- id: 7
  name: Ann
  address:
    city: Oslo
    zip: '0150'
- id: 8
  name: 'O''Neill: "the" man'
"""
NESTED = """\
user:
  name: Ann
  tags:
  - new
  - old
  orders:
  - number: 1
    lines:
      - sku: a1
        count: 2
  - number: 2
total: 3
"""
MULTI_LINE = """\
- subject: Hello
  body: 'Dear Ann,


    the price: 20 is fine.

    it''s a deal: "yes"'
  sender: bob@example.com
- subject: "one \\"quoted\\" word"
  body: ""
"""


def by_path(pairs):
    """The values by path, in the order met."""
    leaves = {}
    for path, value in pairs:
        leaves.setdefault(path, []).append(value)
    return leaves


def pairs_of(leaves):
    return [(path, value) for path, values in leaves.items() for value in values]


@pytest.mark.parametrize(
    ("text", "leaves"),
    [
        pytest.param("id: 7", [("id", "7")], id="one line"),
        pytest.param(
            LIST,
            [
                ("[].id", "7"), ("[].name", "Ann"), ("[].address.city", "Oslo"), ("[].address.zip", "0150"),
                ("[].id", "8"), ("[].name", "O'Neill: \"the\" man"),
            ],
            id="list of maps",
        ),
        pytest.param(
            NESTED,
            [
                ("user.name", "Ann"), ("user.tags[]", "new"), ("user.tags[]", "old"),
                ("user.orders[].number", "1"), ("user.orders[].lines[].sku", "a1"),
                ("user.orders[].lines[].count", "2"), ("user.orders[].number", "2"), ("total", "3"),
            ],
            id="nested maps",
        ),
        pytest.param(
            MULTI_LINE,
            [
                ("[].subject", "Hello"),
                ("[].body", 'Dear Ann,   the price: 20 is fine.  it\'s a deal: "yes"'),
                ("[].sender", "bob@example.com"),
                ("[].subject", 'one "quoted" word'),
                ("[].body", ""),
            ],
            id="quoted over several lines",
        ),
        pytest.param("tags:\n- a\n- b\nid: 1", [("tags[]", "a"), ("tags[]", "b"), ("id", "1")], id="list at the top"),
        pytest.param("rows:\n- id: 1\n- id: 2", [("rows[].id", "1"), ("rows[].id", "2")], id="unindented list"),
        pytest.param("a:\n  b:\n    c: 1\nd: 2", [("a.b.c", "1"), ("d", "2")], id="two levels up at once"),
        pytest.param("card_12: x\ncard_3: y", [("card_#", "x"), ("card_#", "y")], id="digits in keys"),
        pytest.param("First Name: Ann\nE-mail (at): a@b", [("First Name", "Ann"), ("E-mail (at)", "a@b")], id="labels"),
        pytest.param("at: 2024-05-20 10:30:00", [("at", "2024-05-20 10:30:00")], id="colons in a value"),
        pytest.param("a:\nb: 1", [("b", "1")], id="a key without a value"),
    ],
)  # fmt: skip
class TestTable:
    def test_leaves(self, text, leaves):
        keyed = keyed_lines(text)
        assert keyed.leaves == by_path(leaves)
        assert (keyed.unclosed, keyed.complete) == (False, True)

    def test_windows_line_ends_change_nothing(self, text, leaves):
        assert keyed_lines(text.replace("\n", "\r\n")) == keyed_lines(text)

    def test_blank_lines_at_the_end_change_nothing(self, text, leaves):
        assert keyed_lines(text + "\n\n") == keyed_lines(text)


def test_objects_have_their_keys_in_order():
    keyed = keyed_lines(NESTED)
    assert sorted(keyed.forms) == [
        ("", ("user", "total")),
        ("user", ("name", "tags", "orders")),
        ("user.orders[]", ("number",)),
        ("user.orders[]", ("number", "lines")),
        ("user.orders[].lines[]", ("sku", "count")),
    ]
    assert keyed.open_forms == [("", ("user", "total"))]


def test_the_objects_in_which_a_cut_off_text_ends_are_open():
    cut = NESTED[: NESTED.index("count")]
    assert keyed_lines(cut).open_forms == [
        ("user.orders[].lines[]", ("sku",)),
        ("user.orders[]", ("number", "lines")),
        ("user", ("name", "tags", "orders")),
        ("", ("user",)),
    ]


@pytest.mark.parametrize(
    ("text", "unclosed"),
    [
        ("a: 'it''s", True),
        ("a: 'it''s'", False),
        ("a: ''", False),
        ("a: '", True),
        ("a: ''''", False),
        ("a: '''x", True),
        ("a: '''x'", False),
        ('a: "x\nb: y', True),
        ('a: "x\n  y"\nb: z', False),
        ('a: "say \\"hi\\""', False),
        ('a: "say \\"hi\\"', True),
        ('a: "path\\\\"', False),
        ('a: "Dune" by Frank Herbert\nb: 1', False),
        ("a: 'Tis' and 'twas'\nb: 1", False),
        ("a: 5 o'clock\nb: 1", False),
        ('a: 6" long\nb: 1', False),
    ],
)
def test_open_quotes(text, unclosed):
    assert keyed_lines(text).unclosed is unclosed


def test_a_quoted_word_at_the_start_does_not_swallow_what_follows():
    keyed = keyed_lines('title: "Dune" by Frank Herbert\nyear: 1965')
    assert keyed.leaves == {"title": ['"Dune" by Frank Herbert'], "year": ["1965"]}


def test_a_cut_off_document_keeps_what_comes_before_the_cut(subtests):
    whole = keyed_lines(LIST).leaves
    for length in range(1, len(LIST)):
        with subtests.test(length):
            keyed = keyed_lines(LIST[:length])
            if keyed is None:  # not even the first key is there
                assert length < len("- id:")
                continue
            differing = [path for path, values in keyed.leaves.items() if whole.get(path, [])[: len(values)] != values]
            assert len(differing) <= 1  # the value in which the cut falls
            for path in differing:
                assert whole.get(path, [])[: len(keyed.leaves[path]) - 1] == keyed.leaves[path][:-1]
            assert keyed.unclosed is (LIST[:length].count("'") % 2 == 1)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   \n\n",
        "hello",
        "- one\n- two",
        "It is 20 degrees.\nTomorrow: rain.\nThen sun.\nThen snow.",
        "Dear Ann,\n\nI have a question: where is it?\n\nBest\n\nBob",
        "Once upon a time there was a king.\n\nNote: he was old.\n\nHe had a son.\n\nThe end.",
        "Heading\n\nFirst paragraph, long enough.\n\nSummary: this was short.\n\nLast paragraph.",
        "http://example.com/page\nhttps://example.org",
        "10:30 coffee\n11:00 tea",
        "{'a': 1}",
        "a:b\nc:d",
        "def f(x):\n    return x\n\nprint(f(1))\nprint(f(2))\nprint(f(3))",
    ],
)
def test_prose_that_only_looks_keyed(text):
    assert keyed_lines(text) is None


def test_nothing_is_said_of_an_end_that_was_not_looked_at():
    long = "- id: 1\n  text: 'x'\n" * 400 + "- id: 2\n  text: 'never closed"
    keyed = keyed_lines(long)
    assert (keyed.complete, keyed.unclosed, keyed.open_forms) == (False, False, [])
    quoted = "note: 'first\n" + "line\n" * 1_000 + "last'\nid: 7"
    assert (keyed_lines(quoted).complete, keyed_lines(quoted).unclosed) == (False, False)


def test_a_text_of_5_mb_is_read():
    long = "id: 7\n" + "x" * 5_000_000
    assert keyed_lines(long).leaves == {"id": ["7"]}
    assert keyed_lines("id: '" + "x" * 5_000_000).unclosed
    assert keyed_lines(" " * 5_000_000) is None


@given(st.text(st.characters(), max_size=120))
def test_any_text_can_be_read(text):
    check(keyed_lines(text), keyed_lines(text))


@given(st.text("ab: -'\"\n\\#1\t\r", max_size=60))
def test_any_text_of_structural_characters_can_be_read(text):
    check(keyed_lines(text), keyed_lines(text))


def check(keyed, again):
    assert keyed == again
    if keyed is not None:
        assert all(type(path) is str and path and type(value) is str for path, value in pairs_of(keyed.leaves))
        assert set(keyed.open_forms) <= set(keyed.forms)
        assert all(keys for _, keys in keyed.forms)


# What PyYAML writes, read back: the leaves are those of the value itself. Words that YAML would not leave as they are
# (true, null, numbers) are quoted by it; spaces at an end, control characters and backslashes are left out.
WORDS = st.text("abcXYZ019 .,:;!?'\"#-_%&*@/()[]{}é", min_size=1, max_size=30).map(str.strip).filter(bool)
KEYS = st.from_regex(r"k[a-z_]{0,8}", fullmatch=True)  # no word that YAML takes for a boolean and quotes
MAPS = st.recursive(
    st.dictionaries(KEYS, WORDS, min_size=1, max_size=4),
    lambda inner: st.dictionaries(
        KEYS, st.one_of(WORDS, inner, st.lists(inner, min_size=1, max_size=3)), min_size=1, max_size=4
    ),
    max_leaves=12,
)


@given(st.one_of(MAPS, st.lists(MAPS, min_size=1, max_size=4)), st.sampled_from([10_000, 40]))
def test_yaml_has_the_leaves_and_objects_of_its_value(value, width):
    text = yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=width)
    keyed, document = keyed_lines(text), read(value)
    if width == 10_000:  # no line is folded
        assert {path: sorted(values) for path, values in keyed.leaves.items()} == {
            path: sorted(values) for path, values in document.leaves.items()
        }  # rows with other keys are read apart
        assert not keyed.unclosed
    assert sorted(keyed.forms) == sorted(document.forms)
