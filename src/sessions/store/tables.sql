-- Sessions in SQLite, in memory and in a file alike. Times are ms since 1970. `words_of` is a function of the process that
-- has the file open: the words of a message, folded: case and accents are gone, Chinese characters stand alone.

CREATE TABLE IF NOT EXISTS strata_session(
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    namespace TEXT NOT NULL,
    key TEXT NOT NULL,
    version INTEGER NOT NULL DEFAULT 0,
    revision INTEGER NOT NULL DEFAULT 0,
    last_seq INTEGER NOT NULL DEFAULT 0,
    prompt TEXT,
    fields TEXT NOT NULL DEFAULT '{}',
    digest TEXT NOT NULL DEFAULT '',
    compressions INTEGER NOT NULL DEFAULT 0,
    tokens_saved INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE(namespace, key));
CREATE INDEX IF NOT EXISTS strata_session_by_update ON strata_session(namespace, updated_at, number);

-- What a session let go stays, with is_live = 0, so that it can be found. A summary has the place of the last message it
-- replaced.
CREATE TABLE IF NOT EXISTS strata_message(
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    namespace TEXT NOT NULL,
    session INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    place INTEGER NOT NULL,
    at INTEGER NOT NULL,
    is_live INTEGER NOT NULL,
    is_summary INTEGER NOT NULL,
    id TEXT NOT NULL,
    body TEXT NOT NULL,
    UNIQUE(session, id));
CREATE UNIQUE INDEX IF NOT EXISTS strata_message_in_order ON strata_message(session, seq);
CREATE INDEX IF NOT EXISTS strata_message_live ON strata_message(session, place, seq) WHERE is_live = 1;

-- Sessions that are gone, as long as something of their messages is left in the file. `bulk` says how they are erased.
CREATE TABLE IF NOT EXISTS strata_cleared(session INTEGER PRIMARY KEY, bulk INTEGER);
CREATE TRIGGER IF NOT EXISTS strata_session_cleared AFTER DELETE ON strata_session BEGIN
    INSERT INTO strata_cleared(session) VALUES (old.number);
END;
