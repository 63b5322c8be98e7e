"""Claims of action in an answer: what its writer says was done. English.

The claims of a sentence are found by patterns over the tags of its words. Left out are plans, offers, conditions,
questions, negations, quotations, instructions, and what others did.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final, Literal, NamedTuple

from agentguard.content.actions._acts import Meaning, meaning_of, named, noun_acts, reads, verb_acts
from agentguard.content.actions._english import base, bases, is_participle, is_past, words
from agentguard.content.actions._sentences import Sentence, Token, sentences
from agentguard.content.actions._tags import is_open, is_order, is_range, tags_of
from agentguard.content.grounding._values import NUMBER_WORDS

MOST_CLAIMS: Final = 300
WHOLE: Final = words("every") | {"one", "of", "them"}  # "every one of them"
LONGEST_SUBJECT: Final = 9  # words of the subject of a participle without a verb
LONGEST_LABEL: Final = 4  # words before a colon that say what a claim is about
LONGEST_NAME: Final = 3  # words
LONGEST_TITLE: Final = 9  # words before a colon of which it is said how they came out
REACH: Final = 7  # words between "with" and the participle that belongs to it

Form = Literal[
    "active", "bare", "passive", "state", "stands", "received", "nominal", "gerund", "outcome", "found", "label"
]
"""How a claim is said: "I pushed it" (active), "Pushed it" (bare), "it was pushed" (passive), "it is pushed" (state),
"it is on main" (stands), "Ada got a message" (received), "branch pushed" (nominal), "after pushing it" (gerund), "the
push succeeded" (outcome), "the test showed two errors" (found), "Push: done" (label). ``state`` and ``stands`` may
describe what was so before.
"""
_WITH_SUBJECT: Final = frozenset({"bare", "passive", "state", "stands", "received", "nominal", "outcome", "found"})


class Stated(NamedTuple):
    """A claim of action.

    Attributes:
        start, end: where it stands in the answer.
        verb: the word that says what was done, as written.
        meaning: the acts that it can stand for.
        objects: the words of what it was done to, and how.
        form: how it is said.
        good: it says that the act came out well ("all tests pass").
    """

    start: int
    end: int
    verb: str
    meaning: Meaning
    objects: tuple[Token, ...]
    form: Form
    good: bool


class _Spot(NamedTuple):
    """The place of a claim in its sentence: those of its first word, its verb, and its subject's first word."""

    form: Form
    begins: int
    verb: int
    subject: int


def claims(answer: str) -> Iterator[Stated]:
    """Find the claims of action of an answer, in their order, the first ``MOST_CLAIMS``."""
    stated = (claim for sentence, tags in _tagged(answer) for claim in _claims(sentence, tags))
    return islice(_with_what_they_mean(stated), MOST_CLAIMS)


def _with_what_they_mean(stated: Iterator[Stated]) -> Iterator[Stated]:
    """The claims, those of which "it", "they" or a mere "all" is the subject with the objects of the one before."""
    former: Stated | None = None
    for claim in stated:
        first = claim.objects[0].low if claim.objects else ""
        mere = {each.low for each in claim.objects} <= WHOLE or _is_number(claim.objects[1:])
        whole = claim.form == "outcome" and first in words("every") and mere
        it = first in ("it", "they") and claim.form in ("passive", "state", "stands", "outcome")
        holds = first == "it" and claim.form == "stands" and claim.verb.casefold() in words("holding")
        if former is not None and holds:
            yield claim._replace(objects=(*former.objects, *claim.objects[1:]), meaning=former.meaning)
        elif whole or it:
            objects = former.objects if former is not None else ()
            acts = named(objects, ENDING) if claim.form == "outcome" else frozenset[str]()
            meaning = _of_trial(acts) if acts else claim.meaning
            yield claim._replace(objects=(*objects, *claim.objects), meaning=meaning)
        else:
            former = claim
            yield claim


def _is_number(tokens: Sequence[Token]) -> bool:
    """Tell whether words are none, or a number: "six" of "all six"."""
    return len(tokens) < 2 and all(token.low in NUMBER_WORDS or token.low.isdigit() for token in tokens)


def _tagged(answer: str) -> Iterator[tuple[Sentence, str]]:
    """The sentences that may have claims, with their tags."""
    instructs = False  # one point of the list told its reader what to do, and the others do
    report = _Report(answer)
    for sentence in sentences(answer):
        tags = tags_of(sentence.tokens)
        if report.holds(sentence, tags):
            continue
        order = bool(sentence.tokens) and not tags
        instructs = sentence.form == "point" and (instructs or order)
        order = order or (instructs and tags[:1] in ("n", "s", "G") and is_order(sentence.tokens))
        if not sentence.asks and sentence.ticked is not False and (not order or sentence.ticked):
            yield sentence, tags


class _Report:
    """Follows an answer through what it reports of a text that was read: "The gist: …", "In short: …".

    Args:
        answer: the whole answer.
    """

    def __init__(self, answer: str) -> None:
        self._answer = answer
        self._end = 0  # of the sentence before
        self._on = self._opens = False  # a report goes on; it only begins behind this sentence
        self._read = self._did = False  # the writer said that it read something; that it did something else

    def holds(self, sentence: Sentence, tags: str) -> bool:
        """Tell whether a sentence is no more than what a text says; the sentences in their order."""
        tokens = sentence.tokens
        if not tokens:
            return self._on
        apart = "\n\n" in self._answer[self._end : tokens[0].start]
        self._end = tokens[-1].end
        if "M" in tags or sentence.form == "heading" or (apart and not self._opens):
            self._on = False
        self._opens = False
        colon = next((at for at, token in enumerate(tokens) if token.text == ":"), -1)
        said = {token.low for token in tokens[: max(colon, 0)]}
        told = bool(said & words("gist")) or (self._read and not self._did and bool(said & words("short")))
        if told and "M" not in tags and (colon <= LONGEST_TITLE):
            self._on = True
            self._opens = colon == len(tokens) - 1
            return True
        for verb in re.finditer(r"Mr*H?r*([Vs])", tags):
            looked = reads(meaning_of(tokens, verb.start(1)))
            self._read, self._did = self._read or looked, self._did or not looked
        return self._on


def _claims(sentence: Sentence, tags: str) -> Iterator[Stated]:
    """The claims of one sentence."""
    reader = _Reader(sentence, tags)
    spots = reader.spots() if tags else []
    for number, spot in enumerate(spots):
        following = [later.begins for later in spots[number + 1 :] if later.begins > spot.verb]
        yield reader.stated(spot, min([len(tags), *following]))
    if not spots and "P" not in tags:
        yield from _labelled(sentence)


