"""The import contracts of pyproject.toml hold, and each of them notices what it is there to notice."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def wheel_layout(tmp_path: Path) -> Path:
    """The package as a wheel installs it, with the two top-level folders in their places."""
    skip = shutil.ignore_patterns("__pycache__")
    package = tmp_path / "agentguard"
    shutil.copytree(ROOT / "src" / "agentguard", package, ignore=skip)
    shutil.copytree(ROOT / "integrations", package / "integrations", ignore=skip)
    shutil.copytree(ROOT / "profiles", package / "profiles", ignore=skip)
    return tmp_path


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [
            sys.executable,
            "-c",
            "from importlinter.cli import lint_imports_command as main; main()",
            "--no-logo",
            "--no-cache",
            "--config",
            str(ROOT / "pyproject.toml"),
        ],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder), "COLUMNS": "200", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_contracts_are_kept(wheel_layout: Path) -> None:
    run = lint_imports(wheel_layout)

    assert run.returncode == 0, run.stdout + run.stderr
    assert "7 kept, 0 broken" in run.stdout


@pytest.mark.parametrize(
    ("contract", "module", "code"),
    [
        pytest.param("Each layer", "undeclared.py", "", id="a module without a layer"),
        pytest.param("Each layer", "stores/probe.py", "import agentguard.verification", id="upwards"),
        pytest.param("Each layer", "traces/probe.py", "import agentguard.integrations", id="integrations"),
        pytest.param(
            "verification, admin and content read", "verification/probe.py", "def f():\n    import time", id="a clock"
        ),
        pytest.param(
            "verification, admin and content read", "verification/probe.py", "from os import path", id="a file"
        ),
        pytest.param("Agent frameworks", "traces/probe.py", "import langchain_core.tools", id="a framework"),
        pytest.param("Nothing inside", "traces/probe.py", "from agentguard import AgentGuardError", id="the face"),
        pytest.param(
            "No check imports",
            "verification/_checks/probe_a.py",
            "import agentguard.verification._checks.probe_b",
            id="another check",
        ),
        pytest.param("No circles", "traces/probe_a.py", "import agentguard.traces.probe_b", id="a circle"),
    ],
)
def test_contract_notices(wheel_layout: Path, contract: str, module: str, code: str) -> None:
    file = wheel_layout / "agentguard" / module
    file.write_text(code)
    if file.name == "probe_a.py":
        file.with_name("probe_b.py").write_text("from . import probe_a" if contract == "No circles" else "")

    run = lint_imports(wheel_layout)

    summary, _, reasons = run.stdout.partition("Broken contracts")
    broken = [line for line in summary.splitlines() if " BROKEN" in line]
    assert run.returncode == 1, run.stdout + run.stderr
    assert any(line.startswith(contract) for line in broken), run.stdout
    assert file.stem in reasons or contract == "No circles", run.stdout


def test_source_tree_alone_notices_integrations(tmp_path: Path) -> None:
    """`make lint` sees src without the folders at the top; the rule holds there too."""
    shutil.copytree(ROOT / "src" / "agentguard", tmp_path / "agentguard")
    (tmp_path / "agentguard" / "traces" / "probe.py").write_text("import agentguard.integrations.langchain")

    run = lint_imports(tmp_path)

    assert run.returncode == 1, run.stdout + run.stderr
    assert "Nothing inside imports agentguard.integrations, or agentguard's own face BROKEN" in run.stdout
    assert "agentguard.traces.probe -> agentguard" in run.stdout
