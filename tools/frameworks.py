"""Runs the tests of each framework that has environments of its own, with the newest version tested and the lowest.

``python tools/frameworks.py [NAME ...]``, by the interpreter of an environment that holds uv. What to install stands in
``tests/integrations/frameworks.toml``; the environments stay in ``.venv-frameworks`` until that, or what agentguard
itself needs, changes. Two run side by side. A test that is skipped is a failure here: its framework is not there.
"""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import NamedTuple

import tomllib

ROOT = Path(__file__).resolve().parents[1]
DECLARED = ROOT / "tests" / "integrations" / "frameworks.toml"
FOLDER = ROOT / ".venv-frameworks"
UV = Path(sys.executable).with_name("uv")
TESTED_WITH = ["hypothesis>=6.100", "pytest>=9", "pytest-asyncio>=1.3"]
EXAMPLE = "tests/integrations/test_examples.py::test_the_example_runs_to_its_last_line"
# An editable installation writes beside the sources: one at a time.
INSTALLING = Lock()


class Environment(NamedTuple):
    """One framework in one version."""

    framework: str
    which: str
    requirements: list[str]
    newest_allowed: str
    example: str | None

    @property
    def folder(self) -> Path:
        """The environment's place."""
        return FOLDER / f"{self.framework}-{self.which}"

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.folder / "bin" / "python"

    def install(self) -> None:
        """Make the environment, where it is not there as it is declared now."""
        ours = [(ROOT / name).read_text(encoding="utf-8") for name in ("pyproject.toml", "setup.py")]
        declared = repr((self.requirements, self.newest_allowed, sys.version, ours))
        stamp = self.folder / ".agentguard-installed"
        if stamp.is_file() and stamp.read_text(encoding="utf-8") == declared:
            return
        with INSTALLING:
            run("venv", "--quiet", "--clear", "--python", sys.executable, str(self.folder))
            install = ["pip", "install", "--quiet", "--python", str(self.python)]
            install += ["--exclude-newer", self.newest_allowed]
            run(*install, "setuptools>=77")
            run(*install, "--no-build-isolation", "--editable", str(ROOT), *self.requirements, *TESTED_WITH)
        stamp.write_text(declared, encoding="utf-8")

    def test(self) -> subprocess.CompletedProcess[str]:
        """Run what there is of it: the folder of its tests, and its example."""
        folder = f"tests/integrations/{self.framework}"
        what = [folder] if (ROOT / folder).is_dir() else []
        what += [f"{EXAMPLE}[{self.example}]"] if self.example else []
        # Warnings of a framework about itself and its dependencies are not ours to mend.
        command = [self.python, "-m", "pytest", "-q", "-W", "ignore", *what]
        # What a framework keeps for its user is kept apart: two environments at once would read each other's.
        own = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
        own["HOME"] = str(self.folder / "home")
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, env=own)


def run(*arguments: str) -> None:
    """Have uv do something.

    Raises:
        SystemExit: where it cannot, with what it says.
    """
    done = subprocess.run([UV, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"uv {' '.join(arguments)}\n{done.stderr}")


def tried(environment: Environment) -> bool:
    """Install and test one, and say what came out."""
    started = monotonic()
    try:
        environment.install()
    except SystemExit as error:
        print(f"{environment.folder.name}: the installation failed\n{error}", flush=True)
        return False
    installed = monotonic()
    done = environment.test()
    lines = done.stdout.strip().splitlines() or ["no output"]
    passed = done.returncode == 0 and "skipped" not in lines[-1]
    if not passed:
        print(done.stdout, done.stderr, sep="\n", flush=True)
    what = f"{environment.folder.name:<25} {', '.join(environment.requirements)}"
    times = f"({installed - started:.0f} s to install, {monotonic() - installed:.0f} s to test)"
    print(f"{what}: {'' if passed else 'FAILED, '}{lines[-1]} {times}", flush=True)
    return passed


def main(names: list[str]) -> int:
    """Test the frameworks named, or all."""
    declared = tomllib.loads(DECLARED.read_text(encoding="utf-8"))
    newest_allowed = declared.pop("exclude-newer")
    unknown = set(names) - declared.keys()
    if unknown:
        raise SystemExit(f"{DECLARED.name} names {', '.join(declared)}, and not {', '.join(sorted(unknown))}")
    environments = [
        Environment(name, which, declared[name][which], newest_allowed, declared[name].get("example"))
        for which in ("newest", "lowest")
        for name in names or declared
    ]
    started = monotonic()
    with ThreadPoolExecutor(2) as pool:
        passed = list(pool.map(tried, environments))
    print(f"{sum(passed)} of {len(passed)} environments passed in {monotonic() - started:.0f} s")
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
