"""The wheel holds the whole package, and works in an environment with its dependencies alone."""

import email
import hashlib
import subprocess
import sys
import zipfile
from collections.abc import Callable
from email.message import Message
from pathlib import Path

import pytest
from packaging.requirements import Requirement

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

pytestmark = pytest.mark.packaging

Run = Callable[..., subprocess.CompletedProcess[str]]

ROOT = Path(__file__).parents[2]
FOLDERS = {"src/agentguard": "agentguard", "integrations": "agentguard/integrations", "profiles": "agentguard/profiles"}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def holds(wheel: Path) -> dict[str, str]:
    """Every file of a wheel, by its digest."""
    with zipfile.ZipFile(wheel) as archive:
        return {name: hashlib.sha256(archive.read(name)).hexdigest() for name in archive.namelist()}


@pytest.fixture(scope="module")
def metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        return email.message_from_bytes(archive.read(f"agentguard-{PROJECT['version']}.dist-info/METADATA"))


def test_wheel_holds_every_file_of_the_package_and_no_other(wheel: Path, tree: Path) -> None:
    assert wheel.name == f"agentguard-{PROJECT['version']}-py3-none-any.whl"
    expected = {
        f"{package}/{path.relative_to(tree / folder).as_posix()}": hashlib.sha256(path.read_bytes()).hexdigest()
        for folder, package in FOLDERS.items()
        for path in (tree / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }

    held = {name: digest for name, digest in holds(wheel).items() if ".dist-info/" not in name}
    assert set(held) ^ set(expected) == set()
    assert held == expected


def test_wheel_says_what_it_is(metadata: Message, wheel: Path) -> None:
    assert metadata["Name"] == "agentguard"
    assert metadata["Version"] == PROJECT["version"]
    assert metadata["Requires-Python"] == ">=3.10"
    assert metadata["License-Expression"] == "Apache-2.0"
    assert f"agentguard-{PROJECT['version']}.dist-info/licenses/LICENSE" in holds(wheel)
    assert set(metadata.get_all("Provides-Extra", [])) == set(PROJECT["optional-dependencies"])
    classifiers = metadata.get_all("Classifier", [])
    assert "Typing :: Typed" in classifiers
    assert {f"Programming Language :: Python :: 3.{minor}" for minor in (10, 11, 12, 13)} <= set(classifiers)
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert str(metadata.get_payload()).startswith("# agentguard")


def test_nothing_is_required_without_an_extra_but_the_dependencies(metadata: Message) -> None:
    always = [line for line in metadata.get_all("Requires-Dist", []) if "extra ==" not in line]

    assert set(map(Requirement, always)) == set(map(Requirement, PROJECT["dependencies"]))


def test_the_smoke_test_of_releases_passes_and_leaves_no_files(core: Path, run: Run, tmp_path: Path) -> None:
    assert "FAILED" not in run(core / "python", ROOT / "tools" / "smoke.py", cwd=tmp_path).stdout
    assert not list(tmp_path.iterdir())


def test_an_integration_without_its_framework_names_the_extra(core: Path, run: Run, tmp_path: Path) -> None:
    code = """
try:
    import agentguard.integrations.callbacks
except ImportError as error:
    print(error)
"""
    assert "pip install 'agentguard[langchain]'" in run(core / "python", "-c", code, cwd=tmp_path).stdout


@pytest.fixture(scope="module")
def shop(core: Path, run: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a document and a configuration of the gate."""
    folder = tmp_path_factory.mktemp("shop")
    (folder / "docs").mkdir()
    (folder / "docs" / "warranty.md").write_text("The warranty lasts two years.\n", encoding="utf-8")
    run(core / "agentguard", "gate", "init", "--use-case", "a shop's assistant", "--docs", "docs/", cwd=folder)
    return folder


@pytest.mark.parametrize(
    ("command", "extra"),
    [
        ("demo --agent", "langchain"),
        ("gate ingest", "gate"),
        ("serve --root .", "serve"),
        ("serve --verify", "serve"),
        ("state inspect --store redis://localhost:6379/0", "redis"),
    ],
)
def test_a_command_without_its_extra_names_it_in_one_line(
    command: str, extra: str, core: Path, shop: Path, run: Run
) -> None:
    words = command.split()
    said = run(core / "agentguard", *words, cwd=shop, fails=True, AGENTGUARD_API_KEY="k" * 40, COLUMNS="200")

    assert f"pip install 'agentguard[{extra}]'" in said.stderr
    assert len(said.stderr.splitlines()) == 1
