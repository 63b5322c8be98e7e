"""How calls came out: by flags, counts and fields, by the true output of programs in each state, and by words."""

from __future__ import annotations

from collections import OrderedDict
from typing import get_args

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agentguard.content._outcomes import State, _set, outcome_of

from ..rows import over


def told(result, args=None, verbs=(), **options):
    """The state, the counts, and whether it is sure."""
    outcome = outcome_of(args, result, verbs=verbs, **options)
    return outcome.state, outcome.done, outcome.left, outcome.sure


# --- Flags, codes and error fields ---

FAILED = [
    {"error": "connect ECONNREFUSED"},
    {"error": {"code": "LOCKED", "message": "order is being packed"}},
    {"error": True},
    {"errors": ["duplicate email"]},
    {"isError": True, "error_message": "quota exceeded"},
    {"errors": 2},
    {"ok": False, "status": 503},
    {"success": False},
    {"success": "false"},
    {"status": 404},
    {"status": "500 Internal Server Error"},
    {"statusCode": 422, "body": {"detail": "seat limit reached"}},
    {"exit_code": 1, "output": "see the log"},
    {"exitCode": 137},
    {"returncode": -9},
    {"data": {"response": {"error": "no such city"}}},
    {"order": {"error": "no such order"}},
    {"stdout": "", "stderr": "", "interrupted": True},
    {"timed_out": True},
    {"content": [{"type": "text", "text": '{"error": "no such file"}'}], "structuredContent": None},
    '{"ok": false}',
    "exit code: 2",
    "Exit code 1\nsomething",
    "compiling\nProcess exited with code 3",
    "done something\nexit=2",
    "exit status 1",
    "bash: nosuch: not here\nexited with 127",
    "HTTP/1.1 404 Not Found\r\nServer: nginx\r\n\r\n",
    "HTTP/1.1 301 Moved Permanently\nLocation: /x\n\nHTTP/2 503 \n",
    "550 mailbox unavailable: s@oldmail.be",
    "404 Not Found",
    "curl: (22) The requested URL returned error: 404",
    {"stdout": "", "stderr": "curl: (22) The requested URL returned error: 404", "interrupted": False},
]


@over("result", FAILED)
def test_a_flag_a_code_or_an_error_is_a_failure(result):
    assert told(result)[::3] == ("failed", True)
    assert told(result, verbs=["get", "item"])[0] == "failed", "also of what only looks"


FINE = [
    {"error": None, "id": 7},
    {"error": "", "id": 7},
    {"errors": [], "id": 7},
    {"failed": 0, "id": 7},
    {"isError": False, "id": 7},
    {"ok": True},
    {"success": True, "message": "2 old failures were cleared"},
    {"status": 200},
    {"exit_code": 0, "stdout": "0 failed"},
    {"exit_code": 0, "stderr": "warning: failed to load the icon, using another"},
    {"stdout": "on master", "stderr": "", "interrupted": False},
    {"error_rate": 0.2},
    {"id": 7, "status": "active"},
    {"timeout": 30, "id": 7},
    "build finished, no errors",
    "done without errors",
    "checked 14 files: 0 errors",
    "errors: []",
    '{"failed": 0, "errors": []}',
    "exit code: 0",
    "HTTP/1.1 301 Moved Permanently\nLocation: /x\n\nHTTP/1.1 200 OK\n",
    "450 files moved",
    "",
    None,
    {},
    [],
    True,
    7,
    "ok",
    "sent",
    "Subscription paused until May",
    "1 row affected",
]


@over("result", FINE)
def test_what_looks_like_a_failure_and_is_none(result):
    assert told(result, verbs=["pause"])[0] == "done"
    assert outcome_of(None, result).why == "" or result == "Subscription paused until May"


def test_the_framework_has_the_first_word():
    outcome = outcome_of({"command": "pytest"}, "2 failed, 7 passed in 0.52s", failed=True)
    assert outcome == ("failed", "2 failed, 7 passed", True, 7, 2, "")
    assert outcome_of({}, "\n  Card expired\nmore", failed=True)[:3] == ("failed", "Card expired", True)
    assert outcome_of({}, {"ok": True}, failed=True)[:3] == ("failed", "failed", True)


# --- Counts ---


@over(
    "result, verbs, expected",
    [
        ({"deleted": 0}, (), ("nothing", 0, None, True)),
        ({"deleted": 3}, (), ("done", 3, None, True)),
        ({"deletedCount": 0}, (), ("nothing", 0, None, True)),
        ({"rows_affected": 0}, (), ("nothing", 0, None, True)),
        ({"emptied": 0, "note": "no items removed"}, ("folder", "empty"), ("nothing", 0, None, True)),
        ({"committed": 0, "rolled_back": 12}, ("db", "commit"), ("failed", None, 12, True)),
        ({"committed": 0}, ("db", "commit"), ("nothing", 0, None, True)),
        ({"armed": False}, ("alarm", "arm"), ("nothing", 0, None, True)),
        ({"armed": True}, ("alarm", "arm"), ("done", None, None, True)),
        ({"merged": False}, ("merge",), ("nothing", 0, None, True)),
        ({"merged": None}, ("merge",), ("nothing", 0, None, True)),
        ({"redactions": []}, ("redact",), ("nothing", 0, None, True)),
        ({"matches_applied": 0}, ("apply",), ("nothing", 0, None, True)),
        ({"comments": 0, "sha": "a1"}, ("commit",), ("done", None, None, False)),
        ({"deletion_protection": False}, ("delete", "instance"), ("done", None, None, False)),
        ({"public": False}, ("publish",), ("done", None, None, False)),
        ({"sent": ["ada"], "failed": ["tom", "eve"]}, (), ("partly", 1, 2, True)),
        ({"sent": ["ada"], "failed": []}, (), ("done", 1, None, True)),
        ({"completed": [], "failed": ["tom"]}, (), ("failed", None, 1, True)),
        ({"matched": 88, "unmatched": 14}, (), ("partly", 88, 14, True)),
        ({"items": ["milk", "eggs"], "unavailable": ["basil"]}, ("order",), ("partly", None, 1, True)),
        ({"status": 207, "body": {"created": 19, "failed": 6, "errors": ["duplicate"]}}, (), ("partly", 19, 6, True)),
        ([{"id": 1, "ok": True}, {"id": 2, "error": "locked"}, {"id": 3}], (), ("partly", 2, 1, True)),
        ({"results": [{"to": "a", "status": "sent"}, {"to": "b", "status": "bounced"}]}, (), ("partly", 1, 1, True)),
        ([{"ok": False}, {"ok": False}], (), ("failed", None, 2, True)),
        ({"updated": 0, "unchanged": 4}, (), ("nothing", 0, None, True)),
        ("UPDATE 0", (), ("nothing", 0, None, True)),
        ("UPDATE 7", (), ("done", 7, None, True)),
        ("INSERT 0 3", (), ("done", 3, None, True)),
        ("BEGIN\nDELETE 0\nCOMMIT", (), ("nothing", 0, None, True)),
        ("Query OK, 0 rows affected (0.00 sec)", (), ("nothing", 0, None, True)),
        ("Query OK, 2 rows affected (0.00 sec)", (), ("done", 2, None, True)),
    ],
)
def test_counts(result, verbs, expected):
    assert told(result, verbs=verbs) == expected


