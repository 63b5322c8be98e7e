"""Models in the two roles of a run: under test, and as judge."""
