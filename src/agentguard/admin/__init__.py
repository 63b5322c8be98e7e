"""For people who look after a store: what was learned of a tool in figures, and what a store holds as a file."""
