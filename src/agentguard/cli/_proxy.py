"""``agentguard proxy``: an MCP server in front of any MCP server."""

from __future__ import annotations

import hashlib
import logging
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from enum import Enum
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

import typer

from agentguard.cli._listening import address_of, listen, require_local
from agentguard.cli._options import (
    OnFlag,
    OnGuardError,
    ProfilesOption,
    default_store,
    named_profiles,
    opened,
    shown,
)
from agentguard.cli._terminal import console, print_line
from agentguard.errors import ConfigurationError

if TYPE_CHECKING:
    from agentguard.proxy._guarding import Guarding

_log = logging.getLogger("agentguard")

#: Programs that run another one, which a server is named after.
_LAUNCHERS = frozenset("bun bunx cmd deno docker env node npm npx pipx pnpm python python3 uv uvx yarn".split())
_VERBS = frozenset("dlx exec run tool".split())  # of launchers
_HEADER = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+)=([A-Za-z_][A-Za-z0-9_]*)")
_SECONDS_BETWEEN_THREADS = 0.0005  # a thread that judges lets one that relays in as soon as this
GRACE = 5  # seconds for answers under way when a listening proxy is ended


class OnListing(str, Enum):
    """The policy on tools that are not listed as they were pinned."""

    flag = "flag"
    refuse = "refuse"


def proxy(
    command: Annotated[
        list[str] | None, typer.Argument(metavar="[-- COMMAND ARGS…]", help="The server's command.", show_default=False)
    ] = None,
    url: Annotated[
        str | None, typer.Option("--url", metavar="URL", help="A server of streamable HTTP, instead of a command.")
    ] = None,
    header: Annotated[
        list[str] | None,
        typer.Option(
            "--header",
            metavar="NAME=VARIABLE",
            help="Send this header to the URL, with the value that the environment variable holds; may be given again.",
        ),
    ] = None,
    listen_at: Annotated[
        str | None,
        typer.Option("--listen", metavar="HOST:PORT", help="Serve the URL by HTTP at /mcp, instead of on stdio."),
    ] = None,
    allow_remote: Annotated[
        bool,
        typer.Option(
            "--allow-remote", help="Listen at an address that other machines reach; put a proxy with TLS before it."
        ),
    ] = False,
    enforce: Annotated[
        bool, typer.Option("--enforce/--observe", help="Act on verdicts; or judge, record, and change nothing.")
    ] = False,
    on_flag: Annotated[
        OnFlag,
        typer.Option("--on-flag", help="A flagged result: add a line for the model, only the verdict, or block it."),
    ] = OnFlag.annotate,
    on_listing: Annotated[
        OnListing,
        typer.Option("--on-listing", help="A tool that is not listed as pinned: flag its results, or do not call it."),
    ] = OnListing.flag,
    on_guard_error: Annotated[
        OnGuardError, typer.Option("--on-guard-error", help="A result that cannot be judged: pass it on, or block it.")
    ] = OnGuardError.open,
    profiles: ProfilesOption = None,
    store: Annotated[
        str | None,
        typer.Option(
            "--store",
            metavar="DIR|URL",
            help="Where what was learned is kept. Without it: in a folder of the server's own, proxy/NAME in "
            "that of 'agentguard state'.",
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            "--name", metavar="NAME", help="What the server is called. Without it: made of its command or URL."
        ),
    ] = None,
    pin: Annotated[
        Path | None,
        typer.Option(
            "--pin",
            metavar="FILE",
            help="The list of tools as it was at first. Without it: NAME.tools.json beside that folder.",
        ),
    ] = None,
    accept: Annotated[
        bool,
        typer.Option("--accept", help="Pin the list of tools as the server has it now, say what differs, and end."),
    ] = False,
) -> None:
    """Stand before an MCP server and judge what its tools answer; all else passes as it is. On stdio, or --listen.

    Exit code: the server's; 0 where that is at a URL; 3 error, 130 interrupted, 143 ended.
    """
    server = tuple(command or ())
    if accept and not (server or url or name or pin):
        raise ConfigurationError("--accept needs the server's name: --name, --pin, --url, or its command after --")
    called = _name_of(server, url, name)
    home = Path(default_store()) / "proxy"
    kept_at = store or str(home / called)
    pinned_at = pin or home / f"{called}.tools.json"
    if accept:
        _accept(pinned_at, kept_at)
        return
    if bool(server) == (url is not None):
        raise ConfigurationError("name one server: a command after --, or --url")
    if (header or listen_at) and url is None:
        raise ConfigurationError(f"{'--header' if header else '--listen'} goes with --url, not with a command")
    if url is not None and urlsplit(url).scheme not in ("http", "https"):
        raise ConfigurationError("--url must begin with http:// or https://")
    headers = _headers(header or ())
    host, port = _address(listen_at)
    if listen_at is not None:
        require_local(host, allow_remote=allow_remote)
    from agentguard.guard import Guard
    from agentguard.proxy._guarding import Guarding
    from agentguard.proxy._pins import Pin
    from agentguard.verification import VerificationEngine

    given = [] if profiles is None else named_profiles(profiles)
    if store is None:
        _make_private(home)
    with ExitStack() as stack:
        stack.enter_context(_said())
        stack.callback(sys.setswitchinterval, sys.getswitchinterval())
        sys.setswitchinterval(_SECONDS_BETWEEN_THREADS)
        kept = stack.enter_context(opened(kept_at, create=True))
        engine = stack.enter_context(VerificationEngine(profiles=given, store=kept))
        guard = Guard(engine, on_flag=on_flag.value, on_guard_error=on_guard_error.value, shadow=not enforce)
        guarding = Guarding(guard, given, kept, Pin(pinned_at), on_listing.value)
        _greet(guarding, called, shown(kept_at))
        try:
            code = _run(server, url, headers, guarding, (host, port) if listen_at is not None else None, allow_remote)
        finally:
            guarding.close()
            _log.info("ends: %s", ", ".join(f"{what} {n:,}" for what, n in guarding.counts.items()) or "nothing judged")
    if code:
        raise typer.Exit(code)


