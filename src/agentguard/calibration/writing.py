"""A calibration file written for people: each value with the labels and the interval that it rests on."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentguard.errors import DataError
from agentguard.verification.calibration import CALIBRATION_VERSION, Calibration

from .fitting import Estimate, Fitted
from .outcome import Outcome
from .thresholds import Threshold

if TYPE_CHECKING:
    from os import PathLike

__all__ = ["MAX_TOOLS", "quoted", "write_file", "yaml_of"]

MAX_TOOLS = 1_000
"""Tools that a file names, those with the most labels first; the others take what is set for all."""

_MAX_BYTES = 900_000  # the reader takes 1 MiB
_LONGEST_KEY = 1_000  # YAML takes a longer key only where a question mark announces it
_COLUMN = 44
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_WORDS = frozenset("null true false yes no on off y n".split())
_ESCAPED = re.compile('[\x00-\x1f\x7f-\xa0\xad\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff\ufff0-\uffff"\\\\]')


def write_file(path: str | PathLike[str], text: str) -> None:
    """Write a file, or leave the one that is there whole.

    Raises:
        DataError: where it cannot be written.
    """
    target = Path(path)
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:100]}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
                file.write(text)
            umask = os.umask(0)
            os.umask(umask)
            os.chmod(name, 0o666 & ~umask)  # as any file; what mkstemp makes is for its owner alone
            os.replace(name, target)
        except BaseException:
            os.unlink(name)
            raise
    except (OSError, ValueError) as error:
        said = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise DataError(f"cannot write {target}: {said}") from None


def yaml_of(outcome: Outcome, calibration: Calibration, until: int = 0) -> str:
    """The file's text; ``until`` is the number of the last feedback event that was counted, 0 where there is none."""
    return "\n".join(_lines(outcome, calibration, until)) + "\n"


def quoted(text: str) -> str:
    r"""Text as YAML takes it for just that text, on one line and in printable characters.

    >>> quoted("get_weather"), quoted("no"), quoted("a: \x1b\n")
    ('get_weather', '"no"', '"a: \\x1B\\n"')
    """
    if _PLAIN.fullmatch(text) and text.lower() not in _WORDS:
        return text
    return f'"{_ESCAPED.sub(_escape, text)}"'


def _escape(found: re.Match[str]) -> str:
    character = found[0]
    if character in '"\\':
        return f"\\{character}"
    if character == "\n":
        return "\\n"
    code = ord(character)
    return f"\\x{code:02X}" if code < 0x100 else f"\\u{code:04X}"


def _lines(outcome: Outcome, calibration: Calibration, until: int) -> Iterator[str]:
    percent = f"{outcome.wish.confidence:.0%}"
    yield "# Written by `agentguard calibrate`. VerificationEngine(calibration=...) takes it."
    yield f"# In brackets: {percent} intervals."
    for remark in outcome.remarks:
        yield f"# {remark}"
    yield f"version: {CALIBRATION_VERSION}"
    yield "made_from:"
    yield f"  labels: {outcome.labels}"
    yield f"  fabricated: {outcome.fabricated_labels}"
    yield f"  of_accepted_calls: {outcome.accepted_labels}"
    yield f"  calls_stood_for: {round(outcome.calls)}"
    yield f"  effective_labels: {round(outcome.effective)}"
    yield f"  confidence: {_number(outcome.wish.confidence)}"
    if until:
        yield f"  feedback_until: {until}"
    yield "all:"
    yield from _settings(
        "  ", calibration.everywhere, outcome, outcome.fit.everywhere if outcome.fit else None, percent
    )
    if not calibration.tools:
        return
    labels = {tool.tool: tool.labels for tool in outcome.tools}
    ranked = sorted(calibration.tools, key=lambda tool: (-labels.get(tool, 0), tool))
    yield "tools:"
    used = 0
    for place, tool in enumerate(ranked):
        key = quoted(tool)
        own = outcome.fit.tools.get(tool) if outcome.fit else None
        body = list(_settings("    ", calibration.tools[tool], None, own, percent))
        used += len(key.encode()) + 20 + sum(len(line.encode()) + 1 for line in body)
        if place >= MAX_TOOLS or used > _MAX_BYTES:
            yield f"  # {len(ranked) - place:,} more tools take what is set for all"
            return
        if len(key) > _LONGEST_KEY:
            yield f"  ? {key}"
            yield "  :"
        else:
            yield f"  {key}:"
        yield from body


def _settings(
    indent: str, settings: Mapping[str, Any], outcome: Outcome | None, fitted: Fitted | None, percent: str
) -> Iterator[str]:
    comments: dict[str, str] = {}
    if fitted is not None:
        comments["prior"] = _estimated(fitted.prior)
    if outcome is not None:
        comments["block_at"] = _borne_out(outcome.blocks, settings.get("block_at"), "blocked", percent)
        comments["accept_below"] = _borne_out(
            outcome.flags, settings.get("accept_below"), "flagged or blocked", percent
        )
        comments["max_false_block_rate"] = "as wished" if outcome.blocks.value is not None else ""
    for name in ("prior", "accept_below", "block_at", "max_false_block_rate"):
        if name in settings:
            yield _line(f"{indent}{name}: {_number(settings[name])}", comments.get(name, ""))
    ratios = settings.get("likelihood_ratios", {})
    if ratios:
        yield f"{indent}likelihood_ratios:"
    for name, ratio in ratios.items():
        estimate = fitted.ratios.get(name) if fitted is not None else None
        yield _line(f"{indent}  {name}: {_number(ratio)}", "" if estimate is None else _estimated(estimate))


def _line(text: str, comment: str) -> str:
    return f"{text:<{_COLUMN}}  # {comment}" if comment else text


def _estimated(estimate: Estimate) -> str:
    return f"[{estimate.low:.3g} to {estimate.high:.3g}], {estimate.labels} labels"


def _borne_out(threshold: Threshold, value: Any, caught: str, percent: str) -> str:
    if threshold.value is None or threshold.value != value or threshold.bound is None:
        return "as it was"
    return (
        f"{caught}: at most {threshold.bound:.2%} of genuine calls ({percent}), "
        f"of {threshold.genuine} such labels; wished {threshold.wished:.2%}"
    )


def _number(value: float) -> str:
    """A number as YAML 1.1 reads it: an exponent needs a point before it.

    >>> _number(0.00001), _number(3.5), _number(2.0)
    ('1.0e-05', '3.5', '2')
    """
    text = repr(float(value))
    if "e" not in text:
        return text.removesuffix(".0")
    digits, exponent = text.split("e")
    return f"{digits if '.' in digits else digits + '.0'}e{exponent}"
