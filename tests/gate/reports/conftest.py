"""A finished run to report on: three claims of two answers, one of each label."""

from collections.abc import Callable

import pytest

from agentguard.gate._config import parse_config
from agentguard.gate._run import GateRun, GateState, score_verdicts
from agentguard.gate._types import Chunk, Claim, ClaimVerdict, Evidence, Passage, Prompt, Reason, Response
from agentguard.gate.records._base import RunSummary

SAID = "The warranty lasts\ntwo years. Keep it."
WARRANTY = Chunk(
    "w1", "docs/warranty.md", "Warranty", "Warranty > How long", "The warranty lasts\ntwo years. Keep it.", 0, 38
)
RETURNS = Chunk("r1", "docs/returns.md", "Returns", "", "Returns are taken within 30 days.", 0, 33)

Build = Callable[..., GateRun]


@pytest.fixture(scope="session")
def build() -> Build:
    """Makes the run; ``text`` stands in every place that is filled from outside."""

    def made(text: str = "", claims: int = 3) -> GateRun:
        config = parse_config(
            {"use_case": "help desk", "doc_sources": [{"type": "local", "path": "docs"}],
             "risk_tolerance": {"deploy_threshold": 0.1, "warn_threshold": 0.4}}
        )  # fmt: skip
        state = GateState(config)
        answer = f"It lasts three years. Returns take 30 days.{text}"
        warranty = Chunk(
            "w1", WARRANTY.document + text, "Warranty", WARRANTY.heading + text, WARRANTY.text + text, 0, 38
        )
        state.prompts = (Prompt("p1", f"How long?{text}", f"factual_recall{text}"), Prompt("p2", "And you?"))
        state.responses = (Response("p1", answer), Response("p2", f"We are nice.{text}"))
        state.claims = (
            Claim("p1.c1", "p1", f"The warranty lasts three years.{text}", 0, 21),
            Claim("p1.c2", "p1", "Returns take 30 days.", 22, 43),
            Claim("p2.c1", "p2", f"The staff are nice.{text}"),
        )[:claims]
        state.evidence = (
            Evidence("p1.c1", (Passage(RETURNS, 0.03), Passage(warranty, 0.02))),
            Evidence("p1.c2", (Passage(RETURNS, 0.03),)),
            Evidence("p2.c1", ()),
        )[:claims]
        wrong = Reason("number", f"three is not two{text}", f"three years{text}", f"two years{text}")
        state.verdicts = (
            ClaimVerdict("p1.c1", "unsupported", (wrong,), "w1", "The warranty lasts two years.", "rules"),
            ClaimVerdict("p1.c2", "supported", (Reason("overlap", "all is there"),), "r1", RETURNS.text, "rules"),
            ClaimVerdict("p2.c1", "weakly_supported", (Reason("overlap", f"half{text}"),), None, "", "rules"),
        )[:claims]
        state.score = score_verdicts(state.verdicts, config.risk_tolerance)
        summary = RunSummary(
            run_id="20261121T120000.000Z-a1b2c3", status="finished", started=1_795_262_400.0, ended=1_795_262_412.5,
            use_case=f"help desk{text}", config_digest=config.digest, target=f"ollama:llama3.2{text}", judge="rules",
            process="builder:17", prompts_digest="2e", evidence_digest="3d" * 16, decision=state.score.decision,
            risk=state.score.risk, total_claims=3, supported=1, weakly_supported=1, unsupported=1,
        )  # fmt: skip
        return GateRun(summary.run_id, state, summary)

    return made


@pytest.fixture
def run(build: Build) -> GateRun:
    return build()
