"""Signs that an English answer is made up: a risk indicator, and no check of facts.

Four signals with published weights: names that the prompt does not have, overconfident words, JSON keys that the
prompt does not mention, and contradictions. They correlate with hallucination, weakly; they prove nothing. A false
but plausible statement, a small inaccuracy, or a lie in modest words raises none of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import orjson

from agentguard.content._findings import Finding
from agentguard.content._text import STOPWORDS, encodable, json_part, plural_stripped, sentence_spans, trimmed, words

# --- Contradictions: of one subject, that it is required and that it is optional ---

CLAUSE_END = re.compile(
    r"[.!?;:,\n](?=\s|$)|\n|\b(?:and|but|or|yet|while|whereas|although|though|however)\b", re.IGNORECASE
)
REQUIRED = re.compile(r"\b(?:is|are) (?:always |strictly )?(?:required|mandatory)\b", re.IGNORECASE)
OPTIONAL = re.compile(r"\b(?:is|are) (?:entirely |purely )?(?:optional|not required)\b", re.IGNORECASE)
MUST = re.compile(r"\bmust\b(?! not\b)", re.IGNORECASE)
NEED_NOT = re.compile(r"\b(?:do|does)(?: not|n['\u2019]t) (?:need|have) to\b|\bneed not\b", re.IGNORECASE)
# Each pair: both sides in words, the patterns of both, and whether the verb that follows must agree too.
PAIRS = (("required", "optional", REQUIRED, OPTIONAL, False), ("must", "does not need to", MUST, NEED_NOT, True))


PERSONS = frozenset({"i", "we", "you"})


def contradictions(text: str, *, same_subject: bool = True) -> tuple[Finding, ...]:
    """Find where a text asserts one thing of a subject and, elsewhere, its opposite.

    "Is required" and "is optional" contradict each other where the subject is the same; "must" and "does not need to"
    where the verb is the same too. The subject is what stands before in the clause; a pronoun, or nothing, stands for
    the clause before. Where ``same_subject`` is False both phrases anywhere in the text are enough.

    >>> [found.detail for found in contradictions("The port is required. For tests, the port is optional.")]
    ['of the same subject: required, and elsewhere optional']
    >>> different = "The port is required. The host is optional."
    >>> len(contradictions(different)), len(contradictions(different, same_subject=False))
    (0, 1)
    """
    # By pair and side, then by subject: the verbs that were claimed.
    claims: dict[tuple[str, bool], dict[tuple[str, ...], set[str]]] = {}
    last: tuple[str, ...] = ()
    findings: list[Finding] = []
    for start, end in _clauses(text):
        clause = text[start:end]
        subject = _subject(clause) or last
        for name, opposite, positive, negative, verb_counts in PAIRS:
            for pattern, affirms in ((positive, True), (negative, False)):
                match = pattern.search(clause)
                if match is None:
                    continue
                subject = _subject(clause[: match.start()]) or last if same_subject else ()
                verb = _verb(clause[match.end() :]) if verb_counts and same_subject else ""
                if _agree(verb, claims.get((name, not affirms), {}).get(subject, set())):
                    detail = f"of the same subject: {name}, and elsewhere {opposite}"
                    findings.append(Finding("contradiction", detail, *trimmed(text, start, end)))
                claims.setdefault((name, affirms), {}).setdefault(subject, set()).add(verb)
        last = subject
    return tuple(findings)


def _clauses(text: str) -> list[tuple[int, int]]:
    ends = [match.span() for match in CLAUSE_END.finditer(text)]
    starts = [0, *(end for _, end in ends)]
    spans = zip(starts, [*(start for start, _ in ends), len(text)], strict=True)
    return [(start, end) for start, end in spans if text[start:end].strip()]


def _subject(before: str) -> tuple[str, ...]:
    """Read a subject: its words without function words, or whom it speaks of; empty for "it" and the like."""
    every = words(before)
    content = [word for word in every if word.casefold() not in STOPWORDS]
    return tuple(map(plural_stripped, content or [word for word in every if word.casefold() in PERSONS]))


def _verb(after: str) -> str:
    return next((plural_stripped(word) for word in words(after) if word.casefold() not in STOPWORDS), "")


def _agree(verb: str, claimed: set[str]) -> bool:
    """Tell whether a verb was claimed; one that is left out agrees with any."""
    return bool(claimed) and (not verb or verb in claimed or "" in claimed)


# --- The risk ---

WEIGHTS = {"speculative_facts": 0.4, "fabricated_keys": 0.3, "overconfident_language": 0.2, "contradiction": 0.1}
CONTRADICTION = 0.7
OVERCONFIDENT = tuple(
    (name, re.compile(pattern, re.IGNORECASE))
    for name, pattern in (
        ("definitely", r"\bdefinitely\b"),
        ("certainly", r"\bcertainly\b"),
        ("guaranteed", r"\bguaranteed\b"),
        ("proven", r"\bproven\b"),
        ("no doubt", r"\bno\s{1,8}doubt\b"),
        ("absolutely", r"\babsolutely\b"),
        ("100%", r"(?<![\w.,])100\s?%"),
    )
)
# A run of capitalised words, as names have it; an initial or a "Dr." may stand within, a possessive ends it.
CAPITALISED = r"[A-ZÀ-ÖØ-Þ][\w&]*(?:(?:-|['\u2019](?!s\b))\w+)*"
TITLE = r"(?:(?:[A-Z]|Dr|Mr|Mrs|Ms|Prof|St)\. )*"
NAME = re.compile(rf"\b{TITLE}{CAPITALISED}(?: {TITLE}{CAPITALISED})*")
OPENING = re.compile(r"""\s{0,32}(?:[-*•#>]{1,8}|\d{1,9}[.)])?[ \t]{0,32}[*_"'“\u2018(\[]{0,4}""")
NAMES_VERB = re.compile(
    r"(?:['\u2019]s|\s(?:is|was|has|had|will|became|said|says|won|wrote|founded|announced|released)\b)"
)
COMMON_ENDING = re.compile(r"(?:ing|ly|ed|ions?|ments?|ness|ity|ism|s)$")
STRING = re.compile(r'"((?:[^"\\]|\\.)*)"(\s*:)?', re.DOTALL)
KEY_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\WA-Z_]+")


class HallucinationRisk(NamedTuple):
    """The signs that an answer is made up.

    Attributes:
        score: the weighted sum of the signals, 0 to 1.
        label: ``"low"``, ``"medium"`` or ``"high"``.
        signals: each signal's own score by name, 0 to 1.
        findings: every name, word, key and contradiction that was counted.
    """

    score: float
    label: str
    signals: dict[str, float]
    findings: tuple[Finding, ...]


def risk(
    output: str,
    prompt: str,
    *,
    low: float = 0.3,
    medium: float = 0.6,
    enough: int = 5,
    same_subject: bool = True,
) -> HallucinationRisk:
    """Score the risk that an English answer is made up.

    Args:
        output: the answer.
        prompt: everything that the answer may draw on: the question, and the documents that came with it.
        low: highest score that counts as low.
        medium: highest score that counts as medium.
        enough: so many new names, or so many unmentioned keys, give their signal's full score.
        same_subject: a contradiction is of one subject; False: its two phrases may stand anywhere in the answer.

    >>> answer = "It is certainly in Paris, near Gare du Nord."
    >>> found = risk(answer, "Where is the Hotel Paris?")
    >>> found.score, found.label, [answer[each.start : each.end] for each in found.findings]
    (0.26, 'low', ['Gare', 'Nord', 'certainly'])
    """
    output, prompt = encodable(output), encodable(prompt)
    names = new_entities(output, prompt)
    keys = _unmentioned_keys(output, prompt)
    confident = tuple(_overconfident(output))
    conflicts = contradictions(output, same_subject=same_subject)
    signals = {
        "speculative_facts": min(1.0, len(names) / enough),
        "fabricated_keys": min(1.0, len(keys) / enough),
        "overconfident_language": (0.0, 0.5, 0.8)[min(2, len(confident))],
        "contradiction": CONTRADICTION if conflicts else 0.0,
    }
    # Rounded, so that a sum that is .3 on paper is .3 at the threshold.
    score = round(sum(WEIGHTS[name] * value for name, value in signals.items()), 9)
    label = "low" if score <= low else "medium" if score <= medium else "high"
    return HallucinationRisk(score, label, signals, (*names, *keys, *confident, *conflicts))


def new_entities(output: str, prompt: str) -> tuple[Finding, ...]:
    """Find the names in a text, each once, of which the prompt lacks at least one word, whatever its case.

    A name is a run of capitalised words. One word that begins a sentence or a line owes its capital to that, and
    counts only where more speaks for a name: capitals or digits within it, or a verb of the third person after it, as
    in "Oslo is", and nowhere the same word in small letters.

    >>> text = "Oslo is far. Bring boots, and ask OpenAI or Kari Nordmann of Bergen."
    >>> [text[found.start : found.end] for found in new_entities(text, "how far is bergen")]
    ['Oslo', 'OpenAI', 'Kari Nordmann']
    """
    known = _spoken(prompt)
    small = {word for word in words(output) if word.islower()}
    openings = _openings(output)
    findings: dict[str, Finding] = {}
    for match in NAME.finditer(output):
        start, opens = match.start(), match.start() in openings
        for word in re.finditer(r"[^ ]+", match.group()):
            start = match.start() + word.start()
            if word.group().casefold() not in STOPWORDS:
                break
            opens = False
        else:
            continue
        name = output[start : match.end()]
        parts = words(name)
        if len(name) < 2 or _spoken(name) <= known or all(part.casefold() in known for part in parts):
            continue
        if opens and len(parts) == 1 and not _is_a_name(name, output[match.end() : match.end() + 24], small):
            continue
        finding = Finding("new name", "a name that the prompt does not have", start, match.end())
        findings.setdefault(name.casefold(), finding)
    return tuple(findings.values())


def _spoken(text: str) -> set[str]:
    """The words of a text without case, hyphenated ones and possessives also in their parts."""
    return {piece for word in words(text.casefold()) for piece in (word, *re.split(r"[-'\u2019_]", word))}


def _is_a_name(opener: str, after: str, small: set[str]) -> bool:
    """Tell whether a capitalised word is a name though grammar alone would capitalise it here."""
    if any(letter.isupper() or letter.isdigit() for letter in opener[1:]):
        return True
    return bool(NAMES_VERB.match(after)) and opener.lower() not in small and not COMMON_ENDING.search(opener)


def _openings(text: str) -> set[int]:
    """The beginnings of sentences and lines, past their marks: there, a capital is grammar."""
    starts = [start for start, _ in sentence_spans(text)]
    starts += [match.end() for match in re.finditer("\n", text)]
    return {match.end() for start in starts if (match := OPENING.match(text, start))}


def _overconfident(text: str) -> Iterator[Finding]:
    for name, pattern in OVERCONFIDENT:
        if match := pattern.search(text):
            yield Finding("overconfident language", f"overconfident: {name!r}", *match.span())


def _unmentioned_keys(output: str, prompt: str) -> tuple[Finding, ...]:
    """Find the keys of a JSON answer that the prompt does not name, neither as one word nor in its parts."""
    part = json_part(output)
    if part is None:
        return ()
    known = _spoken(prompt)
    findings: dict[str, Finding] = {}
    for match in STRING.finditer(output, part.start, part.end):
        if match.group(2) is None:
            continue
        key = orjson.loads(f'"{match.group(1)}"')
        parts = [piece.casefold() for piece in KEY_PARTS.findall(key)]
        named = all(piece in known for piece in parts) if parts else key in prompt
        if key.casefold() not in known and not named:
            findings.setdefault(key, Finding("unmentioned key", "the prompt does not mention this key", *match.span(1)))
    return tuple(findings.values())