def test_what_was_not_done_is_named():
    failed = [{"id": "T-3", "reason": "open_subtasks"}]
    assert "T-3" in outcome_of({}, {"completed": ["T-1"], "failed": failed}).undone
    assert outcome_of({}, {"sent": ["ada"], "unmatched": ["tom"]}).undone == '["tom"]'
    assert outcome_of({}, [{"id": 1, "ok": True}, {"id": 2, "error": "locked"}]).undone == '{"id":2,"error":"locked"}'
    assert outcome_of({}, {"deleted": 3}).undone == ""


def test_what_was_asked_for_is_no_sign():
    assert told({"enabled": False}, {"enabled": False}, ["enable"])[0] == "done"
    assert told({"enabled": False}, {"name": "beta"}, ["enable"])[0] == "nothing"
    assert told({"assignees": []}, {"assignees": ["bao"]}, ["update"])[0] == "nothing"
    assert told({"assignees": []}, {"assignees": []}, ["update"])[0] == "done"
    assert told({"status": "pending"}, {"status": "pending"}, ["update", "task"])[0] == "done"
    assert told({"status": "pending"}, {"title": "x"}, ["update", "task"])[0] == "pending"


# --- Fields of state ---

STATES = {
    "done": "done completed Succeeded sent erledigt versendet terminé envoyé completado enviado completato inviato"
    " concluído voltooid verzonden wysłano zakończone 完了 送信済み 已完成 已发送",
    "pending": "pending tentative TENTATIVE waitlisted queued draft scheduled staged held awaiting_approval on-hold"
    " inProgress awaiting_responses pending_review ausstehend Entwurf eingeplant vorläufig en_attente brouillon"
    " pendiente borrador en_curso bozza in_attesa pendente agendado rascunho gepland in_behandeling oczekuje szkic"
    " 保留中 承認待ち 処理中 下書き 待审批 处理中 草稿",
    "failed": "failed rejected declined bounced expired cancelled not_found payment_failed NOT_SENT timed_out"
    " fehlgeschlagen abgelehnt storniert unzustellbar échoué refusée annulé expiré fallido rechazado cancelada"
    " fallito rifiutato scaduto falhou recusado mislukt geweigerd odrzucono niepowodzenie"
    " 失敗 却下 期限切れ 失败 被拒绝 已取消",
    "partly": "partial partially_completed incomplete completed_with_errors teilweise partiellement parcialmente"
    " parzialmente gedeeltelijk częściowo 一部完了 部分成功",
    "nothing": "unchanged skipped no_changes not_modified already_exists unverändert sin_cambios 変更なし 无变化",
    "simulated": "dry_run simulated preview Probelauf simulé simulacro anteprima ドライラン 试运行",
}


@over("state, word", [(state, word) for state, words in STATES.items() for word in words.split()])
def test_words_of_state(state, word):
    for name in ("status", "state", "phase", "bankStatus"):
        outcome = outcome_of({}, {"id": 7, name: word})
        assert (outcome.state, outcome.sure) == (state, True)
        assert outcome.why == ("" if state == "done" else f"{name}: {word}")


@over(
    "result, verbs, expected",
    [
        ({"status": "cancelled"}, ("cancel", "order"), "done"),
        ({"status": "cancelled"}, ("create", "order"), "failed"),
        ({"status": "rejected"}, ("reject", "request"), "done"),
        ({"state": "held"}, ("hold", "seat"), "done"),
        ({"state": "HELD"}, ("book", "seat"), "pending"),
        ({"status": "scheduled"}, ("schedule", "payment"), "done"),
        ({"status": "queued"}, ("trigger", "pipeline"), "done"),
        ({"status": "failed"}, ("trigger", "pipeline"), "failed"),
        ({"state": "draft"}, ("create", "draft", "invoice"), "done"),
        ({"state": "draft"}, ("issue", "invoice"), "pending"),
        ({"room": "Oslo", "state": "tentative"}, ("room", "book"), "pending"),
        ({"approval": "pending"}, ("update", "deal"), "pending"),
        ({"approval": "not_required"}, ("update", "deal"), "done"),
        ({"approval_required": True}, ("update", "deal"), "pending"),
        ({"needsReview": True}, ("update", "deal"), "pending"),
        ({"needsReview": False}, ("update", "deal"), "done"),
        ({"rejected": True}, ("submit",), "failed"),
        ({"waitlisted": True}, ("book",), "pending"),
        ({"cancelled": False}, ("book",), "done"),
        ({"sent": False}, ("send",), "failed"),
        ({"id": "d1", "sent": False}, ("create", "draft"), "done"),
        ({"backgroundTaskId": "b1"}, ("Bash",), "pending"),
        ({"status": "failed", "id": 7}, ("get", "job"), "done"),
        ([{"id": 7, "status": "failed"}, {"id": 8, "status": "ok"}], ("list", "jobs"), "done"),
        ("WAITLISTED (position 3)", ("seat", "book"), "pending"),
        ("rejected: non-fast-forward", ("push",), "failed"),
        ("HELD TP543 until 18:00", ("hold", "seat"), "done"),
        ("abgelehnt: Konto gesperrt", ("pay",), "failed"),
        ("已拒绝", ("pay",), "failed"),
    ],
)
def test_states_beside_what_the_tool_does(result, verbs, expected):
    assert told(result, verbs=verbs)[0] == expected


