"""``python -m fuzz``."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from fuzz.campaign import ARTEFACTS, Campaign
from fuzz.engines import blind, guided, has_atheris
from fuzz.record import RECORD
from fuzz.searching import campaign
from fuzz.target import Target
from fuzz.trying import attempt


def _load(name: str) -> Target:
    from fuzz.targets import HARNESSES, TARGETS, target_of  # here, so that atheris can instrument what it imports

    if name not in TARGETS and name not in HARNESSES:
        raise SystemExit(f"no target {name!r}; known are {', '.join((*TARGETS, *HARNESSES))}")
    return target_of(name)


def main() -> None:
    """Try a target for a while, several in turn, or one input again."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description="Look for inputs that break a promise.")
    parser.add_argument("targets", nargs="*", help="a target, or one of its harnesses; see --list")
    parser.add_argument(
        "--campaign", action="store_true", help="these targets, or all, in processes of their own; keep the figures"
    )
    parser.add_argument("--seconds", type=float, default=60.0, help="how long to search each (60)")
    parser.add_argument("--engine", choices=("guided", "blind"), help="guided by coverage where atheris is installed")
    parser.add_argument("--seed", type=int, default=0, help="of the search")
    parser.add_argument("--artefacts", type=Path, default=ARTEFACTS, help="where inputs that fail are kept")
    parser.add_argument("--record", type=Path, default=RECORD, help="where a campaign keeps its figures")
    parser.add_argument("--replay", type=Path, help="try this one input, and show what comes of it")
    parser.add_argument("--list", action="store_true", help="show the targets and their harnesses")
    given = parser.parse_args()
    if given.campaign:
        sys.exit(campaign(given.targets, given.seconds, given.engine, given.seed, given.artefacts, given.record))
    if given.list or not given.targets:
        _list()
        return
    if len(given.targets) > 1:
        parser.error("one target at a time, or --campaign")
    (name,) = given.targets
    if given.replay is not None:
        _replay(_load(name), given.replay.read_bytes())
        return
    if (given.engine or ("guided" if has_atheris() else "blind")) == "guided":
        guided(lambda: _load(name), given.artefacts, given.seconds, given.seed)
    search = Campaign(_load(name), given.artefacts)
    blind(search, seconds=given.seconds, seed=given.seed)
    account = search.finish()
    print(json.dumps(account))
    sys.exit(1 if search.failures else 0)


def _list() -> None:
    from fuzz.targets import TARGETS

    for target in TARGETS.values():
        print(f"{target.name:18} {target.covers}")
        for harness in target.harnesses:
            print(f"  {harness.name:16} {harness.covers}")


def _replay(target: Target, data: bytes) -> None:
    attempt(target, data)  # what is compiled and loaded on the first call is not measured
    outcome = attempt(target, data)
    kib = f"{1000 * outcome.per_kib:.2f} ms/KiB"
    print(f"{outcome.harness}: {outcome.size:,} bytes in {1000 * outcome.seconds:.2f} ms: {kib}")
    if outcome.failure is not None:
        print(outcome.failure.said.encode("utf-8", "backslashreplace").decode())
        sys.exit(1)


if __name__ == "__main__":
    main()
