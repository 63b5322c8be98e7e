"""A page over a store: verdicts as they come, what each tool has had, and a queue in which people say what calls were.

::

    store ──▶ follower ──▶ board ──▶ state, and a stream of changes ──▶ page
      ▲                                                                  │ accept, reject
      └────────── reviews: labels, as ``record_feedback`` has them ◀─────┘

Nothing of what tools were asked or have answered is in a store's audit records, and so none of it is here.
"""

import agentguard.serving  # noqa: F401 - first, for it says which extra is missing
from agentguard.live.app import create_app, live_part

__all__ = ["create_app", "live_part"]
