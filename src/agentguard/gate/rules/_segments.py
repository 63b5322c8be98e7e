"""Cut sentences into segments that state one thing each: who, what, whether it is denied, and under which conditions.

A clause that leaves words out ("… and lids €12", "… and draws 2,200 watts", "It weighs 1.2 kg") carries those of the
one before it, so that what it states of whom can be told without the other clauses of the sentence.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from agentguard.content.grounding._values import NUMBER_WORDS, WEEKDAYS
from agentguard.gate.rules._grammar import (
    AUXILIARIES,
    DETERMINERS,
    PREPOSITIONS,
    RELATIVES,
    SUBORDINATORS,
    WORDS,
    begins_order,
    is_base,
    is_finite,
    is_past,
    is_predicate,
)
from agentguard.gate.rules._moments import MONTHS
from agentguard.gate.rules._words import Token

MAX_SUBJECT: Final = 14  # words before a verb
MAX_CARRIED: Final = 30  # words of earlier segments that one carries
_MAX_BACK: Final = 8  # words before "or more", among which the preposition is looked for
_MAX_PHRASE: Final = 4  # words before a comma that ", which …" is about
_CONJUNCTIONS: Final = frozenset({"and", "or", "but"})
_ANAPHORS: Final = frozenset("it they he she this these that those which who".split())  # of what was spoken of before
_SPEAKERS: Final = frozenset({"i", "we", "you", "they", "he", "she"})  # after whom a verb stands
_ANY: Final = frozenset({"any", "all", "every", "each", "no", "nothing", "free"})
_TELLING: Final = frozenset({"was", "were", "had", "did"})
_LIMITS_AFTER: Final = frozenset("more less fewer over above below under up later earlier longer higher lower".split())
CONDITIONS: Final = WORDS["conditions"]
LIMITS: Final = WORDS["limits"]
_CIRCUMSTANCES: Final = WORDS["circumstances"]
_TURNS: Final = (PREPOSITIONS | _CIRCUMSTANCES) - {"of"}  # where another phrase begins
_PLACES: Final = frozenset({"on", "in", "at", "by"})
_CONDITION_BEGINNINGS: Final = frozenset(
    {("as", "long"), ("so", "long"), ("in", "case"), ("subject", "to"), ("on", "condition"), ("except", "where")}
)
PERMISSIONS: Final = WORDS["permissions"]
_BOUNDS: Final = frozenset({("up", "to"), ("at", "least"), ("at", "most")})
_EXCEPTIONS: Final = frozenset({"except", "excluding"})
_CLAUSAL: Final = frozenset({"if", "unless", "when", "whenever", "provided", "providing", "because", "although"})
_TEMPORAL: Final = frozenset("when after before while as since until".split())
_BEFORE_PARTICIPLES: Final = AUXILIARIES | PREPOSITIONS | DETERMINERS | {"be", "been", "being"}
_NO_NOUNS: Final = CONDITIONS | PREPOSITIONS | SUBORDINATORS | {"save", "so", "such"}
_WHATEVER: Final = frozenset("whatever whichever however whoever regardless irrespective whether".split())
_CONCESSIONS: Final = frozenset({"while", "whereas", "although", "though"})  # before what is stated, too


class Segment(NamedTuple):
    """A part of a sentence that states one thing; numbers are those of tokens.

    Attributes:
        first, last: Its own tokens, the last not included.
        subject: The subject's words that mean something; they may stand in an earlier segment.
        carried: Tokens of earlier segments that it leaves out, those of a missing subject among them.
        negations: What denies it, its conditions not.
        conditions: What it is true under, each from a token to another, not included: "if …", "only …", "over €50".
        exceptions: Those of the conditions that take something out: "except books", "and vouchers" after it.
        conditional: Whether it is a rule, of which conditions are a part, and does not tell what happened.
        verb: The token of its verb, or of the verb that it leaves out; None if there is none.
    """

    first: int
    last: int
    subject: tuple[int, ...]
    carried: tuple[int, ...]
    negations: tuple[int, ...]
    conditions: tuple[tuple[int, int], ...]
    exceptions: tuple[tuple[int, int], ...]
    conditional: bool
    verb: int | None


def segments(text: str, words: Sequence[str], tokens: Sequence[Token], negated: Sequence[int]) -> tuple[Segment, ...]:
    """The segments of a text with these words, in their order."""
    gaps = ["", *(text[one.end : two.start] for one, two in pairwise(tokens))]
    denying = frozenset(negated)
    found: list[Segment] = []
    for first, last in _sentences(tokens):
        before = found[-1] if found else None
        for number, (begin, end) in enumerate(_cut(words, gaps, first, last)):
            segment = _segment(words, gaps, tokens, denying, begin, end, before, number == 0)
            if number and before is not None and words[begin - 1] == "but" and words[begin] in CONDITIONS:
                # "…, but only above 10 euros" restricts what stands before it.
                found[-1] = before._replace(conditions=(*before.conditions, (begin, end)))
            found.append(segment)
            before = segment
    return tuple(found)


def _sentences(tokens: Sequence[Token]) -> Iterator[tuple[int, int]]:
    first = 0
    for number in range(1, len(tokens) + 1):
        if number == len(tokens) or tokens[number].sentence != tokens[first].sentence:
            yield first, number
            first = number


def _cut(words: Sequence[str], gaps: Sequence[str], first: int, last: int) -> Iterator[tuple[int, int]]:
    """Cut a sentence at semicolons, conjunctions, and commas that no condition or phrase ends or begins with."""
    begin = first
    # "If …, …" and "In 2022, …" are whole up to the clause that they belong to.
    comma = next((number for number in range(first + 1, last) if "," in gaps[number]), None)
    fronted = comma is not None and _is_fronted(words[first:comma])
    if words[first] in _CONCESSIONS and comma is not None:  # "Although …, …" states both
        yield first, comma
        begin, fronted = comma, False
    between = False
    for number in range(first + 1, last):
        word, gap = words[number], gaps[number]
        between = between or words[number - 1] in {"between", "from", "both", "either"}
        if words[number - 1] in {"to", "until", "till"} and words[min(number + 2, last - 1)].isalpha():
            between = False  # "from 9:00 to 12:00 and at …"
        if fronted:
            fronted = "," not in gap
            continue
        if ";" in gap or "–" in gap or "—" in gap or ("," in gap and word in _CONCESSIONS):
            cut, skip = True, word in _CONJUNCTIONS or word in _CONCESSIONS
        elif ": " in gap:  # after a clause, not after a heading word: "Wi-Fi: free"
            cut, skip = _verb(words, begin, number, None) is not None, False
        elif word in _CONJUNCTIONS:
            again = number + 1 < last and words[number + 1] == "from"  # "from Oban at 7 and from Tarbert at 8"
            cut = number + 1 < last and words[number + 1] not in _LIMITS_AFTER and (again or not between)
            # "Candles and matches are prohibited": one word more of what the clause is about
            cut = cut and not (number - begin == 1 and begin == first and word != "but")
            cut = cut and not (word != "but" and _is_verb_ahead(words, gaps, begin, number))
            between, skip = False, True
        else:
            cut = "," in gap and not _goes_on(words, begin, number, last)
            skip = False
        if cut and begin < number:
            yield begin, number
            begin = number + 1 if skip else number
        elif cut and skip:
            begin = number + 1
    if begin < last:
        yield begin, last


def _goes_on(words: Sequence[str], begin: int, number: int, last: int) -> bool:
    """Whether what stands behind a comma is a phrase or a condition of what stands before it."""
    word = words[number]
    if _is_parallel(words, begin, number, last) or _is_aside(words, number, last):
        return False
    return (
        word in SUBORDINATORS
        or word in _WHATEVER
        or word in RELATIVES
        or word in PREPOSITIONS
        or word in CONDITIONS
        or tuple(words[number : number + 2]) in _CONDITION_BEGINNINGS
    )


def _is_verb_ahead(words: Sequence[str], gaps: Sequence[str], begin: int, number: int) -> bool:
    """Whether a condition has no verb yet: "if the chair and the treasurer agree" is one."""
    places = range(number - 1, max(begin, number - MAX_SUBJECT) - 1, -1)
    mark = next((at for at in places if words[at] in _CLAUSAL), None)
    if mark is None or any("," in gaps[at] or words[at] in _SPEAKERS for at in range(mark + 1, number + 1)):
        return False
    return not any(is_finite(words[mark:number], at) for at in range(1, number - mark))


def _is_parallel(words: Sequence[str], begin: int, number: int, last: int) -> bool:
    """Whether a phrase is one more of a kind: "in Ayr on Tuesday from 2 to 4" after "in Wick on Monday from 1 to 3"."""
    before, behind = words[max(begin, number - 2 * _MAX_BACK) : number], words[number : min(last, number + _MAX_BACK)]
    if words[number] not in PREPOSITIONS or words[number] not in before:
        return False
    return all(any(map(_is_term, part)) for part in (before, behind))


def _is_aside(words: Sequence[str], number: int, last: int) -> bool:
    """Whether a clause behind a comma is a rule of what it follows: "the hall, which seats 40", not ", who left"."""
    is_clause = words[number] in {"which", "who"} and number + 2 < last and is_finite(words[number:last], 1)
    return is_clause and not _tells(words, number + 1)


def _is_fronted(part: Sequence[str]) -> bool:
    """Whether what stands before a comma belongs to what follows: "In the shop we take cash, …" does not."""
    if part[0] in SUBORDINATORS or part[0] in CONDITIONS:
        return True
    if part[0] not in PREPOSITIONS:
        return False
    verb = next((at for at in range(2, len(part)) if part[at] in AUXILIARIES or part[at - 1] in _SPEAKERS), len(part))
    return any(word in SUBORDINATORS or word in RELATIVES for word in part[1:verb]) or verb == len(part)


def _segment(
    words: Sequence[str],
    gaps: Sequence[str],
    tokens: Sequence[Token],
    denying: frozenset[int],
    begin: int,
    end: int,
    before: Segment | None,
    is_first: bool,
) -> Segment:
    """Read one segment; ``before`` is the one before it."""
    conditions = tuple(_conditions(words, gaps, begin, end))  # of rules; what happened, happened
    within = {number for condition in conditions for number in range(*condition)}
    restricted = {number for number in within if words[number] != "without"}  # "without" denies wherever it stands
    main = next((number for number in range(begin, end) if number not in within), begin)
    # A verb of "when accompanied by an adult" is not that of "Children aged under 5 travel free".
    clauses = (first for first, _ in conditions if first > main and words[first] in CONDITIONS)
    verb = _verb(words, main, next(clauses, end), before if not is_first else None)
    start = main if verb is None else _after_phrase(words, main, verb)
    own = [number for number in range(start, end if verb is None else verb) if tokens[number].kind != "light"]
    negations = tuple(number for number in range(begin, end) if number in denying and number not in restricted)
    exceptions = tuple(span for span in conditions if words[span[0]] in _EXCEPTIONS)
    carried: tuple[int, ...] = ()
    if verb is not None:
        subject = tuple(own)
        elided = verb == main and not is_first
        anaphors = _ANAPHORS if not is_first else _ANAPHORS - {"who", "which"}  # there, they ask, or mean anyone
        if words[begin] in {"which", "who"} and not is_first and not own and gaps[begin].startswith(","):
            subject = carried = _phrase_at_end(words, tokens, begin)
        elif before is not None and not is_first and words[end - 1] in AUXILIARIES and verb == end - 1:
            subject = tuple(own)  # "Blades are sharpened, axes never are": the predicate goes on
            carried = tuple(
                at for at in range(before.first, before.last) if tokens[at].kind != "light" and at not in before.subject
            )
        elif before is not None and not own and (elided or any(word in anaphors for word in words[main:verb])):
            subject = carried = before.subject
    elif before is None or is_first:
        turns = (at for at in range(main, end) if words[at] in PREPOSITIONS or tokens[at].kind == "figure")
        turn = next(turns, end)
        subject = tuple(number for number in own if number < turn)[:MAX_SUBJECT]
    else:
        subject, carried = _completed(words, tokens, begin, end, before)
        if words[begin - 1] != "but" and begin not in negations:  # "no food, and no perfume" denies each by itself
            # "Without a card it costs €2 and a deposit": what stands before the verb goes with that clause alone.
            lasting = (at for at in before.negations if words[at] != "without" or at > (before.verb or 0))
            negations = (*lasting, *negations)
        if any(span[1] == before.last for span in before.exceptions) and words[begin - 1] != "but":
            exceptions = ((begin, end),)  # one more of what is taken out: "except books and vouchers"
        elif words[end - 1] in {"excepted", "excluded"} and end - begin > 1:  # "no dogs, guide dogs excepted"
            exceptions = ((begin, end - 1),)
    tells = verb is not None and _tells(words, verb)
    meant = before.verb if verb is None and before is not None and not is_first else verb
    return Segment(begin, end, subject, carried, negations, () if tells else conditions, exceptions, not tells, meant)


def _after_phrase(words: Sequence[str], begin: int, verb: int) -> int:
    """Where the subject begins behind a phrase: at "the" of "In heavy rain the pool is closed"."""
    if words[begin] not in PREPOSITIONS:
        return begin
    places = range(begin + 2, verb)
    return next((at for at in places if words[at] in DETERMINERS and words[at - 1] not in PREPOSITIONS), begin)


def _phrase_at_end(words: Sequence[str], tokens: Sequence[Token], end: int) -> tuple[int, ...]:
    """The words right before a token that mean something, back to the first that does not."""
    first = end
    while first > 0 and end - first < _MAX_PHRASE and tokens[first - 1].kind != "light":
        first -= 1
    return tuple(range(first, end))


def _tells(words: Sequence[str], verb: int) -> bool:
    """Whether a verb tells what happened; conditions are those of rules."""
    if words[verb] in _TELLING or (is_past(words[verb]) and not is_base(words, verb)):
        return True
    return words[verb] in {"has", "have"} and verb + 1 < len(words) and is_past(words[verb + 1])


def _is_day(word: str) -> bool:
    """Whether a word is a day of the week, or several."""
    return word.removesuffix("s") in WEEKDAYS or word.removesuffix("s") in {"weekday", "weekend"}


def _is_term(word: str) -> bool:
    """Whether a range can begin or end with a word: a number, a day, a month."""
    return _is_number(word) or word.removesuffix("s") in WEEKDAYS or word in MONTHS


def _is_number(word: str) -> bool:
    return word[0].isdigit() or word in NUMBER_WORDS


def _verb(words: Sequence[str], begin: int, end: int, before: Segment | None) -> int | None:
    """The finite verb of a segment, None if it has none; ``before`` is the segment that its sentence goes on from."""
    part = words[begin : min(end, begin + MAX_SUBJECT + 2)]
    if before is None:
        if begins_order(part) or (part and part[0] in AUXILIARIES):
            return begin
    elif is_predicate(part) or begins_order(part):
        return begin
    loose = None
    for position in range(1, min(len(part), MAX_SUBJECT)):
        if is_finite(part, position):
            # "Orders placed before noon leave …": a participle before the verb is the subject's.
            later = range(position + 1, len(part))
            if is_past(part[position]) and any(part[at] in AUXILIARIES or is_base(part, at) for at in later):
                continue
            return begin + position
        if loose is None and is_base(part, position):
            loose = begin + position
    return loose


def _completed(
    words: Sequence[str], tokens: Sequence[Token], begin: int, end: int, before: Segment
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Subject and carried tokens of a segment without a verb, by what is parallel in the one before it."""
    inner = range(before.first, before.last)
    own = [number for number in range(begin, end) if tokens[number].kind != "light"]
    figures = any(tokens[number].kind == "figure" for number in own)
    turn = next((at for at in range(begin, end) if words[at] in PREPOSITIONS or tokens[at].kind == "figure"), None)
    start = begin + (end - begin > 1 and words[begin] in {"not", "only", "also"})
    replaced: set[int] = set()
    # "in French on Thursdays" beside "in English on Saturdays": each phrase leaves its parallel behind.
    parallels = {at: _last(words, inner, words[at]) for at in range(start, end) if words[at] in PREPOSITIONS}
    for mark in parallels.values():
        if mark is not None:
            last = next(
                (at + 1 for at in reversed(before.subject) if at > mark), before.last
            )  # a subject's goes up to the verb
            stop = next((at for at in range(mark + 1, last) if words[at] in PREPOSITIONS), last)
            replaced.update(range(mark, stop))
    if any(map(_is_day, words[begin:end])):  # "on weekdays …, at weekends …"
        replaced.update(number for number in inner if _is_day(words[number]))
    subject = before.subject
    if turn is not None and start < turn and own[:1] != [turn]:  # a subject of its own: "e-mail within 48 hours"
        subject = tuple(number for number in own if number < turn)
        replaced.update(before.subject)
    elif turn is None or (turn == start and parallels.get(start) is None):  # one more of a list: "and Sweden"
        last = before.last
        stop = max(before.first, 0 if before.verb is None else before.verb + 1)
        while last > stop and tokens[last - 1].kind != "light":
            last -= 1
        replaced.update(range(last, before.last))
        if _is_gapped(words, begin, before) and len(own) > 1:  # "The café takes cards, the machine coins"
            subject = tuple(own[:-1])
            replaced.update(before.subject)
    if figures:
        for number in inner:
            if tokens[number].kind == "figure":
                replaced.update((number, number + 1))
    kept = (number for number in (*before.carried, *inner) if number not in replaced)
    carried = dict.fromkeys(number for number in kept if tokens[number].kind != "light")
    return subject, tuple(carried)[-MAX_CARRIED:]


