import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.errors import ConfigurationError, FileProblems, GateError
from agentguard.gate._types import Prompt
from agentguard.gate.models._targets import RecordedTarget


def written(folder: Path, *lines: Any) -> Path:
    path = folder / "answers.jsonl"
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    path.write_text("\n".join(texts) + "\n", encoding="utf-8")
    return path


def faults(path: Path) -> list[tuple[int | None, str, str]]:
    with pytest.raises(FileProblems) as caught:
        RecordedTarget(path)
    assert {problem.source for problem in caught.value.problems} == {str(path)}
    return [(problem.line, problem.field, problem.message) for problem in caught.value.problems]


def test_prompts_and_answers_in_the_order_of_the_file(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        {"prompt": "How long is the warranty?", "response": "Two years."},
        "",
        {"prompt": "Who pays?", "response": "", "id": "returns.who", "category": "edge_cases"},
        {"prompt": "When?", "response": "Now.", "id": None, "category": None},
    )
    target = RecordedTarget(path)

    assert target.name == "recorded:answers.jsonl"
    assert RecordedTarget(path, "gpt").name == "gpt"
    assert target.prompts == (
        Prompt("p1", "How long is the warranty?"),
        Prompt("returns.who", "Who pays?", "edge_cases"),
        Prompt("p3", "When?"),
    )
    assert target.respond(target.prompts) == ["Two years.", "", "Now."]
    assert target.respond([target.prompts[2], target.prompts[0]]) == ["Now.", "Two years."]


@pytest.mark.parametrize("prompt", [Prompt("p2", "Which?"), Prompt("p1", "Another question?")])
def test_a_prompt_of_another_file_has_no_answer(tmp_path: Path, prompt: Prompt) -> None:
    target = RecordedTarget(written(tmp_path, {"prompt": "Which?", "response": "That."}))

    with pytest.raises(GateError, match=f"no recorded response to prompt {prompt.id}"):
        target.respond([prompt])


def test_all_faults_are_told_at_once_with_their_lines(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        {"prompt": "Which?", "response": "That."},  # 1
        "{broken",  # 2
        ["no", "object"],  # 3
        {"prompt": "", "response": "x"},  # 4
        {"prompt": 7, "response": None, "model": "m"},  # 5
        {"response": "x"},  # 6
        {"prompt": "Which?", "response": "Again."},  # 7
        {"prompt": "New?", "response": "x", "id": "p1"},  # 8
        {"prompt": "Newer?", "response": "x", "id": "no spaces"},  # 9
        '{"prompt": "Twice?", "prompt": "Twice!", "response": "x"}',  # 10
        '{"prompt": "NaN?", "response": NaN}',  # 11
        {"prompt": "Category?", "response": "x", "category": ["a"]},  # 12
    )

    assert faults(path) == [
        (2, "", "is no JSON: Expecting property name enclosed in double quotes at column 2"),
        (3, "", "must be a JSON object, not a list"),
        (4, "prompt", "must not be empty"),
        (5, "model", "is no field of such a line; there are prompt, response, id, category"),
        (5, "prompt", "must be text, not a number"),
        (5, "response", "must be text, not null"),
        (6, "prompt", "is missing"),
        (7, "prompt", "line 1 has the same prompt: leave one of them out"),
        (8, "id", "the prompt in line 1 has the id 'p1' already; every prompt needs its own"),
        (9, "id", "must be text of at most 100 letters, digits, dots, hyphens and underscores"),
        (10, "", "a field is given twice"),
        (11, "", "NaN is no JSON"),
        (12, "category", "must be text, not a list"),
    ]


def test_an_id_given_later_may_not_be_one_that_was_counted(tmp_path: Path) -> None:
    path = written(tmp_path, {"prompt": "a", "response": "x", "id": "p2"}, {"prompt": "b", "response": "x"})

    assert faults(path) == [(2, "id", "the prompt in line 1 has the id 'p2' already; every prompt needs its own")]


def test_a_file_without_answers(tmp_path: Path) -> None:
    assert faults(written(tmp_path)) == [(None, "", "holds no recorded response")]


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_bytes(b'{"prompt": "a", "response": "x"}\r\n\xff\xfe\r\n')

    assert faults(path) == [(2, "", "the line is not UTF-8")]


def test_a_byte_order_mark_and_windows_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"prompt": "a", "response": "x"}\r\n{"prompt": "b", "response": "y"}')
    target = RecordedTarget(path)

    assert target.respond(target.prompts) == ["x", "y"]


def test_a_lone_surrogate_can_be_recorded_again(tmp_path: Path) -> None:
    target = RecordedTarget(written(tmp_path, r'{"prompt": "a", "response": "cut \ud83d"}'))

    assert target.respond(target.prompts) == ["cut ?"]


@pytest.mark.parametrize(
    "line", ["[" * 100_000, '{"prompt": "a", "response": ' + "9" * 5_000 + "}", '{"prompt": "' + "a" * 100_001 + '"']
)
def test_hostile_lines_are_faults(tmp_path: Path, line: str) -> None:
    assert [fault[0] for fault in faults(written(tmp_path, line))] == [1]


def test_what_is_too_long_is_a_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from agentguard.gate.models import _targets as record_files

    path = written(tmp_path, *({"prompt": f"question {number}", "response": "x"} for number in range(5)))
    monkeypatch.setattr(record_files, "MAX_ROWS", 4)
    assert faults(path) == [(None, "", "it has more than 4 lines: split it")]
    monkeypatch.setattr(record_files, "MAX_LINE_BYTES", 20)
    assert faults(path) == [(1, "", "the line has more than 20 bytes; what follows is not read")]


def test_a_thousand_broken_lines_are_no_thousand_faults(tmp_path: Path) -> None:
    assert len(faults(written(tmp_path, *["{"] * 1_000))) == 100


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigurationError, match=r"cannot read recorded responses from .*none\.jsonl: it does not exist"
    ):
        RecordedTarget(tmp_path / "none.jsonl")
    with pytest.raises(ConfigurationError, match="it is no file"):
        RecordedTarget(tmp_path)
    with pytest.raises(ConfigurationError, match="it does not exist"):
        RecordedTarget("a\0b")


texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=50)


@given(st.dictionaries(texts.filter(str.strip), texts, min_size=1, max_size=10))
def test_what_is_written_is_read(tmp_path_factory: pytest.TempPathFactory, recorded: dict[str, str]) -> None:
    folder = tmp_path_factory.mktemp("recorded")
    path = written(folder, *({"prompt": prompt, "response": answer} for prompt, answer in recorded.items()))
    target = RecordedTarget(path)

    assert [prompt.text for prompt in target.prompts] == list(recorded)
    assert target.respond(target.prompts) == list(recorded.values())


@given(st.binary(max_size=200))
def test_any_bytes_are_answers_or_faults(tmp_path_factory: pytest.TempPathFactory, raw: bytes) -> None:
    path = tmp_path_factory.mktemp("recorded") / "answers.jsonl"
    path.write_bytes(raw)

    with pytest.raises(FileProblems):
        RecordedTarget(path)


def test_a_fault_can_be_printed_where_a_field_is_named_by_half_of_a_surrogate_pair(tmp_path: Path) -> None:
    path = written(tmp_path, '{"prompt": "a", "response": "b", "half: \\ud800": 1}')

    assert faults(path) == [(1, "half: ?", "is no field of such a line; there are prompt, response, id, category")]
