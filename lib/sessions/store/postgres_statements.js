// The statements by which Postgres changes and reads sessions: each takes what it needs as parameters and says what a
// session is afterwards. lib/sessions/store/postgres.js runs them; none of them is made of a host's text.
"use strict";

const ms = (column) => `floor(extract(epoch FROM ${column}) * 1000)::float8`;

/** A session as `Stamp` has it. */
const STAMP = `id::float8 AS session, version::float8, revision::float8,
  ${ms("created_at")} AS "createdAt", ${ms("updated_at")} AS "updatedAt"`;

const NEW_SESSION = `strata_session AS s (namespace, key, key_hash, version, revision, last_seq, prompt, fields, digest,
  compressions, tokens_saved, created_at, updated_at)`;
const NEW_MESSAGE = `strata_message (namespace, session, seq, place, at, is_live, is_summary, id, body, words)`;
const SESSION = "namespace = $1 AND key_hash = $2";

/** A later operation never seems older, whatever the server's clock does. */
const TOUCHED = "updated_at = greatest(s.updated_at, clock_timestamp())";

/** All sessions of a transaction, locked in one order whoever comes, so that two of them never wait for each other. */
const lock = `
  SELECT id FROM strata_session
  WHERE (namespace, key_hash) IN (SELECT * FROM unnest($1::text[], $2::bytea[]))
  ORDER BY namespace, key_hash FOR UPDATE`;

/** Messages for many sessions at once; the row of each session, locked, gives out the places. */
const append = `
  WITH given AS (
    SELECT * FROM unnest($1::text[], $2::text[], $3::bytea[], $4::bigint[], $5::bigint[])
      WITH ORDINALITY AS t(namespace, key, key_hash, added, operations, i)
  ), kept AS (
    INSERT INTO ${NEW_SESSION}
    SELECT namespace, key, key_hash, operations, 0, added, NULL, '{}', '', 0, 0, clock_timestamp(), clock_timestamp()
    FROM given ORDER BY namespace, key_hash
    ON CONFLICT (namespace, key_hash) DO UPDATE
      SET version = s.version + excluded.version, last_seq = s.last_seq + excluded.last_seq, ${TOUCHED}
    RETURNING s.*
  ), numbered AS (
    SELECT k.*, g.i, k.last_seq - g.added AS before FROM kept k JOIN given g USING (namespace, key_hash)
  ), stored AS (
    INSERT INTO ${NEW_MESSAGE}
    SELECT n.namespace, n.id, n.before + m.position, n.before + m.position, n.updated_at, true, false, m.id, m.body, m.words
    FROM unnest($6::bigint[], $7::bigint[], $8::text[], $9::text[], $10::text[])
      WITH ORDINALITY AS m(i, position, id, body, words, ordinal)
    JOIN numbered n USING (i) ORDER BY m.ordinal
  )
  SELECT i::int, before::float8, ${STAMP} FROM numbered ORDER BY i`;

/** The session alone, made if it is not there; what is stored in it next is its transaction's. */
const touch = `
  INSERT INTO ${NEW_SESSION}
  VALUES ($1, $2, $3, 1, 0, 0, NULL, '{}', '', 0, 0, clock_timestamp(), clock_timestamp())
  ON CONFLICT (namespace, key_hash) DO UPDATE SET version = s.version + 1, ${TOUCHED}
  RETURNING last_seq::float8 AS before, ${STAMP}`;

const known = `SELECT id, seq::float8 FROM strata_message WHERE namespace = $1 AND session = $2 AND id = ANY($3)`;

const addNew = `
  WITH s AS (UPDATE strata_session SET last_seq = last_seq + cardinality($3::text[]) WHERE namespace = $1 AND id = $2 RETURNING *)
  INSERT INTO ${NEW_MESSAGE}
  SELECT s.namespace, s.id, $6::bigint + m.position, $6::bigint + m.position, s.updated_at, true, false, m.id, m.body, m.words
  FROM s, unnest($3::text[], $4::text[], $5::text[]) WITH ORDINALITY AS m(id, body, words, position) ORDER BY position`;

const fields = `
  INSERT INTO ${NEW_SESSION}
  VALUES ($1, $2, $3, 1, 0, 0, $4, $5::jsonb, '', 0, 0, clock_timestamp(), clock_timestamp())
  ON CONFLICT (namespace, key_hash) DO UPDATE
    SET version = s.version + 1, ${TOUCHED},
        prompt = CASE WHEN $7 THEN coalesce(s.prompt, excluded.prompt) ELSE coalesce(excluded.prompt, s.prompt) END,
        fields = (s.fields || excluded.fields) - $6::text[]
  RETURNING prompt, ${STAMP}`;

/** Nothing where the revision is another one by now: another process was faster. */
const compress = (letGo) => `
  WITH s AS (
    UPDATE strata_session AS s
    SET version = version + 1, revision = revision + 1, last_seq = last_seq + 1, compressions = compressions + 1,
        digest = $4, tokens_saved = tokens_saved + $5, ${TOUCHED}
    WHERE ${SESSION} AND revision = $3 AND id = $9 RETURNING *
  ), gone AS (
    ${letGo} AND m.namespace = s.namespace AND m.session = s.id AND m.is_live AND m.id = ANY($6)
    RETURNING m.place
  ), summary AS (
    INSERT INTO ${NEW_MESSAGE}
    SELECT namespace, id, last_seq, coalesce((SELECT max(place) FROM gone), last_seq), updated_at, true, true, $7, $8, NULL
    FROM s
  )
  SELECT ${STAMP} FROM s`;

