//! When the layers' frontier may move.
//!
//! A transcript flows in, a decision flows out: a draft, and the reason for moving or waiting. `every_call` recomputes
//! the layers each time; `sticky` folds over the transcript and moves only when that pays. Both are pure: what a fold
//! has learned of a transcript is kept in a [`Memo`] only so that the next call need not start over.

pub mod batch;
pub mod calibration;
pub mod clock;
pub mod economy;
pub mod every_call;
pub mod fold;
pub mod held;
pub mod ledger;
pub mod line_cuts;
pub mod lines;
pub mod memo;
pub mod stale;
pub mod sticky;
pub mod value;

pub use memo::Memo;

use self::economy::Policy;
use self::every_call::EveryCall;
use self::sticky::{Account, Sticky};
use crate::layers::Limits;
use crate::plan::Draft;
use crate::tokens::estimate::Estimate;
use crate::transcript::Transcript;

/// Which schedule the host asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Recompute the layers at each call.
    EveryCall,
    /// Move when it pays.
    Sticky,
    /// Sticky as soon as the transcript shows a working cache, else every call.
    Auto,
}

/// What is sent, and why.
pub struct Decision<'a> {
    /// The edits.
    pub draft: Draft<'a>,
    /// How its prompt is estimated.
    pub estimate: Estimate,
    /// The arithmetic of the sticky schedule; `None` where the layers were recomputed.
    pub account: Option<Account>,
}

/// Decides about the call that would follow `transcript`.
pub fn decide<'a>(
    transcript: &'a Transcript,
    mode: Mode,
    policy: &Policy,
    limits: &Limits,
    memo: &Memo,
) -> Decision<'a> {
    let is_sticky = match mode {
        Mode::EveryCall => false,
        Mode::Sticky => true,
        Mode::Auto => shows_cache(transcript),
    };
    if is_sticky {
        let start = || Sticky::new(*policy, limits.clone());
        memo.sticky.resume(transcript, limits, start, |fold| {
            let (draft, account) = fold.draft(transcript);
            Decision { draft, estimate: fold.estimate(), account: Some(account) }
        })
    } else if policy.calibrate {
        memo.every_call.resume(
            transcript,
            limits,
            || EveryCall::new(limits.clone()),
            |fold| {
                fold.advance(transcript);
                let estimate = fold.estimate();
                Decision { draft: every_call::draft(transcript, limits, &estimate), estimate, account: None }
            },
        )
    } else {
        let estimate = Estimate::PLAIN;
        Decision { draft: every_call::draft(transcript, limits, &estimate), estimate, account: None }
    }
}

fn shows_cache(transcript: &Transcript) -> bool {
    let assistants = transcript.messages().iter().filter_map(|message| message.assistant());
    assistants.into_iter().any(|assistant| assistant.cache_read_tokens > 0)
}
