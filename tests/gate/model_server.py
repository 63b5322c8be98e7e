"""A model server on loopback that speaks three protocols, for tests that go through the real client libraries.

OpenAI (``/v1/chat/completions``, ``/v1/embeddings``), Ollama (``/api/chat``, ``/api/embed``) and Bedrock
(``/model/ID/converse``, and Titan's ``/model/ID/invoke``). What it answers is a function of system and user text, or a
fault; every request is taken down.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote

DIMENSIONS = 16


@dataclass(frozen=True)
class Fault:
    """What goes wrong in place of an answer.

    Attributes:
        status: of HTTP.
        message: put where the protocol has its error messages.
        body: sent as it is, in place of all else.
        hang: nothing is sent, until the server closes.
        retry_after: seconds to wait, as a header.
    """

    status: int = 200
    message: str = "it is broken"
    body: str | None = None
    hang: bool = False
    retry_after: int | None = None


@dataclass(frozen=True)
class Asked:
    """One request. ``user`` is the last user message, or the texts to embed on a line each."""

    protocol: str
    path: str
    model: str
    system: str
    user: str
    body: dict[str, Any]
    authorization: str


Answer = Callable[[str, str], "str | Fault"]


class ModelServer:
    """Answers by ``answer(system, user)``, which tests replace; ``requests`` holds what was asked, as it came in."""

    fault = Fault

    def __init__(self) -> None:
        self.answer: Answer = lambda system, user: f"You asked: {user}"
        self.refuse_embeddings: Fault | None = None
        self.requests: list[Asked] = []
        self.peak = 0
        """The most requests that were under way at once."""
        self._under_way = 0
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._http = _Http(("127.0.0.1", 0), _Handler)
        self._http.models = self
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    def __enter__(self) -> ModelServer:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop; from now on connections are refused. May be called twice."""
        if not self._closing.is_set():
            self._closing.set()
            self._http.shutdown()
            self._http.server_close()
            self._thread.join()

    def base_url(self, provider: str) -> str:
        """The address as a configuration has it for a provider."""
        return f"{self.url}/v1" if provider == "openai" else self.url

    def of(self, protocol: str) -> list[Asked]:
        """What was asked in a protocol: ``openai``, ``ollama``, ``bedrock``, with ``-embeddings`` behind it."""
        return [asked for asked in self.requests if asked.protocol == protocol]

    def take(self, path: str, body: dict[str, Any], authorization: str) -> tuple[int, dict[str, str], str] | None:
        """Status, headers and body for a request; None: hang up without a word."""
        with self._lock:
            self._under_way += 1
            self.peak = max(self.peak, self._under_way)
        try:
            asked = _read(path, body, authorization)
            with self._lock:
                self.requests.append(asked)
            embedding = "embeddings" in asked.protocol
            told = (self.refuse_embeddings or "") if embedding else self.answer(asked.system, asked.user)
            if isinstance(told, str):
                return 200, {}, json.dumps(_write(asked, told))
            if told.hang:
                self._closing.wait(60)
                return None
            if told.body is not None:
                return told.status, {}, told.body
            headers, body = _write_fault(asked, told)
            wait = {} if told.retry_after is None else {"Retry-After": str(told.retry_after)}
            return told.status, {**headers, **wait}, body
        finally:
            with self._lock:
                self._under_way -= 1


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64
    models: ModelServer


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        assert isinstance(self.server, _Http)
        raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        told = self.server.models.take(self.path, json.loads(raw), self.headers.get("Authorization", ""))
        if told is None:
            return
        status, headers, body = told
        try:
            self.send_response(status)
            for name, value in {"Content-Type": "application/json", **headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body.encode())))
            self.end_headers()
            self.wfile.write(body.encode())
        except ConnectionError:
            return  # the client has given up waiting

    def log_message(self, format: str, *args: Any) -> None:
        """Tests look at ``requests``."""


def embed(text: str) -> list[float]:
    """A vector that depends on the text's words alone."""
    vector = [0.0] * DIMENSIONS
    for word in text.lower().split():
        vector[sum(word.encode()) % DIMENSIONS] += 1.0
    return vector


def _read(path: str, body: dict[str, Any], authorization: str) -> Asked:
    if path == "/v1/embeddings" or path == "/api/embed":
        texts = body["input"] if isinstance(body["input"], list) else [body["input"]]
        protocol = "openai-embeddings" if path.startswith("/v1") else "ollama-embeddings"
        return Asked(protocol, path, body["model"], "", "\n".join(texts), body, authorization)
    if path.startswith("/model/"):
        model, _, operation = unquote(path.removeprefix("/model/")).rpartition("/")
        if operation == "invoke":
            return Asked("bedrock-embeddings", path, model, "", body["inputText"], body, authorization)
        assert operation == "converse", path
        system = "".join(block["text"] for block in body.get("system", []))
        user = "".join(block["text"] for block in body["messages"][-1]["content"])
        return Asked("bedrock", path, model, system, user, body, authorization)
    assert path in ("/v1/chat/completions", "/api/chat"), path
    said = {message["role"]: message["content"] for message in body["messages"]}
    protocol = "openai" if path.startswith("/v1") else "ollama"
    return Asked(protocol, path, body["model"], said.get("system", ""), said["user"], body, authorization)


def _write(asked: Asked, text: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": text}
    texts = asked.body.get("input", "")
    vectors = [embed(each) for each in ([texts] if isinstance(texts, str) else texts)]
    if asked.protocol == "openai":
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        whole = {"id": "c1", "object": "chat.completion", "created": 0, "model": asked.model}
        return {**whole, "choices": [choice], "usage": usage}
    if asked.protocol == "ollama":
        whole = {"model": asked.model, "created_at": "2024-01-01T00:00:00Z", "done": True, "done_reason": "stop"}
        return {**whole, "message": message, "eval_count": 1, "prompt_eval_count": 1}
    if asked.protocol == "bedrock":
        usage = {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}
        output = {"message": {"role": "assistant", "content": [{"text": text}]}}
        return {"output": output, "stopReason": "end_turn", "usage": usage, "metrics": {"latencyMs": 1}}
    if asked.protocol == "bedrock-embeddings":
        return {"embedding": embed(asked.user), "inputTextTokenCount": 1}
    if asked.protocol == "ollama-embeddings":
        return {"model": asked.model, "embeddings": vectors}
    data = [{"object": "embedding", "index": place, "embedding": vector} for place, vector in enumerate(vectors)]
    return {"object": "list", "data": data, "model": asked.model, "usage": {"prompt_tokens": 1, "total_tokens": 1}}


def _write_fault(asked: Asked, fault: Fault) -> tuple[dict[str, str], str]:
    if asked.protocol.startswith("openai"):
        return {}, json.dumps({"error": {"message": fault.message, "type": "error", "code": "rate_limit"}})
    if asked.protocol.startswith("ollama"):
        return {}, json.dumps({"error": fault.message})
    kind = {429: "ThrottlingException", 403: "AccessDeniedException"}.get(fault.status, "InternalServerException")
    return {"x-amzn-ErrorType": kind}, json.dumps({"message": fault.message})
