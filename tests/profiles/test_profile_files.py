"""What a profile file may not hold: each refusal names the file and the line of the fault."""

import os
from pathlib import Path

import pytest
import yaml

from agentguard._yaml_files import MAX_BYTES, read_profile_files
from agentguard.errors import ConfigurationError

LOADERS = [name for name in ("CSafeLoader", "SafeLoader") if hasattr(yaml, name)]


@pytest.fixture(params=LOADERS, autouse=True)
def loader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Every test runs with libyaml and with PyYAML's own parser, which stands in where libyaml is missing."""
    if request.param == "SafeLoader":
        monkeypatch.delattr(yaml, "CSafeLoader", raising=False)
    return str(request.param)


def write(folder: Path, text: str | bytes, name: str = "tool.yaml") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def faults(path: Path) -> list[tuple[int | None, str, str]]:
    """(line, field, message) of every problem, all of which must name the file."""
    _, problems = read_profile_files(path)
    assert {problem.source for problem in problems} <= {str(path)}
    return [(problem.line, problem.field, problem.message) for problem in problems]


def test_data_and_lines_of_a_profile(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "# a comment\n"
        "name: get_weather\n"
        "expected_latency_ms:\n"
        "  - 100\n"
        "  - 5.5\n"
        "required_fields: [temperature,\n"
        "  humidity]\n"
        "output_schema:\n"
        "  properties:\n"
        "    on: {type: number, const: null}\n"
        "    404: {const: 2024-01-31, enum: [yes, 'yes']}\n",
    )
    profiles, problems = read_profile_files(path)
    assert problems == []
    assert profiles[0].data == {
        "name": "get_weather",
        "expected_latency_ms": [100, 5.5],
        "required_fields": ["temperature", "humidity"],
        "output_schema": {
            "properties": {
                "on": {"type": "number", "const": None},
                "404": {"const": "2024-01-31", "enum": [True, "yes"]},
            }
        },
    }
    lines = profiles[0].lines
    assert lines[()] == 2
    assert lines["name",] == 2
    assert lines["expected_latency_ms",] == 3
    assert lines["expected_latency_ms", 1] == 5
    assert (lines["required_fields", 0], lines["required_fields", 1]) == (6, 7)
    assert lines["output_schema", "properties", "404", "enum", 1] == 11


def test_a_byte_order_mark_and_windows_line_ends_are_read(tmp_path: Path) -> None:
    path = write(tmp_path, b"\xef\xbb\xbfname: x\r\ndescription: \xc3\xa9t\xc3\xa9\r\n")
    profiles, problems = read_profile_files(path)
    assert problems == []
    assert profiles[0].data == {"name": "x", "description": "été"}
    assert profiles[0].lines["description",] == 2


def test_standard_tags_are_obeyed(tmp_path: Path) -> None:
    profiles, problems = read_profile_files(write(tmp_path, "name: !!str 404\nmin_response_length: !!int '7'\n"))
    assert problems == []
    assert profiles[0].data == {"name": "404", "min_response_length": 7}


