//! The statements by which a store changes and reads sessions, written once for both databases. Each takes texts of JSON
//! and plain values, needs nothing that another one answered, and answers rows of one column, `answer`, in JSON.

use std::sync::LazyLock;

/// A database that sessions are kept in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// `SQLite` in a file: words have an index of their own, kept by triggers (`tables.sql`).
    File,
    /// `SQLite` in memory: a search reads the messages.
    Memory,
    /// Postgres: words stand beside each message.
    Postgres,
}

/// The statements of one database.
pub(super) struct Statements {
    pub(super) lock: Option<String>,
    pub(super) append: [String; 4],
    pub(super) fields: String,
    pub(super) compress_keeping: [String; 3],
    pub(super) compress_forgetting: [String; 3],
    pub(super) delete: [String; 2],
    pub(super) clear: Vec<String>,
    pub(super) import: [String; 3],
    pub(super) stamp: String,
    pub(super) load: String,
    pub(super) read_oldest: String,
    pub(super) read_newest: String,
    pub(super) list_created: String,
    pub(super) list_updated: String,
    /// Of `SQLite`: messages of the sessions that `prune_sessions` would take.
    pub(super) count_old: String,
    pub(super) prune_sessions: String,
    pub(super) prune_let_go: String,
}

static SQLITE: LazyLock<Statements> = LazyLock::new(|| Statements::of(Dialect::File));
static POSTGRES: LazyLock<Statements> = LazyLock::new(|| Statements::of(Dialect::Postgres));

impl Dialect {
    pub(super) fn statements(self) -> &'static Statements {
        if self == Self::Postgres { &POSTGRES } else { &SQLITE }
    }

    fn pick(self, sqlite: &'static str, postgres: &'static str) -> &'static str {
        if self == Self::Postgres { postgres } else { sqlite }
    }

    /// The elements of an array in JSON as rows `ord`, `value`.
    fn each(self, array: &str) -> String {
        match self {
            Self::Postgres => format!(
                "(SELECT ord, value FROM json_array_elements(CAST({array} AS json)) WITH ORDINALITY AS e(value, ord))"
            ),
            _ => format!("(SELECT key AS ord, value FROM json_each({array}))"),
        }
    }

    /// The texts of an array in JSON.
    fn texts(self, array: &str) -> String {
        match self {
            Self::Postgres => format!("(SELECT json_array_elements_text(CAST({array} AS json)))"),
            _ => format!("(SELECT value FROM json_each({array}))"),
        }
    }

    /// ms since 1970 by the database's clock.
    fn now(self) -> &'static str {
        self.pick(
            "CAST(unixepoch('subsec') * 1000 AS bigint)",
            "CAST(floor(extract(epoch FROM clock_timestamp()) * 1000) AS bigint)",
        )
    }

    /// Keys may be longer than Postgres' index takes: there a digest of them stands in it.
    fn has_key(self, session: &str, key: &str) -> String {
        match self {
            Self::Postgres => format!("{session}.key_hash = sha256(convert_to({key}, 'UTF8'))"),
            _ => format!("{session}.key = {key}"),
        }
    }

    /// The columns of a new session that are named by its key, and their values.
    fn key_columns(self, key: &str) -> [String; 2] {
        match self {
            Self::Postgres => {
                ["key, key_hash".to_owned(), format!("{key}, sha256(convert_to({key}, 'UTF8'))")]
            }
            _ => ["key".to_owned(), key.to_owned()],
        }
    }

    /// JSON with those of `patch` set, or removed where it says null.
    fn patched(self, fields: &str, patch: &str) -> String {
        match self {
            Self::Postgres => {
                format!("jsonb_strip_nulls(CAST({fields} AS jsonb) || CAST({patch} AS jsonb))")
            }
            _ => format!("json_patch({fields}, {patch})"),
        }
    }

    /// A column of 0 and 1 as JSON has it.
    fn flag(self, column: &str) -> String {
        match self {
            Self::Postgres => format!("({column} = 1)"),
            _ => format!("json(iif({column}, 'true', 'false'))"),
        }
    }

    /// A search for that many phrases, each of which `phrase_values` gives in the form asked for.
    pub(super) fn search(self, phrases: usize, has_key: bool) -> String {
        let object = self.pick("json_object", "json_build_object");
        let words = match self {
            Self::File => {
                "AND m.number IN (SELECT rowid FROM strata_words WHERE strata_words MATCH ?4)".to_owned()
            }
            Self::Memory => each_phrase(phrases, |n| format!("AND instr(words_of(m.body), ?{n}) > 0")),
            Self::Postgres => each_phrase(phrases, |n| format!("AND m.words LIKE ?{n}")),
        };
        let key = if has_key { self.has_key("s", "?2") } else { "CAST(?2 AS text) IS NULL".to_owned() };
        self.finish(format!(
            "SELECT {object}('key', s.key, 'id', m.id, 'body', m.body, 'isLive', {live}) AS answer
             FROM strata_message m JOIN strata_session s ON m.namespace = s.namespace AND m.session = s.number
             WHERE m.namespace = ?1 AND {key} AND m.is_summary = 0 {words}
             ORDER BY m.number DESC LIMIT ?3",
            live = self.flag("m.is_live"),
        ))
    }

    /// Parameters are `?1` in `SQLite`, `$1` in Postgres.
    fn finish(self, sql: String) -> String {
        if self == Self::Postgres { sql.replace('?', "$") } else { sql }
    }
}

