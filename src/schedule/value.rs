//! How likely what a message shows is to be missed: an identifier, by the chance that the next time it turns up the
//! model itself writes it; a line of a file, by the chance that an edit must quote it.
//!
//! The form is that of forgetting: it rises with earlier uses and falls hyperbolically with the calls since the last.
//! The constants were fitted on 52 recorded sessions of five agents (Claude Code, Codex, opencode, Copilot, pi) and
//! checked on 32 others and on seven of two agents; none of them decides much by itself. Those that say so were swept anew
//! on 55 of 109 sessions of eight agents, nobody cutting but the hook, and checked on the other 54.

use crate::traits::identifiers::{Identifier, Kind};

/// What is known of an identifier at a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// Assistant messages that showed it.
    pub uses: u32,
    /// Calls since the last of them.
    pub calls_since_use: u32,
    /// Calls since any message showed it.
    pub calls_since_seen: u32,
    /// Whether anything but a tool result ever showed it.
    pub is_mentioned: bool,
}

/// A chance that halves after `half_life` calls.
struct Forgetting {
    chance: f64,
    half_life: f64,
}

/// How much more a first use of something only tools have shown weighs: nothing else could bring it back. Swept anew from
/// 1.2 to 3.2: with 3 in place of 2, 1 to 2 % more of what tools brought is still there for the same bill.
const FIRST_USE_WEIGHT: f64 = 3.0;
/// How the chance grows with earlier uses. Swept anew from 0.27 to 0.72: the bill hardly changes.
const USES_EXPONENT: f64 = 0.35;
/// No identifier is surer to return than this.
const MAX_CHANCE: f64 = 0.7;
/// Long names and paths that nobody took up are listings and logs.
const UNUSED_LONG_NAME: Forgetting = Forgetting { chance: 0.012, half_life: 15.0 };
const UNUSED_LONG_PATH: Forgetting = Forgetting { chance: 0.0035, half_life: 15.0 };

/// Expected uses that are lost with the last message that shows it.
#[must_use]
pub fn worth(identifier: Identifier, history: History) -> f64 {
    if history.uses == 0 {
        let weight = if history.is_mentioned { 1.0 } else { FIRST_USE_WEIGHT };
        return weight * unused(identifier).after(f64::from(history.calls_since_seen));
    }
    let once = used(identifier.kind());
    let chance = (once.chance * f64::from(history.uses).powf(USES_EXPONENT)).min(MAX_CHANCE);
    Forgetting { chance, ..once }.after(f64::from(history.calls_since_use))
}

/// What is known of a line that stands in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineHistory {
    /// Calls that changed the file.
    pub edits: u32,
    /// Calls since the line was read or written.
    pub calls_since_seen: u32,
    /// Calls since anything of the file was.
    pub calls_since_touched: u32,
    /// Whether the file is something to read, not code.
    pub is_document: bool,
    /// Whether the model wrote the line itself.
    pub is_own: bool,
}

/// Lines the model wrote or quoted itself are what it edits next; those it only read, less. Swept anew: own lines from
/// 0.03 to 0.11 and half-lives of 7 to 32 calls, read ones from 0.018 to 0.048. As counted on 52 sessions (0.07 halving in
/// 20 calls, and 0.03) a bill is 3 to 4 % dearer for the same memory, and of a hundred edits 0.6 fewer are blind.
const OWN_LINE: Forgetting = Forgetting { chance: 0.05, half_life: 9.0 };
const READ_LINE: Forgetting = Forgetting { chance: 0.036, half_life: 8.0 };
/// How much likelier a read line is to be quoted where its file was edited before.
const EDITED_FILE: f64 = 1.4;
/// And where it is something to read, such as a Markdown file.
const DOCUMENT: f64 = 0.75;
/// How much of a line's age is that of its file: where the model works on a file, it may come back to any line of it.
/// Swept over 0, 0.5, 0.8 and 1 on seven sessions of two agents: blind edits 3.2, 1.9, 1.9 and 2.3 % at a bill of 83.3,
/// 83.9, 84.7 and 90.2 dollars.
const FILE_SHARE: f64 = 0.5;
/// A blind edit costs a failed call and another read, an identifier out of sight mostly nothing.
const LINE_WEIGHT: f64 = 3.0;

/// Expected loss with the last copy of a line, in uses of identifiers.
#[must_use]
pub fn line_worth(line: LineHistory) -> f64 {
    let forgetting = if line.is_own { OWN_LINE } else { READ_LINE };
    let of_file = if line.is_own || line.edits == 0 { 1.0 } else { EDITED_FILE };
    let of_kind = if line.is_document { DOCUMENT } else { 1.0 };
    let age = FILE_SHARE * f64::from(line.calls_since_touched)
        + (1.0 - FILE_SHARE) * f64::from(line.calls_since_seen);
    LINE_WEIGHT * of_file * of_kind * forgetting.after(age)
}

impl Forgetting {
    fn after(&self, calls: f64) -> f64 {
        self.chance / (1.0 + calls / self.half_life)
    }
}

fn unused(identifier: Identifier) -> Forgetting {
    match (identifier.kind(), identifier.is_long()) {
        (Kind::Word | Kind::Sequence, false) => Forgetting { chance: 0.07, half_life: 100.0 },
        (Kind::Path, false) => Forgetting { chance: 0.03, half_life: 30.0 },
        (Kind::Name, false) => Forgetting { chance: 0.06, half_life: 6.0 },
        (Kind::Path, true) => UNUSED_LONG_PATH,
        (_, true) => UNUSED_LONG_NAME,
    }
}

fn used(kind: Kind) -> Forgetting {
    match kind {
        Kind::Word | Kind::Sequence => Forgetting { chance: 0.18, half_life: 80.0 },
        Kind::Path => Forgetting { chance: 0.28, half_life: 30.0 },
        Kind::Name => Forgetting { chance: 0.125, half_life: 13.0 },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traits::identifiers::Collector;
    use proptest::prelude::*;

    fn identifier(name: &str) -> Identifier {
        let mut collector = Collector::default();
        collector.text(&name.encode_utf16().collect::<Vec<_>>());
        *collector.finish().first().expect("is an identifier")
    }

    proptest! {
        #[test]
        fn uses_raise_it_and_time_lowers_it(
            name in prop::sample::select(vec!["function", "src/lib.rs", "parseHeader", "a_very_long_name_in_some_log"]),
            uses in 1u32..50,
            age in 0u32..500,
        ) {
            let id = identifier(name);
            let history = History { uses, calls_since_use: age, calls_since_seen: age, is_mentioned: true };
            let now = worth(id, history);
            prop_assert!(now > 0.0 && now <= MAX_CHANCE);
            let used_more = worth(id, History { uses: uses + 1, ..history });
            let used_earlier = worth(id, History { calls_since_use: age + 1, ..history });
            prop_assert!(used_more >= now && used_earlier < now);
        }
    }

    #[test]
    fn what_only_a_tool_showed_weighs_more_than_what_was_told() {
        let told = History { is_mentioned: true, ..History::default() };
        assert!(
            worth(identifier("parseHeader"), History::default()) > worth(identifier("parseHeader"), told)
        );
    }
}
