"""A tool behind a LiteLLM proxy makes a result up: the client reads the block, and calls again, rightly this time."""

import os
import secrets
import sys
from pathlib import Path

key = f"sk-{secrets.token_hex(32)}"
os.environ.update(
    CONFIG_FILE_PATH="config.yaml", LITELLM_ENABLE_MCP_STDIO="true", LITELLM_LOCAL_MODEL_COST_MAP="True",
    LITELLM_MASTER_KEY=key, PYTHON=sys.executable,
)  # fmt: skip
os.chdir(Path(__file__).with_name("litellm"))

from fastapi.testclient import TestClient  # noqa: E402 -- LiteLLM reads the environment when it is imported
from litellm.proxy.proxy_server import app  # noqa: E402

# What `litellm --config config.yaml` serves, in this process.
with TestClient(app, headers={"Authorization": f"Bearer {key}"}) as client:
    (tool,) = client.get("/mcp-rest/tools/list").json()["tools"]
    for flight in ("LH400", "LH 400"):
        call = {"name": tool["name"], "arguments": {"flight": flight}, "server_id": tool["mcp_info"]["server_id"]}
        answer = client.post("/mcp-rest/tools/call", json=call).json()["content"][0]["text"]
        print(f"The client reads: {answer}")
print(f"Recovered: {flight} leaves from {'B42' if 'B42' in answer else 'nowhere'}.")
