"""The workflow that publishes: what it may do, what it runs, and that a fork's copy of it does nothing."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
TEXT = (
    (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8") if (ROOT / ".github").is_dir() else ""
)

pytestmark = pytest.mark.skipif(not TEXT, reason="a source distribution holds no workflows")


@pytest.fixture(scope="module")
def workflow() -> dict[str, Any]:
    loaded: dict[Any, Any] = yaml.safe_load(TEXT)
    return {str(key): value for key, value in loaded.items()} | {"on": loaded[True]}  # YAML 1.1 reads `on` as true


def test_only_a_tag_of_a_version_starts_it(workflow: dict[str, Any]) -> None:
    assert workflow["on"] == {"push": {"tags": ["v[0-9]+.[0-9]+.[0-9]+*"]}}


def test_every_job_may_read_and_only_the_last_may_publish(workflow: dict[str, Any]) -> None:
    assert workflow["permissions"] == {}
    granted = {name: job["permissions"] for name, job in workflow["jobs"].items()}
    publish = granted.pop("publish")

    assert all(permissions == {"contents": "read"} for permissions in granted.values())
    assert publish == {"attestations": "write", "contents": "write", "id-token": "write"}
    assert workflow["jobs"]["publish"]["environment"] == "pypi"
    assert set(workflow["jobs"]["publish"]["needs"]) == set(granted)


def test_no_job_runs_on_a_fork(workflow: dict[str, Any]) -> None:
    assert {job["if"] for job in workflow["jobs"].values()} == {"${{ !github.event.repository.fork }}"}


def test_actions_are_pinned_to_a_version(workflow: dict[str, Any]) -> None:
    used = [step["uses"] for job in workflow["jobs"].values() for step in job["steps"] if "uses" in step]

    assert used
    assert [one for one in used if not re.search(r"@v\d+\.\d+\.\d+$", one)] == []


def test_what_comes_from_outside_goes_through_the_environment_and_no_secret_is_used(workflow: dict[str, Any]) -> None:
    scripts = [step["run"] for job in workflow["jobs"].values() for step in job["steps"] if "run" in step]

    assert [script for script in scripts if "${{" in script] == []
    assert "secrets." not in TEXT


def test_the_job_that_publishes_runs_nothing_of_the_checkout(workflow: dict[str, Any]) -> None:
    used = [step.get("uses", "") for step in workflow["jobs"]["publish"]["steps"]]

    assert not [one for one in used if one.startswith("actions/checkout")]


def test_tools_are_pinned() -> None:
    lines = (ROOT / "tools" / "requirements.txt").read_text(encoding="utf-8").splitlines()

    assert all(re.fullmatch(r"[a-z0-9-]+==[0-9.]+", line) for line in lines if not line.startswith("#"))
