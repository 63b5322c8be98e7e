"""``agentguard gate history | claims | compare | explain | dashboard``: the records of past runs."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime, timedelta, timezone
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from agentguard.cli._files import write_file
from agentguard.cli._options import JsonOption
from agentguard.cli._terminal import SHOWN, console, print_more, printable, show, table, timestamp, write_json
from agentguard.errors import ConfigurationError, DataError
from agentguard.gate._config import CONFIG_NAME, GateConfig, load_config
from agentguard.gate._history import Comparison, LabelChange, Regression, Trend, regression, trend
from agentguard.gate._history import compare as compare_runs
from agentguard.gate._run import GateRun, read_run
from agentguard.gate._types import Decision, Label
from agentguard.gate.records import open_records
from agentguard.gate.records._base import RunRecords, RunSummary, mark_interrupted
from agentguard.gate.reports import Explanation, Marked, RecordedClaim, recorded_claims, summary_as_dict
from agentguard.gate.reports import dashboard as dashboard_page
from agentguard.gate.reports import explain as explain_claim

LATEST = "latest"
RUNS_SEARCHED = 100  # among which the latest finished one is looked for
RUNS_COMPARED = 1_000  # among which the last that was deployed is looked for
RUNS_NAMED = 3
PASSAGE_SHOWN = 300  # characters on each side of the quotation
LABELS: tuple[Label, ...] = ("supported", "weakly_supported", "unsupported")
DECISION_STYLES: Mapping[Decision, str] = {"deploy": "green", "warn": "yellow", "block": "bold red"}
LABEL_STYLES: Mapping[Label, str] = {"supported": "green", "weakly_supported": "yellow", "unsupported": "bold red"}

_DAYS = re.compile(r"(\d{1,5})d")
_MARK = "bold reverse"
_LONG = 20_000  # characters of an answer or a passage
_EXPLANATION = 5_000

ConfigOption = Annotated[
    str,
    typer.Option("--config", metavar="FILE", envvar="AGENTGUARD_GATE_CONFIG", help="The gate's configuration."),
]


def history(
    config: ConfigOption = CONFIG_NAME,
    limit: Annotated[int, typer.Option("--limit", min=1, max=10_000, metavar="N", help="How many runs.")] = 20,
    as_json: JsonOption = False,
) -> None:
    """Show the runs of this use case, where their risk goes, and whether the latest is worse than what was deployed."""
    configured = load_config(config)
    with opened_records(configured) as records:
        before = records.runs(max(limit, RUNS_COMPARED), use_case=configured.use_case)
        runs = before[:limit]
        latest = next((run for run in runs if run.status == "finished"), None)
        course = trend(runs)
        beside = None if latest is None else regression(latest, before)
        worse: tuple[LabelChange, ...] = ()
        if beside is not None and beside.against is not None:
            pair = (read_run(run_id, records) for run_id in (beside.against, beside.run_id))
            worse = compare_runs(*pair, allow_different_prompts=True).worse
    if not as_json:
        _report_history(console(), runs, course, beside, worse)
        return
    write_json(
        {
            "use_case": configured.use_case,
            "runs": [summary_as_dict(run) for run in runs],
            "trend": asdict(course),
            "regression": None if beside is None else asdict(beside),
            "worse": [asdict(change) for change in worse],
        }
    )


def dashboard(
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="The page to write.")] = "gate.html",
    config: ConfigOption = CONFIG_NAME,
    as_json: JsonOption = False,
) -> None:
    """Write a page of all runs of this use case: trend, alerts, the claims that fail most often, what changed last."""
    configured = load_config(config)
    with opened_records(configured) as records:
        runs = records.runs(RUNS_COMPARED, use_case=configured.use_case)
        write_file(output, dashboard_page(configured.use_case, runs, records))
    if as_json:
        write_json({"written": output, "runs": len(runs)})
    else:
        console().print(show(f"{printable(output)} is written: {len(runs)} runs", limit=2_000), soft_wrap=True)


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
    if label is not None and label not in LABELS:
        raise ConfigurationError(f"--label is one of {', '.join(LABELS)}, not {printable(label)[:40]!r}")
    begin, end = _moment("--since", since), _moment("--until", until, timedelta(days=1))
    configured = load_config(config)
    counts: Counter[str] = Counter()
    runs = set()
    listed: list[RecordedClaim] = []
    with opened_records(configured) as records:
        for claim in recorded_claims(records, configured.use_case, words=words or [], since=begin, until=end):
            verdict = claim.finding.verdict.label
            counts[verdict] += 1
            runs.add(claim.run.run_id)
            if label in (None, verdict) and len(listed) < limit:
                listed.append(claim)
    if as_json:
        labelled: dict[str, int] = {name: counts[name] for name in LABELS}
        listing = [_claim_as_dict(claim) for claim in listed]
        write_json({"use_case": configured.use_case, "runs": len(runs), **labelled, "claims": listing})
    else:
        more = (counts.total() if label is None else counts[label]) - len(listed)
        _report_claims(console(), len(runs), counts, listed, more)


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
    a, b = finished_runs(config, run_a, run_b)
    comparison = compare_runs(a, b, allow_different_prompts=different_prompts)
    if as_json:
        runs = {"run_a": summary_as_dict(comparison.run_a), "run_b": summary_as_dict(comparison.run_b)}
        write_json({**asdict(comparison), **runs})
    else:
        _report_comparison(console(), comparison)


def explain(
    claim: Annotated[str, typer.Argument(metavar="CLAIM", help="The claim's id, p3.c2 for example.")],
    run: Annotated[str, typer.Option("--run", metavar=f"RUN|{LATEST}", help="Of which run.")] = LATEST,
    config: ConfigOption = CONFIG_NAME,
    as_json: JsonOption = False,
) -> None:
    """Show how a claim came by its verdict: the question, the answer, the reasons, the passages with the quote."""
    (finished,) = finished_runs(config, run)
    explanation = explain_claim(finished, claim)
    if as_json:
        write_json(explanation.as_dict())
    else:
        _report_explanation(console(), explanation)


def last_finished(records: RunRecords, use_case: str) -> str | None:
    """The id of the latest run that was finished; None if there is none."""
    runs = records.runs(RUNS_SEARCHED, use_case=use_case)
    return next((run.run_id for run in runs if run.status == "finished"), None)


def last_unfinished(records: RunRecords, use_case: str) -> RunSummary | None:
    """The latest run, where it failed or was interrupted."""
    run = next(iter(records.runs(1, use_case=use_case)), None)
    return run if run is not None and run.status in ("failed", "interrupted") else None


def compared_with_last(records: RunRecords, run: GateRun) -> Comparison | None:
    """A finished run beside the last of its use case that was finished before it; None if it is the first."""
    earlier = records.runs(RUNS_SEARCHED, use_case=run.summary.use_case)
    last = next((each for each in earlier if each.status == "finished" and each.run_id < run.run_id), None)
    if last is None:
        return None
    return compare_runs(read_run(last.run_id, records), run, allow_different_prompts=True)


def passage_title(document: str, heading: str) -> str:
    """The document and, where there is one, the heading that a passage stands under."""
    return f"{document} · {heading}" if heading else document


@contextmanager
def opened_records(config: GateConfig) -> Iterator[RunRecords]:
    """The records of a gate that has run before; runs that died are marked as interrupted.

    Raises:
        DataError: where nothing is on record; none are made.
        ConfigurationError, StoreError: where they cannot be opened.
    """
    if config.elasticsearch is None:
        folder = config.resolve(config.embedded.path)
        if not folder.is_dir():
            raise DataError(
                f"nothing is on record at {printable(str(folder))}: 'agentguard gate run' makes a first run"
            )
    records = open_records(config)
    try:
        mark_interrupted(records)
        yield records
    finally:
        records.close()


def finished_runs(config: str, *wanted: str) -> list[GateRun]:
    """Runs by id, or the latest that was finished.

    Raises:
        DataError: where there is none.
    """
    configured = load_config(config)
    with opened_records(configured) as records:
        return [read_run(run_id_of(records, run, configured.use_case), records) for run in wanted]


def run_id_of(records: RunRecords, wanted: str, use_case: str) -> str:
    runs = records.runs(RUNS_SEARCHED, use_case=use_case)
    if wanted == LATEST:
        finished = last_finished(records, use_case)
        if finished is None:
            raise DataError("no run of this use case is finished yet; 'agentguard gate run' makes one")
        return finished
    if records.summary(wanted) is None:
        latest = ", ".join(run.run_id for run in runs[:RUNS_NAMED])
        known = f"the latest are {latest}" if latest else "there is none of this use case yet"
        raise DataError(f"there is no run {printable(wanted)[:100]!r}; {known}")
    return wanted


def _moment(option: str, given: str | None, more: timedelta = timedelta()) -> float | None:
    """The seconds since the epoch of a day's beginning (UTC) plus ``more``, or of so many days before now."""
    if given is None:
        return None
    days = _DAYS.fullmatch(given)
    if days is not None:
        return time.time() - int(days[1]) * 86_400
    try:
        day = datetime.strptime(given, "%Y-%m-%d").replace(tzinfo=timezone.utc)
        return (day + more).timestamp()
    except (ValueError, OverflowError):
        raise ConfigurationError(
            f"{option} takes a day, 2026-03-15 for example, or days before now, 30d for example, not "
            f"{printable(given)[:40]!r}"
        ) from None


