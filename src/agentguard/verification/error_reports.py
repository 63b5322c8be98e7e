"""Results that report a failure instead of giving an answer."""

from __future__ import annotations

import re
from typing import Any, Final

__all__ = ["reports_error"]

LONGEST_TEXT: Final = 600
MOST_KEYS: Final = 3
_ERROR_KEYS = frozenset({"error", "errors", "error_message", "exception"})
_NOTHING = r"\s*(?:null|none|~|false|no|0|\[\])\s*(?:\n|$)"  # `error: null` reports that there is none
_SUBJECT = (  # what texts about errors are about
    r"\s+(?:(?:analysis|bars?|budgets?|correction|detection|margins?|pages?|propagation|rates?|tracking|types?)\b"
    r"|handling\b(?!\s+(?:an?|the|this|your|request|call)\b))"
)
_ERROR_TEXT = re.compile(
    rf"""
    \W{{0,3}}(?:
        (?:[\w.]*(?-i:Error|Exception|Failure)|(?:[\w.]*[._])?(?:error|exception|failure))\b(?!\s*:{_NOTHING})(?!{_SUBJECT})
        | (?:traceback|failed|invalid|cannot|can't|timeout)\b | timed\ ?out | unauthori[sz]ed | unable\ to | no\ such
        | (?-i:E[A-Z]{{3,12}}):\s | access\ denied\b | permission\ denied\b | could\ not\ \w
        | \d+\ validation\ errors?\b
        | not\ found | forbidden\b(?!\s+(?-i:[A-Z][a-z]))
        | (?:http\S*\s+)?[45]\d\d\s+(?:bad|forbidden|gateway|internal|service|too\ many|unauthori[sz]ed)\b
    )
    | .{{0,80}}(?:
        \balready\ exists\b | \b(?:cannot|can't|can\ not|could\ not|unable\ to)\ \w
        | \berror(?:\.\.\.|:(?!{_NOTHING}))
        | \b(?:not\ found|does\ not\ exist)(?=\s*(?:$|[^\w\s]|(?:at|by|for|in|on|to|with|within)\b))
    )
    """,
    re.IGNORECASE | re.DOTALL | re.VERBOSE,
)


def reports_error(value: Any) -> bool:
    """An object of at most three keys of which one names an error, or a short text that starts as an error report.

    >>> reports_error({"error": "no such city"}), reports_error({"error": None}), reports_error("Error rates in 2024")
    (True, False, False)
    """
    if type(value) is dict:
        return len(value) <= MOST_KEYS and any(
            isinstance(key, str) and key.lower() in _ERROR_KEYS and bool(item) for key, item in value.items()
        )
    return isinstance(value, str) and len(value) < LONGEST_TEXT and _ERROR_TEXT.match(value) is not None
