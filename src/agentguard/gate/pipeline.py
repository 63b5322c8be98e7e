"""A run of the gate: one stage after the other, each recorded as soon as it has written."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from agentguard.errors import AgentGuardError, GateError
from agentguard.gate.config import GateConfig
from agentguard.gate.recorder import Recorder
from agentguard.gate.runs import GateRun
from agentguard.gate.services import Services
from agentguard.gate.stages import STAGES, Stage

__all__ = ["OnStage", "evaluate"]

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
    recorder = Recorder.started(config, services) if resume is None else Recorder.resumed(config, services, resume)
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
