"""The pinned versions fit together: with them an installation can be resolved, on this Python."""

from importlib.metadata import distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]


def pins(text: str) -> dict[str, str]:
    """The versions that hold on this Python, by canonical name."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        if stated := line.partition("#")[0].strip():
            requirement = Requirement(stated)
            if requirement.marker is None or requirement.marker.evaluate():
                (specifier,) = requirement.specifier
                assert specifier.operator == "==", line
                assert canonicalize_name(requirement.name) not in found, line
                found[canonicalize_name(requirement.name)] = specifier.version
    return found


def conflicts(pinned: dict[str, str]) -> list[str]:
    """What an installed distribution, of the version pinned, asks for and does not get."""
    found = []
    for distribution in distributions():
        if pinned.get(canonicalize_name(distribution.name)) != distribution.version:
            continue
        for line in distribution.requires or ():
            asked = Requirement(line)
            if asked.marker is not None and not asked.marker.evaluate({"extra": ""}):
                continue
            version = pinned.get(canonicalize_name(asked.name))
            if version is not None and not asked.specifier.contains(version, prereleases=True):
                found.append(f"{distribution.name} {distribution.version} asks for {asked}, pinned is {version}")
    return found


def test_pinned_versions_fit_together() -> None:
    assert conflicts(pins((ROOT / "constraints.txt").read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize("name", ["constraints.txt", "constraints-lowest.txt"])
def test_lines_are_sorted_and_pin_each_package_once(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]

    assert pins(text)
    assert lines == sorted(lines)


def test_a_conflict_is_told() -> None:
    (told,) = conflicts({"pytest": pytest.__version__, "pluggy": "0.1"})

    assert told.startswith(f"pytest {pytest.__version__} asks for pluggy")
    assert told.endswith("pinned is 0.1")
