"""The floor: the least that any guard of declared contracts has to do with one result."""

from __future__ import annotations

import re
from typing import Any

import orjson
from workload import PROFILE

__all__ = ["floor"]

_REQUIRED = PROFILE["required_fields"]
_PATTERN = re.compile(PROFILE["response_patterns"][0].encode())
_SHORTEST, _LONGEST = PROFILE["min_response_length"], PROFILE["max_response_length"]


def floor(result: Any) -> bool:
    """Serialise, look up the required fields, search one compiled pattern, compare the length; text is parsed first."""
    if isinstance(result, str):
        result = orjson.loads(result)
    text = orjson.dumps(result)
    for field in _REQUIRED:
        if field not in result:
            return False
    return _PATTERN.search(text) is not None and _SHORTEST <= len(text) <= _LONGEST
