"""``agentguard changes``: lasting changes of tools, reviewed and decided."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal, NamedTuple

import typer
from rich.console import Console

from agentguard.cli import SUMMARIES
from agentguard.cli._options import JsonOption, StoreOption, command_group, opened, shown
from agentguard.cli._terminal import VERDICT_STYLES, console, counted, print_line, show, table, timestamp, write_json
from agentguard.errors import DataError
from agentguard.stores import Store
from agentguard.verification._audit import AUDIT, AuditRecord, audit_record
from agentguard.verification._changes import (
    CHANGES,
    STATES,
    TAKEN,
    Change,
    ChangeEvent,
    changes_in,
    decide,
    find_change,
    read_change_event,
)

#: States in which nobody has to do anything. A followed change is listed on, until somebody has looked at it.
_ENDED = ("adopted", "recovered")
_STYLES = {"open": "bold yellow", "followed": "yellow", "fault": "bold red"}
_SHOWN_CALLS = 40

changes = command_group(SUMMARIES["changes"])

IdArgument = Annotated[str, typer.Argument(metavar="ID", help="The change's id, or enough of its beginning.")]


class Recorded(NamedTuple):
    """A call on record that looks like a change; ``asked``: how often it had had the same result before."""

    record: AuditRecord
    asked: int


@changes.command("list")
def list_changes(
    store: StoreOption = None,
    tool: Annotated[str | None, typer.Option("--tool", metavar="NAME", help="Only those of this tool.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Also those that have ended.")] = False,
    as_json: JsonOption = False,
) -> None:
    """List what has changed and has not ended, the undecided first: id, tool, state, since when, calls, what, why."""
    with opened(store) as kept:
        every_change = changes_in(kept, tool)
    listed = [change for change in every_change if every or change.state not in _ENDED]
    ended = sum(change.state in _ENDED for change in every_change)
    if as_json:
        write_json({"store": shown(store), "changes": [change.as_dict() for change in listed], "ended": ended})
        return
    out = console()
    if listed:
        _print_list(out, listed)
    else:
        out.print("nothing is open" if every_change else "no change is on record")
    if ended and not every:
        out.print(f"{ended:,} more {'has' if ended == 1 else 'have'} ended; --all lists them too")


@changes.command("show")
def show_change(id_: IdArgument, store: StoreOption = None, as_json: JsonOption = False) -> None:
    """Show one change: what it is, its events, and the calls on record that look like it."""
    with opened(store) as kept:
        change = find_change(changes_in(kept), id_)
        events = [event for event in map(read_change_event, kept.events(CHANGES)) if event and event.id == change.id]
        calls = list(_calls_of(kept, change.id))
    if as_json:
        write_json({"store": shown(store), **_as_dict(change, events, calls)})
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


@changes.command("undo")
def undo(id_: IdArgument, store: StoreOption = None, as_json: JsonOption = False) -> None:
    """Undo that a change was taken as genuine, by the engine (followed, mode) or by adopt: it is a fault then."""
    _decide(id_, "fault", store, as_json=as_json, only=(*TAKEN, "fault"))


def _decide(
    id_: str, state: Literal["fault", "adopted"], store: str | None, *, as_json: bool, only: tuple[str, ...] = STATES
) -> None:
    with opened(store) as kept:
        change = find_change(changes_in(kept), id_)
        if change.state not in only:
            raise DataError(
                f"nothing to undo: change {change.id} is {change.state}; `agentguard changes fault` decides it"
            )
        # A decision that stands already is no event: it would look like a second one.
        stands = change.reviewed and change.state == state
        if not stands:
            change = decide(kept, change.id, state)
    if as_json:
        write_json({"store": shown(store), **change.as_dict()})
        return
    then = "it was so already" if stands else "engines on this store act on it with their next flush"
    print_line(console(), f"{change.tool}: {change.what}: {state}; {then}")


def _calls_of(store: Store, id_: str) -> Iterator[Recorded]:
    for record in store.events(AUDIT):
        if record.event.get("change") == id_:
            audited, asked = audit_record(record), record.event.get("asked", 0)
            if audited is not None:
                yield Recorded(audited, asked if type(asked) is int else 0)


def _as_dict(change: Change, events: list[ChangeEvent], calls: list[Recorded]) -> dict[str, Any]:
    return {
        **change.as_dict(),
        "events": [{"at": event.at, "state": event.state, "by": event.by, "why": event.why} for event in events],
        "records": [
            {
                **{name: getattr(record, name) for name in ("sequence", "at", "call_id", "session_id", "posterior")},
                "verdict": record.call.verdict,
                "asked": asked,
            }
            for record, asked in calls
        ],
    }


def _print_list(out: Console, listed: list[Change]) -> None:
    rows = table("id", "tool", "state", "began, UTC", "#calls", "#blocked", "what")
    for change in listed:
        rows.add(
            change.id, change.tool, show(change.state, _STYLES.get(change.state, "")),
            timestamp(change.opened)[:16], change.calls, change.blocked,
            f"{change.what}; {change.why}" if change.why else change.what,
        )  # fmt: skip
    out.print(rows)


def _print_change(out: Console, change: Change, events: list[ChangeEvent], calls: list[Recorded]) -> None:
    print_line(out, f"{change.tool}: {change.what}", "bold")
    by = "as a reviewer decided" if change.reviewed else "undecided" if change.state == "open" else "by itself"
    print_line(out, f"{change.id}: {change.state}, {by}, since {timestamp(change.since)} UTC")
    if change.why:
        print_line(out, f"why: {change.why}; `agentguard changes undo {change.id}` undoes it")
    print_line(out, f"began {timestamp(change.opened)} UTC")
    out.print(f"{counted(change.calls, 'call')} looked like it, {change.blocked:,} of them were blocked\n")
    history = table("when, UTC", "state", "by")
    for event in events:
        history.add(timestamp(event.at), event.state, event.by)
    out.print(history)
    if not calls:
        return
    out.print()
    rows = table("when, UTC", "call", "session", "verdict", "#P", "#asked")
    for record, asked in calls[-_SHOWN_CALLS:]:
        verdict = show(record.call.verdict, VERDICT_STYLES[record.call.verdict])
        rows.add(
            timestamp(record.at), record.call_id or "-", record.session_id or "-", verdict,
            f"{record.posterior:.3f}", asked,
        )  # fmt: skip
    out.print(rows)
    if len(calls) > _SHOWN_CALLS:
        out.print(f"and {counted(len(calls) - _SHOWN_CALLS, 'earlier call')}; --json lists them all")
