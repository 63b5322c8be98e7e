"""`agentguard gate`: the example from its documents to the decision, and every other way a run can end."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import pytest
import yaml
from typer.testing import CliRunner

from agentguard.cli import app
from agentguard.cli._exits import Exit
from agentguard.errors import GateError
from agentguard.gate import _config as config_file
from agentguard.gate import _run as stages
from agentguard.gate import load_config
from agentguard.gate._config import CONFIG_NAME
from agentguard.gate.rules._judge import RuleJudge

EXAMPLE = Path(__file__).parents[2] / "examples" / "gate"
EXPECTED = yaml.load((EXAMPLE / "expected.yaml").read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
runner = CliRunner()


@pytest.fixture(autouse=True)
def unconfigured(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AGENTGUARD_GATE_CONFIG", "GITHUB_ACTIONS"):
        monkeypatch.delenv(name, raising=False)


def copied(target: Path) -> Path:
    shutil.copytree(EXAMPLE, target, ignore=shutil.ignore_patterns(".llm-reliability"))
    return target


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The example, not run yet."""
    return copied(tmp_path / "example")


def gate(folder: Path, command: str, *words: str) -> Any:
    return runner.invoke(app, ["gate", command, *words, "--config", str(folder / CONFIG_NAME)])


def data(folder: Path, command: str, *words: str, code: int = 0) -> Any:
    done = gate(folder, command, *words, "--json")
    assert done.exit_code == code, done.output
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """The example after a run, and what the command said of it."""
    place = copied(tmp_path_factory.mktemp("judged") / "example")
    files = ("-o", str(place / "run.json"), "--junit", str(place / "run.xml"), "--markdown", str(place / "run.md"))
    return place, gate(place, "run", *files)


def falsehood(claim: Any) -> Any:
    """What ``expected.yaml`` says of a claim; None of a true one."""
    said = [one for one in EXPECTED if one["prompt"] == claim["prompt_id"] and one["says"] in claim["claim"]]
    assert len(said) <= 1
    return said[0] if said else None


def quiet_config(folder: Path, **changes: str) -> None:
    """Change words of the configuration."""
    file = folder / CONFIG_NAME
    text = file.read_text(encoding="utf-8")
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    file.write_text(text, encoding="utf-8")


def without_false_answers(folder: Path) -> int:
    """Leave only the answers in which nothing is false; says how many these are."""
    file = folder / "answers.jsonl"
    false = {one["prompt"] for one in EXPECTED}
    lines = [line for line in file.read_text(encoding="utf-8").splitlines() if json.loads(line)["id"] not in false]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return len(lines)


# --- The example ---


def test_the_example_blocks_and_reads_its_documents_by_itself(judged: tuple[Path, Any]) -> None:
    _, done = judged

    assert done.exit_code == Exit.FLAG, done.output
    assert done.stdout.startswith("block: risk ")
    assert "no documents are indexed yet: they are read first" in done.stderr
    assert "documents: 8 added, 0 changed" in done.stderr


def test_for_the_right_claims(judged: tuple[Path, Any]) -> None:
    told = json.loads((judged[0] / "run.json").read_text())
    false = [(claim, one["says"]) for claim in told["details"] if (one := falsehood(claim)) is not None]
    true = [claim for claim in told["details"] if falsehood(claim) is None]

    assert sorted(says for _, says in false) == sorted(one["says"] for one in EXPECTED)
    assert len(false) == 14
    # Rules are no reader: names that are swapped pass them, and true claims in other words are doubted.
    assert sum(claim["label"] != "supported" for claim, _ in false) >= 12
    assert sum(claim["label"] == "supported" for claim in true) >= 0.9 * len(true) >= 43


def test_each_is_explained_down_to_the_passage(judged: tuple[Path, Any]) -> None:
    place, _ = judged
    told = json.loads((place / "run.json").read_text())

    right = 0
    for claim in told["details"]:
        expected = falsehood(claim)
        if claim["label"] == "supported" or expected is None:
            continue
        explained = data(place, "explain", claim["claim_id"])
        [decisive] = [passage for passage in explained["passages"] if passage["decisive"]]
        start, end = decisive["quote_span"]
        assert decisive["text"][start:end].split() == claim["quote"].split() != []
        assert claim["passage"]["document"] == decisive["document"]
        assert claim["passage"]["heading"] == decisive["heading"]
        start, end = explained["response"]["span"]
        assert explained["response"]["text"][start:end]
        right += claim["passage"]["document"] == f"docs/{expected.get('document')}"
    assert right >= 8  # of ten whose document says otherwise


