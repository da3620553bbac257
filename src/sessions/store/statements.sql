-- The statements by which a store changes and reads sessions, for SQLite and Postgres. Each takes texts of JSON and plain
-- values, needs nothing that another one answered, and answers rows of one column, `answer`, in JSON.
--
-- A section begins with its name, and with its database where that is not both. `[name a, b]` stands for that section, in
-- which `@1` and `@2` are `a` and `b`.

-- @object sqlite
json_object
-- @object postgres
json_build_object

-- @array sqlite
json_array
-- @array postgres
json_build_array

-- @json sqlite
json
-- @json postgres

-- @greatest sqlite
max
-- @greatest postgres
greatest

-- The elements of an array in JSON as rows `ord`, `value`.
-- @each sqlite
(SELECT key AS ord, value FROM json_each(@1))
-- @each postgres
(SELECT ord, value FROM json_array_elements(CAST(@1 AS json)) WITH ORDINALITY AS e(value, ord))

-- The texts of an array in JSON.
-- @texts sqlite
(SELECT value FROM json_each(@1))
-- @texts postgres
(SELECT json_array_elements_text(CAST(@1 AS json)))

-- ms since 1970 by the database's clock.
-- @now sqlite
CAST(unixepoch('subsec') * 1000 AS bigint)
-- @now postgres
CAST(floor(extract(epoch FROM clock_timestamp()) * 1000) AS bigint)

-- Keys may be longer than Postgres' index takes: there a digest of them stands in it.
-- @has_key sqlite
@1.key = @2
-- @has_key postgres
@1.key_hash = sha256(convert_to(@2, 'UTF8'))
-- @key_column sqlite
key
-- @key_column postgres
key_hash
-- @key_columns sqlite
key
-- @key_columns postgres
key, key_hash
-- @key_values sqlite
@1
-- @key_values postgres
@1, sha256(convert_to(@1, 'UTF8'))

-- JSON with those of a patch set, or removed where it says null.
-- @patched sqlite
json_patch(@1, @2)
-- @patched postgres
jsonb_strip_nulls(CAST(@1 AS jsonb) || CAST(@2 AS jsonb))

-- A column of 0 and 1 as JSON has it.
-- @flag sqlite
json(iif(@1, 'true', 'false'))
-- @flag postgres
(@1 = 1)

-- Words stand beside each message in Postgres alone.
-- @words sqlite
-- @words postgres
, @1

-- JSON as a text that a UNION takes, and back.
-- @text sqlite
-- @text postgres
::text
-- @back sqlite
-- @back postgres
::json

-- @stamp
[object]('session', number, 'version', version, 'revision', revision, 'createdAt', created_at, 'updatedAt', updated_at)
-- @applied
RETURNING [object]('applied', [flag 1], 'stamp', [stamp]) AS answer
-- @touched
updated_at = [greatest](s.updated_at, [now])
-- @named
s.namespace = ?1 AND [has_key s, ?2]
-- @of
m.namespace = s.namespace AND m.session = s.number
-- @message
[object]('id', m.id, 'seq', m.seq, 'place', m.place, 'isLive', [flag m.is_live], 'isSummary', [flag m.is_summary],
  'body', m.body, 'at', m.at)

-- Sessions, and what is said in each: `i` says in which. SQLite joins in the order of a CROSS JOIN.
-- @given
given AS MATERIALIZED (SELECT CAST(value ->> 'i' AS bigint) AS i, value ->> 'namespace' AS namespace,
  value ->> 'key' AS key, CAST(value ->> 'operations' AS bigint) AS operations FROM [each ?1] e)
-- @said
said AS MATERIALIZED (SELECT ord, CAST(value ->> 'i' AS bigint) AS i, value ->> 'id' AS id,
  value ->> 'body' AS body[words value ->> 'words' AS words] FROM [each ?2] e)
-- @same
s.namespace = g.namespace AND [has_key s, g.key]

-- In the order in which `append_sessions` locks, so that two transactions never wait for each other.
-- @lock postgres
WITH [given] SELECT to_json(1) AS answer FROM strata_session s JOIN given g ON [same]
ORDER BY s.namespace, s.key FOR UPDATE OF s

