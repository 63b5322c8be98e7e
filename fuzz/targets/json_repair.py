"""JSON mended: what comes out is JSON, and says what became of it."""

from __future__ import annotations

import json

from agentguard.content.json_repair import repair
from fuzz import grammar, tokens
from fuzz.harness import Harness
from fuzz.trial import Trial, encodable, require

__all__ = ["HARNESSES"]


def _repair(trial: Trial) -> None:
    source = trial.source
    if source.integer(0, 1) or not source.left:
        text = grammar.text(
            source, (tokens.JSON, tokens.JSON, tokens.JSON, tokens.NUMBERS, tokens.UNICODE, tokens.WORDS), 40
        )
    else:
        text = grammar.json_text(source)
    found = trial.call(repair, text)
    require(0.0 <= found.score <= 1.0, f"score {found.score}")
    require(found.label in ("valid", "repaired", "failed"), found.label)
    for edit in found.edits:
        require(0 <= edit.start <= edit.end <= len(text), f"an edit at {edit.start}-{edit.end} of {len(text)}")
    if found.valid:
        read = json.loads(found.text)
        require(repr(read) == repr(found.value), "the text says another value")
        if found.edits:
            require(encodable(found.text), "mended text that cannot be written")
            require(repair(found.text).label == "valid", "mended text has to be mended again")
    else:
        require(found.value is None and found.text == text, "a failure with a value")


HARNESSES = (Harness("json_repair", "json_repair.repair: the library and what stands before it", _repair),)
