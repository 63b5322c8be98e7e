"""The pure wheel holds the whole package and works in an environment that has nothing else."""

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

# The documentation's first example; its confidence is the documented 0.127.
QUICK_START = """
from agentguard.verification import VerificationEngine

for mode in ("reference", "calibrated"):
    engine = VerificationEngine(mode=mode)
    engine.register_tool_profile("get_weather",
        expected_latency_ms=(100, 5000),
        required_fields=["temperature", "humidity"],
        has_network_io=True,
    )
    result = engine.verify("get_weather",
        args={"city": "London"},
        result={"temperature": 18, "humidity": 65},
        execution_time_ms=350.0,
    )
    print(mode, result.verdict, result.tier_reached, *([f"{result.confidence:.3f}"] if mode == "reference" else []))
"""


def holds(wheel: Path) -> dict[str, str]:
    """Every file of a wheel, by its digest."""
    with zipfile.ZipFile(wheel) as archive:
        return {name: hashlib.sha256(archive.read(name)).hexdigest() for name in archive.namelist()}


@pytest.fixture(scope="module")
def metadata(pure: Path) -> Message:
    with zipfile.ZipFile(pure) as archive:
        return email.message_from_bytes(archive.read(f"agentguard-{PROJECT['version']}.dist-info/METADATA"))


def test_wheel_holds_every_file_of_the_package_and_no_other(pure: Path, tree: Path) -> None:
    assert pure.name == f"agentguard-{PROJECT['version']}-py3-none-any.whl"
    expected = {
        f"{package}/{path.relative_to(tree / folder).as_posix()}": hashlib.sha256(path.read_bytes()).hexdigest()
        for folder, package in FOLDERS.items()
        for path in (tree / folder).rglob("*")
        if path.is_file() and path.suffix != ".c"  # of which a compiled wheel has the library
    }

    held = {name: digest for name, digest in holds(pure).items() if ".dist-info/" not in name}
    assert set(held) ^ set(expected) == set()
    assert held == expected


def test_wheel_says_what_it_is(metadata: Message, pure: Path) -> None:
    assert metadata["Name"] == "agentguard"
    assert metadata["Version"] == PROJECT["version"]
    assert metadata["Requires-Python"] == ">=3.10"
    assert metadata["License-Expression"] == "Apache-2.0"
    assert f"agentguard-{PROJECT['version']}.dist-info/licenses/LICENSE" in holds(pure)
    assert set(metadata.get_all("Provides-Extra", [])) == set(PROJECT["optional-dependencies"])
    classifiers = metadata.get_all("Classifier", [])
    assert "Typing :: Typed" in classifiers
    assert {f"Programming Language :: Python :: 3.{minor}" for minor in (10, 11, 12, 13)} <= set(classifiers)
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert str(metadata.get_payload()).startswith("# agentguard")


def test_nothing_is_required_without_an_extra_but_the_dependencies(metadata: Message) -> None:
    always = [line for line in metadata.get_all("Requires-Dist", []) if "extra ==" not in line]

    assert set(map(Requirement, always)) == set(map(Requirement, PROJECT["dependencies"]))


def test_quick_start_runs_from_the_wheel(programs: Path, run: Run, tmp_path: Path) -> None:
    printed = run(programs / "python", "-c", QUICK_START, cwd=tmp_path).stdout

    assert printed.splitlines() == [
        "reference accept VerificationTier.TIER_1 0.127",
        "calibrated accept VerificationTier.TIER_1",
    ]


def test_the_smoke_test_of_releases_passes_and_tells_compiled_from_pure(
    programs: Path, run: Run, tmp_path: Path
) -> None:
    smoke = [programs / "python", ROOT / "tools" / "smoke.py"]
    assert "FAILED" not in run(*smoke, "--pure", cwd=tmp_path).stdout

    assert "FAILED: it is pure, and --compiled was said" in run(*smoke, "--compiled", cwd=tmp_path, fails=True).stdout


def test_an_integration_without_its_framework_names_the_extra(programs: Path, run: Run, tmp_path: Path) -> None:
    code = """
try:
    import agentguard.integrations.callbacks
except ImportError as error:
    print(error)
"""
    assert "pip install 'agentguard[langchain]'" in run(programs / "python", "-c", code, cwd=tmp_path).stdout


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
    command: str, extra: str, programs: Path, run: Run, tmp_path: Path
) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "warranty.md").write_text("The warranty lasts two years.\n", encoding="utf-8")
    agentguard = programs / "agentguard"
    run(agentguard, "gate", "init", "--use-case", "a shop's assistant", "--docs", "docs/", cwd=tmp_path)
    said = run(agentguard, *command.split(), cwd=tmp_path, fails=True, AGENTGUARD_API_KEY="k" * 40, COLUMNS="200")

    assert f"pip install 'agentguard[{extra}]'" in said.stderr
    assert len(said.stderr.splitlines()) == 1


def test_profiles_are_listed_from_an_empty_folder(programs: Path, run: Run, tmp_path: Path) -> None:
    printed = run(programs / "agentguard", "profiles", "list", "--json", cwd=tmp_path).stdout

    assert "weather" in printed
    assert not list(tmp_path.iterdir())
