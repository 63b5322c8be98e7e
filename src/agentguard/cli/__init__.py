"""The command line: ``agentguard demo | verify | replay | learn | scan | calibrate | profiles | state``."""

from agentguard.cli.app import app, main

__all__ = ["app", "main"]
