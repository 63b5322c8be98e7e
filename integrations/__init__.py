"""Adapters to agent frameworks: one module a framework, each importing its framework itself."""
