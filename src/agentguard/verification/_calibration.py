"""Calibration: the prior and the weights that labels give, and the files that are made from labels.

Feedback counts as Beta counts, shrunk to what is configured and bounded on both sides. A calibration file is what
``agentguard calibrate`` writes, and what an engine is set by::

    version: 1
    made_from: {labels: 812}
    all:                      # the arguments of VerificationEngine.calibrate
      prior: 0.04
      block_at: 0.62
      likelihood_ratios: {echo_mismatch: 11.3}
    tools:
      get_weather: {prior: 0.02}
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from agentguard.errors import ConfigurationError, Problem, ProfileError
from agentguard.verification.evidence import DEFAULT_RATIOS, OWN_RATIO, OWN_RULE_RATIO
from agentguard.verification.types import Settings, as_written, is_ratio

if TYPE_CHECKING:
    from os import PathLike


STRENGTH: Final = 40.0  # labels that the configured prior counts for
MOST_LABELS: Final = 200.0  # that count; older ones fade
LOWEST: Final = 0.05  # prior that labels lead to
HIGHEST: Final = 0.9  # of the posterior that blocks: a prior at that line would block calls with nothing against them
MOST_WEIGHT: Final = 20.0  # labels that one label may count for: an audited accept stands for those that were not
MOST_SIGNALS: Final = 256  # of which labels are counted, those of the user's own among them
SIGNAL_STRENGTH: Final = 10.0  # labels that the documented ratio counts for
KEPT: Final = STRENGTH / (STRENGTH + 1.0)  # of the moving average at each label: the first counts as in the Beta mean
LEAST_FACTOR: Final = 0.125  # labels weaken a signal to an eighth,
MOST_FACTOR: Final = 4.0  # and strengthen it to four times

DECLARED: Final = "!"
"""Before the name of a signal that fired on a broken declaration, which labels weigh apart from what is unusual."""


class Counted(NamedTuple):
    """A label that was counted, with its weight and signals; ``place`` is the sum of all labels' weights up to it."""

    was_hallucination: bool
    weight: float
    fired: tuple[str, ...]
    place: float


class LabelCounts:
    """Counts of a tool's fabricated and genuine labelled calls, in all and where a signal had fired.

    The prior is the mean of a Beta distribution that starts at the configured prior with the weight of 40 calls. At
    most 200 labels count (older ones fade), and the prior stays within 0.05 and 0.9 ``block_at``, or the configured
    value where that lies outside: no number of labels switches the guard off or lets it block a call with nothing
    against it.

    Attributes:
        fabricated, genuine: the sums of the labels' weights.
        fired: the same two sums by signal.
        seen: the sum of the weights of all labels, none of them faded.

    >>> counts = LabelCounts()
    >>> _ = counts.add(was_hallucination=True)
    >>> round(counts.prior(0.15), 4)
    0.1707
    """

    __slots__ = ("_recent", "fabricated", "fired", "genuine", "seen")

    def __init__(self) -> None:
        self.fabricated = 0.0
        self.genuine = 0.0
        self.fired: dict[str, tuple[float, float]] = {}
        self.seen = 0.0
        self._recent = 0.0  # the moving average of the labels, from 0 on

    def add(self, *, was_hallucination: bool, weight: float = 1.0, fired: Iterable[str] = ()) -> Counted:
        """Count one label. A fabricated one never lowers the prior or a weight, a genuine one never raises them.

        Args:
            was_hallucination: what the reviewer found.
            weight: one over the probability with which such a call comes before a reviewer; at most 20 is counted.
            fired: the signals that had fired, those on a broken declaration after ``DECLARED``.
        """
        weight = min(max(weight, 1.0), MOST_WEIGHT)
        self.fabricated, self.genuine = _counted(self.fabricated, self.genuine, weight, was_hallucination)
        names = tuple(name for name in fired if name in self.fired or len(self.fired) < MOST_SIGNALS)
        for name in names:
            self.fired[name] = _counted(*self.fired.get(name, (0.0, 0.0)), weight, was_hallucination)
        kept = KEPT**weight
        self._recent = kept * self._recent + (1.0 - kept) * was_hallucination
        self.seen += weight
        return Counted(was_hallucination, weight, names, self.seen)

    def turn(self, counted: Counted) -> Counted:
        """Count a label as its opposite, in its own place: a reviewer has changed his mind."""
        fabricated = not counted.was_hallucination
        self.fabricated, self.genuine = _turned(self.fabricated, self.genuine, counted.weight, fabricated)
        for name in counted.fired:
            self.fired[name] = _turned(*self.fired.get(name, (0.0, 0.0)), counted.weight, fabricated)
        share = (1.0 - KEPT**counted.weight) * KEPT ** max(self.seen - counted.place, 0.0)
        self._recent = min(max(self._recent + (share if fabricated else -share), 0.0), 1.0)
        return counted._replace(was_hallucination=fabricated)

    def rate(self, configured: float) -> float:
        """The share of fabricated calls, as an exponential moving average that starts at the configured prior.

        ``rate <- k rate + (1 - k) label`` with ``k = 40/41``, so that it reaches back over some 40 labels; a label of
        weight ``w`` moves it as ``w`` labels do.

        >>> counts = LabelCounts()
        >>> _ = counts.add(was_hallucination=True)
        >>> round(counts.rate(0.15), 4)
        0.1707
        """
        return float(KEPT**self.seen) * configured + self._recent

    def prior(self, configured: float, block_at: float = 0.5) -> float:
        """P(fabricated) before any signal, for this tool; labels alone never bring it to ``block_at``."""
        labels = self.fabricated + self.genuine
        mean = (configured * STRENGTH + self.fabricated) / (STRENGTH + labels)
        return min(max(mean, min(LOWEST, configured)), max(HIGHEST * block_at, configured))


