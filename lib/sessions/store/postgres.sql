-- What pi-strata keeps in Postgres, from version 13 on. Whoever opens a store makes what is not there, in one transaction under
-- an advisory lock; it may as well be run by hand. The sessions of one tenant are one namespace. Times are ms since 1970.

CREATE TABLE strata_schema (version int PRIMARY KEY);
INSERT INTO strata_schema VALUES (1);

CREATE TABLE strata_session (
  -- Never given to another session, not even to one of the same key.
  number bigint GENERATED ALWAYS AS IDENTITY,
  namespace text NOT NULL,
  key text NOT NULL,
  -- SHA-256 of the key: keys may be longer than an index takes.
  key_hash bytea NOT NULL,
  -- Grows by one with each change; what a reader compares.
  version bigint NOT NULL DEFAULT 0,
  -- Grows by one with each compression and deletion; what a compression compares and swaps.
  revision bigint NOT NULL DEFAULT 0,
  -- The seq of the newest message: a row lock on the session is what orders its messages.
  last_seq bigint NOT NULL DEFAULT 0,
  prompt text,
  fields jsonb NOT NULL DEFAULT '{}',
  digest text NOT NULL DEFAULT '',
  compressions bigint NOT NULL DEFAULT 0,
  tokens_saved bigint NOT NULL DEFAULT 0,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  PRIMARY KEY (namespace, number)
) WITH (fillfactor = 70);
CREATE UNIQUE INDEX strata_session_by_key ON strata_session (namespace, key_hash);
CREATE INDEX strata_session_by_update ON strata_session (namespace, updated_at, number);

CREATE TABLE strata_message (
  namespace text NOT NULL,
  session bigint NOT NULL,
  seq bigint NOT NULL,
  -- Order of all messages, for the newest that a search finds.
  number bigint GENERATED ALWAYS AS IDENTITY,
  place bigint NOT NULL,
  at bigint NOT NULL,
  -- 0 of one that the session let go.
  is_live smallint NOT NULL,
  is_summary smallint NOT NULL,
  id text NOT NULL,
  body text NOT NULL,
  -- A space and the words in lower case, each Chinese character one; NULL for summaries, which are not searched.
  words text,
  PRIMARY KEY (namespace, session, seq)
);
CREATE UNIQUE INDEX strata_message_by_id ON strata_message (namespace, session, id);
-- What a session keeps, in its order.
CREATE INDEX strata_message_live ON strata_message (namespace, session, place, seq) WHERE is_live = 1;

CREATE EXTENSION IF NOT EXISTS pg_trgm;
CREATE INDEX strata_message_words ON strata_message USING gin (words gin_trgm_ops);
CREATE INDEX strata_message_by_number ON strata_message (number);
