import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.gate.documents._markdown import clean_markdown

from ...rows import over


def text(markdown):
    return clean_markdown(markdown.encode()).text


@over(
    ("markdown", "expected"),
    [
        ("# Returns\nWithin 30 days.", "# Returns\n\nWithin 30 days."),
        ("Returns\n=======\n\nBy mail\n-------\nFree.", "# Returns\n\n## By mail\n\nFree."),
        ("## Returns ##\n### How {#how}", "## Returns\n\n### How"),
        ("#hashtag\n\n#5 is alive", "#hashtag\n\n#5 is alive"),
        ("one line\nof a paragraph\n\nanother", "one line of a paragraph\n\nanother"),
        ("See [the *terms*](https://example.org/terms_(new) 'T').", "See the terms."),
        ("See [terms][1] and [this][].\n\n[1]: https://example.org\n[this]: x 'title'", "See terms and this."),
        ("![A phone](phone.png) and [![badge](b.svg)](https://ci)", "A phone and badge"),
        ("<https://example.org/a_b_c> is an address", "https://example.org/a_b_c is an address"),
        ("**30 days** or __two__ *weeks*, _not_ a_snake_name, 2 * 3", "30 days or two weeks, not a_snake_name, 2 * 3"),
        ("***both*** and **bold *in* it**", "both and bold in it"),
        ("~~30~~ 14 days", "14 days"),
        ("Call `a*b*c[0](x)` or ``x`y``.", "Call a*b*c[0](x) or x`y."),
        ("an ` alone", "an ` alone"),
        (r"\*not bold\* and 5 \< 6", "*not bold* and 5 < 6"),
        ("AT&amp;T &copy; 2024", "AT&T © 2024"),
        ("a<br>b <b>c</b> <name> d", "ab c <name> d"),
        ("- one\n- two\n  goes on\n  - inner\n1. one\n2) two", "- one\n- two goes on\n  - inner\n1. one\n2) two"),
        ("> quoted\n> text\n>> twice", "quoted text twice"),
        ("above\n\n---\n\n***\n\nbelow", "above\n\nbelow"),
        ("| Plan | Price |\n|:---|---:|\n| A | **10** EUR |\n| B | 20 EUR |", "Plan | Price\nA | 10 EUR\nB | 20 EUR"),
        ("Plan | Price\n--- | ---\nBasic | 10\nPro | 20\n\nafter", "Plan | Price\nBasic | 10\nPro | 20\n\nafter"),
        (r"| a \| b | c |" + "\n|---|---|\n| d | |", "a | b | c\nd |"),
        ("before <!-- not said --> after\n<!--\n# Hidden\n-->\nshown", "before  after\n\nshown"),
        ("<!-- never closed\n\nstill text", "<!-- never closed\n\nstill text"),
        ("```sh\n# none\n<!-- kept --> **kept**\n```\nafter", "```sh\n# none\n<!-- kept --> **kept**\n```\nafter"),
        ("~~~\n```\n~~~", "~~~\n```\n~~~"),
        ("1. step\n\n    ```\n    code [x](y)\n    ```", "1. step\n\n    ```\n    code [x](y)\n    ```"),
        ("text\n\n    indented *code*\n    more\n\ntext", "text\n\n    indented *code*\n    more\n\ntext"),
        ("```\nnever closed\n# no heading", "```\nnever closed\n# no heading"),
        ("Ten days.[^1]\n\n[^1]: Only within the EU.", "Ten days.[^1]\n\n[^1]: Only within the EU."),
        (
            "Ten days.[^n]\n\n[^n]: Yes\n[^m]: https://example.org",
            "Ten days.[^n]\n\n[^n]: Yes [^m]: https://example.org",
        ),
        ("[Important]: Keep the receipt.", "[Important]: Keep the receipt."),
        ("[Important]: Always\n\n[Important]: Twice", "[Important]: Always\n\n[Important]: Twice"),
        ("```\n[^1]: code\n```", "```\n[^1]: code\n```"),
        ("[Important]: Always\n\n[unused]: docs/terms.md\n\nEnd.", "[Important]: Always\n\nEnd."),
        ("*Made by `make docs`* and [`f(x)`](api.md#f)", "Made by make docs and f(x)"),
        ("1. # Heading\n\n   Text.\n2. next", "# Heading\n\n  Text.\n2. next"),
        ("- ```sh\n  make\n  ```", "```sh\nmake\n```"),
        ("> ```\n> make\n> ```", "```\nmake\n```"),
        ("<script>\nhidden()\n</script>\n\n<p align='center'>Open &amp; <b>free</b></p>", "Open & free"),
    ],
)
def test_what_a_reader_sees(markdown, expected):
    assert text(markdown) == expected


@over(
    ("markdown", "title", "body"),
    [
        ("---\ntitle: 'Returns policy'\ntags: [a]\n---\n# Other\n", "Returns policy", "# Other"),
        ('+++\ntitle = "Returns"\n+++\nText.', "Returns", "Text."),
        ("---\ndate: 2024-01-01\n---\nIntro.\n\n# Returns", "Returns", "Intro.\n\n# Returns"),
        ("## Second\n\n# First", "First", "## Second\n\n# First"),
        ("## Only *second*", "Only second", "## Only second"),
        ("---\n\nNo front matter, a rule.", "", "No front matter, a rule."),
        ("No title.", "", "No title."),
        ("---\ntitle: x\n---", "x", ""),
    ],
)
def test_front_matter_is_removed_and_titles_are_found(markdown, title, body):
    cleaned = clean_markdown(markdown.encode())
    assert (cleaned.title, cleaned.text) == (title, body)


def test_a_guessed_encoding_is_noted():
    assert clean_markdown(b"# Caf\xe9").title == "Café"
    assert len(clean_markdown(b"# Caf\xe9").notes) == 1


WORDS = st.lists(st.from_regex(r"\A[A-Za-z0-9]{1,8}\Z"), min_size=1, max_size=8)


@given(st.lists(WORDS, min_size=1, max_size=10))
def test_no_word_of_plain_paragraphs_is_lost(paragraphs):
    markdown = "\n\n".join("\n".join(words) for words in paragraphs)
    assert text(markdown) == "\n\n".join(" ".join(words) for words in paragraphs)


@given(st.text(alphabet="ab1 \n#*_`~[]()<>!|-=\\:&;\t.", max_size=300))
def test_nothing_breaks_it(markdown):
    once = text(markdown)
    assert "\n\n\n" not in once
    letters = sum(character in "ab1" for character in markdown)
    assert sum(character in "ab1" for character in once) <= letters + markdown.count("#")


PIECES = [
    "[",
    "[a](",
    "[a](()",
    "**a ",
    "*a _b ",
    "`",
    "`` ` ",
    "<!-- ",
    "a|b\n",
    "|-\n",
    "> ",
    "~~a ",
    "<a ",
    "\\",
    "&lt;",
    "- ",
]
PIECES += ["# ", "a\n", "```\n", "\n    x", "[a]: b\n", "=\n", "(", "<", "___ ", "`a``b```c "]


@pytest.mark.parametrize("piece", PIECES)
def test_hostile_markdown_ends(piece):
    assert len(text(piece * (10_000 // len(piece)))) <= 20_000
