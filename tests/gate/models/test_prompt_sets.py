import json
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from agentguard.errors import ConfigurationError, FileProblems
from agentguard.gate._types import Prompt
from agentguard.gate.models._targets import read_prompt_set


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def faults(path: Path) -> list[tuple[int | None, str, str]]:
    with pytest.raises(FileProblems) as caught:
        read_prompt_set(path)
    return [(problem.line, problem.field, problem.message) for problem in caught.value.problems]


def test_yaml(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "set.yaml",
        """\
# what customers ask most
- How long is the warranty?
- prompt: "Who pays: you or we?"
  id: returns.who
  category: edge_cases
- text: >
    A question
    of two lines
- 42
- yes
""",
    )

    assert read_prompt_set(path).prompts == (
        Prompt("p1", "How long is the warranty?"),
        Prompt("returns.who", "Who pays: you or we?", "edge_cases"),
        Prompt("p3", "A question of two lines\n"),
        Prompt("p4", "42"),
        Prompt("p5", "yes"),
    )


def test_json_lines(tmp_path: Path) -> None:
    path = written(tmp_path, "set.jsonl", '{"prompt": "One?"}\n\n{"text": "Two?", "id": "b", "category": "c"}\n')

    assert read_prompt_set(path).prompts == (Prompt("p1", "One?"), Prompt("b", "Two?", "c"))


def test_plain_text(tmp_path: Path) -> None:
    assert read_prompt_set(written(tmp_path, "set.TXT", "\ufeffOne?\r\n\r\n  Two: {}?  \n# Three\n")).prompts == (
        Prompt("p1", "One?"),
        Prompt("p2", "Two: {}?"),
        Prompt("p3", "# Three"),
    )


def test_a_set_with_a_name_and_a_version(tmp_path: Path) -> None:
    path = written(
        tmp_path, "set.yaml", "name: Returns\nversion: 3.10\nprompts:\n  - Who pays?\n  - {text: How long?, id: b}\n"
    )

    found = read_prompt_set(path)

    assert (found.name, found.version, found.title) == ("Returns", "3.10", "Returns 3.10")
    assert found.prompts == (Prompt("p1", "Who pays?"), Prompt("b", "How long?"))


@pytest.mark.parametrize("name", ["returns.yaml", "returns.txt", "returns.jsonl"])
def test_a_set_that_gives_no_name_has_the_file_s(tmp_path: Path, name: str) -> None:
    text = {".yaml": "- Who pays?\n", ".txt": "Who pays?\n", ".jsonl": '{"prompt": "Who pays?"}\n'}[Path(name).suffix]

    assert read_prompt_set(written(tmp_path, name, text)).title == "returns"


def test_all_faults_of_a_set_are_told_at_once(tmp_path: Path) -> None:
    text = "name: [a]\nversion: ''\nversions: 2\nprompts: {a: b}\nname: b\n"

    assert faults(written(tmp_path, "set.yaml", text)) == [
        (1, "name", "must be text, not a list or a mapping; put quotes around a text with such signs"),
        (1, "name", "must be one line of 1 to 200 characters"),
        (2, "version", "must be one line of 1 to 200 characters"),
        (3, "versions", "is no field of a prompt set; there are name, version, prompts"),
        (4, "", "must be a list of prompts: each line of it begins with a hyphen"),
        (5, "name", "is given twice"),
    ]