def _claim_as_dict(claim: RecordedClaim) -> dict[str, Any]:
    finding = claim.finding
    return {
        "run_id": claim.run.run_id,
        "started": claim.run.started,
        "target": claim.run.target,
        "claim_id": finding.claim.id,
        "claim": finding.claim.text,
        "label": finding.verdict.label,
        "prompt": finding.prompt.text,
    }


def _report_history(
    out: Console,
    runs: Sequence[RunSummary],
    course: Trend,
    beside: Regression | None,
    worse: Sequence[LabelChange],
) -> None:
    """Print a line a run, the newest first, and what they show together."""
    if not runs:
        out.print("no run of this use case is on record yet")
        return
    rows = table("run", "when (UTC)", "model", "judge", "#claims", "unsupported", "#risk", "")
    for run in runs:
        ended = show(run.status) if run.decision is None else Text(run.decision, DECISION_STYLES[run.decision])
        counts = ("–" if number is None else number for number in (run.total_claims, run.unsupported))
        rows.add(
            run.run_id, _minute(run), show(run.target, limit=40), show(run.judge, limit=40), *counts,
            "–" if run.risk is None else f"{run.risk:.3f}", ended,
        )  # fmt: skip
    out.print(rows)
    out.print()
    out.print(show(course.explanation, limit=_EXPLANATION), soft_wrap=True)
    if beside is not None:
        out.print(show(beside.explanation, "bold red" * beside.is_regression, _EXPLANATION), soft_wrap=True)
    if worse and beside is not None:
        out.print(show(f"claims that got worse since run {beside.against}:"), soft_wrap=True)
        for change in worse[:SHOWN]:
            out.print(show(f"  {change}", limit=_EXPLANATION), soft_wrap=True)
        print_more(out, worse, SHOWN, "  and {:,} more; --json lists all")


