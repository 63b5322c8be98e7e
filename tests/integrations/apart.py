"""The frameworks that have environments of their own, as ``frameworks.toml`` declares them."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


class Framework(NamedTuple):
    """The name of a framework's folder of tests, what it is imported as, and its program in ``examples/``, if any."""

    name: str
    module: str
    example: str | None

    @property
    def missing(self) -> str | None:
        """Why its tests cannot run here; None where they can."""
        try:
            there = find_spec(self.module) is not None
        except ModuleNotFoundError:  # not even the package that it would be a part of
            there = False
        return None if there else f"{self.module} is not installed here; `make test-frameworks` tests it"


FRAMEWORKS = tuple(
    Framework(name, declared["module"], declared.get("example"))
    for name, declared in tomllib.loads(Path(__file__).with_name("frameworks.toml").read_text(encoding="utf-8")).items()
    if isinstance(declared, dict)
)
