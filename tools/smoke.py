"""Tries an installed agentguard: it judges, its commands answer, and the files beside its modules came along.

Run ``python tools/smoke.py`` with the interpreter of the environment that agentguard is installed in. It fails where
that interpreter imports the checkout's own source instead.
"""

import importlib
import subprocess
import sys
import sysconfig
from importlib import metadata, resources
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DATA = ("py.typed", "telemetry/grafana.json", "live/page/live.html", "profiles/weather.yaml")


def check(fact: bool, what: str) -> None:
    """Say it, and end where it is not so."""
    print(f"{'ok' if fact else 'FAILED'}: {what}")
    if not fact:
        sys.exit(1)


def judges() -> None:
    """A wrong answer is blocked, the right ones before it are not."""
    from agentguard import VerificationEngine

    engine = VerificationEngine()
    verdicts = []
    for n in range(60):
        answer = {"order_id": f"W{1000 + n}", "status": "shipped", "total": 20.0 + n}
        verdicts.append(engine.verify("get_order", args={"order_id": answer["order_id"]}, result=answer).verdict)
    check(set(verdicts) == {"accept"}, "sixty right answers are accepted")
    wrong = {"order_id": "W1003", "status": "shipped", "total": 23.0}
    found = engine.verify("get_order", args={"order_id": "W2000"}, result=wrong)
    check(found.verdict == "block", "another customer's answer is blocked")


def commands() -> None:
    """The program that was installed answers."""
    program = Path(sysconfig.get_path("scripts")) / ("agentguard.exe" if sys.platform == "win32" else "agentguard")
    for words in (["--version"], ["profiles", "list", "--json"], ["verify", "--help"]):
        command = [str(program), *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - what was installed
        check(done.returncode == 0 and bool(done.stdout), f"agentguard {' '.join(words)}")


def main() -> None:
    """Try everything; the first thing that fails ends it."""
    import agentguard

    place = Path(str(agentguard.__file__)).resolve().parent
    check(ROOT / "src" not in place.parents, f"agentguard {metadata.version('agentguard')} is installed in {place}")
    for name in DATA:
        check(resources.files("agentguard").joinpath(name).is_file(), f"it holds {name}")
    importlib.import_module("agentguard.integrations.functions")
    judges()
    commands()


if __name__ == "__main__":
    main()
