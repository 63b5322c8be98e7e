"""Judgements of an English answer: compliance with rules, signs of invention, shallowness, the kind of text."""
