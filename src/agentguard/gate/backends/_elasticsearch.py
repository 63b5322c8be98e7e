"""Connection to an Elasticsearch cluster: credentials, retries, index templates, and errors as advice.

Messages say what to do, and quote no document and no credential.
"""

from __future__ import annotations

import base64
import hashlib
import ipaddress
import json
import os
import ssl
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

import orjson

from agentguard.errors import ConfigurationError, StoreError
from agentguard.gate._config import ElasticsearchConfig
from agentguard.gate.backends import schema

# --- Errors as advice ---

try:
    from elastic_transport import ConnectionTimeout, TlsError, TransportError
    from elasticsearch import ApiError, ConnectionError, Elasticsearch, UnsupportedProductError, helpers
    from elasticsearch.serializer import JsonSerializer, NdjsonSerializer
except ImportError as error:
    raise ConfigurationError(
        "what is kept in Elasticsearch needs its client: pip install 'agentguard[elasticsearch]'"
    ) from error

ElasticError = (ApiError, TransportError)

OLDEST: Final = "Elasticsearch 8.15"
PASSING: Final = (429, 502, 503, 504)
REFUSALS: Final = {
    401: "refuses the login: set ELASTICSEARCH_API_KEY, or ELASTICSEARCH_USERNAME and ELASTICSEARCH_PASSWORD",
    403: "does not allow this user to do that: grant read, write and manage on the gate's indices, and "
    "manage_index_templates",
    404: "has no such thing: see whether the index was removed meanwhile, and whether elasticsearch.host is right",
    406: f"does not speak the client's language: the gate needs {OLDEST} or newer",
    413: "does not take that much at once: split the document, or raise http.max_content_length",
    429: "is overloaded, and stayed so: try again later",
    502: "cannot be reached behind its proxy: see whether it runs",
    503: "is not ready, and stayed so: see its health",
    504: "did not answer its proxy in time: see its health",
}


def passes(error: ApiError | TransportError) -> bool:
    """Whether the same call may succeed in a moment.

    Nobody was there, or the cluster is busy or starting, or somebody else is making the same index.
    """
    if isinstance(error, ApiError):
        return error.status_code in PASSING or reason(error) == "resource_already_exists_exception"
    return isinstance(error, ConnectionError) and not isinstance(error, TlsError)


def reason(error: ApiError | TransportError) -> str:
    """The cluster's name of an error, or an empty text. Its longer message may quote a document."""
    told = error.body.get("error") if isinstance(error, ApiError) and isinstance(error.body, dict) else None
    if not isinstance(told, dict):
        return ""
    causes = told.get("root_cause")
    cause = causes[0] if isinstance(causes, list) and causes and isinstance(causes[0], dict) else told
    return str(cause.get("type", ""))


def advice(error: ApiError | TransportError) -> str:
    """The rest of a sentence that begins with the cluster's address."""
    if isinstance(error, UnsupportedProductError):
        return f"is not Elasticsearch, by the headers of its answers: the gate needs {OLDEST} or newer"
    if isinstance(error, ApiError):
        status = error.status_code
        text = REFUSALS.get(status) or (
            f"has failed with status {status}: see its log"
            if status >= 500
            else f"refuses what was asked with status {status}: the gate needs {OLDEST} or newer"
        )
        return f"{text} ({reason(error)})" if reason(error) else text
    if isinstance(error, ConnectionTimeout):
        return "did not answer in time: see its health, or raise elasticsearch.timeout_seconds"
    if isinstance(error, TlsError):
        return "shows no certificate that is trusted here: name its authority's file in ELASTICSEARCH_CA_CERTS"
    if isinstance(error, ConnectionError):
        return "cannot be reached: see whether it runs, and whether elasticsearch.host is right"
    return "gave an answer that is not Elasticsearch's: see whether elasticsearch.host is right"


# --- The connection ---

T = TypeVar("T")

