"""The list of packages, which pyproject.toml cannot find for itself where folders at the top are subpackages."""

from setuptools import find_packages, setup

setup(packages=[*find_packages("src"), "agentguard.integrations", "agentguard.profiles"])