@contextmanager
def _said() -> Iterator[None]:
    """Write what is logged, and warnings of libraries, to standard error."""
    from agentguard.proxy._saying import Saying

    saying = Saying()
    saying.setFormatter(logging.Formatter("agentguard proxy: %(message)s"))
    root, level = logging.getLogger(), _log.level
    root.addHandler(saying)
    _log.setLevel(logging.INFO)
    try:
        yield
    finally:
        _log.setLevel(level)
        root.removeHandler(saying)
        saying.close()


def _run(
    server: Sequence[str],
    url: str | None,
    headers: Mapping[str, str],
    guarding: Guarding,
    address: tuple[str, int] | None,
    is_open: bool,
) -> int:
    from agentguard.proxy._running import relay_command, relay_url

    if url is None:
        return relay_command(server, guarding)
    if address is None:
        return relay_url(url, headers, guarding)
    return _serve(url, headers, guarding, address, is_open=is_open)


def _serve(url: str, headers: Mapping[str, str], guarding: Guarding, address: tuple[str, int], *, is_open: bool) -> int:
    """Serve by HTTP until a signal ends it."""
    try:
        import uvicorn
    except ImportError as error:
        raise ConfigurationError("--listen needs uvicorn; pip install 'agentguard[proxy]'") from error
    from agentguard.proxy._http import HttpFront
    from agentguard.proxy._remote import http_client

    class Server(uvicorn.Server):
        """Ends with what was learned kept, where its parent would let the signal end the process."""

        ended_by = 0

        def handle_exit(self, sig: int, frame: FrameType | None) -> None:
            self.ended_by = sig
            self.force_exit = self.should_exit
            self.should_exit = True

    with listen(*address) as listening:
        front = HttpFront(url, http_client(headers), guarding, is_open=is_open)
        settings = uvicorn.Config(
            front, log_config=None, access_log=False, server_header=False, date_header=False, proxy_headers=False,
            ws="none", lifespan="off", timeout_graceful_shutdown=GRACE,
        )  # fmt: skip
        _log.info("listens at %s/mcp", address_of(listening))
        server = Server(settings)
        server.run(sockets=[listening])
    return 128 + server.ended_by if server.ended_by else 0