PAUSES: Final = (0.1, 0.3, 0.9)  # seconds between the attempts of one call


@dataclass(frozen=True, slots=True)
class Template:
    """Template of an index.

    Attributes:
        index: Its name.
        mappings: Its fields.
        settings: Of the index.
    """

    index: str
    mappings: Mapping[str, Any]
    settings: Mapping[str, Any]

    @classmethod
    def named(cls, name: str, index: str) -> Template:
        """The template that is kept in ``name.json``, for an index."""
        return cls(index, **json.loads(schema(f"{name}.json")))

    @property
    def name(self) -> str:
        """The template's own name."""
        return f"agentguard-{self.index}"


class ElasticConnection:
    """Asks one cluster; every failure is a ``StoreError`` that names the cluster, never a credential or a document.

    A call that finds nobody there, or a cluster that is busy or starting, is repeated three times within 1.3 seconds;
    one that was not answered in time is not repeated. So whatever is asked must bear to be asked twice.

    Args:
        config: Where the cluster is, and how long to wait for it.
        environ: Where credentials are; None: the process's environment.

    Raises:
        ConfigurationError: For an address or credentials that cannot be used. Nothing is asked before the first call.
    """

    def __init__(self, config: ElasticsearchConfig, environ: Mapping[str, str] | None = None) -> None:
        parts = urlsplit(config.host)
        if parts.query or parts.fragment:
            raise ConfigurationError(f"elasticsearch.host {config.host!r} must end after host, port and path")
        self.where = f"Elasticsearch at {config.host}"
        login = _login(config.host, os.environ if environ is None else environ)
        try:
            self._client = Elasticsearch(
                config.host, request_timeout=config.timeout_seconds, max_retries=0, serializers=_SERIALIZERS, **login
            )
        except (OSError, TypeError, ValueError) as error:
            raise ConfigurationError(f"elasticsearch.host {config.host!r} cannot be used: {error}") from None
        self._open = True

    def ask(self, call: Callable[[Elasticsearch], T], *, missing: Callable[[], T] | None = None) -> T:
        """Call the client, and again after a passing failure; return the call's result.

        Args:
            call: Is given the client.
            missing: What to return where the index is not there; None: that is an error.

        Raises:
            StoreError: If the cluster cannot be reached or refuses; whether it has done the thing may be unknown.
        """
        pauses = iter(PAUSES)
        while True:
            self.check_open()
            try:
                return call(self._client)
            except ElasticError as error:
                if missing is not None and reason(error) == "index_not_found_exception":
                    return missing()
                pause = next(pauses, None) if passes(error) else None
                if pause is None:
                    raise StoreError(f"{self.where} {advice(error)}") from None
                time.sleep(pause)

    def bulk(self, actions: Iterable[dict[str, Any]]) -> None:
        """Write or delete many documents; to delete one that is not there is no error.

        Raises:
            StoreError: Also where some were refused, and the others are written.
        """
        kept = list(actions)
        results = self.ask(
            lambda client: list(
                helpers.streaming_bulk(
                    client,
                    kept,
                    raise_on_error=False,
                    max_retries=len(PAUSES),
                    initial_backoff=PAUSES[0],
                    refresh=True,
                )
            )
        )
        refused = [
            answer
            for accepted, item in results
            for action, answer in item.items()
            if not accepted and (action, answer["status"]) != ("delete", 404)
        ]
        if refused:
            kinds = {str(answer.get("error", {}).get("type", f"status {answer['status']}")) for answer in refused}
            raise StoreError(
                f"{self.where} refuses {len(refused)} of {len(kept)} writes ({', '.join(sorted(kinds))}): mend what it "
                "complains of, and do the same again"
            )

    def make_index(self, template: Template, properties: Mapping[str, Any]) -> bool:
        """Make an index that is not there, after its template; a template that is there is kept.

        Args:
            template: Of the index.
            properties: Fields that the template leaves open.

        Returns:
            False if the index is there.
        """

        def make(client: Elasticsearch) -> bool:
            if client.indices.exists(index=template.index):
                return False
            if not client.indices.exists_index_template(name=template.name):
                client.indices.put_index_template(
                    name=template.name,
                    index_patterns=[template.index],
                    priority=500,  # above those that a cluster comes with
                    template={"settings": template.settings, "mappings": template.mappings},
                )
            client.indices.create(index=template.index, mappings={"properties": properties})
            return True

        return self.ask(make)

    def check_open(self) -> None:
        """Refuse a closed connection."""
        if not self._open:
            raise StoreError(f"the connection to {self.where} is closed; open a new one")

    def close(self) -> None:
        """Close the connections; may be called twice."""
        self._open = False
        self._client.close()


