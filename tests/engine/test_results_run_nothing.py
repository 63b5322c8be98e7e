"""A result is read and never executed: no code of it runs, nothing is unpickled, no program or connection is begun."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = r"""
import base64, json, os, pickle, sys, tempfile
from agentguard.stores import DiskStore
from agentguard.verification import VerificationEngine

class Bomb:
    def __reduce__(self):
        return os.system, ("true",)

pickled = pickle.dumps(Bomb())
call = "__import__('os').system('true')"
texts = [
    call, f"[{call}]", f"{{'a': {call}}}", f"{{'a': [1, 2, {call}]}}", "{'a': 1, 'b': eval('1')}",
    "!!python/object/apply:os.system ['true']", "a: !!python/object/apply:os.system ['true']\nb: 1\n",
    "{{7 * 7}} ${jndi:ldap://127.0.0.1:9/a} `true` $(true)", "<!DOCTYPE a [<!ENTITY b SYSTEM 'file:///etc/passwd'>]>&b;",
    base64.b64encode(pickled).decode(), pickled.decode("latin-1"), "cos\nsystem\n(S'true'\ntR.",
]
results = [pickled, *texts, *[{"data": text} for text in texts], *[json.dumps([text]) for text in texts]]
store = DiskStore(tempfile.mkdtemp())
engine = VerificationEngine(store=store)
rules = {"injection": "flag", "secrets": "redact", "pii": "flag"}
engine.register_tool_profile(
    "fetch", content=rules, response_patterns=["a"], required_fields=["data"], output_schema={"type": "object"}
)
for _ in range(3):  # whatever is imported when it is needed first
    for result in ({"data": "All is well."}, "[1, 2]", "{'a': 1}", "a: 1\nb: 2\n", "Error: no", b"x", '{"a": "b"}'):
        engine.verify("fetch", args={"q": "x"}, result=result)
engine.flush()

DONE = ("exec", "import", "pickle.", "marshal.", "os.system", "os.exec", "os.spawn", "os.posix_spawn", "os.fork",
        "subprocess.", "socket.connect", "socket.getaddrinfo", "ctypes.", "urllib.", "code.__new__")
seen, on = [], [True]

def watch(event, args):
    if on[0] and event.startswith(DONE):
        seen.append(f"{event} {args!r:.200}")

sys.addaudithook(watch)
for number, result in enumerate(results):
    engine.verify("fetch", args={"q": result}, result=result, call_id=f"c{number}")
    engine.verify("other", args={"q": result}, result=result, call_id=f"d{number}")
engine.flush()
on[0] = False
print(json.dumps(seen))
on[0] = True
os.system("true")
on[0] = False
print(len(seen) > 0)  # the hook hears what it listens for
"""


def test_a_result_is_read_and_never_executed() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout.split("\n")) == (0, ["[]", "True", ""]), done.stderr