class _Reader:
    """Finds the claims of one sentence, form by form; a verb belongs to the first claim that is found with it."""

    def __init__(self, sentence: Sentence, tags: str) -> None:
        self._sentence, self._tokens, self._tags = sentence, sentence.tokens, tags
        self._found: dict[int, _Spot] = {}

    def spots(self) -> list[_Spot]:
        """The claims in the order of their verbs."""
        for find in (
            self._actives, self._bare, self._gerunds, self._passives, self._arrivals, self._standing, self._outcomes,
            self._faultless, self._reports, self._likewise, self._apart, self._nominals,
        ):  # fmt: skip
            find()
        found = [self._without_former(self._found[verb]) for verb in sorted(self._found)]
        if is_open(self._tokens, self._tags):
            found = [spot for spot in found if spot.form not in ("state", "stands", "outcome")]
        return [spot for spot in found if not self._befalls(spot) and not self._does_nothing(spot)]

    def _does_nothing(self, spot: _Spot) -> bool:
        """Tell whether an object is none: "I took no backup"."""
        return spot.form != "outcome" and _NONE.match(self._tags, spot.verb + 1) is not None

    def _without_former(self, spot: _Spot) -> _Spot:
        """A claim without the one before it: "the page went out and Ada was told"."""
        former = max((verb for verb in self._found if spot.subject <= verb < spot.verb), default=-1)
        joint = self._tags.find("&", former, spot.verb)
        if former < 0 or joint < 0 or spot.begins != spot.subject:
            return spot
        return spot._replace(begins=joint + 1, subject=joint + 1)

    def _befalls(self, spot: _Spot) -> bool:
        """Tell whether a verb says what befell a thing, or how it is, which is nobody's deed: "the job was killed"."""
        low = self._low(spot.verb)
        if spot.form in ("active", "gerund"):
            return self._in_mind(spot.verb) or self._is_taken_back(spot.verb)
        if self._is_of_others(spot):
            return True
        if spot.form in ("bare", "outcome"):
            return spot.form == "bare" and low in words("expected")
        rejected = "reject" in meaning_of(self._tokens, spot.verb).acts and self._low(spot.verb + 2) not in ("to", "by")
        if rejected or low in words("event") | words("expected"):
            return True
        between = {self._low(at) for at in range(spot.subject, spot.verb + 2)}
        mere = "only" in between - {self._low(spot.subject)} or self._is_mere(spot.subject)
        if spot.form == "passive" and spot.begins == spot.subject and mere:
            return True  # "only a warning was raised", "it was only raised on Monday"
        if spot.form != "passive" and spot.subject == 1 and self._low(0) == "so":
            return True  # "So the customer received two of them"
        new = self._low(spot.subject) in ("a", "an")  # "a snapshot was taken"
        away = self._low(spot.verb + 1) in words("particle")  # "it was taken down"
        hindered = low in words("hindrance") and between & {"was", "were"} and not new and not away
        if hindered and spot.begins == spot.subject:
            return True  # "the ledger was locked, so …"
        if spot.form == "state" and self._low(spot.verb + 1) == "by" and self._tags[spot.verb + 2 :][:1] == "D":
            return self._low(spot.verb + 2) != "my"  # "the flag is locked by the change freeze"
        if "being" in between and between & {"was", "were"}:
            return True  # "it was still being prepared"
        if spot.form in ("passive", "state") and "automatically" in between | {self._low(spot.verb + 2)}:
            return True  # "the preview was torn down automatically"
        if spot.form == "state" and between & {"get", "gets"}:
            return True  # "it gets paid with the next run"
        if spot.form in ("state", "stands") and (between & words("before") or self._is_habit(spot)):
            return True  # "it is still queued", "it is emptied every night", "logs are kept for a year"
        if spot.form == "passive" and self._is_of_year(spot.verb):
            return True  # "they were moved to the hall in 2019"
        before = self._low(spot.begins - 1)
        if before in words("feeling") and self._low(spot.begins) in ("it", "that", "this", "everything"):
            return True  # "glad it got sorted", as the reader said
        subordinate = before == "as" and self._tags[spot.begins - 1] == "S"  # "as the job ended"
        if before in words("cause") or subordinate or (before == "where" and spot.form in ("state", "stands")):
            return True
        return self._is_taken_back(spot.verb)

    _OTHERS = re.compile(r"[Oo]r*[Vvs]")

    def _is_of_others(self, spot: _Spot) -> bool:
        """Tell whether "it" is what somebody else did in the same sentence: "she deployed it, and it finished"."""
        of_theirs = self._low(spot.subject) in ("it", "its", "they", "his", "her", "their")
        return of_theirs and self._OTHERS.search(self._tags, 0, spot.subject) is not None

    def _is_mere(self, subject: int) -> bool:
        """Tell whether a subject is no more than a thing: "only a warning", not "only the two files"."""
        at = subject if self._low(subject) == "only" else subject - 1
        return self._low(at) == "only" and self._low(at + 1) not in ("the", "these", "those", "your")

    def _is_taken_back(self, verb: int) -> bool:
        """Tell whether the same sentence says that it came to nothing: "I rolled it out, but the rollout failed"."""
        but = next((at for at in range(verb + 1, len(self._tokens)) if self._low(at) in ("but", "however")), None)
        return but is not None and any(
            self._low(at) in words("bad") and self._low(at) not in ("missing", "except", "error", "errors")
            for at in range(but + 1, min(but + 8, len(self._tokens)))
        )

    _YEAR = re.compile(r"(?:19|20)\d\d")

    def _is_of_year(self, verb: int) -> bool:
        """Tell whether a whole year is given for when something was done; a deed of today has a day or none."""
        places = range(verb + 1, len(self._tokens))
        return any(self._YEAR.fullmatch(self._low(at)) and self._low(at - 1) in ("in", "since") for at in places)

    def _in_mind(self, verb: int) -> bool:
        """Tell whether a deed was one of thought: "I compared them in my head"."""
        places = range(verb + 1, len(self._tokens))
        return any(self._low(at) in ("head", "mind") and self._low(at - 1) == "my" for at in places)

    def _is_habit(self, spot: _Spot) -> bool:
        """Tell whether a verb says what is done again and again, or with all things of a kind."""
        for at in (0, *range(spot.verb, len(self._tokens))):
            low = self._low(at)
            often = low in ("each", "every") and self._low(at + 1) in words("times") | words("span")
            if low in words("habit") or often:
                return True
        return self._is_generic(spot)

    _KIND = re.compile(r"n{1,3}Br*V(?!r)")

    def _is_generic(self, spot: _Spot) -> bool:
        """Tell whether things of a kind are spoken of, not certain ones: "logs are shipped to Loki"."""
        be = self._tags.find("B", spot.subject, spot.verb)
        if spot.form != "state" or self._low(be) != "are" or self._KIND.match(self._tags, spot.subject) is None:
            return False
        kind = self._tokens[spot.subject : be]
        plain = all(token.text.islower() for token in kind[1 if spot.subject == 0 else 0 :])
        certain = any(token.low == "now" or token.low.isdigit() for token in self._tokens[be:])
        return plain and not certain and kind[-1].low.endswith("s") and kind[0].low.isalpha()

    # --- The writer's own deeds ---

    #: "I have pushed", "we then went ahead and pushed", "I was able to push"
    _ACTIVE = re.compile(r"M[rH,]*(?:Wr*&r*|VDnT(?=[gV]))?(?P<verb>[VsvGg])|M[rHB]*aT(?P<plain>[nVsgG])")
    #: "I had the card blocked"
    _ARRANGED = re.compile(r"Mr*(?P<had>[HV])(?P<object>[DnQ]+)(?P<verb>V)(?![DnQ])")
    _INVERTED = re.compile(r"X(?P<writer>M)r*(?P<plain>[nVsgG])")
    #: "Pushed the branch", "Report: sent to Ada"
    _BARE = re.compile(r"(?:^|(?<=[:\-]))[rm&]*(?P<verb>[Vvs])(?!A)")
    _ADJECTIVE = re.compile(r"[Vv]n+r*(?:X|[HB](?!$))")
    _PARTICIPIAL = re.compile(r"[Vv]r*[TwDn][^,:\-&]*,r*(?:[MYO]|D?[nQ]+r*[BHX])")
    _CLOCK = re.compile(r"\d{1,2}[:.]\d\d(?:[:.]\d\d)?")
    #: The next verb of the same subject: ", updated the docs and ran the tests"
    _CHAIN = re.compile(r"(?:[DnQ]{0,3}T?Y(?=[DnQTwr,&]))?[^MYOXNBPCuH]*?[,&k\-][,&rk\-]*(?:Hr*)?(?P<verb>[Vvs])")
    _GERUND = re.compile(r"Ar*(?P<verb>g)|A(?P<plain>[Vs])")
    #: The reader as one who does something
    _READER = re.compile(r"(?<![TVg])Y")
    _GERUND_CHAIN = re.compile(r"[DnQTrwoGVsSA]*?[,&][,&r]*(?P<verb>g)")

    def _actives(self) -> None:
        for match in self._ACTIVE.finditer(self._tags):
            if self._tags[match.start() - 1 : match.start()] != "H":  # "nor have I pushed it"
                verb = _place(match)
                if self._tags[verb] == "g" and self._low(verb - 2) not in words("pains"):
                    verb = match.start() + match[0].index("V")
                self._add("active", match.start(), verb, verb)
                self._follow(self._CHAIN, verb, "active")

        for match in self._ARRANGED.finditer(self._tags):
            if self._low(match.start("had")) in ("had", "got") and is_participle(self._low(match.start("verb"))):
                self._found.pop(match.start("had"), None)
                self._add("active", match.start(), match.start("verb"), match.start("object"))
        for match in self._INVERTED.finditer(self._tags):  # "only then did I push it"
            if self._low(match.start()) == "did" and self._tags[match.start() - 1 : match.start()] != "N":
                self._add("active", match.start("writer"), match.start("plain"), match.start("plain"))

    def _bare(self) -> None:
        tags = self._tags
        if tags[:1] == "n" and self._CLOCK.fullmatch(self._low(0)):  # "13:04 restarted the pod"
            tags = f"m{tags[1:]}"
        match = self._BARE.search(tags)
        if match is None or self._found:
            return
        verb = match.start("verb")
        after = self._low(verb + 1)
        # "Set it to 19", "Then run it"
        order = not tags[:verb].strip("r") and (self._low(verb) == "run" or self._low(verb) in words("same"))
        if self._ADJECTIVE.match(tags, verb) or (verb == 0 and self._PARTICIPIAL.match(tags)):
            return  # "Closed tickets can be reopened", "Built in 1890, it was sold twice"
        if order or after in ("by", "below", "above") or self._low(verb) in words("good") or not self._is_verb(verb):
            return
        self._add("bare", verb, verb, 0)
        self._follow(self._CHAIN, verb, "active")

    def _gerunds(self) -> None:
        if "M" not in self._tags and self._READER.search(self._tags):
            return
        for match in self._GERUND.finditer(self._tags):
            before = self._tags[: match.start()]
            if "X" in before or before.endswith("N") or (self._low(match.start()) == "by" and "X" in self._tags):
                continue
            verb = _place(match)
            self._add("gerund", verb, verb, verb)
            self._follow(self._GERUND_CHAIN, verb, "gerund")

    # --- What was done, without saying by whom ---

    _PASSIVE = re.compile(r"[DnQVvsgGToawAr,&m]*?[DnQVvsgGom]r*(?:,?&r*|,)?(?P<be>Hr*B[rB]*|B[rB]*)(?P<verb>[VvsG])")
    #: In a list or a table: "Adler, €2,300.00, scheduled"
    _APART = re.compile(r"(?:^|(?<=:))[DnQo]+,(?:[DnQT]+,){0,3}(?P<verb>V)(?=[TrwASm,]|$)")
    #: A person to whom something was done
    _DONE_TO = re.compile(r"(?P<subject>[YO])r*(?P<be>Hr*B[rB]*|B[rB]*)(?P<verb>V)")
    _PASSIVE_CHAIN = re.compile(r"[nQTrwDoAGgS]*?[,&][,&r]*(?:[HB]r*)*(?P<verb>[Vvs])")
    #: "Email sent to Ada", "with the branch pushed, …"
    _NOMINAL = re.compile(
        r"(?<![MYO])[DnQgVGTrwA]*[nQGo](?:r*vr*&)?r*(?P<verb>[Vs])(?=[TrwASm,:\-&Q]|$)"
        r"|(?<=w)[DnQGTo]*?[nQGo]r*(?P<with>[Vvs])(?=[TrwASm,:\-&QVvGDu]|$)"
        r"|(?<![^w,:\-])D(?P<both>V)(?=[TrwASm,:\-&u]|$)"
    )

    def _passives(self) -> None:
        for match in self._PASSIVE.finditer(self._tags):
            verb, be = match.start("verb"), match.start("be")
            subject = self._subject(be)
            joined = subject >= be and self._tags[be - 1] == "&" and not set(self._tags[:be]) & set("MYOX")
            if joined:
                subject = be  # "it exists and was moved"
            if (subject >= be and not joined) or self._by_others(verb) or not is_participle(self._low(verb)):
                continue
            if not self._is_thing(subject, verb) or self._low(subject) in words(
                "assured"
            ):  # "I made sure it was settled"
                continue
            subject_tokens = self._tokens[subject:be]
            if (
                self._tags[be] != "H"
                and self._low(be) not in ("was", "were")
                and not meaning_of(self._tokens, verb, subject_tokens).known
            ):
                if self._low(verb) in words("good") and named(subject_tokens, ENDING):
                    self._add("outcome", subject, verb, subject)
                continue
            past = any(self._low(at) in ("was", "were", "been", "got") for at in range(be, verb))
            form: Form = "passive" if past else "state"
            if self._add(form, subject, verb, subject):
                self._follow(self._PASSIVE_CHAIN, verb, form, subject)
        for match in self._DONE_TO.finditer(self._tags):
            subject, verb = match.start("subject"), match.start("verb")
            if not self._by_others(verb) and self._is_arranged(verb):
                self._add(
                    "passive" if self._low(verb - 1) in ("was", "were", "been") else "state", subject, verb, subject
                )

    def _nominals(self) -> None:
        for match in self._NOMINAL.finditer(self._tags):
            verb = match.start(match.lastgroup or 0)
            subject = self._subject(verb)
            if match["both"] and self._low(subject) not in ("both", "all"):
                continue
            # "Customer notified" says what was done to a person, "customer confirmed" what a person did.
            if self._tags[verb - 1] == "o" and "send" not in meaning_of(self._tokens, verb).acts:
                continue
            with_ = self._tags.rfind("w", 0, verb)
            far = with_ < 0 or verb - with_ > REACH
            # Capitalised words may be a name, whose deed it is: "Ada Byron confirmed it".
            name = self._sentence.form == "prose" and self._is_name(subject, verb)
            name = name and not self._is_titled(subject, verb)
            if (
                verb - subject > LONGEST_SUBJECT
                or not is_participle(self._low(verb))
                or set(self._tags[subject:verb]) & set("NMYOXHB")
                or "X" in self._tags[:verb]
                or (not far and self._is_supposed(verb))
                or (name and self._does(subject, verb))
                or (far and (self._is_writers(verb) or self._tells_which(verb)))
                or (self._low(verb) == "run" and self._is_noun(subject, verb))
                or self._by_others(verb)
                or self._low(subject) in ("by", "of", "from")  # "by the rules pinned there"
                or self._low(subject) in ("it", "they", "there")  # "it stays unlocked"
                or self._low(verb - 1) in ("it", "this", "that")  # "it finished"
                or (far and self._sentence.form == "prose" and self._does_itself(subject, verb))
            ):
                continue
            if self._add("nominal", subject, verb, subject):
                self._follow(self._PASSIVE_CHAIN, verb, "nominal", subject)

    def _is_writers(self, verb: int) -> bool:
        """Tell whether a participle is in a clause of the writer's: "the mails sent I counted"."""
        later = self._tags.find("M", verb)
        return "M" in self._tags[:verb] or (later > 0 and _CLAUSE_END.search(self._tags, verb, later) is None)

    def _does_itself(self, subject: int, verb: int) -> bool:
        """Tell whether a past form in prose says what its subject did: "the export stalled", "Bo answered"."""
        alone = self._tags[subject] == "D" and not self._found and self._low(subject) not in words("every")
        return alone or self._low(verb) in words("itself") or self._tags[:subject].rstrip("r").endswith("S")

    def _is_name(self, start: int, end: int) -> bool:
        name = self._tokens[start:end]
        return len(name) <= 2 and all(token.text[:1].isupper() and not _DIGIT.search(token.text) for token in name)

    def _is_titled(self, subject: int, verb: int) -> bool:
        """Tell whether a word that begins a sentence is what was done, not somebody who did it: "Reply sent"."""
        return subject == 0 and verb == 1 and bool(noun_acts(self._low(0)))

    def _does(self, subject: int, verb: int) -> bool:
        """Tell whether a verb behind a name says what it did, by what it was done to."""
        after = self._tags[verb + 1 : verb + 2]
        if verb - subject > 1:
            return after in tuple("DnQ")
        return after not in (",", "&", "T", ":") and not self._leads(verb + 1)

    def _apart(self) -> None:
        match = self._APART.search(self._tags)
        listed = match is not None and match[0].count(",") > (1 if match.start() else 2)
        if match is not None and (listed or self._sentence.form in ("point", "cell")):
            verb = match.start("verb")
            if is_participle(self._low(verb)):
                self._add("nominal", match.start(), verb, match.start())

    def _is_supposed(self, verb: int) -> bool:
        """Tell whether what follows is only thought of: "with the schema gone, we could retire its role"."""
        return any(self._low(at) in ("could", "would", "might") for at in range(verb + 1, len(self._tokens)))

    def _leads(self, at: int) -> bool:
        """Tell whether a particle stands before what it leads to: "on r500"."""
        return self._low(at) in words("preposition") and self._tags[at + 1 : at + 2] in tuple("nDQg")

    def _tells_which(self, verb: int) -> bool:
        """Tell whether a participle is not the verb of its sentence: "invoices raised from today follow them"."""
        end = _CLAUSE_END.search(self._tags, verb + 1)
        places = range(verb + 2, len(self._tags) if end is None else end.start())
        return any(self._low(at) in ("them", "it", "us", "him", "her") and self._tags[at - 1] == "n" for at in places)

    def _is_noun(self, subject: int, verb: int) -> bool:
        """Tell whether "run" is a noun: "a dry run", "the Friday run:"."""
        alone = self._tags[subject] == "D" and self._tags[verb + 1 : verb + 2] in ("", ":")
        return alone or self._low(verb - 1) in ("dry", "test", "trial", "a", "the")

    # --- What came about ---

    #: "Ada got a message", "the change has landed", "the export went through"
    _ARRIVAL = re.compile(r"[DnQgGTAwr&m]*?[nQosO]r*(?P<have>(?:Hr*)?)(?P<verb>[Vv])")
    #: "the note is now in your notebook"
    _STANDS = re.compile(r"[DnQVgGTAwr&m,]*?[nQGVgs]r*,?(?P<verb>B)r*(?P<where>[nTGVwg])")
    #: "… and is now in your inbox"
    _SECOND = re.compile(r"[,&]r*(?P<verb>B)r*(?P<where>[nTGVw])")
    #: "the table is yours", "Ms Ito is down for Monday"
    _YOURS = re.compile(r"[nY](?P<verb>B)")
    #: "all tests pass", "the deployment has succeeded"
    _OUTCOME = re.compile(r"[DnQVvsgGTowAr]*?[nQVsgvD][rD]*(?P<be>H?r*B?[rBD]*)(?P<verb>G)")

    def _arrivals(self) -> None:
        for match in self._ARRIVAL.finditer(self._tags):
            verb, have = match.start("verb"), match.start("have")
            subject, low, after = self._subject(have), self._low(verb), self._low(verb + 1)
            given = low in ("got", "received") or (low == "had" and bool(match["have"]))
            if set(self._tags[subject:verb]) & set("NMYX" if given else "NMYOX") or (
                low == "went" and after in ("wrong", "well", "badly")
            ):
                continue
            if low in ("went", "gone") and after == "through" and self._tags[verb + 2 : verb + 3] in tuple("DnQ"):
                continue  # "the value went through a filter"
            if given:
                gift = self._tokens[verb + 1 : verb + 9]
                it = low == "received" and after in ("it", "them", "both") and self._is_person(subject, have)
                if it or any(noun_acts(token.low) or token.low in words("tidings") for token in gift):
                    self._add("received", subject, verb, subject)
            elif self._came_out(subject, verb):
                self._add("outcome", subject, verb, subject)
            elif self._got_there(verb):
                self._add("passive", subject, verb, subject)
            elif (
                (low in ("went", "landed") or match["have"])
                and self._low(have) != "had"
                and not (low == "went" and after in words("amounting"))  # of numbers
                and not self._is_person(subject, have)
                and meaning_of(self._tokens, verb).known
            ):
                self._add("passive" if low == "went" else "state", subject, verb, subject)

    def _is_person(self, subject: int, end: int) -> bool:
        """Tell whether a subject is somebody: "the two drivers", "Ms Bell"."""
        if "o" in self._tags[subject:end] or "Y" in self._tags[subject:end]:
            return True
        name = [token for token in self._tokens[subject:end] if token.kind == "word"]
        plain = all(token.text[:1].isupper() and token.text[1:].islower() for token in name)
        known = any(meaning_of(name, at).known or noun_acts(token.low) for at, token in enumerate(name))
        return bool(name) and plain and len(name) <= LONGEST_NAME and not known

    def _came_out(self, subject: int, verb: int) -> bool:
        """Tell whether a verb without an object came out well: "ran through", "built without errors"."""
        low, after, next_ = (self._low(at) for at in range(verb, verb + 3))
        if low in ("went", "gone", "come", "came"):
            return after in words("through") and self._ends(self._tokens[subject:verb])
        if "o" in self._tags[subject:verb]:
            return False
        if self._it_ended(verb):
            return True
        if after in ("without", "with"):
            none = after == "without" or next_ in ("no", "zero", "0")
            return none and any(self._low(at) in words("hitch") for at in range(verb + 2, verb + 5))
        return after in words("well") or (after == "through" and base(low) in bases("running"))

    def _got_there(self, verb: int) -> bool:
        """Tell whether a thing got where it was sent or put: "left by mail", "made it onto the list"."""
        low, after, next_ = (self._low(at) for at in range(verb, verb + 3))
        if low == "left":
            return after == "by" and next_ in words("means") | {"secure"}
        return low == "made" and after == "it" and next_ in ("in", "into", "on", "onto", "to")

    def _it_ended(self, verb: int) -> bool:
        """Tell whether "it" came out well: "it passed", not "it finished with two errors"."""
        named_before = self._low(verb - 1) in {"it", "they", "them"} | words("every")
        return named_before and self._low(verb) in words("ended") and self._low(verb + 1) != "with"

    #: "the line now reads 80", "the edges now carry new certificates"
    _HAS = re.compile(r"[nQ]r*(?P<verb>[nHP])[DPn]")
    _NOW = re.compile(r"[DnQVgGTAwr&mo]*?[nQGVog]r*(?P<now>r)r*(?P<verb>[nHsG])")

    def _standing(self) -> None:
        for match in self._HAS.finditer(self._tags):
            verb = match.start("verb")
            new = bool({self._low(verb + 1), self._low(verb + 2)} & {"new", "updated", "corrected"})
            subject = self._subject(verb)
            if new and self._low(verb) in words("shown") | words("holding") and self._is_thing(subject, verb, "NMYOXo"):
                self._add("stands", subject, verb, subject)
            elif self._low(verb) in words("holding") - words("have") and self._low(verb - 1) == "it":
                self._add("stands", verb - 1, verb, verb - 1)  # "it holds the hotel and the flights"
        for match in self._NOW.finditer(self._tags):
            verb = match.start("verb")
            subject = self._subject(match.start("now"))
            if self._low(verb - 1) == "now" and self._is_thing(subject, verb, "NMYOX"):
                ended = self._tags[verb] == "G" and self._ends(self._tokens[subject : verb - 1])
                self._add("outcome" if ended else "stands", subject, verb, subject)
        for match in self._SECOND.finditer(self._tags):
            verb, where = match.start("verb"), match.start("where")
            former = self._former(verb)
            if former is not None and self._low(where) in words("where") and self._is_new(verb, where):
                self._add("stands", verb, verb, self._found[former].subject)
        for match in self._YOURS.finditer(self._tags):
            verb = match.start("verb")
            if self._is_arranged_for(verb + 1):
                self._add("stands", self._subject(verb), verb, self._subject(verb))
        for match in self._STANDS.finditer(self._tags):
            verb, where = match.start("verb"), match.start("where")
            subject = self._subject(verb)
            is_there = self._is_thing(subject, verb, "NMYOXo") and self._low(where) in words("where")
            is_there = is_there and self._low(where + 1) != "be"  # "it is to be cancelled"
            if is_there and (self._is_new(verb, where) or self._names_act(subject, verb)):
                self._add("stands", subject, verb, subject)

    def _is_arranged_for(self, at: int) -> bool:
        """Tell whether words say what was arranged for whom: "yours", "down for Monday", "all set for 9"."""
        while self._tags[at : at + 1] in ("r", "D") and self._low(at) not in words("particle"):
            at += 1
        low, after = self._low(at), self._low(at + 1)
        if low == "yours":
            before = {token.low for token in self._tokens[:at]}
            return after != "to" and not before & {"decision", "choice", "call", "turn", "rest"}
        return after == "for" and low in ("down", "in", "set", "ticketed")

    def _is_gone(self, verb: int) -> bool:
        """Tell whether a thing is said to be no longer where it was: "it is off the list now"."""
        at = next((at for at in range(verb + 1, len(self._tags)) if self._low(at) in words("where")), verb)
        return self._low(at) == "off" and self._tags[at + 1 : at + 2] == "D"

    def _is_new(self, verb: int, where: int) -> bool:
        """Tell whether it is so since now: "it is now in the list", "it is in your calendar", "it is on its way"."""
        end = next((at for at in range(where, len(self._tags)) if self._tags[at] in ",:-&SkC"), len(self._tags))
        said = {self._low(at) for at in range(verb, end)}
        return bool(said & words("new") or {"its", "way"} <= said) or (
            self._low(where) != "at" and self._low(where + 1) == "your"
        )

    def _names_act(self, start: int, end: int) -> bool:
        return any(noun_acts(token.low) or base(token.low) in bases("deed") for token in self._tokens[start:end])

    def _outcomes(self) -> None:
        for match in self._OUTCOME.finditer(self._tags):
            verb, be = match.start("verb"), match.start("be")
            subject = self._subject(be)
            if self._low(verb - 1) == "back" and self._low(verb - 2) in ("came", "come", "comes"):
                be, subject = verb - 2, self._subject(verb - 2)  # "the checks came back clean"
            ends = self._low(verb) in words("presents") or self._ends(self._tokens[subject:be]) or self._it_ended(verb)
            # "running builds", "the live prices"
            adjective = not match["be"] and self._tags[verb + 1 :][:1] == "n" and self._low(verb).endswith(("ing", "e"))
            passes = base(self._low(verb)) in bases("ended") and self._low(verb + 1) in words("course")
            if ends and not adjective and not passes and self._is_thing(subject, verb, "NMYOX"):
                self._add("outcome", subject, verb, subject)

    #: "Ada was told, and so was Bo"
    _LIKEWISE = re.compile(r"[,&]r*[ST]r*(?P<be>B)r*[DnQo]")

    def _likewise(self) -> None:
        for match in self._LIKEWISE.finditer(self._tags):
            be = match.start("be")
            if self._low(be - 1) in ("so", "as") and self._former(be) is not None:
                self._add("passive", be - 1, be, be - 1)

    def _former(self, at: int) -> int | None:
        """The verb of the claim before a place."""
        return max((verb for verb in self._found if verb < at), default=None)

    #: "the suite shows no regressions", "linting it turned up nothing"
    _FAULTLESS = re.compile(r"(?P<verb>[VvnH])r*(?P<none>[Nn])")

    _NONE_FOUND = re.compile(r"[Nn]n{1,2}(?:Br*)?(?P<verb>[Vv])")

    def _faultless(self) -> None:
        for match in self._FAULTLESS.finditer(self._tags):
            verb, none = match.start("verb"), match.start("none")
            subject = self._subject(verb)
            if self._low(verb) in words("finding") and self._is_clean(none) and self._ends(self._tokens[subject:verb]):
                self._add("outcome", subject, verb, subject)

        for match in self._NONE_FOUND.finditer(self._tags):  # "Lint: 0 issues reported"
            verb = match.start("verb")
            if self._low(verb) in words("finding") and self._is_clean(match.start()) and self._ends(self._tokens):
                self._add("outcome", match.start(), verb, 0)

    #: "the run gave 74%", "a check of the logs confirmed the time"
    _FOUND = re.compile(r"[nVvs]r*[DnQNs]")
    _LOOK = re.compile(r"D[nQVsg]+(?:T[DnQ]+)?r*")

    def _reports(self) -> None:
        for match in self._FOUND.finditer(self._tags):
            verb = match.start()
            if self._low(verb) in words("finding"):
                subject = self._subject(verb)
                if self._LOOK.fullmatch(self._tags, subject, verb) and self._is_look(subject, verb):
                    self._add("found", subject, verb, subject)

    def _is_look(self, subject: int, verb: int) -> bool:
        """Tell whether a subject is an act of looking or trying: "the search of the logs", not "the test report"."""
        of = next((at for at in range(subject, verb) if self._tags[at] in "Tr"), verb)
        return self._low(of - 1) in words("looking") | words("checking")

    def _is_clean(self, at: int) -> bool:
        """Tell whether words say that there was nothing amiss: "no errors", "0 new warnings", "nothing"."""
        if self._low(at) == "nothing":
            return True
        return self._low(at) in ("no", "0", "zero") and any(self._low(at + step) in words("hitch") for step in (1, 2))

    @staticmethod
    def _ends(subject: Sequence[Token]) -> bool:
        """Tell whether a subject is something that comes out well or badly."""
        return bool(named(subject, ENDING)) or any(base(token.low) in bases("trial") for token in subject)

    # --- Parts ---

    def _low(self, at: int) -> str:
        return self._tokens[at].low if 0 <= at < len(self._tokens) else ""

    def _add(self, form: Form, begins: int, verb: int, subject: int) -> bool:
        """Note a claim; whether its verb was free."""
        if verb in self._found:
            return False
        self._found[verb] = _Spot(form, begins, verb, subject)
        return True

    _AUXILIARY = re.compile(r"[HBr]+$")

    def _follow(self, pattern: re.Pattern[str], verb: int, form: Form, subject: int | None = None) -> None:
        """Note the further verbs of one subject."""
        match = pattern.match(self._tags, verb + 1)
        while match is not None:
            verb = match.start("verb")
            auxiliary = self._AUXILIARY.search(self._tags, 0, verb)
            be = {self._low(at) for at in range(auxiliary.start() if auxiliary else verb, verb)}
            own = "H" in self._tags[verb - 1] and form != "active" and self._low(verb) not in words("moving")
            if self._is_verb(verb) and not own:  # "Bell was paged and has answered"
                said: Form = "state" if form == "passive" and be & {"is", "are"} else form
                self._add(said, verb, verb, verb if subject is None else subject)
            match = pattern.match(self._tags, verb + 1)

    def _is_verb(self, at: int) -> bool:
        """Tell whether a past form is a verb, not an adjective; of a verb that is not known, by what stands behind."""
        if self._tags[at] != "v" or at + 1 >= len(self._tokens):
            return True
        behind = self._tokens[at + 1]
        return self._tags[at + 1] in "DQTwrA,&:-" or behind.low in ("it", "them", "him") or not behind.text.islower()

    def _subject(self, end: int) -> int:
        """The place where a subject begins that ends at another place."""
        at, joined = end, end
        if at > 2 and self._tags[at - 1] == "," and "," in self._tags[: at - 1]:  # "the new one, BX-9, was made"
            at = joined = self._tags.rindex(",", 0, at - 1)
        while at > 0 and self._tags[at - 1] not in ",:-kSuCPX":
            if at - 1 in self._found:  # what stands before the last "and" belongs to the verb there
                at = joined if joined < end else at
                break
            if self._tags[at - 1] in "MYON":
                apart = joined < end and bool(set(self._tags[at:joined]) & set("VvsgG"))
                return joined if apart else at - 1  # "I ran it and the checks passed"
            at -= 1
            if self._tags[at] == "&":
                joined = at + 1
                start = max(self._tags.rfind(mark, 0, at) for mark in ",:-kSuCP") + 1
                if _FINITE_PART.search(self._tags, start, at):
                    return joined  # "Bo had approved it and the checks …", "Bo closed the issue and the preview …"
        while at < end and self._tags[at] in "&rAwm":
            at += 1
        listed = _LISTED.search(self._tags, 0, at) if "&" in self._tags[at:end] else None
        return at if listed is None or set(range(listed.start(), at)) & self._found.keys() else listed.start()

    def _is_thing(self, subject: int, verb: int, none_of: str = "NMOY") -> bool:
        """Tell whether a subject is neither a person nor negated."""
        return not set(self._tags[subject:verb]) & set(none_of)

    def _is_arranged(self, verb: int) -> bool:
        """Tell whether a passive says what was arranged for a person: "you're enrolled", "she has been told"."""
        acts = meaning_of(self._tokens, verb).acts
        return (self._low(verb - 1) == "been" and "send" in acts) or bool(
            acts & {"subscribe", "book", "schedule", "invite"}
        )

    def _by_others(self, verb: int) -> bool:
        """Tell whether "by" and somebody stands behind a participle."""
        for at in range(verb + 1, min(verb + 12, len(self._tokens) - 1)):
            if self._low(at) == "by":
                low = self._low(at + 1)
                if low in words("means") | words("times"):
                    return False  # "warned by SMS", "sent by Friday"
                if low in ("me", "us", "him", "her", "them", "you", "it"):
                    return low not in ("me", "us")
                following = self._tokens[at + 1 : at + 4]
                person = any(token.low in words("person") for token in following)
                thing = self._tags[at + 1] == "D" and not named(following)
                return person or thing or self._tokens[at + 1].text[:1].isupper()
            if self._tokens[at].kind == "mark":
                return False
        return False

    def stated(self, spot: _Spot, stop: int) -> Stated:
        """The claim at a place, with its words up to another one."""
        form, begins, verb, first = spot
        tokens, tags = self._tokens, self._tags
        for at in range(verb + 1, stop):
            person = tags[at] in "MYO" and at > verb + 1 and (tags[at - 1] != "T" or self._low(at - 1) == "as")
            other = at > verb + 1 and tags[at - 1] in ",&:" and self._low(at) in ("it", "they", "this", "these")
            if tags[at] in "SkCuP-" or person or other:
                stop = at
                break
        if tags[stop : stop + 1] == "P":  # "…, and her record shows that …": back to where that clause begins
            joint = _JOINT.match(tags, verb + 1, stop)
            stop = stop if joint is None else max(joint.end() - 1, verb + 1)
        stop = self._next_clause(spot, stop)
        if form == "gerund" or (form == "nominal" and tags[first - 1 : first] == "w"):
            stop = tags.index(",", verb, stop) if "," in tags[verb:stop] else stop
        while stop > verb + 1 and (
            (tags[stop - 1] in ",&kr-:AmwH" and tokens[stop - 1].text != ")" and not self._is_particle(stop - 1))
            or self._low(stop - 1) == "as"
        ):
            stop -= 1
        subject = tokens[first:verb] if form in _WITH_SUBJECT else tokens[self._relative(spot) : begins]
        objects = (*self._lead(spot), *subject, *tokens[verb + 1 : stop])
        meaning = self._meaning(spot, subject)
        said = {token.low for token in objects}
        well = form == "outcome" or bool(meaning.acts & TRIED and said & words("good") and not said & words("bad"))
        return Stated(tokens[begins].start, tokens[stop - 1].end, tokens[verb].text, meaning, objects, form, well)

    def _next_clause(self, spot: _Spot, stop: int) -> int:
        """The place where the next clause begins behind a claim, or the claim has to stop."""
        clause = _NEXT_CLAUSE.search(self._tags, spot.verb + 1, stop)
        stop = stop if clause is None else clause.start()
        for match in _NEXT_SUBJECT.finditer(self._tags, spot.verb + 1, stop):
            if any(self._is_finite(at) for at in range(match.start("subject") + 1, match.end())):
                return match.start()
        found = _FINDING.search(self._tags, spot.verb + 1, stop)
        explained = spot.form in ("passive", "state", "stands", "outcome", "received")
        if found is not None and (explained or reads(meaning_of(self._tokens, spot.verb))):
            return found.start()  # "I looked at the check: types are fine", "she was told: the calendar mailed her"
        return stop

    def _is_finite(self, at: int) -> bool:
        """Tell whether a word behind a subject is its verb: "and the build took 40 seconds", "and the sums agree"."""
        low, tag, after = self._low(at), self._tags[at : at + 1], self._tags[at + 1 : at + 2]
        if self._low(at + 1) == "by" or self._tags[at - 1] not in "nNQorD":
            return False
        if low in words("fact"):  # not "the test runs, …", "the price points of May"
            more = after not in ("", ",", "&", "n", "g") and self._low(at + 1) != "of"
            return more or self._low(at + 1)[:1].isdigit() or self._low(at + 1) in ("it", "them")
        if tag not in ("V", "v", "G") or not is_past(low):
            return False
        return not is_participle(low) or after in ("D", "Q") or low in words("itself") | words("ended") | {"finished"}

    def _is_particle(self, at: int) -> bool:
        """Tell whether a word belongs to a verb before it: "switched off"."""
        return self._low(at) in words("particle") and self._tags[at] == "r"

    def _head(self, subject: int, verb: int) -> frozenset[str]:
        """The base of the noun that a subject is about: "the import of the contacts"."""
        end = next((at for at in range(subject + 1, verb) if self._tags[at] in "TrHB,"), verb)
        return frozenset({base(self._low(end - 1))} if self._tags[end - 1] in "nsg" else ())

    def _lead(self, spot: _Spot) -> Sequence[Token]:
        """The words that a claim stands under: its row, or what stands before a colon: "7D: reminder sent"."""
        label = self._LABEL.match(self._tags, 0, spot.begins)
        if self._sentence.lead or label is None or spot.form not in ("bare", "nominal"):
            return self._sentence.lead
        return self._tokens[: label.end() - 1]

    _LABEL = re.compile(rf"[^:\-MVvHB]{{1,{LONGEST_LABEL}}}[:\-]")

    def _relative(self, spot: _Spot) -> int:
        """The place where begins what a verb without an object is said of: "the report I ran"."""
        at = spot.begins
        if (
            spot.form == "active"
            and self._tags[at] == "M"
            and self._tags[spot.verb + 1 : spot.verb + 2] not in tuple("DnQ")
        ):
            while at and self._tags[at - 1] in "nQ":
                at -= 1
            if at < spot.begins and self._tags[at - 1 : at] == "D":
                return at - 1
        return spot.begins

    def _meaning(self, spot: _Spot, subject: Sequence[Token]) -> Meaning:
        """The acts that a claim can stand for, by its verb or, where that says nothing, by its subject."""
        low = self._low(spot.verb)
        former = self._former(spot.verb)
        if spot.form == "passive" and self._low(spot.begins) in ("so", "as") and former is not None:
            return meaning_of(self._tokens, former)
        if spot.form == "stands" and self._is_arranged_for(spot.verb + 1):
            return Meaning.of(ARRANGING)
        if spot.form == "stands" and self._is_gone(spot.verb):
            return Meaning.of(REMOVING)
        if spot.form == "stands" and self._tags[spot.verb] != "B":
            return meaning_of(self._tokens, spot.verb)
        if spot.form in ("outcome", "stands"):
            acts = named(subject, ENDING) or (frozenset() if low == "went" else verb_acts(low))
            if spot.form == "outcome" and not acts and not any(base(token.low) in bases("again") for token in subject):
                acts = TRIED | {"run"}
            meaning = _of_trial(acts)
            # "the import went through" is what calls itself an import
            return meaning if acts else meaning._replace(bases=self._head(spot.subject, spot.verb))
        if spot.form == "found":
            return Meaning.of(frozenset(act for token in subject for act in verb_acts(token.low)))
        if spot.form == "received":
            return Meaning.of(frozenset({"send", "post"}))
        if low == "made" and spot.form == "passive":  # "it made it onto the list"
            return Meaning.of(verb_acts("add"))
        through = low in ("went", "gone") and self._low(spot.verb + 1) == "through"
        if through and spot.form != "active" and not named(subject):
            return Meaning(frozenset(), self._head(spot.subject, spot.verb), "", True)
        if low in ("went", "gone", "left") and spot.form != "active":
            to = self._low(spot.verb + 1) == "to"  # "a note went to Ada", "the mails went to the trash"
            sent = verb_acts(self._low(spot.verb + 3)) | {"send", "move"} if to else frozenset[str]()
            acts = named(subject) | sent or frozenset({"deploy", "publish", "send"})
            return Meaning(acts, frozenset({base(low)}), "", True)  # what went somewhere may have been moved as well
        return meaning_of(self._tokens, spot.verb, subject)


