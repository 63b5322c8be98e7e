"""Checks of a result's form: its end, its shape, how its strings are written, its length."""

from __future__ import annotations

import math
from typing import Final

from agentguard.verification._baseline import ToolMemory, ending, ends_in_a_cut_object, error_form
from agentguard.verification._case import Case
from agentguard.verification._checks._base import AS_USUAL, Finding, LearnedCheck, learned_shape, nothing_new
from agentguard.verification._document import Document
from agentguard.verification._pool import outermost_form
from agentguard.verification._shape import FORM, no_number
from agentguard.verification.types import SignalResult, Trait, VerificationTier

# --- truncated_result: a result that stops before its end ---

POOLED: Final = 8.0  # results that the rate over all tools counts for
BEGINNING: Final = "a beginning of a longer result known for the same arguments"
SHOWN: Final = 0.3  # P(a result shows such a trace | fabricated or corrupted)
RATES_KNOWN: Final = 8  # results after which the rate of a trace is a likelihood of its own
RARE: Final = -math.log(0.03)
CLOSING = frozenset(".!?)]}>\"'`")


class TruncatedResult(LearnedCheck):
    """Five traces of a cut, each against how often this tool's genuine results show it.

    - text that starts as JSON and does not parse (the rate is shrunk to that over all tools, so it needs no warm-up);
    - a quote or bracket still open at the end;
    - a last object that has only the first of the keys that such objects have;
    - a beginning, to the byte, of a longer result known for the same arguments;
    - a last character that closes nothing, of a class in which results of this kind do not end.

    A trace is an event with a rate, so that its likelihood ratio is ``SHOWN / rate`` once the rate is known: after a
    history with a few cut results in a hundred it is well above 1, where the p-value of the rate says little.
    """

    name = "truncated_result"
    tier = VerificationTier.TIER_0
    group = "form"
    share = 0.9

    def examine(self, case: Case, document: Document, memory: ToolMemory) -> Finding | str:
        if reason := nothing_new(document, memory):
            return reason
        worst, why, what, place = 0.0, "complete", "", ""
        if document.kind == "broken":
            overall = memory.pool.broken.mean(0.1, 3.0)
            worst, what = -math.log(memory.broken.mean(overall, POOLED)), "unparsed"
            why = "starts as JSON and does not parse"
        history = memory.keys.by_key.get(case.arguments.key)
        if history is not None and history.is_cut_off(document):
            x = -math.log(memory.cut_off.mean(0.06, 5.0))
            if x > worst:
                worst, why, what, place = x, BEGINNING, "beginning", case.arguments.place
        unclosed, endings = memory.unclosed.get(document.kind), memory.endings.get(document.kind)
        if unclosed is not None and endings is not None and endings.total >= 2:
            last = ending(document)
            x = 0.0 if last in CLOSING else -math.log(endings.p(last))
            if document.layout is None and max(endings.counts.values()) < FORM * endings.total:
                x = 0.0  # texts that end in any way are no form
            if x > worst:
                worst, why, what, place = x, "breaks off where no result of this kind ends", "ending", ""
            if document.unclosed and (x > 0.0 or document.layout is not None):
                x = -math.log(unclosed.mean())
                if x > worst:
                    worst, why, what, place = x, "a quote or bracket is still open at the end", "unclosed", ""
            shape = memory.shapes.get(document.kind)
            if shape is not None and ends_in_a_cut_object(document, shape):
                x = -math.log(memory.cut_objects.mean(0.1, 3.0))
                if x > worst:
                    worst, why, what, place = x, "the last object lacks the last of its usual keys", "cut object", ""
        # A trace that genuine results of this tool do show is no event by itself: there its p-value is all it says.
        is_event = memory.kinds.total >= RATES_KNOWN and worst >= RARE
        return Finding(worst, why, math.inf, SHOWN * math.exp(worst) if is_event else 0.0, (Trait("cut", place, what),))


# --- structure_mismatch: a result of another form than this tool's results have ---

