"""Writes down a run while it goes: each stage as soon as it is done, and the end, whatever it is."""

from __future__ import annotations

import hashlib
import json
import secrets
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final

from agentguard.errors import AgentGuardError, GateError
from agentguard.gate.config import GateConfig
from agentguard.gate.records.base import Event, RunSummary
from agentguard.gate.records.process import has_ended, this_process
from agentguard.gate.runs import GateRun, read_run
from agentguard.gate.services import Services
from agentguard.gate.state import GateState
from agentguard.gate.types import Prompt

__all__ = ["Recorder"]


class Recorder:
    """Writes a run's trail and summary as it goes.

    Attributes:
        run: so far.
        state: what its stages wrote.
        done: the stages that need not be run again.
    """

    def __init__(self, run: GateRun, done: Iterable[str], services: Services) -> None:
        self.run = run
        self.state = run.state
        self.done: Final = frozenset(done)
        self._services = services
        self._records = services.records

    @classmethod
    def started(cls, config: GateConfig, services: Services) -> Recorder:
        """Of a new run."""
        now = time.time()
        summary = RunSummary(
            run_id=_new_id(now),
            status="running",
            started=now,
            use_case=config.use_case,
            config_digest=config.digest,
            target=services.target.name,
            judge=services.judge.name,
            process=this_process(),
        )
        recorder = cls(GateRun(summary.run_id, GateState(config), summary), (), services)
        recorder._save()
        declared = config.model_dump(mode="json")
        recorder._append("started", {"config": declared, "process": summary.process, "agentguard": _version()})
        return recorder

    @classmethod
    def resumed(cls, config: GateConfig, services: Services, run_id: str) -> Recorder:
        """Of a run that was begun before.

        Raises:
            GateError: where there is none, it has finished, is under way, or began with other things.
        """
        trail = services.records.events(run_id)
        run = read_run(run_id, services.records)
        if run.summary.status == "finished":
            raise GateError(f"run {run_id} is finished; there is nothing to resume")
        running = next(filter(_runs_here, _under_way(trail)), None)
        if running is not None:
            raise GateError(f"run {run_id} is still running, as process {running}")
        if run.summary.config_digest != config.digest:
            raise GateError(f"run {run_id} began with another configuration; begin a new run")
        evidence = run.summary.evidence_digest
        if evidence and evidence != services.evidence.digest():
            raise GateError(f"the documents have changed since run {run_id} searched them; begin a new run")
        done = [event.body["name"] for event in trail if event.kind == "stage"]
        summary = replace(run.summary, status="running", ended=None, error="", process=this_process())
        recorder = cls(replace(run, summary=summary), done, services)
        taken = secrets.token_hex(8)
        recorder._append("resumed", {"after": done, "process": summary.process, "taken": taken})
        # Several may have come as far as this at once: the run is whose event was the first.
        since = services.records.events(run_id)[len(trail) :]
        if next(event.body["taken"] for event in since if event.kind == "resumed") != taken:
            raise GateError(f"run {run_id} has just been resumed by another process")
        recorder._save()
        return recorder

    def stage(self, name: str, wrote: Sequence[str]) -> None:
        """Notes what a stage wrote."""
        self._append("stage", {"name": name, "wrote": {key: self.state.to_json(key) for key in wrote}})
        if "prompts" in wrote:
            self._save(prompts_digest=_digest_of(self.state.prompts))
        if "evidence" in wrote:
            self._save(evidence_digest=self._services.evidence.digest())

    def finished(self) -> GateRun:
        """Notes the score; returns the run."""
        score = self.state.score
        self._append("finished", {"score": self.state.to_json("score")})
        self._save(
            status="finished",
            ended=time.time(),
            decision=score.decision,
            risk=score.risk,
            total_claims=score.total_claims,
            supported=score.supported,
            weakly_supported=score.weakly_supported,
            unsupported=score.unsupported,
        )
        return self.run

    def ended(self, kind: Any, error: str) -> None:
        """Notes an end before the end; where even this fails, the reason for the end must still be told."""
        try:
            self._append(kind, {"error": error})
            self._save(status=kind, ended=time.time(), error=error)
        except AgentGuardError as failure:
            raise GateError(f"{error}; and it could not be recorded: {failure}") from failure

    def _append(self, kind: str, body: dict[str, Any]) -> None:
        self._records.append(self.run.run_id, Event(kind, time.time(), body))

    def _save(self, **changes: Any) -> None:
        self.run = replace(self.run, summary=replace(self.run.summary, **changes))
        self._records.save(self.run.summary)


def _under_way(trail: Iterable[Event]) -> list[str]:
    """The processes that have begun or resumed a run, by its trail, since it last ended."""
    processes: list[str] = []
    for event in trail:
        if event.kind in ("started", "resumed"):
            processes.append(str(event.body["process"]))
        elif event.kind != "stage":
            processes.clear()
    return processes


def _runs_here(process: str) -> bool:
    """Whether it is a living process of this machine; of another machine's, whoever resumes its run knows."""
    return process.split(":")[0] == this_process().split(":")[0] and not has_ended(process)


def _new_id(now: float) -> str:
    """``20261121T164918.123Z-3f9a2c``: sorts by time, and two of one millisecond differ."""
    moment = datetime.fromtimestamp(now, timezone.utc)
    return f"{moment:%Y%m%dT%H%M%S}.{moment.microsecond // 1000:03d}Z-{secrets.token_hex(3)}"


def _version() -> str:
    """Of agentguard, whose requests to a judge differ from version to version; empty where it is not installed."""
    try:
        return version("agentguard")
    except PackageNotFoundError:
        return ""


def _digest_of(prompts: Sequence[Prompt]) -> str:
    asked = json.dumps([[prompt.id, prompt.text] for prompt in prompts])
    return hashlib.blake2b(asked.encode(), digest_size=16).hexdigest()
