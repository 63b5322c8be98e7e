"""load_profiles: every fault of every file in one error, and nothing but that error."""

import re
import tempfile
from pathlib import Path

import jsonschema_rs
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agentguard.errors import ConfigurationError, ProfileError
from agentguard.verification import ToolProfile, load_profiles
from agentguard.verification.profile import parse_profile, schema_validator


def write(folder: Path, **files: str) -> Path:
    for stem, text in files.items():
        (folder / f"{stem}.yaml").write_text(text, encoding="utf-8")
    return folder


def faults(path: Path) -> list[str]:
    """The problems as they are printed, without the folder in front."""
    with pytest.raises(ProfileError) as caught:
        load_profiles(path)
    printed = str(caught.value).splitlines()[1:]
    assert printed == [f"  {problem}" for problem in caught.value.problems]
    folder = path if path.is_dir() else path.parent
    return [line.strip().removeprefix(f"{folder}/") for line in printed]


def test_profiles_are_those_of_the_files(tmp_path: Path) -> None:
    write(
        tmp_path,
        weather="expected_latency_ms: [100, 5000]\nrequired_fields: [temperature]\n",
        search="name: search_web\naliases: [web, 'find_*']\nhas_network_io: false\n",
    )
    assert load_profiles(tmp_path) == [
        ToolProfile(name="search_web", aliases=("web", "find_*"), has_network_io=False),
        ToolProfile(name="weather", expected_latency_ms=(100, 5000), required_fields=("temperature",)),
    ]
    assert load_profiles(tmp_path / "weather.yaml")[0].name == "weather"


def test_all_faults_of_all_files_are_reported_at_once(tmp_path: Path) -> None:
    write(
        tmp_path,
        a="name: one\nname: two\nrequierd_fields: [x]\nresponse_patterns:\n  - fine\n  - '('\n  - 'x(?=y)'\n",
        b="name: three\nmin_response_length: 10\n\nmax_response_length: 5\nexpected_latency_ms: [9, 3]\n",
        c="a: [\n",
        d="output_schema:\n  type: object\n  properties:\n    price:\n      type: nmuber\n",
        e="name: good\n",
    )
    found = faults(tmp_path)
    assert [line.split(": ", 2)[:2] for line in found] == [
        ["a.yaml:2", "name"],
        ["a.yaml:3", "requierd_fields"],
        ["a.yaml:6", "response_patterns.1"],
        ["a.yaml:7", "response_patterns.2"],
        ["b.yaml:4", "max_response_length"],
        ["b.yaml:5", "expected_latency_ms"],
        ["c.yaml:2", "is not valid YAML"],
        ["d.yaml:5", "output_schema.properties.price.type"],
    ]
    assert found[1] == "a.yaml:3: requierd_fields: unknown field; did you mean 'required_fields'?"
    assert "'(' is not a regular expression" in found[2]
    assert found[3].endswith("rewrite it or set regex_engine: re")
    assert found[4].endswith("must be at least min_response_length (10), not 5")
    assert found[5].endswith("must be 0 <= minimum < maximum in milliseconds, not (9, 3)")


