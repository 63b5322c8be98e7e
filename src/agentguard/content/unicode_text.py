"""Text as a reader takes it: Unicode's disguises off, with the way back to the text as it was given.

Folded are compatibility forms (NFKC: full width, mathematical letters, ligatures), accents, letters of other scripts
that look like Latin ones, and what nobody sees: zero-width and directional characters, soft hyphens, variation
selectors. Tag characters (U+E0020 to U+E007E) show nothing either, yet spell ASCII to a model: they fold to that.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from typing import NamedTuple

__all__ = ["DISGUISED", "Folded", "fold"]

# Code point and the Latin letter it passes for: Cyrillic, Greek, Armenian, Cherokee, phonetic and stroked letters.
LOOK_ALIKES = """
0410A 0412B 0415E 0405S 0406I 0408J 041aK 041cM 041dH 041eO 0420P 0421C 0422T 0423Y 0425X 050cG 051aQ 051cW 0430a
0432b 0435e 0455s 0456i 0458j 043ak 043cm 043dh 043eo 0440p 0441c 0442t 0443y 0445x 0501d 051bq 051dw 04bbh 04cfl
0433r 043fn 044cb 0475v
0391A 0392B 0395E 0396Z 0397H 0399I 039aK 039cM 039dN 039fO 03a1P 03a4T 03a5Y 03a7X 03b1a 03b2B 03b3Y 03b5e 03b7n
03b9i 03bak 03bdv 03bfo 03c1p 03c4T 03c5u 03c7x 03c9w
0585o 057du 0578n 0570h 0581g 0566q 0531U 054fS 0555O
13aaA 13f4B 13dfC 13a0D 13acE 13bbH 13abJ 13e6K 13deL 13b7M 13e2P 13d2R 13daS 13a2T 13d9V 13b3W 13c3Z
0131i 0251a 0261g 0269i 0280R 028fY 026aI 0274N 029fL a731s 1d00a 1d04c 1d05d 1d07e 1d0aj 1d0bk 1d0dm 1d0fo 1d18p
1d1bt 1d1cu 1d20v 1d21w 1d22z 0196l 01c0l 00f8o 0142l 0111d 0127h 0167t
"""
ENCLOSED = (0x1F150, 0x1F170, 0x1F1E6)  # where three alphabets of capitals in circles, squares and flags begin
TAGS = range(0xE0000, 0xE0080)
UNSEEN = frozenset({"Cf", "Mn", "Me"})  # Unicode categories: format characters, and marks that sit on a letter

_FOREIGN = "\\x{0370}-\\x{03ff}\\x{0400}-\\x{052f}"
# Where folding may bring out words that are not there as given, in re2's syntax. Accents and other scripts alone are
# no disguise: of these, only two accents within a word, and scripts mixed within a word.
DISGUISED = (
    "[\\x{00ad}\\x{0300}-\\x{036f}\\x{0530}-\\x{058f}\\x{13a0}-\\x{13ff}\\x{200b}-\\x{200f}\\x{202a}-\\x{202e}"
    "\\x{2060}-\\x{206f}\\x{fe00}-\\x{fe0f}\\x{feff}\\x{ff21}-\\x{ff5a}\\x{1d00}-\\x{1d22}\\x{2100}-\\x{214f}"
    "\\x{249c}-\\x{24e9}\\x{1d400}-\\x{1d7ff}\\x{1f130}-\\x{1f1ff}\\x{e0000}-\\x{e01ef}]"
    f"|[A-Za-z][{_FOREIGN}]|[{_FOREIGN}][A-Za-z]|[\\x{{00c0}}-\\x{{024f}}][a-z]{{0,3}}[\\x{{00c0}}-\\x{{024f}}]"
)
_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")


class Folded(NamedTuple):
    """A folded text.

    Attributes:
        text: what a reader takes it for.
        starts: offsets in ``text`` at which stretches begin, ascending, the first 0.
        origins: the offset of each stretch in the text as it was given.
    """

    text: str
    starts: tuple[int, ...]
    origins: tuple[int, ...]

    def origin(self, offset: int) -> int:
        """Where a character of the folded text stood in the text as it was given."""
        number = bisect_right(self.starts, offset) - 1
        return self.origins[number] + offset - self.starts[number]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Where a part of the folded text stood; what was dropped within it belongs to it."""
        return (self.origin(start), self.origin(end - 1) + 1) if end > start else (self.origin(start),) * 2


class _Letters(dict[str, str]):
    """What each character folds to, worked out when it is first seen."""

    def __missing__(self, character: str) -> str:
        if ord(character) in TAGS:
            shown = chr(ord(character) & 0x7F)
            folded = shown if shown.isprintable() else ""
        else:
            plain = unicodedata.normalize("NFKD", character)
            seen = "".join(_SAME.get(c, c) for c in plain if unicodedata.category(c) not in UNSEEN)
            folded = unicodedata.normalize("NFC", seen)  # Hangul syllables stay whole
        if len(self) < 1 << 16:
            self[character] = folded
        return folded


_SAME = {chr(int(entry[:4], 16)): entry[4] for entry in LOOK_ALIKES.split()} | {
    chr(first + number): chr(ord("A") + number) for first in ENCLOSED for number in range(26)
}
_LETTERS = _Letters()


def fold(text: str) -> Folded:
    """Take the disguises off a text, in time linear in its length.

    >>> folded = fold("say: i\u200bgn\u043ere \uff41ll")
    >>> folded.text, folded.span(5, 11)
    ('say: ignore all', (5, 12))
    """
    if text.isascii():
        return Folded(text, (0,), (0,))
    pieces: list[str] = []
    starts, origins, length, done = [0], [0], 0, 0

    def follow(origin: int) -> None:
        """From here on, folded and given text run in step again."""
        if origins[-1] + length - starts[-1] == origin:
            return
        if starts[-1] == length:
            origins[-1] = origin
        else:
            starts.append(length)
            origins.append(origin)

    for run in _NOT_ASCII.finditer(text):
        pieces.append(text[done : run.start()])
        length += run.start() - done
        for origin, character in enumerate(run.group(), run.start()):
            folded = _LETTERS[character]
            follow(origin)
            # A character that folds to several stands for each of them: every one but the first starts a stretch.
            for number, letter in enumerate(folded):
                if number:
                    starts.append(length)
                    origins.append(origin)
                pieces.append(letter)
                length += 1
        done = run.end()
        follow(done)
    pieces.append(text[done:])
    return Folded("".join(pieces), tuple(starts), tuple(origins))