def _report_claims(out: Console, runs: int, counts: Counter[str], listed: Sequence[RecordedClaim], more: int) -> None:
    """Print how many claims there are of each label, and those that are listed, run by run."""
    each = ", ".join(f"{counts[name]:,} {name.replace('_', ' ')}" for name in LABELS)
    out.print(show(f"{counts.total():,} claims in {runs:,} run{'s' * (runs != 1)}: {each}"), soft_wrap=True)
    run_id = ""
    for claim in listed:
        if claim.run.run_id != run_id:
            run_id = claim.run.run_id
            out.print()
            out.print(show(f"{_minute(claim.run)} UTC, run {run_id}, {claim.run.target}", "dim"), soft_wrap=True)
        finding = claim.finding
        out.print(
            show(f"  {finding.claim.id}", "bold"), _label(finding.verdict.label), show(finding.claim.text),
            soft_wrap=True,
        )  # fmt: skip
    if more:
        out.print(f"  and {more:,} more; --limit N lists more of them")


def _report_comparison(out: Console, comparison: Comparison) -> None:
    """Print each prompt with its risk in both runs, and the claims that were judged differently."""
    out.print(show(comparison.explanation, limit=_EXPLANATION), soft_wrap=True)
    out.print()
    rows = table("prompt", "", f"a: {comparison.run_a.target}"[:40], f"b: {comparison.run_b.target}"[:40])
    for prompt in comparison.prompts[:SHOWN]:
        risks = ("no claims" if risk is None else f"{risk:.3f}" for risk in (prompt.risk_a, prompt.risk_b))
        rows.add(prompt.prompt_id, show(prompt.prompt, limit=60), *risks)
    if comparison.prompts:
        out.print(rows)
    print_more(out, comparison.prompts, SHOWN, "and {:,} more; --json lists all")
    if comparison.changes:
        out.print()
        out.print("claims that were judged differently, or that one of both makes without support, a and b:")
    for change in comparison.changes[:SHOWN]:
        a, b = _label(change.label_a), _label(change.label_b)
        out.print(" ", show(change.prompt_id, "bold"), a, "→", b, show(change.claim_b or change.claim), soft_wrap=True)
    print_more(out, comparison.changes, SHOWN, "  and {:,} more; --json lists all")


