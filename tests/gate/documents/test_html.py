import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.errors import DataError

pytest.importorskip("bs4")

from agentguard.gate.documents._html import clean_html

from ...rows import over


def text(html):
    return clean_html(html.encode()).text


PAGE = """<!DOCTYPE html>
<html><head><title> Returns &ndash;
 Example </title><style>p { color: red }</style><script>var days = 90;</script></head>
<body>
<header><a href="/">Home</a></header>
<nav><ul><li>Shop</li></ul></nav>
<div role="navigation">More links</div>
<h1>Returns</h1>
<p>Items may be <b>returned</b>
within 30&nbsp;days.<br>Unused only.</p>
<!-- days: 90 -->
<ul><li>by mail<ul><li>insured</li></ul></li><li><p>in a shop</p></li></ul>
<ol start="3"><li>Pack it</li><li>Send it</li></ol>
<table><caption>Fees</caption><tr><th>Country</th><th>Fee</th></tr>
<tr><td>Norway</td><td>5&nbsp;EUR<br>per item</td></tr></table>
<h2>For <em>developers</em></h2>
<pre><code># no heading
refund(order)
    .days(30)</code></pre>
<dl><dt>Refund</dt><dd>Money back</dd></dl>
<aside>Advertisement</aside>
<form><input value="x"><button>Subscribe</button> to our letter</form>
<template><p>Not shown</p></template>
<footer>Imprint</footer>
</body></html>"""


def test_a_page():
    assert clean_html(PAGE.encode()) == (
        "Returns – Example",
        """# Returns

Items may be returned within 30 days.
Unused only.

- by mail
  - insured
- in a shop

3. Pack it
4. Send it

Fees

Country | Fee
Norway | 5 EUR per item

## For developers

```
# no heading
refund(order)
    .days(30)
```

Refund
Money back""",
        (),
    )


@over(
    ("html", "expected"),
    [
        ("<p>a</p><main><h1>T</h1><p>b</p></main><p>c</p>", "# T\n\nb"),
        ("<p>a</p><div role=main>b<main>c</main></div>", "b\n\nc"),
        ("<p>a</p><main><script>x</script></main>", "a"),
        ("<article><header><h1>Kept</h1></header>text</article><header>dropped</header>", "# Kept\n\ntext"),
        ("<form><main><p>All of an old page</p><input></main></form>", "All of an old page"),
        ("<p hidden>a</p><p aria-hidden=true>b</p><p style='Display : none'>c</p><p style='color: red'>d</p>", "d"),
        ("<p>was <del>30</del><s>20</s> <ins>14</ins> days</p>", "was 14 days"),
        ("10<sup>2</sup> and note<sup>[1]</sup>", "10^2 and note[1]"),
        ("<table><tr><td><h2>Head</h2><p>one</p></td><td>two</td></tr></table>", "## Head\n\none\n\ntwo"),
        ("<table><tr><td><table><tr><td>a</td><td>b</td></tr></table></td></tr></table>", "a | b"),
        ("<table role=presentation><tr><td>a<td>b</table>", "a\n\nb"),
        ("<table><tr><td></td><td>b</td></tr><tr><td></td></tr></table>", "| b"),
        ("<h1>one<br>line</h1>text", "# one line\n\ntext"),
        ("<h1></h1><p></p>text", "text"),
        ("<ul><li></li><li>a</li></ul>", "- a"),
        ("<pre>``` fence</pre>", "````\n``` fence\n````"),
        ("a<p>b<div>c</div>d", "a\n\nb\n\nc\n\nd"),
        ("<li>alone</li>", "- alone"),
        ("<td>alone</td>", "alone"),
        ("5 &lt; 6 &amp; x", "5 < 6 & x"),
        ("<![CDATA[x]]>a<?php echo 1 ?>b", "ab"),
        ("no markup", "no markup"),
        ("", ""),
    ],
)
def test_pieces_of_pages(html, expected):
    assert text(html).strip() == expected


def test_a_heading_is_the_title_where_there_is_no_other():
    assert clean_html(b"<h2>a</h2><h1>Returns</h1>").title == "Returns"
    assert clean_html(b"<p>a</p>").title == ""


@over(
    ("html", "charset", "expected", "notes"),
    [
        ("<p>Größe".encode(), "", "Größe", 0),
        ("<meta charset=iso-8859-15><p>5 €".encode("iso-8859-15"), "", "5 €", 0),
        (b"<meta http-equiv='Content-Type' content='text/html; charset=windows-1251'><p>\xcf\xf0", "", "Пр", 0),
        ("<meta charset=iso-8859-1><p>Größe".encode(), "utf-8", "Größe", 0),
        ("<p>Größe".encode("utf-16"), "", "Größe", 0),
        ("<p>Größe".encode("latin-1"), "", "Größe", 1),
    ],
)
def test_encodings(html, charset, expected, notes):
    cleaned = clean_html(html, charset)
    assert cleaned.text == expected
    assert len(cleaned.notes) == notes


def test_binary_data_is_no_page():
    with pytest.raises(DataError, match="null characters"):
        clean_html(bytes(1000))


def test_deep_nesting_is_read():
    assert "deep" in text("<div>" * 8_000 + "deep" + "</div>" * 8_000)
    assert "deep" in text("<ul><li>" * 2_000 + "deep")


TAGS = st.sampled_from(
    "<p> </p> <table> <tr> <td> <th> </td> </tr> </table> <ul> <ol> <li> </li> </ul> <h1> </h1> <pre> </pre> <br> "
    "<main> </main> <header> </header> <form> </form> <script> </script> <!-- --> <sup> 2 a <dl> <dt> <dd> < & "
    "<section> </section> <template> </template> <svg> <title> </title>".split()
)


@given(st.lists(TAGS | st.text(alphabet="ab \n", max_size=3), max_size=40))
def test_nothing_breaks_it(pieces):
    cleaned = clean_html("".join(pieces).encode())
    assert "\n\n\n" not in cleaned.text
    assert set(cleaned.text) <= set("ab2&</>!- \n#|`^,0123456789.") | set("".join(pieces))


@given(
    st.lists(st.from_regex(r"\A[a-z]{1,6}\Z"), min_size=1, max_size=10), st.sampled_from(["p", "li", "td", "h2", "pre"])
)
def test_no_word_is_lost(words, tag):
    html = "".join(f"<{tag}>{word}</{tag}>" for word in words)
    found = text(f"<table><tr>{html}</tr></table>" if tag == "td" else html)
    assert found.translate(str.maketrans("|-#`", "    ")).split() == words
