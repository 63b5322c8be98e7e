"""Two searches: guided by coverage, where atheris is installed, and blind, from a seed, everywhere."""

from __future__ import annotations

import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from fuzz.campaign import LONGEST, PIECES, Campaign, mutated, seeds
from fuzz.harness import Harness

__all__ = ["blind", "guided", "has_atheris"]


def has_atheris() -> bool:
    """Whether coverage can guide the search."""
    return find_spec("atheris") is not None


def blind(campaign: Campaign, *, seconds: float = float("inf"), inputs: int | None = None, seed: int = 0) -> None:
    """Seeds, and inputs made of them or anew; of one seed, the same ones every time."""
    numbers, known = random.Random(seed), seeds(campaign.harness)  # noqa: S311  # no cryptography
    for data in known[:inputs]:
        campaign.try_one(data)
    while campaign.seconds < seconds and (inputs is None or campaign.inputs < inputs):
        campaign.try_one(mutated(numbers, known))


def guided(load: Callable[[], Harness], artefacts: Path, seconds: float, seed: int = 0) -> None:
    """Inputs that reach new code are kept and changed further. Ends the process: atheris does not come back.

    Args:
        load: imports the harness, and with it the code under test, which is instrumented as it is imported.
        artefacts: where the account is written.
        seconds: how long.
        seed: of libFuzzer; 0: another one each time.
    """
    import atheris  # type: ignore[import-untyped]  # it ships no types

    with atheris.instrument_imports(include=["agentguard"], enable_loader_override=False):
        harness = load()
    campaign = Campaign(harness, artefacts)
    numbers = [time.monotonic() + seconds]

    def one(data: bytes) -> None:
        campaign.try_one(data)
        if time.monotonic() >= numbers[0]:
            print(json.dumps(campaign.finish()), flush=True)
            os._exit(0)  # the only way out of libFuzzer's loop

    with tempfile.TemporaryDirectory(prefix="agentguard-corpus-") as corpus:
        anew = random.Random(seed)  # noqa: S311  # no cryptography
        for number, data in enumerate([*seeds(harness), *(anew.randbytes(256) for _ in range(20))]):
            Path(corpus, f"seed-{number}").write_bytes(data)
        words = Path(corpus, "words.dict")
        words.write_text("".join(f'"{_escaped(piece)}"\n' for piece in PIECES), "ascii")
        options = [
            f"-max_len={LONGEST}",
            f"-seed={seed}",
            f"-dict={words}",
            "-timeout=0",
            "-len_control=0",
            "-rss_limit_mb=4096",
            "-verbosity=0",
        ]
        folder = Path(corpus, "inputs")
        folder.mkdir()
        for path in Path(corpus).glob("seed-*"):
            path.rename(folder / path.name)
        atheris.Setup([sys.argv[0], *options, f"-artifact_prefix={artefacts / harness.name}/", str(folder)], one)
        run: Any = atheris.Fuzz
        run()


def _escaped(piece: bytes) -> str:
    return "".join(f"\\x{each:02x}" for each in piece)
