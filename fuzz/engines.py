"""Two searches: guided by coverage, where atheris is installed, and blind, from a seed, everywhere."""

from __future__ import annotations

import faulthandler
import gc
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from fuzz.campaign import LONGEST, PIECES, Campaign, mutated, seeds
from fuzz.harness import folder
from fuzz.target import Target
from fuzz.trying import HANG_SECONDS

__all__ = ["WHERE", "blind", "guided", "has_atheris"]

WHERE = "Linux on x86-64 with CPython 3.11 to 3.13"
"""Where the tested version of atheris can be installed."""

MOST_MIB = 2_048  # of memory: a search stays below a fifth of it
DEAD_SECONDS = 2 * HANG_SECONDS  # for instrumented code, and for what heeds no signal
LARGE = 16  # one blind input in so many is a large one


def has_atheris() -> bool:
    """Whether coverage can guide the search."""
    return find_spec("atheris") is not None


def blind(campaign: Campaign, *, seconds: float = float("inf"), inputs: int | None = None, seed: int = 0) -> None:
    """Seeds, and inputs made of them or anew; of one seed, the same ones every time."""
    target, numbers = campaign.target, random.Random(seed)  # noqa: S311  # no cryptography
    known = {harness: seeds(harness) for harness in target.harnesses}
    for data in [target.sealed(harness, data) for harness, those in known.items() for data in those][:inputs]:
        campaign.try_one(data)
    with _watched() as alive:
        while campaign.seconds < seconds and (inputs is None or campaign.inputs < inputs):
            harness, _, _ = target.opened(numbers.randbytes(1))
            data = mutated(numbers, known[harness])
            campaign.try_one(target.sealed(harness, data, large=numbers.randrange(LARGE) == 0))
            campaign.tell()
            alive()


@contextmanager
def _watched() -> Iterator[Callable[[], None]]:
    """End the process, all stacks shown, once it has not said for long that it is alive: C code heeds no signal."""
    said = [-float("inf")]

    def alive() -> None:
        if time.monotonic() - said[0] > 1.0:  # each time begins a thread
            said[0] = time.monotonic()
            faulthandler.dump_traceback_later(DEAD_SECONDS, exit=True)

    alive()
    try:
        yield alive
    finally:
        faulthandler.cancel_dump_traceback_later()


def guided(load: Callable[[], Target], artefacts: Path, seconds: float, seed: int = 0) -> None:
    """Inputs that reach new code are kept and changed further. Ends the process: atheris does not come back.

    What is kept of a target lies in ``corpus`` among its artefacts, and the next search goes on from there.

    Args:
        load: imports the harnesses, and with them the code under test, which is instrumented as it is imported.
        artefacts: where the account is written.
        seconds: how long.
        seed: of libFuzzer; 0: another one each time.
    """
    import atheris  # type: ignore[import-untyped]  # it ships no types

    with atheris.instrument_imports(include=["agentguard"], enable_loader_override=False):
        target = load()
    campaign = Campaign(target, artefacts, limited=False, thorough=False)
    place = artefacts / target.name
    ends = [time.monotonic() + seconds]

    def stop(*_: Any) -> None:
        ends[0] = 0.0

    def one(data: bytes) -> None:
        if campaign.its_turn(data):
            campaign.try_one(data)
        campaign.tell()
        if time.monotonic() >= ends[0]:
            print(json.dumps(campaign.finish()), flush=True)
            shutil.rmtree(folder(), ignore_errors=True)
            os._exit(1 if campaign.failures else 0)  # the only way out of libFuzzer's loop

    with tempfile.TemporaryDirectory(prefix="agentguard-corpus-", dir=folder()) as made:
        known, corpus, words = Path(made, "seeds"), place / "corpus", Path(made, "words")
        known.mkdir()
        corpus.mkdir(parents=True, exist_ok=True)
        for number, data in enumerate(_begin_with(target, seed)):
            (known / f"{number}").write_bytes(data)
        words.write_text("".join(f'"{_escaped(piece)}"\n' for piece in PIECES), "ascii")
        options = [
            f"-artifact_prefix={place}/",
            f"-dict={words}",
            f"-max_len={LONGEST}",
            f"-rss_limit_mb={MOST_MIB}",
            f"-seed={seed}",
            f"-timeout={DEAD_SECONDS:.0f}",
            "-entropic_scale_per_exec_time=1",  # what takes long is changed less often
            "-handle_int=0",
            "-handle_term=0",
            "-reload=0",
        ]
        atheris.Setup([sys.argv[0], *options, str(corpus), str(known)], one)
        for sign in (signal.SIGINT, signal.SIGTERM):
            signal.signal(sign, stop)
        gc.collect()
        gc.freeze()  # what is loaded is not looked through again and again
        run: Any = atheris.Fuzz
        run()


def _begin_with(target: Target, seed: int) -> list[bytes]:
    """The seeds of every harness, and for each some inputs of chance."""
    anew = random.Random(seed)  # noqa: S311  # no cryptography
    by_chance = {harness: [anew.randbytes(2**size) for size in range(3, 9)] for harness in target.harnesses}
    return [
        target.sealed(harness, data) for harness in target.harnesses for data in (*seeds(harness), *by_chance[harness])
    ]


def _escaped(piece: bytes) -> str:
    return "".join(f"\\x{each:02x}" for each in piece)
