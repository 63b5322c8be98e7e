"""Name the packages that a wheel holds, which pyproject.toml cannot: two of them lie outside of ``src``.

Everything else that setuptools has to know stands in pyproject.toml.
"""

import sys
import tempfile
from pathlib import Path

from setuptools import find_packages, setup

#: Subpackages of agentguard that are folders at the top of the project.
TOP = ("integrations", "profiles")

#: The package as a wheel holds it, made of links. An editable installation puts this folder on the path, because type
#: checkers and editors read paths and ignore import hooks: without it they do not find agentguard.integrations.
LAYOUT = Path(".layout")


def lay_out() -> None:
    """Link the contents of ``src/agentguard`` and the folders in ``TOP`` into ``LAYOUT``; remove outdated links.

    Raises:
        OSError: links cannot be made, as on Windows without the right to.
    """
    package = LAYOUT / "agentguard"
    package.mkdir(parents=True, exist_ok=True)
    targets = {path.name: path.resolve() for path in Path("src/agentguard").iterdir() if path.name != "__pycache__"}
    targets |= {name: Path(name).resolve() for name in TOP}
    for link in package.iterdir():
        if link.is_symlink() and targets.get(link.name) != link.resolve():
            link.unlink()
    for name, target in targets.items():
        if not (package / name).exists():
            (package / name).symlink_to(target, target_is_directory=target.is_dir())


if __name__ == "__main__":
    folders = {"": "src", **{f"agentguard.{name}": name for name in TOP}}
    if "editable_wheel" in sys.argv:
        try:
            lay_out()
            folders = {"": str(LAYOUT)}
        except OSError as error:  # setuptools then installs an import hook, and the program runs all the same
            print(f"agentguard: type checkers will not find the editable installation: {error}", file=sys.stderr)
    # In a folder that is thrown away: a module deleted since an earlier build must not come back from build/.
    with tempfile.TemporaryDirectory() as build:
        setup(
            packages=[*find_packages("src"), *(f"agentguard.{name}" for name in TOP)],
            package_dir=folders,
            options={"build": {"build_base": build}},
        )
