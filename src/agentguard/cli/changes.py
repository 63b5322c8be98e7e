"""``agentguard changes``: changes of tools that last, looked at and decided."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone
from typing import Annotated, Any, Literal, NamedTuple

import typer
from rich.console import Console

from agentguard.stores import Store
from agentguard.verification.audit import AUDIT, AuditRecord, audit_record
from agentguard.verification.changes import (
    CHANGES,
    Change,
    ChangeEvent,
    changes_in,
    decide,
    find_change,
    read_change_event,
)

from .exits import Exit
from .options import JsonOption, StoreOption
from .output import VERDICT_STYLES, console, counted, show, table, write_json
from .state_place import default_store, opened, shown

__all__ = ["changes"]

#: States in which calls like these are treated like any other: nobody has to do anything.
_ENDED = ("adopted", "recovered", "mode")
_STYLES = {"open": "bold yellow", "fault": "bold red"}
_SHOWN_CALLS = 40

changes = typer.Typer(
    help="Look at changes of tools that last, and say what they are. Without --store: in $XDG_STATE_HOME/agentguard, "
    "or ~/.local/state/agentguard."
)

IdArgument = Annotated[str, typer.Argument(metavar="ID", help="The change's id, or enough of its beginning.")]


class Recorded(NamedTuple):
    """A call on record that looks like a change; ``asked``: how often it had had the same result before."""

    record: AuditRecord
    asked: int


@changes.callback(invoke_without_command=True)
def _group(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(Exit.ERROR)


@changes.command("list")
def list_changes(
    store: StoreOption = None,
    tool: Annotated[str | None, typer.Option("--tool", metavar="NAME", help="Only those of this tool.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Also those that have ended.")] = False,
    as_json: JsonOption = False,
) -> None:
    """List what has changed and has not ended, the undecided first: id, tool, state, since when, calls, what."""
    with opened(store) as kept:
        found = changes_in(kept, tool)
    listed = [change for change in found if every or change.state not in _ENDED]
    ended = sum(change.state in _ENDED for change in found)
    if as_json:
        where = shown(store or default_store())
        write_json({"store": where, "changes": [change._asdict() for change in listed], "ended": ended})
        return
    out = console()
    if listed:
        _print_list(out, listed)
    else:
        out.print("nothing is open" if found else "no change is on record")
    if ended and not every:
        out.print(f"{ended:,} more {'has' if ended == 1 else 'have'} ended; --all lists them too")


@changes.command("show")
def show_change(id_: IdArgument, store: StoreOption = None, as_json: JsonOption = False) -> None:
    """Show one change: what it is, its events, and the calls on record that look like it."""
    with opened(store) as kept:
        change = find_change(changes_in(kept), id_)
        events = list(_events_of(kept, change.id))
        calls = list(_calls_of(kept, change.id))
    if as_json:
        write_json({"store": shown(store or default_store()), **_as_dict(change, events, calls)})
    else:
        _print_change(console(), change, events, calls)


@changes.command("adopt")
def adopt(id_: IdArgument, store: StoreOption = None, as_json: JsonOption = False) -> None:
    """Say that a change is genuine: calls like it are ordinary from then on, and those held back are learned."""
    _decide(id_, "adopted", store, as_json=as_json)


@changes.command("fault")
def fault(id_: IdArgument, store: StoreOption = None, as_json: JsonOption = False) -> None:
    """Say that a change is a fault: calls like it are blocked until it is decided otherwise."""
    _decide(id_, "fault", store, as_json=as_json)


def _decide(id_: str, state: Literal["fault", "adopted"], store: str | None, *, as_json: bool) -> None:
    with opened(store) as kept:
        change = find_change(changes_in(kept), id_)
        # A decision that stands already is no event: it would look like a second one.
        stands = change.reviewed and change.state == state
        if not stands:
            change = decide(kept, change.id, state)
    if as_json:
        write_json({"store": shown(store or default_store()), **change._asdict()})
        return
    then = "it was so already" if stands else "engines on this store act on it with their next flush"
    console().print(show(f"{change.tool}: {change.what}: {state}; {then}", limit=2_000), soft_wrap=True)


def _events_of(store: Store, id_: str) -> Iterator[ChangeEvent]:
    for record in store.events(CHANGES):
        event = read_change_event(record)
        if event is not None and event.id == id_:
            yield event


def _calls_of(store: Store, id_: str) -> Iterator[Recorded]:
    for record in store.events(AUDIT):
        if record.event.get("change") == id_:
            found, asked = audit_record(record), record.event.get("asked", 0)
            if found is not None:
                yield Recorded(found, asked if type(asked) is int else 0)


def _as_dict(change: Change, events: list[ChangeEvent], calls: list[Recorded]) -> dict[str, Any]:
    return {
        **change._asdict(),
        "events": [{"at": event.at, "state": event.state, "by": event.by} for event in events],
        "records": [
            {
                "sequence": record.sequence,
                "at": record.at,
                "call_id": record.call_id,
                "session_id": record.session_id,
                "verdict": record.call.verdict,
                "posterior": record.posterior,
                "asked": asked,
            }
            for record, asked in calls
        ],
    }


def _print_list(out: Console, listed: list[Change]) -> None:
    made = table("id", "tool", "state", "since, UTC", "calls", "blocked", "what", right=("calls", "blocked"))
    for change in listed:
        made.add_row(
            show(change.id), show(change.tool), show(change.state, _STYLES.get(change.state, "")),
            _time(change.since)[:16], f"{change.calls:,}", f"{change.blocked:,}", show(change.what),
        )  # fmt: skip
    out.print(made)


def _print_change(out: Console, change: Change, events: list[ChangeEvent], calls: list[Recorded]) -> None:
    out.print(show(f"{change.tool}: {change.what}", "bold", limit=2_000), soft_wrap=True)
    by = "as a reviewer decided" if change.reviewed else "undecided" if change.state == "open" else "by itself"
    out.print(show(f"{change.id}: {change.state}, {by}, since {_time(change.since)} UTC", limit=2_000), soft_wrap=True)
    out.print(f"{counted(change.calls, 'call')} looked like it, {change.blocked:,} of them were blocked")
    out.print()
    happened = table("when, UTC", "state", "by")
    for event in events:
        happened.add_row(_time(event.at), event.state, show(event.by))
    out.print(happened)
    if not calls:
        return
    out.print()
    made = table("when, UTC", "call", "session", "verdict", "P", "asked", right=("P", "asked"))
    for record, asked in calls[-_SHOWN_CALLS:]:
        made.add_row(
            _time(record.at), show(record.call_id or "-"), show(record.session_id or "-"),
            show(record.call.verdict, VERDICT_STYLES[record.call.verdict]), f"{record.posterior:.3f}", f"{asked:,}",
        )  # fmt: skip
    out.print(made)
    if len(calls) > _SHOWN_CALLS:
        out.print(f"and {counted(len(calls) - _SHOWN_CALLS, 'earlier call')}; --json lists them all")


def _time(at: float) -> str:
    try:
        return datetime.fromtimestamp(at, timezone.utc).strftime("%Y-%m-%d %H:%M:%S")
    except (OverflowError, ValueError, OSError):
        return str(at)  # of a clock that was far off
