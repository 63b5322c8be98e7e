"""scipy is loaded where numbers are asked for, and its absence is said with what to do."""

import json
import subprocess
import sys

import pytest

from agentguard.calibration import Label, attainable, fit
from agentguard.errors import ConfigurationError


@pytest.mark.parametrize("module", ["agentguard.calibration", "agentguard.cli"])
def test_importing_loads_neither_scipy_nor_numpy(module: str) -> None:
    code = f"import json, sys, {module}; print(json.dumps([name.partition('.')[0] for name in sys.modules]))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert not {"scipy", "numpy"} & set(json.loads(run.stdout))


def test_without_scipy_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("scipy", "scipy.special", "scipy.optimize", "scipy.sparse"):
        monkeypatch.setitem(sys.modules, module, None)

    with pytest.raises(ConfigurationError, match=r"pip install 'agentguard\[calibrate\]'"):
        attainable([1.0], 0.95)
    with pytest.raises(ConfigurationError, match=r"pip install 'agentguard\[calibrate\]'"):
        fit([Label("t", 0.1, False)])
