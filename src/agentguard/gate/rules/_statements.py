"""Hold each statement of a claim against the passage's: who did what, whether it is denied, under which conditions.

A claim may have all of its words from a passage and still say what that does not: of another, the opposite, or without
the condition. Each segment of the claim is therefore laid beside the one segment of the passage that says most of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Final, NamedTuple

from agentguard.content.grounding._values import WEEKDAYS
from agentguard.gate.rules._alignment import Alignment, weight_of
from agentguard.gate.rules._figures import rivals
from agentguard.gate.rules._grammar import DETERMINERS, PREPOSITIONS, WORDS
from agentguard.gate.rules._modality import conflict, modes
from agentguard.gate.rules._moments import MONTHS
from agentguard.gate.rules._reading import Reading
from agentguard.gate.rules._segments import CONDITIONS, Segment
from agentguard.gate.rules._words import generic_roots, is_plural, opposites_of, root, siblings_of

REACH: Final = 6  # words around a negation, one more of which the other side must say beside the one that is denied
CLOSE: Final = 3  # words before a negation or behind what it denies, that the denial is about
ATOMIC: Final = 2  # statements of a claim that is one fact
PHRASE: Final = 4  # words of a part that may stand for another
MOST: Final = 0.5  # of a statement's words: what says less of it does not speak of the same
REST: Final = 0.75  # of a statement but for a part: what says less of it does not have another part in its place
PARALLEL: Final = 4  # segments, within which two statements are about things of one kind
SAME_WORD: Final = 0.9  # quality of a link from which on two words are the same, or kin
_NEGATIVE: Final = frozenset(map(root, WORDS["negative"]))
_BE: Final = frozenset("is are was were be been being isn't aren't wasn't weren't".split())
_DENYING: Final = frozenset(
    map(root, "prohibited forbidden banned unable failed fail lack refuse refused deny denied".split())
)
_ORDINALS: Final = frozenset(map(root, "first second third fourth fifth last final next".split()))
_SOLE: Final = frozenset("only sole solely just exclusively except alone".split())
# Words of what holds both ways round.
_MUTUAL: Final = frozenset("and with between both each other together equals resembles meets met marries".split())
_DETERMINERS: Final = frozenset(map(root, DETERMINERS))
_TURNED: Final = {root(one): root(other) for one, other in (("before", "after"), ("after", "before"), ("from", "to"))}
_DAYS: Final = {root(name): number for name, number in WEEKDAYS.items()}

Span = tuple[int, int]  # of tokens, the last not included


class Swap(NamedTuple):
    """What a claim has in the place of something else: spans of tokens of the claim and of the passage."""

    claimed: Span
    said: Span


class Statement(NamedTuple):
    """A segment of a claim beside the passage.

    Attributes:
        segment: It.
        home: The segment of the passage that says most of it; None if none says anything.
        share: The share of its words that the home says, in [0, 1]; words that say little count little.
        swap: What the passage says in the place of a part of it that it says elsewhere.
        another: Another subject, kind or figure that the home states it of, or the other way round ("Ann follows
            Bob"): a doubt.
        dropped: Conditions of the home that the claim leaves out.
        denial: ``claim`` or ``passage``, for the side that denies what the other affirms; else nothing.
        is_open: Whether a word of negative sense may make up for the denial.
        modality: The word by which the claim makes a duty of a permission, or the like, and the home's.
        opposites: Words of the claim whose opposite stands in the home, and those opposites.
    """

    segment: Segment
    home: Segment | None
    share: float
    swap: Swap | None = None
    another: Swap | None = None
    dropped: tuple[Span, ...] = ()
    denial: str = ""
    is_open: bool = False
    opposites: tuple[tuple[int, int], ...] = ()
    modality: tuple[int, int] | None = None


def statements(alignment: Alignment) -> tuple[Statement, ...]:
    """Each segment of the claim that says something, beside the passage's."""
    parts = [_Holding(alignment, segment).statement() for segment in alignment.claim.segments]
    if len(parts) > ATOMIC:  # what tells in brief leaves conditions out, and calls things by other names
        parts = [part._replace(dropped=(), another=None, modality=None) for part in parts]
    return tuple(parts)


def whole(held: Sequence[Statement], alignment: Alignment) -> float:
    """The share of the claim's words that its segments have in common with their homes, in [0, 1]."""
    weights = [sum(1 for word in alignment.words if _holds(each.segment, word)) for each in held]
    total = sum(weights)
    return sum(weight * each.share for weight, each in zip(weights, held, strict=True)) / total if total else 0.0


def _holds(segment: Segment, token: int) -> bool:
    return segment.first <= token < segment.last


class _Holding:
    """One segment of the claim, and what the passage's segments say of it."""

    def __init__(self, alignment: Alignment, segment: Segment) -> None:
        self._alignment, self._segment = alignment, segment
        self._claim, self._passage = alignment.claim, alignment.passage
        own = {*range(segment.first, segment.last), *segment.carried}
        self._numbers = [number for number, word in enumerate(alignment.words) if word in own]
        self._weights = {number: weight_of(self._claim.tokens[alignment.words[number]]) for number in self._numbers}
        # What each segment of the passage says of this one: the claim's words by number, with how well it says them.
        self._said: dict[int, dict[int, float]] = {}
        self._covered: set[int] = set()  # tokens of the passage that say, or nearly say, a word of this segment
        for number in self._numbers:
            for position, quality in alignment.candidates[number]:
                if quality >= SAME_WORD:
                    self._covered.add(position)
                for holder in self._passage.holders.get(position, ()):
                    words = self._said.setdefault(holder, {})
                    words[number] = max(words.get(number, 0.0), quality)

    def statement(self) -> Statement:
        total = sum(self._weights.values())
        if not self._said or not total:
            return Statement(self._segment, None, 0.0)
        scores = {
            holder: sum(self._weights[number] * quality for number, quality in words.items())
            for holder, words in self._said.items()
        }
        best = max(scores.values())
        ties = [holder for holder, score in sorted(scores.items()) if score >= best - 1e-9]
        chosen = min(ties[:8], key=lambda holder: sum(1 for _ in self._unsaid(self._passage.segments[holder])))
        home, share = self._passage.segments[chosen], best / total
        if share < MOST:
            return Statement(self._segment, home, share)
        opposites = tuple(self._opposites(home, self._said[chosen]))
        # A part whose own words the home does not say is no statement of the home's: "… or not".
        own = any(_holds(self._segment, self._alignment.words[number]) for number in self._said[chosen])
        denial, is_open = self._denial(home, self._said[chosen], opposites) if own else ("", False)
        dropped = tuple(self._dropped(home)) if own else ()
        swap = self._swap() or self._other_day(home)
        another = self._another(home, self._said[chosen]) if swap is None else None
        modality = conflict(_modes(self._claim, self._segment), _modes(self._passage, home))
        return Statement(self._segment, home, share, swap, another, dropped, denial, is_open, opposites, modality)

    def _unsaid(self, segment: Segment) -> Iterator[int]:
        """The tokens of a segment that mean something and that nothing of the claim says."""
        for token in range(segment.first, segment.last):
            if self._passage.tokens[token].kind != "light" and token not in self._alignment.covered:
                yield token

    # --- Of whom ---

    def _swap(self) -> Swap | None:
        """Find a phrase in whose place the passage has another one, beside the rest of the statement."""
        sayable = [number for number in self._numbers if self._alignment.candidates[number]]
        for holder, words in self._said.items():
            missing = [number for number in sayable if number not in words]
            # "We" are whoever the document is of.
            is_ours = self._passage.words[self._passage.segments[holder].first] in {"we", "our"}
            if not missing or (
                is_ours and all(self._alignment.words[each] in self._segment.subject for each in missing)
            ):
                return None
        total = sum(self._weights.values())
        for holder, words in sorted(self._said.items()):
            missing = [number for number in sayable if number not in words]
            if not self._is_phrase(missing) or not self._is_said_of_another(missing, holder):
                continue
            rest = total - sum(self._weights[number] for number in missing)
            if sum(self._weights[number] * quality for number, quality in words.items()) < REST * rest:
                continue
            first, last = self._alignment.words[missing[0]], self._alignment.words[missing[-1]] + 1
            rival = self._rival((first, last), self._passage.segments[holder])
            if rival is not None:
                return Swap((first, last), rival)
        return None

    def _other_day(self, home: Segment) -> Swap | None:
        """Find a day of the week for which the home has another: "on Saturdays" beside "on Sundays"."""
        ours = _days(self._claim, self._segment)
        theirs = _days(self._passage, home)
        if not ours or not theirs or not ours.keys().isdisjoint(_between(theirs, self._passage)):
            return None
        (one, *_), (other, *_) = ours.values(), theirs.values()
        return Swap((one, one + 1), (other, other + 1))

    def _is_said_of_another(self, missing: Sequence[int], holder: int) -> bool:
        """Whether the passage says the missing words in a parallel statement nearby."""
        words = self._said[holder]
        for other in range(max(0, holder - PARALLEL), holder + PARALLEL + 1):
            theirs = self._said.get(other, {})
            if all(theirs.get(number, 0.0) >= SAME_WORD for number in missing):
                shared = sum(theirs.get(number, 0.0) >= SAME_WORD for number in words)
                if 3 * shared >= len(words):
                    return True
        return False

    def _is_phrase(self, missing: Sequence[int]) -> bool:
        if len({_holds(self._segment, self._alignment.words[number]) for number in missing}) > 1:
            return False  # partly carried from before: of two places
        return 0 < len(missing) <= PHRASE and missing[-1] - missing[0] == len(missing) - 1

    def _rival(self, phrase: Span, segment: Segment) -> Span | None:
        """Find the words of the passage's segment that stand in the place of a phrase of the claim."""
        claim, passage = self._claim, self._passage
        kinds = {claim.tokens[token].kind for token in range(*phrase)} - {"light"}
        is_figure = "figure" in kinds
        is_subject = all(
            token in self._segment.subject for token in range(*phrase) if claim.tokens[token].kind != "light"
        )
        unsaid = set(self._unsaid(segment))
        if is_subject and not is_figure:
            others = [token for token in segment.subject if token not in self._alignment.covered]
            others = [token for token in others if passage.tokens[token].root not in generic_roots()]
            if any(self._are_alike(phrase, token) for token in others):
                return others[0], others[0] + 1
        before, after = _context(claim, phrase, self._segment)
        for run in _runs(sorted(unsaid)):
            if is_figure != any(passage.tokens[token].kind == "figure" for token in range(*run)):
                continue
            left, right = _context(passage, run, segment)
            if not is_figure and not any(self._are_alike(phrase, token) for token in range(*run)):
                continue
            if (before and before == left) or (after and after == right):
                return run
        return None

    def _are_alike(self, phrase: Span, token: int) -> bool:
        """Whether a phrase names something, and a word of the passage does, or neither."""
        claim, passage = self._claim, self._passage
        ours = any(claim.tokens[each].kind == "name" or _is_capital(claim, each) for each in range(*phrase))
        return ours == (passage.tokens[token].kind == "name" or _is_capital(passage, token))

    def _another(self, home: Segment, said: Mapping[int, float]) -> Swap | None:
        """Find the subject, kind or figure that the home has in the place of the claim's."""
        return self._other_subject(home, said) or self._sibling(home, said) or self._other_figure(home)

    def _other_subject(self, home: Segment, said: Mapping[int, float]) -> Swap | None:
        """Find the subject that the home has in the place of the claim's."""
        ours = [number for number in self._numbers if self._alignment.words[number] in self._segment.subject]
        theirs = [token for token in home.subject if self._passage.tokens[token].root not in generic_roots()]
        if not 0 < len(ours) < PHRASE or not 0 < len(theirs) < PHRASE:
            return None
        roots = (
            {self._claim.tokens[self._alignment.words[number]].root for number in ours},
            {self._passage.tokens[token].root for token in theirs},
        )
        if roots[0] == roots[1]:
            return None
        if any(number in said for number in ours):
            is_other = self._is_inverted(home, ours, theirs) or self._is_of_another_kind(home, ours, theirs)
        else:
            is_other = self._are_subject_elsewhere(ours, theirs)
        if not is_other:
            return None
        words = self._alignment.words
        return Swap((words[ours[0]], words[ours[-1]] + 1), (theirs[0], theirs[-1] + 1))

    def _places(self, numbers: Iterable[int]) -> Iterator[int]:
        """Where the passage says words of the claim."""
        for number in numbers:
            yield from (place for place, quality in self._alignment.candidates[number] if quality >= SAME_WORD)

    def _are_subject_elsewhere(self, ours: Sequence[int], theirs: Sequence[int]) -> bool:
        """Whether the claim's subject is that of another segment, and the claim says nothing of the home's."""
        tokens = self._passage.tokens
        kinds = [{tokens[place].kind for place in side} for side in (self._places(ours), theirs)]
        if ("name" in kinds[0]) != (
            "name" in kinds[1]
        ):  # one may be what the other is called: "the automaker", "Lordstown"
            return False
        if not self._alignment.covered.isdisjoint(theirs):
            return False
        places = [set(self._places([number])) for number in ours]
        subjects = (set(segment.subject) for segment in self._passage.segments)
        return all(places) and any(all(place & subject for place in places) for subject in subjects)

    def _is_of_another_kind(self, home: Segment, ours: Sequence[int], theirs: Sequence[int]) -> bool:
        """Whether subjects have a word in common, and each another name beside it: "Flex tickets", "Saver tickets"."""
        words = self._alignment.words
        inside = [{place for place in self._places([number]) if _holds(home, place)} for number in ours]
        own = [words[number] for number, places in zip(ours, inside, strict=True) if not places]
        others = [token for token in theirs if token not in self._covered]
        if not own or not others or not any(map(set(theirs).intersection, inside)):
            return False
        sides = ((self._claim, own), (self._passage, others))
        return all(any(reading.tokens[each].kind == "name" for each in side) for reading, side in sides)

    def _is_inverted(self, home: Segment, ours: Sequence[int], theirs: Sequence[int]) -> bool:
        """Whether each side's subject is said by the other outside of its subject, both in the same voice."""
        own = set(home.subject)
        for number in ours:
            places = {place for place in self._places([number]) if _holds(home, place)}
            if not places or not own.isdisjoint(places):
                return False
        outside = set(self._places(number for number in self._numbers if number not in ours))
        sides = ((self._claim, self._segment), (self._passage, home))
        voices = [_voice(reading, segment) for reading, segment in sides]
        return outside.issuperset(theirs) and voices[0] == voices[1] == "active"

    def _sibling(self, home: Segment, said: Mapping[int, float]) -> Swap | None:
        """Find a word for which the home has another kind of the same thing: "at the end", "in the middle"."""
        for number in self._numbers:
            word = self._alignment.words[number]
            if said.get(number, 0.0) >= SAME_WORD:
                continue
            for other in siblings_of(self._claim.tokens[word].root):
                for position in self._passage.positions.get(other, ()):
                    if _holds(home, position) and position not in self._covered:
                        return Swap((word, word + 1), (position, position + 1))
        for one, other in (("before", "after"), ("after", "before")):
            ours = [_places_of(self._claim, each, self._segment) for each in (one, other)]
            theirs = [_places_of(self._passage, each, home) for each in (one, other)]
            if ours[0] and theirs[1] and not ours[1] and not theirs[0]:
                return Swap((ours[0][0], ours[0][0] + 1), (theirs[1][0], theirs[1][0] + 1))
        return None

    def _other_figure(self, home: Segment) -> Swap | None:
        """Find a figure that the passage says elsewhere, for which the home has another of the same sort."""
        claim, passage = self._claim, self._passage
        at_home = {*range(home.first, home.last), *home.carried}
        for figure in self._alignment.figures:
            word = claim.token_from(figure.start)
            if not _holds(self._segment, word) or not figure.positions or not at_home.isdisjoint(figure.tokens):
                continue
            for first, last in rivals(claim, figure, passage):
                token = passage.token_from(first)
                if _holds(home, token) and token not in self._alignment.covered:
                    return Swap((word, claim.token_at(figure.end - 1) + 1), (token, passage.token_at(last - 1) + 1))
        return None

    # --- Denied or not ---

    def _opposites(self, home: Segment, said: dict[int, float]) -> Iterator[tuple[int, int]]:
        for number in self._numbers:
            word = self._alignment.words[number]
            if said.get(number, 0.0) >= SAME_WORD:
                continue
            for other in sorted(opposites_of(self._claim.tokens[word].root)):
                for position in self._passage.positions.get(other, ()):
                    is_free = position not in self._alignment.covered and self._passage.words[position - 1] != "non"
                    if _holds(home, position) and is_free:
                        yield word, position
                        break
        yield from self._turned_round(home)

    def _turned_round(self, home: Segment) -> Iterator[tuple[int, int]]:
        """Find what points the other way before the same word: "after first contact", "before first contact"."""
        for word in range(self._segment.first, self._segment.last):
            other = _TURNED.get(self._claim.tokens[word].root)
            head = "" if other is None else _behind(self._claim, word, self._segment)
            if not head or head in _heads(self._passage, self._claim.tokens[word].root, home):
                continue
            if other == "to" and not _heads(self._claim, "to", self._segment) & _heads(self._passage, "from", home):
                continue  # "from A" beside "to A" is none, "from A to B" beside "from B to A" is
            for position in self._passage.positions.get(other or "", ()):
                if _holds(home, position) and head == _behind(self._passage, position, home):
                    yield word, position
                    break

    def _denial(
        self, home: Segment, by_home: Mapping[int, float], opposites: Sequence[tuple[int, int]]
    ) -> tuple[str, bool]:
        """The side that denies what the other affirms, by the parity of negations and opposites."""
        said = self._sayable()
        opposed = {token for pair in opposites for token in pair}
        # A negation of a word that the other side does not have may have its like in that side's own words.
        # "Prohibited" beside "permitted" is one denial: it is counted as an opposite, and not as a negation too.
        elsewhere = set(self._not_in(by_home))
        ours, open_ours = _negations(self._claim, self._segment, said, {word for word, _ in opposites} | elsewhere)
        theirs, open_theirs = _negations(self._passage, home, self._covered, {word for _, word in opposites})
        excepted = self._is_excepted(home)
        theirs += excepted
        if self._deny_alike(home) or self._both_do_without(home):
            return "", False
        if (ours + theirs + len(opposites)) % 2 == 0:
            # What is denied in other words may be what the claim affirms in others.
            differs = any(by_home.get(number, 0.0) < SAME_WORD for number in self._numbers)
            if (open_ours + open_theirs) % 2 and len(self._claim.segments) <= ATOMIC:
                opposed_ours, opposed_theirs = ({pair[side] for pair in opposites} for side in (0, 1))
                if _is_ruled_out(self._claim, self._segment, said, opposed_ours):
                    return "claim", True
                if differs and _is_ruled_out(self._passage, home, self._covered, opposed_theirs):
                    return "passage", True
            if any(self._is_beside(home, negation) for negation in elsewhere):
                return "claim", True
            return "", False
        if excepted:  # "the fair is your only chance" is what "except at the fair" says
            return "passage", any(self._claim.words[token] in _SOLE for token in range(*self._segment[:2]))
        begin = min((self._segment.first, *self._segment.carried))
        own = (number for number in range(begin, self._segment.last) if number not in said)
        free = (number for number in range(home.first, home.last) if number not in self._alignment.covered)
        others = (
            *(self._claim.tokens[number] for number in own if number not in opposed),
            *(self._passage.tokens[number] for number in free if number not in opposed),
        )
        is_open = bool(open_ours or open_theirs) or any(token.root in _NEGATIVE for token in others)
        # One word in common does not make two statements speak of the same.
        alike = sum(quality >= SAME_WORD for quality in by_home.values()) + len(opposites)
        is_open = is_open or alike < min(2, len(self._numbers))
        if ours > theirs:  # what is denied of others than the home speaks of is not denied of those
            subject = [number for number in self._numbers if self._alignment.words[number] in self._segment.subject]
            return "claim", is_open or any(number not in by_home for number in subject)
        return ("passage" if theirs > ours else "opposite"), is_open

    def _not_in(self, by_home: Mapping[int, float]) -> Iterator[int]:
        """Yield each "instead", "rather" and "without" of the claim before what the home does not speak of."""
        at_home = {self._alignment.words[number] for number in by_home}
        own = (at for at in self._segment.negations if _holds(self._segment, at))  # not those of a list before it
        marks = (at for at in own if self._claim.words[at] in {"instead", "rather", "without"})
        for negation in marks:
            if at_home.isdisjoint(_denied(self._claim, negation, self._segment.last)):
                yield negation

    def _is_beside(self, home: Segment, negation: int) -> bool:
        """Whether the home's sentence says elsewhere what the claim denies: "without booking", "and must be booked"."""
        denied = set(_denied(self._claim, negation, self._segment.last))
        numbers = (number for number in self._numbers if self._alignment.words[number] in denied)
        tokens = self._passage.tokens
        return any(tokens[place].sentence == tokens[home.first].sentence for place in self._places(numbers))

    def _deny_alike(self, home: Segment) -> bool:
        """Whether each side denies by one word, and by the same: "prohibited in rooms", "prohibited"."""
        sides = ((self._claim, self._segment), (self._passage, home))
        ours, theirs = ([reading.tokens[each].root for each in segment.negations] for reading, segment in sides)
        return len(ours) == 1 and ours == theirs and ours[0] in _DENYING

    def _both_do_without(self, home: Segment) -> bool:
        """Whether one side denies a word by "without", and the other in a condition: "as long as no flash is used"."""
        sides = ((self._claim, self._segment), (self._passage, home))
        for number, (reading, segment) in enumerate(sides):
            other, its = sides[1 - number]
            inside = [each for each in other.negated if any(first <= each < last for first, last in its.conditions)]
            inside = [each for each in inside if each not in its.negations]
            words = [each for each in segment.negations if reading.words[each] == "without"]
            if len(words) == len(segment.negations) == 1 and inside:
                said = self._covered if number else self._sayable()
                if not said.isdisjoint(_denied(reading, words[0], segment.last)):
                    return True
        return False

    def _sayable(self) -> Set[int]:
        """The claim's tokens that the passage has a word for."""
        return {self._alignment.words[number] for number in self._numbers if self._alignment.candidates[number]}

    def _is_excepted(self, home: Segment) -> bool:
        """Whether the passage takes out what the claim includes: "15% off everything except books"."""
        if self._segment.exceptions:
            return False
        tokens = self._passage.tokens
        marks = {first for first, _ in home.conditions}  # "except" itself
        for span in home.exceptions:
            telling = [token for token in range(*span) if tokens[token].kind != "light" and token not in marks]
            if telling and self._covered.issuperset(telling):
                return True
        return False

    # --- Under which conditions ---

    def _dropped(self, home: Segment) -> Iterator[Span]:
        """Yield the conditions of the passage's segment that the claim leaves out.

        A condition is left out where the claim says no word of it, other than words that the rest of the segment has.
        """
        covered, tokens = self._alignment.covered, self._passage.tokens
        for condition in home.conditions:
            outside = (token for token in range(home.first, home.last) if not condition[0] <= token < condition[1])
            repeated = {tokens[token].root for token in outside if token in covered}
            # "may only be taken with consent": what it is taken with
            turns = (token for token in range(*condition) if self._passage.words[token] in PREPOSITIONS)
            first = next(turns, condition[0]) if self._passage.words[condition[0]] == "only" else condition[0]
            telling = [token for token in range(first, condition[1]) if tokens[token].kind != "light"]
            telling = [token for token in telling if tokens[token].root not in repeated]
            figures = [token for token in telling if tokens[token].kind == "figure" or tokens[token].root in _ORDINALS]
            # "under Devices" tells where, not when; "on Fridays" tells when.
            is_name = condition[1] - condition[0] < PHRASE and all(
                tokens[token].kind == "name" and not _is_time(self._passage.words[token]) for token in telling
            )
            if is_name and self._passage.words[condition[0]] not in CONDITIONS:
                continue
            if telling and not covered.intersection(figures or telling):
                yield condition
        # What holds for unused items is not said of items, nor what holds for guests staying with a child of guests.
        if home.conditional and self._is_of_a_kind(home) and any(token in covered for token in home.subject):
            kind = [token for token in home.subject if tokens[token].kind == "content" and token not in covered]
            if any(tokens[token].root not in generic_roots() for token in kind):
                yield kind[0], kind[-1] + 1

    def _is_of_a_kind(self, home: Segment) -> bool:
        """Whether the subject is a bare plural, all things of a kind: "Unused items", not "The unused items"."""
        subject = home.subject
        if not subject or subject[0] != home.first:
            return False
        # "Hotel guests staying with a child" are guests; a long subject may well be none.
        heads = subject if len(subject) <= PHRASE else subject[-1:]
        return any(is_plural(self._passage.words[token]) for token in heads)


def _modes(reading: Reading, segment: Segment) -> dict[str, int]:
    """What a segment makes of an action, its conditions aside, with the word that says so."""
    inside = {token for condition in segment.conditions for token in range(*condition)}
    found = modes(reading.words, segment.first, segment.last, frozenset(reading.negated))
    return {mode: token for mode, token in found.items() if token not in inside}


def _is_time(word: str) -> bool:
    return word in MONTHS or word.removesuffix("s") in WEEKDAYS


def _places_of(reading: Reading, word: str, segment: Segment) -> list[int]:
    """The places of a word in a segment."""
    return [place for place in reading.positions.get(root(word), ()) if _holds(segment, place)]


def _negations(reading: Reading, segment: Segment, said: Set[int], opposed: Set[int]) -> tuple[int, int]:
    """Count the negations of words that the other side says too, or says the opposite of, and those of other words."""
    said = said | opposed
    negations = [negation for negation in segment.negations if negation not in opposed]
    certain = 0
    for negation in negations:
        denied = _denied(reading, negation, segment.last)
        head = next((token for token in denied if token in said), None)  # "charges" of "no late charges"
        nearby = (*range(negation - REACH, negation + REACH + 1), *segment.carried)
        beside = any(token in said for token in nearby if token != head)
        carried = negation < segment.first  # "not to Mali or Chad"
        certain += carried or not denied or (head is not None and beside)
    return certain, len(negations) - certain


def _is_ruled_out(reading: Reading, segment: Segment, said: Set[int], opposed: Set[int]) -> bool:
    """Whether a rule denies something in other words than the other side's, beside words of that side's."""
    if not segment.conditional:
        return False
    for negation in segment.negations:
        denied = _denied(reading, negation, segment.last)
        if negation not in opposed and denied and said.isdisjoint(denied):
            nearby = (
                *range(max(segment.first, negation - CLOSE), min(segment.last, denied[0] + CLOSE)),
                *segment.carried,
            )
            if any(token in said for token in nearby):
                return True
    return False


def _behind(reading: Reading, token: int, segment: Segment) -> str:
    """The root of the first word behind a preposition that says something; "" where there is none."""
    behind = (reading.tokens[at] for at in range(token + 1, min(token + 4, segment.last)))
    return next((each.root for each in behind if each.kind != "light"), "")


def _heads(reading: Reading, preposition: str, segment: Segment) -> Set[str]:
    """The roots of the first words behind each place of a preposition in a segment."""
    places = (place for place in reading.positions.get(preposition, ()) if _holds(segment, place))
    return {_behind(reading, place, segment) for place in places}


def _days(reading: Reading, segment: Segment) -> dict[int, int]:
    """The days of the week that a segment names, by number, with the token of each."""
    tokens = ((reading.tokens[at].root, at) for at in range(segment.first, segment.last))
    return {_DAYS[name]: at for name, at in tokens if name in _DAYS}


def _between(days: Mapping[int, int], reading: Reading) -> Set[int]:
    """The days, and those between two that are a range: "from Monday to Thursday"."""
    first, last = min(days, key=days.__getitem__), max(days, key=days.__getitem__)
    words = [reading.tokens[at].root for at in range(days[first], days[last])]
    if not {"to", "until", "through", "till"}.intersection(words):
        return days.keys()
    return {(first + step) % 7 for step in range((last - first) % 7 + 1)} | days.keys()


def _denied(reading: Reading, negation: int, last: int) -> Sequence[int]:
    """The words that a negation is before; none where a comma or the end comes first: "handles never are, as …"."""
    tokens = reading.tokens
    denied: list[int] = []
    most = CLOSE if tokens[negation].root == "no" else 1  # "no late charges" denies charges
    for token in range(negation + 1, last):
        ends = "," in reading.text[tokens[token - 1].end : tokens[token].start]
        if ends or (denied and (tokens[token].kind == "light" or len(denied) == most)):
            break
        if tokens[token].kind != "light":
            denied.append(token)
    return denied


def _voice(reading: Reading, segment: Segment) -> str:
    """``active`` where something other than a form of "be" links a subject to what stands behind it."""
    words = [reading.text[token.start : token.end].casefold() for token in reading.tokens[segment.first : segment.last]]
    if any(word in _MUTUAL for word in words):
        return "mutual"
    return "linked" if any(word in _BE for word in words) and "than" not in words else "active"


def _is_capital(reading: Reading, token: int) -> bool:
    """Whether a word is a name elsewhere in the text; its capital at the beginning of a sentence tells nothing."""
    own = reading.tokens[token]
    return any(reading.tokens[other].kind == "name" for other in reading.positions.get(own.root, ()))


def _runs(tokens: Sequence[int]) -> Iterator[Span]:
    """Spans of neighbouring tokens."""
    first = 0
    for number in range(1, len(tokens) + 1):
        if number == len(tokens) or tokens[number] != tokens[number - 1] + 1:
            yield tokens[first], tokens[number - 1] + 1
            first = number


def _context(reading: Reading, span: Span, segment: Segment) -> tuple[str, str]:
    """The words beside a span within its segment: the one before it, articles aside, and the one after it."""
    left = span[0] - 1
    while left >= segment.first and reading.tokens[left].root in _DETERMINERS:
        left -= 1
    before = reading.tokens[left].root if left >= segment.first else ""
    after = reading.tokens[span[1]] if span[1] < segment.last else None
    return before, "" if after is None or after.kind == "light" else after.root