def _is_gapped(words: Sequence[str], begin: int, before: Segment) -> bool:
    """Whether a segment begins as the one before it, which has a verb: another subject, of which the same is said."""
    return before.verb is not None and words[begin] in DETERMINERS and words[begin] == words[before.first]


def _last(words: Sequence[str], places: Sequence[int], word: str) -> int | None:
    """The last of some places that has a word."""
    return next((place for place in reversed(places) if words[place] == word), None)


def _conditions(words: Sequence[str], gaps: Sequence[str], begin: int, end: int) -> Iterator[tuple[int, int]]:
    """What a segment is true under: from a word that restricts to the next comma, or the next such word."""
    permits = any(word in PERMISSIONS for word in words[begin:end])
    number = begin
    while number < end:
        word = words[number]
        if word in {"who", "that"} and begin < number <= begin + 4 and _is_relative(words, begin, number):
            # "Subscribers who pay yearly receive …"; what they do may have conditions of its own.
            yield number, _next_verb(words, number + 2, end)
        elif number > begin + 2 and _closes_condition(words, gaps, number, end):
            # "on orders of 20 or more", "in summer only"
            yield _phrase_before(words, begin, number), number + 1
        elif _opens_condition(words, begin, number, end, permits):
            stop = _condition_end(words, gaps, number, begin, end)
            if not _is_event(words, number, stop):
                yield number, stop
            number = stop - 1
        number += 1


