"""Webhook: posts each transition of a lasting change, signed, from a thread of its own."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import importlib
import json
import logging
import os
import threading
import time
from collections import deque
from types import ModuleType
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from agentguard import _forks as forks
from agentguard.errors import ConfigurationError, StoreError
from agentguard.stores import Store
from agentguard.telemetry._disclosing import safe_text, warm_up
from agentguard.telemetry._engines import ChangeStates, moment
from agentguard.telemetry._observer import Observation, Observer
from agentguard.verification import VerificationEngine
from agentguard.verification._changes import Change

SECRET_VARIABLE: Final = "AGENTGUARD_WEBHOOK_SECRET"  # noqa: S105 - the name of the variable, not what it holds
CLAIMS: Final = "webhook"
LEAST_SECRET: Final = 16  # characters
MOST_WAIT: Final = 30.0  # seconds between two attempts
_ENCODED: Final = "whsec_"  # how Standard Webhooks marks a secret in base64
_PASSING: Final = frozenset({408, 425, 429})  # with all of 500 to 599
_log = logging.getLogger("agentguard")


class _Message(NamedTuple):
    id: str
    body: bytes


class _PassingError(Exception):
    """The receiver could not take the message just now."""


class _RefusedError(Exception):
    """The receiver will never take the message."""


class WebhookObserver(Observer):
    """Posts ``{"change", "tool", "state", "what", "at"}`` to an address whenever a lasting change takes another state.

    A change that the engine has followed comes with ``why``.

    A call only queues the message. A thread sends it, retries what fails for the moment (connections, 408, 425, 429 and
    5xx; with ``stamina`` if that is installed, else with waits that double), and follows no redirection. A failure is
    logged once until a message is delivered again; the change stays in the store in any case.

    Requests are signed by Standard Webhooks (standardwebhooks.com): ``webhook-signature`` is an HMAC-SHA256 over
    ``webhook-id``, ``webhook-timestamp`` and the body. The id of a change's state is the same in every process.

    Args:
        url: of the receiver; ``https://`` if it is another machine.
        secret_env: name of the environment variable with the secret, 16 characters or more; one that begins with
            ``whsec_`` is base64.
        store: if given, of all processes on this store only the first to ask sends a message.
        attempts: maximum number of attempts a message.
        timeout_seconds: of one attempt.
        wait_seconds: before the second attempt; about twice as long before each further one, 30 s at most.
        max_waiting: maximum number of queued messages; further ones are dropped.

    Raises:
        ConfigurationError: if an argument is out of range, or the environment has no secret.
    """

    def __init__(
        self,
        url: str,
        *,
        secret_env: str = SECRET_VARIABLE,
        store: Store | None = None,
        attempts: int = 5,
        timeout_seconds: float = 10.0,
        wait_seconds: float = 0.5,
        max_waiting: int = 1_000,
    ) -> None:
        self._host = _host_of(url)
        if attempts < 1 or max_waiting < 1 or not timeout_seconds > 0.0 or not wait_seconds >= 0.0:
            raise ConfigurationError(
                "attempts and max_waiting must be 1 or more, timeout_seconds above 0, wait_seconds 0 or more"
            )
        self._url, self._key, self._store = url, _secret(secret_env), store
        self._attempts, self._timeout, self._wait, self._most = attempts, timeout_seconds, wait_seconds, max_waiting
        self._states = ChangeStates()
        self._condition = threading.Condition(forks.lock(forks.Rank.LEAF))
        self._messages: deque[_Message] = deque()
        self._sending = False
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._failing = self._dropping = False
        warm_up()

    def __call__(self, observation: Observation, /) -> None:
        """Do nothing: verdicts on single calls are not sent."""

    def watch(self, engine: VerificationEngine, /) -> None:
        """Note the changes that this engine knows already: they are not sent."""
        self._states.watch(engine)

    def changed(self, change: Change, /) -> None:
        """Queue a change's new state."""
        if self._ended.is_set() or not self._states.take(change):
            return
        message = _message(change)
        with self._condition:
            full = len(self._messages) >= self._most
            if not full:
                self._messages.append(message)
                self._condition.notify_all()
                self._start()
            was_dropping, self._dropping = self._dropping, full
        if full and not was_dropping:
            _log.error(
                "%s changes wait for the webhook at %s: further ones are not sent to it", f"{self._most:,}", self._host
            )

    def flush(self, seconds: float = 5.0) -> bool:
        """Wait until all messages are sent, at most so long; whether they are."""
        with self._condition:
            return self._condition.wait_for(lambda: not self._messages and not self._sending, seconds)

    def close(self, seconds: float = 5.0) -> None:
        """``flush``, then end the thread; later changes are not sent."""
        self.flush(seconds)
        self._ended.set()
        with self._condition:
            self._messages.clear()
            self._condition.notify_all()
        if self._thread is not None:
            self._thread.join(max(seconds, self._timeout))

    def _start(self) -> None:
        # Also after a fork, which has no thread of its parent's.
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._run, name="agentguard-webhook", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        while True:
            with self._condition:
                self._sending = False
                self._condition.notify_all()
                self._condition.wait_for(lambda: bool(self._messages) or self._ended.is_set())
                if not self._messages:
                    return
                message = self._messages.popleft()
                self._sending = True
            try:
                if self._is_ours(message):
                    self._deliver(message)
            except Exception as error:
                if not self._failing and not self._ended.is_set():
                    self._failing = True
                    # Not the text of a foreign error, which may quote the address: its path can be a secret.
                    reason = str(error) if isinstance(error, (_PassingError, _RefusedError)) else type(error).__name__
                    _log.error("the webhook at %s was not told of a change: %s", self._host, reason)

    def _is_ours(self, message: _Message) -> bool:
        """Whether this process sends the message; in doubt it does: the receiver knows the ids that it has had."""
        if self._store is None:
            return True
        receiver = hashlib.sha256(self._url.encode("utf-8", "replace")).hexdigest()[:16]
        try:
            return self._store.claim(CLAIMS, f"{receiver} {message.id}")
        except StoreError:
            return True

    def _deliver(self, message: _Message) -> None:
        stamina = _stamina()
        if stamina is not None:
            for attempt in stamina.retry_context(
                on=_PassingError, attempts=self._attempts, timeout=None, wait_initial=self._wait, wait_max=MOST_WAIT
            ):
                with attempt:
                    self._post(message)
        else:
            self._retry(message)
        if self._failing:
            self._failing = False
            _log.warning("the webhook at %s is told of changes again", self._host)

    def _retry(self, message: _Message) -> None:
        for attempt in range(self._attempts):
            try:
                return self._post(message)
            except _PassingError:
                pause = min(self._wait * 2.0**attempt, MOST_WAIT)
                if attempt + 1 == self._attempts or self._ended.wait(pause):
                    raise

    def _post(self, message: _Message) -> None:
        from http.client import HTTPException
        from urllib.error import HTTPError, URLError
        from urllib.request import Request

        at = int(time.time())  # of this attempt: receivers refuse old messages
        headers = {
            "Content-Type": "application/json",
            "User-Agent": "agentguard",
            "webhook-id": message.id,
            "webhook-timestamp": str(at),
            "webhook-signature": signature(self._key, message.id, at, message.body),
        }
        request = Request(self._url, message.body, headers, method="POST")  # noqa: S310 - of http or https: _host_of
        try:
            with _opener().open(request, timeout=self._timeout):
                return
        except HTTPError as error:
            error.close()
            passing = error.code in _PASSING or error.code >= 500
            raise (_PassingError if passing else _RefusedError)(f"it answered with {error.code}") from None
        except URLError as error:
            raise _PassingError(type(error.reason).__name__) from None
        except (OSError, HTTPException) as error:
            raise _PassingError(type(error).__name__) from None


