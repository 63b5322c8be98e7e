"""`agentguard gate claims`: the two questions that an audit trail is kept for, and what cannot be asked."""

import json
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from agentguard.cli import app
from agentguard.cli._exits import Exit
from agentguard.cli._gate import records
from agentguard.gate import GateConfig, load_config
from agentguard.gate._run import GateState
from agentguard.gate._types import Claim, ClaimVerdict, Label, Prompt, Reason, Response
from agentguard.gate.records._base import Event, RunSummary
from agentguard.gate.records._sqlite import SqliteRecords

CONFIG = "use_case: help desk\ndoc_sources: [{type: local, path: docs}]\n"
NOON = datetime(2026, 3, 15, 12, tzinfo=timezone.utc).timestamp()
DAY = 86_400.0
MONEY, REPAIRS = "When do I get my money back?", "Who repairs kettles?"
Ask = Callable[..., Any]


def judged(config: GateConfig, *said: tuple[str, str, Label]) -> GateState:
    """A run that has got as far as its verdicts: of each claim the prompt, the text and the label."""
    state = GateState(config)
    state.prompts = tuple(Prompt(f"p{n}", prompt) for n, (prompt, *_) in enumerate(said, 1))
    state.responses = tuple(Response(f"p{n}", text) for n, (_, text, _) in enumerate(said, 1))
    state.claims = tuple(Claim(f"p{n}.c1", f"p{n}", text) for n, (_, text, _) in enumerate(said, 1))
    state.evidence = ()
    why = (Reason("overlap", "as it is written"),)
    state.verdicts = tuple(
        ClaimVerdict(f"p{n}.c1", label, why, None, "", "rules") for n, (*_, label) in enumerate(said, 1)
    )
    return state


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Ask:
    """Runs of 14, 15 and 16 March and one of 10 April, one of which failed before it had claims."""
    folder = tmp_path_factory.mktemp("gate")
    path = folder / "gate.yaml"
    path.write_text(CONFIG)
    config = load_config(path)
    refund = (MONEY, "Refunds take 3 days.", "unsupported")
    runs = {
        "r14": (NOON - DAY, judged(config, refund)),
        "r15": (NOON, judged(config, refund, (REPAIRS, "Ann repairs all kettles.", "supported"))),
        "r16": (NOON + DAY, judged(config, (MONEY, "It takes 14 days.", "weakly_supported"))),
        "r17": (NOON + 2 * DAY, GateState(config)),
        "r41": (NOON + 26 * DAY, judged(config, refund, (REPAIRS, "Bob does.", "unsupported"))),
    }
    records = SqliteRecords(folder / ".llm-reliability" / "records.sqlite")
    for name, (at, state) in runs.items():
        records.save(RunSummary(name, "failed", at, config.use_case, config.digest, "m", "rules", "elsewhere:1"))
        records.append(name, Event("started", at, {"config": config.model_dump(mode="json"), "process": "elsewhere:1"}))
        wrote = {key: state.to_json(key) for key in state.written}
        records.append(name, Event("stage", at, {"name": "verify_claims", "wrote": wrote}))
    records.save(RunSummary("other", "failed", NOON, "another use", "1f", "m", "rules", "elsewhere:1"))
    records.close()

    def call(*words: str) -> Any:
        return CliRunner().invoke(app, ["gate", "claims", *words, "--config", str(path)])

    return call


def told(ask: Ask, *words: str) -> Any:
    done = ask(*words, "--json")
    assert done.exit_code == Exit.ACCEPT, done.output
    return json.loads(done.stdout)


def test_what_did_the_model_say_about_refunds_on_march_15(ask: Ask) -> None:
    said = told(ask, "refund", "--since", "2026-03-15", "--until", "2026-03-15")

    assert said["claims"] == [
        {
            "run_id": "r15", "started": NOON, "target": "m", "claim_id": "p1.c1", "claim": "Refunds take 3 days.",
            "label": "unsupported", "prompt": MONEY,
        }
    ]  # fmt: skip


def test_how_many_unsupported_claims_were_there_in_30_days(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records.time, "time", lambda: NOON + 30.5 * DAY)

    counted = told(ask, "--since", "30d", "--limit", "0")

    assert counted == {
        "use_case": "help desk", "runs": 2, "supported": 0, "weakly_supported": 1, "unsupported": 2, "claims": [],
    }  # fmt: skip


def test_what_is_asked_for_may_stand_in_the_question(ask: Ask) -> None:
    assert [each["run_id"] for each in told(ask, "MONEY", "days")["claims"]] == ["r41", "r16", "r15", "r14"]


def test_a_label_picks_what_is_listed_and_not_what_is_counted(ask: Ask) -> None:
    said = told(ask, "--label", "supported")

    assert [each["claim"] for each in said["claims"]] == ["Ann repairs all kettles."]
    assert (said["unsupported"], said["weakly_supported"]) == (4, 1)


def test_for_people(ask: Ask) -> None:
    done = ask("--limit", "2")

    assert done.stdout.splitlines() == [
        "6 claims in 4 runs: 1 supported, 1 weakly supported, 4 unsupported",
        "",
        "2026-04-10 12:00 UTC, run r41, m",
        "  p1.c1 unsupported Refunds take 3 days.",
        "  p2.c1 unsupported Bob does.",
        "  and 4 more; --limit N lists more of them",
    ]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--since", "yesterday"), "--since takes a day, 2026-03-15 for example, or days before now"),
        (("--until", "2026-02-30"), "--until takes a day"),
        (("--until", "9999-12-31"), "--until takes a day"),
        (("--label", "false"), "--label is one of supported, weakly_supported, unsupported, not 'false'"),
    ],
)
def test_what_cannot_be_asked(ask: Ask, words: tuple[str, str], message: str) -> None:
    done = ask(*words)

    assert done.exit_code == Exit.ERROR
    assert message in done.stderr


def test_no_records_are_made(tmp_path: Path) -> None:
    path = tmp_path / "gate.yaml"
    path.write_text(CONFIG)
    done = CliRunner().invoke(app, ["gate", "claims", "--config", str(path)])

    assert done.exit_code == Exit.ERROR
    assert "nothing is on record" in done.stderr
    assert [each.name for each in tmp_path.iterdir()] == ["gate.yaml"]
