"""The reliability gate as a user's type checker sees it: read by mypy --strict, run by pytest."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import pytest
from typing_extensions import assert_type

from agentguard.errors import ConfigurationError
from agentguard.gate import (
    Case,
    Claim,
    ClaimVerdict,
    GateConfig,
    GateRun,
    IngestReport,
    Judge,
    Prompt,
    Reason,
    Response,
    Score,
    Services,
    Target,
    evaluate,
    ingest,
    load_config,
    open_services,
    parse_config,
    read_run,
)


def config_of(folder: Path) -> GateConfig:
    (folder / "docs").mkdir()
    (folder / "docs" / "warranty.md").write_text("The warranty of a kettle lasts two years.\n", encoding="utf-8")
    (folder / "answers.jsonl").write_text(
        '{"prompt": "How long is the warranty?", "response": "The warranty of a kettle lasts five years."}\n',
        encoding="utf-8",
    )
    data = {
        "use_case": "support assistant of a shop",
        "doc_sources": [{"type": "local", "path": "docs"}],
        "evaluation": {"responses": "answers.jsonl"},
    }
    return parse_config(data, folder)


def test_a_run_and_what_it_found(tmp_path: Path) -> None:
    config = config_of(tmp_path)
    assert_type(config, GateConfig)
    assert_type(config.risk_tolerance.deploy_threshold, float)
    with open_services(config) as services:
        assert_type(services, Services)
        taken = ingest(config, services)
        assert_type(taken, IngestReport)
        assert_type(taken.added, int)
        assert_type(taken.problems, tuple[tuple[str, str], ...])
        run = evaluate(config, services)
        assert_type(run, GateRun)
        assert_type(run.run_id, str)
        assert_type(run.decision, Literal["deploy", "warn", "block"])
        assert_type(run.score, Score)
        assert_type(run.score.risk, float)
        assert_type(run.score.unsupported, int)
        assert_type(run.state.prompts, tuple[Prompt, ...])
        assert_type(run.state.responses, tuple[Response, ...])
        assert_type(run.state.claims, tuple[Claim, ...])
        assert_type(run.state.verdicts, tuple[ClaimVerdict, ...])
        assert_type(run.state.verdicts[0].label, Literal["supported", "weakly_supported", "unsupported"])
        assert_type(run.state.verdicts[0].reasons, tuple[Reason, ...])
        assert_type(run.state.verdicts[0].chunk_id, str | None)
        assert_type(read_run(run.run_id, services.records), GateRun)
    assert (taken.added, run.decision, run.state.verdicts[0].label) == (1, "block", "unsupported")


class OwnModel:
    """A user's model under test, by its shape alone."""

    name = "own"

    def respond(self, prompts: Sequence[Prompt]) -> list[str]:
        return ["" for _ in prompts]


class OwnJudge:
    """A user's judge, by its shape alone."""

    name = "own"

    def write_prompts(self, use_case: str, categories: Sequence[str], number: int) -> list[Prompt]:
        return []

    def extract_claims(self, responses: Sequence[Response]) -> list[list[Claim]]:
        return [[] for _ in responses]

    def verify(self, cases: Sequence[Case]) -> list[ClaimVerdict]:
        return []


def test_models_and_judges_of_ones_own_are_taken_by_their_shape(tmp_path: Path) -> None:
    config = config_of(tmp_path)
    target: Target = OwnModel()
    judge: Judge = OwnJudge()

    with open_services(config, target=target, judge=judge) as services:
        ingest(config, services)
        assert evaluate(config, services).score.total_claims == 0
    with open_services(config, target=lambda prompt: prompt.upper()) as services:
        assert_type(services, Services)


def test_a_configuration_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError):
        assert_type(load_config(tmp_path / "absent.yaml"), GateConfig)


def refused(config: GateConfig, services: Services, run: GateRun) -> None:
    """Never called: each line is an error to the type checker."""
    parse_config([])  # type: ignore[arg-type]  # a mapping
    evaluate(config)  # type: ignore[call-arg]  # services are opened, and closed, by the caller
    evaluate(config, services, "r1")  # type: ignore[call-arg]  # all but these two is given by name
    evaluate(config, services, resume=1)  # type: ignore[arg-type]  # the name of a run
    run.score.risk = 0.0  # type: ignore[misc]  # a score is not changed
    assert run.decision != "pass"  # type: ignore[comparison-overlap]  # not one of the three