FORM_WARM_UP: Final = 2  # results
TEXT_KINDS: Final = frozenset({"prose", "keyed", "list", "word"})  # a text may be read as one or as another
LONGEST_NOTICE: Final = 200  # bytes
FORM_POOLED: Final = 2.0  # results that the rate over all tools counts for
A_MODE: Final = 2  # results of a form, from which on it is one that the tool has
KNOWN_FORM: Final = 0.5  # of what is odd about its shape
KNOWN_ERROR: Final = 0.3  # of the surprise of an error in a form that came before,
NEW_ERROR: Final = 0.5  # and of one in a new form
ERROR_NATS: Final = 0.3  # an error speaks for itself: alone it is no suspect
SMALL_TRAIT: Final = 1.1  # nats: one field more may flag
WHOLE_RESULT: Final = 5.0  # nats: a wholly unknown form may block

AS_FAR_AS_SEEN = Finding(0.0, "as usual, in the part of the result that was looked at")


class StructureMismatch(LearnedCheck):
    """The kind of result (object, prose, …), then its shape among the results of that kind.

    Its shape: paths and types never seen, or always there and now missing; keys in an unusual order. The larger the
    part of the result that is out of order, the more it may weigh.

    What sister tools share may only flag: the form of another tool while this one is not known yet, and a short text
    that several tools give word for word, a notice of their system. Later a form that is another tool's own weighs
    what ``swapped_ratio`` says. An error counts less, since a tool that fails mostly says so truly.
    """

    name = "structure_mismatch"
    group = "form"
    share = 0.8

    def examine(self, case: Case, document: Document, memory: ToolMemory) -> Finding | str:
        # Errors and empty results are kinds of their own, judged by their rate.
        if memory.count < FORM_WARM_UP and (document.is_error or document.kind == "empty"):
            return f"{memory.count} of {FORM_WARM_UP} calls"
        if document.is_error:
            usual = memory.pool.errors.mean(0.1, 4.0)
            known = error_form(document) in memory.error_forms.counts
            weight = KNOWN_ERROR if known else NEW_ERROR
            x = -weight * math.log(memory.errors.mean(usual, FORM_POOLED))
            return Finding(x, "an error report, unusual here", ERROR_NATS, traits=(Trait("error"),))
        if memory.is_known(document):
            return "this very result is known"
        if document.kind == "empty":
            return Finding(
                -math.log(memory.empties.mean(0.5, 2.0)), "an empty result, unusual here", traits=(Trait("empty"),)
            )
        # A tool that is not known yet is held to the forms of the others.
        if memory.kinds.total < FORM_WARM_UP:
            if not memory.pool.has_anothers_form(document, memory.id):
                return f"{memory.kinds.total} of {FORM_WARM_UP} results"
            usual = memory.pool.foreign_form.mean(0.25, 4.0)
            detail = "has the form of another tool's results"
            return Finding(-math.log(usual), detail, SMALL_TRAIT, traits=(Trait("form"),))
        # One that is known: the kind of result, its shape among the results of that kind, and whose form it is.
        p = memory.kinds.p(document.kind)
        is_text = document.kind in TEXT_KINDS and not TEXT_KINDS.isdisjoint(memory.kinds.counts)
        if is_text and document.kind != "word":
            p = 1.0
        worst, extent, why = -math.log(p), 1.0, ""
        traits: tuple[Trait, ...] = ()
        if p < 1.0:
            traits = (Trait("kind", "", document.kind),)
            extent = 0.0 if is_text else 1.0
            why = f"a result of kind {document.kind!r}, unusual here"
        form = outermost_form(document)
        shape = memory.shapes.get(document.kind)
        if shape is not None and shape.count >= FORM_WARM_UP:
            x, share, detail, odd = shape.surprise(document, case.arguments.names)
            if memory.forms.counts.get(form, 0) >= A_MODE:
                x *= KNOWN_FORM
            traits += odd
            if x > worst:
                worst, extent, why = x, share, detail
        direct = 0.0 if form is None else memory.swapped_ratio(form)
        if form is not None and direct > 1.0:
            worst, extent = max(worst, -math.log(memory.forms.p(form))), 1.0
            traits += (Trait("form"),)
            why = why or "has the form of other tools' results"
        if worst == 0.0:
            return AS_USUAL if document.complete else AS_FAR_AS_SEEN
        if document.size <= LONGEST_NOTICE and not document.forms and memory.pool.is_shared(document.digest):
            return Finding(worst, "a notice that several tools give, unusual here", SMALL_TRAIT, traits=traits)
        return Finding(worst, why, SMALL_TRAIT + WHOLE_RESULT * extent, direct, traits)