#: Where the words of a claim end: "…, and one line is open", "… and should arrive today"
_NEXT_CLAUSE: Final = re.compile(r",?&r*(?:[DnQog][DnQogT]*r*[BHX]|X)|,r*(?:[DnQog]+r*[BHX]|X)")
#: What may be the subject of another clause: "…, and the portal build …", "… and every one of them …"
_NEXT_SUBJECT: Final = re.compile(r",?&r*(?P<subject>[DnQogNrT]{1,7}[nsGVv])")
#: A verb that is no participle, with its subject
_FINITE_PART: Final = re.compile(r"[nQo]r*(?:[HBX]|[Vv](?=[DQ]))")
#: What was found out: "…: types are fine"
_FINDING: Final = re.compile(r":r*[DnQog][DnQogT]*r*(?:[BHX]|[Vv](?=[DQ]))")
_CLAUSE_END: Final = re.compile(r"[,:\-&SkCuP]")
#: The first items of a list: "Amir, Bea, Chen and Dov"
_LISTED: Final = re.compile(r"(?:(?<![^,\-:;k&])[DnQ]{1,3},)+$")
_JOINT: Final = re.compile(r".*[,&]")
_DIGIT: Final = re.compile(r"\d")
#: An object that is none: "I took no backup".
_NONE: Final = re.compile(r"r*N")


