"""Which sentences of an answer state a fact: no question, opinion, courtesy or refusal, no talk of the answer itself.

A hedge ("I think", "probably") makes a sentence an opinion, unless it has a figure in it: who thinks that a refund
takes 90 days has said 90 days.
"""

from __future__ import annotations

import re
from typing import Final

from agentguard.content._text import STOPWORDS, words

__all__ = ["stated"]


def _any(*alternatives: str) -> str:
    return f"(?:{'|'.join(alternatives)})"


_SOURCE: Final = (
    r"(?:the|our|your|my) (?:[\w-]+ ){0,3}"
    + _any("documents?", "documentation", "docs", "policy", "information", "context", "passages?", "sources?", "text")
    + r"(?: provided| above)?"
)
_OPENERS: Final = _any(
    "yes|no|sure|certainly|of course|absolutely|definitely|okay|ok|right|great|thanks|thank you|hi|hello",
    "however|moreover|furthermore|additionally|also|in addition|besides|first|second|third|finally|lastly|next",
    "similarly|likewise|therefore|thus|hence|consequently|as a result|in fact|indeed|specifically|in particular",
    "for example|for instance|in other words|in short|in summary|to summari[sz]e|overall|generally speaking",
    "importantly|notably|as mentioned(?: above)?|unfortunately|fortunately|on the other hand|meanwhile",
    "good news|answer|short answer|note|important|tip|warning",
    f"(?:according to|based on|per|as stated in) {_SOURCE}",
)
_OPENER = re.compile(rf"(?:{_OPENERS}\s*[,:!—–-]\s+|(?:and|but|so|also|plus|then)\s+)(?=\S)", re.IGNORECASE)
_WRAPPER = re.compile(
    _any(
        r"(?:please |do )?(?:also )?(?:note|remember|be aware|(?:keep|bear) in mind|be advised)(?: that)?,?\s+",
        r"it(?: is|'s|\u2019s)(?: also)? (?:important|worth|good|useful)(?: to)? "
        r"(?:note|noting|remember|mention|mentioning|know)(?: that)?\s+",
        r"i can (?:confirm|tell you|say|assure you)(?: that)?\s+",
        r"i(?:'d| would) like to (?:confirm|point out)(?: that)?\s+",
        r"as (?:far as )?i (?:know|understand|mentioned),?\s+",
    ),
    re.IGNORECASE,
)
_HEDGE = re.compile(
    _any(
        r"i (?:think|believe|guess|suppose|assume|feel|would say|imagine|suspect)(?: that)?\s+",
        r"in my (?:opinion|view|experience),?\s+",
        r"it (?:seems|appears|looks like)(?: that| as if)?\s+",
        r"(?:perhaps|maybe|possibly|probably|presumably),?\s+",
        r"i(?:'m| am)(?: not)? (?:(?:fairly|pretty|quite|entirely|completely) )?(?:sure|certain|confident)"
        r"(?: that| if| whether)?\s+",
    ),
    re.IGNORECASE,
)
_INNER_HEDGE = re.compile(
    r"\b(?:perhaps|maybe|probably|possibly|presumably|might|in my (?:opinion|view)|i (?:think|believe|guess)|"
    r"(?:seems?|appears?) to|not sure|it depends)\b",
    re.IGNORECASE,
)
_MANNERS = re.compile(
    _any(
        r"(?:i|we)(?:'d| would|'m| am|'re| are|'ll| will) (?:be )?(?:always )?(?:more than )?"
        r"(?:happy|glad|pleased|delighted|here|love|sorry|afraid|try|do my best|check|look)",
        r"(?:happy|glad) to\b",
        r"(?:i |we )?hope (?:this|that|it|you)\b",
        r"let (?:me|us) (?:know|explain|help|break|walk|clarify|check)",
        r"feel free\b",
        r"(?:please )?(?:don't|do not) hesitate",
        r"(?:please )?(?:contact|reach out|get in touch|check with|consult|refer to|let)\b",
        r"if you (?:have|need|would like|'d like|want) (?:any |more |further |additional |to know)",
        r"(?:is|are) there any|would you like|do you (?:have|want|need)",
        r"(?:great|good|excellent|interesting) question",
        r"thank(?:s| you)\b|you(?:'re| are) welcome",
        r"(?:hi|hello|hey|dear|greetings|sure|certainly|welcome)\b[^.]{0,40}[!.,]?$",
        r"here(?:'s| is| are| you go)\b|(?:below|above|the following) (?:is|are|you)\b",
        r"as an? (?:ai|language model|assistant)\b",
        r"(?:i|we) apologi[sz]e|(?:i(?:'m| am) )?sorry\b|my apologies",
        r"good (?:morning|afternoon|evening|luck)|(?:best|kind) (?:regards|wishes)|sincerely",
        r"(?:i|we) (?:recommend|suggest|advise|encourage|appreciate|understand|would)\b",
    ),
    re.IGNORECASE,
)
_REFUSAL = re.compile(
    _any(
        r"(?:unfortunately,? |sorry,? (?:but )?|i(?:'m| am) sorry,? (?:but )?)?"
        r"(?:i|we)(?:'m| am| are|'re)? ?(?:currently )?"
        + _any(
            r"(?:ca|could)(?:n't| not)|can't|can(?: )?not",
            r"do(?:n't| not) (?:have|know|see|find)|did(?:n't| not) find",
            r"(?:was|were)(?:n't| not) able|not able|unable|won't|will not|must decline",
        ),
        r"(?:the |this )?(?:provided |available |given )?(?:document|documentation|information|context|passage|text)s? "
        r"(?:provided |given |above )?(?:do(?:es)?|did)(?:n't| not) "
        r"(?:mention|say|specify|state|contain|include|provide|cover)",
        r"there is no (?:information|mention)\b|no information\b|it is (?:not clear|unclear|not specified|unspecified)",
    ),
    re.IGNORECASE,
)
_MINE = re.compile(r"(?:i|i'm|i'd|i'll|i've|me|my|let's)\b", re.IGNORECASE)
_TASTE = re.compile(
    r"\b(?:is|are|was|were|it's|that's) (?:(?:really|so|very|quite|truly|absolutely|simply) )*"
    r"(?:great|awesome|wonderful|amazing|fantastic|beautiful|terrible|awful|nice|fun|boring|lovely|brilliant|delightful|"
    r"a pleasure)[.!]*$",
    re.IGNORECASE,
)


def stated(sentence: str) -> int:
    """Where the statement of a sentence begins, past what only introduces it; -1 where it states no fact.

    >>> stated("Note that refunds take 5 days."), stated("I'd be happy to help!"), stated("Is it free?")
    (10, -1, -1)
    """
    at = 0
    for _ in range(4):
        match = _OPENER.match(sentence, at) or _WRAPPER.match(sentence, at)
        if match is None:
            break
        at = match.end()
    hedge = _HEDGE.match(sentence, at)
    rest = sentence[at:].replace("\u2019", "'")
    has_figure = any(character.isdigit() for character in rest)
    if hedge is not None or _INNER_HEDGE.search(rest[:1000]):
        if not has_figure:
            return -1
        at = hedge.end() if hedge is not None else at
        rest = sentence[at:].replace("\u2019", "'")
    if rest.rstrip("\"'”)* ").endswith("?") or _REFUSAL.match(rest) or _MANNERS.match(rest):
        return -1
    if (_MINE.match(rest) or _TASTE.search(rest[-80:])) and not has_figure:
        return -1
    content = [word for word in words(rest[:400]) if word.casefold() not in STOPWORDS]
    return at if len(content) >= 2 or (content and has_figure) else -1
