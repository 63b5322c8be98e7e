"""Targets one after the other, each in a process of its own: what ends the process ends neither search nor count.

A search that runs out of memory, hangs in C or crashes has found something: the input is kept, the process is begun
again, and goes on from the corpus. What takes too long is tried once more by itself, for to count branches takes time.
Ctrl-C ends the search in hand as if its time were up.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any, Final

from fuzz.campaign import again
from fuzz.engines import WHERE, has_atheris
from fuzz.harness import scratch
from fuzz.record import Finding, Searched, kept
from fuzz.target import Target, alone
from fuzz.trying import HANG_SECONDS

__all__ = ["Search", "campaign"]

_STATUS: Final = re.compile(rb"^#\d+\t.* cov: (\d+) ft: \d+ corp: (\d+)/", re.MULTILINE)
_LOOKED_AT_EVERY: Final = 1.0  # seconds
_TOLD_EVERY: Final = 60.0  # seconds, where nobody watches
_TO_FINISH: Final = 300.0  # seconds a search has to end, once it is told to: findings are made short
_MOST_DEATHS: Final = 50
_TAIL: Final = 16_384  # bytes of what was said
_ROOT: Final = Path(__file__).resolve().parents[1]


class Search:
    """The search of one target, over as many processes as it takes.

    Args:
        target: what is searched.
        artefacts: where its folder lies.
        seconds: how long.
        engine: ``guided`` or ``blind``.
        seed: of the first process; each further one has the next.
        command: what is run with the options of ``python -m fuzz``.

    """

    def __init__(
        self,
        target: Target,
        artefacts: Path,
        seconds: float,
        *,
        engine: str,
        seed: int = 0,
        command: tuple[str, ...] = (sys.executable, "-m", "fuzz"),
    ) -> None:
        self.target, self._seconds, self._engine, self._seed = target, seconds, engine, seed
        self._artefacts, self._folder, self._command = artefacts, artefacts / target.name, command
        self._done: list[dict[str, Any]] = []  # the accounts of processes that ended
        self._died_of: dict[str, bytes] = {}
        self._reached = (0, 0)  # edges, and inputs in the corpus; one that began again reaches less at first
        self._log = self._folder / "search.log"

    def run(self, watch: Callable[[Searched], None]) -> Searched:
        """Search until the time is up; the figures.

        Args:
            watch: is told of the figures once a second.

        Raises:
            KeyboardInterrupt: after the process in hand was told to end, and has.
            RuntimeError: where it did not come to try an input, with what it said.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        self._log.unlink(missing_ok=True)
        deaths = 0
        while (left := self._seconds - self.figures().seconds) > 0 and deaths < _MOST_DEATHS:
            (self._folder / "account.json").unlink(missing_ok=True)
            before = set(self._folder.iterdir())
            code = self._one_process(left, watch)
            self._done.append(self._account())
            if code in (0, 1):  # its time was up
                if not self._done[-1]:
                    raise RuntimeError(
                        f"the search of {self.target.name} did not begin:\n{self._said().decode('utf-8', 'replace')}"
                    )
                break
            deaths += 1
            self._died(code, before)
        return self.figures()

    def _one_process(self, seconds: float, watch: Callable[[Searched], None]) -> int:
        options = (self.target.name, "--engine", self._engine, "--seconds", f"{seconds:.1f}")
        seed = self._seed + len(self._done)
        made = tempfile.mkdtemp(prefix="agentguard-fuzz-", dir=scratch())
        try:
            with self._log.open("ab") as log:
                process = subprocess.Popen(  # noqa: S603  # this project's own code
                    [*self._command, *options, "--seed", str(seed), "--artefacts", str(self._artefacts)],
                    cwd=_ROOT, stdout=log, stderr=log, start_new_session=True, env={**os.environ, "TMPDIR": made},
                )  # fmt: skip
                try:
                    self._wait(process, watch)
                except KeyboardInterrupt:
                    process.send_signal(signal.SIGTERM)
                    self._ended(process)
                    self._done.append(self._account())
                    raise
                return process.returncode
        finally:
            shutil.rmtree(made, ignore_errors=True)

    def _wait(self, process: subprocess.Popen[bytes], watch: Callable[[Searched], None]) -> None:
        while True:
            try:
                process.wait(_LOOKED_AT_EVERY)
                return
            except subprocess.TimeoutExpired:
                watch(self.figures(running=True))

    @staticmethod
    def _ended(process: subprocess.Popen[bytes]) -> None:
        try:
            process.wait(_TO_FINISH)
        except (subprocess.TimeoutExpired, KeyboardInterrupt):
            process.kill()
            process.wait()

    def _died(self, code: int, before: set[Path]) -> None:
        """What the process left behind when it died: the input, and what it said."""
        said = self._said().decode("utf-8", "replace")
        new = {path for path in self._folder.iterdir() if path not in before}
        inputs = sorted(path for path in new if re.fullmatch(r"(crash|timeout|oom|leak)-[0-9a-f]{40}", path.name))
        if not inputs and (self._folder / "current").exists():  # of the blind engine
            inputs = [self._folder / f"crash-{len(self._done)}"]
            shutil.copyfile(self._folder / "current", inputs[0])
        for path in inputs:
            kind, (harness, _, _) = path.name.split("-")[0], self.target.opened(path.read_bytes())
            key = f"{kind} in {harness.name} (code {code})"
            if kind == "timeout" and self._ends(path):
                key = f"slow: {key}"
            else:
                self._died_of.setdefault(key, path.read_bytes())
            path.with_suffix(".txt").write_text(f"{key}\n\n{again(self.target, path)}\n\n{said}", "utf-8")
        if not inputs:
            self._died_of.setdefault(f"the process ended with code {code}", b"")

    def _ends(self, path: Path) -> bool:
        """Where nothing counts its branches, the input takes no longer than it may, and breaks no promise."""
        command = [*self._command, self.target.name, "--replay", str(path)]
        try:
            ran = subprocess.run(command, cwd=_ROOT, capture_output=True, timeout=4 * HANG_SECONDS, check=False)  # noqa: S603
        except subprocess.TimeoutExpired:
            return False
        return ran.returncode == 0

    def _said(self) -> bytes:
        """The end of what the processes said."""
        if not self._log.exists():
            return b""
        with self._log.open("rb") as log:
            log.seek(max(self._log.stat().st_size - _TAIL, 0))
            return log.read()

    def _account(self) -> dict[str, Any]:
        path = self._folder / "account.json"
        found: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.exists() else {}
        return found

    def figures(self, *, running: bool = False) -> Searched:
        """What was done so far."""
        accounts = [each for each in (*self._done, self._account() if running else {}) if each]
        tried: Counter[str] = Counter()
        broke = dict(self._died_of)
        for account in accounts:
            tried.update(account["tried"])
            broke |= {key: bytes.fromhex(data) for key, data in account["failures"].items()}
        slowest = max(accounts, key=lambda each: each["slowest_ms_per_kib"], default={})
        for state in _STATUS.findall(self._said()):
            edges, inputs_kept = map(int, state)
            self._reached = max(self._reached, (edges, inputs_kept))
        edges, inputs_kept = self._reached if any(self._reached) else (None, None)
        return Searched(
            self.target.name, self._engine, sum(tried.values()), round(sum(each["seconds"] for each in accounts), 1),
            edges, inputs_kept, dict(tried), tuple(self._finding(key, data) for key, data in broke.items()),
            slowest.get("slowest_ms_per_kib", 0.0), slowest.get("slowest_bytes", 0),
        )  # fmt: skip

    def _finding(self, broke: str, data: bytes) -> Finding:
        harness, body, large = self.target.opened(data)
        return Finding(broke, harness.name, alone(harness).sealed(harness, body, large=large).hex() if data else "")