fn each_phrase(phrases: usize, condition: impl Fn(usize) -> String) -> String {
    (0..phrases).map(|phrase| condition(phrase + 4)).collect::<Vec<_>>().join(" ")
}

impl Statements {
    #[expect(clippy::too_many_lines, reason = "a list of statements")]
    fn of(dialect: Dialect) -> Self {
        let d = dialect;
        let is_server = d == Dialect::Postgres;
        let object = d.pick("json_object", "json_build_object");
        let json = d.pick("json", "");
        let number = d.pick("", "to_json");
        let greatest = d.pick("max", "greatest");
        let now = d.now();
        let words = |column| if is_server { format!(", {column}") } else { String::new() };
        let key_column = d.pick("key", "key_hash");
        let stamp = format!(
            "{object}('session', number, 'version', version, 'revision', revision, 'createdAt', created_at,
              'updatedAt', updated_at)"
        );
        let touched = format!("updated_at = {greatest}(s.updated_at, {now})");
        let named = format!("s.namespace = ?1 AND {}", d.has_key("s", "?2"));
        let of = "m.namespace = s.namespace AND m.session = s.number";
        let message = format!(
            "{object}('id', m.id, 'seq', m.seq, 'place', m.place, 'isLive', {}, 'isSummary', {}, 'body', m.body, 'at', m.at)",
            d.flag("m.is_live"),
            d.flag("m.is_summary")
        );

