"""``agentguard gate``: a model's claims held against trusted documents, before the model is released.

What the commands need is imported when one of them runs: no other command of agentguard waits for it.
"""

from __future__ import annotations

from typing import Annotated

import typer

from .exits import Exit
from .gate_options import CONFIG_NAME, LATEST, ConfigOption, RootOption
from .options import JsonOption

__all__ = ["gate"]

gate = typer.Typer(
    help="Hold a model's claims against trusted documents: deploy, warn or block. Exit code: 0 deploy or warn, "
    "1 block, 3 error, 130 interrupted."
)


@gate.callback(invoke_without_command=True)
def _group(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(Exit.ERROR)


@gate.command("init")
def init(
    config: Annotated[str, typer.Argument(metavar="[FILE]", help="The file to write.")] = CONFIG_NAME,
    use_case: Annotated[
        str, typer.Option("--use-case", metavar="TEXT", help="What the model is for.")
    ] = "customer support assistant",
    documents: Annotated[
        str, typer.Option("--docs", metavar="PATH", help="The folder or file of trusted documents.")
    ] = "docs/",
    as_json: JsonOption = False,
) -> None:
    """Write a configuration to begin with. A file that is there already stays as it is."""
    from .gate_init import init_gate

    init_gate(config, use_case, documents, as_json=as_json)


@gate.command("ingest")
def ingest(config: ConfigOption = CONFIG_NAME, root: RootOption = None, as_json: JsonOption = False) -> None:
    """Read the documents of doc_sources into the index: what is new or changed; what is gone is removed.

    What cannot be read is told, and what was indexed of it stays.
    """
    from .gate_ingest import ingest_gate

    ingest_gate(config, root, as_json=as_json)


@gate.command("run")
def run(
    config: ConfigOption = CONFIG_NAME,
    ingest_first: Annotated[
        bool | None,
        typer.Option(
            "--ingest/--no-ingest",
            help="Read the documents before, or do not. Unless told: where none are indexed yet.",
            show_default=False,
        ),
    ] = None,
    root: RootOption = None,
    resume: Annotated[
        str | None,
        typer.Option(
            "--resume",
            metavar=f"RUN|{LATEST}",
            help=f"Go on with a run that did not end: by its id, or the '{LATEST}' one. Stages that are done are kept.",
        ),
    ] = None,
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="FILE", help="Write the run to a file, as --json tells it.")
    ] = None,
    junit: Annotated[
        str | None, typer.Option("--junit", metavar="FILE", help="Write JUnit XML, one test case a claim.")
    ] = None,
    markdown: Annotated[
        str | None, typer.Option("--markdown", metavar="FILE", help="Write a summary in Markdown.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Ask the model, or take recorded answers; hold every claim against the documents; decide.

    Exit code: 0 deploy, or warn (which is told); 1 block; 3 error; 130 interrupted.
    """
    from .gate_running import Reports, run_gate

    reports = Reports(output, junit, markdown)
    raise typer.Exit(
        run_gate(config, ingest_first=ingest_first, root=root, resume=resume, reports=reports, as_json=as_json)
    )


@gate.command("history")
def history(
    config: ConfigOption = CONFIG_NAME,
    limit: Annotated[int, typer.Option("--limit", min=1, max=10_000, metavar="N", help="How many runs.")] = 20,
    as_json: JsonOption = False,
) -> None:
    """Show the runs of this use case, where their risk goes, and whether the latest is worse than what was deployed."""
    from .gate_history import show_history

    show_history(config, limit, as_json=as_json)


@gate.command("claims")
def claims(
    words: Annotated[
        list[str] | None, typer.Argument(metavar="WORD", help="Of claims and prompts that have all of these.")
    ] = None,
    since: Annotated[
        str | None, typer.Option("--since", metavar="DAY|Nd", help="Of runs since that day (UTC), or so many days ago.")
    ] = None,
    until: Annotated[
        str | None, typer.Option("--until", metavar="DAY|Nd", help="Of runs up to the end of that day (UTC).")
    ] = None,
    label: Annotated[
        str | None,
        typer.Option("--label", metavar="LABEL", help="List supported, weakly_supported or unsupported ones."),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=0, max=1_000_000, metavar="N", help="How many to list.")] = 50,
    config: ConfigOption = CONFIG_NAME,
    as_json: JsonOption = False,
) -> None:
    """Count and list what the model claimed in all runs of this use case: of a subject, within some days."""
    from .gate_claims import show_claims

    show_claims(config, words or [], since=since, until=until, label=label, limit=limit, as_json=as_json)


@gate.command("compare")
def compare(
    run_a: Annotated[str, typer.Argument(metavar="RUN_A", help=f"A finished run; '{LATEST}' is the latest.")],
    run_b: Annotated[str, typer.Argument(metavar="RUN_B", help="Another one.")],
    config: ConfigOption = CONFIG_NAME,
    different_prompts: Annotated[
        bool, typer.Option("--different-prompts", help="Compare the prompts that both have, where others differ.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Hold two runs against each other, prompt by prompt: two models on one prompt set."""
    from .gate_history import show_comparison

    show_comparison(config, run_a, run_b, different_prompts=different_prompts, as_json=as_json)


@gate.command("explain")
def explain(
    claim: Annotated[str, typer.Argument(metavar="CLAIM", help="The claim's id, p3.c2 for example.")],
    run: Annotated[str, typer.Option("--run", metavar=f"RUN|{LATEST}", help="Of which run.")] = LATEST,
    config: ConfigOption = CONFIG_NAME,
    as_json: JsonOption = False,
) -> None:
    """Show how a claim came by its verdict: the question, the answer, the reasons, the passages with the quote."""
    from .gate_history import show_explanation

    show_explanation(config, claim, run, as_json=as_json)