# --- Dry runs ---


@over(
    "args, result",
    [
        ({"dry_run": True}, {"updated": 3}),
        ({"inputs": {"dryRun": True}}, {"state": "succeeded"}),
        ({"dry_run": "true"}, ""),
        ({"preview": True}, {"ok": True}),
        ({"what_if": True}, {"ok": True}),
        ({"mode": "preview"}, {"employees": 12}),
        ({"command": "npm publish --dry-run"}, "+ a@1.0.0"),
        ({"command": "rsync -avn a/ b/"}, "sent 92 bytes"),
        ({"command": "make -n install"}, "cp a b"),
        ({"command": "cd infra && terraform plan -out=p"}, "ok"),
        ({"command": "kubectl apply -f a.yaml --dry-run=client"}, "deployment.apps/worker created (dry run)"),
        ({"command": ["terraform", "plan"]}, ""),
        ({"command": "ssh ops 'certbot renew --dry-run'"}, ""),
        ("git push --dry-run origin main", ""),
        ({"code": "scale('worker', dry_run=True)"}, ""),
        ({"query": "BEGIN; DELETE FROM t; ROLLBACK;"}, "BEGIN\nDELETE 41\nROLLBACK"),
        ({}, {"dry_run": True, "would_merge": 58}),
        ({}, {"status": "simulated"}),
        ({}, "would delete 3 files"),
        ({}, "[DRY RUN] 212 duplicates would be deleted"),
        ({}, "Plan: 3 to add, 0 to change, 0 to destroy."),
    ],
)
def test_dry_runs(args, result):
    assert told(result, args)[0] == "simulated"


@over(
    "args",
    [
        {"dry_run": False},
        {"command": "npm publish --dry-run && npm publish"},
        {"command": "terraform plan -out=p && terraform apply p"},
        {"command": "git commit -m 'add a --dry-run flag'"},
        {"command": "grep -r -- --dry-run src"},
        {"command": "kubectl apply -f a.yaml --dry-run=none"},
        {"command": "head -n 3 notes"},
        {"command": "rsync -av --numeric-ids a b"},
        {"command": "make install"},
        {"body": "please run it with --dry-run"},
        {"code": "f(dry_run=False)"},
        {"query": "BEGIN; DELETE FROM t; COMMIT;"},
    ],
)
def test_no_dry_runs(args):
    assert told("all written", args)[0] == "done"


# --- Summaries of runners, as each of them prints them ---

