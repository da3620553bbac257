//! The two dialects of SQL that sessions are kept in: the statements of `statements.sql` as each database takes them.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde_json::Value;

use crate::sessions::sqlite::Statement;

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

/// Sections of `statements.sql` by name, as they stand there and as statements.
struct Statements {
    /// Stands before the number of a parameter.
    sign: &'static str,
    sections: HashMap<&'static str, String>,
    whole: HashMap<&'static str, String>,
}

static SQLITE: LazyLock<Statements> = LazyLock::new(|| Statements::of("sqlite", "?"));
static POSTGRES: LazyLock<Statements> = LazyLock::new(|| Statements::of("postgres", "$"));

impl Statements {
    fn of(database: &str, sign: &'static str) -> Self {
        let sections = include_str!("statements.sql").split("\n-- @").skip(1).filter_map(|section| {
            let (head, body) = section.split_once('\n').unwrap_or((section, ""));
            let (name, own) = head.split_once(' ').unwrap_or((head, database));
            let body: Vec<_> = body.lines().filter(|line| !line.starts_with("--")).collect();
            (own == database).then(|| (name, body.join("\n").trim().replace('?', sign)))
        });
        let mut statements = Self { sign, sections: sections.collect(), whole: HashMap::new() };
        statements.whole =
            statements.sections.iter().map(|(name, sql)| (*name, statements.opened(sql))).collect();
        statements
    }

    /// `sql` with each `[name a, b]` replaced by that section, in which `@1` and `@2` are `a` and `b`.
    fn opened(&self, sql: &str) -> String {
        let Some((before, rest)) = sql.split_once('[') else { return sql.to_owned() };
        let (word, after) = rest.split_once(']').unwrap_or((rest, ""));
        let (name, arguments) = word.split_once(' ').unwrap_or((word, ""));
        let mut section = self.sections.get(name).cloned().unwrap_or_default();
        for (place, argument) in ["@1", "@2"].iter().zip(arguments.split(", ")) {
            section = section.replace(place, argument);
        }
        [before, &self.opened(&section), &self.opened(after)].concat()
    }
}

impl Dialect {
    fn statements(self) -> &'static Statements {
        if self == Self::Postgres { &POSTGRES } else { &SQLITE }
    }

    /// The statement of that name; none where this database needs none.
    pub(super) fn find(self, name: &str) -> Option<&'static str> {
        self.statements().whole.get(name).map(String::as_str)
    }

    /// The statement of that name, with its values.
    pub(super) fn statement(self, name: &str, values: Vec<Value>) -> Statement {
        Statement(self.find(name).unwrap_or_default().into(), values)
    }

    /// A search for that many phrases, each of which has a parameter in the form asked for.
    pub(super) fn search(self, phrases: usize, has_key: bool) -> String {
        let each_phrase = |condition: fn(usize) -> String| (4..phrases + 4).map(condition).collect();
        let words: String = match self {
            Self::File => {
                "AND m.number IN (SELECT rowid FROM strata_words WHERE strata_words MATCH ?4)".to_owned()
            }
            Self::Memory => each_phrase(|n| format!("AND instr(words_of(m.body), ?{n}) > 0 ")),
            Self::Postgres => each_phrase(|n| format!("AND m.words LIKE ?{n} ")),
        };
        let key = if has_key { "[has_key s, ?2]" } else { "CAST(?2 AS text) IS NULL" };
        let statements = self.statements();
        let search = statements.sections.get("search").map_or("", String::as_str);
        statements.opened(&search.replace("@1", key).replace("@2", &words)).replace('?', statements.sign)
    }
}
