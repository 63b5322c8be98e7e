"""What is kept of runs: the audit trail, and the history."""
