"""What an index calls the maker of its vectors, by which those of two makers are never compared."""

from __future__ import annotations

from .base import Embeddings

__all__ = ["embedder_name"]


def embedder_name(embeddings: Embeddings) -> str:
    """Its ``name``; where it has none, its class, with what the embeddings of LangChain tell their models apart by.

    >>> from agentguard.gate.evidence.lexical import LexicalEmbeddings
    >>> embedder_name(LexicalEmbeddings())
    'lexical'
    """
    name = getattr(embeddings, "name", None)
    if isinstance(name, str):
        return name
    kind = type(embeddings)
    said = (getattr(embeddings, name, None) for name in ("model", "model_id", "model_name", "dimensions"))
    return ":".join((kind.__module__, kind.__qualname__, *(str(each) for each in said if isinstance(each, (str, int)))))
