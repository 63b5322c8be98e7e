"""The MCP proxy, held to the promises of integrations."""

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, ClassVar

from agentguard.proxy._connection import Connection
from agentguard.proxy._guarding import Guarding
from agentguard.testing import IntegrationConformance

from ..integrations.answers import MCP, answer
from .conftest import call, line, passed


class TestProxy(IntegrationConformance):
    """The MCP proxy."""

    kinds = ("sync",)
    controls: ClassVar[Any] = {}
    cannot: ClassVar[Any] = {"control": "the proxy sees messages, and runs no tool"}

    def forms(self) -> Any:
        link = {"type": "resource_link", "uri": "shop://7", "name": "seven"}
        forms = {**MCP, "link": lambda text: answer({**link, "description": text})}
        results = {name: lambda text, form=form: {"result": form(text)} for name, form in forms.items()}
        return {**results, "error of the protocol": lambda text: {"error": {"code": -32000, "message": text}}}

    def reads(self, guard: Any, tools: Sequence[Any], kind: str) -> list[str]:
        lines = [line({"jsonrpc": "2.0", "id": number, **make()}) for number, make in enumerate(tools)]
        if guard is not None:
            guarding = Guarding(guard)
            connection = Connection(guarding)
            for number in range(len(tools)):
                assert connection.sent(call(number, "lookup")) is None
            with ThreadPoolExecutor(len(tools)) as pool:
                lines = list(pool.map(partial(passed, connection), lines))
            guarding.close()
        return [_shown(json.loads(each)) for each in lines]


def _shown(message: Any) -> str:
    """The answer without what is for programs alone."""
    result = message.get("result", {})
    return str([result.get("content"), result.get("structuredContent"), message.get("error", {}).get("message")])
