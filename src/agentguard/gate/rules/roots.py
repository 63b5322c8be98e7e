"""Words as a claim and a passage are compared by: without endings, and by the family that a word belongs to.

The root folds plural, tense and adverb (``delivers``, ``delivered``, ``delivering``); the family also folds what makes
a noun of a verb or an adjective of a noun (``delivery``). English, by rule, with a list of irregular forms.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from agentguard.content.grounding._values import plain

__all__ = ["family", "root"]

_IRREGULAR: Final = {
    form: base
    for line in """
    be is are was were been being am; have has had having; do does did done doing; go goes went gone going; say said
    says; make made; take took taken; get got gotten; give gave given; come came; see saw seen; know knew known; think
    thought; tell told; become became; find found; leave left; feel felt; bring brought; begin began begun; keep kept;
    hold held; write wrote written; stand stood; hear heard; mean meant; meet met; run ran running; pay paid; sit sat;
    speak spoke spoken; lie lay lain lying; lead led; grow grew grown; lose lost; fall fell fallen; send sent; build
    built; understand understood; draw drew drawn; break broke broken; spend spent; rise rose risen; drive drove driven;
    buy bought; wear wore worn; choose chose chosen; fly flew flown; sell sold; catch caught; teach taught; eat ate
    eaten; win won winning; fight fought; throw threw thrown; steal stole stolen; sing sang sung; swim swam swum; drink
    drank drunk; sleep slept; shoot shot; strike struck stricken; swear swore sworn; forget forgot forgotten; hide hid
    hidden; seek sought; shake shook shaken; ride rode ridden; bear bore borne born; blow blew blown; freeze froze
    frozen; forgive forgave forgiven; wake woke woken; show showed shown; plead pled pleaded; bind bound; deal dealt;
    dig dug; feed fed; hang hung; lend lent; shrink shrank shrunk; sink sank sunk; spread; split; stick stuck; swing
    swung; tear tore torn; weep wept; arise arose; withdraw withdrew withdrawn; man men; woman women; child children;
    person people persons; foot feet; tooth teeth; mouse mice; life lives; wife wives; half halves; self selves; leaf
    leaves; knife knives; good better best; bad worse worst; die died dies dying; tie tied tying; use used using uses;
    police policeman policemen; american americans america; british britain u.k uk; russian russia russians; german
    germany germans; french france; english england; chinese china; japanese japan; indian india; spanish spain;
    italian italy; canadian canada; australian australia; ukrainian ukraine; israeli israel; mexican mexico; turkish
    turkey; syrian syria; iranian iran; iraqi iraq; european europe; african africa; asian asia; irish ireland; scottish
    scotland; polish poland; dutch netherlands holland; swedish sweden; greek greece; brazilian brazil; us u.s usa
    u.s.a; study studies studied studying
    """.split(";")
    for base, *forms in [line.split()]
    for form in forms
}
_FAMILY_ENDINGS: Final = (
    "ization isation ational fulness iveness ation ition ment ness abl ibl anc enc ancy ency ity iv ical ial ion er or "
    "ist ism ful ous ish ur ag ery ary ory al ic y ant ent"
).split()


@lru_cache(maxsize=50_000)
def root(word: str) -> str:
    """A word without case, accents, possessive, and the endings of number, tense and manner.

    >>> [root(word) for word in ("Delivers", "shipped", "shipping", "policies", "quickly", "bought", "purchase")]
    ['deliver', 'ship', 'ship', 'policy', 'quick', 'buy', 'purchas']
    """
    folded = plain(word).replace("\u2019", "'")
    for ending in ("'s", "s'", "'"):
        if folded.endswith(ending):
            folded = folded[: -len(ending)]
            break
    folded = folded.strip("'-")
    if folded in _IRREGULAR:
        folded = _IRREGULAR[folded]
    size = len(folded)
    if size < 4 or not folded.isalpha():
        return folded
    if folded.endswith("ies") and size > 4:
        folded = folded[:-3] + "y"
    elif folded.endswith(("sses", "xes", "ches", "shes", "zes")):
        folded = folded[:-2]
    elif folded.endswith("s") and not folded.endswith(("ss", "us", "is")):
        folded = folded[:-1]
    if folded.endswith("ied") and len(folded) > 4:
        folded = folded[:-3] + "y"
    elif folded.endswith("ed") and len(folded) > 4 and any(vowel in folded[:-2] for vowel in "aeiouy"):
        folded = _undoubled(folded[:-2])
    elif folded.endswith("ing") and len(folded) > 5 and any(vowel in folded[:-3] for vowel in "aeiouy"):
        folded = _undoubled(folded[:-3])
    elif folded.endswith("ily") and len(folded) > 5:
        folded = folded[:-3] + "y"
    elif folded.endswith("ly") and len(folded) > 4:
        folded = folded[:-2]
    folded = _IRREGULAR.get(folded, folded)
    return folded[:-1] if folded.endswith("e") and len(folded) > 3 else folded


def _undoubled(word: str) -> str:
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz":
        return word[:-1]
    return word[:-1] if len(word) > 4 and word.endswith("ll") else word


@lru_cache(maxsize=50_000)
def family(stem: str) -> str:
    """What words of one family begin with, from a word's root on; roughly, as endings tell.

    >>> family(root("delivery")) == family(root("delivers")), family(root("announcement")) == family(root("announced"))
    (True, True)
    """
    if len(stem) < 5 or not stem.isalpha():
        return stem
    for _ in range(2):
        for ending in _FAMILY_ENDINGS:
            if stem.endswith(ending) and len(stem) - len(ending) >= 4:
                stem = stem[: -len(ending)]
                break
        else:
            break
    if stem.endswith(("e", "i", "y")) and len(stem) > 4:
        stem = stem[:-1]
    if len(stem) > 4 and stem[-1] == stem[-2]:
        stem = stem[:-1]
    return stem[:-1] + "s" if stem[-1] == "d" and stem[-2] in "aeiou" else stem  # invade, invasion
