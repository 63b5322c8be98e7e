"""Labels: the verdicts of reviewers on calls, beside those of the guard.

One label is one JSON object, a line of a file or an event of a store's feedback log::

    {"tool": "search", "confidence_score": 0.12, "was_hallucination": false, "call_id": "c7", "verdict": "accept",
     "propensity": 0.02, "prior": 0.15, "nats": {"latency_anomaly": -0.2, "echo_mismatch": 0.9}}

The first three fields are necessary. ``propensity`` is the probability with which a call like this one is reviewed at
all (1 where absent), ``nats`` the contribution of each signal to the log-odds, ``prior`` the prior that they were added
to. Other fields are left alone.

A label stands for 1/``propensity`` calls (Horvitz & Thompson 1952): mostly suspects are reviewed, and a figure over
the labels as they lie there would be one about suspects.
"""

from __future__ import annotations

import io
import json
import math
import sys
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from agentguard._line_files import DAMAGED_SAID, Damaged, lines_of, unpacked
from agentguard.errors import DataError
from agentguard.stores import Store

if TYPE_CHECKING:
    from os import PathLike

MOST_WEIGHT = 200.0  # calls that one label may stand for; more would let one label outvote all others
MOST_NATS = 30.0  # log-odds beyond which a posterior is as good as certain
MAX_NAME_LENGTH = 1_000
MAX_SIGNALS = 100
MAX_LABELS = 200_000  # that are kept, the newest
MAX_LINE_BYTES = 2**20  # a longer line is a broken line
STDIN = "-"

_FEEDBACK = "feedback"
_NAMED = 20  # broken lines
_VERDICTS = ("accept", "flag", "block")


class Label(NamedTuple):
    """One reviewed call.

    Attributes:
        tool: the tool's name.
        posterior: P(fabricated) as the guard gave it, in [0, 1].
        fabricated: the verdict of the reviewer.
        propensity: the probability with which such a call is reviewed, in (0, 1].
        nats: the contribution of each signal to the log-odds; None where that is not known.
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
        """The number of calls that the label stands for, in [1, 200].

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
    """A line or an event that holds no label; ``reason`` never quotes it."""

    source: str
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{self.source}:{self.line}: {self.reason}"


def read_label(raw: bytes, source: str, line: int) -> Label | BrokenLabel:
    """Read a line of a file; never raises.

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
    """Read a label from plain data.

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
    contributions = {}
    for signal, nats in value.items():
        usable = isinstance(nats, (int, float)) and not isinstance(nats, bool) and -1e6 < nats < 1e6
        if not isinstance(signal, str) or not usable:
            raise DataError("field 'nats' must give numbers by signal")
        if nats:
            contributions[signal] = min(max(float(nats), -MOST_NATS), MOST_NATS)
    return contributions


def _call_id(value: Any) -> str | None:
    if value is None or (isinstance(value, str) and len(value) <= MAX_NAME_LENGTH):
        return value
    if isinstance(value, int) and value.bit_length() <= 128:
        return str(value)
    raise DataError(f"field 'call_id' must be text of at most {MAX_NAME_LENGTH:,} characters, an integer or null")


# --- Labels of a file, or of the feedback in a store ---


class Labels(NamedTuple):
    """The labels of one source.

    Attributes:
        labels: one for each reviewed call, oldest first; of a call reviewed more than once the last one.
        corrected: labels that a later one of the same call replaced.
        left_out: the oldest ones, beyond the newest 200,000.
        broken: how many lines held no label.
        first_broken: the first twenty of them.
        until: the number of the last event, where they are from a store; 0 otherwise.
    """

    labels: tuple[Label, ...]
    corrected: int
    left_out: int
    broken: int
    first_broken: tuple[BrokenLabel, ...]
    until: int = 0


def gather(lines: Iterable[Label | BrokenLabel]) -> Labels:
    """Collect labels, of each call the last one, and count broken lines.

    Two labels are of one call where they name the same tool, ``call_id`` and posterior; without a ``call_id`` every
    label is of a call of its own.

    >>> word = Label("search", 0.4, fabricated=True, call_id="c7")
    >>> gathered = gather([word, word._replace(fabricated=False)])
    >>> [label.fabricated for label in gathered.labels], gathered.corrected
    ([False], 1)
    """
    kept: OrderedDict[Any, Label] = OrderedDict()
    number = corrected = left_out = broken = 0
    first: list[BrokenLabel] = []
    for one in lines:
        if isinstance(one, BrokenLabel):
            broken += 1
            if len(first) < _NAMED:
                first.append(one)
            continue
        number += 1
        key = number if one.call_id is None else (one.tool, one.call_id, one.posterior)
        corrected += kept.pop(key, None) is not None
        kept[key] = one
        if len(kept) > MAX_LABELS:
            kept.popitem(last=False)
            left_out += 1
    return Labels(tuple(kept.values()), corrected, left_out, broken, tuple(first))


def labels_in_store(store: Store) -> Labels:
    """The labels among the feedback that a store keeps, each broken one named by its sequence number.

    Labels taken back by ``agentguard state reset TOOL --labels`` are left out.

    Raises:
        StoreError: where the store cannot be read.
    """
    taken_back = {  # by tool: the number of the reset that took its earlier labels back
        str(record.event["reset"]): record.sequence
        for record in store.events(_FEEDBACK)
        if "reset" in record.event and record.event.get("labels")
    }
    until = 0

    def read() -> Iterator[Label | BrokenLabel]:
        nonlocal until
        for record in store.events(_FEEDBACK):
            until = record.sequence
            if "reset" in record.event:
                continue
            if record.sequence <= taken_back.get(str(record.event.get("tool")), 0):
                continue
            try:
                yield parse_label(record.event)
            except DataError as error:
                yield BrokenLabel(_FEEDBACK, record.sequence, str(error))

    return gather(read())._replace(until=until)


def labels_in_file(source: str | PathLike[str]) -> Labels:
    """The labels of a file of JSON lines, plain or gzipped; ``"-"`` is standard input.

    Raises:
        DataError: where the file cannot be read.
    """
    name = "stdin" if source == STDIN else str(source).encode("utf-8", "replace").decode()
    try:
        with _opened(source) as stream:
            return gather(_lines(stream, name))
    except DataError:
        raise
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise DataError(f"cannot read the labels in {name}: {reason}") from None


@contextmanager
def _opened(source: str | PathLike[str]) -> Iterator[io.BufferedReader]:
    if source != STDIN:
        with open(source, "rb") as file:
            yield file
        return
    reader = io.BufferedReader(cast("Any", sys.stdin.buffer))
    try:
        yield reader
    finally:
        reader.detach()  # which would close standard input with it


def _lines(stream: io.BufferedReader, name: str) -> Iterator[Label | BrokenLabel]:
    try:
        for number, raw in lines_of(unpacked(stream), name, MAX_LINE_BYTES):
            if raw is None:
                yield BrokenLabel(name, number, f"longer than {MAX_LINE_BYTES:,} bytes")
            else:
                yield read_label(raw, name, number)
    except Damaged as damaged:
        yield BrokenLabel(name, damaged.line, DAMAGED_SAID)
