"""How a call came out beside what a claim says of it: a draft is no failure of what says that it was drafted."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Final, Literal

from agentguard.content._results import text_of
from agentguard.content.actions._acts import CHECKING, GENERIC, READING, TRYING, reads, verb_acts
from agentguard.content.actions._compared import Compared, Text, bare
from agentguard.content.actions._counts import is_what_was_done
from agentguard.content.actions._endings import SHORT, denied, ending_of, is_trial, tells_well
from agentguard.content.actions._english import base, bases, is_past, words
from agentguard.content.actions._ledger import Deed, has_effect, leaves, looks
from agentguard.content.actions._sentences import Token
from agentguard.content.actions._tools import bases_of

Short = Literal["", "only prepared", "a trial", "failed", "failed by its words", "pending", "nothing", "in part"]
"""How a call came out otherwise than a claim says; "" where it did not."""

MOST_FIELDS: Final = 100
MOST_TOLD: Final = 4_000  # characters of a text whose lines tell what was done
_PARTS: Final = re.compile(r"(?<![\w./-])(\d+) ?(?:of|/) ?(\d+)(?![\w./-])")
_SENTENCE: Final = re.compile(r"\n|(?<=[.!?;])\s")
_PASSED: Final = re.compile(r"(\d+) (?:\w+ )?(?:pass|ok\b|succe)|(?:pass(?:ed|es)?|ok|succe\w+)\W{1,3}(\d+)")
LEAST_SAID: Final = 4  # letters of a word that says what is waited for
_WORD: Final = re.compile(r"[^\W\d_]+")


def falls_short(claim: Compared, deed: Deed, shares: bool) -> Short:
    """Tell how a call came out otherwise than a claim says.

    Args:
        claim: what was said.
        deed: the call.
        shares: the call has something that the claim names.
    """
    deed = of_its_records(claim, deed)
    meaning, outcome = claim.stated.meaning, deed.ending.outcome
    if claim.stated.verb.casefold() in words("bad") or _says_so_itself(claim, deed):
        return ""  # "the mail bounced"
    state = claim.stated.form in ("state", "stands")
    if was_so_before(claim, deed):
        return ""
    if deed.ability.tentative and deed.ending.why.endswith("false") and meaning.kind == "tentative":
        return ""  # a draft that is not delivered
    held_back = meaning.kind == "tentative" or bool(claim.words & words("tentative"))
    held_back = held_back or (deed.ability.tentative and "ready" in claim.words)  # "it is ready for you to send"
    prepares = deed.ability.tentative and not held_back and not reads(meaning) and not _prepares(claim, deed)
    if prepares and not has_effect(deed, meaning):
        return "only prepared"
    if _is_false(claim, deed) or (not reads(meaning) and _denies(deed.result[:SHORT], claim)):
        return "failed"
    if outcome == "partly" and deed.ending.left and _is_left(claim, deed):
        return "failed"
    if outcome != "done" and (_tells_done(claim, deed) or _passed(claim, deed)):
        return ""
    if outcome == "nothing" and claim.words & {"no", "nothing", "none", "zero", "0"}:
        return ""  # "I ran it, and it matched no row"
    if claim.in_part and not deed.call.failed and outcome in ("failed", "partly", "nothing"):
        return ""  # "two of the three were sent"
    if is_spared(claim, deed) or ({"delete", "read"} <= deed.acts and "cannot access" in deed.result):
        return ""  # "rm -r build; ls build" finds nothing more
    stays = outcome == "partly" or (outcome == "nothing" and "now" not in claim.words)
    if outcome == "done" or (state and stays and not claim.words & {"all", "both"}):
        return ""
    if outcome == "trial":
        spelled = any(_spells(token, deed, claim) for token in claim.stated.objects if token.kind == "code")
        return "" if held_back or spelled or _only_tries(claim) else "a trial"
    begun = base(claim.stated.verb) in bases("tries")
    if deed.call.failed:
        ran = begun and not claim.stated.good and deed.acts <= CHECKING | {"run"}
        return "" if ran else "failed"  # "I ran the linter", whatever it found
    if outcome == "pending":
        on_plan = held_back and meaning.kind != "tentative" and claim.words & words("tentative") == {"plan"}
        return "" if held_back and not on_plan else _pending(claim, deed)
    if outcome == "partly" and looks(deed) and reads(meaning) and not deed.ending.sure:
        return ""  # what it read has numbers: "2 of 3 found this helpful"
    tries = begun or reads(meaning) or (meaning.acts & TRYING and meaning.acts <= TRYING | READING)
    parts = _all_of(claim)
    counted = not parts and any(amount.values & deed.texts.result.numbers for amount in claim.amounts)
    if counted and not claim.stated.good and outcome == "partly" and is_what_was_done(claim, deed):
        return ""
    if not claim.stated.good and tries and not (outcome == "partly" and claim.every and not counted):
        return ""
    if outcome == "partly":
        whole = (claim.stated.good and not counted) or claim.every or parts  # "212 passed"
        return "" if shares and not whole else "in part"
    if looks(deed) and not claim.stated.good:
        return ""
    return "failed by its words" if outcome == "failed" and not deed.ending.sure else outcome


def of_its_records(claim: Compared, deed: Deed) -> Deed:
    """A call with no more of its result than the records that a claim names, where it returned several."""
    wanted = claim.exact or claim.names
    if not any(each in deed.texts.result.text for each in wanted):
        return deed
    result = deed.call.result
    lists = [held for held in result.values() if isinstance(held, list)] if isinstance(result, Mapping) else [result]
    records = lists[0] if len(lists) == 1 and isinstance(lists[0], list) else []
    if deed.call.failed or not 1 < len(records) <= MOST_FIELDS or not all(isinstance(one, Mapping) for one in records):
        return deed
    named = [one for one in records if any(each in text_of(one).casefold() for each in wanted)]
    if not 0 < len(named) < len(records):
        return deed
    own = named if len(named) > 1 else named[0]
    text = text_of(own)
    ending = ending_of(False, deed.args, own, text, deed.ability.verbs)
    return deed._replace(call=deed.call._replace(result=own), result=text, ending=ending)


def _only_tries(claim: Compared) -> bool:
    """Tell whether a claim says no more than that a check came out well: "the validation succeeded"."""
    return claim.stated.form == "outcome" and bool(claim.about & bases("checking"))


def was_so_before(claim: Compared, deed: Deed) -> bool:
    """Tell whether a state is the one before a call, or what its result says it to be again: "back on 1.4.1"."""
    if claim.stated.form not in ("state", "stands", "outcome") or looks(deed):
        return False
    failed = deed.ending.outcome == "failed"
    told = any(deed.texts.result.has(each) and not deed.texts.args.has(each) for each in claim.exact)
    return (failed and told) or bool(claim.words & (words("before") | words("former")))


def _says_so_itself(claim: Compared, deed: Deed) -> bool:
    """Tell whether a claim's verb is what a result says of what was not done: "t3 was skipped".

    What is said to have gone well is none, though a failed run has the word too: ``3 failed, 45 passed``.
    """
    if claim.stated.good:
        return False
    name, _, held = deed.ending.why.casefold().partition(":")
    return held.strip() not in ("false", "none", "0") and claim.stated.verb.casefold() in name.split()


def _all_of(claim: Compared) -> bool:
    """Tell whether a claim says that as many were done as there are: "17/17", "4 of 4"."""
    said = " ".join(token.text for token in claim.stated.objects)
    return any(part == whole for part, whole in _PARTS.findall(said))


def _prepares(claim: Compared, deed: Deed) -> bool:
    """Tell whether a claim says no more than what a tool that only prepares does: "reserved", "moved to staging"."""
    meaning, ability = claim.stated.meaning, deed.ability
    keeps = meaning.bases & ability.described.verbs & bases("keeping")  # "Saves a mail as a draft."
    return bool(meaning.acts & ability.acts - GENERIC or claim.about & ability.verbs or keeps)


def says_end(claim: Compared) -> bool:
    """Tell whether a claim says that something is at its end, and well: "the rerun completed"."""
    said = claim.words | {claim.stated.verb.casefold()}
    ends = claim.stated.good or claim.stated.form == "outcome" or bool(said & words("through_with"))
    return ends and not said & words("bad")


def _pending(claim: Compared, deed: Deed) -> Short:
    """Tell whether a claim says that a call is through which is not."""
    meaning = claim.stated.meaning
    if deed.ending.why.casefold().endswith("draft") and meaning.acts & {"create", "update", "save"}:
        return ""  # a draft was made
    if isinstance(deed.call.result, str) and _says_done(claim, deed.result[:SHORT]):
        return ""  # "It was sent. Signature pending."
    waits = {word for word in _WORD.findall(deed.ending.why.casefold()) if len(word) >= LEAST_SAID} - deed.ability.names
    if waits & claim.words - {"pending", "status", "state"}:
        return ""  # "both are with the doctor now", of ``awaiting_doctor``
    mail = "queue" in deed.ending.why.casefold() and "send" in meaning.acts
    begun = base(claim.stated.verb) in bases("starting") or (
        meaning.acts & {"schedule", "draft", "authorise", "request"}
        and not ("order" in meaning.acts and "approv" in deed.ending.why)
    )
    asked = claim.about & bases("request")  # "a swap request was opened"
    states = claim.stated.form in ("state", "passive") and base(claim.stated.verb) in bases("settling")
    looked = (looks(deed) or reads(meaning)) and not claim.stated.good and not states
    sent = claim.stated.form == "stands" and {"its", "way"} <= claim.words  # "it is on its way"
    return "" if mail or begun or asked or looked or sent else "pending"


def _is_false(claim: Compared, deed: Deed) -> bool:
    """Tell whether a field of a result says that the act of a claim was not done: ``{"merged": false}``."""
    meaning, result = claim.stated.meaning, deed.call.result
    return isinstance(result, Mapping) and any(
        held is False and (base(str(name)) in meaning.bases or verb_acts(str(name)) & meaning.acts - GENERIC)
        for name, held in list(result.items())[:MOST_FIELDS]
    )


def _denies(text: str, claim: Compared) -> bool:
    """Tell whether a text says that the act of a claim was not done: "Not transmitted."."""
    meaning = claim.stated.meaning
    return any(
        base(word) in meaning.bases | claim.about or meaning.acts & verb_acts(word) - GENERIC for word in denied(text)
    )


def _spells(token: Token, deed: Deed, claim: Compared) -> bool:
    """Tell whether a command in a claim is itself a trial, or was run as it is written."""
    command = token.low.strip("`")
    return is_trial(command) or (command in deed.args.casefold() and bool(claim.stated.meaning.acts & TRYING))


def _says_done(claim: Compared, text: str) -> bool:
    """Tell whether a text says that the act of a claim was done: "The lease was sent"."""
    meaning = claim.stated.meaning
    undone = set(denied(text))
    return any(
        is_past(low) and low not in undone and before not in ("be", "being") and base(low) in meaning.bases
        for before, low in pairwise(["", *(word.casefold() for word in _WORD.findall(text))])
    )


def _tells_done(claim: Compared, deed: Deed) -> bool:
    """Tell whether lines of a result that tell of no failure say that the act of a claim was done to what it names."""
    if claim.stated.good or claim.every or not (claim.exact or claim.things & deed.told):
        return False
    if not all(each in deed.texts.result.text for each in claim.exact):
        return False
    texts = [value.casefold() for _, value in leaves(deed.call.result) if isinstance(value, str)]
    lines = [line for text in texts for line in _SENTENCE.split(text[:MOST_TOLD])]
    done = [line for line in lines if _says_act(claim, line) and tells_well(line)]
    if claim.exact:
        return all(any(each in line for line in done) for each in claim.exact)
    return any(claim.things & bases_of(_WORD.findall(line)) for line in done) and not deed.call.failed


def _passed(claim: Compared, deed: Deed) -> bool:
    """Tell whether a result counts as passed as many as a claim does: "six tests pass", of ``6 passed, 1 failed``."""
    if not claim.stated.good or not claim.amounts or claim.every:
        return False
    found = {float(one or other) for one, other in _PASSED.findall(deed.texts.result.text)}
    return all(amount.values & found for amount in claim.amounts)


def _says_act(claim: Compared, line: str) -> bool:
    """Tell whether a line, in small letters, has the act of a claim as a past form."""
    meaning = claim.stated.meaning
    return any(
        is_past(word) and (base(word) in meaning.bases or verb_acts(word) & meaning.acts - GENERIC)
        for word in _WORD.findall(line)
    )


def is_spared(claim: Compared, deed: Deed) -> bool:
    """Tell whether what a claim names stands in other lines of a text than those that tell of a failure."""
    if deed.call.failed or claim.every or not deed.ending.left or not isinstance(deed.call.result, str):
        return False
    left, rest = Text(deed.ending.left, frozenset()), Text(_without(deed.result, deed.ending.left), frozenset())
    plain = [amount.values for amount in claim.amounts if not amount.unit and not amount.money]
    if plain and all(values & rest.numbers and not values & left.numbers for values in plain):
        return True  # "brokers 0 and 1"
    named = [*claim.names, *claim.exact] or (
        sorted(claim.things or claim.about) if len(claim.things) > 1 or claim.stated.good else []
    )
    return bool(named) and all(rest.has(each) for each in named) and not any(left.has(each) for each in named)


def _without(text: str, lines: str) -> str:
    """A text without some of its lines."""
    gone = set(lines.splitlines())
    return "\n".join(line for line in text.splitlines() if line not in gone)


def _is_left(claim: Compared, deed: Deed) -> bool:
    """Tell whether what the claim names is listed as not done."""
    left, whole = Text(deed.ending.left, frozenset()), deed.texts.result.text
    said = [each for each in (*claim.names, *claim.exact) if left.has(each)]
    return any(whole.count(bare(each)) <= left.text.count(bare(each)) for each in said)
