"""Models in their two roles: under test, and as judge."""
