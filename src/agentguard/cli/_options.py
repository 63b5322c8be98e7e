"""Options that several commands share, and the engine and the store that they ask for."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from agentguard.cli._exits import Exit
from agentguard.cli._terminal import printable
from agentguard.errors import ConfigurationError, DataError
from agentguard.stores import Store, open_store
from agentguard.traces._formats import FORMATS
from agentguard.traces._read import AUTO, OWN
from agentguard.verification import ToolProfile, VerificationEngine, load_profiles
from agentguard.verification.profile import ProfileIndex

SHIPPED = "shipped"
STORE_VARIABLE = "AGENTGUARD_STORE"
_SERVER = re.compile(r"(rediss?|unix)://", re.IGNORECASE)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")


class OnFlag(str, Enum):
    """The policy on flagged results."""

    annotate = "annotate"
    observe = "observe"
    block = "block"


class OnGuardError(str, Enum):
    """The policy on failures of the guard itself."""

    open = "open"
    closed = "closed"


class Mode(str, Enum):
    """The two ways of judging."""

    calibrated = "calibrated"
    reference = "reference"


ProfilesOption = Annotated[
    str | None,
    typer.Option(
        "--profiles",
        metavar="DIR",
        help=f"Folder or file of YAML tool profiles; the word '{SHIPPED}' takes those that come with agentguard. "
        "Without it no tool has a profile.",
    ),
]
ModeOption = Annotated[Mode, typer.Option("--mode", help="Way of judging.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Write one JSON object to stdout and nothing else.")]
StoreOption = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="DIR|URL",
        envvar=STORE_VARIABLE,
        help="The store of what was learned: a folder, or redis://…, rediss://…, unix://….",
    ),
]
CalibrationOption = Annotated[
    str | None,
    typer.Option("--calibration", metavar="FILE", help="Judge by what 'agentguard calibrate -o FILE' found."),
]
FormatOption = Annotated[
    str,
    typer.Option(
        "--format",
        metavar="NAME",
        help=f"Format of the log: {', '.join((OWN, *FORMATS))}; '{AUTO}' recognises that of each file.",
    ),
]
LOG_HELP = "a .jsonl, .json or .parquet file (or .gz of the first two), a folder of them, or '-' for stdin"
LimitOption = Annotated[int | None, typer.Option("--limit", min=1, metavar="N", help="Stop after N calls.")]


def command_group(summary: str) -> typer.Typer:
    """A command made of commands; called without one it shows its help and ends with 3."""
    group = typer.Typer(help=summary)

    @group.callback(invoke_without_command=True)
    def show_help(context: typer.Context) -> None:
        if context.invoked_subcommand is None:
            typer.echo(context.get_help())
            raise typer.Exit(Exit.ERROR)

    return group


def named_profiles(name: str) -> list[ToolProfile]:
    """The profiles of a folder or file, or, by the word ``shipped``, those that come with agentguard."""
    return load_profiles() if name == SHIPPED else load_profiles(name)


def declared(profiles: str | None) -> Callable[[str], tuple[str, ...]]:
    """A function from the name of a tool to what the profiles of a folder, file or the word ``shipped`` say it does."""
    index = ProfileIndex(() if profiles is None else named_profiles(profiles))

    def does(tool: str) -> tuple[str, ...]:
        profile = index.find(tool)
        return () if profile is None else profile.does

    return does


def build_engine(
    profiles: str | None, mode: Mode, store: Store | None = None, calibration: str | None = None
) -> VerificationEngine:
    """Build an engine: a fresh one, or one that goes on from what a store holds.

    Raises:
        ConfigurationError, ProfileError: for profiles or a calibration that cannot be used.
    """
    given = None if profiles is None else named_profiles(profiles)
    return VerificationEngine(mode=mode.value, profiles=given, store=store, calibration=calibration)


def default_store() -> str:
    """The folder of the command line: ``$XDG_STATE_HOME/agentguard``, or ``~/.local/state/agentguard``."""
    home = os.environ.get("XDG_STATE_HOME", "")
    base = Path(home) if os.path.isabs(home) else Path("~/.local/state").expanduser()
    return str(base / "agentguard")


def shown(where: str | None) -> str:
    """The address of a store, or of the default one, for display: of a server without user, password and settings.

    >>> shown("redis://guard:secret@cache.example:6379/2?x=y"), shown("/var/lib/agentguard")
    ('redis://cache.example:6379/2', '/var/lib/agentguard')
    """
    where = where or default_store()
    scheme, separator, rest = where.partition("://")
    if not separator:
        return printable(where)
    # A password may hold any of /, ? and # where it was not escaped: nothing before the last @ is shown.
    return printable(f"{scheme}://{re.split('[?#]', rest.rpartition('@')[2])[0]}")


@contextmanager
def opened(where: str | None, *, create: bool = False) -> Iterator[Store]:
    """Open the store at an address, or the command line's own, and close it in the end.

    With ``create`` a folder's store is made where there is none.

    Raises:
        ConfigurationError: for an address that is none, or one that outlives no command.
        DataError: where there is no store and none is to be made.
        StoreError: where the store cannot be opened.
    """
    address = where or default_store()
    if address.lower() == "memory:":
        raise ConfigurationError("a store in memory ends with this command; name a folder or a server")
    if not create and _SERVER.match(address) is None:
        _require(address)
    with closing(open_store(address)) as store:
        yield store


def holds_store(folder: str) -> bool:
    """Tell whether a folder holds a store.

    Raises:
        OSError, ValueError, RuntimeError: for a path that cannot be looked at.
    """
    from agentguard.stores._disk import DATABASE

    return (Path(folder).expanduser() / DATABASE).exists()


def _require(address: str) -> None:
    """Refuse a folder without a store: opening would make one."""
    folder = address[len("disk:") :] if address.lower().startswith("disk:") else address
    if folder == address and _SCHEME.match(address) and not os.path.exists(address):
        return  # no address of a store, but maybe one with a password: what opens it says so, and quotes nothing
    try:
        exists = holds_store(folder)
    except (OSError, ValueError, RuntimeError) as error:
        raise DataError(f"cannot look for a store at {printable(folder)}: {error}") from None
    if not exists:
        raise DataError(
            f"there is no store at {printable(folder)}; --store or {STORE_VARIABLE} names another, and "
            "'agentguard verify --store' or 'agentguard state import' makes one"
        )
