"""Labels: what reviewers found, and what the guard had said of the same calls.

One label is one JSON object, a line of a file or an event of a store's feedback log::

    {"tool": "search", "confidence_score": 0.12, "was_hallucination": false, "call_id": "c7", "verdict": "accept",
     "propensity": 0.02, "prior": 0.15, "nats": {"latency_anomaly": -0.2, "echo_mismatch": 0.9}}

The first three fields are necessary. ``propensity`` is the probability with which a call like this one is reviewed at
all (1 where absent), ``nats`` what each signal added to the log-odds, ``prior`` the prior that they were added to.
Other fields are left alone.

A label stands for 1/``propensity`` calls (Horvitz & Thompson 1952): mostly suspects are reviewed, and a figure over
the labels as they lie there would be one about suspects.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from agentguard.errors import DataError

__all__ = ["MOST_WEIGHT", "BrokenLabel", "Label", "parse_label", "read_label"]

MOST_WEIGHT = 200.0
"""Calls that one label may stand for; a smaller propensity than 1/200 would let one label outvote all others."""

MOST_NATS = 30.0
"""Log-odds beyond which a posterior is as good as certain."""

MAX_NAME_LENGTH = 1_000
MAX_SIGNALS = 100
_VERDICTS = ("accept", "flag", "block")


class Label(NamedTuple):
    """One reviewed call.

    Attributes:
        tool: the tool's name.
        posterior: P(fabricated) as the guard gave it, in [0, 1].
        fabricated: what the reviewer found.
        propensity: the probability with which such a call is reviewed, in (0, 1].
        nats: what each signal added to the log-odds; None where that is not known.
        prior: P(fabricated) before any signal, in (0, 1); None where not known.
        verdict: ``"accept"``, ``"flag"``, ``"block"``, or None where not known.
        call_id: the call's name, or None.
    """

    tool: str
    posterior: float
    fabricated: bool
    propensity: float = 1.0
    nats: Mapping[str, float] | None = None
    prior: float | None = None
    verdict: str | None = None
    call_id: str | None = None

    @property
    def weight(self) -> float:
        """How many calls the label stands for, in [1, 200].

        >>> Label("search", 0.1, fabricated=False, propensity=0.02).weight
        50.0
        """
        return min(1.0 / self.propensity, MOST_WEIGHT)

    @property
    def log_odds(self) -> float:
        """The posterior's log-odds in nats, within -30 and 30."""
        if not 0.0 < self.posterior < 1.0:
            return math.copysign(MOST_NATS, self.posterior - 0.5)
        return min(max(math.log(self.posterior) - math.log1p(-self.posterior), -MOST_NATS), MOST_NATS)


class BrokenLabel(NamedTuple):
    """A line or an event that holds no label. ``reason`` says why in words of its own: it never quotes the line."""

    source: str
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{self.source}:{self.line}: {self.reason}"


def read_label(raw: bytes, source: str, line: int) -> Label | BrokenLabel:
    """Read one line. Never raises, whatever the bytes.

    >>> print(read_label(b'{"tool": "search", "confidence_score": 0.1}', "labels.jsonl", 3))
    labels.jsonl:3: field 'was_hallucination' is missing
    """
    try:
        return parse_label(json.loads(raw.decode("utf-8")))
    except DataError as error:
        return BrokenLabel(source, line, str(error))
    except UnicodeDecodeError as error:
        return BrokenLabel(source, line, f"not UTF-8 text (byte {error.start + 1})")
    except json.JSONDecodeError as error:
        return BrokenLabel(source, line, f"not JSON (character {error.pos + 1})")
    except (RecursionError, ValueError):
        return BrokenLabel(source, line, "not usable JSON: nested too deeply, or a number has too many digits")


def parse_label(data: Any) -> Label:
    """The label in plain data.

    Raises:
        DataError: with the first thing that is wrong.
    """
    if not isinstance(data, Mapping):
        raise DataError("must be a JSON object")
    for field in ("tool", "confidence_score", "was_hallucination"):
        if field not in data:
            raise DataError(f"field '{field}' is missing")
    fabricated = data["was_hallucination"]
    if not isinstance(fabricated, bool):
        raise DataError("field 'was_hallucination' must be true or false")
    verdict = data.get("verdict")
    if verdict is not None and verdict not in _VERDICTS:
        raise DataError(f"field 'verdict' must be one of {', '.join(_VERDICTS)}, or null")
    prior, propensity = data.get("prior"), data.get("propensity")
    return Label(
        _tool(data["tool"]),
        _number("confidence_score", data["confidence_score"]),
        fabricated,
        1.0 if propensity is None else _number("propensity", propensity, low_open=True),
        _nats(data.get("nats")),
        None if prior is None else _number("prior", prior, low_open=True, high_open=True),
        verdict,
        _call_id(data.get("call_id")),
    )


def _tool(value: Any) -> str:
    if not isinstance(value, str) or not value or len(value) > MAX_NAME_LENGTH:
        raise DataError(f"field 'tool' must be a name of at most {MAX_NAME_LENGTH:,} characters")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise DataError("field 'tool' is not Unicode text") from None
    return value


def _number(field: str, value: Any, *, low_open: bool = False, high_open: bool = False) -> float:
    usable = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 1
    if not usable or (low_open and value == 0) or (high_open and value == 1):
        interval = f"{'(' if low_open else '['}0, 1{')' if high_open else ']'}"
        raise DataError(f"field '{field}' must be a number in {interval}")
    return float(value)


def _nats(value: Any) -> dict[str, float] | None:
    if value is None:
        return None
    if not isinstance(value, Mapping) or len(value) > MAX_SIGNALS:
        raise DataError(f"field 'nats' must be an object of at most {MAX_SIGNALS} signals, or null")
    found = {}
    for signal, nats in value.items():
        usable = isinstance(nats, (int, float)) and not isinstance(nats, bool) and -1e6 < nats < 1e6
        if not isinstance(signal, str) or not usable:
            raise DataError("field 'nats' must give numbers by signal")
        if nats:
            found[signal] = min(max(float(nats), -MOST_NATS), MOST_NATS)
    return found


def _call_id(value: Any) -> str | None:
    if value is None or (isinstance(value, str) and len(value) <= MAX_NAME_LENGTH):
        return value
    if isinstance(value, int) and value.bit_length() <= 128:
        return str(value)
    raise DataError(f"field 'call_id' must be text of at most {MAX_NAME_LENGTH:,} characters, an integer or null")
