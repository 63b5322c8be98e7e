"""An MCP server in front of any MCP server: a relay of JSON-RPC messages that judges what tools answer.

::

    client ──▶ front ──▶ Connection.sent ────────▶ server (a child, or a URL)
       ◀────── front ◀── Connection.received ◀──────┘
                              │
                              ├─ answers to tools/call: judged, and marked as the policy says
                              └─ answers to tools/list: read, and held against the pinned ones

Every other message passes byte for byte, and so does every answer that nothing is to be done about. No part of the
protocol is implemented here beyond that: what a later version of it adds passes too. ``agentguard proxy`` runs it.
"""

__all__: list[str] = []