def document_id(*parts: str | int) -> str:
    """The id of what these parts name: short, and without a sign that means something in an address.

    >>> document_id("docs/returns.md") == document_id("docs/returns.md")
    True
    """
    return hashlib.blake2b(json.dumps(parts).encode(), digest_size=16).hexdigest()


def _login(host: str, environ: Mapping[str, str]) -> dict[str, Any]:
    """Arguments of the client; messages name the variables, and quote none that is a secret."""
    key, user, password, certificates = (
        environ.get(f"ELASTICSEARCH_{name}", "").strip() for name in ("API_KEY", "USERNAME", "PASSWORD", "CA_CERTS")
    )
    if key and (user or password):
        raise ConfigurationError("set ELASTICSEARCH_API_KEY, or ELASTICSEARCH_USERNAME and _PASSWORD, but not both")
    if bool(user) != bool(password):
        raise ConfigurationError("set both ELASTICSEARCH_USERNAME and ELASTICSEARCH_PASSWORD, or neither")
    if not key.isascii() or not key.isprintable():
        raise ConfigurationError("ELASTICSEARCH_API_KEY is no API key: copy the encoded one, a line of base64")
    login: dict[str, Any] = {}
    if key:
        login["api_key"] = key
    if user:
        login["basic_auth"] = base64.b64encode(f"{user}:{password}".encode(errors="surrogateescape")).decode()
    parts = urlsplit(host)
    if login and parts.scheme != "https" and not _is_loopback(parts.hostname or ""):
        raise ConfigurationError(
            f"elasticsearch.host {host!r} would carry the environment's credentials where others can read them: "
            "use https://, or unset them where the cluster asks for none"
        )
    if certificates and parts.scheme == "https":
        try:
            login["ssl_context"] = ssl.create_default_context(cafile=certificates)
        except OSError as error:
            raise ConfigurationError(
                f"ELASTICSEARCH_CA_CERTS names {certificates!r}, which is no file of certificates: {error}"
            ) from None
    return login


def _is_loopback(hostname: str) -> bool:
    try:
        return ipaddress.ip_address(hostname).is_loopback
    except ValueError:
        return hostname.lower() == "localhost"


class _Json(JsonSerializer):
    """Writes most documents quickly, and those that hold long integers or halves of surrogate pairs too."""

    mimetype = "application/vnd.elasticsearch+json"

    def json_dumps(self, data: Any) -> bytes:
        try:
            return orjson.dumps(data, option=orjson.OPT_SERIALIZE_NUMPY)
        except TypeError:
            return json.dumps(data, allow_nan=False).encode()


class _Ndjson(NdjsonSerializer):
    """The same, with a document a line."""

    mimetype = "application/vnd.elasticsearch+x-ndjson"

    def json_dumps(self, data: Any) -> bytes:
        return _SERIALIZERS[_Json.mimetype].dumps(data)


_SERIALIZERS: Final = {
    "application/json": _Json(),
    "application/x-ndjson": _Ndjson(),
    _Json.mimetype: _Json(),
    _Ndjson.mimetype: _Ndjson(),
}
