-- `words` has no text of its own: it is told of every chunk that comes, and of the same text when that goes. `state` has
-- one row: whose vectors these are, how long they are, and a number that grows with every change, by which a matrix in
-- memory is known to be old.
CREATE TABLE state (changes INTEGER NOT NULL, embedder TEXT NOT NULL, dimensions INTEGER NOT NULL);
INSERT INTO state VALUES (0, '', 0);
CREATE TABLE documents (number INTEGER PRIMARY KEY, uri TEXT NOT NULL UNIQUE, digest TEXT NOT NULL);
CREATE TABLE chunks (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL, document INTEGER NOT NULL REFERENCES documents,
    title TEXT NOT NULL, heading TEXT NOT NULL, text TEXT NOT NULL, first INTEGER NOT NULL, beyond INTEGER NOT NULL,
    vector BLOB
);
CREATE INDEX chunks_by_id ON chunks (id, document);
CREATE INDEX chunks_by_document ON chunks (document);
CREATE VIRTUAL TABLE words USING fts5(
    title, heading, text, content = 'chunks', content_rowid = 'number',
    tokenize = 'porter unicode61 remove_diacritics 2'
);