-- Locks the sessions, too: what their messages are numbered by does not move until the end.
-- @append_sessions
WITH [given]
INSERT INTO strata_session AS s (namespace, [key_columns], version, created_at, updated_at)
SELECT g.namespace, [key_values g.key], g.operations, [now], [now] FROM given g WHERE true ORDER BY 1, 2
ON CONFLICT (namespace, [key_column]) DO UPDATE SET version = s.version + excluded.version, [touched]
-- @append_messages
WITH [given], [said]
INSERT INTO strata_message (namespace, session, seq, place, at, is_live, is_summary, id, body[words words])
SELECT n.namespace, n.session, n.seq, n.seq, n.at, 1, 0, n.id, n.body[words n.words] FROM (
  SELECT s.namespace, s.number AS session, s.updated_at AS at, x.ord, x.id, x.body[words x.words],
    s.last_seq + row_number() OVER (PARTITION BY x.i ORDER BY x.ord) AS seq
  FROM (SELECT said.*, row_number() OVER (PARTITION BY i, id ORDER BY ord) AS copy FROM said) x
  CROSS JOIN given g CROSS JOIN strata_session s
  WHERE g.i = x.i AND [same] AND x.copy = 1 AND NOT EXISTS (SELECT 1 FROM strata_message m WHERE [of] AND m.id = x.id)
) n ORDER BY n.ord
-- @append_numbers
WITH [given]
UPDATE strata_session AS s
SET last_seq = [greatest](s.last_seq, coalesce((SELECT max(m.seq) FROM strata_message m WHERE [of]), 0))
WHERE (s.namespace, s.number) IN (SELECT s.namespace, s.number FROM given g JOIN strata_session s ON [same])
RETURNING [array]([array](namespace, key), [stamp]) AS answer

-- @fields
INSERT INTO strata_session AS s (namespace, [key_columns], version, prompt, fields, created_at, updated_at)
VALUES (?1, [key_values ?2], 1, ?4, [patched '{}', ?3], [now], [now])
ON CONFLICT (namespace, [key_column]) DO UPDATE SET version = s.version + 1, [touched],
  fields = [patched s.fields, ?3],
  prompt = CASE WHEN CAST(?5 AS bigint) = 1 THEN coalesce(s.prompt, excluded.prompt)
                ELSE coalesce(excluded.prompt, s.prompt) END
RETURNING [object]('applied', [flag 1], 'stamp', [stamp],
  'prompt', CASE WHEN CAST(?5 AS bigint) = 1 THEN prompt END) AS answer

-- The summary first, while its place can still be told; the revision, by which all is decided, last.
-- @unmoved
[named] AND s.number = CAST(?3 AS bigint) AND s.revision = CAST(?4 AS bigint)
-- @let_go
m.is_live = 1 AND m.id IN [texts ?5]
-- @its
m.namespace = ?1 AND m.session = (SELECT s.number FROM strata_session s WHERE [unmoved]) AND [let_go]
-- @compress_summary
INSERT INTO strata_message (namespace, session, seq, place, at, is_live, is_summary, id, body)
SELECT s.namespace, s.number, s.last_seq + 1,
  coalesce((SELECT max(m.place) FROM strata_message m WHERE [of] AND [let_go]), s.last_seq + 1),
  [now], 1, 1, CAST(?6 AS text), CAST(?7 AS text)
FROM strata_session s WHERE [unmoved]
-- @compress_forgetting
DELETE FROM strata_message AS m WHERE [its]
-- @compress_keeping
UPDATE strata_message AS m SET is_live = 0 WHERE [its]
-- @compress_session
UPDATE strata_session AS s SET version = s.version + 1, revision = s.revision + 1, last_seq = s.last_seq + 1,
  compressions = s.compressions + 1, digest = CAST(?5 AS text), tokens_saved = s.tokens_saved + CAST(?6 AS bigint),
  [touched]
WHERE [unmoved] [applied]

-- @session
(SELECT s.number FROM strata_session s WHERE [named])
-- @delete_messages
DELETE FROM strata_message AS m WHERE m.namespace = ?1 AND m.session = [session] AND m.id IN [texts ?3]
-- @delete_session
UPDATE strata_session AS s SET version = s.version + 1, revision = s.revision + 1, [touched] WHERE [named] [applied]

-- SQLite's triggers note which sessions were deleted; their messages are erased afterwards, some at a time.
-- @clear_messages postgres
DELETE FROM strata_message AS m WHERE m.namespace = ?1 AND m.session = [session]
-- @clear_session
DELETE FROM strata_session AS s WHERE [named] RETURNING [object]('applied', [flag 1]) AS answer

-- Version 0: begun in this transaction, and no other.
-- @import_session
INSERT INTO strata_session (namespace, [key_columns], prompt, fields, digest, compressions, tokens_saved,
  created_at, updated_at)
SELECT CAST(?1 AS text), [key_values CAST(?2 AS text)], e.value ->> 'prompt',
  [patched '{}', (e.value ->> 'fields')], e.value ->> 'digest',
  CAST(e.value ->> 'compressions' AS bigint), CAST(e.value ->> 'tokensSaved' AS bigint), [now], [now]
