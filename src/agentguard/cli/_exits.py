"""Exit codes. Verdicts have the first three to themselves: no typing error and no bug ends with 1 or 2.

``agentguard gate run`` ends with 0 where the decision is deploy or warn, and with 1 where it is block.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentguard.verification.types import Verdict


class Exit(IntEnum):
    """How a command ended; 130 and 141 are what shells report for SIGINT and SIGPIPE."""

    ACCEPT = 0
    FLAG = 1
    BLOCK = 2
    ERROR = 3
    INTERRUPTED = 130
    OUTPUT_CLOSED = 141


VERDICT_EXITS: Mapping[Verdict, Exit] = {"accept": Exit.ACCEPT, "flag": Exit.FLAG, "block": Exit.BLOCK}
