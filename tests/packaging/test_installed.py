"""`make test-compiled` tests a compiled wheel, and not by mistake the source that lies beside the tests."""

import importlib.util
import os
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

import agentguard
import agentguard.integrations

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif("AGENTGUARD_COMPILE" not in os.environ, reason="only `make test-compiled` demands compiled modules")
def test_what_is_tested_is_installed_and_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    spec = importlib.util.spec_from_file_location("agentguard_setup", ROOT / "setup.py")
    assert spec is not None
    assert spec.loader is not None
    setup = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(setup)

    modules = [path.removeprefix("src/").removesuffix(".py").replace("/", ".") for path in setup.compiled_modules()]
    modules.append(setup.CORE)
    found = {module: str(importlib.import_module(module).__file__) for module in modules}
    assert {module for module, file in found.items() if not file.endswith(tuple(EXTENSION_SUFFIXES))} == set()
    packages = Path(str(agentguard.__file__)).parent, Path(str(agentguard.integrations.__file__)).parents[1]
    assert packages[0] == packages[1]
    assert ROOT / "src" not in packages[0].parents
