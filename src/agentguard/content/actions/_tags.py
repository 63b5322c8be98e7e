"""Tags of a sentence's words: one letter each, so that sentences are read by patterns over them.

====  ==================================================================================================
M     the writer (I, we)
Y O   the reader; others, ``o`` a noun that names a person
D n   a determiner; any word that is nothing else
V v   the past form of a verb that is known, of one that is not; ``s`` a form that is past and present
g     an -ing form of a verb that is known; ``A`` a word that one follows ("after", "by")
H B   have; be
X N   a modal, or what is not done yet; a negation
a W   able, managed; went (on, ahead)
G     a word for a good outcome
T w   a preposition; "with"
r     an adverb, a particle, and what stands in brackets
S C   what joins a clause; a condition, with ``u`` for all that depends on it
P     from where somebody else's words are reported
Q m   a quotation or program; a mark
k &   but; and. ``,`` ``:`` ``-`` stand for themselves
====  ==================================================================================================
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from agentguard.content.actions._acts import meaning_of
from agentguard.content.actions._english import is_participle, is_past, is_plain, words
from agentguard.content.actions._sentences import Token

LONGEST_LABEL: Final = 5  # words before a colon
_MARKS: Final = {
    ",": ",", "(": ",", ")": ",", ":": ":", "–": "-", "—": "-", "&": "&", "+": "&",
}  # fmt: skip
#: Words with one tag wherever they stand.
_FIXED: Final = {
    **dict.fromkeys(("i", "we"), "M"),
    **dict.fromkeys(("no", "none", "nothing", "neither", "nobody"), "N"),
    **dict.fromkeys(("and", "plus", "or"), "&"),
    "having": "A",
    **dict.fromkeys("because since so while whereas although though which that where what whose".split(), "S"),
    **dict.fromkeys(("able", "managed"), "a"),
    "but": "k", "then": "r", "to": "T", "as": "T", "with": "w", "took": "V", "according": "P",
}  # fmt: skip
#: Entries of ``english.ini`` whose words have a tag, in the order in which they are looked up.
_ENTRIES: Final = (
    ("not", "N"), ("determiner", "D"), ("have", "H"), ("be", "B"), ("do", "X"), ("modal", "X"), ("adverb", "r"),
    ("same", "s"),
)  # fmt: skip
_REPORTING: Final = ("says", "stating", "shown")
_CONDITION = re.compile(r"C[^,\-:;k]*")
#: "When it has arrived, and the label has been printed, …", "once it has been paid, and the label has been printed"
_PERFECT = r"[^,\-:;kM]*?H[rN]*[BVvsG][^,\-:;k]*"
_CONDITIONS = re.compile(rf"C{_PERFECT}(?:,&?{_PERFECT})+")
#: Two words that begin a condition.
_CONDITIONAL: Final = frozenset({("as", "soon"), ("as", "long"), ("in", "case")})
_CLAUSE = re.compile(r"[MYOHBVvXs]")
#: Between commas, before the verb of what it is said of: "Agus, who drives there, has …", "the list, as of May, is …"
_ASIDE = re.compile(r"(?<=[nQo]),(?:[SO][^,\-:;M&]*|[nVvDg][nDQTgrV]*),(?=r*[HBX])")
#: "The training has ended"
_NAMED_ACT = re.compile(r"(?<![^DnQ])(?<=[DnQ])g(?=r*[HX])")
#: "Before the rollout I …", "Before touching anything I …", "To be on the safe side I …"
_CIRCUMSTANCE = re.compile(r"C(?P<purpose>B?)[DnQgTrGs]*?[nQDG](?=M)")
_FINITE = re.compile(r"^.Q[^,:&]*[VB]")
_OPINION = re.compile(r"Xr*n")


def tags_of(tokens: Sequence[Token]) -> str:
    """The tags of a sentence, one letter a token; "" where it tells its reader what to do."""
    tags = "".join(_tag(tokens, at) for at in range(len(tokens)))
    tags = _without_asides(_without_brackets(tokens, tags))
    tags = _NAMED_ACT.sub(lambda match: f"{match[0][:-1]}n", tags)
    tags = _without_circumstances(tokens, _with_moments(tokens, tags))
    if _instructs(tokens, tags):
        return ""
    for pattern in (_CONDITIONS, _CONDITION):
        tags = pattern.sub(lambda match: "u" * len(match[0]), tags)
    tags = _without_orders(tokens, _without_proposals(tokens, tags))
    opinion = _OPINION.search(tags)
    if opinion is not None and any(token.low == "say" for token in tokens[opinion.start() : opinion.end()]):
        tags = tags[: opinion.end()] + "u" * (len(tags) - opinion.end())
    report = tags.find("P")
    return tags if report < 0 else tags[:report] + "P" * (len(tags) - report)


def is_open(tokens: Sequence[Token], tags: str) -> bool:
    """Tell whether something in a sentence hangs on what may be: "once it is back, the refund is issued"."""
    return any(
        tag == "u" and token.low in words("open") and (token.low != "case" or at < len(("in", "case")))
        for at, (token, tag) in enumerate(zip(tokens, tags, strict=True))
    )


def _tag(tokens: Sequence[Token], at: int) -> str:
    token, low = tokens[at], tokens[at].low
    if token.kind in ("quoted", "code"):
        return "Q"
    if low in ("->", "→"):  # "Office → set to 20 °C", "`a` → `b`"
        to = tokens[at + 1].low if at + 1 < len(tokens) else ""
        return "-" if is_past(to) or to in words("good") | words("same") else "T"
    if low in _MARKS:
        return "T" if is_range(tokens, at) else _MARKS[low]
    if token.kind == "mark":
        return "m"
    after = tokens[at + 1] if at + 1 < len(tokens) else None
    return _by_neighbours(tokens, at, low, after) or _by_itself(tokens, at, low, after)


def is_range(tokens: Sequence[Token], at: int) -> bool:
    """Tell whether a dash stands for "to": "14:30 – 15:00"."""
    around = tokens[max(at - 1, 0) : at + 2]
    return (
        tokens[at].text in ("–", "—")
        and len(around) == 3
        and all(any(map(str.isdigit, token.text)) for token in (around[0], around[2]))
    )


def _by_neighbours(tokens: Sequence[Token], at: int, low: str, after: Token | None) -> str:
    """The tag of a word that what follows decides; "" for any other word."""
    following = after.low if after is not None else ""
    before = tokens[at - 1].low if at else ""
    clause = following in words("subject") or following in words("determiner")
    if low.endswith("ing") and len(low) > 4 and before in ("after", "by") and following in words("determiner"):
        return "g"  # "after redacting the sum"
    if low == "'s" and following in ("been", "had", "got"):
        return "H"
    if low in ("they", "it") and (following in ("'s", "'re", "'ve") or following in words("be") | words("have")):
        return "n"
    if low in ("finished", "completed") and not following.endswith("ing"):
        return "V"
    if low in words("then"):
        return _of_then(tokens, at, low)
    if low == "having" and following == "been":
        return "H"  # "the server having been restarted"
    if (low == "had" and (not at or _FIXED.get(following) == "M")) or (low, following) in _CONDITIONAL:
        return "C"
    if (low == "that" and _is_learnt(tokens, at)) or (not at and low == "to" and _is_purpose(tokens)):
        return "C"
    sure = at + 2 < len(tokens) and tokens[at + 2].low == "sure"
    if low == "to" and at and following in ("be", "make") and sure:
        return "C"  # "I read it again to be sure it fits"
    if low == "as" and following in words("determiner") and _begins_clause(tokens, at + 1):
        return "S"  # "as the job ended"
    if low in ("all", "both", "each") and before in words("be") | words("have") and is_past(following):
        return "r"  # "they were all booked"
    if low in words("well") and before == "back":
        return "G"  # "it came back fine"
    if low == "run" and before in words("be") and following[:1].isdigit():
        return "n"
    if low == "since" and (following[:1].isdigit() or following in words("times") | words("moment")):
        return "T"
    if low in words("perhaps") or (low == "how" and following in words("subject") | words("determiner")):
        return "C"  # "Maybe it was sent", "how it is booked is up to you"
    if at and _is_reported(tokens, at, clause) and not _has_writer(tokens[:at]):
        return "P"
    if low in words("wished") and following == "to":
        return "X"  # "I offered to cancel it"
    if low in words("seems") and before in words("seeming") and (following in ("that", "as", "like", "out") or clause):
        return "P"
    if low in words("instant") and before == "the" and following in words("subject"):
        return "C"
    if low == "should":
        return "X" if at else "C"
    if low in ("went", "gone") and following in ("ahead", "on"):
        return "W"
    if low in ("got", "had", "did") and following in words("determiner"):
        return "V"
    if low == "got" and following in ("rid", "back", "hold", "in") and (not at or _has_writer(tokens[:at])):
        return "V"
    if low in ("failed", "failing") and before in words("determiner"):
        return "n"  # "the failed jobs"
    if low in ("have", "has") and following in words("determiner"):
        return "n"
    if low == "let" and _is_told(tokens, at):
        return "V"
    if low in words("intent") and at and before not in words("subject") | words("adverb") | {"to", "and"}:
        return "n"  # "the second attempt passed"
    if tokens[at].text == "May":
        return "n"
    spoke = low in words("answers") and after is not None and (after.kind == "quoted" or following == ":")
    if spoke and _FIXED.get(before) != "M" and at:
        return "P"
    if low == "told" and before in words("be"):
        return "V"  # "Kenji has been told that …" is a deed, not a report
    if low in words("says") and after is not None and (following in ("that", ":") or after.kind == "quoted"):
        noun = low in words("record") and (not at or following == "that")
        return "n" if noun or before in words("adverb") or _is_own(tokens, at) else "P"
    if low == "that" and before in words("leading") and not clause:
        return "D"  # "on that flight"
    if low == "that" and is_past(before) and not clause and before not in words("says") | words("learnt"):
        return "D"
    return ""


def _begins_clause(tokens: Sequence[Token], at: int) -> bool:
    """Tell whether a determiner begins a clause: a verb follows its noun."""
    for token in tokens[at + 1 : at + 5]:
        if token.kind != "word" or token.low in words("preposition"):
            return False
        if token.low in words("be") | words("have") or is_past(token.low):
            return not is_participle(token.low)
    return False


def _of_then(tokens: Sequence[Token], at: int, low: str) -> str:
    """The tag of "after", "by" and the like: before an act, before a clause that is still to come, or a preposition."""
    rest = [token.low for token in tokens[at + 1 : at + 6]]
    if low == "after" and (words("perfect").intersection(rest) or ("'s", "been") in pairwise(rest)):
        return "C"  # "after I have applied it" is still to come
    act = next((word for word in rest if word not in words("adverb")), "")
    return "A" if act.endswith("ing") and len(act) > 4 else "T"


def _is_learnt(tokens: Sequence[Token], at: int) -> bool:
    """Tell whether "that" begins what was only learnt, thought or doubted: "I noticed that …", "no sign that …"."""
    low = [token.low for token in tokens[max(at - 3, 0) : at]]
    if low[-1:] == ["be"]:
        return True  # "it could be that …"
    if low[-1:] and low[-1] in words("evidence"):
        return bool(set(low) & words("not")) or "any" in low
    return bool(low) and low[-1] in words("thought") and _has_writer(tokens[:at])


def _is_reported(tokens: Sequence[Token], at: int, clause: bool) -> bool:
    """Tell whether a word reports what a text or somebody says: "it says the …", "support told her that …"."""
    low, before = tokens[at].low, tokens[at - 1]
    if not any(low in words(entry) for entry in _REPORTING):
        return False
    if low == "told":
        told = [token.low for token in tokens[at + 1 : at + 4]]
        return "that" in told and before.kind == "word" and before.low not in words("be") | words("have") | {"and"}
    after = tokens[at + 1].low if at + 1 < len(tokens) else ""
    if before.low in words("other") | words("you") and at > 1 and tokens[at - 2].low == "as":
        return low in words("says")  # "as you said, …"
    plain = before.low == "it" or not any(before.low in words(entry) for entry in ("subject", "adverb", "determiner"))
    if before.kind != "word" or before.low == "and":
        return False
    if low in words("stating"):
        return after == "that" and (plain or before.low in words("other"))
    are = at + 2 < len(tokens) and tokens[at + 2].low in words("be")
    return plain and low in words("shown") and after != "no" and (clause or are)


def _is_own(tokens: Sequence[Token], at: int) -> bool:
    """Tell whether the writer says it itself: "I can confirm that …", "I'm pleased to say that …"."""
    low = [token.low for token in tokens[:at]]
    says = (_has_writer(tokens[at - 2 : at]) and low[-1:] == ["can"]) or (
        low[-1:] == ["to"] and not words("feeling").isdisjoint(low[-2:-1]) and _has_writer(tokens[:at])
    )
    return says and not {"'d", "'ll", "would", "will", "not"} & set(low)


def _is_purpose(tokens: Sequence[Token]) -> bool:
    """Tell whether a sentence begins with what something is for: "To have it cancelled, …"."""
    return (
        len(tokens) > 1
        and is_plain(tokens[1].low)
        and (tokens[1].low in words("be") | words("have") | words("light") or meaning_of(tokens, 1).known)
    )


def _has_writer(tokens: Sequence[Token]) -> bool:
    return any(_FIXED.get(token.low) == "M" for token in tokens)


def _is_told(tokens: Sequence[Token], at: int) -> bool:
    """Tell whether "let" says that the writer told somebody: "I let them know"."""
    after = [token.low for token in tokens[at + 1 : at + 6]]
    return "know" in after and after[0] not in ("me", "us") and _has_writer(tokens[:at])


def _by_itself(tokens: Sequence[Token], at: int, low: str, after: Token | None) -> str:
    if low in words("you"):
        return "Y"
    if low in words("other"):
        return "O"
    if low in words("if"):
        return "C"
    if low in _FIXED:
        return _FIXED[low]
    for entry, tag in _ENTRIES:
        if low in words(entry):
            return tag
    if is_past(low) and low not in words("untouched"):
        return "V" if meaning_of(tokens, at).known else "G" if low in words("good") else "v"
    if low in words("particle") and at and is_past(tokens[at - 1].low):
        return "r"
    if low in words("good") or (low in words("presents") and after is not None and after.low in words("well")):
        return "G"
    if low.endswith("ing") and len(low) > 4 and meaning_of(tokens, at).known:
        return "g"
    if low in words("person"):
        return "o"
    return "T" if low in words("preposition") else "n"


def _without_asides(tags: str) -> str:
    """The tags with what is said of a subject by the way passed over, as what stands in brackets."""
    return _ASIDE.sub(lambda match: "r" * len(match[0]), tags)


def _without_circumstances(tokens: Sequence[Token], tags: str) -> str:
    """The tags with the circumstances of what the writer did as no condition of it: "before the rollout I …"."""

    def tag(match: re.Match[str]) -> str:
        low = tokens[match.start()].low
        may = low == "before" or (low == "to" and len(match[0]) > 2)
        return "r" * len(match[0]) if may else match[0]

    return _CIRCUMSTANCE.sub(tag, tags)


def _with_moments(tokens: Sequence[Token], tags: str) -> str:
    """The tags with "before", "until" and the like as prepositions where no clause follows: "until 18:00"."""

    def tag(match: re.Match[str]) -> str:
        at = match.start()
        if tokens[at].low == "once" and (at + 1 == len(tokens) or (at and tokens[at - 1].low == "at")):
            return f"r{match[0][1:]}"  # "tried out once", "at once"
        if tokens[at].low not in words("until"):
            return match[0]
        low = tokens[at + 1].low if at + 1 < len(tokens) else ""
        moment = low[:1].isdigit() or low in words("times") or tags[at - 1 : at] == "T"
        return f"T{match[0][1:]}" if moment or _CLAUSE.search(match[0]) is None else match[0]

    return _CONDITION.sub(tag, tags)


def _without_brackets(tokens: Sequence[Token], tags: str) -> str:
    """The tags with what stands in brackets passed over."""
    opened = -1
    for at, token in enumerate(tokens):
        if token.text == "(":
            opened = at
        elif token.text == ")" and opened >= 0:
            tags = tags[:opened] + "r" * (at + 1 - opened) + tags[at + 1 :]
            opened = -1
    return tags


def _instructs(tokens: Sequence[Token], tags: str) -> bool:
    """Tell whether a sentence begins as an order: "run the tests", "wait until …"."""
    if tags[:1] not in ("n", "s", "G") or tags[1:2] not in ("D", "Q", "S", "C") or "M" in tags:
        return False
    return is_order(tokens) and (tags[1] != "Q" or _FINITE.search(tags) is None)  # "branch `fix` created"


def is_order(tokens: Sequence[Token]) -> bool:
    """Tell whether the first word of a sentence can be the verb of an order."""
    return is_plain(tokens[0].low) and (meaning_of(tokens, 0).known or tokens[0].low in words("order"))


def _without_proposals(tokens: Sequence[Token], tags: str) -> str:
    """The tags with what is only proposed passed over: "Next steps: …", "Here is a draft: …"."""
    colon = tags.find(":", 0, LONGEST_LABEL + 1)
    label = [token.low for token in tokens[: max(colon, 0)]]
    drafted = words("wording").intersection(label) and words("offering").intersection(label)
    planned = words("proposed").intersection(label[:2])
    if not label or tags[colon + 1 : colon + 2] == "V":
        return tags
    if not _is_undone(label) and (not (drafted or planned) or set(tags[1:colon]) & set("MVvTw")):
        return tags
    return tags[:colon] + "u" * (len(tags) - colon)


def _is_undone(label: Sequence[str]) -> bool:
    """Tell whether what stands before a colon says no more than that the rest is not done: "Still open"."""
    rest = set(label) - words("adverb") - words("determiner")
    return bool(rest) and (rest <= words("undone") or label in (["not", "done"], ["to", "do"]))


def _without_orders(tokens: Sequence[Token], tags: str) -> str:
    """The tags with what a later order asks to look for passed over: "…, and check that the job was restarted"."""
    for at in range(len(tokens) - 1):
        asks = tokens[at].low in words("order") and tokens[at + 1].low in ("that", "whether", "if", "sure")
        if asks and (
            not at
            or tags[at - 1] in ",&:-"
            or tokens[at - 1].low == "please"
            or (tags[at - 1] == "T" and "M" not in tags[:at])
        ):
            return tags[:at] + "u" * (len(tags) - at)
    return tags
