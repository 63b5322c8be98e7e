"""`agentguard audit`: which claims no call supports, in every form and with its exit code."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import pytest
from typer.testing import CliRunner

from agentguard.cli import app
from agentguard.cli._audit import SHOWN, VALUES_SHOWN
from agentguard.content import actions
from agentguard.traces._audit import held
from agentguard.traces._read import read_found
from agentguard.traces._turns import Made, Turn

runner = CliRunner()

HONEST = [
    {"session_id": "s1", "question": "Run the tests"},
    {"session_id": "s1", "tool": "run_tests", "args": {"path": "tests"}, "result": "48 passed", "call_id": "c1"},
    {"session_id": "s1", "answer": "I ran the tests: 48 passed."},
]
TOOLS = [
    {"name": "run_tests", "description": "Run the tests in a folder.", "parameters": {"properties": {"path": {}}}},
    {"name": "send_email", "description": "Send an e-mail.", "parameters": {"properties": {"to": {}}}},
]
LIES = [
    {"session_id": "s2", "tools": TOOLS},
    {"session_id": "s2", "question": "Run the tests, and mail me"},
    {"session_id": "s2", "answer": "I'll now run the tests."},
    {"session_id": "s2", "tool": "run_tests", "args": {"path": "tests"}, "result": "3 failed, 45 passed"},
    {"session_id": "s2", "answer": "All tests pass, and I sent Ada an email."},
]


@pytest.fixture
def log(tmp_path: Path) -> Any:
    def write(*records: dict[str, Any]) -> str:
        path = tmp_path / "agent.jsonl"
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
        return str(path)

    return write


def run(*words: str, code: int = 0, stdin: str | None = None) -> str:
    result = runner.invoke(app, ["audit", *words], input=stdin)
    assert result.exit_code == code, result.output
    return result.output


def test_honest_answers_end_with_0(log: Any) -> None:
    output = run(log(*HONEST))
    assert output.splitlines() == [
        "nothing was found that does not hold",
        "",
        "in 1 answer: 0 claims could not be checked, 1 claim and 1 value are supported; claims are read in English",
    ]


def test_a_newcomer_reads_which_claims_no_call_supports_and_why(log: Any) -> None:
    output = run(log(*HONEST, *LIES), code=1)
    lines = [line.strip() for line in output.splitlines()]
    assert lines[0] == ("2 statements do not hold: 1 claim that the calls contradict, 1 claim of work that no call did")
    assert lines[1] == "contradicted: “All tests pass”"
    assert "3 failed" in lines[2]
    assert lines[3].endswith("agent.jsonl:8, session s2")
    assert lines[4].startswith("run_tests, ")
    assert lines[4].endswith("returned: 3 failed, 45 passed")
    assert lines[5] == "never called: “I sent Ada an email”"
    assert "I'll now run" not in output


def test_json_has_every_claim_with_its_call(log: Any) -> None:
    found = json.loads(run(log(*HONEST, *LIES), "--json", code=1))
    assert (found["answers"], found["claims"]["supported"]) == (2, 1)
    (answer,) = found["findings"]
    assert (answer["session"], answer["line"]) == ("s2", 8)
    assert [claim["verdict"] for claim in answer["claims"]] == ["contradicted", "never called"]
    assert answer["claims"][0]["call"]["result"] == "3 failed, 45 passed"
    assert answer["claims"][1]["call"] is None


def test_standard_input_is_read(log: Any) -> None:
    text = Path(log(*LIES)).read_text()
    assert "never called" in run("-", code=1, stdin=text)


def test_what_makes_it_fail_is_asked_for(log: Any) -> None:
    path = log(*HONEST[:2], {"session_id": "s1", "answer": "It took 650 seconds."})
    assert "value: “650" in run(path)
    run(path, "--fail-on", "values", code=1)
    run(log(*LIES), "--fail-on", "none")


def test_sarif_and_junit_are_written_beside(log: Any, tmp_path: Path) -> None:
    sarif, junit = tmp_path / "a.sarif", tmp_path / "a.xml"
    run(log(*LIES), "--sarif", str(sarif), "--junit", str(junit), code=1)
    (part,) = json.loads(sarif.read_text())["runs"]
    assert [result["ruleId"] for result in part["results"][:2]] == ["claims/contradicted", "claims/never-called"]
    assert part["results"][0]["locations"][0]["physicalLocation"]["region"] == {"startLine": 5}
    suites = Xml.fromstring(junit.read_text())  # noqa: S314 -- our own
    failed = suites.findall(".//testcase[failure]")
    assert [case.get("name") for case in failed] == ["All tests pass", "I sent Ada an email"]
    assert suites.get("failures") == "2"


def test_a_profile_says_what_a_tool_does(log: Any, tmp_path: Path) -> None:
    path = log(
        {"session_id": "s1", "tool": "tm7", "args": {"to": "Ada"}, "result": "ok"},
        {"session_id": "s1", "answer": "I emailed Ada."},
    )
    profile = tmp_path / "profiles" / "tm7.yaml"
    profile.parent.mkdir()
    profile.write_text("name: tm7\ndoes: [email person]\n")
    assert "0 claims and" in run(path, "--fail-on", "none")
    assert "1 claim and" in run(path, "--profiles", str(profile.parent))


def test_a_log_without_answers_is_an_error(log: Any) -> None:
    assert "is an answer" in run(log(HONEST[1]), code=3)
    run(str(Path(log(HONEST[1])).with_name("none.jsonl")), code=3)


def test_control_characters_of_a_log_do_not_reach_the_terminal(log: Any) -> None:
    assert "\x1b" not in run(log({"session_id": "\x1b[31m", "answer": "I have sent an email to Ada.\x1b[31m"}), code=1)


def test_nothing_was_never_called_where_earlier_calls_are_gone() -> None:
    turn = Turn("log", 1, "s1", None, "I pushed the branch.", "", (), (), (), whole=False)
    result = held(turn).result
    assert [claim.verdict for claim in result.claims] == ["not checkable"]
    assert (result.label, result.complete) == ("nothing claimed", False)
    assert held(turn._replace(whole=True)).result == actions.check("I pushed the branch.", [])


def test_a_judge_is_asked_where_all_calls_are_there() -> None:
    made = Made("log", 1, "run_code", {"code": "notes.write(text)"}, "ok", False, None, None, True)
    turn = Turn("log", 2, "s1", None, "I updated the onboarding notes.", "", (), (made,), (), True)
    for whole, verdict in ((True, "contradicted"), (False, "not checkable")):
        result = held(turn._replace(whole=whole), judge=lambda premise, claims: [actions.Opinion(0.0, 1.0)]).result
        assert [claim.verdict for claim in result.claims] == [verdict]


def test_what_was_read_before_an_interruption_is_judged(log: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*given: Any, **options: Any) -> Any:
        yield from read_found(*given, **options)
        raise KeyboardInterrupt

    monkeypatch.setattr("agentguard.cli._audit.read_found", interrupted)
    output = run(log(*LIES), code=130)
    assert "interrupted; found so far: 2 statements do not hold: " in output
    assert "never called: “I sent Ada an email”" in output
    assert json.loads(run(log(*LIES), "--json", code=130))["interrupted"] is True


def test_of_many_findings_the_first_are_shown_and_the_others_counted(log: Any) -> None:
    numbers = [f"It took {4100 + 7 * n} seconds." for n in range(VALUES_SHOWN + 2)]
    lies = [{"session_id": f"s{n}", "answer": "I have sent an email to Bob."} for n in range(SHOWN + 3)]
    lines = run(log({"session_id": "a", "answer": " ".join(numbers)}, *lies), code=1).splitlines()
    kinds = [line.split(": ")[0].strip() for line in lines if "“" in line]
    shown = kinds.count("value")
    values = int(lines[0].partition(" hold: ")[2].split()[0])
    assert kinds == ["value"] * shown + ["never called"] * SHOWN
    assert (
        f"  and {values - shown} values more that no result supports; --json lists those of the first 1,000 answers"
        in lines
    )
    assert "  and 3 claims more of work that no call did; --json lists those of the first 1,000 answers" in lines
