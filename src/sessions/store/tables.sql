-- Sessions in SQLite, version 2. In memory and in a file alike. Times are ms since 1970.

CREATE TABLE IF NOT EXISTS session_schema(version INTEGER NOT NULL);

CREATE TABLE IF NOT EXISTS sessions(
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    namespace TEXT NOT NULL,
    key TEXT NOT NULL,
    prompt TEXT,
    fields TEXT NOT NULL DEFAULT '{}',
    digest TEXT NOT NULL DEFAULT '',
    compressions INTEGER NOT NULL DEFAULT 0,
    tokens_saved INTEGER NOT NULL DEFAULT 0,
    version INTEGER NOT NULL DEFAULT 0,
    revision INTEGER NOT NULL DEFAULT 0,
    last_seq INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE(namespace, key));
CREATE INDEX IF NOT EXISTS sessions_by_update ON sessions(namespace, updated_at, number);

-- What a session let go stays, with live = 0, so that it can be found. A summary has the place of the last message it replaced.
CREATE TABLE IF NOT EXISTS messages(
    row INTEGER PRIMARY KEY AUTOINCREMENT,
    session INTEGER NOT NULL,
    id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    place INTEGER NOT NULL,
    live INTEGER NOT NULL,
    summary INTEGER NOT NULL,
    at INTEGER NOT NULL,
    body TEXT NOT NULL,
    UNIQUE(session, id));
CREATE INDEX IF NOT EXISTS messages_in_order ON messages(session, live, place, seq);

-- The words of each message, folded before they come here: case and accents are gone, Chinese characters stand alone.
-- What is deleted leaves no word behind.
CREATE VIRTUAL TABLE IF NOT EXISTS message_words USING fts5(
    words, content='', tokenize='unicode61 remove_diacritics 0');
INSERT INTO message_words(message_words, rank) VALUES('secure-delete', 1);
