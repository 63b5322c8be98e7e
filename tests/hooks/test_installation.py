"""Hooks are put into a settings file and taken out again, and all else in it stays as it was."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.errors import ConfigurationError
from agentguard.hooks import Agent, HookSettings, Place, install, place_of, remove, status_of
from agentguard.hooks._installation import commands_in

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda children: st.lists(children, max_size=4) | st.dictionaries(texts, children, max_size=4),
    max_leaves=12,
)
handlers = st.fixed_dictionaries(
    {"type": st.just("command"), "command": texts}, optional={"timeout": st.integers(1, 90)}
)
groups = st.fixed_dictionaries({"hooks": st.lists(handlers, max_size=3)}, optional={"matcher": texts})
events = st.sampled_from(["PostToolUse", "PreToolUse", "Stop", "PostToolUseFailure", "SessionStart"])
data = st.dictionaries(texts, values, max_size=4).flatmap(
    lambda rest: st.fixed_dictionaries(
        {}, optional={"hooks": st.dictionaries(events, st.lists(groups, max_size=3))}
    ).map(lambda hooks: {**rest, **hooks})
)
layouts = st.sampled_from([None, 0, 1, 2, 4, "\t"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("project")


def placed(folder: Path, agent: Agent = "claude") -> Place:
    return place_of(agent, folder, folder / "state", user=False)


def chosen(agent: Agent = "claude", **more: Any) -> HookSettings:
    return HookSettings(agent=agent, store="/var/lib/agentguard", **more)


def written(place: Place, text: str | bytes) -> bytes:
    held = text.encode() if isinstance(text, str) else text
    place.file.parent.mkdir(parents=True, exist_ok=True)
    place.file.write_bytes(held)
    return held


@given(data=data, indent=layouts, ascii_only=st.booleans(), end=st.sampled_from(["", "\n", "\r\n", "  \n"]))
def test_what_was_there_is_there_again_to_the_byte(
    folder: Path, data: dict[str, Any], indent: Any, ascii_only: bool, end: str
) -> None:
    place = placed(folder)
    held = written(place, json.dumps(data, indent=indent, ensure_ascii=ascii_only) + end)

    install(place, chosen())
    install(place, chosen(enforce=True))
    assert set(commands_in(place)) == {"PostToolUse", "PostToolUseFailure", "Stop"}
    now = json.loads(place.file.read_bytes())
    assert {name: value for name, value in now.items() if name != "hooks"} == {
        name: value for name, value in data.items() if name != "hooks"
    }
    for event, there in data.get("hooks", {}).items():
        assert now["hooks"][event][: len(there)] == there

    assert remove(place)
    assert place.file.read_bytes() == held
    assert not place.folder.exists()


@given(data=data, indent=layouts)
def test_of_a_file_that_was_changed_meanwhile_the_hooks_alone_are_taken(
    folder: Path, data: dict[str, Any], indent: Any
) -> None:
    place = placed(folder)
    written(place, json.dumps(data, indent=indent))
    install(place, chosen())
    changed = json.loads(place.file.read_bytes())
    changed["model"] = "another"
    changed["hooks"]["Stop"].append({"hooks": [{"type": "command", "command": "say done"}]})
    written(place, json.dumps(changed, indent=indent))

    assert remove(place)

    expected = json.loads(json.dumps({**data, "model": "another"}))
    expected.setdefault("hooks", {}).setdefault("Stop", []).append(
        {"hooks": [{"type": "command", "command": "say done"}]}
    )
    assert json.loads(place.file.read_bytes()) == expected


def test_whatever_stands_beside_our_hooks_stays(folder: Path) -> None:
    place = placed(folder)
    written(place, "{}")
    install(place, chosen())
    changed = json.loads(place.file.read_bytes())
    changed["hooks"]["Stop"] = [None, *changed["hooks"]["Stop"], 7, {"hooks": None}]
    written(place, json.dumps(changed))
    assert remove(place)
    assert json.loads(place.file.read_bytes()) == {"hooks": {"Stop": [None, 7, {"hooks": None}]}}


def test_a_hook_that_was_put_into_our_group_stays(folder: Path) -> None:
    place = placed(folder)
    written(place, "{}")
    install(place, chosen())
    changed = json.loads(place.file.read_bytes())
    changed["hooks"]["Stop"][0]["hooks"].append({"type": "command", "command": "say done"})
    written(place, json.dumps(changed))
    remove(place)
    assert json.loads(place.file.read_bytes()) == {
        "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say done"}]}]}
    }


def test_a_file_that_was_not_there_is_gone_again(tmp_path: Path) -> None:
    place = placed(tmp_path)
    install(place, chosen())
    assert remove(place)
    assert not place.file.parent.exists()
    assert not remove(place)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1,\n // no\n}', "is not JSON (line 2, column 2"),
        ("", "is not JSON (line 1, column 1"),
        ("[]", "holds no JSON object"),
        ('{"a": 1, "a": 2}', "has the key 'a' twice"),
        ('{"a": NaN}', "it has NaN"),
        ('{"a": 1e999}', "cannot be written back as it is"),
        ('{"hooks": []}', "'hooks' must be an object"),
        ('{"hooks": {"Stop": {}}}', "'hooks.Stop' must be a list"),
        (b"\xff\xfe", "is not JSON that can be kept"),
    ],
)
def test_a_file_that_cannot_be_kept_as_it_is_is_refused_and_not_touched(
    tmp_path: Path, text: str | bytes, message: str
) -> None:
    place = placed(tmp_path)
    held = written(place, text)
    with pytest.raises(ConfigurationError) as refused:
        install(place, chosen())
    assert str(place.file) in str(refused.value)
    assert message in str(refused.value)
    assert place.file.read_bytes() == held
    assert not place.folder.exists()


def test_a_place_where_no_file_can_be_is_told(tmp_path: Path) -> None:
    (tmp_path / ".claude").write_text("")
    with pytest.raises(ConfigurationError, match="cannot be read: Not a directory"):
        install(placed(tmp_path), chosen())


def test_a_link_stays_a_link_and_the_file_keeps_its_mode(tmp_path: Path) -> None:
    target = tmp_path / "dotfiles.json"
    target.write_text("{}")
    target.chmod(0o640)
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude/settings.local.json").symlink_to(target)
    install(placed(tmp_path), chosen())
    assert (tmp_path / ".claude/settings.local.json").is_symlink()
    assert "hooks" in json.loads(target.read_bytes())
    assert target.stat().st_mode & 0o777 == 0o640


def test_the_settings_are_the_users_alone(tmp_path: Path) -> None:
    place = placed(tmp_path)
    install(place, chosen())
    assert place.folder.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in place.folder.iterdir()} == {0o600}


def test_a_stop_is_open_whatever_the_policy(tmp_path: Path) -> None:
    place = placed(tmp_path)
    install(place, chosen(enforce=True, on_guard_error="closed"))
    assert [shlex.split(command)[-1] for command in commands_in(place).values()] == ["closed", "closed", "open"]
    hooks = json.loads(place.file.read_bytes())["hooks"]
    assert [hooks[event][0]["hooks"][0].get("onFailure") for event in hooks] == ["block", "block", None]


def test_codex_has_a_file_of_its_own_and_no_event_for_failures(tmp_path: Path) -> None:
    place = placed(tmp_path, "codex")
    install(place, chosen("codex"))
    assert place.file == (tmp_path / ".codex/hooks.json").resolve()
    assert list(commands_in(place)) == ["PostToolUse", "Stop"]


def test_the_users_own_file_is_where_the_agent_looks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "cx"))
    assert place_of("claude", Path("/p"), tmp_path, user=True).file == (tmp_path / ".claude/settings.json").resolve()
    assert place_of("codex", Path("/p"), tmp_path, user=True).file == (tmp_path / "cx/hooks.json").resolve()


def test_an_interpreter_that_was_moved_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = placed(tmp_path)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "gone/bin/python"))
    install(place, chosen())
    problems = status_of(place).problems
    assert len(problems) == 1
    assert "gone/bin/python is not there any more" in problems[0]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"on_guard_error": "closed"}, "needs enforce"),
        ({"idle_seconds": 0}, "idle_seconds must be in"),
        ({"store": "redis://guard:secret@cache.example/0"}, "holds a password"),
        ({"agent": "cursor"}, "claude or codex"),
    ],
)
def test_settings_that_cannot_be_used_are_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message) as refused:
        HookSettings(**{"agent": "claude", "store": "/s", **fields})
    assert "secret" not in str(refused.value)