        // Sessions, and what is said in each: `i` says in which. SQLite joins in the order of a CROSS JOIN.
        let given = format!(
            "given AS MATERIALIZED (SELECT CAST(value ->> 'i' AS bigint) AS i, value ->> 'namespace' AS namespace,
               value ->> 'key' AS key, CAST(value ->> 'operations' AS bigint) AS operations FROM {} e)",
            d.each("?1")
        );
        let said = format!(
            "said AS MATERIALIZED (SELECT ord, CAST(value ->> 'i' AS bigint) AS i, value ->> 'id' AS id,
               value ->> 'body' AS body{} FROM {} e)",
            words("value ->> 'words' AS words"),
            d.each("?2")
        );
        // The same without what is said: long texts are parsed once.
        let ids = format!(
            "said AS MATERIALIZED (SELECT ord, CAST(value ->> 'i' AS bigint) AS i, value ->> 'id' AS id FROM {} e)",
            d.each("?2")
        );
        let same = format!("s.namespace = g.namespace AND {}", d.has_key("s", "g.key"));
        let [key_columns, key_values] = d.key_columns("g.key");
        let append = [
            // Locks the sessions, too: what their messages are numbered by does not move until the end.
            format!(
                "WITH {given}
                 INSERT INTO strata_session AS s (namespace, {key_columns}, version, created_at, updated_at)
                 SELECT g.namespace, {key_values}, g.operations, {now}, {now} FROM given g WHERE true ORDER BY 1, 2
                 ON CONFLICT (namespace, {key_column}) DO UPDATE SET version = s.version + excluded.version, {touched}"
            ),
            format!(
                "WITH {given}, {said}
                 INSERT INTO strata_message (namespace, session, seq, place, at, is_live, is_summary, id, body{words})
                 SELECT n.namespace, n.session, n.seq, n.seq, n.at, 1, 0, n.id, n.body{n_words} FROM (
                   SELECT s.namespace, s.number AS session, s.updated_at AS at, x.ord, x.id, x.body{x_words},
                     s.last_seq + row_number() OVER (PARTITION BY x.i ORDER BY x.ord) AS seq
                   FROM (SELECT said.*, row_number() OVER (PARTITION BY i, id ORDER BY ord) AS copy FROM said) x
                   CROSS JOIN given g CROSS JOIN strata_session s
                   WHERE g.i = x.i AND {same} AND x.copy = 1 AND NOT EXISTS (SELECT 1 FROM strata_message m WHERE {of} AND m.id = x.id)
                 ) n ORDER BY n.ord",
                words = words("words"),
                n_words = words("n.words"),
                x_words = words("x.words"),
            ),
            format!(
                "WITH {given}
                 UPDATE strata_session AS s
                 SET last_seq = {greatest}(s.last_seq, coalesce((SELECT max(m.seq) FROM strata_message m WHERE {of}), 0))
                 WHERE (s.namespace, s.number) IN (SELECT s.namespace, s.number FROM given g JOIN strata_session s ON {same})
                 RETURNING {object}('namespace', namespace, 'key', key, 'stamp', {stamp}) AS answer"
            ),
            format!(
                "WITH {given}, {ids}
                 SELECT {number}(m.seq) AS answer
                 FROM said x CROSS JOIN given g CROSS JOIN strata_session s CROSS JOIN strata_message m
                 WHERE g.i = x.i AND {same} AND {of} AND m.id = x.id ORDER BY x.ord"
            ),
        ];

        let [key_columns, key_values] = d.key_columns("?2");
        let fields = format!(
            "INSERT INTO strata_session AS s (namespace, {key_columns}, version, prompt, fields, created_at, updated_at)
             VALUES (?1, {key_values}, 1, ?4, {new}, {now}, {now})
             ON CONFLICT (namespace, {key_column}) DO UPDATE SET version = s.version + 1, {touched}, fields = {changed},
               prompt = CASE WHEN CAST(?5 AS bigint) = 1 THEN coalesce(s.prompt, excluded.prompt)
                             ELSE coalesce(excluded.prompt, s.prompt) END
             RETURNING {object}('stamp', {stamp}, 'prompt', prompt) AS answer",
            new = d.patched("'{}'", "?3"),
            changed = d.patched("s.fields", "?3"),
        );

        // The summary first, while its place can still be told; the revision, by which all is decided, last.
        let unmoved =
            format!("{named} AND s.number = CAST(?3 AS bigint) AND s.revision = CAST(?4 AS bigint)");
        let let_go = format!("m.is_live = 1 AND m.id IN {}", d.texts("?5"));
        let summary = format!(
            "INSERT INTO strata_message (namespace, session, seq, place, at, is_live, is_summary, id, body)
             SELECT s.namespace, s.number, s.last_seq + 1,
               coalesce((SELECT max(m.place) FROM strata_message m WHERE {of} AND {let_go}), s.last_seq + 1),
               {now}, 1, 1, CAST(?6 AS text), CAST(?7 AS text)
             FROM strata_session s WHERE {unmoved}"
        );
        let its = format!(
            "m.namespace = ?1 AND m.session = (SELECT s.number FROM strata_session s WHERE {unmoved}) AND {let_go}"
        );
        let moved = format!(
            "UPDATE strata_session AS s SET version = s.version + 1, revision = s.revision + 1, last_seq = s.last_seq + 1,
               compressions = s.compressions + 1, digest = CAST(?5 AS text), tokens_saved = s.tokens_saved + CAST(?6 AS bigint),
               {touched}
             WHERE {unmoved} RETURNING {object}('stamp', {stamp}) AS answer"
        );
        let compress = |gone: String| [summary.clone(), gone, moved.clone()].map(|sql| d.finish(sql));
        let forgetting = compress(format!("DELETE FROM strata_message AS m WHERE {its}"));
        let keeping = compress(format!("UPDATE strata_message AS m SET is_live = 0 WHERE {its}"));

        let session = format!("(SELECT s.number FROM strata_session s WHERE {named})");
        let delete = [
            format!(
                "DELETE FROM strata_message AS m WHERE m.namespace = ?1 AND m.session = {session} AND m.id IN {}",
                d.texts("?3")
            ),
            format!(
                "UPDATE strata_session AS s SET version = s.version + 1, revision = s.revision + 1, {touched}
                 WHERE {named} RETURNING {object}('stamp', {stamp}) AS answer"
            ),
        ];
        // SQLite's triggers note which sessions were deleted; their messages are erased afterwards, some at a time.
        let mut clear = Vec::new();
        if is_server {
            clear.push(format!(
                "DELETE FROM strata_message AS m WHERE m.namespace = ?1 AND m.session = {session}"
            ));
        }
        clear.push(format!("DELETE FROM strata_session AS s WHERE {named} RETURNING {object}() AS answer"));

        // Version 0: begun in this transaction, and no other.
        let import = [
            format!(
                "INSERT INTO strata_session (namespace, {key_columns}, prompt, fields, digest, compressions, tokens_saved,
                   created_at, updated_at)
                 SELECT CAST(?1 AS text), {key_texts}, e.value ->> 'prompt', {new}, e.value ->> 'digest',
                   CAST(e.value ->> 'compressions' AS bigint), CAST(e.value ->> 'tokensSaved' AS bigint), {now}, {now}
                 FROM {state} e WHERE true ON CONFLICT (namespace, {key_column}) DO NOTHING",
                key_texts = d.key_columns("CAST(?2 AS text)")[1],
                new = d.patched("'{}'", "(e.value ->> 'fields')"),
                state = d.each("?3"),
            ),
            format!(
                "INSERT INTO strata_message (namespace, session, seq, place, at, is_live, is_summary, id, body{words})
                 SELECT s.namespace, s.number, CAST(e.value ->> 'seq' AS bigint), CAST(e.value ->> 'place' AS bigint),
                   s.updated_at, CAST(e.value ->> 'isLive' AS bigint), CAST(e.value ->> 'isSummary' AS bigint),
                   e.value ->> 'id', e.value ->> 'body'{value_words}
                 FROM strata_session s, {messages} e WHERE {named} AND s.version = 0 ORDER BY e.ord",
                words = words("words"),
                value_words = words("e.value ->> 'words'"),
                messages = d.each("?3"),
            ),
            format!(
                "UPDATE strata_session AS s SET version = 1, last_seq =
                   (SELECT coalesce(max({greatest}(m.seq, m.place)), 0) FROM strata_message m WHERE {of})
                 WHERE {named} AND s.version = 0 RETURNING {object}('stamp', {stamp}) AS answer"
            ),
        ];

        let state = format!(
            "{object}('stamp', {stamp}, 'prompt', s.prompt, 'fields', {json}(s.fields), 'digest', s.digest,
               'compressions', s.compressions, 'tokensSaved', s.tokens_saved)"
        );
        let text = d.pick("", "::text");
        let load = format!(
            "SELECT answer{back} AS answer FROM (
               SELECT 0 AS part, 0 AS place, 0 AS seq, {state}{text} AS answer FROM strata_session s WHERE {named}
               UNION ALL
               SELECT 1, m.place, m.seq, {message}{text} FROM strata_message m JOIN strata_session s ON {of}
               WHERE {named} AND m.is_live = 1
             ) AS parts ORDER BY part, place, seq",
            back = d.pick("", "::json"),
        );
        let read = |order| {
            d.finish(format!(
                "SELECT {message} AS answer FROM strata_message m JOIN strata_session s ON {of}
                 WHERE {named} AND m.seq > ?3 ORDER BY m.seq {order} LIMIT ?4"
            ))
        };
        let list = |condition: &str, order: &str| {
            d.finish(format!(
                "SELECT {object}('key', s.key, 'createdAt', s.created_at, 'updatedAt', s.updated_at, 'messages',
                   (SELECT count(*) FROM strata_message m WHERE {of} AND m.is_live = 1), 'fields', {json}(s.fields),
                   'number', s.number) AS answer
                 FROM strata_session s WHERE s.namespace = ?1 AND {condition} ORDER BY {order} LIMIT ?4"
            ))
        };

        let (prune_sessions, prune_let_go) = if is_server {
            // Sessions that others are changing right now are not old.
            (
                "WITH old AS (SELECT namespace, number FROM strata_session WHERE namespace = ?1 AND updated_at < ?2
                     ORDER BY updated_at LIMIT ?3 FOR UPDATE SKIP LOCKED),
                   said AS (DELETE FROM strata_message m USING old s WHERE m.namespace = s.namespace AND m.session = s.number
                     RETURNING 1),
                   gone AS (DELETE FROM strata_session s USING old o WHERE s.namespace = o.namespace AND s.number = o.number
                     RETURNING 1)
                 SELECT json_build_object('sessions', (SELECT count(*) FROM gone), 'messages', (SELECT count(*) FROM said))
                   AS answer",
                "WITH gone AS (DELETE FROM strata_message WHERE (namespace, session, seq) IN (
                     SELECT namespace, session, seq FROM strata_message
                     WHERE namespace = ?1 AND is_live = 0 AND at < ?2 LIMIT ?3) RETURNING 1)
                 SELECT json_build_object('sessions', 0, 'messages', (SELECT count(*) FROM gone)) AS answer",
            )
        } else {
            (
                "DELETE FROM strata_session WHERE number IN
                   (SELECT number FROM strata_session WHERE namespace = ?1 AND updated_at < ?2 ORDER BY updated_at LIMIT ?3)",
                "DELETE FROM strata_message WHERE number > ?3 AND number <= ?4 AND namespace = ?1 AND is_live = 0 AND at < ?2",
            )
        };

        Self {
            // In one order whoever comes, so that two transactions never wait for each other.
            lock: is_server.then(|| {
                d.finish(format!(
                    "WITH {given} SELECT to_json(1) AS answer FROM strata_session s JOIN given g ON {same}
                     ORDER BY s.namespace, s.key_hash FOR UPDATE OF s"
                ))
            }),
            append: append.map(|sql| d.finish(sql)),
            fields: d.finish(fields),
            compress_keeping: keeping,
            compress_forgetting: forgetting,
            delete: delete.map(|sql| d.finish(sql)),
            clear: clear.into_iter().map(|sql| d.finish(sql)).collect(),
            import: import.map(|sql| d.finish(sql)),
            stamp: d.finish(format!(
                "SELECT {object}('stamp', {stamp}) AS answer FROM strata_session s WHERE {named}"
            )),
            load: d.finish(load),
            read_oldest: read("ASC"),
            read_newest: read("DESC"),
            list_created: list("s.number > ?3 AND CAST(?2 AS bigint) IS NOT NULL", "s.number"),
            list_updated: list("(s.updated_at, s.number) < (?2, ?3)", "s.updated_at DESC, s.number DESC"),
            count_old: "SELECT count(*) FROM strata_message WHERE session IN
                (SELECT number FROM strata_session WHERE namespace = ?1 AND updated_at < ?2 ORDER BY updated_at LIMIT ?3)"
                .to_owned(),
            prune_sessions: d.finish(prune_sessions.to_owned()),
            prune_let_go: d.finish(prune_let_go.to_owned()),
        }
    }
}
