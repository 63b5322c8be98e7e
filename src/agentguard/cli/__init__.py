"""The command line: ``agentguard demo | verify | replay | profiles``."""

from agentguard.cli.app import app, main

__all__ = ["app", "main"]
