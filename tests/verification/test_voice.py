"""How a tool writes, and who does not write like it."""

from __future__ import annotations

import json
import math
import random

from hypothesis import given
from hypothesis import strategies as st

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
