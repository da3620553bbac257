//! The context guard: every long tool result cut to its ends, then the oldest rounds dropped until the rest fits.
//!
//! A round is a user message or a summary with all that follows until the next one. Cutting, counting and pairing are the
//! layers' own.

use crate::context::account::{Account, Form};
use crate::context::layers::Limits;
use crate::context::plan::{Layer, Reason};
use crate::context::shorten::Cap;
use crate::context::transcript::{Body, Transcript};
use crate::contract::CUT_MARKER;
use crate::text::Utf16Len;

/// Longest note between the two ends, in UTF-16 units: its words and the digits of the longest text V8 can hold.
const NOTE_LEN: usize = CUT_MARKER[0].len() + "536870888".len() + CUT_MARKER[1].len();

/// A cap whose ends fit into it, note included: both shrink alike where they do not.
///
/// ```
/// use pi_strata::context::guard::cap;
/// use pi_strata::text::Utf16Len;
/// let small = cap(Utf16Len(1000), Utf16Len(2000), Utf16Len(2000));
/// assert_eq!((small.head, small.tail), (Utf16Len(478), Utf16Len(478)));
/// ```
pub fn cap(max_len: Utf16Len, head: Utf16Len, tail: Utf16Len) -> Cap {
    let room = max_len.0.saturating_sub(NOTE_LEN);
    let wanted = head.0.saturating_add(tail.0);
    if wanted <= room {
        return Cap { max_len, head, tail };
    }
    let share = |part: usize| Utf16Len((part as u128 * room as u128 / wanted.max(1) as u128) as usize);
    Cap { max_len, head: share(head.0), tail: share(tail.0) }
}

/// Caps the tool results and drops old rounds until what is left fits the budget.
///
/// ```
/// use std::sync::Arc;
///
/// use pi_strata::context::guard::guard;
/// use pi_strata::context::layers::Limits;
/// use pi_strata::context::measure::{Part, Raw, RawRole, Rules, measure};
/// use pi_strata::context::transcript::Transcript;
///
/// let text: Vec<u16> = "one two three four ".repeat(10).encode_utf16().collect();
/// let rules = Rules::default();
/// let asked = || Arc::new(measure(&Raw::new(RawRole::User, vec![Part::Text(&text)]), &rules));
/// let transcript = Transcript::new((0..3).map(|_| asked()).collect());
/// let room = Limits { context_window: 100.0, reserve_tokens: 10.0, ..Limits::default() };
/// let left: Vec<usize> = guard(&transcript, &room).live().collect();
/// assert_eq!(left, [1, 2], "40 tokens each: two fit into 90");
/// ```
///
/// When the newest round alone is over it, its oldest call groups go too: the question and the newest message, with
/// the call it answers, always stay.
pub fn guard(transcript: &Transcript, limits: &Limits) -> Account {
    let mut account = Account::of(transcript);
    for index in account.results().to_vec() {
        let result = account.message(index).and_then(|message| message.tool_result());
        if result.is_some_and(|result| result.shortened.is_some()) {
            account.set(index, Form::Edited, Layer::ToolResults, Reason::LongToolResult);
        }
    }
    let newest_round = (0..account.len()).rev().find(|&index| opens_round(&account, index)).unwrap_or(0);
    for index in 0..account.last_group() {
        let may_stop = index > newest_round || opens_round(&account, index);
        if may_stop && account.sent().cl100k as f64 <= limits.budget() {
            break;
        }
        let row = account.row(index);
        let may_go = row.is_some_and(|row| row.group == index && !row.message.is_system());
        if may_go && index != newest_round {
            account.drop_group(index, Layer::Window, Reason::OverWindow);
        }
    }
    account
}

fn opens_round(account: &Account, index: usize) -> bool {
    let body = account.message(index).map(|message| &message.body);
    index == 0 || matches!(body, Some(Body::User | Body::Summary))
}