# A line that begins with >>> says the state, and how many were done and not; below it stands the text.
RUNS_AS_PRINTED = """\
>>> done 2 -
============================= test session starts ==============================
collected 4 items

test_ok.py ..   [100%]

============================== 2 passed in 0.37s ===============================
>>> failed 3 1
============================= test session starts ==============================
collected 4 items

FAILED test_bad.py::test_b - assert 1 == 2
========================= 1 failed, 3 passed in 0.56s ==========================
>>> failed - 1
============================= test session starts ==============================
collected 4 items

ERROR test_err.py
!!!!!!!!!!!!!!!!!!!! Interrupted: 1 error during collection !!!!!!!!!!!!!!!!!!!!
=============================== 1 error in 0.70s ===============================
>>> nothing - -
============================= test session starts ==============================
collected 4 items

============================== 1 skipped in 0.37s ==============================
>>> nothing - -
============================= test session starts ==============================
collected 4 items

============================ 2 deselected in 0.31s =============================
>>> failed - -
============================= test session starts ==============================
collected 4 items

============================ no tests ran in 0.05s =============================
ERROR: file or directory not found: nosuch.py
>>> nothing - -
no tests ran in 0.01s
>>> nothing - -
12 skipped in 0.10s
>>> done 2 -
..s                                                                      [100%]
2 passed, 1 skipped in 0.29s
>>> done 2 -
2 passed, 1 xfailed, 3 warnings in 61.20s (0:01:01)
>>> nothing - -
test_ok.py::test_a
test_ok.py::test_b

2 tests collected in 0.26s
>>> done 2 -
\x1b[32m\x1b[1m2 passed\x1b[0m\x1b[32m in 0.37s\x1b[0m
>>> done 2 -
..
----------------------------------------------------------------------
Ran 2 tests in 0.000s

OK
>>> failed 1 1
F.s
======================================================================
FAIL: test_a (ubad.T.test_a)
AssertionError: x

----------------------------------------------------------------------
Ran 3 tests in 0.002s

FAILED (failures=1, skipped=1)
>>> nothing 0 -
s
----------------------------------------------------------------------
Ran 1 test in 0.000s

OK (skipped=1)
>>> nothing 0 -

----------------------------------------------------------------------
Ran 0 tests in 0.000s

OK
>>> failed 0 1
E
ERROR: nosuch (unittest.loader._FailedTest.nosuch)

Ran 1 test in 0.000s

FAILED (errors=1)
>>> failed - 1
t.py:1: error: Incompatible types in assignment  [assignment]
Found 1 error in 1 file (checked 1 source file)
>>> done - -
Success: no issues found in 1 source file
>>> failed - 1
F401 [*] `nosuch_thing` imported but unused

Found 1 error.
[*] 1 fixable with `--fix`.
>>> done - -
All checks passed!
>>> failed - 1
unformatted: File would be reformatted
 --> t3.py:1:2

1 file would be reformatted
>>> failed - -
Looking in links: /opt/wheels
ERROR: Could not find a version that satisfies the requirement nosuch (from versions: none)
ERROR: No matching distribution found for nosuch
>>> done - -
Collecting six
  Downloading six-1.17.0-py2.py3-none-any.whl (11 kB)
Installing collected packages: six
Successfully installed six-1.17.0
>>> nothing - -
Requirement already satisfied: six in ./v/lib/python3.11/site-packages (1.17.0)
>>> done - -
Requirement already satisfied: six in ./v (1.17.0)
Successfully installed attrs-25.1.0
>>> done - -
ERROR: pip's dependency resolver does not currently take into account all the packages that are installed.
Successfully installed six-1.17.0
>>> nothing - -
WARNING: Skipping six as it is not installed.
>>> done 1 -
PASS ./ok.test.js
  ✓ adds (7 ms)

Test Suites: 1 passed, 1 total
Tests:       1 passed, 1 total
Snapshots:   0 total
Time:        1.047 s
Ran all test suites matching ok|bad.
>>> failed 2 1
FAIL ./bad.test.js
  ● fails

PASS ./ok.test.js

Test Suites: 1 failed, 1 passed, 2 total
Tests:       1 failed, 1 todo, 2 passed, 4 total
Snapshots:   0 total
Time:        1.047 s
Ran all test suites matching ok|bad.
>>> failed 2 -
Test Suites: 1 failed, 1 passed, 2 total
Tests:       2 passed, 2 total
Snapshots:   0 total
Time:        1.047 s
Ran all test suites matching ok|bad.
>>> nothing - -
Test Suites: 1 skipped, 0 of 1 total
Tests:       1 skipped, 1 total
Snapshots:   0 total
Time:        1.047 s
Ran all test suites matching ok|bad.
>>> nothing - -
No tests found, exiting with code 1
Run with `--passWithNoTests` to exit with code 0
In /tmp/run/js/j
  4 files checked.
>>> nothing - -
No tests found, exiting with code 0
>>> done 1 -

 RUN  v2.1.9 /tmp/run/js/v

 ✓ ok.test.js (1 test) 2ms

 Test Files  1 passed (1)
      Tests  1 passed (1)
   Start at  01:49:05
   Duration  1.28s (transform 105ms, setup 0ms, collect 29ms)
>>> failed 2 1
 FAIL  bad.test.js > a
AssertionError: expected 1 to be 2

 Test Files  1 failed | 1 passed (2)
      Tests  1 failed | 2 passed (3)
   Start at  01:49:05
   Duration  1.28s (transform 105ms, setup 0ms, collect 29ms)
>>> nothing - -
 ↓ skip.test.js (1 test | 1 skipped)

 Test Files  1 skipped (1)
      Tests  1 skipped (1)
   Start at  01:49:05
   Duration  1.28s (transform 105ms, setup 0ms, collect 29ms)
>>> nothing - -

 RUN  v2.1.9 /v

filter:  nosuch
include: **/*.{test,spec}.?(c|m)[jt]s?(x)

No test files found, exiting with code 1
>>> done 2 -

  x
    ✔ a
    ✔ b


  2 passing (2ms)
>>> failed 1 1

  x
    ✔ a
    1) b
    - c


  1 passing (10ms)
  1 pending
  1 failing

  1) x
       b:
>>> nothing 0 -


  0 passing (1ms)
>>> nothing 0 -

  x
    - c


  0 passing (2ms)
  1 pending
>>> nothing - -
Error: No test files found: "m/nosuch.js"
>>> done 1 0
1..2
# tests 2
# suites 0
# pass 1
# fail 0
# cancelled 0
# skipped 1
# todo 0
# duration_ms 443.5
>>> failed 1 1
not ok 1 - a
ok 2 - b
1..2
# tests 2
# suites 0
# pass 1
# fail 1
# cancelled 0
# skipped 0
# todo 0
>>> nothing 0 0
\u2139 tests 0
\u2139 suites 0
\u2139 pass 0
\u2139 fail 0
\u2139 cancelled 0
\u2139 skipped 0
\u2139 todo 0
>>> failed 11 1
Running 14 tests using 4 workers

  1 failed
    [chromium] \u203a a.spec.ts:3:1 \u203a logs in
  2 skipped
  11 passed (40s)
>>> failed - -
a.ts(1,7): error TS2322: Type 'string' is not assignable to type 'number'.
>>> failed - 2
\x1b[96ma.ts\x1b[0m:\x1b[93m1\x1b[0m:\x1b[93m7\x1b[0m - \x1b[91merror\x1b[0m\x1b[90m TS2322: \x1b[0mType 'string'


Found 2 errors in the same file, starting at: a.ts\x1b[90m:1\x1b[0m
>>> done - -
[10:02:11 AM] Found 0 errors. Watching for file changes.
>>> failed - 2

/tmp/l.js
  1:5  error  'q' is assigned a value but never used  no-unused-vars

✖ 2 problems (2 errors, 0 warnings)
>>> done - 0

/tmp/w.js
  1:7  warning  Expected '===' and instead saw '=='  eqeqeq

✖ 1 problem (0 errors, 1 warning)
>>> failed - -

Oops! Something went wrong! :(

ESLint: 10.15.0

No files matching the pattern "nosuch.js" were found.
>>> done - -
added 398 packages in 34s
npm warn install-scripts Run `npm install-scripts ls` to review
>>> nothing - -
up to date in 2s
npm warn install-scripts Run `npm install-scripts ls` to review
>>> failed - -
npm error code E404
npm error 404 Not Found - GET https://registry.npmjs.org/nosuch
>>> failed - -
npm ERR! code ELIFECYCLE
npm ERR! errno 1
>>> failed - -
 ERR_PNPM_FETCH_404  GET https://registry.npmjs.org/nosuch: Not Found - 404
>>> done - -
success Saved 1 new dependency.
info Direct dependencies
└─ zod@3.23.8
Done in 1.2s.
>>> done 1 -
ok  	example.org/app/a	0.010s
>>> done 1 -
ok  	example.org/app/a	(cached)
?   	example.org/app/c	[no test files]
>>> failed 1 1
ok  	example.org/app/a	(cached)
--- FAIL: TestB (0.00s)
    b_test.go:3: got 1, want 2
FAIL
FAIL	example.org/app/b	0.003s
?   	example.org/app/c	[no test files]
FAIL
>>> done 2 -
ok  	example.org/app/a	0.1s
ok  	example.org/app/b	0.2s	coverage: 81.0% of statements
>>> nothing - -
?   	example.org/app/c	[no test files]
>>> nothing - -
ok  	example.org/app/a	0.011s [no tests to run]
>>> failed - 1
# example.org/app/d
d/d.go:2:23: cannot use "x" (untyped string constant) as int value in return statement
FAIL	example.org/app/d [build failed]
FAIL
>>> failed - 1
# ./nosuch
stat /tmp/run/goo/nosuch: directory not found
FAIL	./nosuch [setup failed]
FAIL
>>> failed - -
# example.org/app/d
vet: d/d.go:2:23: cannot use "x" as int value in return statement
>>> done 1 0
running 1 test
test tests::it_adds ... ok

test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 1 filtered out; finished in 0.01s
>>> failed 1 1
test tests::it_adds ... ok
test tests::it_fails ... FAILED

test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.28s

error: test failed, to rerun pass `--lib`
>>> nothing 0 0
    Finished `test` profile [unoptimized + debuginfo] target(s) in 0.03s
     Running unittests src/lib.rs

running 0 tests

test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 2 filtered out; finished in 0.00s
>>> done 3 0
test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s

   Doc-tests app

running 0 tests

test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
>>> failed - -
error[E0308]: mismatched types
 --> src/lib.rs:1:21

error: could not compile `app` (lib) due to 1 previous error
>>> done - -
   Compiling app v0.1.0 (/tmp/run/rust)
    Finished `dev` profile [unoptimized + debuginfo] target(s) in 1.24s
>>> done 1 0
Running ATest
Tests run: 1, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.078 sec

Results :

Tests run: 1, Failures: 0, Errors: 0, Skipped: 0

[INFO] ------------------------------------------------------------------------
[INFO] BUILD SUCCESS
>>> failed 1 1
Failed tests:   b(ATest): expected:<1> but was:<2>

Tests run: 3, Failures: 1, Errors: 0, Skipped: 1

[INFO] ------------------------------------------------------------------------
[INFO] BUILD FAILURE
[ERROR] Failed to execute goal org.apache.maven.plugins:maven-surefire-plugin:2.12.4:test
>>> nothing 0 0
Tests run: 1, Failures: 0, Errors: 0, Skipped: 1

[INFO] ------------------------------------------------------------------------
[INFO] BUILD SUCCESS
>>> nothing - -
[INFO] No tests to run.
[INFO] ------------------------------------------------------------------------
[INFO] BUILD SUCCESS
>>> done - -
[INFO] Nothing to compile - all classes are up to date
[INFO] ------------------------------------------------------------------------
[INFO] BUILD SUCCESS
>>> failed 2 1
CalcTest > adds() FAILED

3 tests completed, 1 failed

FAILURE: Build failed with an exception.

BUILD FAILED in 2s
3 actionable tasks: 1 executed, 2 up-to-date
>>> nothing - -
> Task :compileJava UP-TO-DATE
> Task :test NO-SOURCE

BUILD SUCCESSFUL in 1s
1 actionable task: 1 up-to-date
>>> done - -
> Task :test

BUILD SUCCESSFUL in 4s
3 actionable tasks: 3 executed
>>> done 3 0
Passed!  - Failed:     0, Passed:     3, Skipped:     0, Total:     3, Duration: 9 ms - app.dll (net8.0)
>>> failed 2 1
Failed!  - Failed:     1, Passed:     2, Skipped:     0, Total:     3, Duration: 9 ms - app.dll (net8.0)
>>> nothing - -
No test is available in /app/bin/Debug/net8.0/app.dll. Make sure that test discoverer & executors are registered.
>>> nothing - -
No test matches the given testcase filter `Nosuch` in /app/app.dll
>>> failed 2 1
Test summary: total: 3, failed: 1, succeeded: 2, skipped: 0, duration: 1.2s
Build failed with 1 error(s) in 3.1s
>>> done - -
Build succeeded.
    0 Warning(s)
    0 Error(s)
>>> failed - -
/a/Program.cs(3,9): error CS0103: The name 'x' does not exist in the current context [/a/a.csproj]

Build FAILED.
>>> done 3 0
Finished in 0.00326 seconds (files took 0.07 seconds to load)
3 examples, 0 failures
>>> failed 1 1
Finished in 0.01 seconds
3 examples, 1 failure, 1 pending

Failed examples:

rspec ./spec/a_spec.rb:3 # A adds
>>> nothing 0 0
No examples found.

Finished in 0.0002 seconds
0 examples, 0 failures
>>> failed 0 1
Finished in 0.1s
0 examples, 0 failures, 1 error occurred outside of examples
>>> failed 2 1
3 runs, 4 assertions, 1 failures, 0 errors, 0 skips
>>> done 2 0
2 runs, 4 assertions, 0 failures, 0 errors, 0 skips
>>> done 3 -
PHPUnit 10.5.5 by Sebastian Bergmann and contributors.

...   3 / 3 (100%)

Time: 00:00.005, Memory: 8.00 MB

OK (3 tests, 3 assertions)
>>> failed 2 1
FAILURES!
Tests: 3, Assertions: 3, Failures: 1.
>>> nothing 0 -
OK, but some tests were skipped!
Tests: 1, Assertions: 0, Skipped: 1.
>>> nothing - -
No tests executed!
>>> failed 1 1
1/2 Test #1: ok ....   Passed    0.01 sec
2/2 Test #2: bad ...***Failed    0.01 sec

50% tests passed, 1 tests failed out of 2
>>> done 1 0
1/1 Test #1: ok ...............................   Passed    0.01 sec

100% tests passed, 0 tests failed out of 1
>>> nothing - -
Test project /tmp/run/cm/ct
No tests were found!!!
>>> failed - -
false
make: *** [Makefile:4: bad] Error 1
>>> failed - -
make: *** No rule to make target 'nosuchtarget'.  Stop.
>>> nothing - -
make: 'up' is up to date.
>>> nothing - -
make: Nothing to be done for 'all'.
>>> failed - -
a.c: In function 'main':
a.c:3:5: error: expected ';' before 'return'
>>> done - -
#9 DONE 0.3s
#10 exporting to image
#10 writing image sha256:0d1 done
#10 naming to docker.io/library/a:1 done
>>> failed - -
ERROR: failed to solve: process "/bin/sh -c ./gradlew build" did not complete successfully: exit code: 1
>>> failed - -
The command '/bin/sh -c make' returned a non-zero code: 2
>>> done - -
Successfully built 0d1f
Successfully tagged a:1
>>> failed - -
unable to prepare context: unable to evaluate symlinks in Dockerfile path: lstat /tmp/Dockerfile: no such file
>>> failed - -
Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?
>>> failed - -
denied: requested access to the resource is denied
>>> simulated - -
Terraform used the selected providers to generate the following execution
plan.

Plan: 2 to add, 0 to change, 0 to destroy.

Note: You didn't use the -out option to save this plan
>>> done 2 -
Terraform used the selected providers to generate the following execution
plan.

Plan: 2 to add, 0 to change, 0 to destroy.
terraform_data.b: Creating...

Apply complete! Resources: 2 added, 0 changed, 0 destroyed.
>>> nothing 0 -
No changes. Your infrastructure matches the configuration.

Apply complete! Resources: 0 added, 0 changed, 0 destroyed.
>>> done 2 -
Destroy complete! Resources: 2 destroyed.
>>> failed - -
Terraform used the selected providers to generate the following execution
plan.

Plan: 3 to add, 0 to change, 0 to destroy.
terraform_data.b: Creation complete after 0s

Error: local-exec provisioner error

  with terraform_data.c,
  on main.tf line 4, in resource "terraform_data" "c":

Error running command 'false': exit status 1. Output:
>>> failed - -
╷
│ Error: Invalid reference
│
│   on main.tf line 3, in resource "aws_instance" "a":
╵
>>> done 1 -
To ../remote.git
 * [new branch]      HEAD -> master
branch 'master' set up to track 'origin/master'.
>>> done 1 -
To ../remote.git
   0fd5881..f06510b  master -> master
>>> failed - 1
To ../remote.git
 ! [rejected]        master -> master (fetch first)
error: failed to push some refs to '../remote.git'
hint: Updates were rejected because the remote contains work that you do
>>> partly 1 1
To ../remote.git
   5b2f1aa..77e01ab  main -> main
 ! [rejected]        v2.4.0 -> v2.4.0 (already exists)
error: failed to push some refs to 'x'
>>> nothing - -
Everything up-to-date
>>> failed - -
error: src refspec nosuch does not match any
error: failed to push some refs to '../remote.git'
>>> done - -
[master (root-commit) 0fd5881] one
 1 file changed, 1 insertion(+)
 create mode 100644 f
>>> nothing - -
On branch master
nothing to commit, working tree clean
>>> nothing - -
Untracked files:
	untracked

nothing added to commit but untracked files present (use "git add" to track)
>>> failed - -
Auto-merging f
CONFLICT (content): Merge conflict in f
Automatic merge failed; fix conflicts and then commit the result.
>>> nothing - -
Already up to date.
>>> done - -
Updating f06510b..2391f1e
Fast-forward
 g | 1 +
 1 file changed, 1 insertion(+)
>>> failed - -
fatal: Exiting because of an unresolved conflict.
U	f
>>> failed - -
black....................................................................Failed
- hook id: black
>>> failed - -
  % Total    % Received % Xferd
  0     0    0     0 --:--:-- --:--:-- --:--:--     0curl: (6) Could not resolve host: nosuch.invalid
>>> failed - -
Connecting to 127.0.0.1:8765... connected.
HTTP request sent, awaiting response... 404 File not found
2026-11-29 01:47:35 ERROR 404: File not found.
>>> pending - -
Command running in background with ID: bash_1
>>> failed 2 1
Total tests: 3
     Passed: 2
     Failed: 1
>>> failed 1 -
Ran 1 test in 0.000s

FAILED (unexpected successes=1)
>>> done 7 -
UPDATE 7
>>> nothing 0 -
DELETE 0
>>> done 2 -
Query OK, 2 rows affected (0.01 sec)
>>> failed - -
[ERROR] Failed to execute goal org.apache.maven.plugins:maven-compiler-plugin:3.1:compile (default-compile) on project b
>>> failed - -
> Task :compileJava FAILED

FAILURE: Build failed with an exception.

* What went wrong:
Execution failed for task ':compileJava'.
>>> failed - -
MSBUILD : nothing more

Build FAILED.
>>> failed - -
warning: unused import: `std::fmt`
error: could not compile `app` (lib) due to 1 previous error
>>> simulated - -
npm notice total files: 14
npm notice Publishing to https://registry.npmjs.org/ with tag latest and default access (dry-run)
>>> nothing - -
No changes. Your infrastructure matches the configuration.
"""


