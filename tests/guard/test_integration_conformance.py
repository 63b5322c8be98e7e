"""The conformance suite of integrations: that of the page passes it, and it finds each flaw of others."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from ..docs.blocks import DOCS, blocks

CODE = blocks(DOCS / "how-to" / "integrations.md")[0].code
ALMOST_RIGHT = '''
import logging
from dataclasses import replace


class Guarded(TestDesk):
    """Gives what the page's own gives, where it is guarded, changed by ``change``."""

    def reads(self, guard, tools, kind):
        if guard is None:
            return super().reads(None, tools, kind)
        return self.change(super().reads(replace(guard, **self.rules), tools, kind), tools)

    rules = {}

    def change(self, texts, tools):
        return texts


def is_notice(text):
    return "blocked" in text or "withheld" in text


class TestUnguarded(TestDesk):
    def reads(self, guard, tools, kind):
        return super().reads(None, tools, kind)


class TestSwallows(Guarded):
    def change(self, texts, tools):
        return ["" if is_notice(text) else text for text in texts]


class TestLoses(Guarded):
    def change(self, texts, tools):
        return [text for text in texts if not is_notice(text)]


class TestAddsTheOriginal(Guarded):
    def change(self, texts, tools):
        return texts + super().reads(None, tools, "sync") if any(map(is_notice, texts)) else texts


class TestForgetsToRedact(Guarded):
    def change(self, texts, tools):
        return super().reads(None, tools, "sync") if "Until Monday" in str(texts) else texts


class TestMarks(Guarded):
    def change(self, texts, tools):
        return [f"{text} (checked)" for text in texts]


class TestMarksAside(TestDesk):
    def leaves(self, guard, tools, kind):
        return [(text, {} if guard is None else {"verdict": "accept"}) for text in self.reads(guard, tools, kind)]


class TestMixes(Guarded):
    def change(self, texts, tools):
        return texts if len(texts) == 1 else [next(filter(is_notice, texts))] * len(texts)


class TestNoShadow(Guarded):
    rules = {"shadow": False}


class TestShadowIsBlind(TestDesk):
    def reads(self, guard, tools, kind):
        return super().reads(None if guard and guard.shadow else guard, tools, kind)


class TestOpen(Guarded):
    rules = {"on_guard_error": "open"}


class TestClosed(Guarded):
    rules = {"on_guard_error": "closed"}


class TestSilent(Guarded):
    def reads(self, guard, tools, kind):
        logging.getLogger("agentguard").setLevel(logging.CRITICAL)
        return super().reads(guard, tools, kind)


class TestCatches(Guarded):
    def reads(self, guard, tools, kind):
        try:
            return super().reads(guard, tools, kind)
        except BaseException as error:
            return [str(error) or "no answer"] if guard else [f"It failed: {type(error).__name__}"]


class TestTextsAlone(TestDesk):
    def reads(self, guard, tools, kind):
        return super().reads(guard if isinstance(tools[0](), str) else None, tools, kind)

    def forms(self):
        return {"text": str, "dict": lambda text: {"note": text}}

    controls = {}
    cannot = {"control": "it has none"}


class TestSaysThatItJudgesNothing(TestUnguarded):
    def reads(self, guard, tools, kind):
        logging.getLogger("agentguard").error("not judged")
        return super().reads(guard, tools, kind)


class TestPromisesTooLittle(TestDesk):
    cannot = {"judged: exception": "no reason"}
'''
JUDGING = {"judged", "redacted", "closed", "shadow"}
FLAWS = {
    "Unguarded": {*JUDGING, "open", "parallel"}, "Swallows": {"judged", "closed"}, "Loses": {"judged", "closed"},
    "AddsTheOriginal": {"judged", "closed", "parallel"}, "ForgetsToRedact": {"redacted"},
    "Marks": {"unaltered", "open", "shadow", "parallel"}, "Mixes": {"parallel"}, "MarksAside": {"unaltered"},
    "NoShadow": {"shadow"}, "ShadowIsBlind": {"shadow"}, "Open": {"closed"}, "Closed": {"open"},
    "Silent": {"open", "closed"}, "Catches": {"control"}, "TextsAlone": {*JUDGING, "open"},
    "SaysThatItJudgesNothing": {"judged", "redacted", "closed", "shadow", "parallel"},
    "PromisesTooLittle": {"judged"},
}  # fmt: skip


def run(folder: Path, code: str) -> str:
    """Run tests by a pytest without plugins; what it says."""
    (folder / "test_desk.py").write_text(code, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-rf", "--rootdir", str(folder)]
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False).stdout


def test_each_flaw_is_found(tmp_path: Path) -> None:
    said = run(tmp_path, CODE + ALMOST_RIGHT)

    found: dict[str, set[str]] = {}
    for name, promise in re.findall(r"^FAILED \S+::Test(\w+)::test_(\w+)", said, re.MULTILINE):
        found.setdefault(name, set()).add(promise)
    assert found == FLAWS, said


def test_what_is_no_promise_cannot_be_broken(tmp_path: Path) -> None:
    for key in ("juged", "judged: exeption", "judged: text: asinc", "text"):
        wrong = f"\n\nclass TestWrong(TestDesk):\n    cannot = {{{key!r}: 'a slip'}}\n"
        assert f"TestWrong.cannot: {key!r} names no promise, form or kind" in run(tmp_path, CODE + wrong)
