"""Claims of action: labelled turns, the weights fitted on one part of them, and what is found in the other."""
