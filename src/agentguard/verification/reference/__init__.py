"""The published document, executable: fixed scores, fixed ratios, one log-odds sum."""

from .method import Reference

__all__ = ["Reference"]
