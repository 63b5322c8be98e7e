"""Errors that name the extra to install where a framework is missing."""

from __future__ import annotations


def needs(extra: str, error: ImportError) -> ImportError:
    """An ``ImportError`` that names the extra, in place of the framework's own.

    Args:
        extra: the extra of this package, which is also the name of the module in ``agentguard.integrations``.
        error: what the framework's import raised; it keeps naming the module that is missing.

    >>> str(needs("langchain", ImportError("No module named 'langchain'", name="langchain")))
    "agentguard.integrations.langchain needs langchain; pip install 'agentguard[langchain]'"
    """
    missing = (error.name or extra).partition(".")[0]
    message = f"agentguard.integrations.{extra} needs {missing}; pip install 'agentguard[{extra}]'"
    return ImportError(message, name=error.name, path=error.path)
