"""`agentguard profiles`: what is shipped or in a folder, shown and checked."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from agentguard.cli import app
from agentguard.verification import load_profiles

from ..rows import over

runner = CliRunner()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "weather.yaml").write_text(
        "name: get_weather\naliases: [weather_*]\ndescription: The [bold]weather[/bold].\n"
        "expected_latency_ms: [100, 5000]\nrequired_fields: [temperature]\n"
    )
    (tmp_path / "calc.yml").write_text("name: calculate\nhas_network_io: false\n")
    return tmp_path


def test_list_names_the_profiles_of_a_folder(folder: Path) -> None:
    run = runner.invoke(app, ["profiles", "list", "--profiles", str(folder)])

    assert run.exit_code == 0
    lines = run.stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["tool", "calculate", "get_weather", "2"]
    assert lines[2].split() == ["get_weather", "100-5000", "temperature", "The", "[bold]weather[/bold]."]


def test_list_names_the_shipped_profiles_without_a_folder() -> None:
    run = runner.invoke(app, ["profiles", "list", "--json"])

    listed = [profile["name"] for profile in json.loads(run.stdout)["profiles"]]
    assert listed == [profile.name for profile in load_profiles()]
    assert len(listed) >= 15


@pytest.mark.parametrize("name", ["get_weather", "weather_in_oslo"])
def test_show_finds_a_profile_as_the_engine_would(folder: Path, name: str) -> None:
    run = runner.invoke(app, ["profiles", "show", name, "--profiles", str(folder)])
    data = json.loads(runner.invoke(app, ["profiles", "show", name, "--profiles", str(folder), "--json"]).stdout)

    assert run.exit_code == 0
    assert ["name", "get_weather"] in [line.split() for line in run.stdout.splitlines()]
    assert (data["name"], data["expected_latency_ms"], data["on_error"]) == ("get_weather", [100, 5000], "open")


def test_show_names_what_is_near_an_unknown_tool(folder: Path) -> None:
    run = runner.invoke(app, ["profiles", "show", "get_wether", "--profiles", str(folder)])
    far = runner.invoke(app, ["profiles", "show", "\x1bzzz", "--profiles", str(folder)])

    assert (run.exit_code, far.exit_code) == (3, 3)
    assert run.stderr == "error: no profile for a tool named 'get_wether'; near it: get_weather\n"
    assert far.stderr == "error: no profile for a tool named 'zzz'; 'agentguard profiles list' shows what there is\n"


def test_check_counts_profiles_without_problems(folder: Path) -> None:
    run = runner.invoke(app, ["profiles", "check", str(folder)])

    assert (run.exit_code, run.stdout) == (0, "2 profiles, no problems\n")
    as_json = runner.invoke(app, ["profiles", "check", str(folder), "--json"])
    assert json.loads(as_json.stdout) == {"profiles": 2, "calls": 0, "problems": []}


def test_check_tells_all_problems_of_all_files_with_their_lines(folder: Path) -> None:
    (folder / "bad.yaml").write_text("name: bad\ncolour: red\nresponse_patterns: ['(']\n")
    (folder / "torn.yaml").write_text("name: [torn\n")

    run = runner.invoke(app, ["profiles", "check", str(folder)])
    as_json = runner.invoke(app, ["profiles", "check", str(folder), "--json"])

    assert (run.exit_code, as_json.exit_code) == (3, 3)
    assert run.stdout == ""
    first, *rest = run.stderr.splitlines()
    assert first == "error: 2 profiles have 3 problems:"
    assert [Path(line.split(": ")[0].strip()).name for line in rest] == ["bad.yaml:2", "bad.yaml:3", "torn.yaml:2"]
    problems = json.loads(as_json.stdout)["problems"]
    assert [(Path(problem["source"]).name, problem["line"]) for problem in problems] == [
        ("bad.yaml", 2),
        ("bad.yaml", 3),
        ("torn.yaml", 2),
    ]


def test_check_tells_paths_and_aliases_that_can_match_nothing_or_everything(folder: Path) -> None:
    (folder / "bad.yaml").write_text(
        "name: bad\naliases: ['*']\nrequired_fields:\n- price..amount\n- 'rows[0].id'\nforbidden_fields: error\n"
        "echoes: {a.: b}\n"
    )

    run = runner.invoke(app, ["profiles", "check", str(folder)])

    assert run.exit_code == 3
    told = [line.strip().removeprefix(f"{folder}/") for line in run.stderr.splitlines()[1:]]
    assert [line.rpartition("; write ")[2] for line in told[1:3] + told[4:]] == ["'price.amount'", "'rows[].id'", "'a'"]
    assert told[0].startswith("bad.yaml:2: aliases.0: '*' claims every tool: write names, or patterns with more")
    assert told[3] == "bad.yaml:6: forbidden_fields: is one text, and must be a list: write [error]"
    assert [line.split(":")[1] for line in told] == ["2", "4", "5", "6", "7"]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    calls: list[dict[str, object]] = [
        {"tool": "get_order", "args": {"order_id": f"A-{n}", "line_1": "x"},
         "result": {"order_id": f"A-{n}", "rows": [{"id": n}], "line_1": "x"}} for n in range(3)
    ]  # fmt: skip
    calls.append({"tool": "get_order", "args": {"customer": "c"}, "result": {"error": "no such order"}})
    calls.append({"tool": "other", "args": {"id": 1}, "result": {"status": 1}})
    path = tmp_path / "calls.jsonl"
    path.write_text("".join(json.dumps(call) + "\n" for call in calls) + "broken\n")
    return path


def test_check_tells_what_no_call_of_a_log_has(tmp_path: Path, log: Path) -> None:
    folder = tmp_path / "profiles"
    folder.mkdir()
    (folder / "orders.yaml").write_text(
        "name: get_*\nrequired_fields:\n- order_id\n- rows[].id\n- status\n"
        "echoes:\n  order_id: order_id\n  line_1: line_1\n  orderid: orderid\n"
    )
    (folder / "unused.yaml").write_text("name: unused\nrequired_fields: [x]\n")
    command = ["profiles", "check", str(folder), "--log", str(log)]

    run = runner.invoke(app, command)
    as_json = runner.invoke(app, [*command, "--json"])

    assert (run.exit_code, as_json.exit_code) == (3, 3)
    assert run.stderr.replace(f"{folder}/", "").splitlines() == [
        "error: orders.yaml has 3 problems:",
        "  orders.yaml:5: required_fields.2: no result of 3 in the log has 'status'; there are line_#, order_id, "
        "rows[].id",
        "  orders.yaml:9: echoes.orderid: no call of 4 in the log has an argument 'orderid'; there is order_id",
        "  orders.yaml:9: echoes.orderid.path: no result of 3 in the log has a value at 'orderid'; there is order_id",
    ]
    assert [problem["line"] for problem in json.loads(as_json.stdout)["problems"]] == [5, 9, 9]


def test_check_counts_the_calls_that_bear_profiles_out(tmp_path: Path, log: Path) -> None:
    (tmp_path / "orders.yaml").write_text("name: get_order\nechoes: {order_id: order_id}\n")
    command = ["profiles", "check", str(tmp_path / "orders.yaml"), "--log", str(log)]

    assert runner.invoke(app, command).stdout == "1 profile with 4 calls of the log, no problems\n"
    assert json.loads(runner.invoke(app, [*command, "--json"]).stdout) == {"profiles": 1, "calls": 4, "problems": []}
    missing = runner.invoke(app, [*command, "--log", "absent"])
    assert (missing.exit_code, missing.stderr) == (3, "error: no such file or folder: absent\n")


@over("command", [["check"], ["check", "absent"], ["list", "--profiles", "absent"], ["show"], ["x"]])
def test_errors_exit_with_3(command: list[str]) -> None:
    run = runner.invoke(app, ["profiles", *command])
    as_json = runner.invoke(app, ["profiles", *command, "--json"])

    assert (run.exit_code, as_json.exit_code) == (3, 3)
    assert run.stderr.startswith("error: ")
    assert list(json.loads(as_json.stdout)) == ["error"]


def test_without_a_command_help_is_shown() -> None:
    run = runner.invoke(app, ["profiles"])

    assert run.exit_code == 3
    assert "check" in run.stdout


READ_BACK = """\
confirm:
  tool: get_ordr
  args: {order_id: $.reslt.id}
  expcet: {status: $.args.status}
