"""The model behind the server: plays the model under test and its judge, by what the requests say and nothing else.

It reads the material between the markers of a request only, and never follows what stands there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

_TOKEN = re.compile(r"carry the token ([0-9a-f]{32})")


def fenced(system: str, user: str) -> dict[str, str]:
    """The material of a judge's request, by its name."""
    token = _TOKEN.search(system)
    assert token is not None, "a judge's instructions name the token of its markers"
    blocks = re.findall(
        rf"^<<<BEGIN {token[1]} ([a-z0-9 ]+)>>>\n(.*?)\n<<<END {token[1]} \1>>>$", user, re.DOTALL | re.MULTILINE
    )
    return dict(blocks)


def unfenced(system: str, user: str) -> str:
    """What a judge's request says outside of its material."""
    token = _TOKEN.search(system)
    assert token is not None, "a judge's instructions name the token of its markers"
    return re.sub(rf"<<<BEGIN {token[1]} ([a-z0-9 ]+)>>>.*?<<<END {token[1]} \1>>>", "", user, flags=re.DOTALL)


class ScriptedBrain:
    """``server.answer = ScriptedBrain({question: answer})``.

    Without instructions it is the model under test, and says what is written down for the question. As judge it asks
    the questions written down, takes every sentence of an answer for a claim, and supports those that stand in a
    passage word for word.
    """

    def __init__(self, answers: Mapping[str, str], otherwise: str = "I do not know.") -> None:
        self.answers = dict(answers)
        self.otherwise = otherwise
        self._given = 0

    def __call__(self, system: str, user: str) -> str:
        if not system:
            return self.answers.get(user, self.otherwise)
        material = fenced(system, user)
        if "answer" in material:
            return self._claims(material["answer"])
        if "claim" in material:
            passages = [text for name, text in material.items() if name.startswith("passage ")]
            return self._verdict(material["claim"], passages)
        number = re.search(r"Write (\d+) different questions", user)
        assert number is not None
        return self._questions(material, int(number[1]))

    def _questions(self, material: Mapping[str, str], number: int) -> str:
        """The kinds of question share what is written down, in their order."""
        rest = [text for text in self.answers if text not in material.get("questions there are already", "")]
        start = 0 if "questions there are already" in material else _place(material["kind of question"]) * number
        return json.dumps({"prompts": rest[start : start + number]})

    def _claims(self, answer: str) -> str:
        sentences = [text for text in re.split(r"(?<=[.!?])\s+", answer.strip()) if text and text != self.otherwise]
        return json.dumps({"claims": [{"text": text, "quote": text} for text in sentences]})

    def _verdict(self, claim: str, passages: Sequence[str]) -> str:
        for number, text in enumerate(passages, 1):
            if " ".join(claim.split()) in " ".join(text.split()):
                said = {"label": "supported", "passage": number, "quote": claim, "reason": "The passage says so."}
                return json.dumps(said)
        return json.dumps({"label": "unsupported", "passage": None, "quote": "", "reason": "No passage says so."})


def _place(category: str) -> int:
    known = ("factual_recall", "edge_cases", "policy_boundaries", "ambiguous_queries")
    return known.index(category) if category in known else 0