def runs():
    """The text, the state and the counts of each."""
    for block in RUNS_AS_PRINTED.split(">>> ")[1:]:
        head, text = block.split("\n", 1)
        state, *counts = head.split()
        yield text, state, *(None if count == "-" else int(count) for count in counts)


RUNS = list(runs())


@over("text, state, done, left", RUNS)
def test_summaries_of_runners(text, state, done, left):
    for result in (
        text,
        {"stdout": text, "stderr": "", "interrupted": False},
        {"content": [{"type": "text", "text": text}]},
    ):
        outcome = outcome_of({"description": "Run it"}, result, verbs=["Bash"])
        assert (outcome.state, outcome.done or 0, outcome.left or 0) == (state, done or 0, left or 0)
        assert outcome.sure
        assert bool(outcome.why) == (state != "done")
    longer = outcome_of({}, "Some words of what was said before. " * 20 + "\n" + text)
    assert (longer.state, longer.sure) == (state, True), "no word at the end of a long text is sure"


@given(
    st.lists(st.sampled_from("the run of all that was asked for went on and is here now".split()), max_size=150),
    st.data(),
)
def test_prose_before_a_summary_changes_nothing(words, data):
    text, state, _, _ = data.draw(st.sampled_from(RUNS))
    outcome = outcome_of({}, text)
    longer = outcome_of({}, " ".join(words) + "\n\n" + text)
    assert (
        (longer.state, longer.done, longer.left)
        == (outcome.state, outcome.done, outcome.left)
        == (state, *outcome[3:5])
    )


