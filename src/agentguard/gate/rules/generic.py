"""Words that say little by themselves: a passage may well leave them out, or have others in their place."""

from __future__ import annotations

from typing import Final

from agentguard.gate.rules.roots import root

__all__ = ["GENERIC"]

GENERIC: Final = frozenset(
    map(
        root,
        """able accept accord act add allow also apply approach area article aspect available base become begin belong
        benefit case certain change claim come company concern concerning consider consist contain content customer day
        describe detail discuss document documentation email enable ensure example expect explain express fact feature
        find follow following form general get give go good great happen have help highlight hold include individual
        inform information introduce involve issue item keep kind know lead let like limit list look main make manage
        matter mean member mention message method name need new note number offer option order part people permit person
        place point policy possible prepare present process product program project propose provide question range reach
        receive recent regard relate report require respond response result reveal rule say section see seem seek set
        show site situation specific start state step subject suggest support system take talk tell text thing think
        time total try turn type use user value various want way week well work write year""".split(),
    )
)
