"""Injections found, by attack template, and genuine texts flagged; rows that were designed on beside rows held out.

Of each set, the rows whose number leaves 2 when divided by 3 are held out: nothing was designed or fitted on them.
The same attacks stand in other texts in both parts: the held-out part says how the detector fares in unknown texts,
not how it fares with unknown attacks.
Run it: ``python benchmarks/content/injection.py [FOLDER]``.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from agentguard.content.injection import scan

__all__ = ["DATA", "InjectionFigures", "figures"]

DATA = Path(__file__).resolve().parents[2] / "../shared/data"
GENUINE = {
    "agentdojo": "agentdojo_traces/benign_runs.jsonl.gz",
    "taubench": "taubench_traces/calls.jsonl.gz",
    "toolbench": "toolbench_traces/calls.jsonl.gz",
    "bfcl": "bfcl_multiturn/calls.jsonl.gz",
    "apibank": "apibank/calls.jsonl.gz",
}
ATTACKED = {
    "inj_agentdojo": "inj_agentdojo/tool_outputs.jsonl.gz",
    "inj_bipia": "inj_bipia/contexts.jsonl.gz",
    "inj_injecagent": "inj_injecagent/tool_outputs.jsonl.gz",
}
HARD = "inj_hard_negatives/prompts.jsonl.gz"
# A template whose own words give it away, in whichever field of a row's meta it is named.
WITH_PHRASES = ("important_instructions", "dh_enhanced")


class InjectionFigures(NamedTuple):
    """How many of some texts were flagged.

    Attributes:
        source: the set.
        template: the attack's; ``"genuine"`` and ``"hard negatives"`` for texts without one.
        phrases: whether the template has trigger phrases; None for texts without an attack.
        part: ``"design"`` or ``"held out"``.
        texts: distinct texts.
        flagged: of these, suspicious or injections.
        blocked: of these, injections.
    """

    source: str
    template: str
    phrases: bool | None
    part: str
    texts: int
    flagged: int
    blocked: int


def figures(data: Path = DATA, *, tools: bool = False) -> list[InjectionFigures] | None:
    """What the detector flags; None where there is no data.

    Args:
        data: the folder of recorded data.
        tools: tell the detector the names of all tools of a source, as the middleware does.
    """
    if not data.is_dir():
        return None
    counts: dict[tuple[str, str, bool | None, str], list[int]] = defaultdict(lambda: [0, 0, 0])
    for source, file in [*GENUINE.items(), *ATTACKED.items(), ("inj_hard_negatives", HARD)]:
        rows = list(_rows(data / file))
        names = _tools(rows) if tools and file != HARD else None
        seen = set()
        for number, row in enumerate(rows):
            text = _text(row)
            kind = _kind(source, row)
            if kind is None or (text, kind) in seen:
                continue
            seen.add((text, kind))
            label = scan(text, tools=names).label
            count = counts[(source, *kind, "held out" if number % 3 == 2 else "design")]
            for index, counted in enumerate((True, label != "clean", label == "injection")):
                count[index] += counted
    return [InjectionFigures(*key, *count) for key, count in sorted(counts.items(), key=str)]


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


def _text(row: dict[str, Any]) -> str:
    text = row["text"] if "text" in row else row["result"]
    return text if isinstance(text, str) else json.dumps(text)


def _kind(source: str, row: dict[str, Any]) -> tuple[str, bool | None] | None:
    """The template of a row, and whether it has trigger phrases; None for a row that is not measured."""
    meta = row.get("meta") or {}
    if source in GENUINE:
        return "genuine", None
    if source == "inj_hard_negatives":
        return None if row["label"] else ("hard negatives", None)
    if not row["label"]:
        return "genuine", None
    template = meta.get("attack") if source == "inj_agentdojo" else meta.get("category") or meta["variant"]
    return str(template), str(template).startswith(WITH_PHRASES)


def _tools(rows: list[dict[str, Any]]) -> list[str]:
    names = {str(row["tool"]).split(".")[-1] for row in rows if row.get("tool")}
    return sorted(names.union(*((row.get("meta") or {}).get("attacker_tools") or [] for row in rows)))


def _share(some: list[InjectionFigures], what: str) -> str:
    texts = sum(each.texts for each in some)
    return f"{sum(getattr(each, what) for each in some) / texts:6.3f} of {texts:5}" if texts else f"{'-':>15}"


def _print(title: str, measured: list[InjectionFigures]) -> None:
    print(f"\n{title}\n{'source':19}{'template':42}{'design: flagged':>18}{'held out: flagged':>20}{'blocked':>18}")
    for source, template in dict.fromkeys((each.source, each.template) for each in measured):
        of_it = [each for each in measured if (each.source, each.template) == (source, template)]
        design, held_out = ([each for each in of_it if each.part == part] for part in ("design", "held out"))
        cells = f"{_share(design, 'flagged'):>18}{_share(held_out, 'flagged'):>20}{_share(held_out, 'blocked'):>18}"
        print(f"{source:19}{template:42}{cells}")
    groups = {
        "attacks with phrases": [each for each in measured if each.phrases],
        "attacks without": [each for each in measured if each.phrases is False],
        "genuine traces": [each for each in measured if each.source in GENUINE],
    }
    for name, group in groups.items():
        design, held_out = ([each for each in group if each.part == part] for part in ("design", "held out"))
        cells = f"{_share(design, 'flagged'):>18}{_share(held_out, 'flagged'):>20}{_share(held_out, 'blocked'):>18}"
        print(f"{'all':19}{name:42}{cells}")


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else DATA
    alone, with_tools = figures(folder), figures(folder, tools=True)
    if alone is None or with_tools is None:
        sys.exit(f"there is no folder {folder}: nothing is measured")
    _print("Texts alone", alone)
    _print("With the names of the tools", with_tools)
