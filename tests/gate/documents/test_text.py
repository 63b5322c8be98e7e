import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.errors import DataError
from agentguard.gate.documents._text import clean_text, decode, normalise

from ...rows import over

GUESSED = "is not UTF-8 and names no encoding: read as Windows-1252"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_unicode_encodings_are_recognised(encoding):
    assert decode("Größe – 大きさ".encode(encoding)) == ("Größe – 大きさ", "")


def test_a_byte_order_mark_counts_more_than_what_the_sender_says():
    assert decode("Größe".encode("utf-8-sig"), "iso-8859-1") == ("Größe", "")


def test_the_senders_encoding_is_used():
    assert decode("Größe".encode("cp437"), "CP437") == ("Größe", "")
    assert decode("大きさ".encode("shift_jis"), "Shift_JIS") == ("大きさ", "")


def test_what_is_no_utf8_is_read_as_windows_1252_and_reported():
    assert decode(b"5 \x80 \x96 gr\xfcn") == ("5 € – grün", GUESSED)
    assert decode(b"\xff\x81")[0] == "ÿ\N{REPLACEMENT CHARACTER}"


@over("charset", ["no-such-thing", "ascii", "x" * 1000, "a\0b", "unicode_escape", "rot13", "idna", "zip"])
def test_a_wrong_encoding_is_reported_where_it_matters(charset):
    assert decode("Größe".encode(), charset) == ("Größe", "")
    text, note = decode("Größe".encode("latin-1"), charset)
    assert text == "Größe"
    assert note.startswith("is not UTF-8 and not in the encoding that its sender names")


@pytest.mark.parametrize(
    "data", [b"\x7fELF" + bytes(500), "text".encode("utf-16-le"), b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"]
)
def test_binary_data_is_no_text(data):
    with pytest.raises(DataError, match="null characters"):
        decode(data)


def test_spaces_lines_and_what_does_not_show():
    assert normalise("a\u2003b\u3000c\tx  \r\nd\re\u2028f") == "a b c   x\nd\ne\nf"
    assert (
        normalise("\ufeffso\xadft zero\u200bwidth \u202eturned\u202c \x1b[31mred\x07")
        == "soft zerowidth turned [31mred"
    )
    assert normalise("a\u200cb\u200dc") == "a\u200cb\u200dc"  # joiners, which Persian and Hindi need
    assert normalise("\n\n  one\n\n\n\ntwo\n\f\nthree\n") == "  one\n\ntwo\n\nthree"


def test_composed_letters():
    assert normalise("Cafe\u0301") == "Café"
    assert normalise("Cafe\u008b\u0301") == "Café"  # what does not show stood between


@given(st.text())
def test_normalising_once_is_enough(text):
    once = normalise(text)
    assert normalise(once) == once
    assert unicodedata.is_normalized("NFC", once)
    assert "\n\n\n" not in once
    assert not any(unicodedata.category(character) == "Cc" and character != "\n" for character in once)


@pytest.mark.parametrize(
    "hostile", ["e" + "\u0301\u0316" * 500_000, " " * 2_000_000 + "x", "\n" * 2_000_000, "a\u200b" * 500_000]
)
def test_hostile_text_takes_no_longer_than_other_text(hostile):
    # The square of these lengths would take hours.
    assert len(normalise(hostile)) <= len(hostile)


def test_a_document_keeps_all_its_text():
    assert clean_text(b"One.\r\n\r\n\r\nTwo.\r\n") == ("", "One.\n\nTwo.", ())
    assert clean_text(b"caf\xe9").notes == (GUESSED,)
