//! The chance that what a message shows is missed: an identifier, by the chance that the next time it turns up the
//! model itself writes it; a line of a file, by the chance that an edit must quote it.
//!
//! The form is that of forgetting: it rises with earlier uses and falls hyperbolically with the calls since the last.
//! The constants were fitted on 52 recorded sessions of five agents (Claude Code, Codex, opencode, Copilot, pi) and
//! checked on 32 others and on seven of two agents; none of them decides much by itself. Those of lines, of first uses and of
//! long names were fitted anew on 103 of 199 sessions of ten agents (35 397 calls, 10 719 edits), nobody cutting but the
//! hook, and checked on the other 96, which are of other repositories.

use crate::context::traits::identifiers::{Identifier, Kind};

/// The uses of an identifier at a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// Assistant messages that showed it.
    pub uses: u32,
    /// Calls since the last of them.
    pub calls_since_use: u32,
    /// Calls since any message showed it.
    pub calls_since_seen: u32,
    /// True if anything but a tool result ever showed it.
    pub is_mentioned: bool,
}

/// A chance that halves after `half_life` calls.
struct Forgetting {
    chance: f64,
    half_life: f64,
}

/// Weight of a first use of something only tools have shown: nothing else could bring it back. Swept from 3 to 6
/// together with the weight of lines and the low waters: what tools brought is kept better, the rest a little worse.
const FIRST_USE_WEIGHT: f64 = 5.0;
/// No identifier is surer to return than this.
const MAX_CHANCE: f64 = 0.7;
/// Long names and paths that nobody took up are mostly listings and logs: they are used a third as often as they would be by
/// their kind.
const UNUSED_LONG_NAME: Forgetting = Forgetting { chance: 0.03, half_life: 15.0 };
const UNUSED_LONG_PATH: Forgetting = Forgetting { chance: 0.012, half_life: 15.0 };

/// Expected uses that are lost with the last message that shows it.
#[must_use]
pub fn worth(identifier: Identifier, history: History) -> f64 {
    if history.uses == 0 {
        let weight = if history.is_mentioned { 1.0 } else { FIRST_USE_WEIGHT };
        return weight * unused(identifier).after(f64::from(history.calls_since_seen));
    }
    let once = used(identifier.kind());
    // Swept from the exponent 0.27 to 0.72 the bill hardly changes; a square root is the same on every machine.
    let chance = (once.chance * f64::from(history.uses).sqrt()).min(MAX_CHANCE);
    Forgetting { chance, ..once }.after(f64::from(history.calls_since_use))
}

/// Worth of the agent's still seeing one of its own calls: what it did, and in which order. Without it the newest
/// calls of a long session are all it knows of its work. Swept from 0.1 to 1.1, half-lives from 50 to 800, on 42 sessions of
/// six agents: each step keeps more calls in view, and from 0.9 on fewer of the lines that edits need.
const OWN_CALL: Forgetting = Forgetting { chance: 0.8, half_life: 150.0 };

/// Expected loss with an assistant message of so many calls that was sent so many calls ago.
#[must_use]
pub fn own_worth(calls: usize, age: u32) -> f64 {
    OWN_CALL.after(f64::from(age)) * calls as f64
}

/// The first to show a line, as far as that tells whether answers copy it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The model wrote it into a file.
    Written,
    /// The model said it, or handed it to another tool.
    Said,
    /// A tool read it in a file.
    Read,
    /// A tool put it out.
    Output,
    /// The user, the prompt or a summary.
    Told,
}

/// Spans of 24 characters, one every 12, that answers still copy of a token before it is shown anew: `npm run bench:fit`, ages
/// of three calls and more. The fit and the check side differ by up to half.
fn copied(origin: Origin) -> Forgetting {
    let (chance, half_life) = match origin {
        Origin::Written => (0.060, 70.0),
        Origin::Said => (0.040, 13.0),
        Origin::Read => (0.042, 8.0),
        Origin::Output => (0.010, 15.0),
        Origin::Told => (0.015, 17.0),
    };
    Forgetting { chance, half_life }
}

/// Weight of a copied span beside a name that is used again, where every line comes from memory: a tenth usually does.
const SPAN_WEIGHT: f64 = 0.6;
/// UTF-16 code units of a token, as far as prose and code go.
const UNITS_PER_TOKEN: f64 = 4.0;

/// The copies of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CopyHistory {
    /// About how many UTF-16 code units it has.
    pub units: u16,
    /// Answers that showed it after another message had.
    pub copies: u16,
    /// Calls since it was last shown.
    pub calls_since_shown: u32,
    /// The share of the lines in answers that were shown long before.
    pub from_memory: f64,
}

/// Expected loss with the last copy of a line, in uses of identifiers.
#[must_use]
pub fn copy_worth(origin: Origin, line: CopyHistory) -> f64 {
    // Sessions differ in how much they copy more than the kinds of text do, and each tells by itself.
    let again = line.from_memory * (1.0 + f64::from(line.copies)).sqrt();
    let tokens = f64::from(line.units) / UNITS_PER_TOKEN;
    SPAN_WEIGHT * again * copied(origin).after(f64::from(line.calls_since_shown)) * tokens
}

