"""The gate as the API asks it: a run, a run's record, the history. Nothing is kept between two requests.

Every request reads its configuration and opens its records anew, so that a file changed between two runs counts, and
one run cannot colour another. What is kept is how many runs are under way, and whether the server is stopping.

A path of a configuration is refused by its form before any file is looked at. What is left is resolved, links and all;
a file outside, a link that leads outside, a folder, a device, a file that is not there: each gets the same answer.
"""

from __future__ import annotations

import logging
import re
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Final

from pydantic import StringConstraints

from agentguard.errors import AgentGuardError, ConfigurationError, DataError, FileProblems, GateError
from agentguard.gate._config import GateConfig, load_config
from agentguard.gate._run import GateRun, evaluate, open_services, read_run
from agentguard.gate.records import open_records
from agentguard.gate.records._base import RunRecords, RunSummary
from agentguard.serving._app import ProblemError

# A part has no separator, no drive, no control character, and does not begin with two dots (nor is it one dot).
_PART: Final = r"\.?[^./\\:\x00-\x1f\x7f][^/\\:\x00-\x1f\x7f]*"
CONFIG_PATH_PATTERN: Final = rf"^({_PART}/)*{_PART}\.ya?ml$"

MAX_LENGTH: Final = 512
_FORM: Final = re.compile(CONFIG_PATH_PATTERN)

ConfigPath = Annotated[str, StringConstraints(max_length=MAX_LENGTH, pattern=CONFIG_PATH_PATTERN)]
"""Parts apart by ``/``, the last ending in ``.yaml`` or ``.yml``; never absolute, never with ``..``."""


def open_root(root: Path) -> Path:
    """The folder that configurations lie in, links resolved.

    Raises:
        ConfigurationError: If it is none.
    """
    try:
        resolved = root.resolve(strict=True)
        if stat.S_ISDIR(resolved.stat().st_mode):
            return resolved
    except (OSError, ValueError, RuntimeError):
        pass
    raise ConfigurationError(f"the root of the gate's API must be a folder: {str(root)!r} is none")


def is_config_path(text: str) -> bool:
    """Whether a text is of the form of a ``ConfigPath``."""
    return len(text) <= MAX_LENGTH and _FORM.fullmatch(text) is not None


def find_config(root: Path, config_path: str) -> Path | None:
    """The file that a path names, links resolved; None if the root holds no such file.

    Args:
        root: What ``open_root`` gave.
        config_path: Any text; what is not of the form of a ``ConfigPath`` finds nothing.
    """
    if not is_config_path(config_path):
        return None
    try:
        file = (root / config_path).resolve(strict=True)
        return file if file.is_relative_to(root) and stat.S_ISREG(file.stat().st_mode) else None
    except (OSError, ValueError, RuntimeError):  # not there, not readable, a lone surrogate, a circle of links
        return None


# --- Runs ---

#: Runs share their threads with short requests, of which the framework has 40.
MAX_RUNNING: Final = 32
RETRY_AFTER: Final = 30  # seconds: about what a short run takes

_log = logging.getLogger("agentguard.gate.api")


class _Stopping(BaseException):
    """Ends a run before its next stage. No ``Exception``: the pipeline records it as interrupted, not as failed."""


