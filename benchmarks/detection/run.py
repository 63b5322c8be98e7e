"""A quick look at detection on generated tools: our engine on two courses of every family, in seconds.

    python benchmarks/detection/run.py [--whole] [--pictures FOLDER]

``--whole`` runs everything that the measurements document holds of generated tools and prints that section.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

# Run as a script, this file's folder is on the path; the package and the modules that it shares lie one above.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from detection.measures import cells, false_alarms, warm
from detection.pictures import draw
from detection.plan import quick, whole
from detection.section import faults_table, section


def main(
    everything: Annotated[bool, typer.Option("--whole", help="All measures; a few minutes.")] = False,
    pictures: Annotated[Path | None, typer.Option(help="Folder for the pictures, with --whole.")] = None,
) -> None:
    """Print the main table, or the whole section, as Markdown."""
    console = Console(stderr=True)
    if everything:
        results = whole(console)
        if pictures is not None:
            draw(results, pictures)
        typer.echo("\n\n".join(section(results).text))
        return
    known = warm(quick(console))
    typer.echo(faults_table(cells(known)))
    alarms = false_alarms(known)
    flagged, blocked = (
        sum(shares) / len(alarms) for shares in ([a.flagged for a in alarms], [a.blocked for a in alarms])
    )
    typer.echo(
        f"\ngenuine calls flagged or blocked {flagged:.1%}, blocked {blocked:.1%} (means of {len(alarms)} families)"
    )


if __name__ == "__main__":
    typer.run(main)
