"""structure_mismatch: a result of another form than this tool's results have."""

from __future__ import annotations

import math
from typing import Final

from agentguard.verification.baseline import ToolMemory, error_form
from agentguard.verification.case import Case
from agentguard.verification.pool import outermost_form

from .base import AS_USUAL, Finding, LearnedCheck

__all__ = ["StructureMismatch"]

WARM_UP: Final = 2
TEXT_KINDS: Final = frozenset({"prose", "keyed", "list", "word"})  # a text may be read as one or as another
LONGEST_NOTICE: Final = 200  # bytes
POOLED: Final = 2.0
A_MODE: Final = 2  # results of a form, from which on it is one that the tool has
KNOWN_FORM: Final = 0.5  # of what is odd about its shape
KNOWN_ERROR: Final = 0.3
NEW_ERROR: Final = 0.5
ERROR_NATS: Final = 0.3  # an error speaks for itself: alone it is no suspect
SMALL_TRAIT: Final = 1.1  # nats: one field more may flag
WHOLE_RESULT: Final = 5.0  # nats: a wholly unknown form may block

AS_FAR_AS_SEEN = Finding(0.0, "as usual, in the part of the result that was looked at")


class StructureMismatch(LearnedCheck):
    """The kind of result (object, prose, …), then its shape among the results of that kind.

    Paths and types never seen, or always there and now missing; keys in an unusual order.

    A tool that is not known yet is held to the forms of the others; sister tools share theirs, so this may only flag.
    One that is known is held against them too: a form that is another tool's own weighs what ``swapped_ratio`` says. A
    short text that several tools give word for word is a notice of the system that they share, and may only flag.
    The larger the part of the result that is out of order, the more it may weigh. Errors and empty results are kinds
    of their own, judged by their rate; an error counts less, since a tool that fails mostly says so truly.
    """

    name = "structure_mismatch"
    group = "form"
    share = 0.8

    def examine(self, case: Case) -> Finding | str:
        document = case.document
        memory: ToolMemory = case.memory
        if memory.count < WARM_UP and (document.is_error or document.kind == "empty"):
            return f"{memory.count} of {WARM_UP} calls"
        if document.is_error:
            usual = memory.pool.errors.mean(0.1, 4.0)
            known = error_form(document) in memory.error_forms.counts
            weight = KNOWN_ERROR if known else NEW_ERROR
            x = -weight * math.log(memory.errors.mean(usual, POOLED))
            return Finding(x, "an error report, unusual here", ERROR_NATS, traits=("error",))
        if memory.is_known(document):
            return "this very result is known"
        if document.kind == "empty":
            return Finding(-math.log(memory.empties.mean(0.5, 2.0)), "an empty result, unusual here", traits=("empty",))
        if memory.kinds.total < WARM_UP and memory.pool.has_anothers_form(document, memory.id):
            usual = memory.pool.foreign_form.mean(0.25, 4.0)
            said = "has the form of another tool's results"
            return Finding(-math.log(usual), said, SMALL_TRAIT, traits=("another form",))
        if memory.kinds.total < WARM_UP:
            return f"{memory.kinds.total} of {WARM_UP} results"
        p = memory.kinds.p(document.kind)
        worst, extent, why = -math.log(p), 1.0, ""
        traits: tuple[str, ...] = ()
        if p < 1.0:
            traits = (f"kind {document.kind}",)
            if document.layout is None and memory.kinds.counts.keys() & TEXT_KINDS:
                extent = 0.0
            why = f"a result of kind {document.kind!r}, unusual here"
        form = outermost_form(document)
        shape = memory.shapes.get(document.kind)
        if shape is not None and shape.count >= WARM_UP:
            x, share, said, odd = shape.surprise(document, case.arguments.names)
            if memory.forms.counts.get(form, 0) >= A_MODE:
                x *= KNOWN_FORM
            traits += odd
            if x > worst:
                worst, extent, why = x, share, said
        direct = 0.0 if form is None else memory.swapped_ratio(form)
        if form is not None and direct > 1.0:
            worst, extent = max(worst, -math.log(memory.forms.p(form))), 1.0
            traits += ("another form",)
            why = why or "has the form of other tools' results"
        if worst == 0.0:
            return AS_USUAL if document.complete else AS_FAR_AS_SEEN
        if document.size <= LONGEST_NOTICE and not document.forms and memory.pool.is_shared(document.digest):
            return Finding(worst, "a notice that several tools give, unusual here", SMALL_TRAIT, traits=traits)
        return Finding(worst, why, SMALL_TRAIT + WHOLE_RESULT * extent, direct, traits)