def test_status_is_no_commit():
    clean = "On branch main\nnothing to commit, working tree clean"
    assert told(clean, {"command": "git commit -m x"})[0] == "nothing"
    assert told(clean, {"command": "git status"})[0] != "failed"
    pushed = "To ../remote.git\n   0fd5881..f06510b  master -> master\n" + clean
    assert told(pushed, {"command": "git push && git status"})[:2] == ("done", 1)


def test_the_lines_that_failed_are_named():
    assert outcome_of({}, RUNS[1][0]).undone == "FAILED test_bad.py::test_b - assert 1 == 2"
    assert (
        "v2.4.0"
        in outcome_of(
            {}, "To ../remote.git\n   5b2f1aa..77e01ab  a -> a\n ! [rejected]        v2.4.0 -> v2.4.0 (x)"
        ).undone
    )
    assert "TestB" in outcome_of({}, "--- FAIL: TestB (0.00s)\nFAIL\nFAIL\ta/b\t0.003s\nFAIL").undone


def test_a_code_goes_before_a_summary():
    assert told("12 passed in 1s\nexit code: 1") == ("failed", 12, None, True)
    assert told({"exit_code": 1, "stdout": "2 failed, 7 passed in 1s"}) == ("failed", 7, 2, True)
    assert told({"exit_code": 0, "stdout": "2 failed, 7 passed in 1s"}) == ("failed", 7, 2, True)


