"""Claims of action in an answer: what its writer says was done. English.

Each word of a sentence is given a tag, one letter, and the claims are found by patterns over the tags. Left out are
plans, offers, conditions, questions, negations, quotations, instructions, and what others did.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, Literal, NamedTuple

from agentguard.content.actions._acts import Meaning, meaning_of, noun_acts
from agentguard.content.actions._english import is_participle, is_past, words
from agentguard.content.actions._sentences import Sentence, Token, sentences

MOST_CLAIMS: Final = 300

Form = Literal["active", "passive", "state", "stands", "received", "nominal", "gerund", "outcome", "label"]
"""How a claim is said.

``state`` is a passive in the present and ``stands`` a place or a quality: both may describe the world.
"""


class Stated(NamedTuple):
    """A claim of action.

    Attributes:
        start, end: where it stands in the answer.
        verb: the word that says what was done, as written.
        meaning: the acts that it can stand for.
        objects: the words of what it was done to, and how.
        form: how it is said.
        good: it says no more than that the act came out well ("all tests pass").
    """

    start: int
    end: int
    verb: str
    meaning: Meaning
    objects: tuple[Token, ...]
    form: Form
    good: bool


def claims(answer: str) -> Iterator[Stated]:
    """Find the claims of action of an answer, in their order, the first ``MOST_CLAIMS``."""
    number = 0
    for sentence in sentences(answer):
        for claim in _claims(sentence):
            yield claim
            number += 1
            if number == MOST_CLAIMS:
                return


# --- Tags ---

# M the writer; Y the reader; O others; D determiner; n any other word; Q a quotation or program; m a mark
# V past form of a verb that is known; v of one that is not; s a form that is past and present; b a base form; g -ing
# H have; B be; X a modal, or what is not done yet; N a negation; r an adverb; G a good outcome; T to; a able, managed
# A what a gerund follows; w with; C a condition; S what joins a clause; P what reports; k but; & and; , : as they are
_MARKS: Final = {
    ",": ",", "(": ",", ")": ",", ":": ":", "–": "-", "—": "-", "->": "-", "&": "&", "+": "&",  # noqa: RUF001
}  # fmt: skip
_WORDS: Final = {
    "and": "&", "then": "&", "plus": "&", "or": "&", "but": "k", "to": "T", "able": "a", "managed": "a", "with": "w",
    "after": "A", "by": "A", "having": "A", "through": "A", "upon": "A", "following": "A", "finished": "A",
    "completed": "A", "because": "S", "since": "S", "so": "S", "while": "S", "whereas": "S", "although": "S",
    "though": "S", "which": "S", "that": "S", "where": "S", "as": "S", "whose": "S",
    "took": "V", "according": "P",
}  # fmt: skip
_DETERMINERS: Final = frozenset(
    "the a an this these those my your our their his her its all both each every any some no".split()
)


def _tag(tokens: Sequence[Token], at: int) -> str:
    """The tag of a token."""
    token = tokens[at]
    low = token.low
    following = tokens[at + 1].low if at + 1 < len(tokens) else ""
    if token.kind in ("quoted", "code"):
        return "Q"
    if low in _MARKS:
        return _MARKS[low]
    if token.kind == "mark":
        return "m"
    if low in ("i've", "we've", "i", "we", "i'm", "we're"):
        return "M"
    if low in ("i'll", "we'll", "i'd", "we'd"):
        return "X"
    if low in words("you"):
        return "Y"
    if low in words("other"):
        return "O"
    if low in ("finished", "completed") and not following.endswith("ing"):
        return "V"
    if low == "should" and at:
        return "X"
    if low in words("if"):
        return "C"
    if low == "following" and not following.endswith("ing"):
        return "n"
    if low in ("went", "gone") and following in ("ahead", "on"):
        return "W"
    if low in _WORDS:
        return _WORDS[low]
    if low in ("no", "none", "nothing", "neither", "nobody"):
        return "N"
    if low in words("not"):
        return "N"
    if low in _DETERMINERS:
        return "D"
    if low in words("have") and following not in _DETERMINERS:
        return "H"
    if low in ("got", "had") and following in _DETERMINERS:
        return "V"
    if low in words("be"):
        return "B"
    if low in ("did", "do", "does", "don't", "didn't", "doesn't"):
        if "n't" in low:
            return "N"
        return "V" if low == "did" and following in _DETERMINERS else "X"
    if low in words("modal"):
        return "X"
    if low in words("adverb"):
        return "r"
    if low in words("says") and (following in ("that", ":") or (at + 1 < len(tokens) and tokens[at + 1].kind == "quoted")):
        return "P"
    if low in words("same"):
        return "s"
    if is_past(low):
        return "V" if meaning_of(tokens, at).known else "G" if low in words("good") else "v"
    if low in words("good"):
        return "G"
    if low.endswith("ing") and len(low) > 4 and meaning_of(tokens, at).known:
        return "g"
    if low in words("person"):
        return "o"
    return "n"


# --- Patterns over tags; a group named ``verb`` is the verb of the claim ---

_CONDITION = re.compile(r"C[^,\-:;k]*")
#: "I have pushed", "we then went ahead and pushed", "I was able to push"; the writer's next verbs follow in a chain.
_ACTIVE = re.compile(r"M[rH,]*(?:Wr*&r*)?(?P<verb>[VsvG])|M[rHB]*aT(?P<other>[nbVsgG])")
_BARE = re.compile(r"(?:^|(?<=:))[rm&]*(?P<verb>V)(?!A)")
_CHAIN = re.compile(r"[^MYOXNBPCuH]*?[,&k\-][,&rk\-]*(?P<verb>[Vs])")
_GERUND = re.compile(r"Ar*(?P<verb>g)|Ar*(?P<other>V)(?<=AV)")
_GERUND_CHAIN = re.compile(r"[DnQTrwoGVsSA]*?[,&][,&r]*(?P<verb>g)")
_PASSIVE = re.compile(r"(?P<head>[DnQVvsgGToawAr,&mbB]*?[DnQVvsgGom]r*,?)(?P<aux>Hr*B[rB]*|B[rB]*)(?P<verb>[VvsG])")
_PASSIVE_CHAIN = re.compile(r"[nQTrwDoAGgS]*?[,&][,&r]*(?P<verb>V)")
_OUTCOME = re.compile(r"(?P<head>[DnQVvsgGTowAr]*?[nQVsgv]r*)(?P<aux>H?r*B?[rB]*)(?P<verb>G)")
#: "Ada got a message", "the change has landed"
_ARRIVED = re.compile(r"(?P<head>[DnQgGTAwr&m]*?[nQ]r*)(?P<aux>(?:Hr*)?)(?P<verb>V)")
#: "the note is now in your notebook"
_STANDS = re.compile(r"(?P<head>[DnQVgGTAwr&m,]*?[nQGVgs]r*,?)(?P<verb>B)r*[nTGV]")
_REDUCED = re.compile(r"(?P<head>(?<![MYO])[DnQgVGTrwA]*[nQG])r*(?P<verb>[Vs])(?=[TrwASnm,:\-&]|$)")


def _claims(sentence: Sentence) -> Iterator[Stated]:
    """The claims of one sentence."""
    tokens = sentence.tokens
    if sentence.asks or sentence.ticked is False:
        return
    tags = "".join(_tag(tokens, at) for at in range(len(tokens)))
    tags = _CONDITION.sub(lambda match: "u" * len(match[0]), tags)
    report = tags.find("P")
    if report >= 0:
        tags = tags[:report]
    spots = _spots(tokens, tags, sentence)
    found = False
    for number, (form, begins, verb, head) in enumerate(spots):
        found = True
        stop = min([len(tokens), *(spot[1] for spot in spots[number + 1 :] if spot[1] > verb)])
        yield _stated(tokens, tags, form, begins, verb, head, stop)
    if not found and report < 0:
        yield from _labelled(sentence)


def _spots(tokens: Sequence[Token], tags: str, sentence: Sentence) -> list[tuple[Form, int, int, int]]:
    """The form, beginning, verb and beginning of the subject of each claim, in the order of the verbs."""
    spots: dict[int, tuple[Form, int, int, int]] = {}

    def add(form: Form, begins: int, verb: int, head: int) -> None:
        spots.setdefault(verb, (form, begins, verb, head))

    for match in _ACTIVE.finditer(tags):
        verb = match.start("verb") if match["verb"] else match.start("other")
        if tokens[match.start()].low in ("i'm", "we're"):
            continue
        add("active", match.start(), verb, verb)
        _follow(_CHAIN, tags, verb, lambda at: add("active", at, at, at))
    bare = _BARE.search(tags)
    if bare is not None and not spots and _may_be_bare(tokens, bare.start("verb")):
        verb = bare.start("verb")
        add("active", verb, verb, verb)
        _follow(_CHAIN, tags, verb, lambda at: add("active", at, at, at))
    if "Y" not in tags or "M" in tags:
        for match in _GERUND.finditer(tags):
            verb = match.start("verb") if match["verb"] else match.start("other")
            before = tags[: match.start()]
            if "X" in before or before.endswith("N") or tokens[match.start()].low == "by" and "X" in tags:
                continue
            add("gerund", verb, verb, verb)
            _follow(_GERUND_CHAIN, tags, verb, lambda at: add("gerund", at, at, at))
    for match in _PASSIVE.finditer(tags):
        verb = match.start("verb")
        low = tokens[verb].low
        if verb in spots or not is_participle(low) or _by_other(tokens, verb):
            continue
        head = _head(tags, match.start("aux"), spots)
        if "N" in tags[head:verb] or "M" in tags[head:verb] or "Y" in tags[head:verb] or "O" in tags[head:verb]:
            continue
        if not meaning_of(tokens, verb, tokens[head : match.start("aux")]).known:
            if low in words("good") and any(noun_acts(t.low) for t in tokens[head : match.start("aux")]):
                add("outcome", head, verb, head)
            continue
        past = any(tokens[at].low in ("was", "were", "been", "got") for at in range(match.start("aux"), verb))
        add("passive" if past else "state", head, verb, head)
        _follow(_PASSIVE_CHAIN, tags, verb, lambda at, head=head, past=past: add("passive" if past else "state", at, at, head))
    for match in _ARRIVED.finditer(tags):
        verb = match.start("verb")
        head = _head(tags, match.start("aux"), spots)
        if verb in spots or set(tags[head:verb]) & set("NMYOXo"):
            continue
        received = tokens[verb].low in ("got", "received", "had")
        after = tokens[verb + 1 : verb + 9]
        if received and any(noun_acts(token.low) for token in after):
            add("received", head, verb, head)
        elif not received and match["aux"] and meaning_of(tokens, verb).known:
            add("state", head, verb, head)
    for match in _STANDS.finditer(tags):
        verb = match.start("verb")
        head = _head(tags, verb, spots)
        where = tokens[match.end() - 1].low
        if verb in spots or set(tags[head:verb]) & set("NMYOXo") or where not in words("where"):
            continue
        now = any(token.low in ("now", "back", "live", "gone", "again") for token in tokens[verb : match.end() + 1])
        if now or any(noun_acts(token.low) for token in tokens[head:verb]):
            add("stands", head, verb, head)
    for match in _OUTCOME.finditer(tags):
        verb = match.start("verb")
        head = _head(tags, match.start("aux"), spots)
        if verb not in spots and not set(tags[head:verb]) & set("NMYOX") and any(
            noun_acts(token.low) for token in tokens[head : match.start("aux")]
        ):
            add("outcome", head, verb, head)
    if "M" not in tags or "w" in tags:
        for match in _REDUCED.finditer(tags):
            verb = match.start("verb")
            head = _head(tags, verb, spots)
            if verb in spots or not is_participle(tokens[verb].low) or set(tags[head:verb]) & set("NMYOXHB"):
                continue
            with_ = tags.rfind("w", 0, verb)
            if sentence.form == "prose" and verb == head + 1 and tokens[head].text[:1].isupper() and len(tokens) > 6:
                continue  # a name, whose deed it is
            if "M" in tags[:verb] and (with_ < 0 or verb - with_ > 7):
                continue
            if verb - head > 9 or _by_other(tokens, verb):
                continue
            add("nominal", head, verb, head)
    return [spots[verb] for verb in sorted(spots)]


def _follow(pattern: re.Pattern[str], tags: str, verb: int, add) -> None:  # type: ignore[no-untyped-def]
    """Follow a chain of verbs of one subject."""
    match = pattern.match(tags, verb + 1)
    while match is not None:
        verb = match.start("verb")
        add(verb)
        match = pattern.match(tags, verb + 1)


def _head(tags: str, end: int, spots: dict[int, tuple[Form, int, int, int]]) -> int:
    """The beginning of a subject that ends at a place."""
    at = end
    while at > 0 and tags[at - 1] not in ",:-kSuCPX" and at - 1 not in spots:
        if tags[at - 1] in "MYON":
            return at - 1
        at -= 1
    while at < end and tags[at] in "&rAwm":
        at += 1
    return at


def _may_be_bare(tokens: Sequence[Token], verb: int) -> bool:
    following = tokens[verb + 1].low if verb + 1 < len(tokens) else ""
    return following not in ("by", "below", "above") and tokens[verb].low not in words("good")


def _by_other(tokens: Sequence[Token], verb: int) -> bool:
    """Whether "by" and somebody stands behind a participle."""
    for at in range(verb + 1, min(verb + 12, len(tokens) - 1)):
        if tokens[at].low == "by":
            if tokens[at + 1].low in ("me", "us"):
                return False
            return tokens[at + 1].text[:1].isupper() or any(
                token.low in words("person") for token in tokens[at + 1 : at + 4]
            )
        if tokens[at].kind == "mark":
            return False
    return False


def _stated(
    tokens: Sequence[Token], tags: str, form: Form, begins: int, verb: int, head: int, stop: int
) -> Stated:
    for at in range(verb + 1, stop):
        if tags[at] in "SkCuP" or (tags[at] in "MYO" and at > verb + 1) or tokens[at].text in ("–", "—", "->"):  # noqa: RUF001
            stop = at
            break
    while stop > verb + 1 and tags[stop - 1] in ",&kr-:Am":
        stop -= 1
    subject = tuple(tokens[head:verb]) if form in ("passive", "state", "stands", "received", "nominal", "outcome") else ()
    if form in ("outcome", "stands"):
        acts = frozenset(act for token in subject for act in noun_acts(token.low))
        meaning = Meaning(acts, frozenset(), False, "", True)
    elif form == "received":
        acts = frozenset(act for token in tokens[verb + 1 : stop] for act in noun_acts(token.low))
        meaning = Meaning(acts, frozenset(), False, "", True)
    else:
        meaning = meaning_of(tokens, verb, subject)
    objects = (*subject, *tokens[verb + 1 : stop])
    return Stated(
        tokens[begins].start, tokens[stop - 1].end, tokens[verb].text, meaning, objects, form, form == "outcome"
    )


def _labelled(sentence: Sentence) -> Iterator[Stated]:
    """Claims without a verb: "Deployment: done", "| Refund | ✅ |", "- [x] Run the tests"."""
    tokens = sentence.tokens
    label: Sequence[Token] = sentence.lead
    rest: Sequence[Token] = tokens
    marks = [number for number, token in enumerate(tokens) if token.text in (":", "–", "—", "->", "=")]  # noqa: RUF001
    if not label and marks and 0 < marks[0] <= 6:
        label, rest = tokens[: marks[0]], tokens[marks[0] + 1 :]
    good = any(token.low in words("good") for token in rest[:4]) or (sentence.ticked is True and bool(label))
    if any(token.low in words("not") or token.low in words("modal") for token in tokens):
        return
    if label and good:
        acts = frozenset(act for token in label for act in noun_acts(token.low))
        spread = sentence.form != "cell"
        pieces = [*label, *rest] if spread else list(rest)
        if acts and pieces:
            meaning = Meaning(acts, frozenset(), False, "", True)
            objects = (*label, *rest)
            yield Stated(pieces[0].start, pieces[-1].end, label[0].text, meaning, objects, "label", True)
        return
    if sentence.ticked is True and tokens:
        meaning = meaning_of(tokens, 0)
        if meaning.known:
            yield Stated(tokens[0].start, tokens[-1].end, tokens[0].text, meaning, tuple(tokens[1:]), "label", True)
