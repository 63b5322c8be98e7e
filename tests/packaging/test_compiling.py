"""What is compiled, where and when: wheels where that can be done, and never the tree that is being edited."""

import importlib.util
import shlex
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Callable
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from types import ModuleType

import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]
Build = Callable[..., tuple[Path, str]]

ROOT = Path(__file__).parents[2]
LIBRARIES = (".so", ".pyd")
FALLS_BACK = "agentguard: building a pure Python wheel, for it cannot be compiled here"

compiler = shutil.which(shlex.split(sysconfig.get_config_var("CC") or "cc")[0])
packaging = pytest.mark.packaging
needs_mypyc = pytest.mark.skipif(importlib.util.find_spec("mypyc") is None, reason="mypyc comes with the extra 'dev'")
needs_compiler = pytest.mark.skipif(compiler is None, reason="there is no C compiler on this machine")


@pytest.fixture
def setup() -> ModuleType:
    """setup.py, which sets nothing up where it is imported."""
    spec = importlib.util.spec_from_file_location("agentguard_setup", ROOT / "setup.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def at_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


@pytest.fixture
def hidden(tmp_path: Path) -> str:
    """A folder for PYTHONPATH in which mypyc is a package that cannot be imported."""
    (tmp_path / "mypyc").mkdir()
    (tmp_path / "mypyc" / "__init__.py").write_text("raise ImportError('no mypyc here')")
    return str(tmp_path)


@pytest.fixture
def hasty(tmp_path: Path) -> str:
    """The C compiler without its optimiser, which is most of the time of a build and no part of what is tested."""
    script = tmp_path / "cc"
    script.write_text(f'#!/bin/sh\nexec {compiler} "$@" -O0\n')
    script.chmod(0o755)
    return str(script)


def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def libraries_in(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.suffix in LIBRARIES]


@pytest.mark.usefixtures("at_root")
def test_what_is_compiled_is_the_path_of_a_call_and_not_what_users_hold(setup: ModuleType) -> None:
    compiled = setup.compiled_modules()

    assert "src/agentguard/verification/_document.py" in compiled
    assert "src/agentguard/verification/_checks/_base.py" in compiled
    assert "src/agentguard/verification/_engine.py" not in compiled
    assert all((ROOT / path).is_file() for path in compiled)
    assert all(reason for reason in setup.INTERPRETED.values())


@pytest.mark.usefixtures("at_root")
def test_a_module_that_is_gone_is_missed(setup: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(setup.INTERPRETED, "gone.py", "was here once")

    with pytest.raises(SystemExit, match=r"not there: gone\.py"):
        setup.compiled_modules()


@packaging
@needs_mypyc
@needs_compiler
@pytest.mark.usefixtures("at_root")
def test_a_wheel_holds_each_compiled_module_beside_its_source(
    build: Build, tree: Path, setup: ModuleType, hasty: str
) -> None:
    before = {path.relative_to(tree) for path in tree.rglob("*") if ".egg-info" not in str(path)}
    wheel, _ = build(AGENTGUARD_COMPILE="1", CC=hasty)
    held = names(wheel)

    modules = [path.removeprefix("src/").removesuffix(".py") for path in setup.compiled_modules()]
    libraries = [*modules, "agentguard__mypyc", setup.CORE.replace(".", "/")]
    expected = {library + EXTENSION_SUFFIXES[0] for library in libraries}
    assert {name for name in held if name.endswith(LIBRARIES)} == expected
    assert {module + ".py" for module in modules} <= held
    assert not wheel.name.endswith("-any.whl")
    # Nothing is left behind: neither a library, which would shadow the source, nor a folder that a later build reads.
    assert {path.relative_to(tree) for path in tree.rglob("*") if ".egg-info" not in str(path)} == before


@packaging
@pytest.mark.parametrize("choice", [{}, {"AGENTGUARD_COMPILE": "1"}], ids=["by itself", "demanded"])
def test_an_editable_installation_is_never_compiled(
    choice: dict[str, str], run: Run, tree: Path, tmp_path: Path
) -> None:
    code = "from setuptools import build_meta; import sys; build_meta.build_editable(sys.argv[1])"
    run(sys.executable, "-c", code, tmp_path, cwd=tree, **choice)

    (wheel,) = tmp_path.glob("*.whl")
    assert not [name for name in names(wheel) if name.endswith(LIBRARIES)]
    assert not libraries_in(tree)


def test_no_library_lies_beside_the_source() -> None:
    assert not libraries_in(ROOT / "src")
    assert not libraries_in(ROOT / "integrations")


@packaging
def test_without_mypyc_a_wheel_is_pure_and_one_line_says_so(build: Build, hidden: str) -> None:
    wheel, written = build(PYTHONPATH=hidden)

    assert wheel.name.endswith("-py3-none-any.whl")
    assert not [name for name in names(wheel) if name.endswith(LIBRARIES)]
    (line,) = [line for line in written.splitlines() if FALLS_BACK in line]
    assert "no mypyc here" in line


@packaging
@needs_mypyc
def test_without_a_c_compiler_a_wheel_is_pure(build: Build, tmp_path: Path) -> None:
    wheel, written = build(CC=str(tmp_path / "absent"))

    assert wheel.name.endswith("-py3-none-any.whl")
    assert not [name for name in names(wheel) if name.endswith(LIBRARIES)]
    assert written.count(FALLS_BACK) == 1


@packaging
def test_what_is_demanded_and_cannot_be_had_is_an_error(run: Run, tree: Path, tmp_path: Path, hidden: str) -> None:
    command = [sys.executable, "setup.py", "bdist_wheel", "--dist-dir", tmp_path]
    failed = run(*command, cwd=tree, fails=True, AGENTGUARD_COMPILE="1", PYTHONPATH=hidden)

    assert "no mypyc here" in failed.stderr
    assert not list(tmp_path.glob("*.whl"))


@packaging
def test_demanded_and_forbidden_at_once_is_an_error(run: Run, tree: Path, tmp_path: Path) -> None:
    command = [sys.executable, "setup.py", "bdist_wheel", "--dist-dir", tmp_path]
    failed = run(*command, cwd=tree, fails=True, AGENTGUARD_COMPILE="1", AGENTGUARD_PURE_PYTHON="1")

    assert "contradict" in failed.stderr
    assert not list(tmp_path.glob("*.whl"))
