"""From a declared source to what it lists; the library that reads it is loaded when it is declared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from agentguard.errors import ConfigurationError
from agentguard.gate.config import HttpSource, LocalSource, Source
from agentguard.gate.ingest.found import Listing
from agentguard.gate.ingest.local import list_local, local_uri

__all__ = ["holds", "list_source", "name_of"]


def list_source(source: Source, folder: Path, roots: Sequence[Path] = ()) -> Iterator[Listing]:
    """What a source holds, as it is declared.

    Args:
        source: a record of the configuration.
        folder: the configuration's.
        roots: further folders that local documents may lie in.

    Raises:
        ConfigurationError: where a library is missing, or the source must not be read.
    """
    if isinstance(source, LocalSource):
        return list_local(source, folder, roots)
    if isinstance(source, HttpSource):
        try:
            from agentguard.gate.ingest.http import list_http
        except ImportError:
            raise ConfigurationError(
                "sources of type http need the package httpx: pip install 'agentguard[gate]'"
            ) from None
        return list_http(source)
    try:
        from agentguard.gate.ingest.s3 import list_s3
    except ImportError:
        raise ConfigurationError("sources of type s3 need the package boto3: pip install 'agentguard[s3]'") from None
    return list_s3(source)


def name_of(source: Source) -> str:
    """What messages call a source."""
    if isinstance(source, LocalSource):
        return source.path
    if isinstance(source, HttpSource):
        return ", ".join(source.addresses[:3]) + (", …" if len(source.addresses) > 3 else "")
    return f"s3://{source.bucket}/{source.prefix}"


def holds(source: Source, folder: Path, uri: str) -> bool:
    """Whether a document would come from a source, by its uri: what a source that cannot be listed may still hold."""
    if isinstance(source, LocalSource):
        base = local_uri(folder / source.path, folder)
        return uri == base or uri.startswith(f"{base}/") or (base == "." and "://" not in uri)
    if isinstance(source, HttpSource):
        return uri in source.addresses
    return uri.startswith(f"s3://{source.bucket}/{source.prefix}")
