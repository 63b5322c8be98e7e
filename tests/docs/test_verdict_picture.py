"""The picture of a verdict says what the command says."""

import re
from html import unescape

from docs.generate.verdict_picture import PICTURE, shown
from rich.text import Text


def test_picture_says_what_the_command_says() -> None:
    drawn = unescape(re.sub("<[^>]*>", " ", PICTURE.read_text(encoding="utf-8"))).split()
    said = Text.from_ansi(shown()).plain.split()

    assert len(said) > 50
    assert [word for word in said if word not in drawn] == []
