"""``agentguard gate``: a model's claims held against trusted documents, before the model is released."""

from __future__ import annotations

from agentguard.cli._gate.labels import calibrate, label
from agentguard.cli._gate.records import claims, compare, dashboard, explain, history
from agentguard.cli._gate.running import ingest, init, run
from agentguard.cli._options import command_group

gate = command_group(
    "Hold a model's claims against trusted documents: deploy, warn or block. Exit code: 0 deploy or warn, "
    "1 block, 3 error, 130 interrupted."
)
for command in (init, ingest, run, history, claims, compare, explain, label, calibrate, dashboard):
    gate.command(command.__name__)(command)
