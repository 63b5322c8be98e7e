"""``agentguard hook``: the guard in coding agents, put into their settings and taken out again."""

from __future__ import annotations

import dataclasses
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, cast

import typer
from rich.console import Console

from agentguard.cli import SUMMARIES
from agentguard.cli._options import (
    SHIPPED,
    JsonOption,
    OnGuardError,
    command_group,
    default_store,
    named_profiles,
    shown,
)
from agentguard.cli._terminal import VERDICT_STYLES, console, print_line, show, table, timestamp, write_json
from agentguard.errors import ConfigurationError
from agentguard.hooks import (
    AGENTS,
    Agent,
    HookSettings,
    Place,
    Status,
    install,
    place_of,
    remove,
    status_of,
)

hook = command_group(SUMMARIES["hook"])


class _Agent(str, Enum):
    claude = "claude"
    codex = "codex"


class _Claims(str, Enum):
    off = "off"
    tell = "tell"
    correct = "correct"


AgentOption = Annotated[_Agent, typer.Option("--agent", help="Whose hooks: Claude Code's (and its SDK's), or Codex's.")]
UserOption = Annotated[
    bool, typer.Option("--user", help="In the user's settings, for all projects; else in this project's.")
]


@hook.command("install")
def install_hooks(
    agent: AgentOption = _Agent.claude,
    user: UserOption = False,
    enforce: Annotated[
        bool,
        typer.Option("--enforce", help="Tell the model what was flagged, and replace what was blocked. Else: observe."),
    ] = False,
    profiles: Annotated[
        str,
        typer.Option(
            "--profiles",
            metavar="DIR",
            help=f"Folder or file of YAML tool profiles; the word '{SHIPPED}' takes those that come with agentguard.",
        ),
    ] = SHIPPED,
    store: Annotated[
        str | None,
        typer.Option("--store", metavar="DIR|URL", help="The store of what is learned; else the command line's own."),
    ] = None,
    on_guard_error: Annotated[
        OnGuardError,
        typer.Option("--on-guard-error", help="A result that cannot be judged passes, or (with --enforce) does not."),
    ] = OnGuardError.open,
    claims: Annotated[
        _Claims,
        typer.Option(
            "--claims",
            help="Where the agent, when it stops, says what no call supports: tell the user, or (with --enforce) send "
            "the agent back once.",
        ),
    ] = _Claims.tell,
    idle: Annotated[
        float, typer.Option("--idle", metavar="SECONDS", help="How long the helper lives after the last event.")
    ] = 1_800.0,
    as_json: JsonOption = False,
) -> None:
    """Put the hooks into the agent's settings; once more with other options changes them."""
    place = _place(agent.value, user=user)
    settings = HookSettings(
        agent=place.agent,
        store=_absolute(store or default_store()),
        profiles=profiles if profiles == SHIPPED else str(Path(profiles).expanduser().resolve()),
        enforce=enforce,
        on_guard_error=on_guard_error.value,
        idle_seconds=idle,
        claims=claims.value,
    )
    named_profiles(cast(str, settings.profiles))  # their faults are told now, not at the first event
    install(place, settings)
    if as_json:
        write_json({"file": str(place.file), **_as_dict(settings)})
        return
    out = console()
    print_line(out, f"the hooks are in {place.file}")
    print_line(out, _policy(settings))
    if place.agent == "codex":
        print_line(out, "Codex runs a new hook once it is trusted: /hooks there shows it")


@hook.command("remove")
def remove_hooks(agent: AgentOption = _Agent.claude, user: UserOption = False, as_json: JsonOption = False) -> None:
    """Take the hooks out of the agent's settings, end the helper, and leave all else as it was."""
    place = _place(agent.value, user=user)
    there = remove(place)
    if as_json:
        write_json({"file": str(place.file), "removed": there})
    else:
        print_line(console(), f"the hooks are out of {place.file}" if there else f"no hooks are in {place.file}")


@hook.command("status")
def status(as_json: JsonOption = False) -> None:
    """Say what is installed here and for the user, whether a helper runs, and what was flagged and blocked."""
    places = [_place(agent, user=user) for agent in AGENTS for user in (False, True)]
    found = [each for each in map(status_of, places) if each.events]
    if as_json:
        write_json({"installed": [_status_dict(each) for each in found]})
        return
    out = console()
    if not found:
        out.print("no hooks are installed here or for the user")
    for each in found:
        _print_status(out, each)


def _place(agent: str, *, user: bool) -> Place:
    return place_of(cast(Agent, agent), Path.cwd(), Path(f"{default_store()}-hooks"), user=user)


def _absolute(store: str) -> str:
    """The address of a store for a process that runs elsewhere: a folder by its full path."""
    if store.lower() == "memory:":
        raise ConfigurationError("a store in memory ends with the helper; name a folder or a server")
    if "://" in store:
        return store
    return str(Path(store.removeprefix("disk:")).expanduser().resolve())


def _policy(settings: HookSettings) -> str:
    claims = {
        "off": "what the agent says it did is not looked at",
        "tell": "you are told what it says and no call supports",
        "correct": "for what it says and no call supports the agent is sent back once",
    }[settings.claims]
    if not settings.enforce:
        return f"observing: verdicts are recorded, the model is told nothing, {claims}; --enforce acts on verdicts"
    failing = "passes" if settings.on_guard_error == "open" else "is withheld"
    return f"enforcing: flagged is annotated, blocked is replaced; what cannot be judged {failing}; {claims}"


def _as_dict(settings: HookSettings) -> dict[str, Any]:
    return {**dataclasses.asdict(settings), "store": shown(settings.store)}


def _status_dict(status: Status) -> dict[str, Any]:
    return {
        "agent": status.place.agent,
        "file": str(status.place.file),
        "events": list(status.events),
        "problems": list(status.problems),
        "settings": None if status.settings is None else _as_dict(status.settings),
        "helper": status.helper,
        "counts": status.record.counts,
        "last": [suspect._asdict() for suspect in status.record.last],
        "log": str(status.place.folder / "log"),
    }


def _print_status(out: Console, status: Status) -> None:
    print_line(out, f"{status.place.agent}: {status.place.file}", "bold")
    if status.settings is not None:
        print_line(out, _policy(status.settings))
    running = "no helper runs; the next event starts one" if status.helper is None else f"helper {status.helper} runs"
    print_line(out, f"{running}; its log: {status.place.folder / 'log'}")
    for problem in status.problems:
        print_line(out, f"problem: {problem}", "bold red")
    counts = status.record.counts
    out.print(", ".join(f"{number:,} {outcome}" for outcome, number in counts.items()))
    if status.record.last:
        rows = table("when, UTC", "tool", "call", "verdict", "#P", "what")
        for suspect in status.record.last:
            verdict = show(suspect.verdict, VERDICT_STYLES.get(cast(Any, suspect.verdict), ""))
            rows.add(
                timestamp(suspect.at), suspect.tool, suspect.call_id or "-", verdict, f"{suspect.posterior:.3f}",
                suspect.hazard,
            )  # fmt: skip
        out.print(rows)
