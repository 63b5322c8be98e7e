"""Vectors as they are kept and searched: of length 1, in single precision."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from agentguard.errors import ConfigurationError, DataError, StoreError

from .base import Vector

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["load_numpy", "matrix_of", "nearest", "unit_vectors"]


def unit_vectors(vectors: Sequence[Vector]) -> NDArray[np.float32]:
    """Vectors of one length as the rows of a matrix, each with norm 1; one without direction stays zero.

    Raises:
        DataError: where they differ in length, are empty, or hold something else than finite numbers.
        ConfigurationError: where numpy is not installed.

    >>> unit_vectors([(3.0, 4.0), (0.0, 0.0)]).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    numpy = load_numpy()
    if len({len(vector) for vector in vectors}) > 1:
        raise DataError("the vectors differ in length; embed all chunks with one model")
    try:
        matrix = numpy.asarray(vectors, dtype=numpy.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError(f"a vector holds something else than numbers: {error}") from None
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise DataError("a vector is a list of numbers, at least one; see to what embeds the documents")
    if not numpy.isfinite(matrix).all():
        raise DataError("a vector holds a number that is not finite; see to what embeds the documents")
    largest = numpy.abs(matrix).max(axis=1, keepdims=True)
    matrix = numpy.divide(
        matrix, largest, out=numpy.zeros_like(matrix), where=largest > 0
    )  # no square leaves the range
    norms = numpy.linalg.norm(matrix, axis=1, keepdims=True)
    unit: NDArray[np.float32] = numpy.divide(matrix, norms, out=matrix, where=norms > 0).astype(numpy.float32)
    return unit


def matrix_of(blobs: Sequence[bytes], dimensions: int) -> NDArray[np.float32] | None:
    """Vectors as they are kept, four bytes a component, as the rows of a matrix; None where there are none.

    Raises:
        StoreError: where one has another length.
    """
    if not blobs:
        return None
    if any(len(blob) != 4 * dimensions for blob in blobs):
        raise StoreError("the evidence index is damaged: a vector has another length; ingest the documents again")
    matrix: NDArray[np.float32] = load_numpy().frombuffer(b"".join(blobs), dtype="<f4").reshape(-1, dimensions)
    return matrix


def nearest(matrix: NDArray[np.float32], query: NDArray[np.float32], limit: int) -> list[tuple[int, float]]:
    """The rows that point where the query does, with their cosines, the best first, of equal ones the upper first.

    Args:
        matrix: rows of norm 1.
        query: of norm 1.
        limit: the most rows that are given.
    """
    numpy = load_numpy()
    if limit <= 0 or not len(matrix):
        return []
    # The last digits depend on where in the matrix a row lies.
    scores = numpy.round((matrix @ query).astype(numpy.float64), 6)
    if limit < len(scores):
        worst = -numpy.partition(-scores, limit - 1)[limit - 1]
        rows = numpy.flatnonzero(scores >= worst)
    else:
        rows = numpy.arange(len(scores))
    rows = rows[numpy.argsort(-scores[rows], kind="stable")][:limit]
    return [(int(row), float(scores[row])) for row in rows]


def load_numpy() -> Any:
    """The module numpy, loaded when it is first needed.

    Raises:
        ConfigurationError: where it is not installed.
    """
    try:
        import numpy
    except ImportError:
        raise ConfigurationError("vectors need numpy: pip install 'agentguard[gate]'") from None
    return numpy