@pytest.mark.parametrize(
    ("text", "line", "field", "words"),
    [
        pytest.param("name: x\nname: [\n", 3, "", "not valid YAML", id="syntax"),
        pytest.param("name: x\n\tb: 1\n", 2, "", "not valid YAML", id="tab"),
        pytest.param("name: x\nb: 'open\n\n", 4, "", "not valid YAML", id="open quote"),
        pytest.param("", 1, "", "is empty", id="empty"),
        pytest.param("# only a comment\n\n", 1, "", "is empty", id="comment only"),
        pytest.param("\n---\n", 3, "", "is empty", id="empty document"),
        pytest.param("\n- name: x\n", 2, "", "not a mapping", id="list"),
        pytest.param("just words\n", 1, "", "not a mapping", id="scalar"),
        pytest.param("name: x\n---\nname: y\n", 2, "", "second document", id="two documents"),
        pytest.param("name: x\nb: 1\nname: y\n", 3, "name", "given twice, first on line 1", id="duplicate"),
        pytest.param(
            "name: x\nechoes:\n  a: b\n  a: c\n", 4, "echoes.a", "given twice, first on line 3", id="nested duplicate"
        ),
        pytest.param("name: x\nb: &anchor 1\n", 2, "b", "anchor &anchor is not allowed", id="anchor"),
        pytest.param("name: x\nb: *nowhere\n", 2, "b", "alias *nowhere is not allowed", id="alias"),
        pytest.param("name: x\nb:\n  <<: {c: 1}\n", 3, "b", "merge keys", id="merge key"),
        pytest.param("name: x\nb: !secret y\n", 2, "b", "tag !secret is not allowed", id="tag"),
        pytest.param("name: x\nb:\n- !!python/object:os.system [ls]\n", 3, "b.0", "python/object", id="python tag"),
        pytest.param("name: x\nb: !!binary aGk=\n", 2, "b", "is not allowed", id="binary"),
        pytest.param("name: x\nb: !!set {c}\n", 2, "b", "is not allowed", id="set"),
        pytest.param("name: x\n!!int 5: y\n", 2, "5", "no tag", id="tagged key"),
        pytest.param("name: x\n? [a, b]\n: c\n", 2, "", "a key must be plain text", id="list as key"),
        pytest.param("name: x\nb: !!int seven\n", 2, "b", "'seven' is not a value of YAML's type int", id="not an int"),
        pytest.param("name: x\nb: !!bool maybe\n", 2, "b", "'maybe' is not a value", id="not a bool"),
        pytest.param("name: x\nb: 0b_\n", 2, "b", "'0b_' is not a value", id="binary number without digits"),
        pytest.param("name: x\nb: 1" + "0" * 5000 + "\n", 2, "b", "is not a value", id="number too long"),
        pytest.param("name: x\nb: \x07\n", 2, "", "unprintable character U+0007", id="control character"),
        pytest.param("name: x\nb: " + "[" * 5000, 2, "b.0.0", "more than 64 levels deep", id="deep list"),
        pytest.param("name: x\nb: " + "{a: " * 5000, 2, "b.a.a", "more than 64 levels deep", id="deep mapping"),
        pytest.param("name: x\nb: [" + "1," * 60_000 + "]", 2, "b.49997", "more than 50,000 values", id="many values"),
        pytest.param(b"name: x\nb: \xff\n", 2, "", "not UTF-8", id="latin-1"),
        pytest.param("name: x\n".encode("utf-16"), 1, "", "not UTF-8", id="UTF-16"),
        pytest.param(b"#" * (MAX_BYTES + 1), 1, "", "larger than 1,048,576 bytes", id="too large"),
    ],
)
def test_refused_with_file_and_line(tmp_path: Path, text: str | bytes, line: int, field: str, words: str) -> None:
    found = faults(write(tmp_path, text))
    assert [(at, of) for at, of, message in found if words in message] == [(line, field)], found


def test_a_file_of_the_largest_size_is_read(tmp_path: Path) -> None:
    head = b"name: x\n#"
    assert faults(write(tmp_path, head + b"-" * (MAX_BYTES - len(head)))) == []


def test_aliases_do_not_multiply(tmp_path: Path) -> None:
    """The "billion laughs": ten levels, each nine times the level before."""
    levels = ["l0: &l0 [lol]"] + [f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]" for n in range(1, 10)]
    path = write(tmp_path, "\n".join(levels))
    found = faults(path)
    assert len([message for _, _, message in found if message.startswith("alias")]) == 81
    assert len([message for _, _, message in found if message.startswith("anchor")]) == 10
    assert read_profile_files(path)[0][0].data == {"l0": ["lol"], **{f"l{n}": [] for n in range(1, 10)}}


