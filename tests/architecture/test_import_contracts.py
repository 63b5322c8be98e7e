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


# What each contract forbids: the beginning of its name, a module, and what stands in it.
FORBIDDEN = [
    ("Each layer", "undeclared.py", ""),
    ("Each layer", "stores/upwards.py", "import agentguard.verification"),
    ("Each layer", "traces/inwards.py", "import agentguard.integrations"),
    ("verification, admin and content read", "verification/clocked.py", "def f():\n    import time"),
    ("verification, admin and content read", "verification/filed.py", "from os import path"),
    ("Agent frameworks", "traces/framed.py", "import langchain_core.tools"),
    ("Nothing inside", "traces/faced.py", "from agentguard import AgentGuardError"),
    ("No check imports", "verification/_checks/importing.py", "import agentguard.verification._checks.imported"),
    ("No circles", "traces/in_a_circle.py", "import agentguard.traces.and_round"),
]


def test_contracts_notice(wheel_layout: Path) -> None:
    package = wheel_layout / "agentguard"
    for _, module, code in FORBIDDEN:
        (package / module).write_text(code)
    (package / "verification/_checks/imported.py").write_text("")
    (package / "traces/and_round.py").write_text("from . import in_a_circle")

    run = lint_imports(wheel_layout)

    summary, _, reasons = run.stdout.partition("Broken contracts")
    broken = [line for line in summary.splitlines() if " BROKEN" in line]
    names = [line.partition(" BROKEN")[0] for line in broken]
    assert run.returncode == 1, run.stdout + run.stderr
    places = sorted(reasons.index(f"\n{name}\n") for name in names)
    parts = [reasons[start:end] for start, end in zip(places, [*places[1:], None], strict=True)]
    for contract, module, _ in FORBIDDEN:
        [part] = [part for part in parts if part.strip().startswith(contract)]
        assert Path(module).stem in part, (contract, module, run.stdout)


def test_source_tree_alone_notices_integrations(tmp_path: Path) -> None:
    """`make lint` sees src without the folders at the top; the rule holds there too."""
    shutil.copytree(ROOT / "src" / "agentguard", tmp_path / "agentguard")
    (tmp_path / "agentguard" / "traces" / "probe.py").write_text("import agentguard.integrations.langchain")

    run = lint_imports(tmp_path)

    assert run.returncode == 1, run.stdout + run.stderr
    assert "Nothing inside imports agentguard.integrations, or agentguard's own face BROKEN" in run.stdout
    assert "agentguard.traces.probe -> agentguard" in run.stdout
