"""A small real gate behind the API: two documents, three recorded answers, of whose claims one is false."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from agentguard.gate._config import load_config
from agentguard.gate._run import open_services
from agentguard.gate.api import create_app
from agentguard.gate.documents._ingest import ingest

KEY = "test-key-0123456789"

RETURNS = """# Returns

You can return a lamp within 30 days of delivery.

The refund is paid within 5 working days.
"""
WARRANTY = """# Warranty

The warranty of a lamp lasts 24 months.
"""
ANSWERS = [
    ("How long can I return a lamp?", "You can return a lamp within 30 days of delivery."),
    ("When is the refund paid?", "The refund is paid within 5 working days."),
    ("How long is the warranty?", "The warranty of a lamp lasts 60 months."),
]
CONFIG = """use_case: help desk of a lamp maker
evaluation: {responses: answers.jsonl}
doc_sources: [{type: local, path: docs}]
"""


def write_gate(folder: Path, config: str = CONFIG) -> Path:
    """A folder with documents, answers and a configuration; the documents are read."""
    (folder / "docs").mkdir(parents=True)
    (folder / "docs" / "returns.md").write_text(RETURNS)
    (folder / "docs" / "warranty.md").write_text(WARRANTY)
    rows = [json.dumps({"prompt": prompt, "response": response}) for prompt, response in ANSWERS]
    (folder / "answers.jsonl").write_text("\n".join(rows) + "\n")
    file = folder / ".llm-reliability.yaml"
    file.write_text(config)
    configured = load_config(file)
    with open_services(configured) as services:
        ingest(configured, services)
    return folder


@pytest.fixture
def key() -> str:
    return KEY


@pytest.fixture(scope="session")
def make_gate() -> Callable[..., Path]:
    return write_gate


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_gate(tmp_path / "root")


@pytest.fixture
def client(root: Path) -> TestClient:
    return TestClient(create_app(root, api_key=KEY), headers={"X-API-Key": KEY})
