"""Whose key signs: the environment's, shared by processes, or the process's own; and what needs no framework."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from agentguard.errors import ConfigurationError
from agentguard.integrations._extras import needs
from agentguard.integrations.receipts import KEY_VARIABLE, receipt_signer
from agentguard.verification.receipts import ReceiptSigner

KEY = "sixteen bytes and more"


def token(signer: ReceiptSigner) -> str:
    return signer.sign("add", {}, "2", call_id="c1", issued_at=1.0)


def test_the_key_of_the_environment_is_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_VARIABLE, KEY)

    assert ReceiptSigner(KEY.encode()).read(token(receipt_signer())) is not None


def test_without_one_the_process_has_its_own_and_keeps_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEY_VARIABLE, raising=False)

    assert receipt_signer().read(token(receipt_signer())) is not None
    assert ReceiptSigner(KEY.encode()).read(token(receipt_signer())) is None


def in_another_process(code: str, **env: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if name != KEY_VARIABLE}
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env={**clean, **env}
    )


SIGN = """
from agentguard.integrations.receipts import receipt_signer
print(receipt_signer().sign('add', {}, '2', call_id='c1', issued_at=1.0))
"""


def test_another_process_has_another_key_unless_it_is_given_this_one(monkeypatch: pytest.MonkeyPatch) -> None:
    alone, shared = (
        in_another_process(SIGN).stdout.strip(),
        in_another_process(SIGN, **{KEY_VARIABLE: KEY}).stdout.strip(),
    )

    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    assert alone.startswith("v2.")
    assert receipt_signer().read(alone) is None
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    assert receipt_signer().read(shared) is not None


@pytest.mark.parametrize("key", ["", "short"])
def test_a_short_key_is_refused_rather_than_replaced(monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    monkeypatch.setenv(KEY_VARIABLE, key)
    with pytest.raises(ConfigurationError, match="16 bytes"):
        receipt_signer()


WITHOUT = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"langchain", "langchain_core", "langgraph"}:
            raise ImportError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Missing())
"""


def test_transcripts_are_verified_without_any_framework() -> None:
    code = WITHOUT + "from agentguard.integrations.receipts import verify_transcript\nprint(verify_transcript([]))"

    assert in_another_process(code).stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("module", "missing", "extra"),
    [("langchain", "langchain", "langchain"), ("langgraph", "langchain_core", "langgraph")],
)
def test_an_integration_without_its_framework_names_the_extra(module: str, missing: str, extra: str) -> None:
    run = in_another_process(WITHOUT + f"import agentguard.integrations.{module}")

    assert run.returncode == 1
    assert run.stderr.strip().splitlines()[-1] == (
        f"ImportError: agentguard.integrations.{extra} needs {missing}; pip install 'agentguard[{extra}]'"
    )


def test_the_error_keeps_the_name_of_the_missing_module() -> None:
    error = needs("mcp", ImportError("No module named 'mcp.types'", name="mcp.types"))

    assert error.name == "mcp.types"
    assert str(error) == "agentguard.integrations.mcp needs mcp; pip install 'agentguard[mcp]'"
