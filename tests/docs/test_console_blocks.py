"""Commands that the documents show exist, with the options they are shown with."""

from __future__ import annotations

from pathlib import Path

from ..rows import over
from .blocks import DOCS, Block, blocks_in
from .commands import Shown, declared_extras, faults, shown_in


def test_commands_exist() -> None:
    shown = [(f"{block.path.name}:{one.line}", one.text) for block in blocks_in("console") for one in shown_in(block)]

    assert len(shown) > 100
    assert {place: found for place, text in shown if (found := faults(text))} == {}


@over(
    ("text", "fault"),
    [
        ("agentguard replay log.jsonl --fail-on block  # a comment", None),
        ("AGENTGUARD_STORE=state agentguard state inspect", None),
        ("agentguard rehearse log.jsonl", "agentguard has no command rehearse"),
        ("agentguard replay log.jsonl --fail-at block", "agentguard replay: No such option: --fail-at"),
        ("agentguard replay", "agentguard replay needs traces"),
        ("agentguard state", "agentguard state needs a command"),
        ("agentguard profiles list && agentguard profiles lost", "agentguard profiles has no command lost"),
        ("make test PYTHON=python3.12", None),
        ("make tests", "make has no target tests"),
        ("pip install 'agentguard[redis,langchain]'", None),
        ("pip install 'agentguard[rediss]'", "no extra rediss"),
        ("pip install '.[redis,langchains]'", "no extra langchains"),
        ("python benchmarks/scale.py", None),
        ("python benchmarks/scales.py", "no file benchmarks/scales.py"),
        ("curl http://127.0.0.1:8321/healthz", None),
    ],
)
def test_what_is_wrong_is_told(text: str, fault: str | None) -> None:
    said = faults(text)

    assert [one.split(" (Possible")[0].split(" Did you mean")[0].rstrip(".") for one in said] == (
        [fault] if fault else []
    )


def test_commands_are_taken_from_a_block() -> None:
    block = Block(Path("a.md"), 10, "$ one \\\n    --two\nprinted\n\n$ three\n", "console")

    assert shown_in(block) == [Shown(11, "one --two", ("printed", "")), Shown(15, "three")]


def test_every_extra_is_described() -> None:
    described = (DOCS / "operations.md").read_text(encoding="utf-8")

    assert [extra for extra in sorted(declared_extras() - {"dev", "test"}) if f"`{extra}`" not in described] == []
