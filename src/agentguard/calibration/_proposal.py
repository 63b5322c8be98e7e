"""The settings that follow from a calibration, and the file that holds them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from agentguard.calibration._fit import LEAST_RATIO, Estimate, Fitted
from agentguard.calibration._outcome import Outcome
from agentguard.calibration._statistics import Threshold
from agentguard.verification._calibration import CALIBRATION_VERSION, Calibration

RATIO_DIGITS = 3
PRIOR_DIGITS = 4
MAX_TOOLS = 1_000  # that a file names, those with the most labels first; the others take what is set for all
_MAX_BYTES = 900_000  # the reader takes 1 MiB
_LONGEST_KEY = 1_000  # YAML takes a longer key only where a question mark announces it
_COLUMN = 44
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_WORDS = frozenset("null true false yes no on off y n".split())
_ESCAPED = re.compile('[\x00-\x1f\x7f-\xa0\xad\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff\ufff0-\uffff"\\\\]')


def proposal(outcome: Outcome, before: Calibration | None = None) -> Calibration | None:
    """The settings in force with the changes that follow from an outcome; None where there are none.

    Args:
        outcome: of ``calibrate``.
        before: the calibration that was in force when the labels were made, whose settings stand where nothing is
            proposed. None: the engine's defaults were.
    """
    before = Calibration() if before is None else before
    changes: dict[str, Any] = {}
    if outcome.blocks.value is not None:
        changes |= {"block_at": outcome.blocks.value, "max_false_block_rate": outcome.wish.false_block_rate}
    if outcome.flags.value is not None:
        changes["accept_below"] = outcome.flags.value
    fit = outcome.fit
    if fit is not None:
        changes["prior"] = round(fit.everywhere.prior.value, PRIOR_DIGITS)
    if not changes:
        return None
    everywhere = {**before.everywhere, **changes}
    if "accept_below" in everywhere and "block_at" in everywhere:
        everywhere["accept_below"] = min(everywhere["accept_below"], everywhere["block_at"])
    elif "block_at" in everywhere:
        everywhere["accept_below"] = min(outcome.in_force.accept_below, everywhere["block_at"])
    elif "accept_below" in everywhere:
        everywhere["block_at"] = outcome.in_force.block_at
    if fit is not None:
        everywhere["likelihood_ratios"] = {
            **before.everywhere.get("likelihood_ratios", {}),
            **{name: round(ratio.value, RATIO_DIGITS) for name, ratio in fit.everywhere.ratios.items()},
        }
    tools: dict[str, dict[str, Any]] = {}
    for tool in dict.fromkeys((*before.tools, *(fit.tools if fit is not None else ()))):
        tools[tool] = _of_tool(before.tools.get(tool, {}), fit.tools.get(tool) if fit else None, fit and fit.everywhere)
        _keep_thresholds(tools[tool], before, outcome)
    return Calibration(everywhere, tools)


def _of_tool(before: Mapping[str, Any], own: Fitted | None, everywhere: Fitted | None) -> dict[str, Any]:
    settings = dict(before)
    ratios = dict(before.get("likelihood_ratios", {}))
    for name, weight in (everywhere.weights if everywhere is not None else {}).items():
        if ratios.get(name, 0.0) > LEAST_RATIO:  # what the tool had of its own moves as the signal does everywhere
            ratios[name] = round(max(math.pow(ratios[name], weight), LEAST_RATIO), RATIO_DIGITS)
    if own is not None:
        settings["prior"] = round(own.prior.value, PRIOR_DIGITS)
        ratios |= {name: round(ratio.value, RATIO_DIGITS) for name, ratio in own.ratios.items()}
    if ratios:
        settings["likelihood_ratios"] = ratios
    return settings


def _keep_thresholds(settings: dict[str, Any], before: Calibration, outcome: Outcome) -> None:
    """A tool that had one threshold of its own keeps both as they were: the new one of all may not go with it."""
    mine = {"accept_below", "block_at"} & settings.keys()
    if len(mine) == 1:
        settings.setdefault("accept_below", before.everywhere.get("accept_below", outcome.in_force.accept_below))
        settings.setdefault("block_at", before.everywhere.get("block_at", outcome.in_force.block_at))


# --- The file, written for people: each value with its labels and its interval ---


def yaml_of(outcome: Outcome, calibration: Calibration, until: int = 0) -> str:
    """The text of a calibration file.

    Args:
        outcome: the labels and intervals behind each value.
        calibration: the settings.
        until: the number of the last feedback event that was counted; 0 where there is none.
    """
    return "\n".join(_lines(outcome, calibration, until)) + "\n"


def quoted(text: str) -> str:
    r"""Text as a YAML scalar, on one line and in printable characters.

    >>> quoted("get_weather"), quoted("no"), quoted("a: \x1b\n")
    ('get_weather', '"no"', '"a: \\x1B\\n"')
    """
    if _PLAIN.fullmatch(text) and text.lower() not in _WORDS:
        return text
    return f'"{_ESCAPED.sub(_escape, text)}"'


def _escape(match: re.Match[str]) -> str:
    character = match[0]
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
    for rank, tool in enumerate(ranked):
        key = quoted(tool)
        own = outcome.fit.tools.get(tool) if outcome.fit else None
        body = list(_settings("    ", calibration.tools[tool], None, own, percent))
        used += len(key.encode()) + 20 + sum(len(line.encode()) + 1 for line in body)
        if rank >= MAX_TOOLS or used > _MAX_BYTES:
            yield f"  # {len(ranked) - rank:,} more tools take what is set for all"
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