class Gate:
    """The gate as the API sees it.

    Args:
        root: The folder that configurations lie in.
        config_name: The configuration where a request names none.
        max_running: How many runs may be under way at once, 1 to 32.

    Raises:
        ConfigurationError: If one of them cannot be used.
    """

    def __init__(self, root: Path, config_name: str, max_running: int) -> None:
        if not 1 <= max_running <= MAX_RUNNING:
            raise ConfigurationError(f"max_running must be from 1 to {MAX_RUNNING}, not {max_running}")
        if not is_config_path(config_name):
            raise ConfigurationError(
                f"{config_name!r} names no configuration: a .yaml file, by its path below the root"
            )
        self._root = open_root(root)
        self._config_name = config_name
        self._free = threading.BoundedSemaphore(max_running)
        self._stopping = False  # no Event, whose lock a second signal would wait for in vain

    def stop(self) -> None:
        """Begin no run any more, and end those under way before their next stage; may be called by a signal."""
        self._stopping = True

    def evaluate(self, config_path: str | None) -> GateRun:
        """Run the gate once, to the end, whether or not somebody waits for the answer.

        Raises:
            ProblemError: If there is no result, with the reason.
        """
        config = self._config(config_path)
        if not self._free.acquire(blocking=False):
            raise ProblemError(
                429, "busy", "as many runs are under way as may be at once; try again later", retry_after=RETRY_AFTER
            )
        try:
            return self._run(config)
        finally:
            self._free.release()

    def read(self, run_id: str, config_path: str | None) -> tuple[GateRun, list[str]]:
        """A run as the records have it, and the kinds of the events of its trail.

        Raises:
            ProblemError: If there is none.
        """
        with self._records(config_path) as records:
            if records.summary(run_id) is None:
                raise ProblemError(404, "no-such-run", "the records have no run of this id")
            events = [event for event in records.events(run_id) if event.kind != "answer"]
            trail = [str(event.body.get("name", event.kind)) for event in events]
            return read_run(run_id, records), trail

    def history(self, limit: int, use_case: str | None, config_path: str | None) -> list[RunSummary]:
        """The newest runs.

        Raises:
            ProblemError: If they cannot be read.
        """
        with self._records(config_path) as records:
            return records.runs(limit, use_case=use_case)

    def _run(self, config: GateConfig) -> GateRun:
        run_id = stage = ""

        def on_stage(name: str, run: GateRun) -> None:
            nonlocal run_id, stage
            run_id, stage = run.run_id, name
            if self._stopping:
                raise _Stopping

        try:
            if self._stopping:
                raise _Stopping
            with open_services(config) as services:
                if not services.evidence.documents():
                    raise ProblemError(
                        409, "no-documents", "no documents are indexed; 'agentguard gate ingest' does it"
                    )
                return evaluate(config, services, on_stage=on_stage)
        except _Stopping:
            raise ProblemError(
                503,
                "stopping",
                "the server is shutting down" + ("; the run is recorded and can be resumed" if run_id else ""),
                run_id=run_id or None,
                stage=stage or None,
            ) from None
        except GateError as error:
            # Its message may quote what a model answered; the record of the run has it.
            _log.warning("run %s failed in stage %s (%s)", run_id, stage, type(error.__cause__ or error).__name__)
            raise ProblemError(
                502, "run-failed", "the run failed; its record tells why", run_id=run_id or None, stage=stage or None
            ) from None
        except (ConfigurationError, DataError) as error:
            raise _unusable(error) from None
        except AgentGuardError as error:
            raise _records_fault(error) from None

    @contextmanager
    def _records(self, config_path: str | None) -> Iterator[RunRecords]:
        config = self._config(config_path)
        try:
            records = open_records(config)
            try:
                yield records
            finally:
                records.close()
        except (ConfigurationError, DataError) as error:
            raise _unusable(error) from None
        except AgentGuardError as error:
            raise _records_fault(error) from None

    def _config(self, config_path: str | None) -> GateConfig:
        file = find_config(self._root, self._config_name if config_path is None else config_path)
        if file is None:
            raise ProblemError(404, "no-such-configuration", "the server's root has no such configuration")
        try:
            return load_config(file)
        except ConfigurationError as error:
            raise _faulty(error) from None


def _faulty(error: ConfigurationError) -> ProblemError:
    """A configuration with faults. The log has them, the answer their lines: the file may be confidential."""
    _log.warning("%s", "".join(char if char.isprintable() else " " for char in str(error)))
    lines = sorted({problem.line or 1 for problem in error.problems}) if isinstance(error, FileProblems) else []
    where = f" (lines {', '.join(map(str, lines[:20]))})" if lines else ""
    return ProblemError(422, "configuration", f"the configuration has faults{where}; the server's log tells which")


def _unusable(error: ConfigurationError | DataError) -> ProblemError:
    """A configuration that names what is not there or cannot be read: a file, a library, a key."""
    # The message may quote recorded answers.
    _log.warning("what the configuration names cannot be opened (%s)", type(error).__name__)
    said = "what the configuration names cannot be opened; 'agentguard gate run' tells why"
    return ProblemError(422, "configuration", said)


def _records_fault(error: AgentGuardError) -> ProblemError:
    _log.error("%s: the records or the evidence cannot be used", type(error).__name__)
    return ProblemError(500, "records", "the server's records or evidence cannot be used")
