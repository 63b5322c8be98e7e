"""The user's four documents, statement by statement."""
