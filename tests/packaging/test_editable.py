"""An editable installation runs what is edited, and type checkers understand it, also from another folder."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.packaging

Run = Callable[..., subprocess.CompletedProcess[str]]

ROOT = Path(__file__).parents[2]
SCRIPT = """
from agentguard import VerificationEngine
from agentguard.integrations.functions import guarded
from agentguard.stores import open_store

engine = VerificationEngine(store=open_store("memory:"))
fits = guarded(engine, on_flag="block")
wrong = guarded(engine, on_flag="no such word")
reveal_type(engine.verify("add", result=3).posterior)
"""


def test_it_runs_what_is_edited(editable: Path, tree: Path, run: Run, tmp_path: Path) -> None:
    code = "import agentguard.integrations.functions as m, agentguard.profiles; print(m.__file__)"
    printed = run(editable / "python", "-c", code, cwd=tmp_path, PYTHONPATH="").stdout

    assert Path(printed.strip()).resolve() == (tree / "integrations" / "functions.py").resolve()


@pytest.mark.usefixtures("editable")
def test_it_leaves_nothing_but_links_in_the_tree(tree: Path) -> None:
    held = {path.relative_to(tree) for path in tree.rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    new = {path for path in held if not (ROOT / path).exists() and ".egg-info" not in str(path)}

    assert {path for path in new if path.parts[0] != ".layout"} == set()
    assert all(path.is_symlink() for path in (tree / ".layout" / "agentguard").iterdir() if path.name != "__pycache__")


def test_mypy_knows_its_types(editable: Path, tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    (tmp_path / "script.py").write_text(SCRIPT)
    command = [sys.executable, "-m", "mypy", "--strict", "--python-executable", str(editable / "python")]
    done = subprocess.run(
        [*command, "--cache-dir", str(tmp_path / "cache"), "script.py"],
        cwd=tmp_path,
        env={name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "MYPYPATH")},
        capture_output=True,
        text=True,
        check=False,
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("script.py")]

    assert len(lines) == 2, done.stdout + done.stderr
    assert lines[0].startswith('script.py:8: error: Argument "on_flag" to "guarded"')
    assert lines[1].endswith('Revealed type is "float"') or lines[1].endswith('Revealed type is "builtins.float"')
