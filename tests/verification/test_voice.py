"""How a tool writes, and who does not write like it."""

from __future__ import annotations

import json
import math
import random
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from agentguard.verification import _voice
from agentguard.verification._snapshot import check_record, encode, restore
from agentguard.verification._voice import Voice


def line(rng: random.Random) -> bytes:
    """What a terse logger writes."""
    return " ".join(
        f"{rng.choice(('GET', 'PUT'))} /v1/{rng.choice(('item', 'user'))}/{rng.randrange(999)} 200" for _ in range(3)
    ).encode()


def test_another_voice_takes_more_bits() -> None:
    rng, voice = random.Random(1), Voice()
    for _ in range(50):
        voice.learn(line(rng))
    own = [voice.away(voice.bits(line(rng))) for _ in range(50)]
    foreign = (b"The request was processed successfully.", b"Everything seems to be fine, sir!")
    others = [voice.away(voice.bits(text)) for text in foreign]

    assert max(own) < 4.0 < min(others)


def test_bits_of_a_text_that_is_always_the_same_go_to_none() -> None:
    voice = Voice()
    for _ in range(200):
        voice.learn(b"abcdefgh" * 20)

    assert voice.bits(b"abcdefgh" * 20) < 0.1


@given(st.lists(st.binary(max_size=60), max_size=12), st.binary(max_size=60))
def test_any_bytes(texts: list[bytes], text: bytes) -> None:
    voice = Voice()
    for one in texts:
        voice.learn(one)

    assert voice.bits(text) >= 0.0
    assert math.isfinite(voice.away(voice.bits(text)))


@given(st.lists(st.binary(max_size=12), max_size=6))
def test_any_voice_is_read_back(texts: list[bytes]) -> None:
    voice, read = Voice(), Voice()
    for text in texts:
        voice.learn(text)
    restore(read, json.loads(json.dumps(encode(voice))), check_record)
    assert (read.counts, read.characters) == (voice.counts, voice.characters)


#: The multiplier and the shift by which a gram is hashed, by its length.
HASHES = {1: (_voice.ONE, 16), 2: (_voice.PAIR, 16), 3: (_voice.THREE, 24), 4: (_voice.FOUR, 24)}


def slot(gram: bytes) -> int:
    factor, shift = HASHES[len(gram)]
    return (int.from_bytes(gram, "big") * factor >> shift) % _voice.SLOTS


def grams_of(text: bytes, most: int) -> list[bytes]:
    """At most so many of the text's 4-grams, evenly spaced."""
    size = min(len(text), _voice.READ) - 3
    taken = min(max(size, 0), most)
    return [text[at : at + 4] for at in ((2 * k + 1) * size // (2 * taken) for k in range(taken))]


@given(st.lists(st.binary(max_size=300), min_size=1, max_size=5), st.binary(min_size=4, max_size=5_000))
def test_bits_are_those_of_the_counts_of_grams(texts: list[bytes], text: bytes) -> None:
    voice, counts = Voice(), Counter[int]()
    for one in [*texts, b"known"]:
        voice.learn(one)
        for gram in grams_of(one, _voice.LEARNED_FIRST):
            counts.update(map(slot, (gram, gram[:3], gram[2:], gram[2:3])))

    bits = []
    for gram in grams_of(text, _voice.SCORED):
        unseen = _voice.BACK_OFF * _voice.UNSEEN
        pair = (counts[slot(gram[2:])] + unseen) / (counts[slot(gram[2:3])] + _voice.BACK_OFF)
        p = (counts[slot(gram)] + _voice.BACK_OFF * pair) / (counts[slot(gram[:3])] + _voice.BACK_OFF)
        bits.append(-math.log2(p))
    assert math.isclose(voice.bits(text), max(0.0, sum(bits) / len(bits)), rel_tol=1e-9, abs_tol=1e-9)
