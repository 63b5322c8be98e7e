"""Fuzzing: inputs nobody would write, thrown at everything that takes data, and what has to hold all the same.

    python -m fuzz --list
    python -m fuzz grounding --seconds 60
    python -m fuzz grounding --replay fuzz/artefacts/grounding/crash-…

An input is bytes. A ``Source`` draws structured values from them, so that a search which only knows bytes (atheris,
where it is installed, else seeded mutation) moves among texts, JSON, YAML, HTML and Python objects.
"""
