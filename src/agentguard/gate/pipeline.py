"""A run of the gate: one stage after the other, each recorded as soon as it has written."""

from __future__ import annotations

import hashlib
import json
import secrets
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import Any, Final

from pydantic import ValidationError

from agentguard.errors import AgentGuardError, GateError
from agentguard.gate.config import GateConfig
from agentguard.gate.records.base import Event, RunRecords, RunSummary
from agentguard.gate.records.process import has_ended, this_process
from agentguard.gate.services import Services
from agentguard.gate.stages import STAGES, Stage
from agentguard.gate.state import GateState
from agentguard.gate.types import Decision, Prompt, Score

__all__ = ["GateRun", "evaluate", "read_run"]



@dataclass(frozen=True, slots=True)
class GateRun:
    """A run that has been finished, or what the records have of one.

    Attributes:
        run_id: names it in records and reports.
        state: all that its stages wrote.
        summary: its line in the history.
    """

    run_id: str
    state: GateState
    summary: RunSummary

    @property
    def score(self) -> Score:
        """The outcome.

        Raises:
            GateError: where the run did not get so far.
        """
        return self.state.score

    @property
    def decision(self) -> Decision:
        """``deploy``, ``warn`` or ``block``.

        Raises:
            GateError: where the run did not get so far.
        """
        return self.state.score.decision


OnStage = Callable[[str, GateRun], None]
"""Takes the name of a stage that begins, and the run so far."""


def evaluate(
    config: GateConfig,
    services: Services,
    *,
    resume: str | None = None,
    stages: Sequence[Stage] = STAGES,
    on_stage: OnStage | None = None,
) -> GateRun:
    """Run the gate once. Every run leaves its record, however it ends.

    Args:
        config: the gate's configuration.
        services: what ``open_services`` opened.
        resume: a run that was interrupted or failed: what its stages wrote is taken over, and the others are run.
        stages: in place of the six; a stage of one's own writes keys of its own.
        on_stage: called with the name of each stage before it begins, and the run so far.

    Raises:
        GateError: naming the stage that failed; what the stages before it wrote is in the records.
        StoreError: where the records cannot be written.
    """
    recorder = _Recorder.resumed(config, services, resume) if resume else _Recorder.started(config, services)
    stage_name = ""
    try:
        for stage in stages:
            stage_name = stage.__name__
            if stage_name in recorder.done:
                continue
            if on_stage is not None:
                on_stage(stage_name, recorder.run)
            before = len(recorder.state.written)
            stage(recorder.state, services)
            recorder.stage(stage_name, recorder.state.written[before:])
        return recorder.finished()
    except Exception as error:
        # What a foreign exception says may quote documents and answers: its class tells enough, and it is chained.
        said = str(error) if isinstance(error, AgentGuardError) else f"{type(error).__name__} was raised"
        failure = GateError(said, stage_name, recorder.run.run_id)
        recorder.ended("failed", str(failure))
        raise failure from error
    except BaseException as error:
        recorder.ended("interrupted", f"{stage_name}: {type(error).__name__}")
        raise


def read_run(run_id: str, records: RunRecords) -> GateRun:
    """A run as the records have it, finished or not.

    Raises:
        GateError: where there is no such run, or its record cannot be read back.
    """
    summary = records.summary(run_id)
    if summary is None:
        raise GateError(f"there is no run {run_id!r} in the records")
    events = records.events(run_id)
    try:
        state = GateState(GateConfig.model_validate(events[0].body["config"] if events else {}))
    except (ValidationError, KeyError) as error:
        raise GateError(f"the record of run {run_id!r} does not tell its configuration") from error
    for event in events:
        if event.kind == "stage":
            state.restore(event.body["wrote"])
    return GateRun(run_id, state, summary)


class _Recorder:
    """Writes a run's trail and summary as it goes."""

    def __init__(self, run: GateRun, done: Iterable[str], services: Services) -> None:
        self.run = run
        self.state = run.state
        self.done: Final = frozenset(done)
        self._services = services
        self._records = services.records

    @classmethod
    def started(cls, config: GateConfig, services: Services) -> _Recorder:
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
        recorder._append("started", {"config": config.model_dump(mode="json")})
        return recorder

    @classmethod
    def resumed(cls, config: GateConfig, services: Services, run_id: str) -> _Recorder:
        run = read_run(run_id, services.records)
        if run.summary.status == "finished":
            raise GateError(f"run {run_id} is finished; there is nothing to resume")
        if run.summary.status == "running" and _runs_here(run.summary.process):
            raise GateError(f"run {run_id} is still running, as process {run.summary.process}")
        if run.summary.config_digest != config.digest:
            raise GateError(f"run {run_id} began with another configuration; begin a new run")
        evidence = run.summary.evidence_digest
        if evidence and evidence != services.evidence.digest():
            raise GateError(f"the documents have changed since run {run_id} searched them; begin a new run")
        done = [event.body["name"] for event in services.records.events(run_id) if event.kind == "stage"]
        summary = replace(run.summary, status="running", ended=None, error="", process=this_process())
        recorder = cls(replace(run, summary=summary), done, services)
        recorder._save()
        recorder._append("resumed", {"after": done})
        return recorder

    def stage(self, name: str, wrote: Sequence[str]) -> None:
        self._append("stage", {"name": name, "wrote": {key: self.state.to_json(key) for key in wrote}})
        if "prompts" in wrote:
            self._save(prompts_digest=_digest_of(self.state.prompts))
        if "evidence" in wrote:
            self._save(evidence_digest=self._services.evidence.digest())

    def finished(self) -> GateRun:
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


def _runs_here(process: str) -> bool:
    """Whether it is a living process of this machine; of another machine's, whoever resumes its run knows."""
    return process.split(":")[0] == this_process().split(":")[0] and not has_ended(process)


def _new_id(now: float) -> str:
    """``20261121T164918.123Z-3f9a2c``: sorts by time, and two of one millisecond differ."""
    moment = datetime.fromtimestamp(now, timezone.utc)
    return f"{moment:%Y%m%dT%H%M%S}.{moment.microsecond // 1000:03d}Z-{secrets.token_hex(3)}"


def _digest_of(prompts: Sequence[Prompt]) -> str:
    asked = json.dumps([[prompt.id, prompt.text] for prompt in prompts])
    return hashlib.blake2b(asked.encode(), digest_size=16).hexdigest()
