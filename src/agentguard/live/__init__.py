"""A page over a store: lasting changes, verdicts as they come, what each tool has had, and a queue to review.

::

    store ──▶ follower ──▶ board ──▶ state, and a stream of news ──▶ page
      ▲                                                               │ genuine, fabricated
      └──── reviews: labels of calls, decisions on changes ◀──────────┘

Of what tools were asked and have answered the page has what engines were told to keep (``keep_reviewed``), and nothing
where they were not.
"""

import agentguard.serving  # noqa: F401 - first, for it says which extra is missing
from agentguard.live._app import create_app, live_part

__all__ = ["create_app", "live_part"]
