"""A quick look at faults that last, in seconds to minutes.

    python benchmarks/lasting/run.py [--family NAME]… [--fault NAME]… [--plain] [--engine MODULE:FACTORY]
    python benchmarks/lasting/run.py --streams | --recorded | --curve [MODULE:VARIANTS] | --whole

Without options every fault in every generated family, with the default engine. ``--whole`` runs everything that the
measurements document holds of faults that last, and prints that section.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

# Run as a script, this file's folder is on the path; the packages and the modules that it shares lie one above.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from detection.families import FAMILIES
from detection.faults import FAULTS
from detection_runs import ROOT
from goals import as_share

from lasting.curve import Variant, curve
from lasting.pictures import draw
from lasting.plan import SEEDS, script_command, script_report, whole
from lasting.protocol import MODES, courses, lasted
from lasting.section import changed, curve_table, faults_table, script_table, section, streams_table
from lasting.streams import generated, recorded

OURS = "agentguard.verification:VerificationEngine"


def main(
    family: Annotated[list[str] | None, typer.Option(help="Only this generated family.")] = None,
    fault: Annotated[list[str] | None, typer.Option(help="Only this fault.")] = None,
    plain: Annotated[bool, typer.Option("--plain", help="No labels, no retries: a third of the time.")] = False,
    engine: Annotated[str, typer.Option(help="MODULE:FACTORY of the engine.")] = OURS,
    streams: Annotated[bool, typer.Option("--streams", help="False alarms on genuine streams.")] = False,
    words: Annotated[bool, typer.Option("--words", help="With --streams: what was said of each change.")] = False,
    script_run: Annotated[bool, typer.Option("--recorded", help="The script for recorded calls.")] = False,
    tools: Annotated[int | None, typer.Option(help="With --recorded or --whole: tools a source.")] = None,
    variants: Annotated[str, typer.Option("--curve", help="MODULE:VARIANTS of the curve.")] = "",
    everything: Annotated[bool, typer.Option("--whole", help="All measures; some minutes.")] = False,
    pictures: Annotated[Path | None, typer.Option(help="Folder for the picture, with --whole or --curve.")] = None,
    data: Annotated[Path, typer.Option(help="Folder of recorded calls.")] = ROOT / "../shared/data",
    script: Annotated[Path, typer.Option("--eval", help="Script for them.")] = ROOT / "../shared/eval/lasting.py",
) -> None:
    """Print tables as Markdown."""
    make = _named(engine)
    families, console = family or list(FAMILIES), Console(stderr=True)
    if everything:
        results = whole(console, script, data, families, tools=tools)
        if pictures is not None:
            draw(results.curve, pictures)
        typer.echo("\n\n".join(section(results, script_command(script, data)).text))
    elif variants:
        points = curve([Variant(*one) for one in _named(variants)], data, families=families)
        if pictures is not None:
            draw(points, pictures)
        typer.echo(curve_table(points))
    elif streams:
        found = [*recorded(make, data), *generated(make, SEEDS, families)]
        marked = recorded(make, data, marked=True)
        typer.echo(streams_table(found[: len(marked)], marked=marked) + "\n\n" + streams_table(found[len(marked) :]))
        if words:
            typer.echo("\n".join(["", *(f"{one.source}: {told}" for one in found for told in one.told)]))
    elif script_run:
        typer.echo(script_table(script_report(script, data, engine=engine if engine != OURS else "", tools=tools)))
    else:
        modes = MODES[:1] if plain else MODES
        found_, changes = lasted(make, courses(SEEDS, families), fault or list(FAULTS), modes)
        typer.echo(faults_table(found_))
        typer.echo(f"\nafter a genuine change that was labelled, not accepted: {as_share(changed(changes))}")


def _named(words: str) -> Any:
    module, _, name = words.partition(":")
    sys.path.insert(0, ".")
    return getattr(import_module(module), name)


if __name__ == "__main__":
    typer.run(main)
