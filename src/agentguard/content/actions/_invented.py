"""Invented: identifiers that a claim says, and that no call was given or returned.

"I filed CONF-88", and no call has ``CONF-88``: what such a call returns is where its number would come from. Where it
was asked for, it is what the call would have been given.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from agentguard.content.actions._compared import Compared, Text, bare, kind_of
from agentguard.content.actions._english import words

SHORTEST_ASKED: Final = 4  # characters; a tool may do what was asked for "R1" without being told of it
_PIECE = re.compile(r"[^\W\d_]+|\d+")
_EXPONENT = re.compile(r"[\d.]+e(?:[-+]?\d+)?")  # the number itself, or what of it was read
#: What names a standard, or a version of everything: "IPv6", "OAuth2", "v2"; an identifier has letters of one case.
_PROPER = re.compile(
    r"^v\d$|^[A-Z][a-z]{2,}\d{1,2}$|^(?:UTF|ISO|SHA|AES|RFC)-?\d+$"
    r"|^[A-Za-z]*(?:[a-z][A-Z]|[A-Z]{2}[a-z])[A-Za-z]*\d{1,3}$"
)
_NO_FILE = re.compile(r"\W?\w(?:\.\w)+|/\w+")  # "i.e", "./bin"


def invented(claim: Compared, texts: Collection[Text], asked: str) -> str:
    """Find an identifier, address or file of a claim that no call has; "" where there is none.

    What describes a state, or tells of another day, may speak of what was so before any call.

    Args:
        claim: what was said.
        texts: of all calls.
        asked: the question, in small letters.
    """
    if claim.stated.form == "state" or claim.words & (words("bygone") - words("times")):
        return ""
    proper = {token.low for token in claim.stated.objects if token.kind == "word" and _PROPER.search(token.text)}
    unknown = [token for token in claim.exact if token not in proper and not _is_known(token, texts, asked)]
    # Of several of a kind it may say what the others are: "T-8, a duplicate of T-9".
    kinds = {kind_of(token) for token in claim.exact if token not in unknown}
    return next((token for token in unknown if kind_of(token) not in kinds), "")


def _is_known(token: str, texts: Collection[Text], asked: str) -> bool:
    """Tell whether a call has something that is said exactly, or what it may be made of."""
    if any(text.has(token) for text in texts) or _EXPONENT.fullmatch(token):
        return True
    if len(token) < SHORTEST_ASKED and (token in asked or bare(token) in asked):
        return True
    kind = kind_of(token)
    if kind == "file":
        name = token.rstrip("/").rpartition("/")[2]
        stem = name.rpartition(".")[0] or name
        return _NO_FILE.fullmatch(token) is not None or any(stem in text.text for text in texts)
    if kind in ("address", "code"):
        pieces = set(_PIECE.findall(token))
        return any(pieces <= set(_PIECE.findall(text.text)) for text in texts)
    return False