def signature(key: bytes, message_id: str, at: int, body: bytes) -> str:
    """Sign a message by Standard Webhooks: ``v1,`` and an HMAC-SHA256 in base64.

    Args:
        key: the secret.
        message_id: the header ``webhook-id``.
        at: the header ``webhook-timestamp``, in seconds since the epoch.
        body: of the request.
    """
    digest = hmac.new(key, f"{message_id}.{at}.".encode() + body, hashlib.sha256).digest()
    return f"v1,{base64.b64encode(digest).decode()}"


def _message(change: Change) -> _Message:
    """The message of a change's state; its id is the same in every process, for ``since`` is of the store's clock."""
    body = {
        "change": safe_text(change.id),
        "tool": safe_text(change.tool),
        "state": change.state,
        "what": safe_text(change.what),
        "at": moment(change.since),
        **({"why": safe_text(change.why)} if change.why else {}),
    }
    # A digest: the id goes into a header, and a log may hold ids that no engine wrote.
    identity = f"{change.id} {change.state} {change.since!r}".encode("utf-8", "replace")
    return _Message(f"change_{hashlib.sha256(identity).hexdigest()[:32]}", json.dumps(body).encode())


def _host_of(url: str) -> str:
    """The host of a valid address. Errors do not quote the address: its path may be a secret."""
    try:
        parts = urlsplit(url)
        host, named = parts.hostname, parts.username is not None or parts.password is not None
    except ValueError:
        host, named = None, False
    if host is None or parts.scheme not in ("http", "https"):
        raise ConfigurationError("the url of a webhook begins with http:// or https:// and a host")
    if named:
        raise ConfigurationError("the url of a webhook holds no user and password; requests are signed")
    return host


def _secret(variable: str) -> bytes:
    given = os.environ.get(variable, "")
    if len(given) < LEAST_SECRET:
        raise ConfigurationError(
            f"a webhook is signed with the secret in {variable}, 16 characters or more; python -c "
            "'import secrets; print(secrets.token_urlsafe(32))' makes one, and the receiver needs it too"
            if not given
            else f"the secret in {variable} has fewer than {LEAST_SECRET} characters"
        )
    if not given.startswith(_ENCODED):
        return given.encode("utf-8", "surrogateescape")
    try:
        return base64.b64decode(given[len(_ENCODED) :], validate=True)
    except binascii.Error:
        raise ConfigurationError(f"the secret in {variable} begins with {_ENCODED} and goes on as no base64") from None


def _stamina() -> ModuleType | None:
    try:
        return importlib.import_module("stamina")
    except ImportError:
        return None


def _opener() -> Any:
    """An opener that follows no redirection, which would take the message to a host that nobody named."""
    from urllib.request import HTTPRedirectHandler, build_opener

    class _Staying(HTTPRedirectHandler):
        def redirect_request(self, *_: Any) -> None:
            return None

    return build_opener(_Staying)