def _report_explanation(out: Console, told: Explanation) -> None:
    """Print a claim, its prompt and answer, its verdict with the reasons, and the passages it was held against."""
    verdict = told.verdict
    out.print(show(told.claim.id, "bold"), _label(verdict.label), show(f"by {verdict.judge}"), soft_wrap=True)
    out.print(show(told.claim.text, limit=_LONG), soft_wrap=True)
    out.print()
    category = f" ({told.prompt.category})" if told.prompt.category else ""
    out.print(show(f"prompt {told.prompt.id}{category}: {told.prompt.text}", limit=_LONG), soft_wrap=True)
    out.print(Text("response: ") + _marked(told.response), soft_wrap=True)
    out.print()
    out.print(Text("reasons", "bold"))
    for reason in verdict.reasons:
        beside = f" (said: {reason.said!r}, found: {reason.found!r})" if reason.said or reason.found else ""
        out.print(show(f"  {reason.kind}: {reason.detail}{beside}", limit=_LONG), soft_wrap=True)
    if verdict.answer:
        out.print(show(f"  the judge answered: {verdict.answer}", limit=_LONG), soft_wrap=True)
    out.print()
    out.print(Text("passages, the best first", "bold"))
    if not told.passages:
        out.print("  none was found")
    for rank, passage in enumerate(told.passages, 1):
        decisive = " (decided by this one)" if passage.decisive else ""
        name = passage_title(passage.chunk.document, passage.heading)
        title = show(f"{rank}. {name}, score {passage.score:.4f}{decisive}", "bold" * passage.decisive, _LONG)
        out.print(title, soft_wrap=True)
        out.print(Text("   ") + _marked(_around(passage.text)), soft_wrap=True)
    out.print()
    more = "the passages in full" + (", and what the judge was asked" if verdict.answer else "")
    out.print(show(f"run {told.run_id}; --json has {more}", "dim"))


def _minute(run: RunSummary) -> str:
    return timestamp(run.started, "%Y-%m-%d %H:%M")


def _label(label: Label | None) -> Text:
    return Text("not said", "dim") if label is None else Text(label.replace("_", " "), LABEL_STYLES[label])


def _around(text: Marked) -> Marked:
    """The surroundings of the marked part, or the beginning where nothing is marked."""
    if not text.marked:
        return Marked(text.before[:PASSAGE_SHOWN] + "…" * (len(text.before) > PASSAGE_SHOWN), "", "")
    before = text.before if len(text.before) <= PASSAGE_SHOWN else "…" + text.before[-PASSAGE_SHOWN:]
    return Marked(before, text.marked, text.after[:PASSAGE_SHOWN] + "…" * (len(text.after) > PASSAGE_SHOWN))


def _marked(text: Marked) -> Text:
    """A text whose marked part stands out, by style and, for where there are none, by brackets."""
    result = _part(text.before)
    if text.marked:
        result += Text("»", _MARK) + _part(text.marked, _MARK) + Text("«", _MARK)
    return result + _part(text.after)


def _part(part: str, style: str = "") -> Text:
    """A part of a text; unlike ``show`` it keeps the white space at its ends, where another part begins."""
    return Text(printable(f"|{part[:_LONG]}|")[1:-1], style)
