"""What a wheel holds: the packages, which pyproject.toml cannot find for itself, and which modules are compiled.

The Python source is the one truth and runs as it is. A wheel built where mypyc and a C compiler are there also holds
the modules on the path of a call as libraries, which Python imports in place of the source beside them; built anywhere
else it is a pure one, and does the same, slower. ``AGENTGUARD_COMPILE=1`` makes it an error where they cannot be
compiled; ``AGENTGUARD_PURE_PYTHON=1`` does not try. An editable installation is never compiled, whatever is asked for:
a library would stand before the source that is being edited.
"""

import os
import platform
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from setuptools import find_packages, setup

#: Two folders at the top are subpackages of agentguard.
TOP = ("integrations", "profiles")

PACKAGES = [*find_packages("src"), *(f"agentguard.{name}" for name in TOP)]

#: Of files that are no modules, those that pyproject.toml names. MANIFEST.in is for the source distribution alone.
HELD: dict[str, Any] = {
    "packages": PACKAGES,
    "package_dir": {"": "src", **{f"agentguard.{name}": name for name in TOP}},
    "include_package_data": False,
}

#: The package as a wheel holds it, made of links. An editable installation has this folder on the path, where type
#: checkers and editors find agentguard.integrations too: they read paths, and run no import hook.
LAYOUT = Path(".layout")

#: Every module below, the packages' faces aside, is compiled,
COMPILED = Path("src/agentguard/verification")

#: but for these. What is compiled holds callers to its annotations with a TypeError, and may not be subclassed or
#: patched: what users hold in their hands stays Python.
INTERPRETED = {
    "_audit.py": "locks, a log and records; next to nothing of it on the path of an accepted call",
    "_calibration.py": "labels are rare, and its files are read once",
    "_changes.py": "a log, its lock and its readers; on the path of a call only where a change begins or ends",
    "_engine.py": "users subclass it, and it answers for arguments of any type itself",
    "_method.py": "protocols and records that users may implement; nothing in them to compile",
    "_output_schema.py": "calls other people's validators",
    "_own_signals.py": "users' own signals are called from it",
    "_persistence.py": "away from the path of a call, and users' own stores are called from it",
    "profile.py": "pydantic's metaclass reads its annotations; not on the path of a call",
    "receipts.py": "not on the path of a call",
    "_state.py": "for people who look after a store; not on the path of a call",
    "signals.py": "records that users make and take, and a protocol that they meet",
    "_read_back.py": "records that users hold, and nothing of it on the path of a call that is not read back",
    "types.py": "named tuples, which are no faster compiled; a call's fields hold what the caller put there",
}

#: Holds them all, as ``agentguard__mypyc``; the library of each module only points there. It must lie at the top:
#: mypyc reckons each module's ``__file__`` from its place.
LIBRARY = "agentguard"

OPTIONS = [
    "--config-file=",  # the project's settings are for `make lint`
    "--no-site-packages",  # the same C code wherever it is built: dependencies are untyped also where they are there
    "--ignore-missing-imports",
]


def compiled_modules() -> list[str]:
    """The files that a compiled wheel holds as libraries, as paths from the project's root."""
    found = {path.relative_to(COMPILED).as_posix(): path for path in COMPILED.rglob("*.py")}
    missing = INTERPRETED.keys() - found.keys()
    if missing:
        raise SystemExit(f"setup.py: INTERPRETED names modules that are not there: {', '.join(sorted(missing))}")
    return sorted(
        path.as_posix() for name, path in found.items() if name not in INTERPRETED and path.name != "__init__.py"
    )


def extensions(folder: str) -> list[Any]:
    """The modules translated to C, in a folder of their own."""
    if platform.python_implementation() != "CPython":
        raise RuntimeError(f"mypyc is for CPython, and this is {platform.python_implementation()}")
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        raise RuntimeError("on a free-threaded Python compiled code is not tested")
    from mypyc.build import mypycify

    options = [*OPTIONS, f"--cache-dir={folder}/mypy"]
    found: list[Any] = mypycify([*options, *compiled_modules()], target_dir=folder, debug_level="0", group_name=LIBRARY)
    return found


def wanted(variable: str) -> bool:
    """The environment variable is set, and not to 0."""
    return os.environ.get(variable, "") not in ("", "0")


def build_wheel() -> None:
    """A compiled wheel where that can be built and is not forbidden, else a pure one.

    Everything is built in a folder that is thrown away: nothing is left in the tree, and nothing that an earlier build
    left there, of another list of modules, comes into the wheel.
    """
    demanded, forbidden = wanted("AGENTGUARD_COMPILE"), wanted("AGENTGUARD_PURE_PYTHON")
    if demanded and forbidden:
        raise SystemExit("AGENTGUARD_COMPILE and AGENTGUARD_PURE_PYTHON are both set, and contradict each other")
    if not forbidden:
        try:
            with tempfile.TemporaryDirectory() as folder:
                setup(**HELD, ext_modules=extensions(folder), options={"build": {"build_base": folder}})
            return
        except (Exception, SystemExit) as error:  # whatever stops mypyc or the C compiler, the source still runs
            if demanded:
                raise
            print(
                f"agentguard: building a pure Python wheel, for it cannot be compiled here: {error!r}", file=sys.stderr
            )
    with tempfile.TemporaryDirectory() as folder:
        setup(**HELD, options={"build": {"build_base": folder}})


def lay_out() -> None:
    """Link what lies in ``src/agentguard``, and the folders at the top, into ``LAYOUT``; drop links to what is gone.

    Raises:
        OSError: where links cannot be made, as on Windows without the right to.
    """
    package = LAYOUT / "agentguard"
    package.mkdir(parents=True, exist_ok=True)
    wanted = {path.name: path.resolve() for path in Path("src/agentguard").iterdir() if path.name != "__pycache__"}
    wanted |= {name: Path(name).resolve() for name in TOP}
    for link in package.iterdir():
        if link.is_symlink() and wanted.get(link.name) != link.resolve():
            link.unlink()
    for name, target in wanted.items():
        if not (package / name).exists():
            (package / name).symlink_to(target, target_is_directory=target.is_dir())


def install_editable() -> None:
    """Install links on the path, or where there are none an import hook, which type checkers do not see through."""
    try:
        lay_out()
    except OSError as error:
        print(f"agentguard: type checkers will not find the editable installation: {error}", file=sys.stderr)
        setup(**HELD)
    else:
        setup(**{**HELD, "package_dir": {"": str(LAYOUT)}})


if __name__ == "__main__":
    if "bdist_wheel" in sys.argv:  # what installers ask for but of an editable installation or a source distribution
        build_wheel()
    elif "editable_wheel" in sys.argv:
        install_editable()
    else:
        setup(**HELD)
