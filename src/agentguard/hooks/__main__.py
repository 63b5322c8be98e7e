"""``python -m agentguard.hooks``: judges one event without a helper, where there are no Unix sockets.

    python -I -m agentguard.hooks FOLDER claude|codex open|closed

It loads the engine for each event, and so takes a second or more for what the client does in milliseconds.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from contextlib import closing
from pathlib import Path

from agentguard.errors import AgentGuardError
from agentguard.hooks._answers import PROCEED, Reply
from agentguard.hooks._settings import make_private, read_settings


def main(arguments: list[str]) -> int:
    """Answer the event on standard input; returns the exit code."""
    reply = answer(Path(arguments[0]), sys.stdin.buffer.read())
    stream = sys.stdout.buffer if reply.code == PROCEED else sys.stderr.buffer
    stream.write(reply.output)
    stream.flush()
    return reply.code


def answer(folder: Path, payload: bytes) -> Reply:
    """Judge an event by the settings in a folder, and keep what was learned of it."""
    from agentguard.hooks._judging import Judge, NoJudge
    from agentguard.hooks._record import Record
    from agentguard.stores import open_store

    settings = None
    try:
        make_private(folder)
        settings = read_settings(folder)
        record = Record(folder)
        with closing(open_store(settings.store)) as store:
            judge = Judge(settings, store, record)
            reply = asyncio.run(judge.answer(payload))
            judge.engine.close()
        record.save()
        return reply
    except (AgentGuardError, OSError) as error:
        message = str(error).splitlines()[0] if isinstance(error, AgentGuardError) else type(error).__name__
        return asyncio.run(NoJudge(settings, message).answer(payload))


if __name__ == "__main__":
    logging.basicConfig(stream=sys.stderr)
    sys.exit(main(sys.argv[1:]))
