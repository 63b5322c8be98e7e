"""A live page over a store: verdicts as they come, lasting changes, tallies by tool, and a queue to review.

::

    store ──▶ follower ──▶ board ──▶ state, and a stream of news ──▶ page
      ▲                                                               │ genuine, fabricated
      └──── reviews: labels of calls, decisions on changes ◀──────────┘

Arguments and results of calls are on the page if engines were told to keep them (``keep_reviewed``).
"""

from agentguard.live._app import create_app, live_part

__all__ = ["create_app", "live_part"]