def _is_event(words: Sequence[str], number: int, stop: int) -> bool:
    """Whether a clause tells when something happened: "when the machine toppled", not "when led by an adult"."""
    if words[number] not in _TEMPORAL:
        return False
    places = range(number + 2, stop)
    past = (at for at in places if words[at] in _TELLING or words[at].endswith("ed") or is_past(words[at]))
    return any(words[at - 1] not in _BEFORE_PARTICIPLES for at in past)


def _is_relative(words: Sequence[str], begin: int, number: int) -> bool:
    """Whether "who" or "that" belongs to a subject: "Subscribers who pay", not "save that no light is shown"."""
    return words[number - 1] not in _NO_NOUNS and _verb(words, begin, number, None) is None


def _closes_condition(words: Sequence[str], gaps: Sequence[str], number: int, end: int) -> bool:
    if words[number] in _LIMITS_AFTER:
        return words[number - 1] == "or"
    return words[number] == "only" and (number + 1 == end or "," in gaps[number + 1])


def _phrase_before(words: Sequence[str], begin: int, number: int) -> int:
    """Where the phrase begins that a word closes: at the preposition before it."""
    places = range(number - 1, max(begin, number - _MAX_BACK), -1)
    marks = [at for at in places if words[at] in PREPOSITIONS]
    # "on orders of 20 or more", and without another: "groups of ten or more"
    return next((at for at in marks if words[at] != "of"), marks[0] if marks else number)