def _of_trial(acts: frozenset[str]) -> Meaning:
    """The meaning of what came out well or badly, by what it was."""
    return Meaning.of(acts | TRIED if acts & TRIED else acts)


def _place(match: re.Match[str]) -> int:
    return match.start("verb") if match["verb"] else match.start("plain")


#: Acts of which it is said that they came out well: "the deployment succeeded".
ENDING: Final = frozenset(
    """test build deploy migrate refund pay order install undo restart publish merge upload download copy run verify
    reset seed convert capture move post send cancel book apply update""".split()
) | {"check code"}
#: Acts after which something is somebody's.
ARRANGING: Final = frozenset({"book", "order", "schedule", "subscribe", "assign"})
#: Acts after which something is not there any more.
REMOVING: Final = frozenset({"delete", "cancel"})
#: Acts that are done whatever comes out; that it was good is more than that they were done.
TRIED: Final = frozenset({"test", "check code", "build"})


def _labelled(sentence: Sentence) -> Iterator[Stated]:
    """Claims without a verb: "Deployment: done", "| Refund | ✅ |", "- [x] Run the tests"."""
    tokens = sentence.tokens
    label: Sequence[Token] = sentence.lead
    rest: Sequence[Token] = tokens
    marks = [number for number, token in enumerate(tokens) if token.text in (":", "–", "—", "->", "=")]
    marks = [number for number in marks if not is_range(tokens, number)]
    if not label and marks and 0 < marks[0] <= LONGEST_TITLE:
        label, rest = tokens[: marks[0]], tokens[marks[0] + 1 :]
    if any(token.low in words("not") or token.low in words("modal") for token in tokens):
        return
    ticked = sentence.ticked is True
    if label and (ticked or any(token.low in words("good") for token in rest[:4])):
        acts = named(label)
        pieces = (list(rest) if sentence.form == "cell" else [*label, *rest]) or list(label)
        if acts and pieces:
            yield Stated(
                pieces[0].start, pieces[-1].end, label[0].text, Meaning.of(acts), (*label, *rest), "label", True
            )  # fmt: skip
    elif ticked and not label and tokens:
        meaning = meaning_of(tokens, 0)
        if meaning.known:
            yield Stated(tokens[0].start, tokens[-1].end, tokens[0].text, meaning, tuple(tokens[1:]), "label", True)