def test_all_faults_of_yaml_are_told_at_once(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "set.yml",
        """\
- What is new: all of it?
-
- ~
- [a, [b]]
- prompt: {deep: er}
- prompt: a
  prompt: b
- prompt: c
  text: d
- &anchor e
- *anchor
- !!python/object/apply:os.system [x]
- id: nobody
- ? [key]
  : value
- d
- !!binary aGk=
""",
    )

    assert faults(path) == [
        (1, "What is new", "is no field of such a line; there are prompt, text, id, category"),
        (1, "prompt", "is missing"),
        (2, "prompt", "must be text, not null"),
        (3, "prompt", "must be text, not null"),
        (4, "", "must be text, not a list or a mapping; put quotes around a text with such signs"),
        (5, "prompt", "must be text, not a list or a mapping; put quotes around a text with such signs"),
        (7, "prompt", "is given twice"),
        (8, "text", "is another name of prompt: give one of them"),
        (10, "", "must be plain text without an anchor or a tag"),
        (11, "", "must be text, not an alias; put quotes around a text with such signs"),
        (12, "", "must be text, not a list or a mapping; put quotes around a text with such signs"),
        (13, "prompt", "is missing"),
        (14, "", "must be text, not a list or a mapping; put quotes around a text with such signs"),
        (14, "", "the name of a field must be text"),
        (16, "prompt", "line 8 has the same prompt: leave one of them out"),
        (17, "", "must be plain text without an anchor or a tag"),
    ]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", (None, "", "holds no prompt")),
        ("# nothing\n", (None, "", "holds no prompt")),
        ("[]", (None, "", "holds no prompt")),
        ("prompt: a", (1, "prompt", "is no field of a prompt set; there are name, version, prompts")),
        ("name: a", (None, "", "holds no prompt")),
        ("just a text", (1, "", "must be a list of prompts: each line of it begins with a hyphen")),
        ("- a\n---\n- b\n", (2, "", "a second document begins here: a prompt set is one of them")),
        ('- a\n- b\n- "c\n', (4, "", "is no YAML: found unexpected end of stream")),
        ("- a\n- a\n", (2, "prompt", "line 1 has the same prompt: leave one of them out")),
        ("[a, a]", (1, "prompt", "line 1 has the same prompt: leave one of them out")),
    ],
)
def test_yaml_that_is_no_prompt_set(tmp_path: Path, text: str, fault: tuple[int | None, str, str]) -> None:
    assert faults(written(tmp_path, "set.yaml", text)) == [fault]


@pytest.mark.parametrize(
    "text",
    ["- " + "[" * 1_000_000, "- a: " + "{" * 1_000_000, "- &a [x]\n- &b [*a,*a]\n- &c [*b,*b]\n", "- \x00", "- \t: a"],
)
def test_hostile_yaml_is_a_fault(tmp_path: Path, text: str) -> None:
    assert faults(written(tmp_path, "set.yaml", text))


def test_faults_of_json_lines(tmp_path: Path) -> None:
    assert faults(written(tmp_path, "set.jsonl", '{"prompt": "a", "answer": "b"}\n"text"\n')) == [
        (1, "answer", "is no field of such a line; there are prompt, text, id, category"),
        (2, "", "must be a JSON object, not text"),
    ]


def test_more_prompts_than_a_run_can_have(tmp_path: Path) -> None:
    path = written(tmp_path, "set.txt", "".join(f"question {number}\n" for number in range(10_001)))

    assert faults(path) == [(10_001, "", "it has more than 10000 prompts: split it")]


@pytest.mark.parametrize("name", ["set.json", "set", "set.yaml.gz"])
def test_other_endings_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigurationError, match=r"its ending is none of \.yaml, \.yml, \.jsonl, \.ndjson, \.txt"):
        read_prompt_set(written(tmp_path, name, "[]"))


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"cannot read a prompt set from .* it does not exist"):
        read_prompt_set(tmp_path / "none.yaml")


printable = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=40).filter(str.strip)


@given(st.lists(printable, min_size=1, max_size=8, unique=True))
def test_every_form_says_the_same(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> None:
    folder = tmp_path_factory.mktemp("sets")
    wanted = tuple(Prompt(f"p{number}", text) for number, text in enumerate(texts, 1))

    in_yaml = yaml.safe_dump(texts, default_style='"')
    in_lines = "".join(json.dumps({"prompt": text}) + "\n" for text in texts)
    assert read_prompt_set(written(folder, "set.yaml", in_yaml)).prompts == wanted
    assert read_prompt_set(written(folder, "set.jsonl", in_lines)).prompts == wanted
