import zlib

import pytest

from agentguard.errors import DataError

pytest.importorskip("pypdf")

from pypdf.errors import PdfReadError

from agentguard.gate.documents import _pdf as reading
from agentguard.gate.documents._pdf import clean_pdf, join_pages

from ...rows import over


def pdf(*pages, title="", trailer="", compress=False):
    """A PDF by hand: one font, one stream of text a page, a table of where its objects lie."""
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(pages)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    ]
    for number, page in enumerate(pages):
        content = page if isinstance(page, bytes) else shown(page)
        coding = b" /Filter /FlateDecode" if compress else b""
        content = zlib.compress(content) if compress else content
        objects += [
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F1 3 0 R >> >> "
            f"/Contents {5 + 2 * number} 0 R >>".encode(),
            b"<< /Length %d%s >>\nstream\n%s\nendstream" % (len(content), coding, content),
        ]
    if title:
        objects.append(f"<< /Title ({title}) >>".encode("cp1252"))
        trailer += f" /Info {len(objects)} 0 R"
    data = bytearray(b"%PDF-1.4\n")
    places = []
    for number, body in enumerate(objects, 1):
        places.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(data)
    data += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    data += b"".join(b"%010d 00000 n \n" % place for place in places)
    data += f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R {trailer} >>\nstartxref\n{start}\n%%EOF\n".encode()
    return bytes(data)


def shown(text):
    lines = text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)").split("\n")
    body = "".join(f"({line}) Tj T*\n" for line in lines)
    return f"BT /F1 12 Tf 14 TL 72 770 Td\n{body}ET".encode("cp1252")


@pytest.mark.parametrize("compress", [False, True])
def test_pages_and_title(compress):
    data = pdf("Returns (all countries)\nGröße: 30 days.", "Second page.", title="Returns  policy", compress=compress)
    assert clean_pdf(data) == (
        "Returns policy",
        "Returns (all countries)\nGröße: 30 days.\n\nSecond page.",
        (),
    )


def test_pages_without_text_are_noted():
    cleaned = clean_pdf(pdf("One.", b"", "Three.", b""))
    assert cleaned.text == "One.\n\nThree."
    assert cleaned.notes == ("2 of 4 pages have no text (page 2 is the first): are they scanned?",)
    assert clean_pdf(pdf(b"")).text == ""


def test_headers_and_footers_are_kept_once_and_page_numbers_never():
    pages = [
        f"Acme Returns Policy v2\nBody {name}.\nEnd {name}.\nPage {number} of 4"
        for number, name in enumerate("abcd", 1)
    ]
    assert join_pages(pages) == (
        "Acme Returns Policy v2\nBody a.\nEnd a.\n\nBody b.\nEnd b.\n\nBody c.\nEnd c.\n\nBody d.\nEnd d."
    )


def test_page_numbers_may_begin_anywhere():
    pages = [f"Text {name}.\nMore {name}.\n- {number} -" for number, name in enumerate("abc", 17)]
    assert join_pages(pages) == "Text a.\nMore a.\n\nText b.\nMore b.\n\nText c.\nMore c."


def test_figures_that_differ_are_no_page_numbers():
    pages = [f"Price {price} EUR\nItem {name}." for price, name in zip([10, 20, 45, 50], "abcd", strict=True)]
    assert all(f"Price {price} EUR" in join_pages(pages) for price in (10, 20, 45, 50))


def test_two_pages_do_not_make_a_header():
    assert join_pages(["Same.\nOne.", "Same.\nTwo."]) == "Same.\nOne.\n\nSame.\nTwo."


@over(
    ("lines", "expected"),
    [
        ("docu-\nments are kept.", "documents are kept."),
        ("a well-\nknown and well-known rule", "a well-known and well-known rule"),
        ("by Weiss-\nBerg", "by Weiss-Berg"),
        ("pages 3-\n5", "pages 3-\n5"),
        ("it goes\non.\nNew sentence\nHeading", "it goes on.\nNew sentence\nHeading"),
        ("two items:\nfirst", "two items:\nfirst"),
    ],
)
def test_divided_words_and_lines_are_joined(lines, expected):
    assert join_pages([lines]) == expected


def test_a_sentence_runs_on_over_pages():
    assert (
        join_pages(["It may be re-", "turned within", "30 days.", "end"])
        == "It may be returned within\n\n30 days.\n\nend"
    )


def test_an_encrypted_document_is_a_problem():
    secret = " ".join(
        ["/Encrypt << /Filter /Standard /V 1 /R 2 /P -4", f"/O <{'41' * 32}> /U <{'42' * 32}> >>", "/ID [<00><00>]"]
    )
    with pytest.raises(DataError, match=r"is encrypted"):
        clean_pdf(pdf("secret", trailer=secret))


@over(
    "data",
    [
        b"",
        b"%PDF-1.4\n",
        b"%PDF-1.4\n" + bytes(range(256)) * 50,
        b"not a pdf" * 100,
        pdf("x")[:200],
        pdf("x").replace(b"/Pages", b"/Pagez"),
    ],
)
def test_broken_documents_are_problems(data):
    with pytest.raises(DataError, match=r"broken|is no PDF|more than is read"):
        clean_pdf(data)


def test_a_stream_that_swells_is_not_unpacked():
    bomb = pdf(bytes(200_000_000), compress=True)
    assert len(bomb) < 300_000
    with pytest.raises(DataError):
        clean_pdf(bomb)


def test_more_pages_than_are_read():
    data = pdf("x").replace(b"/Kids [4 0 R] /Count 1", b"/Kids [" + b"4 0 R " * 10_001 + b"] /Count 10001")
    with pytest.raises(DataError, match="10,001 pages"):
        clean_pdf(data)


def test_what_the_parser_does_not_expect_is_a_problem():
    coded = pdf("x").replace(b"/Length", b"/Filter /ASCII85Decode /Length", 1)
    with pytest.raises(DataError, match="broken one: ValueError"):
        clean_pdf(coded)


def test_a_message_names_no_place_in_memory(monkeypatch):
    def looped(*_, **__):
        raise PdfReadError("Detected loop with self reference for IndirectObject(2, 0, 140186324363984).")

    monkeypatch.setattr(reading, "PdfReader", looped)
    with pytest.raises(DataError, match=r"reference for IndirectObject\(2, 0\)\.$"):
        clean_pdf(pdf("x"))
