"""Learned profiles as files: they say what the draft says, whatever the names, and stay in their folder."""

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentguard.errors import ConfigurationError
from agentguard.traces import TraceRow
from agentguard.traces._counts import partial
from agentguard.traces._inference import Declaration, Draft, draft_profile
from agentguard.traces._profile_yaml import file_name, profile_yaml, write_profiles
from agentguard.verification import ToolCall, load_profiles

from ..rows import over

AWKWARD = ["yes", "null", "~", "1e3", "0x1F", "a: b", "- a", "#x", "{a}", "'", '"\\', "../x", "é", "=", "<<"]
UNPRINTABLE = ["\u2028", "\x85", "\ufeff", "\x00", "\U0001f600"]
names = st.text(min_size=1, max_size=12) | st.sampled_from([*AWKWARD, *UNPRINTABLE])


def learned(tool: str, answers: list[Any]) -> Draft:
    calls = [ToolCall(tool, {"q": n}, answer, 80.0 + n) for n, answer in enumerate(answers)]
    rows = [TraceRow("f", 1, call, None) for call in calls]
    ((name, state),) = partial(rows).tools.entries.items()
    drafted = draft_profile(name, state)
    assert isinstance(drafted, Draft), drafted
    return drafted


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(names.filter(lambda name: "*" not in name), st.lists(names, min_size=1, max_size=4, unique=True))
def test_a_file_reads_back_as_the_profile_it_was_written_from(tmp_path: Path, tool: str, fields: list[str]) -> None:
    answers = [{"serial": n, **{field: {field: f"2024-05-{n % 28 + 1:02d}"} for field in fields}} for n in range(40)]
    draft = learned(tool, answers)

    (path,) = write_profiles([draft], tmp_path, force=True)

    assert path.parent == tmp_path
    assert load_profiles(path) == [draft.profile()]
    path.unlink()


@given(st.text(min_size=1), st.text(min_size=1))
def test_file_names_stay_in_the_folder_and_differ(one: str, other: str) -> None:
    for name in (one, other):
        made = file_name(name)
        assert os.path.basename(made) == made
        assert made.isascii()
        assert not made.startswith((".", "-"))
        assert len(made) <= 80
    assert (file_name(one).lower() == file_name(other).lower()) == (one == other)


@over(
    ("tool", "stem"),
    [
        ("get_weather", "get_weather"),
        ("../../etc/passwd", "etc_passwd-"),
        ("con", "con-"),
        ("/", "tool-"),
        ("Get", "Get-"),
    ],
)
def test_file_names_a_person_can_read(tool: str, stem: str) -> None:
    assert file_name(tool).startswith(stem)


def test_counts_stand_in_comments() -> None:
    text = profile_yaml(learned("get_order", [{"id": f"A-{n}", "day": f"2024-05-{n % 28 + 1:02d}"} for n in range(59)]))

    assert "# Learned from 59 calls: 59 answers, 59 of them distinct, and 0 error reports.\n" in text
    assert "  - id  # in 59 of 59: at least 95% of all (95%)\n" in text
    assert '    day: {type: string, format: date, pattern: "^(?:[0-9]{4}-[0-9]{2}-[0-9]{2})$"}  # 59 of 59: at' in text
    assert all(len(line) < 200 for line in text.splitlines())


def test_what_was_left_out_and_what_is_broken_is_said() -> None:
    kept = Declaration("required_fields", ("id",), "id", "in 40 of 40", broken=2, held_out=90)
    gone = Declaration("output_schema", ("properties", "a\nb", "type"), "string", "40 of 40", broken=3, held_out=90)
    text = profile_yaml(Draft("t", 40, 40, 40, (kept,), (gone,), notes=("a note",)))

    assert "  - id  # in 40 of 40; BROKEN by 2 of 90 held-out calls\n" in text
    assert "# Note: a note.\n" in text
    assert text.endswith(
        "# Left out, because held-out calls broke it:\n"
        "#   output_schema: properties.a\\x0ab.type: string  # 40 of 40; BROKEN by 3 of 90 held-out calls\n"
    )


def test_what_held_and_was_too_thin_stands_in_comments_with_its_counts() -> None:
    thin = (
        Declaration("echoes", ("id",), {"path": "rows[].id", "rows": "every"}, "came back in 9 of 9", missing=31),
        Declaration("output_schema", ("properties", "currency", "enum"), ["EUR", "no", None], "9 of 9", missing=None),
    )
    draft = Draft("t", 20, 20, 9, (Declaration("max_response_length", (), 1_000, "why"),), (), thin)
    text = profile_yaml(draft)

    assert text.endswith(
        "# Held in every answer, and in too few to declare it. Make it a line where you know it to be so:\n"
        '#   echoes: id: {path: "rows[].id", rows: every}  # came back in 9 of 9\n'
        '#   output_schema: properties.currency.enum: [EUR, "no", null]  # 9 of 9\n'
    )


def test_fixed_values_and_rows_read_back_as_written(tmp_path: Path) -> None:
    declared = (
        Declaration("max_response_length", (), 1_000, "why"),
        Declaration("echoes", ("id",), {"path": "rows[].id", "rows": "every"}, "why"),
        Declaration("echoes", ("city",), "city", "why"),
        Declaration("output_schema", ("properties", "required", "const"), "const", "why"),
        Declaration("output_schema", ("properties", "state", "enum"), ["off", "on, or so", "null", None], "why"),
    )
    draft = Draft("t", 200, 200, 200, declared)

    (path,) = write_profiles([draft], tmp_path)

    (profile,) = load_profiles(path)
    assert profile == draft.profile()
    assert profile.output_schema == {
        "properties": {"required": {"const": "const"}, "state": {"enum": ["off", "on, or so", "null", None]}}
    }


def test_no_file_is_replaced_unless_it_is_asked_for(tmp_path: Path) -> None:
    answers = [{"id": n} for n in range(40)]
    (tmp_path / "b.yaml").write_text("name: mine\n")
    drafts = [learned("a", answers), learned("b", answers)]

    with pytest.raises(ConfigurationError, match=r"has b\.yaml already: choose another folder, or --force"):
        write_profiles(drafts, tmp_path)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"b.yaml": "name: mine\n"}

    write_profiles(drafts, tmp_path, force=True)
    assert {profile.name for profile in load_profiles(tmp_path)} == {"a", "b"}
    assert len(list(tmp_path.iterdir())) == 2


def test_a_link_is_replaced_and_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text("untouched")
    folder = tmp_path / "profiles"
    folder.mkdir()
    (folder / "a.yaml").symlink_to(outside)

    write_profiles([learned("a", [{"id": n} for n in range(40)])], folder, force=True)

    assert outside.read_text() == "untouched"
    assert not (folder / "a.yaml").is_symlink()


def test_a_folder_that_cannot_be_made_is_an_error_in_words(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(ConfigurationError, match="cannot write profiles to"):
        write_profiles([learned("a", [{"id": n} for n in range(40)])], tmp_path / "file" / "below")
