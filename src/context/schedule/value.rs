//! The chance that what a message shows is missed: an identifier, by the chance that the next time it turns up the
//! model itself writes it; a line of a file, by the chance that an edit must quote it.
//!
//! The form is that of forgetting: it rises with earlier uses and falls hyperbolically with the calls since the last.

use super::weights::{NEW_NAME, OWN_LINE, READ_LINE, SHOWN_UNIT, USED_NAME, WRITTEN_UNIT};

/// The uses of an identifier at a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// Assistant messages that showed it.
    pub uses: u32,
    /// Calls since the last of them.
    pub calls_since_use: u32,
    /// Calls since any message showed it.
    pub calls_since_seen: u32,
}

/// The loss with the last message that shows a name.
#[must_use]
pub fn worth(history: History) -> f64 {
    if history.uses == 0 {
        return NEW_NAME.after(f64::from(history.calls_since_seen));
    }
    // A square root is the same on every machine.
    USED_NAME.after(f64::from(history.calls_since_use)) * f64::from(history.uses).sqrt()
}

/// The loss with the last copy of so many UTF-16 code units, so many calls after they were last shown.
#[must_use]
pub fn copy_worth(is_own: bool, units: u16, calls_since_shown: u32) -> f64 {
    let unit = if is_own { WRITTEN_UNIT } else { SHOWN_UNIT };
    unit.after(f64::from(calls_since_shown)) * f64::from(units)
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
    /// The chance that an edit to come replaces a line seen long before.
    pub from_memory: f64,
    /// Calls since anything of the file was.
    pub calls_since_touched: u32,
    /// True if the model wrote the line itself.
    pub is_own: bool,
}

/// Expected loss with the last copy of a line, in uses of identifiers.
#[must_use]
pub fn line_worth(line: LineHistory) -> f64 {
    let (quoted, lines, since, share) = if line.is_own {
        (OWN_LINE, line.company, line.calls_since_seen, 1.0)
    } else {
        (READ_LINE, line.file_lines, line.calls_since_edit, line.from_memory)
    };
    let of_lines = f64::from(lines.max(1)).sqrt().sqrt();
    // Where the model works on a file, it may come back to any line of it.
    let age = f64::from(line.calls_since_touched.min(since));
    share * quoted.after(age) / of_lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn uses_raise_it_and_time_lowers_it(uses in 1u32..50, age in 0u32..500) {
            let history = History { uses, calls_since_use: age, calls_since_seen: age };
            let now = worth(history);
            prop_assert!(now > 0.0);
            let used_more = worth(History { uses: uses + 1, ..history });
            let used_earlier = worth(History { calls_since_use: age + 1, ..history });
            prop_assert!(used_more >= now && used_earlier < now);
        }
    }

    proptest! {
        #[test]
        fn a_line_among_fewer_is_worth_more_and_an_older_one_less(
            is_own in any::<bool>(),
            lines in 1u32..3_000,
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
    fn what_it_wrote_outlives_all_else() {
        let share = |is_own| copy_worth(is_own, 80, 100) / copy_worth(is_own, 80, 0);
        assert!(share(true) > share(false));
        assert!(copy_worth(false, 80, 0) > copy_worth(false, 40, 0));
    }
}
