"""The program that a coding agent runs at each event: hands the event to the resident helper and prints its answer.

    python -I -S _client.py FOLDER claude|codex open|closed

It runs as a file, without ``site`` and without this package, and imports next to nothing: its whole life is what each
tool call waits for. Where no helper answers it starts one; where none does in time, the policy holds: ``open`` lets the
result pass and tells the user, ``closed`` puts a notice in its place.
"""

import os
import sys
import time
from _socket import AF_UNIX, SHUT_WR, SOCK_STREAM, socket

TYPE_CHECKING = False  # what typing calls so takes longer to import than all of this
if TYPE_CHECKING:
    import subprocess

SECONDS = 10.0  # that a helper may take to come up and answer; a judgement: it takes about one
LARGEST = 32 * 1024 * 1024  # bytes of an event; a judgement: results that a model is given are a hundred times smaller
PAUSE = 0.01  # seconds between two tries to reach a helper that is coming up
AGAIN = 2.0  # seconds after which another helper is started: the one before may have died, or found one that ended
STALE = b"s"  # the answer of a helper that is older than its code or its settings, and ends


class Unreachable(Exception):
    """No helper has answered; the message says why, and quotes nothing of the event."""


def main(arguments: "list[str]") -> int:
    """Answer the event on standard input; returns the exit code."""
    folder, agent, policy = arguments
    payload = b""
    try:
        with open(0, "rb", closefd=False) as stream:
            payload = stream.read()
        reply = ask(folder, payload)
    except (OSError, Unreachable) as error:
        return fail(folder, agent, policy, payload, error)
    code, output = reply[0] - ord("0"), reply[1:]
    write(1 if code == 0 else 2, output)
    return code


def ask(folder: str, payload: bytes) -> bytes:
    """The helper's reply: the exit code as a digit, then the output.

    Raises:
        OSError, Unreachable: where there is none in time.
    """
    if not payload:  # a helper takes it for somebody who only looks whether it listens
        raise Unreachable("the event is empty")
    if len(payload) > LARGEST:
        raise Unreachable("the event is larger than 32 MiB")
    status = os.stat(folder)
    if status.st_uid != os.getuid() or status.st_mode & 0o077:
        raise Unreachable("its folder can be reached by other users")
    os.chdir(folder)  # the path of a socket may have 107 bytes, that of the folder more
    begun = time.monotonic()
    end, start_at, helper = begun + SECONDS, begun, None
    while True:
        now = time.monotonic()
        if now >= end:
            raise Unreachable(f"no helper has answered within {SECONDS:g} seconds")
        try:
            reply = exchange(payload, end - now)
        except TimeoutError:
            continue
        except (FileNotFoundError, ConnectionError, BlockingIOError):
            if helper is not None and helper.poll() not in (None, 0):
                raise Unreachable(f"the helper ended with code {helper.poll()}") from None
            if now >= start_at:
                helper, start_at = start(folder), now + AGAIN
        else:
            if reply and reply != STALE:
                return reply
        time.sleep(PAUSE)


def exchange(payload: bytes, seconds: float) -> bytes:
    """One request and its reply; empty where the helper ended meanwhile."""
    connection = socket(AF_UNIX, SOCK_STREAM)
    try:
        connection.settimeout(seconds)
        connection.connect("socket")
        connection.sendall(payload)
        connection.shutdown(SHUT_WR)
        parts = []
        while part := connection.recv(65_536):
            parts.append(part)
        return b"".join(parts)
    finally:
        connection.close()


def start(folder: str) -> "subprocess.Popen[bytes]":
    """Start a helper of its own session, which outlives this process and the agent's signals to it."""
    import subprocess

    log = os.open("log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        return subprocess.Popen(  # noqa: S603 -- this very interpreter, and a module of this package
            [sys.executable, "-I", "-m", "agentguard.hooks._helper", folder],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/", start_new_session=True,
        )  # fmt: skip
    finally:
        os.close(log)


def fail(folder: str, agent: str, policy: str, payload: bytes, error: "OSError | Unreachable") -> int:
    """Follow the policy where the guard could not be asked, and say so; returns the exit code."""
    reason = str(error) if isinstance(error, Unreachable) else error.strerror or type(error).__name__
    message = f"agentguard did not judge a result: {reason}. 'agentguard hook status' says more."
    write(2, f"{message}\n".encode())
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    answers = __import__("_answers")
    reply = answers.unverified(agent, payload) if policy == "closed" else answers.told(message)
    write(1 if reply.code == 0 else 2, reply.output)
    code: int = reply.code
    return code


def write(stream: int, data: bytes) -> None:
    """Write all of it; an agent that has gone reads nothing any more."""
    try:
        while data:
            data = data[os.write(stream, data) :]
    except OSError:
        pass


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