const compressKeeping = compress("UPDATE strata_message AS m SET is_live = false FROM s WHERE true");
const compressForgetting = compress("DELETE FROM strata_message AS m USING s WHERE true");

const remove = `
  WITH s AS (
    UPDATE strata_session AS s SET version = version + 1, revision = revision + 1, ${TOUCHED} WHERE ${SESSION} RETURNING *
  ), gone AS (
    DELETE FROM strata_message AS m USING s WHERE m.namespace = s.namespace AND m.session = s.id AND m.id = ANY($3)
  )
  SELECT ${STAMP} FROM s`;

/** After the lock, in a statement of its own: it sees what was appended until the lock was had. */
const clearSession = `DELETE FROM strata_session WHERE ${SESSION} RETURNING id`;
const clearMessages = `DELETE FROM strata_message WHERE namespace = $1 AND session = $2`;

const importSession = `
  INSERT INTO ${NEW_SESSION}
  VALUES ($1, $2, $3, 1, 0, $4, $5, $6::jsonb, $7, $8, $9, clock_timestamp(), clock_timestamp())
  ON CONFLICT (namespace, key_hash) DO NOTHING RETURNING ${STAMP}`;
const importMessages = `
  INSERT INTO ${NEW_MESSAGE}
  SELECT $1, $2, seq, place, clock_timestamp(), is_live, is_summary, id, body, words
  FROM unnest($3::bigint[], $4::bigint[], $5::boolean[], $6::boolean[], $7::text[], $8::text[], $9::text[])
    AS m(seq, place, is_live, is_summary, id, body, words) ORDER BY seq`;

const MESSAGE = (m) => `${m}.id, ${m}.seq::float8, ${m}.place::float8, ${m}.is_live AS "isLive",
  ${m}.is_summary AS "isSummary", ${m}.body, ${ms(`${m}.at`)} AS at`;

const stamp = `SELECT ${STAMP} FROM strata_session WHERE ${SESSION}`;

/** One statement, and so one snapshot. */
const load = `
  SELECT ${STAMP}, prompt, fields, digest, compressions::float8, tokens_saved AS "tokensSaved",
    (SELECT coalesce(json_agg(to_json(m) ORDER BY m.place, m.seq), '[]') FROM (
       SELECT ${MESSAGE("m")} FROM strata_message m WHERE m.namespace = s.namespace AND m.session = s.id AND m.is_live
     ) m) AS messages
  FROM strata_session s WHERE ${SESSION}`;

const read = (newest) => `
  SELECT ${MESSAGE("m")} FROM strata_session s JOIN strata_message m ON m.namespace = s.namespace AND m.session = s.id
  WHERE s.namespace = $1 AND s.key_hash = $2 AND m.seq > $3 ORDER BY m.seq ${newest ? "DESC" : "ASC"} LIMIT $4`;

const LISTED = `
  SELECT s.id::text AS id, extract(epoch FROM s.updated_at)::text AS updated, s.key, s.fields,
    ${ms("s.created_at")} AS "createdAt", ${ms("s.updated_at")} AS "updatedAt",
    (SELECT count(*) FROM strata_message m WHERE m.namespace = s.namespace AND m.session = s.id AND m.is_live)::float8 AS messages
  FROM strata_session s WHERE s.namespace = $1`;
const list = {
  created: `${LISTED} AND ($2::bigint IS NULL OR s.id > $2) ORDER BY s.id LIMIT $3`,
  updated: `${LISTED} AND ($2::bigint IS NULL OR (s.updated_at, s.id) < (to_timestamp(0) + $4::numeric * interval '1 second', $2))
    ORDER BY s.updated_at DESC, s.id DESC LIMIT $3`,
};

/** `$4` and what follows are patterns; each is looked up in the index by itself. */
const search = (phrases, hasKey) => `
  SELECT s.key, m.id, m.body, m.is_live AS "isLive"
  FROM strata_message m JOIN strata_session s ON s.namespace = m.namespace AND s.id = m.session
  WHERE m.namespace = $1 AND ${hasKey ? "s.key_hash = $2" : "$2::bytea IS NULL"}
    ${Array.from({ length: phrases }, (_, i) => `AND m.words LIKE $${i + 4}`).join(" ")}
  ORDER BY m.number DESC LIMIT $3`;

/** Some old sessions, locked; what others are changing right now is not old. */
const oldSessions = `
  SELECT id, key_hash FROM strata_session WHERE namespace = $1 AND updated_at < to_timestamp($2::float8 / 1000)
  ORDER BY updated_at LIMIT $3 FOR UPDATE SKIP LOCKED`;
const pruneMessages = `DELETE FROM strata_message WHERE namespace = $1 AND session = ANY($2::bigint[])`;
const pruneSessions = `DELETE FROM strata_session WHERE namespace = $1 AND id = ANY($2::bigint[])`;
const pruneLetGo = `
  DELETE FROM strata_message WHERE (namespace, session, seq) IN (
    SELECT namespace, session, seq FROM strata_message
    WHERE namespace = $1 AND NOT is_live AND at < to_timestamp($2::float8 / 1000) LIMIT $3)`;

/** Of the sessions of these numbers: how far each has come. */
const versions = `SELECT id::float8 AS session, version::float8 FROM strata_session WHERE id = ANY($1::bigint[])`;

module.exports = {
  lock,
  append,
  touch,
  known,
  addNew,
  fields,
  compressKeeping,
  compressForgetting,
  remove,
  clearSession,
  clearMessages,
  importSession,
  importMessages,
  stamp,
  load,
  read,
  list,
  search,
  oldSessions,
  pruneMessages,
  pruneSessions,
  pruneLetGo,
  versions,
};
