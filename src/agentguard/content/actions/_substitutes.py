"""Substitutes: what a call was given where it should have what a claim says.

"Ticket T-871 is escalated", says an agent that was asked for it, and the call has ``T-817``, which nobody has said: no
call is for T-871, and none of what speaks for the claim beside that counts. A substitute is of the same sort as what it
stands for, and neither the question nor the answer has it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import pairwise, takewhile
from typing import Final, NamedTuple

from agentguard.content.actions._compared import (
    MOST_READ,
    Amount,
    Compared,
    bare,
    contrasts,
    exact_in,
    is_in_other_units,
    kind_of,
    numbers_in,
)
from agentguard.content.actions._conversation import LEAST_NUMBER, Conversation, agree, moments_in, plain, single
from agentguard.content.actions._english import base
from agentguard.content.actions._ledger import Deed, leaves
from agentguard.content.actions._rivals import Beside
from agentguard.content.actions._tools import bases_of
from agentguard.content.grounding._values import Moment, written

# How long what may be mistaken for another thing is, and how much of it they share: judgements.
SHORTEST: Final = 2  # characters
SHORTEST_NAME: Final = 4
LONG: Final = 4  # digits of a number of which two may be changed about
ALIKE: Final = 3  # letters at the beginning of names that may be taken for each other
SHORTEST_COMPOUND: Final = 6
SHARED: Final = 4  # letters at the end of compounds
LONGEST_VALUE: Final = 60  # characters of an argument that holds a name, and no text
WEEKDAYS: Final = tuple("monday tuesday wednesday thursday friday saturday sunday".split())
#: A number, with the word before it, "users": 50, and the one behind it, 30 mg.
_NUMBER = re.compile(r"(?:(?<![^\W\d_])([^\W\d_]{1,30})[^\w\n.]{1,3})?(?<![\w.])(\d[\d.,]*\d|\d)(?: ?([^\W\d_]+))?")
_ENDINGS: Final = tuple("ing tion sion ment ness able ible ance ence ship ally ated ized ised tive ions ents".split())
_WORD = re.compile(r"[\w-]+")
_SETTING = re.compile(r"(?<![\w-])([a-z_][\w-]*) ?= ?([\w.+-]*\w)")
_LETTERS = re.compile(r"[^\W\d_]+")
_DOMAIN = re.compile(r"(?<=\w)@[\w.-]+")


class Substitute(NamedTuple):
    """A thing that a call was given in the place of the one that a claim says.

    Attributes:
        deed: the call.
        said: what the claim says.
        given: what stands there.
    """

    deed: Deed
    said: str
    given: str


def substitutes(claim: Compared, calls: Sequence[Beside], talk: Conversation) -> Iterator[Substitute]:
    """Find what calls were given in the place of what a claim says and none of them has.

    Those that surely are such an act come first, by themselves: that another one has it does not help the claim.

    Args:
        claim: what was said.
        calls: those that may have been it.
        talk: what was asked and answered.
    """
    yield from _answered_otherwise(claim, calls, talk)
    surely = [call for call in calls if call.level == 3]
    for some in (surely, calls) if len(surely) < len(calls) else (calls,):
        if some:
            yield from _other_tokens(claim, some, talk)
            yield from _other_settings(claim, some, talk)
            yield from _other_names(claim, some, talk)
            yield from _other_numbers(claim, some, talk)
            yield from _other_moments(claim, some, talk)
            yield from _other_sides(claim, some, talk)
            yield from _other_compounds(claim, some, talk)


def _answered_otherwise(claim: Compared, calls: Sequence[Beside], talk: Conversation) -> Iterator[Substitute]:
    """Arguments that a claim says, and that a result gives back with another word: "Room Elm", and "Room Oak"."""
    text = " ".join(token.low for token in claim.stated.objects)
    for call in calls:
        arguments = [(name, value) for name, value in leaves(call.deed.call.args) if isinstance(value, str)]
        returned = dict(leaves(call.deed.call.result)) if arguments else {}
        for name, value in arguments:
            said, given = value.casefold(), str(returned.get(name, "")).casefold()
            alike = said != given and not set(said.split()).isdisjoint(given.split())
            if alike and len(said) <= LONGEST_VALUE and said in text and not talk.has(given):
                yield Substitute(call.deed, said, given)


def _other_compounds(claim: Compared, calls: Sequence[Beside], talk: Conversation) -> Iterator[Substitute]:
    """Words of the question that end in the same word as what a call was given: "bathroom", ``zone=bedroom``."""
    for said in sorted(claim.words & talk.asked_words):
        compound = len(said) >= SHORTEST_COMPOUND and said.isalpha() and not said.endswith(_ENDINGS)
        if not compound or any(said in call.text.text for call in calls):
            continue
        for call in calls:
            for _, value in leaves(call.deed.call.args):
                given = str(value).casefold() if isinstance(value, str) else ""
                alike = len(given) >= SHORTEST_COMPOUND and given.isalpha() and given[-SHARED:] == said[-SHARED:]
                if alike and call.level == 3 and not talk.has(given):
                    yield Substitute(call.deed, said, given)


def _other_tokens(claim: Compared, calls: Sequence[Beside], talk: Conversation) -> Iterator[Substitute]:
    """Identifiers, addresses and files, for which calls have others of their kind."""
    paths = (token.low for token in claim.stated.objects if "/" in token.low and token.low in talk.question)
    for said in dict.fromkeys((*claim.exact, *paths)):
        if any(call.text.has(said) for call in calls):
            continue
        asked = talk.asked(said)
        for call in calls:
            for given in _tokens_of(call.deed, said):
                may_be = asked or call.level == 3 or is_slip(bare(said), bare(given))
                if may_be and _are_of_a_kind(said, given) and not talk.has(given):
                    yield Substitute(call.deed, said, given)


def _are_of_a_kind(one: str, other: str) -> bool:
    """Tell whether one identifier may stand where another should; of files, those with one ending or in one folder."""
    kind = kind_of(one)
    if kind != "file" or kind_of(other) != "file":
        return kind == kind_of(other)
    (*folders, name), (*others, another) = one.strip("/").split("/"), other.strip("/").split("/")
    ending = name.rpartition(".")[2] if "." in name else ""
    return another.endswith(f".{ending}") if ending else "." not in another and bool(set(folders) & set(others))


def _tokens_of(deed: Deed, said: str) -> Iterator[str]:
    """Yield the identifiers, addresses and files in the arguments of a call, and numbers as long as the one meant."""
    digits = bare(said) if bare(said).isdigit() else ""
    for _, value in leaves(deed.call.args):
        text = str(value)
        if digits and text.isdigit() and len(text) == len(digits) and is_slip(text, digits):
            yield said.replace(digits, text)
        elif isinstance(value, str):
            if value not in deed.texts.exact:
                deed.texts.exact[value] = tuple(exact_in(value))
            yield from deed.texts.exact[value]


def _dated(deed: Deed) -> tuple[Sequence[Moment], ...]:
    """The dates and times of a call."""
    if deed.texts.dated is None:
        deed.texts.dated = moments_in(deed.texts.all.text[:MOST_READ])
    return deed.texts.dated


def _given(deed: Deed) -> tuple[Sequence[Moment], ...]:
    """The dates and times that a call was given."""
    if deed.texts.given is None:
        deed.texts.given = moments_in(deed.args[:MOST_READ])
    return deed.texts.given


def is_slip(one: str, other: str) -> bool:
    """Tell whether something is another with one letter or digit changed, left out or added, or two changed about.

    >>> is_slip("t-871", "t-817"), is_slip("30", "300"), is_slip("88", "86"), is_slip("r-40", "r-51")
    (True, True, True, False)
    """
    if min(len(one), len(other)) < SHORTEST or one == other:
        return False
    if len(one) == len(other):
        differ = [at for at in range(len(one)) if one[at] != other[at]]
        first, last = differ[0], differ[-1]
        swapped = len(differ) == 2 and one[first] == other[last] and one[last] == other[first]
        return swapped or (len(differ) == 1 and one[0] == other[0])
    short, long = sorted((one, other), key=len)
    return len(long) == len(short) + 1 and any(long[:at] + long[at + 1 :] == short for at in range(len(long)))


def _other_settings(claim: Compared, calls: Sequence[Beside], talk: Conversation) -> Iterator[Substitute]:
    """Settings that a claim writes out, and that calls have with another value: "lr=3e-5"."""
    for name, said in _SETTING.findall(" ".join(token.low.strip("`") for token in claim.stated.objects)):
        given = [
            Substitute(call.deed, f"{name}={said}", str(value).casefold())
            for call in calls
            for key, value in leaves(call.deed.call.args)
            if key.casefold() == name
        ]
        written = any(f"{name}={said}" in call.text.text for call in calls)
        if not written and not any(is_same(said, each.given) for each in given):
            yield from (each for each in given if not talk.has(each.given))


def is_same(one: str, other: str) -> bool:
    """Tell whether two values are the same, as texts or as numbers.

    >>> is_same("3e-5", "0.00003"), is_same("1", "0")
    (True, False)
    """
    with suppress(ValueError):
        return float(one) == float(other)
    return one == other


def _other_names(claim: Compared, calls: Sequence[Beside], talk: Conversation) -> Iterator[Substitute]:
    """Names, for which calls have others that may be taken for them."""
    asked = {token.low.removesuffix("'s") for token in claim.stated.objects} & talk.names
    texts = [plain(call.text.text) for call in calls] if asked or claim.names else []
    firsts = {later.low: plain(first.low) for first, later in pairwise(claim.stated.objects) if first.text[0].isupper()}
    for name in sorted(asked.union(claim.names)):
        if any(plain(name) in text for text in texts):
            continue
        for call in calls if name in asked else [call for call in calls if call.level == 3]:
            for words in _name_words(call.deed):
                others = [word for word in words if are_alike(plain(name), word)]
                if len(words) == 2 and words[0] == firsts.get(name):  # "Tim Okafor", and tim.oakley@corp.example
                    others += [word for word in words[1:] if len(word) >= SHORTEST_NAME]
                yield from (
                    Substitute(call.deed, name.capitalize(), other) for other in others if other not in talk.words
                )


def are_alike(name: str, other: str) -> bool:
    """Tell whether two names are not the same, nor one the other's short form, and may be taken for each other.

    >>> are_alike("dario", "daria"), are_alike("tanakas", "tanaka"), are_alike("ada", "ady")
    (True, False, False)
    """
    if min(len(name), len(other)) < SHORTEST_NAME or name[:ALIKE] != other[:ALIKE]:
        return False
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(name, other, strict=False)))
    return max(len(name), len(other)) <= 2 * shared and shared < min(len(name), len(other))


def _name_words(deed: Deed) -> Iterator[list[str]]:
    """The words of each short argument of a call, without accents; of an address not its domain."""
    for _, value in leaves(deed.call.args):
        if isinstance(value, str) and len(value) <= LONGEST_VALUE:
            yield _LETTERS.findall(_DOMAIN.sub(" ", plain(value)))


def _other_numbers(claim: Compared, calls: Sequence[Beside], talk: Conversation) -> Iterator[Substitute]:
    """Numbers of the question, for which calls have others that may be taken for them, or others of the same unit."""
    have = frozenset[float]().union(*(call.text.numbers for call in calls)) if claim.amounts else frozenset()
    units = _units(claim)
    for amount in claim.amounts:
        asked = numbers_in(amount.text) & talk.asked_numbers
        if amount.values & have or is_in_other_units(amount, have):
            continue
        if not asked:
            yield from _swapped(amount, calls, talk)
            continue
        written = {f"{value:g}" for value in amount.values if value >= LEAST_NUMBER}
        for call in calls:
            for name, number, unit in _NUMBER.findall(call.deed.args):
                given = numbers_in(number)
                alike = any(is_slip(f"{each:g}", value) for each in given for value in written)
                if (alike or units.get(amount.text, set()) & bases_of((name, unit))) and not given & talk.numbers:
                    yield Substitute(call.deed, amount.text, number)


def _swapped(amount: Amount, calls: Sequence[Beside], talk: Conversation) -> Iterator[Substitute]:
    """Long numbers that calls which surely are such an act have with two digits changed about: 1,204, and 1240."""
    digits = re.sub(r"\D", "", amount.text)
    for call in calls if len(digits) >= LONG else ():
        for _, number, _ in _NUMBER.findall(call.deed.args) if call.level == 3 else ():
            given = re.sub(r"\D", "", number)
            if sorted(given) == sorted(digits) and is_slip(given, digits) and not numbers_in(number) & talk.numbers:
                yield Substitute(call.deed, amount.text, number)


def _units(claim: Compared) -> dict[str, set[str]]:
    """The words behind the numbers of a claim: "30 mg daily"."""
    units: dict[str, set[str]] = {}
    for token, following in pairwise(claim.stated.objects):
        if following.kind == "word" and following.low.isalpha():
            units.setdefault(token.text, set()).add(base(following.low))
    return units


def _other_moments(claim: Compared, calls: Sequence[Beside], talk: Conversation) -> Iterator[Substitute]:
    """Dates and times, and days of the week, for which calls have others."""
    own = moments_in(" ".join(token.text for token in claim.stated.objects))
    if not own and not claim.words & set(WEEKDAYS):
        return
    texts = [_dated(call.deed) for call in calls]
    given = [(call, moment) for call in calls for moment in single(_given(call.deed))]
    unsaid = [said for said in own if not any(agree(said, list(single(text))) for text in texts)]
    for said in unsaid:
        asked = any(agree(said, other) or agree(other, said) for other in talk.asked_moments)
        for call, moment in given:
            told = (said[0].day is None or moment.day is not None) and (said[0].hour is None or moment.hour is not None)
            if told and (asked or call.level == 3) and not talk.has_moment(moment):
                yield Substitute(call.deed, "that date", written(moment))
    yield from _other_weekdays(claim, given, bool(own) and not unsaid)


def _other_weekdays(
    claim: Compared, given: Sequence[tuple[Beside, Moment]], dated: bool
) -> Iterator[Substitute]:  # fmt: skip
    """A day of the week that the date of a call is not."""
    said = [day for day in WEEKDAYS if day in claim.words]
    dates = {moment.date for call, moment in given if call.level == 3} - {None}
    if len(said) == 1 and len(dates) == 1 and not dated:
        call, moment = next(each for each in given if each[0].level == 3 and each[1].date)
        day = moment.date
        if day is not None and WEEKDAYS[day.weekday()] != said[0]:
            yield Substitute(call.deed, said[0].capitalize(), day.isoformat())


def _other_sides(claim: Compared, calls: Sequence[Beside], talk: Conversation) -> Iterator[Substitute]:
    """Words of which a thing can be one alone, and for which calls have another: "prod", ``env=staging``."""
    sides = [(side, line) for line in contrasts() for side in line if side & claim.words]
    have = frozenset[str]().union(*(call.text.words for call in calls)) if sides else frozenset()
    for side, line in sides:
        if side & have:
            continue
        said = side & claim.words
        others = frozenset[str]().union(*(other for other in line if other != side and not other & talk.all_words))
        for call in calls:
            if said & talk.asked_words or call.level == 3:
                yield from (Substitute(call.deed, min(said), each) for each in sorted(others & call.text.words))
