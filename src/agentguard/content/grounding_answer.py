"""An answer and the account of its claims: what was traced, what was not, and whom its sentences speak of."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from .findings import Finding
from .grounding_names import COMMON
from .grounding_sources import Sources
from .grounding_values import read
from .grounding_words import plain, stem, stems

__all__ = ["Answer", "Trace", "nearest_token"]

MAX_EXPLAINED: Final = 50
MAX_TOKENS: Final = 5_000  # that the nearest identifier is looked for among
_SENTENCE = re.compile(r"(?:(?![.!?]\s)[^\n])+[.!?]?")


class Trace(NamedTuple):
    """Where one claim comes from.

    Attributes:
        kind: ``number``, ``date``, ``identifier`` or ``name``; ``argument`` for one of a call.
        start, end: the claim, in characters of the answer or of the argument.
        source: the position of the result; negative for what was asked or said; None for a calculation over several.
        path: where in the result; empty in prose.
        first, last: characters of the result, where it is text; -1 where it is not.
        how: ``as written``, ``rounded``, ``converted``, what was calculated, …
    """

    kind: str
    start: int
    end: int
    source: int | None
    path: str
    first: int
    last: int
    how: str


class Answer:
    """One answer beside the results that it rests on.

    Attributes:
        text, values, sources: the answer, what it states, and what results say.
        traced, findings: what was found, and what was not.
        weight, missing: how much is claimed in all, and how much of it was not found.
    """

    def __init__(self, text: str, sources: Sources) -> None:
        self.text = text.replace("\\n", "\n ")  # a line's end that was escaped once too often
        self.sources = sources
        self.values = read(self.text)
        self.traced: list[Trace] = []
        self.findings: list[Finding] = []
        self.weight = self.missing = 0.0
        self._sentences = [match.span() for match in _SENTENCE.finditer(self.text)]
        self._spoken_of: dict[int, set[int]] = {}

    def found(self, kind: str, start: int, end: int, leaf: int, how: str, weight: float = 1.0) -> None:
        """Notes a claim that a leaf supports."""
        place = self.sources.leaves[leaf]
        self.weight += weight
        self.traced.append(Trace(kind, start, end, place.source, place.path, place.start, place.end, how))

    def calculated(self, start: int, end: int, leaf: int | None, how: str, weight: float) -> None:
        """Notes a number that a calculation gives."""
        place = None if leaf is None else self.sources.leaves[leaf]
        self.weight += weight
        source, path = (None, "") if place is None else (place.source, place.path)
        self.traced.append(Trace("number", start, end, source, path, -1, -1, how))

    def report(
        self, kind: str, start: int, end: int, detail: str, weight: float = 1.0, wrong: str = "unsupported"
    ) -> None:
        """Notes a claim that nothing supports."""
        self.weight += weight
        self.missing += weight
        claim = self.text[start:end]
        shown = claim if len(claim) <= 80 else claim[:77] + "..."
        said = f"the answer says {shown!r}; {detail or 'results do not'}"
        self.findings.append(Finding(f"{wrong} {kind}", said, start, end))

    @property
    def explains(self) -> bool:
        """Whether the nearest value is still looked for: beyond ``MAX_EXPLAINED`` reports it is not."""
        return len(self.findings) < MAX_EXPLAINED

    def at(self, leaf: int) -> str:
        """The place of a leaf, as the end of a sentence."""
        path = self.sources.leaves[leaf].path
        return f" at {path}" if path else ""

    # Sentences

    def sentence(self, at: int) -> tuple[int, int]:
        """Where the sentence of a character begins and ends."""
        low, high = 0, len(self._sentences)
        while low < high:
            middle = (low + high) // 2
            if self._sentences[middle][1] <= at:
                low = middle + 1
            else:
                high = middle
        return self._sentences[low] if low < len(self._sentences) else (at, at)

    def said(self, begin: int, end: int) -> set[str]:
        """The stems of the words of a part of the answer, and the percent sign where it stands there."""
        return {stem(word) for word in re.findall(r"[^\W\d_]+|%", self.text[begin : min(end, begin + 2000)])}

    def around(self, at: int) -> set[str]:
        """Stems that tell what a claim is about: of its sentence, and of the line above it."""
        begin, end = self.sentence(at)
        line = self.text.rfind("\n", max(0, begin - 400), begin)
        above = self.text[max(0, begin - 400) : line].rpartition("\n")[2] if line >= 0 else ""
        keys = self.sources.key_words
        return {
            root
            for root in stems(self.text[begin : min(end, begin + 600)] + " " + above)
            if not root.isdecimal() and (root not in COMMON or (root in keys and (len(root) > 2 or root == "id")))
        }

    # Whose a value is

    def speaks_of(self, start: int, text: str, leaf: int) -> None:
        """Notes that a sentence names the record of a leaf, by a value which no other record has."""
        if plain(text) not in self.sources.repeated and self.sources.leaves[leaf].source >= 0:
            self._spoken_of.setdefault(self.sentence(start)[0], set()).add(leaf)

    def of_another(self, start: int, leaves: list[int]) -> str | None:
        """Whose values these are, where the sentence speaks only of others of their list; None where all is right."""
        sources = self.sources
        named = self._spoken_of.get(self.sentence(start)[0])
        if not named or not leaves or any(sources.leaves[leaf].source < 0 for leaf in leaves):
            return None
        lines = [sources.line(sources.leaves[leaf].record) for leaf in leaves[:100]]
        for leaf in list(named)[:20]:
            own = sources.line(sources.leaves[leaf].record)
            if any(own[0] in line or line[0] in own for line in lines):
                return None
            if not all(self._are_siblings(leaf, other) for other in leaves):
                return None
        return f"results say it of another, at {sources.leaves[leaves[0]].path}"

    def _are_siblings(self, one: int, two: int) -> bool:
        """Whether two leaves stand in elements of one list."""
        first, second = self.sources.leaves[one], self.sources.leaves[two]
        heads = [leaf.path.partition("[") for leaf in (first, second)]
        return first.source == second.source and heads[0][0] == heads[1][0] and all(mark for _, mark, _ in heads)


def nearest_token(text: str, sources: Sources) -> str:
    """The known token that is most like an unknown one, as the end of a sentence; empty where none is like it."""
    wanted = plain(text)
    tokens = list(sources.tokens.items())[:MAX_TOKENS]
    best, place = max(((_alike(wanted, token), leaf) for token, leaf in tokens), default=(0, 0))
    if 2 * best <= len(wanted):
        return ""
    leaf = sources.leaves[place]
    return f"the nearest is {leaf.text.strip()[:80]!r}" + (f" at {leaf.path}" if leaf.path else "")


def _alike(one: str, two: str) -> int:
    """Characters that two tokens share at their beginnings and at their ends."""
    size = min(len(one), len(two), 64)
    head = next((at for at in range(size) if one[at] != two[at]), size)
    tail = next((at for at in range(size - head) if one[-1 - at] != two[-1 - at]), size - head)
    return head + tail