def test_all_faults_of_a_file_are_reported_and_the_rest_is_read(tmp_path: Path) -> None:
    path = write(tmp_path, "name: x\nname: y\naliases: &a [b, *c]\nechoes: !odd {d: e}\nb: 0b_\n")
    profiles, problems = read_profile_files(path)
    assert [problem.line for problem in problems] == [2, 3, 3, 4, 5]
    assert profiles[0].data == {"name": "y", "aliases": ["b"]}


def test_a_file_that_is_not_yaml_is_not_read(tmp_path: Path) -> None:
    profiles, problems = read_profile_files(write(tmp_path, "name: x\nname: y\nb: [\n"))
    assert profiles == []
    assert [problem.line for problem in problems] == [2, 4]


def test_the_report_on_one_file_is_bounded(tmp_path: Path) -> None:
    profiles, problems = read_profile_files(write(tmp_path, "name: x\n" * 100_000))
    assert profiles == []
    assert [problem.line for problem in problems] == [*range(2, 102), 101]
    assert problems[-1].message == "has 100 problems to here; stopped reading"


def test_a_syntax_error_may_be_the_last_problem_that_fits(tmp_path: Path) -> None:
    profiles, problems = read_profile_files(write(tmp_path, "name: x\n" * 100 + "b: [\n"))
    assert profiles == []
    assert [problem.line for problem in problems] == [*range(2, 101), 102]


def test_a_folder_is_read_in_the_order_of_names(tmp_path: Path) -> None:
    for name in ("b.yaml", "c.yml", "a.YAML", ".hidden.yaml", "notes.txt", "d.yaml.bak"):
        write(tmp_path, f"name: {name}\n", name)
    (tmp_path / "folder.yaml").mkdir()
    write(tmp_path / "folder.yaml", "name: inside\n", "inside.yaml")
    profiles, problems = read_profile_files(str(tmp_path))
    assert problems == []
    assert [profile.data["name"] for profile in profiles] == ["a.YAML", "b.yaml", "c.yml"]
    assert [profile.stem for profile in profiles] == ["a", "b", "c"]


def test_a_file_is_read_whatever_its_ending(tmp_path: Path) -> None:
    profiles, _ = read_profile_files(write(tmp_path, "name: x\n", "profile.txt"))
    assert profiles[0].data == {"name": "x"}


def test_a_file_that_may_not_be_read_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, "name: x\n")

    def refuse(self: Path, mode: str) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    assert faults(path) == [(None, "", "cannot be read: Permission denied")]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("missing.yaml", "no such file or folder of profiles: "),
        ("", "has no *.yaml or *.yml file"),
        ("x" * 300, "cannot read profiles from|no such file"),
        ("nul\0byte", "no such file or folder of profiles"),
    ],
)
def test_nothing_to_read_is_a_configuration_error(tmp_path: Path, name: str, words: str) -> None:
    with pytest.raises(ConfigurationError, match=words.replace("*", r"\*")) as caught:
        read_profile_files(tmp_path / name)
    assert str(tmp_path) in str(caught.value)


def test_an_empty_path_is_not_the_current_folder() -> None:
    with pytest.raises(ConfigurationError, match="an empty path was given"):
        read_profile_files("")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    with pytest.raises(ConfigurationError, match="neither a file nor a folder"):
        read_profile_files(tmp_path / "pipe.yaml")
    with pytest.raises(ConfigurationError, match="no profiles in the folder"):
        read_profile_files(tmp_path)


@pytest.mark.skipif(os.name != "posix", reason="only POSIX file names can be other than Unicode")
def test_a_file_name_that_is_not_unicode_can_be_printed(tmp_path: Path) -> None:
    path = os.path.join(os.fsencode(tmp_path), b"\xff.yaml")
    try:
        with open(path, "wb") as stream:
            stream.write(b"[]")
    except OSError:
        pytest.skip("the file system refuses names that are not UTF-8")
    _, problems = read_profile_files(tmp_path)
    assert (
        str(problems[0])
        .encode()
        .endswith(b"?.yaml:1: is not a mapping; a profile is a mapping of fields, like `name: my_tool`")
    )