def test_the_error_counts_files_and_problems(tmp_path: Path) -> None:
    write(tmp_path, a="x: 1\n", b="x: 1\ny: 2\n")
    with pytest.raises(ProfileError, match=r"^2 profiles have 3 problems:"):
        load_profiles(tmp_path)
    with pytest.raises(ProfileError, match=f"^{re.escape(str(tmp_path))}/b.yaml has 2 problems:"):
        load_profiles(tmp_path / "b.yaml")


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("name: x\nmin_response_length: -1\n", 2, "min_response_length: Input should be greater than or equal to 0"),
        ("min_response_length: true\n", 1, "min_response_length: Input should be a valid integer"),
        ("min_response_length: '10'\n", 1, "min_response_length: Input should be a valid integer"),
        ("expected_latency_ms: [true, 5]\n", 1, "expected_latency_ms.0: Input should be a valid number"),
        ("expected_latency_ms: [1, .inf]\n", 1, "expected_latency_ms.1: Input should be a finite number"),
        ("expected_latency_ms: [1]\n", 1, "expected_latency_ms: must be two numbers, the shortest"),
        ("expected_latency_ms: 5-30000\n", 1, "expected_latency_ms: must be two numbers, the shortest and the longest "
         "time in milliseconds: write [5, 30000]"),
        ("name: 404\n", 1, "name: Input should be a valid string"),
        ("name:\n", 1, "name: Input should be a valid string"),
        ("aliases:\n- a\n- ''\n", 3, "aliases.1: String should have at least 1 character"),
        ("regex_engine: pcre\n", 1, "regex_engine: Input should be 're2' or 're'"),
        ("on_error: maybe\n", 1, "on_error: Input should be 'open' or 'closed'"),
        ("required_fields: [a, b]\nforbidden_fields: [c, b]\n", 2, "forbidden_fields: no result can satisfy this: 'b'"),
        ("output_schema: [object]\n", 1, "output_schema"),
        ("required_fields: price\n", 1, "required_fields: is one text, and must be a list: write [price]"),
        ("aliases: shop *\n", 1, 'aliases: is one text, and must be a list: write ["shop *"]'),
        ("required_fields:\n- a\n- price..amount\n", 3,
         "required_fields.1: 'price..amount' has a dot with no name beside it; write 'price.amount'"),
        ("forbidden_fields: ['rows[0].id']\n", 1, "forbidden_fields.0: 'rows[0].id' has '[0]', where [] stands for"),
        ("aliases:\n- x\n- '*'\n", 3, "aliases.1: '*' claims every tool"),
        ("echoes:\n  a: b\n  c: 'd[*].e'\n", 3, "echoes.c.path: 'd[*].e' has '[*]'"),
        ("echoes:\n  a.: b\n", 2, "echoes.a.: 'a.' has a dot with no name beside it; write 'a'"),
        ("echoes: {a: {path: b, rows: all}}\n", 1, "echoes.a.rows: Input should be 'any' or 'every'"),
        ("echoes: {a: {path: b, row: any}}\n", 1, "echoes.a.row: unknown field; did you mean 'rows'?"),
        ("echoes: {a: {path: b, every: true}}\n", 1, "echoes.a.every: unknown field; known are path, rows"),
        ("tool: shop\n", 1, "tool: unknown field; did you mean 'name'?"),
        ("colour: red\n", 1, "colour: unknown field; docs/reference/profile.md lists the fields of a profile"),
        ("has_network_io: 'false'\n", 1, "has_network_io: Input should be a valid boolean, not the text false: write "
         "false without quotes"),
        ("idempotent: 'yes'\n", 1, "idempotent: Input should be a valid boolean, not the text yes: write true without"),
        ("echoes: [order_id]\n", 1, "echoes: must map arguments to places in the result: write {order_id: order_id}"),
        ("echoes: {a: [b]}\n", 1, "echoes.a: must be a path like rows[].id, or a mapping with path and rows"),
        ("output_schema:\n  pattern: 'x(?=y)'\n", 2, "output_schema.pattern: is not a valid JSON Schema"),
        ("output_schema:\n  $ref: '#/$defs/nowhere'\n", 1, "output_schema: is not a valid JSON Schema"),
    ],
)  # fmt: skip
def test_one_fault(tmp_path: Path, text: str, line: int, words: str) -> None:
    found = faults(write(tmp_path, tool=text))
    assert found[0].startswith(f"tool.yaml:{line}: {words}"), found


def test_lookaround_needs_the_other_engine(tmp_path: Path) -> None:
    text = "response_patterns: ['x(?=y)']\noutput_schema: {pattern: 'x(?=y)'}\n"
    assert len(faults(write(tmp_path, tool=text))) == 2
    assert load_profiles(write(tmp_path, tool=text + "regex_engine: re\n"))[0].response_patterns == ("x(?=y)",)


