"""A text as a query of FTS5."""

from __future__ import annotations

import re
from typing import Final

from agentguard.content._text import STOPWORDS

__all__ = ["match_expression"]

MOST_WORDS: Final = 200
LONGEST_WORD: Final = 100
_WORDS: Final = re.compile(r"[^\W_]+")
_FIRST: Final = 100_000  # characters of a text that are read


def match_expression(text: str) -> str:
    """Any of the text's words, as an expression for ``MATCH``: each quoted, so that none is an operator.

    Words that say nothing by themselves are left out where there are others.

    Args:
        text: anything; of a long one the first 200 different words count.

    Returns:
        empty where the text has no word.

    >>> match_expression('What does the "warranty" NOT cover?')
    '"warranty" OR "cover"'
    >>> match_expression("To be, or not to be")
    '"to" OR "be" OR "or" OR "not"'
    >>> match_expression("?!")
    ''
    """
    words = dict.fromkeys(word.casefold() for word in _WORDS.findall(text[:_FIRST]))
    telling = [word for word in words if word not in STOPWORDS] or list(words)
    # FTS5's own idea of a word may differ: what it cuts in two is then a phrase, and what it ignores finds nothing.
    return " OR ".join(f'"{word}"' for word in telling[:MOST_WORDS] if len(word) <= LONGEST_WORD)
