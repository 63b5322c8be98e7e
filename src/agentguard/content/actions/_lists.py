"""Lists: what a claim names beside other things of its sort, of which calls have some and not it.

"Deals D-61 and D-62 were handed over", and the only call has ``D-61``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Final, NamedTuple

from agentguard.content.actions._acts import GENERIC
from agentguard.content.actions._compared import Compared, bare, exact_in, kind_of
from agentguard.content.actions._counts import MANY
from agentguard.content.actions._english import bases
from agentguard.content.actions._ledger import Deed
from agentguard.content.actions._rivals import Beside
from agentguard.content.actions._sentences import Token

_JOINS: Final = frozenset({",", "and", "&", "plus"})
_QUOTES: Final = "`\"“”'‘’()"  # noqa: RUF001


ALONE: Final = 2  # items that have a call each, for the others to need one, too


class LeftOut(NamedTuple):
    """An item of a list that no call has.

    Attributes:
        deed: a call that has another item.
        item: as it is compared.
    """

    deed: Deed
    item: str


def left_out(claim: Compared, calls: Sequence[Beside], names: Collection[str]) -> Iterator[LeftOut]:
    """Find the items of a claim's lists that no call has, where one was given another item.

    Args:
        claim: what was said.
        calls: those that may have been it.
        names: those of the question, in small letters.
    """
    for items in _lists(claim.stated.objects, names):
        missing = [item for item in items if not any(call.text.has(item) for call in calls)]
        missing = missing or _not_among(items, [call for call in calls if _says_verb(claim, call)])
        if not missing or len(missing) == len(items):
            continue
        having = [call.deed for call in calls if any(bare(item) in call.deed.args.casefold() for item in items)]
        if having and not any(MANY.search(deed.args.casefold()) for deed in having):
            yield from (LeftOut(having[-1], item) for item in missing)


def _says_verb(claim: Compared, call: Beside) -> bool:
    """Tell whether a call says the very verb of a claim, one that says much: "uncordon n11"."""
    meaning, deed = claim.stated.meaning, call.deed
    little = meaning.acts & GENERIC or meaning.bases & bases("vague") or meaning.kind
    return call.level > 1 and not little and bool(meaning.bases & (deed.said | deed.ability.verbs))


def _not_among(items: Sequence[str], calls: Sequence[Beside]) -> list[str]:
    """The items that none of some calls has, where the others stand in several of them, one in each."""
    having = [{item for item in items if call.text.has(item)} for call in calls]
    alone = [each for each in having if len(each) == 1]
    if len(set[str]().union(*alone)) < ALONE or len(alone) < len(having):
        return []
    return [item for item in items if not any(item in each for each in having)]


def _lists(tokens: Sequence[Token], names: Collection[str]) -> Iterator[list[str]]:
    """The lists among some words: items of one sort with commas or "and" between them."""
    items: list[str] = []
    joined = False
    for token in tokens:
        item = token.low if token.low in names else _item(token)
        if token.low in _JOINS:
            joined = True
        elif item and items and joined and _sort(item) == _sort(items[0]):
            items.append(item)
            joined = False
        else:
            if len(items) > 1:
                yield items
            items, joined = [item] if item else [], False
    if len(items) > 1:
        yield items


def _item(token: Token) -> str:
    """The exact token in a word, in small letters; "" where there is none."""
    text = token.text.strip(_QUOTES)
    if token.kind == "code" and " " not in text:
        return text.casefold()
    exact = exact_in(text)
    return exact[0] if len(exact) == 1 and token.kind == "word" else ""


def _sort(item: str) -> str:
    """The sort of an item: its kind, and of what is none its first mark."""
    kind = kind_of(item)
    return item[0] if kind == "code" and not item[0].isalnum() else kind