# --- Words ---


@over(
    "text, state",
    [
        ("Error: connect ECONNREFUSED 192.0.2.4:443", "failed"),
        ("ETIMEDOUT: message was not delivered to the server", "failed"),
        ("fetch failed: timeout of 30000ms exceeded", "failed"),
        ("Traceback (most recent call last):\n  File \"a.py\", line 1\nKeyError: 'region'", "failed"),
        ("find: '/var/lib/pg/archive': Permission denied", "failed"),
        ("String to replace not found in file.", "failed"),
        ("<tool_use_error>File has not been read yet.</tool_use_error>", "failed"),
        ("The file a.py has been updated.\n     1\traise ValueError('failed')", "done"),
        ("Email: sent to ada", "done"),
        ("Payment declined by issuer", "failed"),
        ("Call failed: no network.", "failed"),
        ("Der Versand ist fehlgeschlagen.", "failed"),
        ("La demande a été refusée par le serveur.", "failed"),
        ("送信に失敗しました", "failed"),
        ("Saved as draft. Verify your e-mail to publish.", "pending"),
        ("Dialog: Are you sure? [Keep] [Cancel]", "pending"),
        ("La demande est en attente de validation.", "pending"),
        ("nothing to roll back to", "nothing"),
        ("scan1 ok\nscan2 ok\nscan3 FAILED 413 too large\nscan4 ok", "partly"),
        ("Converted 38 of 45 test files. All is well.", "partly"),
        ("ready 8/12", "partly"),
        ("ready 12/12", "done"),
        ("moved 61 files into 7 folders", "done"),
        ("Message sent to Aiko", "done"),
        ("Findings: refresh tokens never expire.", "done"),
        ("The file /app/errors.py has been updated.", "done"),
    ],
)
def test_words_of_a_short_text(text, state):
    assert told(text, verbs=["call", "click"])[0] == state


def test_a_word_in_the_middle_of_a_long_text_is_no_failure():
    page = "All about harbours and their fees. " * 30
    log = f"{page}\nThe first attempt failed: error 3, permission denied, not found.\n{page}"
    assert told(log)[0] == "done"
    assert told({"content": log})[0] == "done"
    assert told(f"{page}\nfatal: not a git repository")[0] == "failed"
    assert told(f"{page} could not write the file")[::3] == ("failed", False)


def test_what_was_read_is_no_failure():
    for text in ("The letter was rejected.", "2 failed, 7 passed", "we could not come"):
        assert told({"body": text}, verbs=["read", "message"])[0] == "done" or text.startswith("2 failed")
    assert told("Error: no such file", verbs=["read", "file"])[0] == "failed"


@over(
    "command, text, state",
    [
        ("grep -rn error src", "src/a.py:3: raise ValueError('error: x')", "done"),
        ("cd logs && cat ci.log | tail -5", "2 failed, 7 passed in 3s\n" + "and so on\n" * 60, "done"),
        ("cat nosuch", "cat: nosuch: No such file or directory", "failed"),
        ("pytest -q | tail -1", "2 failed, 7 passed in 3s", "failed"),
        ("cat a; rm b", "rm: cannot remove 'b': Operation refused", "failed"),
        ("kubectl apply -f a", "deployment.apps/web configured\nservice/web unchanged", "done"),
        ("kubectl apply -f a", "deployment.apps/web unchanged", "nothing"),
    ],
)
def test_what_a_command_prints(command, text, state):
    assert told(text, {"command": command}, ["Bash"])[0] == state


