"""Limits on how much is read before an answer is given, in one record.

Whoever reaches a limit says so: what was not looked at is never called clean. A signal does not apply then, and says
"looked at the first 16 MiB"; a function that was asked to do all of it raises or tells what it left.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Limits(NamedTuple):
    """The limits of one reading.

    Attributes:
        bytes: of text that is read.
        values: of an object that are read; a container counts as one, and so do 1,000 characters.
        sample: values of a result that its statistics are made of; of a larger one, a sample.
        depth: levels of containers that are read.
        findings: that are kept of one text or one object.
        line_bytes: of one line of a log or a state file.
        blank_bytes: without data, one after the other, of a log or a state file.
        unpacked_ratio: times the size of compressed data that is unpacked of it, once that is large.
    """

    bytes: int = 1 << 24
    values: int = 200_000
    sample: int = 1_500
    depth: int = 64
    findings: int = 10_000
    line_bytes: int = 1 << 26
    blank_bytes: int = 1 << 26
    unpacked_ratio: int = 256


LIMITS: Final = Limits()
