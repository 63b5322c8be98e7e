"""Words and tokens as they are compared: without case, accents and endings."""

from __future__ import annotations

import re
import unicodedata

__all__ = ["plain", "stem", "stems", "stems_of_key"]

_WORDS = re.compile("[^\\W_]+(?:['\u2019]s\\b)?")

_KEY_WORDS = re.compile(r"[A-Z]?[^\W\d_A-Z]+|[A-Z]+(?![a-z])|\d+")


def plain(text: str) -> str:
    """A token as it is compared: without case, accents, scheme, ``www.``, a leading ``#`` or a closing slash.

    >>> plain("HTTPS://www.Example.com/"), plain("#W23")
    ('example.com', 'w23')
    """
    folded = _unaccented(text.strip()).casefold()
    for prefix in ("https://", "http://", "www."):
        folded = folded.removeprefix(prefix)
    return folded.lstrip("#").rstrip("/ ").rstrip(".,;:!?")


def stem(word: str) -> str:
    """A word as it is compared: without case, accents, possessive and plural ending.

    >>> stem("Cafés"), stem("Anna's"), stem("Glass")
    ('cafe', 'anna', 'glass')
    """
    folded = _unaccented(word).casefold()
    for ending in ("'s", "\u2019s"):
        folded = folded.removesuffix(ending)
    if len(folded) > 3 and folded.endswith("s") and not folded.endswith(("ss", "us", "is")):
        folded = folded[:-1]
    return folded


def stems(text: str) -> list[str]:
    """The stems of a text's words and numbers, in their order; an underscore parts words.

    >>> stems("first_names of Anna's")
    ['first', 'name', 'of', 'anna']
    """
    return [stem(word) for word in _WORDS.findall(text)]


def stems_of_key(key: str) -> list[str]:
    """The stems of the words that a field's name is made of.

    >>> stems_of_key("totalPrices"), stems_of_key("order_id")
    (['total', 'price'], ['order', 'id'])
    """
    return [stem(word) for word in _KEY_WORDS.findall(key[-200:])]


def _unaccented(text: str) -> str:
    if text.isascii():
        return text
    return "".join(mark for mark in unicodedata.normalize("NFKD", text) if not unicodedata.combining(mark))
