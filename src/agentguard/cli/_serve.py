"""``agentguard serve``: the guard, the gate and a store's page over HTTP, on this machine unless told otherwise."""

from __future__ import annotations

import logging
import signal
import socket
import sys
from contextlib import ExitStack
from enum import Enum
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

from agentguard.cli._exits import Exit
from agentguard.cli._listening import address_of, listen, require_local
from agentguard.cli._options import (
    CalibrationOption,
    Mode,
    OnFlag,
    OnGuardError,
    ProfilesOption,
    build_engine,
    opened,
    shown,
)
from agentguard.errors import ConfigurationError
from agentguard.guard import Policy
from agentguard.stores import Store

if TYPE_CHECKING:
    from fastapi import FastAPI

    from agentguard.serving import Part

QUEUED = 1_024  # connections that the system holds for us until they are accepted


class OnBlock(str, Enum):
    """The action on a blocked result."""

    notice = "replace"
    error = "raise"


def serve(
    root: Annotated[
        Path | None,
        typer.Option(
            "--root",
            metavar="DIR",
            help="Serve the gate, whose configurations lie in this folder. [default: the "
            "folder that this is called in, where there is neither --store nor --verify]",
        ),
    ] = None,
    store: Annotated[
        str | None,
        typer.Option(
            "--store",
            metavar="DIR|URL",
            help="Serve the live view of this store: a folder, or redis://…, rediss://…, "
            "unix://…. With --verify what is learned is kept there. AGENTGUARD_STORE is not looked at.",
        ),
    ] = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="Serve the guard: POST /v1/verify, and what else there is below /v1/.")
    ] = False,
    profiles: ProfilesOption = None,
    calibration: CalibrationOption = None,
    on_flag: Annotated[
        OnFlag | None, typer.Option("--on-flag", help="With a flagged result. [default: annotate]")
    ] = None,
    on_block: Annotated[
        OnBlock | None, typer.Option("--on-block", help="With a blocked result. [default: replace]")
    ] = None,
    on_guard_error: Annotated[
        OnGuardError | None,
        typer.Option("--on-guard-error", help="Where the guard fails: hand on, or block. [default: open]"),
    ] = None,
    observe: Annotated[bool, typer.Option("--observe", help="Judge and record, and let every result pass.")] = False,
    host: Annotated[str, typer.Option("--host", metavar="ADDRESS", help="Address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65_535, help="0 takes one that is free.")] = 8321,
    allow_remote: Annotated[
        bool,
        typer.Option(
            "--allow-remote", help="Listen at an address that other machines reach; put a proxy with TLS before it."
        ),
    ] = False,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-host",
            metavar="NAME",
            help="A name that requests may give in Host, beside this machine's and that of --host; with --allow-remote "
            "any where none is given.",
        ),
    ] = None,
    config: Annotated[
        str | None,
        typer.Option("--config", metavar="FILE", help="Where a request names none; .llm-reliability.yaml below DIR."),
    ] = None,
    max_running: Annotated[
        int, typer.Option("--max-running", min=1, max=32, metavar="N", help="Runs under way at once.")
    ] = 2,
    max_connections: Annotated[
        int | None,
        typer.Option(
            "--max-connections",
            min=1,
            metavar="N",
            help="Connections at once; those without a request make room for others. [default: 1,000, or three "
            "quarters of the files that may be open]",
        ),
    ] = None,
    grace: Annotated[
        int,
        typer.Option(
            "--grace", min=0, max=86_400, metavar="SECONDS", help="How long requests may take to end after SIGTERM."
        ),
    ] = 30,
) -> None:
    """Serve the guard, the reliability gate, a page over a store, or several; requests bring AGENTGUARD_API_KEY.

    The guard: POST /v1/verify, /v1/scan, /v1/ground, /v1/check and /v1/feedback, GET and POST /v1/changes, and the
    address that LiteLLM calls. The gate: POST /evaluate, GET /runs/ID and /history. The page: /live/, to which a
    browser logs in with the key. Of all: GET /healthz and /openapi.json. SIGTERM and SIGINT end it: a run of the gate
    ends before its next stage, and is recorded as interrupted.
    """
    require_local(host, allow_remote=allow_remote)
    policy = Policy(
        on_flag="annotate" if on_flag is None else on_flag.value,
        on_block="replace" if on_block is None else on_block.value,
        on_guard_error="open" if on_guard_error is None else on_guard_error.value,
        shadow=observe,
    )
    of_the_guard = {
        "--profiles": profiles, "--calibration": calibration, "--on-flag": on_flag, "--on-block": on_block,
        "--on-guard-error": on_guard_error, "--observe": observe or None,
    }  # fmt: skip
    given = [name for name, value in of_the_guard.items() if value is not None]
    if given and not verify:
        raise ConfigurationError(f"{', '.join(given)}: without --verify no guard is served that could heed it")
    if root is None and store is None and not verify:
        root = Path(".")
    with ExitStack() as stack:
        kept = None if store is None else stack.enter_context(opened(store, create=verify))
        parts = []
        if verify:
            from agentguard.guard.api import guard_part

            engine = stack.enter_context(build_engine(profiles, Mode.calibrated, kept, calibration))
            parts.append(guard_part(engine, policy))
        hosts = None if allow_remote and not allow_host else [host, *(allow_host or ())]
        app = _application(parts, root, config, max_running, kept, "" if store is None else shown(store), hosts)
        places = ("the guard" if verify else None, root, store and shown(store))
        served = " and ".join(str(place) for place in places if place is not None)
        interrupted = _serve(app, served, host, port, grace, max_connections)
    if interrupted:
        raise typer.Exit(Exit.INTERRUPTED)