retry: {attempts: 3}
"""


def test_check_tells_what_is_wrong_about_a_read_back(tmp_path: Path) -> None:
    (tmp_path / "create_order.yaml").write_text(READ_BACK)
    (tmp_path / "get_order.yaml").write_text("idempotent: false\n")
    wrong = runner.invoke(app, ["profiles", "check", str(tmp_path)])
    lines = wrong.stderr.replace(str(tmp_path) + "/", "").splitlines()

    assert wrong.exit_code == 3
    assert sorted(lines[1:]) == [
        "  create_order.yaml:3: confirm.args.order_id: '$.reslt.id' is no value of the call: did you mean "
        "'$.result.id'?",
        "  create_order.yaml:4: confirm.expcet: unknown field; did you mean 'expect'?",
        "  create_order.yaml:5: retry: needs idempotent: true, for a second call must do no harm",
    ]
    mended = READ_BACK.replace("reslt", "result").replace("expcet", "expect").partition("retry")[0]
    (tmp_path / "create_order.yaml").write_text(mended)
    misspelt = runner.invoke(app, ["profiles", "check", str(tmp_path)]).stderr
    assert (
        "create_order.yaml:2: confirm.tool: no profile is for a tool 'get_ordr'; did you mean 'get_order'?" in misspelt
    )
    (tmp_path / "create_order.yaml").write_text(mended.replace("get_ordr", "get_order"))
    acting = runner.invoke(app, ["profiles", "check", str(tmp_path)]).stderr
    assert "confirm.tool: 'get_order' is asked to read, and its own profile says that a call of it does" in acting


def test_check_holds_a_read_back_against_a_log(tmp_path: Path) -> None:
    (tmp_path / "create_order.yaml").write_text(READ_BACK.replace("reslt", "result").replace("expcet", "expect")[:-21])
    calls = [
        {"tool": "create_order", "args": {"customer": "C1"}, "result": {"order": {"id": "O-1"}}},
        {"tool": "get_order", "args": {"order_id": "O-1"}, "result": {"id": "O-1"}},
    ]
    (tmp_path / "log.jsonl").write_text("\n".join(map(json.dumps, calls)))
    command = ["profiles", "check", str(tmp_path / "create_order.yaml"), "--log", str(tmp_path / "log.jsonl")]
    lines = runner.invoke(app, command).stderr.replace(str(tmp_path) + "/", "").splitlines()

    assert lines[1:] == [
        "  create_order.yaml:2: confirm.tool: no call in the log is of 'get_ordr'; there is get_order",
        "  create_order.yaml:3: confirm.args.order_id: no result of 1 in the log has '$.result.id'; there is order.id",
        "  create_order.yaml:4: confirm.expect.status: no call of 1 in the log has '$.args.status'; there is customer",
    ]