def test_a_tool_that_acts_is_judged_by_its_state():
    assert told({"status": "rejected"}, {}, ["update", "order", "status"])[0] == "failed"
    assert told({"status": "rejected"}, {}, ["order", "status"])[0] == "done"
    assert told({"rows_affected": 0}, {"query": "UPDATE t SET a = 1"}, ["sql", "query"])[0] == "nothing"
    assert told({"rows_affected": 0}, {"query": "SELECT 1"}, ["sql", "query"])[0] == "done"
    assert told({"items": [{"id": 1, "status": "failed"}]}, {}, ["run", "batch"])[0] == "failed"


def test_a_word_alone_is_not_sure():
    assert told("The upload of the archive could not be finished")[::3] == ("failed", False)
    assert told("We moved the files")[::3] == ("done", False)


# --- Any object ---

CYCLE: dict = {"status": "failed"}
CYCLE["self"] = [CYCLE, CYCLE]


class Hostile(dict):
    def items(self):
        raise ZeroDivisionError


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=40) | st.sampled_from(["failed", "0"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.text(max_size=8) | st.sampled_from(["status", "error", "failed", "sent", "code", "results", "text"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(JSON | st.text() | st.binary(), JSON, st.lists(st.text(max_size=6), max_size=3), st.booleans())
@example("\ud800 failed \ud800", {"command": "\ud800"}, ["\ud800"], False)
@example({"\ud800": "\ud800", "status": "\ud800", "failed": ["\ud800"]}, None, [], False)
@example({1: 2, None: 3, ("a",): 4, "status": 10**5000}, None, [], False)
@example({"status": "failed", "x": float("nan"), "failed": 10**400}, None, [], False)
@example("٣ failed, ² passed", None, [], True)
def test_any_object_has_an_outcome(result, args, verbs, failed):
    outcome = outcome_of(args, result, failed, verbs)
    assert outcome.state in get_args(State)
    assert not failed or (outcome.state, outcome.sure) == ("failed", True)
    assert (outcome.state == "done") == (outcome.why == "")
    assert len(outcome.why) <= 200
    assert len(outcome.undone) <= 400
    assert all(count is None or count >= 0 for count in (outcome.done, outcome.left))


def test_large_deep_and_hostile_objects():
    wide = [{"ok": False}]
    for _ in range(6):
        wide = [{"results": wide}] * 60
    deep: list = []
    for _ in range(20_000):
        deep = [deep]
    long = "x" * 10_000_000
    for value in (wide, deep, {"a": deep}, long, {long: long}, CYCLE, Hostile(a=1), object, lambda: 0, {Hostile: 1}):
        assert outcome_of(value, value, True, [long]).state == "failed"
        assert outcome_of(value, value).state in get_args(State)
    for text in ("[" * 60_000, "1 failed, " * 5_000, "9" * 60_000 + " failed in 1s", "FAIL\n" * 30_000, "é " * 60_000):
        assert outcome_of({"command": text}, text).state in get_args(State)
    assert told(f"{long}\nexit code: 1")[0] == "failed", "the end of a text is read, however long it is"


def test_objects_of_other_kinds():
    assert told(OrderedDict(status="failed"))[0] == "failed"
    assert told(({"ok": True}, {"ok": False}))[:3] == ("partly", 1, 1)
    assert told(b'{"error": "locked"}')[0] == "failed"
    assert told(CYCLE)[0] == "failed"
    assert told({"result": OrderedDict(error="locked")})[0] == "failed"


# --- The cases that were found ---


@over(
    "args, result, verbs",
    [
        (
            {"command": "pytest tests/none"},
            {"stdout": "no tests ran in 0.01s", "stderr": "", "interrupted": False},
            ["Bash"],
        ),
        ({"url": "https://harbour.example/test"}, {"ok": False, "status": 503}, ["fetch"]),
        ({"query": "harbour fees"}, {"error": "quota exceeded"}, ["web", "search"]),
        ({"city": "Oslo"}, {"error": "city not found"}, ["get", "weather"]),
        ({"url": "https://harbour.example/test"}, "fetch failed: timeout of 30000ms exceeded", ["fetch"]),
        ({"url": "https://harbour.example/test"}, "Error: connect ECONNREFUSED 192.0.2.4:443", ["fetch"]),
        ({"room": "Oslo", "day": "Monday"}, {"room": "Oslo", "state": "tentative"}, ["room", "book"]),
        (
            {"folder": "promotions"},
            {"folder": "promotions", "emptied": 0, "note": "no items removed"},
            ["folder", "empty"],
        ),
        ({"rows": 12}, {"committed": 0, "rolled_back": 12}, ["db", "commit"]),
        ({"zone": "house"}, {"zone": "house", "armed": False}, ["alarm", "arm"]),
        ({"train": "ICE 71"}, "WAITLISTED (position 3)", ["seat", "book"]),
    ],
)
def test_cases_that_were_found(args, result, verbs):
    outcome = outcome_of(args, result, verbs=verbs)
    assert outcome.state != "done"
    assert outcome.why


def test_done_cases_that_were_found():
    assert told({"env": "e1", "destroyed": True}, {"env": "e1"}, ["env", "destroy"])[0] == "done"
    assert told({"order_id": "W3000", "applied": True}, {"order_id": "W3000"}, ["apply", "discount"])[0] == "done"
    assert told("4 passed in 0.11s", {"command": "pytest -q tests/test_cart.py"}, ["Bash"])[:2] == ("done", 4)


def test_each_form_is_seen_in_a_run(subtests: pytest.Subtests):
    texts = [text for text, *_ in RUNS]
    for name, form in _set("runs")[1].items():
        with subtests.test(name):
            assert any(form.search(text) for text in texts)