def _greet(guarding: Guarding, called: str, kept_at: str) -> None:
    guard = guarding.guard
    if guard.shadow:
        _log.info("observing %s: results pass unchanged; --enforce acts", called)
    else:
        _log.info(
            "enforcing on %s: a blocked result is replaced, a flagged one: %s; guard failure: %s",
            called, guard.on_flag, guard.on_guard_error,
        )  # fmt: skip
    _log.info("what is learned is kept in %s", kept_at)


def _accept(pinned_at: Path, kept_at: str) -> None:
    """Pin what the server lists now, and close the changes that the store has of it."""
    from agentguard.proxy._pins import Pin

    accepted = Pin(pinned_at).accept()
    out = console()
    for each in accepted:
        print_line(out, f"{each.tool}: {each.what}: accepted")
    if not accepted:
        print_line(out, f"{pinned_at}: the server lists nothing else than what is pinned")
        return
    from agentguard.errors import AgentGuardError
    from agentguard.verification._changes import changes_in, decide

    try:
        with opened(kept_at) as kept:
            known = {change.id for change in changes_in(kept) if change.state == "open"}
            for each in accepted:
                if each.id in known:
                    decide(kept, each.id, "adopted")
    except AgentGuardError as error:
        print_line(console(stderr=True), f"accepted; the store does not know of it: {error}")


def _name_of(server: Sequence[str], url: str | None, name: str | None) -> str:
    """The name of a server, that of its folder: given, or made of what tells it from others."""
    if name is not None:
        if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.@-]{0,99}", name):
            raise ConfigurationError("--name is made of letters, digits and any of _ . @ -")
        return name
    if url is not None:
        parts = urlsplit(url)
        words, whole = parts.hostname or "", url
    else:
        words, whole = _program_in(server), "\0".join(server)
    digest = hashlib.sha256(whole.encode("utf-8", "surrogateescape")).hexdigest()[:8]
    return f"{re.sub(r'[^A-Za-z0-9_.-]+', '-', words).strip('.-')[:60] or 'server'}-{digest}"


def _program_in(server: Sequence[str]) -> str:
    """The name of the program that a command runs, also by way of another.

    >>> _program_in(["npx", "-y", "@modelcontextprotocol/server-memory@1.2"]), _program_in(["python", "-m", "shop"])
    ('server-memory', 'shop')
    """
    for word in server:
        base = re.split(r"[\\/]", word)[-1].partition("@")[0]
        if not word.startswith("-") and base.removesuffix(".exe") not in _LAUNCHERS and base not in _VERBS:
            return base
    return ""


def _headers(given: Sequence[str]) -> dict[str, str]:
    headers = {}
    for each in given:
        match = _HEADER.fullmatch(each)
        if match is None:
            raise ConfigurationError(
                "--header is NAME=VARIABLE, the name of an environment variable that holds the value: no secret is to "
                "stand in a command"
            )
        value = os.environ.get(match[2])
        if not value:
            raise ConfigurationError(f"--header {match[1]}: there is no environment variable {match[2]}")
        headers[match[1]] = value
    return headers


def _address(listen_at: str | None) -> tuple[str, int]:
    if listen_at is None:
        return "", 0
    host, _, port = listen_at.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not host or not port.isascii() or not port.isdigit() or int(port) > 65_535:
        raise ConfigurationError(f"--listen is HOST:PORT, as 127.0.0.1:8322, not {listen_at!r}")
    return host, int(port)


def _make_private(folder: Path) -> None:
    """Make a folder for its owner alone, and what is missing above it."""
    for each in (folder.parent, folder):
        each.mkdir(mode=0o700, parents=True, exist_ok=True)
