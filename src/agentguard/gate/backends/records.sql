-- `use_case` is kept as JSON in plain ASCII, since it may be any text; it is compared, never shown.
CREATE TABLE events (
    number INTEGER PRIMARY KEY AUTOINCREMENT, run_id TEXT NOT NULL, kind TEXT NOT NULL, at REAL NOT NULL,
    body TEXT NOT NULL
);
CREATE INDEX events_by_run ON events (run_id, number);
CREATE TRIGGER events_are_kept BEFORE DELETE ON events BEGIN
    SELECT RAISE(ABORT, 'the audit trail is append-only: no event is removed');
END;
CREATE TRIGGER events_stay BEFORE UPDATE ON events BEGIN
    SELECT RAISE(ABORT, 'the audit trail is append-only: no event is changed');
END;
CREATE TRIGGER events_are_new BEFORE INSERT ON events WHEN EXISTS (SELECT 1 FROM events WHERE number = new.number) BEGIN
    SELECT RAISE(ABORT, 'the audit trail is append-only: no event is replaced');
END;
CREATE TABLE runs (
    run_id TEXT PRIMARY KEY, started REAL NOT NULL, use_case TEXT NOT NULL, summary TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX runs_by_time ON runs (started, run_id);
CREATE INDEX runs_by_use_case ON runs (use_case, started, run_id);