def _counted(fabricated: float, genuine: float, weight: float, was_hallucination: bool) -> tuple[float, float]:
    if was_hallucination:
        fabricated += weight
    else:
        genuine += weight
    return _faded(fabricated, genuine)


def _turned(fabricated: float, genuine: float, weight: float, to_fabricated: bool) -> tuple[float, float]:
    moved = min(weight, genuine if to_fabricated else fabricated)  # what has faded cannot be turned
    return (fabricated + moved, genuine - moved) if to_fabricated else (fabricated - moved, genuine + moved)


def _faded(fabricated: float, genuine: float) -> tuple[float, float]:
    fade = MOST_LABELS / max(fabricated + genuine, MOST_LABELS)
    return fabricated * fade, genuine * fade


def adapted(settings: Settings, labels: LabelCounts) -> Settings:
    """The thresholds in force for a tool with these labels in calibrated mode: its prior moves, and no threshold."""
    if not labels.seen:
        return settings
    return settings.changed(prior=labels.prior(settings.prior, settings.block_at))


def together(counts: Iterable[LabelCounts]) -> LabelCounts:
    """The labels of several tools as those of one."""
    total = LabelCounts()
    for one in counts:
        total.fabricated, total.genuine = _faded(total.fabricated + one.fabricated, total.genuine + one.genuine)
        for name, (fabricated, genuine) in one.fired.items():
            before = total.fired.get(name, (0.0, 0.0))
            total.fired[name] = _faded(before[0] + fabricated, before[1] + genuine)
    return total


def factors(tool: LabelCounts, everywhere: LabelCounts, ratios: Mapping[str, float], prior: float) -> dict[str, float]:
    """By how much the evidence of each signal counts more (above 1) or less than documented, by labels.

    Of calls in which a signal with ratio R fires, the share ``q = prior R / (prior R + 1 - prior)`` should be
    fabricated, by the configured prior. That expectation has the weight of 10 labels: the factor is the odds of Beta(10
    q + fabricated, 10 (1 - q) + genuine) over those of Beta(10 q, 10 (1 - q)). What the labels of all other tools say
    is the expectation that the tool's own labels move. Within [1/8, 4].

    >>> counts = LabelCounts()
    >>> _ = counts.add(was_hallucination=False, fired=["echo_mismatch"])
    >>> {name: round(factor, 3) for name, factor in factors(counts, counts, {"echo_mismatch": 16.0}, 0.15).items()}
    {'echo_mismatch': 0.723}
    """
    result: dict[str, float] = {}
    for name, (fabricated, genuine) in everywhere.fired.items():
        own = tool.fired.get(name, (0.0, 0.0))
        own_ratio = OWN_RULE_RATIO if name.startswith(DECLARED) else OWN_RATIO  # of a signal of the user's own
        odds = ratios.get(name.removeprefix(DECLARED), own_ratio) * prior / (1.0 - prior)
        others = _moved(odds, max(fabricated - own[0], 0.0), max(genuine - own[1], 0.0))
        result[name] = min(max(others * _moved(odds * others, *own), LEAST_FACTOR), MOST_FACTOR)
    return result


def _moved(odds: float, fabricated: float, genuine: float) -> float:
    expected = SIGNAL_STRENGTH * odds / (1.0 + odds)
    return ((expected + fabricated) / expected) / (1.0 + genuine / (SIGNAL_STRENGTH - expected))


# --- Calibration files ---

CALIBRATION_VERSION = 1

_Lines = Mapping[tuple[str | int, ...], int]
_Note = Callable[[tuple[str, ...], str], None]
_PARTS = ("version", "made_from", "all", "tools")
_SETTINGS = ("prior", "accept_below", "block_at", "max_false_block_rate", "likelihood_ratios")


@dataclass(frozen=True, slots=True)
class Calibration:
    """The arguments of ``VerificationEngine.calibrate`` for all tools, and for single ones, which stand over them.

    Nothing depends on ``made_from``, which is what the file says of its own making.
    """

    everywhere: Mapping[str, Any] = field(default_factory=dict)
    tools: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    made_from: Mapping[str, Any] = field(default_factory=dict)

    @property
    def feedback_until(self) -> int:
        """The number of the last label of the store's log that is in the file; 0 where it was made from others."""
        until = self.made_from.get("feedback_until", 0)
        return until if isinstance(until, int) and not isinstance(until, bool) and until > 0 else 0


