"""Connections to what keeps documents and records: an SQLite file, or an Elasticsearch cluster; and their schemas."""

from importlib.resources import files

__all__ = ["schema"]


def schema(name: str) -> str:
    """The text of one of this folder's schemas, SQL or JSON."""
    return files(__name__).joinpath(name).read_text(encoding="utf-8")
