"""Ready-made tool profiles: YAML data, one tool or tool family a file, read with :mod:`importlib.resources`."""