/// The uses of a line that stands in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LineHistory {
    /// Lines known to stand in the file.
    pub file_lines: u32,
    /// Lines that were shown or written along with it, itself among them.
    pub company: u32,
    /// Calls since the line was read or written.
    pub calls_since_seen: u32,
    /// Calls since the first edit of anything after it was.
    pub calls_since_edit: u32,
    /// The share of edits that replace a line seen long before.
    pub from_memory: f64,
    /// Calls since anything of the file was.
    pub calls_since_touched: u32,
    /// True if the model wrote the line itself.
    pub is_own: bool,
}

/// The chance that an edit must quote a line, by who brought it.
struct LineRule {
    forgetting: Forgetting,
    /// Share of a line's age that is its file's: where the model works on a file, it may come back to any line of it.
    file_share: f64,
    /// Among how many lines it has that chance.
    usual_lines: u32,
}

/// Lines the model wrote itself: the fewer at once, the likelier one of them is quoted.
const OWN_LINE: LineRule =
    LineRule { forgetting: Forgetting { chance: 0.05, half_life: 9.0 }, file_share: 0.75, usual_lines: 60 };
/// Lines it only read, where all edits are made from memory: the smaller the file, the likelier. Their time runs from the first edit
/// of anything after they were read: an agent that reads thirty files and then edits them remembers the first as well as the
/// last (`npm run bench:fit`: without an edit since they are quoted as often after 40 calls as after 5).
const READ_LINE: LineRule =
    LineRule { forgetting: Forgetting { chance: 0.1, half_life: 18.0 }, file_share: 0.5, usual_lines: 150 };
/// The fewest lines it is taken to be one of. Its chance falls with the fourth root of that number, which is the same on every
/// machine; an exponent of 0.3 was fitted.
const FEWEST_LINES: u32 = 5;
/// A blind edit costs a failed call and another read, an identifier out of sight mostly nothing. Swept from 2 to 7: a
/// blind edit less costs more dollars the higher, and from 6 on it costs recall as well; 7 makes
/// up for lines that a marker now takes more easily.
const LINE_WEIGHT: f64 = 7.0;

/// Expected loss with the last copy of a line, in uses of identifiers.
#[must_use]
pub fn line_worth(line: LineHistory) -> f64 {
    let (rule, lines, since, share) = if line.is_own {
        (OWN_LINE, line.company, line.calls_since_seen, 1.0)
    } else {
        (READ_LINE, line.file_lines, line.calls_since_edit, line.from_memory)
    };
    let of_lines = (f64::from(rule.usual_lines) / f64::from(lines.max(FEWEST_LINES))).sqrt().sqrt();
    let age = rule.file_share * f64::from(line.calls_since_touched.min(since))
        + (1.0 - rule.file_share) * f64::from(since);
    LINE_WEIGHT * share * of_lines * rule.forgetting.after(age)
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
        (Kind::Name, false) => Forgetting { chance: 0.08, half_life: 6.0 },
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
    use crate::context::traits::identifiers::Collector;
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

    proptest! {
        #[test]
        fn a_line_among_fewer_is_worth_more_and_an_older_one_less(
            is_own in any::<bool>(),
            lines in FEWEST_LINES..3_000,
            age in 0u32..500,
        ) {
            let line = LineHistory {
                is_own,
                company: lines,
                file_lines: lines,
                calls_since_seen: age,
                calls_since_edit: age,
                calls_since_touched: age,
                from_memory: 0.25,
            };
            let more = LineHistory { company: lines + 1, file_lines: lines + 1, ..line };
            let age = age + 1;
            let older =
                LineHistory { calls_since_seen: age, calls_since_edit: age, calls_since_touched: age, ..line };
            prop_assert!(line_worth(more) < line_worth(line) && line_worth(older) < line_worth(line));
        }
    }

    #[test]
    fn a_call_of_its_own_is_worth_less_with_time_and_what_it_wrote_outlives_what_it_read() {
        assert!(own_worth(1, 100) < own_worth(1, 10));
        let line = CopyHistory { units: 80, from_memory: 0.1, ..CopyHistory::default() };
        let old = CopyHistory { calls_since_shown: 100, ..line };
        let share = |origin: Origin| copy_worth(origin, old) / copy_worth(origin, line);
        assert!(share(Origin::Written) > share(Origin::Said) && share(Origin::Said) > share(Origin::Read));
        assert!(copy_worth(Origin::Read, CopyHistory { copies: 1, ..line }) > copy_worth(Origin::Read, line));
        assert!(
            copy_worth(Origin::Read, CopyHistory { from_memory: 0.2, ..line })
                > copy_worth(Origin::Read, line)
        );
    }

    #[test]
    fn what_only_a_tool_showed_weighs_more_than_what_was_told() {
        let told = History { is_mentioned: true, ..History::default() };
        assert!(
            worth(identifier("parseHeader"), History::default()) > worth(identifier("parseHeader"), told)
        );
    }
}
