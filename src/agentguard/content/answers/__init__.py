"""Judgements of an English answer: compliance with rules, signs of invention, shallowness, the kind of text."""

from agentguard.content.answers import compliance, compression, hallucination, intent

__all__ = ["compliance", "compression", "hallucination", "intent"]