# --- format_mismatch: a value of another type, or written in another way ---

FORMAT_WARM_UP: Final = 8  # results


class FormatMismatch(LearnedCheck):
    """A value unlike all others at its path: of another type or format, or not finite.

    Unlike a new field, no interface comes by such a change.
    """

    name = "format_mismatch"
    group = "form"
    share = 0.8

    def examine(self, case: Case, document: Document, memory: ToolMemory) -> Finding | str:
        shape = learned_shape(document, memory, FORMAT_WARM_UP)
        if isinstance(shape, str):
            return shape
        worst, why, path = shape.contradiction(document)
        traits = (Trait("type", path),)
        x, detail, path = shape.broken_format(document)
        if x > worst:
            worst, why, traits = x, detail, (Trait("format", path),)
        p, path = no_number(document, shape.facts, shape.formats)
        if -math.log(p) > worst:
            worst, traits = -math.log(p), (Trait("format", path, "no number"),)
            why = f"{path or 'the value'} is NaN or infinite, where there were finite numbers before"
        return Finding(worst, why, traits=traits)


# --- length_anomaly: a result shorter or longer than declared, or than this tool's results of its kind ---

LENGTH_WARM_UP: Final = 8  # results
LEAST_SCALE: Final = 0.2  # nats of log-length


class LengthAnomaly(LearnedCheck):
    """The declared bounds, as a contract, and the rank among the last 128 lengths of this kind.

    Length is weak evidence: it may raise a flag together with others and is capped at a ratio of 2. A broken bound
    stands whatever was learned.
    """

    name = "length_anomaly"
    tier = VerificationTier.TIER_0
    group = "form"
    fabricated = 0.4
    floor = 0.03
    cap = 2.0

    def __call__(self, case: Case, /) -> SignalResult:
        learned = super().__call__(case)
        size = case.document.size
        low, high = case.contract.lengths
        if (low is None and high is None) or case.contract.excuses(case.document, flagged=case.call.is_error):
            return learned
        if low is not None and size < low:
            score, detail = 0.5 * (1 - size / low), f"{size} bytes, at least {low}"
        elif high is not None and size > high:
            score, detail = 0.2, f"{size} bytes, at most {high}"
        else:
            return self.louder(learned, self.kept(case, "within the declared length"))
        return self.upheld(self.broken(case, score, detail, Trait("declared", "", "length")), learned)

    def examine(self, case: Case, document: Document, memory: ToolMemory) -> Finding | str:
        if document.is_error or document.kind == "empty":
            return "an error or an empty result has no length to judge"
        lengths = memory.lengths.get(document.kind)
        if lengths is None or len(lengths) < LENGTH_WARM_UP:
            return f"{0 if lengths is None else len(lengths)} of {LENGTH_WARM_UP} results of this kind"
        if memory.is_known(document):
            return "this very result is known"
        x = math.log1p(document.size)
        if lengths.is_usual(x):
            return AS_USUAL
        p = min(2.0 * min(lengths.lower_p(x, LEAST_SCALE), lengths.upper_p(x, LEAST_SCALE)), 1.0)
        traits = (Trait("size", "", "short" if x < lengths.ordered[len(lengths) // 2] else "long"),)
        return Finding(-math.log(p), f"{document.size} bytes are unusual", traits=traits)