def _opens_condition(words: Sequence[str], begin: int, number: int, end: int, permits: bool) -> bool:
    word, before = words[number], words[number - 1]
    if word == "only" and before in DETERMINERS:  # "the only ones that …"
        return False
    if word in CONDITIONS or tuple(words[number : number + 2]) in _CONDITION_BEGINNINGS:
        return True
    if number > begin and word == "outside":
        return True
    if permits and word in _CIRCUMSTANCES and words[min(number + 1, end - 1)] not in _ANY:  # "for any reason" is none
        return number > begin or word not in _PLACES  # "In the shop, dogs are welcome" begins with a place
    if word in {"on", "from"} and words[min(number + 1, end - 1)].removesuffix("s") in WEEKDAYS:
        return word == "from" or words[number + 1].endswith("s")  # "on Fridays" is a rule, "on Friday" an event
    if word == "on" and words[number + 1 : number + 2] == ["the"]:  # "on the first Sunday of the month"
        return any(each in WEEKDAYS for each in words[number + 2 : min(number + 5, end)])
    if word in {"from", "between"} and any(map(_is_term, words[number + 1 : min(number + 3, end)])):
        return True  # "from December to March", "from 3 to 15"
    is_limit = (word in LIMITS and before not in {"no", "not"}) or word == "before"
    is_limit = is_limit or tuple(words[number : number + 2]) in _BOUNDS
    return is_limit and any(map(_is_number, words[number + 1 : number + 4]))