def _application(
    parts: list[Part],
    root: Path | None,
    config: str | None,
    max_running: int,
    store: Store | None,
    source: str,
    hosts: list[str] | None,
) -> FastAPI:
    # Loaded only now, so that a refusal of the arguments does not wait for a server.
    from agentguard.serving._app import ServiceKey, assemble

    key = ServiceKey.given(None)
    if root is not None:
        from agentguard.gate._config import CONFIG_NAME
        from agentguard.gate.api import gate_part

        parts.append(gate_part(root, config_name=CONFIG_NAME if config is None else config, max_running=max_running))
    if store is not None:
        from agentguard.live import live_part

        parts.append(live_part(store, key, source=source))
    return assemble(parts, key=key, hosts=hosts)


def _serve(app: FastAPI, served: str, host: str, port: int, grace: int, max_connections: int | None) -> bool:
    """Serve until a signal ends it; returns whether that was an interrupt."""
    try:
        import uvicorn

        from agentguard.serving._connections import ACCEPTED_AT_ONCE, Connections
    except ImportError as error:
        raise ConfigurationError("agentguard serve needs uvicorn; pip install 'agentguard[serve]'") from error

    class Server(uvicorn.Server):
        """Tells the application of a signal; and ends with 0, where its parent would let the signal end the process."""

        interrupted = False

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            listening.listen(QUEUED)  # which the event loop has set to what it accepts at once
            typer.echo(f"agentguard serves {served} at {address_of(listening)}")
            sys.stdout.flush()

        def handle_exit(self, sig: int, frame: FrameType | None) -> None:
            app.state.stop()
            self.force_exit = self.force_exit or (self.should_exit and sig == signal.SIGINT)
            self.should_exit = True
            self.interrupted = sig == signal.SIGINT

    settings = uvicorn.Config(
        app,
        http=Connections(max_connections).protocol(),
        backlog=ACCEPTED_AT_ONCE,
        log_config=None,
        access_log=False,  # its lines have the query; the door writes lines of its own
        server_header=False,
        proxy_headers=False,
        ws="none",
        timeout_graceful_shutdown=grace,
    )
    with listen(host, port) as listening:
        logging.basicConfig(stream=sys.stderr, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
        for name in ("agentguard", "uvicorn"):  # not those of clients, which would tell what is asked of whom
            logging.getLogger(name).setLevel(logging.INFO)
        server = Server(settings)
        server.run(sockets=[listening])
    return server.interrupted
