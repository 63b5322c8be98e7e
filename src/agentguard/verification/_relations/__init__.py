"""Relations that held in every call so far: between the arguments and the result, and within the result.

A relation is a template bound to paths (one family a file) with two counts: how often it held for the tool's own calls,
and how often it holds for the arguments of one call and the result of *another*. The guard makes these negatives
itself, so the ratio of both is measured; a relation that holds for foreign results as well says nothing.
"""

from agentguard.verification._relations._constants import Constants
from agentguard.verification._relations._deciding import Counts, Deciders
from agentguard.verification._relations._learned import FAMILIES, Broken, Relations
from agentguard.verification._relations._relation import TRIED, Relation
from agentguard.verification._relations._templates import Templates

__all__ = ["FAMILIES", "TRIED", "Broken", "Constants", "Counts", "Deciders", "Relation", "Relations", "Templates"]