def load_calibration(path: str | PathLike[str]) -> Calibration:
    """Read a calibration file.

    Raises:
        ConfigurationError: where there is no such file.
        ProfileError: with every problem of the file, each with its line.
    """
    from agentguard._yaml_files import Subject, read_yaml_file  # with the YAML reader, which few imports need

    try:
        given, problems = read_yaml_file(path, Subject("calibration file", f"version: {CALIBRATION_VERSION}"))
    except ConfigurationError as error:
        raise ConfigurationError(f"{error}; 'agentguard calibrate -o FILE' writes one") from None
    if given is None:
        raise ProfileError(problems)
    calibration, more = _parsed(given.data, given.source, given.lines)
    if problems or more:
        raise ProfileError(sorted([*problems, *more], key=lambda problem: problem.line or 0))
    return calibration


def parse_calibration(data: Mapping[str, Any], source: str = "calibration", lines: _Lines | None = None) -> Calibration:
    """A calibration from plain data; ``source`` names it in messages, ``lines`` are those of its key paths in a file.

    Raises:
        ProfileError: with every problem.

    >>> parse_calibration({"version": 1, "all": {"prior": 0.05}}).everywhere["prior"]
    0.05
    >>> parse_calibration({"version": 1, "all": {"prior": 5}})
    Traceback (most recent call last):
    agentguard.errors.ProfileError: calibration has 1 problem:
      calibration: all.prior: must be a number in (0, 1), not 5
    """
    calibration, problems = _parsed(data, source, lines or {})
    if problems:
        raise ProfileError(problems)
    return calibration


def _parsed(data: Mapping[str, Any], source: str, lines: _Lines) -> tuple[Calibration, list[Problem]]:
    problems: list[Problem] = []

    def note(where: tuple[str, ...], message: str) -> None:
        line = next((lines[where[:k]] for k in range(len(where), -1, -1) if where[:k] in lines), None)
        problems.append(Problem(source, line, ".".join(where), message))

    def mapping(value: Any, *where: str) -> Mapping[str, Any]:
        if value is None or isinstance(value, Mapping):
            return value or {}
        note(where, "must be a mapping")
        return {}

    version = data.get("version")
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        note(("version",), f"must be given, and be the format's number, which is {CALIBRATION_VERSION}")
    elif version > CALIBRATION_VERSION:
        number = str(version) if version < 10**9 else "number of many digits"
        written = f"was written by a newer agentguard, in format {number}"
        note(("version",), f"{written}; this one reads up to {CALIBRATION_VERSION}: upgrade it, or calibrate again")
        return Calibration(), problems  # what else such a file may say is not known here
    for name in data:
        if name not in _PARTS:
            note((str(name),), f"unknown part; known are {', '.join(_PARTS)}")
    made_from = mapping(data.get("made_from"), "made_from")
    everywhere = _settings(mapping(data.get("all"), "all"), ("all",), note, {})
    tools = {
        tool: _settings(mapping(values, "tools", tool), ("tools", tool), note, everywhere)
        for tool, values in mapping(data.get("tools"), "tools").items()
    }
    proxies = MappingProxyType({tool: MappingProxyType(values) for tool, values in tools.items()})
    return Calibration(MappingProxyType(everywhere), proxies, MappingProxyType(dict(made_from))), problems


def _settings(
    given: Mapping[str, Any], path: tuple[str, ...], note: _Note, everywhere: Mapping[str, Any]
) -> dict[str, Any]:
    """The usable ones of these settings; the others are noted."""
    settings: dict[str, Any] = {}
    for name, value in given.items():
        if name not in _SETTINGS:
            note((*path, str(name)), f"unknown setting; known are {', '.join(_SETTINGS)}")
        elif name == "likelihood_ratios":
            settings[name] = MappingProxyType(_ratios(value, (*path, name), note))
        else:
            try:
                # The other threshold is put out of the way: here each is looked at for itself.
                settings[name] = getattr(Settings(accept_below=1e-300, block_at=1.0).changed(**{name: value}), name)
            except ConfigurationError as error:
                note((*path, name), str(error).removeprefix(f"{name} "))
    both = {**everywhere, **settings}
    low, high = both.get("accept_below", 0.0), both.get("block_at", 1.0)
    if low > high and ("accept_below" in settings or "block_at" in settings):
        name = "accept_below" if "accept_below" in settings else "block_at"
        note((*path, name), f"accept_below ({low}) must not be above block_at ({high})")
    return settings


def _ratios(given: Any, path: tuple[str, ...], note: _Note) -> dict[str, float]:
    if not isinstance(given, Mapping):
        note(path, "must be a mapping of signals to ratios")
        return {}
    ratios = {}
    for signal, ratio in given.items():
        if signal not in DEFAULT_RATIOS:
            note((*path, str(signal)), f"unknown signal; known are {', '.join(sorted(DEFAULT_RATIOS))}")
        elif not is_ratio(ratio):
            note((*path, signal), f"must be a positive number, not {as_written(ratio)}")
        else:
            ratios[signal] = float(ratio)
    return ratios