FROM [each ?3] e WHERE true ON CONFLICT (namespace, [key_column]) DO NOTHING
-- @import_messages
INSERT INTO strata_message (namespace, session, seq, place, at, is_live, is_summary, id, body[words words])
SELECT s.namespace, s.number, CAST(e.value ->> 'seq' AS bigint), CAST(e.value ->> 'place' AS bigint),
  s.updated_at, CAST(e.value ->> 'isLive' AS bigint), CAST(e.value ->> 'isSummary' AS bigint),
  e.value ->> 'id', e.value ->> 'body'[words e.value ->> 'words']
FROM strata_session s, [each ?3] e WHERE [named] AND s.version = 0 ORDER BY e.ord
-- @import_numbers
UPDATE strata_session AS s SET version = 1, last_seq =
  (SELECT coalesce(max([greatest](m.seq, m.place)), 0) FROM strata_message m WHERE [of])
WHERE [named] AND s.version = 0 [applied]

-- @stamp_of
SELECT [object]('stamp', [stamp]) AS answer FROM strata_session s WHERE [named]

-- @load
SELECT answer[back] AS answer FROM (
  SELECT 0 AS part, 0 AS place, 0 AS seq, [object]('stamp', [stamp], 'prompt', s.prompt, 'fields', [json](s.fields),
    'digest', s.digest, 'compressions', s.compressions, 'tokensSaved', s.tokens_saved)[text] AS answer
  FROM strata_session s WHERE [named]
  UNION ALL
  SELECT 1, m.place, m.seq, [message][text] FROM strata_message m JOIN strata_session s ON [of]
  WHERE [named] AND m.is_live = 1
) AS parts ORDER BY part, place, seq

-- @read
SELECT [message] AS answer FROM strata_message m JOIN strata_session s ON [of]
WHERE [named] AND m.seq > ?3 ORDER BY m.seq LIMIT ?4

-- @listed
SELECT [object]('key', s.key, 'createdAt', s.created_at, 'updatedAt', s.updated_at, 'messages',
  (SELECT count(*) FROM strata_message m WHERE [of] AND m.is_live = 1), 'fields', [json](s.fields),
  'number', s.number) AS answer
FROM strata_session s WHERE s.namespace = ?1 AND
-- @list_created
[listed] s.number > ?3 AND CAST(?2 AS bigint) IS NOT NULL ORDER BY s.number LIMIT ?4
-- @list_updated
[listed] (s.updated_at, s.number) < (?2, ?3) ORDER BY s.updated_at DESC, s.number DESC LIMIT ?4

-- `@1` says which session, `@2` which words.
-- @search
SELECT [object]('key', s.key, 'id', m.id, 'body', m.body, 'isLive', [flag m.is_live]) AS answer
FROM strata_message m JOIN strata_session s ON m.namespace = s.namespace AND m.session = s.number
WHERE m.namespace = ?1 AND @1 AND m.is_summary = 0 @2
ORDER BY m.number DESC LIMIT ?3

-- The messages of the sessions that `prune_sessions` would take.
-- @count_old sqlite
SELECT count(*) FROM strata_message WHERE session IN
  (SELECT number FROM strata_session WHERE namespace = ?1 AND updated_at < ?2 ORDER BY updated_at LIMIT ?3)
-- @prune_sessions sqlite
DELETE FROM strata_session WHERE number IN
  (SELECT number FROM strata_session WHERE namespace = ?1 AND updated_at < ?2 ORDER BY updated_at LIMIT ?3)
-- @prune_let_go sqlite
DELETE FROM strata_message WHERE number > ?3 AND number <= ?4 AND namespace = ?1 AND is_live = 0 AND at < ?2

-- Sessions that others are changing right now are not old.
-- @prune_sessions postgres
WITH old AS (SELECT namespace, number FROM strata_session WHERE namespace = ?1 AND updated_at < ?2
    ORDER BY updated_at LIMIT ?3 FOR UPDATE SKIP LOCKED),
  said AS (DELETE FROM strata_message m USING old s WHERE m.namespace = s.namespace AND m.session = s.number
    RETURNING 1),
  gone AS (DELETE FROM strata_session s USING old o WHERE s.namespace = o.namespace AND s.number = o.number
    RETURNING 1)
SELECT json_build_object('sessions', (SELECT count(*) FROM gone), 'messages', (SELECT count(*) FROM said)) AS answer
-- @prune_let_go postgres
WITH gone AS (DELETE FROM strata_message WHERE (namespace, session, seq) IN (
    SELECT namespace, session, seq FROM strata_message
    WHERE namespace = ?1 AND is_live = 0 AND at < ?2 LIMIT ?3) RETURNING 1)
SELECT json_build_object('sessions', 0, 'messages', (SELECT count(*) FROM gone)) AS answer
