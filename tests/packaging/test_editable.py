"""An editable installation is one that type checkers understand, also from another folder and for both top folders."""

import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.packaging

Run = Callable[..., subprocess.CompletedProcess[str]]

SCRIPT = """
from agentguard import VerificationEngine
from agentguard.integrations.functions import guarded
from agentguard.integrations.langchain import ToolGuardMiddleware
from agentguard.stores import open_store

engine = VerificationEngine(store=open_store("memory:"))
fits = ToolGuardMiddleware(engine, on_flag="block")
wrong = ToolGuardMiddleware(engine, on_flag="no such word")
reveal_type(engine.verify("add", result=3).posterior)
"""


@pytest.fixture(scope="module")
def installed(tree: Path, run: Run, pip: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment with an editable installation of the copy, and a folder beside with a script."""
    folder = tmp_path_factory.mktemp("editable")
    code = "from setuptools import build_meta; import sys; build_meta.build_editable(sys.argv[1])"
    run(sys.executable, "-c", code, folder, cwd=tree)
    (wheel,) = folder.glob("*.whl")
    venv.create(folder / "environment", with_pip=False)
    programs = folder / "environment" / ("Scripts" if sys.platform == "win32" else "bin")
    run(*pip, "--python", programs / "python", "install", "--quiet", "--no-deps", wheel, cwd=folder)
    # What it depends on is where the tests have it.
    base = {"base": str(folder / "environment"), "platbase": str(folder / "environment")}
    packages = Path(sysconfig.get_path("purelib", vars=base))
    (packages / "tested.pth").write_text(sysconfig.get_path("purelib") + "\n")
    (folder / "elsewhere").mkdir()
    (folder / "elsewhere" / "script.py").write_text(SCRIPT)
    return programs


@pytest.fixture
def elsewhere(installed: Path) -> Path:
    return installed.parents[1] / "elsewhere"


def test_it_runs_what_is_edited(installed: Path, elsewhere: Path, tree: Path, run: Run) -> None:
    code = "import agentguard.integrations.functions as m, agentguard.profiles; print(m.__file__)"
    printed = run(installed / "python", "-c", code, cwd=elsewhere, PYTHONPATH="").stdout

    assert Path(printed.strip()).resolve() == (tree / "integrations" / "functions.py").resolve()


def test_mypy_knows_its_types(installed: Path, elsewhere: Path, tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path), "script.py"]
    done = subprocess.run(
        [*command, "--python-executable", str(installed / "python")],
        cwd=elsewhere,
        env={name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "MYPYPATH")},
        capture_output=True,
        text=True,
        check=False,
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("script.py")]

    assert len(lines) == 2, done.stdout + done.stderr
    assert lines[0].startswith('script.py:9: error: Argument "on_flag" to "ToolGuardMiddleware"')
    assert lines[1].endswith('Revealed type is "float"') or lines[1].endswith('Revealed type is "builtins.float"')


@pytest.mark.skipif(
    importlib.util.find_spec("pyright") is None or shutil.which("node") is None,
    reason="pyright comes with the extra 'dev', and runs on node",
)
def test_pyright_knows_its_types(installed: Path, elsewhere: Path) -> None:
    command = [sys.executable, "-m", "pyright", "--pythonpath", str(installed / "python"), "script.py"]
    done = subprocess.run(command, cwd=elsewhere, capture_output=True, text=True, check=False)

    assert "could not be resolved" not in done.stdout
    assert "no such word" in done.stdout
    assert "1 error, " in done.stdout
    assert 'Type of "engine.verify("add", result=3).posterior" is "float"' in done.stdout