def _condition_end(words: Sequence[str], gaps: Sequence[str], number: int, begin: int, end: int) -> int:
    """Where a condition that begins at a word ends: at the next comma or restriction, a verb or another phrase."""
    is_condition = words[number] in CONDITIONS | {"once", "while"}
    is_condition = is_condition or tuple(words[number : number + 2]) in _CONDITION_BEGINNINGS
    last = end
    if words[number] == "only" and number == begin:  # "Only the Campus plan includes …": up to the verb
        last = next((at for at in range(number + 1, end) if is_finite(words, at)), end)
    elif words[number] == "only" and words[min(number + 1, end - 1)] not in CONDITIONS:
        # "Growers who sell only their own produce do not …": a clause goes on behind it.
        last = next((at for at in range(number + 2, end) if words[at] in AUXILIARIES), end)
    elif words[number : number + 2] == ["on", "the"]:  # "on the first Sunday of the month"
        day = next((at for at in range(number + 2, end) if words[at] in WEEKDAYS), number)
        last = day + 4 if words[day + 1 : day + 2] == ["of"] else day + 1
    stop = number + 1
    while stop < min(end, last) and "," not in gaps[stop]:
        if words[stop] in CONDITIONS and words[stop - 1] not in CONDITIONS:
            break
        if not is_condition and (words[stop] in AUXILIARIES or words[stop] == "no"):
            break
        if not is_condition and stop > number + 1 and words[stop] in _TURNS:
            break
        stop += 1
    return stop


def _next_verb(words: Sequence[str], first: int, end: int) -> int:
    reach = range(first, min(first - 2 + MAX_SUBJECT, end))
    verbs = (at for at in reach if words[at] in AUXILIARIES or is_finite(words, at) or is_base(words, at))
    return next(verbs, end)