def test_an_explanation_for_people(judged: tuple[Path, Any]) -> None:
    place, _ = judged

    done = gate(place, "explain", "plans-price.c4")

    assert done.exit_code == 0
    assert "plans-price.c4 unsupported by rules" in done.stdout
    assert "»The Team plan costs 54 euros a month.«" in done.stdout
    assert "docs/plans-and-pricing.html · Plans and pricing > The plans" in done.stdout
    assert "(decided by this one)" in done.stdout


def test_the_reports_say_the_same(judged: tuple[Path, Any]) -> None:
    place, _ = judged
    told = json.loads((place / "run.json").read_text())

    suite = Xml.parse(place / "run.xml").getroot()[0]  # noqa: S314  # our own
    assert suite.attrib["tests"] == str(told["total_claims"]) == str(len(told["details"]))
    assert suite.attrib["failures"] == str(told["unsupported"])
    markdown = (place / "run.md").read_text()
    assert markdown.startswith("## Reliability gate: block\n")
    assert f"| unsupported | {told['unsupported']} |" in markdown
    risk = (told["unsupported"] + 0.5 * told["weakly_supported"]) / told["total_claims"]
    assert told["score"] == round(risk, 4)


def test_a_second_run_reads_nothing_and_decides_the_same(judged: tuple[Path, Any]) -> None:
    place, _ = judged
    first = json.loads((place / "run.json").read_text())

    done = gate(place, "run", "--json")

    second = json.loads(done.stdout)
    assert done.exit_code == Exit.FLAG
    assert "documents" not in done.stderr
    assert second["run_id"] != first["run_id"]
    differing = ("run_id", "started", "ended")
    assert {k: v for k, v in second.items() if k not in differing} == {
        k: v for k, v in first.items() if k not in differing
    }


def test_true_answers_are_deployed(folder: Path) -> None:
    answers = without_false_answers(folder)

    told = data(folder, "run", code=0)

    assert told["decision"] == "deploy"
    assert answers >= 5
    assert told["total_claims"] > answers


def one_answer(folder: Path) -> None:
    """Leave one answer, of which a claim is false."""
    file = folder / "answers.jsonl"
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    file.write_text(next(line for line in lines if '"returns-label"' in line), encoding="utf-8")


def test_a_warning_passes_and_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one_answer(folder)
    quiet_config(folder, **{"warn_threshold: 0.15": "warn_threshold: 0.9"})
    monkeypatch.setenv("GITHUB_ACTIONS", "true")

    done = gate(folder, "run", "--json")

    assert done.exit_code == 0
    assert json.loads(done.stdout)["decision"] == "warn"
    assert "::warning title=Reliability gate::warn: risk " in done.stderr


def test_progress_is_shown_to_a_terminal_alone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one_answer(folder)
    in_a_pipe = gate(folder, "run")
    monkeypatch.setenv("FORCE_COLOR", "1")  # what makes rich take a stream for a terminal
    on_a_terminal = gate(folder, "run")
    as_json = gate(folder, "run", "--json")

    assert "verify claims" in on_a_terminal.stderr
    assert "verify claims" not in in_a_pipe.stderr + as_json.stderr + on_a_terminal.stdout


def test_pages_of_a_run_and_of_all_runs(folder: Path) -> None:
    (folder / "answers.jsonl").write_text('{"prompt": "How are you?", "response": "Thanks!"}\n', encoding="utf-8")
    gate(folder, "run", "--html", str(folder / "run.html"))
    told = data(folder, "dashboard", "--output", str(folder / "all.html"))

    assert told == {"written": str(folder / "all.html"), "runs": 1}
    assert "warn" in (folder / "run.html").read_text(encoding="utf-8")
    assert '<h2 id="worst">' in (folder / "all.html").read_text(encoding="utf-8")


def test_no_claim_is_a_warning(folder: Path) -> None:
    (folder / "answers.jsonl").write_text('{"prompt": "How are you?", "response": "Thanks!"}\n', encoding="utf-8")

    done = gate(folder, "run", "--junit", str(folder / "run.xml"), "--markdown", str(folder / "run.md"))

    assert done.exit_code == 0
    assert gate(folder, "run", "--fail-on", "warn").exit_code == Exit.FLAG
    assert done.stdout.startswith("warn: no claim was found in any response (1 without a claim), so nothing is known")
    assert 'tests="0"' in (folder / "run.xml").read_text()


# --- Documents ---


def test_documents_that_changed_are_read_when_asked_for(folder: Path) -> None:
    assert data(folder, "ingest")["added"] == 8
    one_answer(folder)
    with (folder / "docs" / "returns.md").open("a", encoding="utf-8") as file:
        file.write("\nGift cards never expire.\n")

    done = gate(folder, "run", "--ingest")

    assert "documents: 0 added, 1 changed, 7 unchanged, 0 removed" in done.stderr
    assert "no documents are indexed yet" not in done.stderr


