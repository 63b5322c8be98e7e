"""The weights of the signals: learned from faults made on generated and recorded calls, and tried on sources left out.

``python benchmarks/weights/run.py`` writes ``src/agentguard/verification/weights.py``.
"""
