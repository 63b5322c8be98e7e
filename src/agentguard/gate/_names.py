"""Compare models by their names, however a provider, a gateway or a registry writes them."""

from __future__ import annotations

import re
from typing import Final

_VENDOR: Final = re.compile(r"(?:(?:[a-z]+(?:-[a-z]+)*|ai21)\.)+(?=[a-z])")  # us.anthropic.
_VERSION: Final = re.compile(r"(?:-v?[1-9]\d*:\d+(?::\w+)?|-v1)\Z")  # -v1:0, -v1:0:28k
_DATE: Final = re.compile(r"[-@:](20\d\d-?\d\d-?\d\d|\d\d-20\d\d|\d{3,4}|latest|default)\Z")
_VERSION_OF_DATED: Final = re.compile(r"-v\d+\Z")  # claude-3-5-sonnet-v2@20241022
_SEPARATORS: Final = re.compile(r"[-._:@\s]+")
_BEFORE_DIGIT: Final = re.compile(r"(?<=[a-z])-(?=\d)")  # llama-3 is llama3


def may_be_same(one: str, other: str) -> bool:
    """Compare two names of models without what providers, regions and versions of an interface add to them.

    A name without a date may be any of its dates; two dates are two models. A name that says nothing of its model,
    such as that of an application's inference profile, is the same as itself only.

    >>> may_be_same("us.anthropic.claude-3-5-sonnet-20240620-v1:0", "openrouter/anthropic/Claude-3.5-Sonnet")
    True
    >>> may_be_same("claude-3-5-sonnet-20240620", "claude-3-5-sonnet-20241022")
    False
    """
    (name, date), (other_name, other_date) = _plain(one), _plain(other)
    return name == other_name and (date == other_date or "" in (date, other_date))


def _plain(name: str) -> tuple[str, str]:
    """Split a name into that of the model itself and its date, "" where it has none."""
    plain = name.strip().casefold().rpartition("/")[2]  # of a path, or of an ARN
    vendor = _VENDOR.match(plain)
    plain = _VERSION.sub("", plain[vendor.end() :] if vendor else plain)
    dated = _DATE.search(plain)
    if dated is not None:
        plain = _VERSION_OF_DATED.sub("", plain[: dated.start()])
    date = "" if dated is None or dated[1] in ("latest", "default") else dated[1].replace("-", "")
    return _BEFORE_DIGIT.sub("", _SEPARATORS.sub("-", plain)), date
