"""What an Elasticsearch client reports, in one sentence that says what to do and quotes no document."""

from __future__ import annotations

from typing import Final

from elastic_transport import ConnectionTimeout, TlsError, TransportError
from elasticsearch import ApiError, ConnectionError, UnsupportedProductError

__all__ = ["ElasticError", "advice", "passes", "reason"]

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
    """What the cluster calls an error; empty where it says nothing. Its longer words may quote a document."""
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