def campaign(names: Sequence[str], seconds: float, engine: str | None, seed: int, artefacts: Path, record: Path) -> int:
    """Search targets for so many seconds each, and keep the figures of a long search; the exit code.

    Args:
        names: of the targets; none: all.
        seconds: how long each.
        engine: None: guided, where atheris is installed.
        seed: of the first search.
        artefacts: where what was found is kept.
        record: where the figures of a long search are kept.
    """
    from fuzz.targets import TARGETS

    unknown = [name for name in names if name not in TARGETS]
    if unknown:
        raise SystemExit(f"no target {', '.join(unknown)}; known are {', '.join(TARGETS)}")
    if engine is None:
        engine = "guided" if has_atheris() else "blind"
        if engine == "blind":
            print(f"atheris is not installed: the search is blind, and finds less. It comes with `dev` on {WHERE}.")
    found: dict[str, Searched] = {}
    code = 0
    for number, target in enumerate(TARGETS.values()):
        if names and target.name not in names:
            continue
        search = Search(target, artefacts, seconds, engine=engine, seed=seed + 1000 * number + 1)
        show = _Shown(target.name, seconds, sys.stderr)
        try:
            found[target.name] = search.run(show)
        except KeyboardInterrupt:
            found[target.name], code = search.figures(), 130
        show.last(found[target.name])
        kept(found[target.name], record, tuple(TARGETS))
        if code:
            break
    _conclude(found, artefacts)
    return code or int(any(each.findings for each in found.values()))


class _Shown:
    """The figures of a search in one line: over and over on a terminal, elsewhere once a minute."""

    def __init__(self, name: str, seconds: float, stream: IO[str]) -> None:
        self._name, self._seconds, self._stream = name, seconds, stream
        self._live = stream.isatty()
        self._told = time.monotonic()

    def __call__(self, searched: Searched) -> None:
        if self._live:
            self._stream.write(f"\r\x1b[K{self._line(searched)}")
        elif time.monotonic() - self._told >= _TOLD_EVERY:
            self._told = time.monotonic()
            self._stream.write(f"{self._line(searched)}\n")
        self._stream.flush()

    def last(self, searched: Searched) -> None:
        """The line that stays."""
        self._stream.write(f"{chr(13) + chr(27) + '[K' if self._live else ''}{self._line(searched)}\n")
        self._stream.flush()

    def _line(self, searched: Searched) -> str:
        edges = "" if searched.edges is None else f", {searched.edges:,} edges"
        return (
            f"{self._name:10} {searched.seconds:6,.0f} of {self._seconds:,.0f} s, {searched.inputs:,} inputs, "
            f"{searched.rate:,.0f} a second{edges}, {len(searched.findings)} findings"
        )


def _conclude(found: dict[str, Searched], artefacts: Path) -> None:
    inputs = sum(each.inputs for each in found.values())
    findings = [(each.target, finding) for each in found.values() for finding in each.findings]
    print(f"{inputs:,} inputs, {len(findings)} findings")
    for target, finding in findings:
        print(f"  {target}: {finding.harness}: {finding.broke}")
    if findings:
        print(f"Each with the command that tries it again in {artefacts}/TARGET/*.txt")