def test_without_documents_nothing_is_judged(folder: Path) -> None:
    done = gate(folder, "run", "--no-ingest")

    assert done.exit_code == Exit.ERROR
    assert "no documents are indexed, so nothing could be confirmed" in done.stderr


def test_documents_elsewhere_need_a_root(folder: Path, tmp_path: Path) -> None:
    (folder / "docs").rename(tmp_path / "trusted")
    quiet_config(folder, **{"path: docs/": f"path: {tmp_path / 'trusted'}"})

    refused = gate(folder, "ingest")
    taken = gate(folder, "ingest", "--root", str(tmp_path / "trusted"))

    assert refused.exit_code == Exit.ERROR
    assert taken.exit_code == 0, taken.output
    assert "documents: 8 added" in taken.stdout


# --- Runs that do not end ---


@pytest.mark.parametrize("end", [KeyboardInterrupt(), GateError("the model did not answer")], ids=["ctrl-c", "failed"])
def test_a_run_that_does_not_end_is_on_record_and_goes_on(
    folder: Path, monkeypatch: pytest.MonkeyPatch, end: BaseException
) -> None:
    def verify(self: Any, cases: Sequence[Any]) -> Any:
        raise end

    with monkeypatch.context() as broken:
        broken.setattr(RuleJudge, "verify", verify)
        stopped = gate(folder, "run", "--json")

    interrupted = isinstance(end, KeyboardInterrupt)
    assert stopped.exit_code == (Exit.INTERRUPTED if interrupted else Exit.ERROR)
    status = "interrupted" if interrupted else "failed"
    assert re.search(r"run (\S+); 'agentguard gate run --resume \1' goes on with it", stopped.output)
    [run] = data(folder, "history")["runs"]
    assert (run["status"], run["decision"]) == (status, None)

    asked = []
    monkeypatch.setattr(stages, "run_model", lambda *_: asked.append(1))
    resumed = data(folder, "run", "--resume", "latest", code=Exit.FLAG)

    assert resumed["run_id"] == run["run_id"]
    assert asked == []
    assert data(folder, "history")["runs"][0]["decision"] == "block"


def test_there_may_be_nothing_to_resume(judged: tuple[Path, Any]) -> None:
    place, _ = judged
    finished = data(place, "history")["runs"][0]["run_id"]

    for words, said in (
        (("--resume", "latest"), "needs no resuming"),
        (("--resume", finished), "is finished; there is nothing to resume"),
        (("--resume", "r0"), "there is no run 'r0'"),
    ):
        done = gate(place, "run", *words)
        assert done.exit_code == Exit.ERROR
        assert said in done.stderr


def test_a_report_that_cannot_be_written_is_an_error(folder: Path) -> None:
    one_answer(folder)
    done = gate(folder, "run", "--junit", str(folder / "nowhere" / "x.xml"))

    assert done.exit_code == Exit.ERROR
    assert "cannot write" in done.stderr


def test_all_faults_of_a_configuration_at_once(folder: Path) -> None:
    quiet_config(folder, **{"use_case:": "usecase:", "passages: 5": "passages: none"})

    done = gate(folder, "run")
    told = json.loads(gate(folder, "run", "--json").stdout)

    assert done.exit_code == Exit.ERROR
    assert {problem["field"] for problem in told["problems"]} == {"usecase", "use_case", "evaluation.passages"}
    lines = (folder / CONFIG_NAME).read_text(encoding="utf-8").splitlines()
    at = next(number for number, line in enumerate(lines, 1) if line.startswith("usecase:"))
    assert f"{CONFIG_NAME}:{at}: usecase: is unknown" in done.stderr


def test_a_configuration_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    for words in (["run"], ["ingest"], ["history"], ["explain", "p1.c1"], ["compare", "a", "b"]):
        assert runner.invoke(app, ["gate", *words]).exit_code == Exit.ERROR
    assert not list(tmp_path.iterdir())


# --- History ---


def test_history_without_a_run_makes_no_records(folder: Path) -> None:
    done = gate(folder, "history")

    assert done.exit_code == Exit.ERROR
    assert "nothing is on record at " in done.stderr
    assert not (folder / ".llm-reliability").exists()


def test_worse_than_what_was_deployed(folder: Path) -> None:
    answers = (folder / "answers.jsonl").read_text(encoding="utf-8")
    without_false_answers(folder)
    data(folder, "run")
    (folder / "answers.jsonl").write_text(answers, encoding="utf-8")
    blocked = data(folder, "run", code=Exit.FLAG)

    told = data(folder, "history")
    shown = gate(folder, "history")

    assert [run["decision"] for run in told["runs"]] == ["block", "deploy"]
    assert told["regression"]["run_id"] == blocked["run_id"]
    assert told["regression"]["against"] == told["runs"][1]["run_id"]
    assert told["regression"]["difference"] == pytest.approx(blocked["score"] - told["runs"][1]["score"], abs=1e-4)
    assert told["regression"]["explanation"] in shown.stdout
    assert shown.exit_code == 0
    assert len(data(folder, "history", "--limit", "1")["runs"]) == 1
    # The deployed run is looked for beyond what is shown.
    assert data(folder, "history", "--limit", "1")["regression"] == told["regression"]


