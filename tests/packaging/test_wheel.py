"""The pure wheel holds the whole package and works in an environment that has nothing else."""

import subprocess
import sys
import venv
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.packaging

Run = Callable[..., subprocess.CompletedProcess[str]]

ROOT = Path(__file__).parents[2]
FOLDERS = {"src/agentguard": "agentguard", "integrations": "agentguard/integrations", "profiles": "agentguard/profiles"}

EXTRAS = ("langchain", "langgraph", "mcp", "openai-agents", "pydantic-ai", "all", "test", "dev")

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


@pytest.fixture(scope="module")
def wheel(build: Callable[..., tuple[Path, str]]) -> Path:
    return build(AGENTGUARD_PURE_PYTHON="1")[0]


@pytest.fixture(scope="module")
def programs(wheel: Path, run: Run, pip: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of programs of a new environment that holds the wheel and its dependencies."""
    environment = tmp_path_factory.mktemp("environment")
    venv.create(environment, with_pip=False)
    programs = environment / ("Scripts" if sys.platform == "win32" else "bin")
    run(
        *pip,
        "--python",
        programs / "python",
        "install",
        "--quiet",
        "-c",
        ROOT / "constraints.txt",
        wheel,
        cwd=environment,
    )
    return programs


def test_wheel_holds_every_module_and_profile(wheel: Path) -> None:
    assert wheel.name.endswith("-py3-none-any.whl")
    expected = {
        f"{package}/{path.relative_to(ROOT / folder).as_posix()}"
        for folder, package in FOLDERS.items()
        for path in (ROOT / folder).rglob("*")
        if path.suffix in {".py", ".yaml", ".typed"}
    }
    with zipfile.ZipFile(wheel) as archive:
        held = set(archive.namelist())
        metadata = archive.read("agentguard-0.1.0.dist-info/METADATA").decode()

    assert {name for name in held if ".dist-info/" not in name} == expected
    assert {"agentguard/py.typed", "agentguard/integrations/callbacks.py"} <= held
    assert "agentguard-0.1.0.dist-info/licenses/LICENSE" in held
    assert "License-Expression: Apache-2.0" in metadata
    assert {f"Provides-Extra: {extra}" for extra in EXTRAS} <= set(metadata.splitlines())


def test_quick_start_runs_from_the_wheel(programs: Path, run: Run, tmp_path: Path) -> None:
    printed = run(programs / "python", "-c", QUICK_START, cwd=tmp_path).stdout

    assert printed.splitlines() == [
        "reference accept VerificationTier.TIER_1 0.127",
        "calibrated accept VerificationTier.TIER_1",
    ]


def test_an_integration_without_its_framework_names_the_extra(programs: Path, run: Run, tmp_path: Path) -> None:
    code = """
try:
    import agentguard.integrations.callbacks
except ImportError as error:
    print(error)
"""
    assert "pip install 'agentguard[langchain]'" in run(programs / "python", "-c", code, cwd=tmp_path).stdout


def test_profiles_are_listed_from_an_empty_folder(programs: Path, run: Run, tmp_path: Path) -> None:
    printed = run(programs / "agentguard", "profiles", "list", "--json", cwd=tmp_path).stdout

    assert "weather" in printed
    assert not list(tmp_path.iterdir())