@pytest.mark.parametrize(
    "scheme", ["http://127.0.0.1:9/schema.json", "https://127.0.0.1:9/x", "file://{path}", "x.json"]
)
def test_a_schema_reads_no_other_document(tmp_path: Path, scheme: str) -> None:
    """The file exists and holds a schema that allows everything: were it read, the profile would be valid."""
    other = tmp_path / "other.json"
    other.write_text("true")
    reference = scheme.format(path=other)
    with pytest.raises(ProfileError, match="not a valid JSON Schema"):
        parse_profile({"name": "x", "output_schema": {"$ref": reference}})
    if scheme.startswith("file"):
        assert jsonschema_rs.validator_for({"$ref": reference}).is_valid(1), "jsonschema_rs itself would have read it"


def test_a_pattern_in_a_schema_may_not_backtrack_unless_declared() -> None:
    with pytest.raises(ValueError, match="regex"):
        schema_validator({"pattern": r"(a)\1"})
    assert schema_validator({"pattern": r"(a)\1"}, regex_engine="re").is_valid("aa")
    assert not schema_validator({"pattern": "^a+$"}).is_valid("ab")


def test_two_profiles_may_not_claim_one_name(tmp_path: Path) -> None:
    write(
        tmp_path,
        a="name: search\naliases: [find, look_*, own, own]\n",
        b="name: other\naliases:\n  - look_*\n  - find\n",
        c="aliases: [search]\n",
        other="description: takes its name from the file\n",
    )
    folder = re.escape(str(tmp_path))
    assert [re.sub(f"{folder}/", "", line) for line in faults(tmp_path)] == [
        "b.yaml:3: aliases.0: 'look_*' is claimed by a.yaml too; a tool name can have one profile",
        "b.yaml:4: aliases.1: 'find' is claimed by a.yaml too; a tool name can have one profile",
        "c.yaml:1: aliases.0: 'search' is claimed by a.yaml too; a tool name can have one profile",
        "other.yaml:1: name: 'other' is claimed by b.yaml too; a tool name can have one profile",
    ]


def test_shipped_profiles_are_loaded_without_a_path() -> None:
    names = [profile.name for profile in load_profiles()]
    assert len(names) >= 15
    assert names == sorted(names)


YAML_PIECES = st.sampled_from(
    [*": - , [ ] { } # & * ! | > ' \" % @ ? ~ << \n --- ... \t true null 1 1.5 .nan 0x1F 1:30 2024-01-31".split(" "),
     "\n", "\n  ", "\n- ", ": ", "\n---\n", "&a ", "*a", "!!str ", "!!int ", "!x ", "\\ud800", '"\\ud800"', "<<: ",
     *ToolProfile.model_fields, "re", "re2", "(?=", "$ref", "type", "object", "items", "#", "http://127.0.0.1:9/"]
)  # fmt: skip


@given(
    st.one_of(
        st.lists(YAML_PIECES, max_size=40).map("".join).map(str.encode),
        st.binary(max_size=60),
        st.text().map(lambda text: text.encode("utf-8", "replace")),
    )
)
@example(b"output_schema: {const: 0x" + b"f" * 50 + b"}")
@example(b"min_response_length: 0x" + b"f" * 60)
@example(b"output_schema: {minimum: .inf, const: .nan}")
def test_any_bytes_load_or_raise_a_configuration_error(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "tool.yaml")
        path.write_bytes(data)
        said = None
        try:
            assert len(load_profiles(path)) == 1
        except ConfigurationError as error:
            said = str(error)
        assert said is None or str(path) in said


PLAIN = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
    max_leaves=8,
)


@given(
    st.dictionaries(
        st.one_of(st.sampled_from(sorted(ToolProfile.model_fields)), st.text(max_size=3)), PLAIN, max_size=5
    )
)
@example({"name": "x", "output_schema": {"const": 10**5000}})
@example({"name": "x", "min_response_length": 10**5000, "max_response_length": 1})
@example({"name": "x", "\ud800": 1})
def test_any_plain_data_parses_or_raises_a_profile_error(data: dict[str, object]) -> None:
    sources = {"profile"}
    try:
        assert parse_profile(data).name == data["name"]
    except ProfileError as error:
        sources = {problem.source for problem in error.problems}
    assert sources == {"profile"}