def test_two_runs_prompt_by_prompt(folder: Path) -> None:
    first = data(folder, "run", code=Exit.FLAG)
    file = folder / "answers.jsonl"
    file.write_text(file.read_text(encoding="utf-8").replace("54 euros", "45 euros"), encoding="utf-8")
    second = json.loads(gate(folder, "run", "--json").stdout)

    told = data(folder, "compare", first["run_id"], "latest")
    shown = gate(folder, "compare", first["run_id"], second["run_id"])

    [changed] = [prompt for prompt in told["prompts"] if prompt["risk_a"] != prompt["risk_b"]]
    assert changed["prompt_id"] == "plans-price"
    assert changed["risk_a"] > changed["risk_b"] == 0
    assert told["compared"] == 20
    assert shown.exit_code == 0
    assert "plans-price" in shown.stdout
    assert told["explanation"] in shown.stdout


def test_runs_and_claims_that_are_not_there(judged: tuple[Path, Any]) -> None:
    place, _ = judged
    known = data(place, "history")["runs"][-1]["run_id"]

    for words, said in (
        (("explain", "p9.c9"), "has no claim 'p9.c9'; it has "),
        (("explain", "plans-price.c4", "--run", "r0"), "there is no run 'r0'; the latest are "),
        (("compare", "r0", known), "there is no run 'r0'"),
    ):
        done = gate(place, *words)
        assert done.exit_code == Exit.ERROR
        assert said in done.stderr


# --- init ---


def test_what_init_writes_can_be_loaded_and_is_not_written_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    use_case = 'help desk: "kettles" # and more\\'

    made = runner.invoke(app, ["gate", "init", "--use-case", use_case, "--docs", "./handbook"])
    config = load_config(CONFIG_NAME)

    assert made.exit_code == 0, made.output
    assert config.use_case == use_case
    assert config.resolve(config.doc_sources[0].path) == tmp_path / "handbook"  # type: ignore[union-attr]  # it is local
    before = Path(CONFIG_NAME).read_text()
    again = runner.invoke(app, ["gate", "init"])
    assert again.exit_code == Exit.ERROR
    assert "is there already" in again.stderr
    assert Path(CONFIG_NAME).read_text() == before


def test_every_section_that_init_comments_out_can_be_taken_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    runner.invoke(app, ["gate", "init"])
    text = Path(CONFIG_NAME).read_text()
    sections = re.findall(r"^# (\w+):\n((?:#   .*\n)+)", text, re.MULTILINE)
    fields = re.findall(r"^#  (\w+:.*)$", text, re.MULTILINE)

    assert [name for name, _ in sections] == ["judge", "documents", "embeddings", "elasticsearch"]
    assert [field.split(":")[0] for field in fields] == ["prompts", "responses", "base_url"]
    for name, body in sections:
        uncommented = re.sub("^# ", "", body, flags=re.MULTILINE)
        Path("more.yaml").write_text(f"{text}\n{name}:\n{uncommented}")
        assert getattr(load_config("more.yaml"), name) is not None
    for field in fields:
        Path("more.yaml").write_text(re.sub(rf"^#(  {re.escape(field)})$", r"\1", text, flags=re.MULTILINE))
        load_config("more.yaml")


# --- Names ---


def test_the_name_of_the_file_is_the_same_in_both_places() -> None:
    assert CONFIG_NAME == config_file.CONFIG_NAME


def test_the_environment_names_a_configuration(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTGUARD_GATE_CONFIG", str(folder / CONFIG_NAME))

    done = runner.invoke(app, ["gate", "ingest", "--json"])

    assert json.loads(done.stdout)["added"] == 8


def test_what_a_model_says_cannot_steer_the_terminal(folder: Path) -> None:
    answer = {"prompt": "?\x1b[2J", "response": "The [bold]Moon[/bold] is \x1b[31mgreen\u202e since 1999."}
    (folder / "answers.jsonl").write_text(json.dumps(answer) + "\n", encoding="utf-8")

    shown = gate(folder, "run")
    explained = gate(folder, "explain", "p1.c1")

    for done in (shown, explained):
        assert "\x1b" not in done.stdout
        assert "\u202e" not in done.stdout
        assert "[bold]Moon[/bold]" in done.stdout


def test_no_other_command_waits_for_the_gate() -> None:
    script = "import sys, agentguard.cli; print([name for name in sys.modules if name.startswith('agentguard.gate')])"

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n"
