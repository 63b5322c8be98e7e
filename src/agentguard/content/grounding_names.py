"""Proper names and quotations in a text (English), and where results say them.

A name is a run of capitalised words, or what stands in double quotation marks. A capital at the beginning of a sentence
or of a label says little: such a run is *weak*, traced where it can be and never reported.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from .grounding_sources import Sources
from .grounding_values import Word
from .grounding_words import plain, stem, stems

__all__ = ["COMMON", "Name", "names", "trace"]

MAX_WORDS: Final = 8
MAX_LEAVES: Final = 300  # of one word that a name is looked for in
_QUOTED = re.compile(r"[\"“]([^\"“”\n]{2,80})[\"”]")
_GAP = re.compile(" |[.] |['\u2019]s ")
_PARTICLES: Final = frozenset("of de da del van von der den la le du di bin al y".split())
_SENTENCE_END: Final = ".!?:;\n•*-–—>|([{#"
# Words that are capitalised for their place and not because they name something; they begin sentences and headings.
COMMON: Final = frozenset(
    """a about above absolutely according additionally after again all already also although always am an and
    another any anyone anything are as at available based be because been before below best both but by call can
    certainly check could currently date dear details did do does done due during each either email enjoy ensure
    every everything excellent feel finally find first following for found fourth from further furthermore given
    good great had has have he hello help her here hers hi his how however i i'd i'll i'm i've id if important
    in including indeed information initially instead into is it it's its just kindly last lastly let let's list
    looking made make many may me meanwhile might more moreover most much must my name need next no none nope
    not note nothing now of off ok okay on once one only or other otherwise our out over overall per perfect
    please possible price prior provided rather re regarding regards remember result results second see sent
    several shall she should similarly since so some someone something soon sorry still subject subsequently
    such summary sure take thank thanks that that's the their them then there there's therefore these they
    things third this those though thus time title to today tomorrow tonight too total two type unfortunately
    unless until up upon update us use user very via want was way we we'd we'll we're we've welcome well were
    what what's when where whether which while who whole why will with within without would yes yesterday yet
    you you'd you'll you're you've your yours am pm usd eur gbp ok api url json html csv pdf ai faq asap fyi n/a
    tbd utc gmt est pst cet edt pdt etc vs min max avg january february march april june july august september
    october november december jan feb mar apr jun jul aug sep sept oct nov dec monday tuesday wednesday thursday
    friday saturday sunday mon tue tues wed thu thur thurs fri sat sun am celsius fahrenheit million billion""".split()
)
# Nouns that stand before a name and say what kind of thing it names.
_KINDS: Final = frozenset(
    """mr mrs ms miss dr prof professor sir madam order flight hotel room customer user product item account
    booking reservation restaurant city airport company channel ticket invoice team project document file
    message event meeting appointment passenger address street city state country region station museum doctor
    captain gate terminal section chapter step option figure table transaction payment card subject""".split()
)


class Name(NamedTuple):
    """A run of words that may name something."""

    start: int
    end: int
    text: str
    words: tuple[str, ...]
    weak: bool


def names(text: str, words: Sequence[Word]) -> list[Name]:
    """The names of a text, given its words; quotations where they stand.

    >>> from agentguard.content.grounding_values import read
    >>> text = 'Yesterday Anna de Vries flew to Oslo. Rooms at "the blue house" are free.'
    >>> [name.text for name in names(text, read(text).words) if not name.weak]
    ['the blue house', 'Anna de Vries', 'Oslo']
    """
    found = [
        Name(match.start(1), match.end(1), match[1], tuple(stems(match[1])), False)
        for match in _QUOTED.finditer(text)
        if any(character.isalpha() for character in match[1]) and len(match[1].split()) <= MAX_WORDS
    ]
    quoted = [(name.start, name.end) for name in found]
    run: list[Word] = []
    for word in words:
        capital = word.text[:1].isupper()
        if run and _GAP.fullmatch(text, run[-1].end, word.start) and len(run) < MAX_WORDS:
            initial = len(run[-1].text) == 1 or stem(run[-1].text) in _KINDS
            if (capital or word.text in _PARTICLES) and (text[run[-1].end] != "." or initial):
                run.append(word)
                continue
        found.extend(_named(text, run, quoted))
        run = [word] if capital else []
    found.extend(_named(text, run, quoted))
    return found


def _named(text: str, run: list[Word], quoted: list[tuple[int, int]]) -> Iterator[Name]:
    while run and run[-1].text in _PARTICLES:
        run = run[:-1]
    first = _begins(text, run[0].start) if run else False
    while run and (run[0].text.casefold() in COMMON or (first and run[0].text in _PARTICLES)):
        run, first = run[1:], False
    if (
        not run
        or all(word.text.casefold() in COMMON for word in run)
        or any(start <= run[0].start < end for start, end in quoted)
    ):
        return
    start, end = run[0].start, run[-1].end
    lone = len(run) == 1 and (first or len(run[0].text) == 1 or stem(run[0].text) in _KINDS)
    label = text[end : end + 4].lstrip("*_ ")[:1] == ":"
    heading = _heading(text, start, end)
    yield Name(start, end, text[start:end], tuple(stem(word.text) for word in run), lone or label or heading)


def _begins(text: str, start: int) -> bool:
    before = text[max(0, start - 6) : start].rstrip(" \"'“‘*_")  # noqa: RUF001 - quotation marks as texts have them
    return not before or before[-1] in _SENTENCE_END or (start >= 1 and text[start - 1] == "\n")


def _heading(text: str, start: int, end: int) -> bool:
    """Whether a name is a whole line of a heading, in which every word is capitalised."""
    before = text[max(0, start - 8) : start].rpartition("\n")[2].strip(" *_")
    return before.startswith("#") or (bool(re.match(r"\*\*\s{0,2}(?:\n|$)", text[end : end + 5])) and before == "")


def trace(name: Name, sources: Sources) -> tuple[int | None, str]:
    """The leaf that says a name, and how; or None, and what is missing.

    >>> sources = Sources([{"user": {"first_name": "José", "last_name": "Doe"}}, "Kim, Mia and Tom Li"])
    >>> from agentguard.content.grounding_values import read
    >>> def traced(text): return trace(names(text, read(text).words)[0], sources)[1]
    >>> traced("by Jose Doe"), traced("by Mia Kim"), traced("by J. Doe"), traced("by Mia Doe")
    ('in one record', 'in other order', 'by its initials', 'its words stand apart')
    """
    leaf = sources.tokens.get(plain(name.text))
    if leaf is not None:
        return leaf, "as written"
    words = [word for word in name.words if word not in _PARTICLES]
    while len(words) > 1 and words[0] in _KINDS and words[0] not in sources.words:
        words = words[1:]
    if not words:
        return None, "nothing like it"
    found = _together(words, sources)
    if found is not None:
        return found
    if all(word in sources.key_words or word in sources.words or word in COMMON for word in words):
        if all(word in sources.key_words or word in COMMON for word in words):
            return None, "a field's name"
        return None, "its words stand apart"
    missing = [word for word in words if word not in sources.words and word not in COMMON]
    return None, "nothing like it" if len(missing) == len(words) else f"no {' '.join(missing)!s}"


def _together(words: list[str], sources: Sources) -> tuple[int, str] | None:
    full = [word for word in words if len(word) > 1] or words
    sets = [sources.words.get(word, set()) for word in full]
    if not all(sets):
        return None
    smallest = min(sets, key=len)
    for leaf in sorted(smallest)[:MAX_LEAVES]:
        if all(leaf in found for found in sets):
            how = _adjacent(words, sources.said(leaf))
            if how:
                return leaf, how
    # A name may be spread over fields that say nothing else: first_name, last_name.
    parts = set(words)
    records = [
        {
            sources.leaves[leaf].record
            for leaf in sorted(found)[:MAX_LEAVES]
            if len(sources.leaves[leaf].text) <= 40 and parts.issuperset(sources.said(leaf))
        }
        for found in sets
    ]
    common = set.intersection(*records)
    initials = [word for word in words if len(word) == 1]
    if initials:
        common = {
            record
            for record in common
            if all(any(word.startswith(initial) for word in sources.own_words(record)) for initial in initials)
        }
    if common and len(words) > 1:
        how = "by its initials" if initials else "in one record"
        return min(leaf for leaf in smallest if sources.leaves[leaf].record in common), how
    return None


def _adjacent(words: list[str], said: list[str]) -> str:
    """How a leaf says words side by side: as they are, in another order, or abbreviated; empty where it does not."""
    size = len(words)
    wanted = sorted(words)
    initials = any(len(word) == 1 for word in words)
    for at in range(max(0, len(said) - size + 1)):
        part = said[at : at + size]
        if part == words:
            return "as written"
        if sorted(part) == wanted:
            return "in other order"
        if initials and all(
            one == two or (len(one) == 1 and two.startswith(one)) for one, two in zip(words, part, strict=True)
        ):
            return "by its initials"
    if size > 1 and len(said) <= 4 * size and set(words) <= set(said) and _spread(words, said) <= size + 2:
        return "with words between"
    return ""


def _spread(words: list[str], said: list[str]) -> int:
    places = [said.index(word) for word in words]
    return max(places) - min(places) + 1
