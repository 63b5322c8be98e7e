"""What fuzzing tried and found, as a section of the measurements document.

    python benchmarks/fuzzing.py [--seconds 10]

Two searches: the last long one, guided by coverage, whose figures ``make fuzz`` keeps in ``fuzz/campaign.json``; and a
short one now, blind and from one seed, of every harness in a process of its own. What the long one found is tried once
more, so that the figures say what the code does today.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from document import Section
from goals import Goal
from rich.console import Console
from rich.progress import track
from tables import Line, judged, markdown

__all__ = ["section"]

ROOT = Path(__file__).resolve().parents[1]
RECORD = ROOT / "fuzz/campaign.json"
SECONDS = 10.0


def _number(figure: float | None) -> str:
    return "–" if figure is None else f"{figure:,.0f}"


CALM = Goal("at most", 0.0, _number)
LONG = Goal("at least", 10e6, _number)


class Listed(NamedTuple):
    """A harness, the target that it is searched in, and what it calls."""

    harness: str
    target: str
    covers: str


def section(console: Console | None = None, seconds: float = SECONDS, record: Path = RECORD) -> Section:
    """The last long search, and all harnesses for so many seconds; what broke a promise counts against none."""
    listed = list(_listed())
    campaign = json.loads(record.read_text("utf-8")) if record.exists() else None
    accounts = {each.harness: _searched(each.harness, seconds) for each in _tracked(listed, console)}
    broken = [name for name, account in accounts.items() if account["failures"]]
    tried = sum(account["inputs"] for account in accounts.values())
    short = ("promises broken", f"{tried:,} inputs of a short search, blind", str(len(accounts)))
    lines = [
        *_long_lines(campaign),
        Line(short, float(sum(len(account["failures"]) for account in accounts.values())), CALM),
    ]
    text = [
        "## Fuzzing",
        f"`make fuzz`, and `python benchmarks/fuzzing.py --seconds {seconds:g}`",
        "Inputs made of pieces at which readers of text, numbers, dates and markup have failed, and of Python objects "
        "of which little can be asked. A promise is broken by an error that is not documented, by two answers to one "
        "question, by a place outside of its text, a probability outside of [0, 1], or by an input that takes half a "
        "minute. The slowest input is that with most time for its size, where less than a KiB counts as one; objects "
        "that share their parts 2⁶⁰ times over are small and take long. "
        "The gate's API is tried by schemathesis, in `tests/gate/api/test_schemathesis.py`.",
        judged(("what", "by", "harnesses"), lines),
        *([f"Broken: {', '.join(broken)}."] if broken else []),
        *_long_text(campaign),
        "### Every harness",
        "The inputs of the long search, and a short one now.",
        markdown(
            ("target", "harness", "what is called", "inputs, long", "inputs, short", "slowest, ms/KiB", "its bytes"),
            [_row(each, _in_long(campaign, each), accounts[each.harness]) for each in listed],
        ),
    ]
    return Section(text, lines)


# --- The long search ---


def _long_lines(campaign: Mapping[str, Any] | None) -> list[Line]:
    targets = [] if campaign is None else campaign["targets"]
    tried = None if campaign is None else float(sum(target["inputs"] for target in targets))
    harnesses = str(sum(len(target["tried"]) for target in targets)) if targets else "–"
    findings = [finding for target in targets for finding in target["findings"]]
    still = None if campaign is None else float(sum(map(_breaks, findings)))
    by = "the last long search"
    return [
        Line(("inputs", by, harnesses), tried, LONG),
        Line((f"promises broken, of {len(findings)} that were", by, harnesses), still, CALM),
    ]


def _breaks(finding: Mapping[str, str]) -> bool:
    """An input that was found still breaks something; so does one that is not known."""
    if not finding["data"]:
        return True
    with tempfile.NamedTemporaryFile() as file:
        file.write(bytes.fromhex(finding["data"]))
        file.flush()
        return _fuzz(finding["harness"], "--replay", file.name).returncode != 0


def _long_text(campaign: Mapping[str, Any] | None) -> list[str]:
    if campaign is None:
        return ["**Not measured**: there is no long search on record; `make fuzz` makes one."]
    covers = {each.target: each.covers for each in _listed(targets=True)}
    rows = [_target_row(target, covers.get(target["target"], "")) for target in campaign["targets"]]
    header = ("target", "what is searched", "inputs", "seconds", "inputs a second", "edges", "kept", "found")
    return [
        "### The last long search",
        f"{campaign['on']['Python']}, {campaign['on']['engine']}, one target after the other. Edges: branches of the "
        "code under test that an input took. Kept: inputs that reached what no other had. Found: promises broken then, "
        "by error and place.",
        markdown(header, rows),
    ]


def _target_row(target: Mapping[str, Any], covers: str) -> Sequence[str]:
    rate = target["inputs"] / target["seconds"]
    figures = (target["inputs"], target["seconds"], rate, target["edges"], target["kept"], len(target["findings"]))
    return (f"`{target['target']}`", covers, *map(_number, figures))


def _in_long(campaign: Mapping[str, Any] | None, listed: Listed) -> int | None:
    for target in [] if campaign is None else campaign["targets"]:
        if target["target"] == listed.target:
            tried: int = target["tried"].get(listed.harness, 0)
            return tried
    return None


# --- The short search ---


def _listed(*, targets: bool = False) -> Iterator[Listed]:
    """Every harness; or every target, as if it were one."""
    target = ""
    for line in _fuzz("--list").stdout.splitlines():
        name, covers = line.split(maxsplit=1)
        if line.startswith(" "):
            if not targets:
                yield Listed(name, target, covers)
        else:
            target = name
            if targets:
                yield Listed(name, name, covers)


def _tracked(listed: Sequence[Listed], console: Console | None) -> Iterator[Listed]:
    yield from track(listed, "fuzzing", console=console or Console(stderr=True))


def _searched(harness: str, seconds: float) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        ran = _fuzz(harness, "--engine", "blind", "--seconds", str(seconds), "--artefacts", folder)
    # A search that found something ends with code 1, and is an account like any other.
    if ran.returncode not in (0, 1):
        raise RuntimeError(f"{' '.join(ran.args)} ended with code {ran.returncode}:\n{ran.stderr[-2000:]}")
    account: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return account


def _row(listed: Listed, long: int | None, account: Mapping[str, Any]) -> Sequence[str]:
    slowest = f"{account['slowest_ms_per_kib']:,.1f}"
    figures = (_number(long), f"{account['inputs']:,}", slowest, f"{account['slowest_bytes']:,}")
    return (f"`{listed.target}`", f"`{listed.harness}`", listed.covers, *figures)


def _fuzz(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "fuzz", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def main(seconds: Annotated[float, typer.Option(help="How long each harness is searched.")] = SECONDS) -> None:
    """Print the section."""
    print("\n\n".join(section(seconds=seconds).text))


if __name__ == "__main__":
    typer.run(main)
