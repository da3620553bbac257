//! When the layers' frontier may move.
//!
//! `every_call` recomputes the layers each time; `sticky` folds over the transcript and moves only when that pays. Both are
//! pure: a [`Memo`] keeps what a fold has learned of a transcript, only so that the next call need not start over.

pub mod batch;
pub mod cache_watch;
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
mod past;
pub mod played;
pub mod prices;
pub mod rhythm;
pub mod stale;
pub mod sticky;
pub mod tariff;
pub mod value;
pub mod verdict;

pub use memo::Memo;

use self::cache_watch::Miss;
use self::calibration::{Calibration, Past};
use self::economy::Policy;
use self::every_call::EveryCall;
use self::sticky::Sticky;
use self::verdict::Arithmetic;
use crate::context::layers::Limits;
use crate::context::plan::Plan;
use crate::context::transcript::Transcript;
use crate::tokens::estimate::{Estimate, Size};

/// Which schedule the host asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Recompute the layers at each call.
    EveryCall,
    /// Move when it pays. Servers that report no cached tokens mostly keep a prefix cache all the same.
    Sticky,
}

/// What is sent, and why.
#[derive(Clone, Debug)]
pub struct Decision {
    /// The edits.
    pub plan: Plan,
    /// The size of the smallest request that could be sent.
    pub floor: Size,
    /// How prompts are estimated.
    pub estimate: Estimate,
    /// The arithmetic of the sticky schedule; `None` where the layers were recomputed.
    pub arithmetic: Option<Arithmetic>,
    /// What the last call missed of the provider's cache, if that is seen only now.
    pub miss: Option<Miss>,
}

/// Decides about the call that would follow `transcript`. `overhead_tokens` is what the host says of its prompt and tools.
pub fn decide(
    transcript: &Transcript,
    mode: Mode,
    policy: &Policy,
    limits: &Limits,
    overhead_tokens: Option<f64>,
    memo: &Memo,
) -> Decision {
    if mode == Mode::Sticky {
        let start = || {
            let mut fold = Sticky::new(*policy, limits.clone());
            fold.calibration().start_from(memo.past_of(transcript));
            fold
        };
        memo.sticky.resume(transcript, (limits, policy), start, |fold| {
            fold.calibration().expect(overhead_tokens);
            let (plan, floor, arithmetic, last) = fold.plan(transcript);
            let miss = last.and_then(|call| call.sight.miss);
            Decision { plan, floor, estimate: fold.estimate(), arithmetic: Some(arithmetic), miss }
        })
    } else {
        let start = || recompute(policy, limits, memo.past_of(transcript));
        memo.every_call.resume(transcript, (limits, policy), start, |fold| {
            fold.calibration().expect(overhead_tokens);
            let (plan, floor, last) = fold.plan(transcript);
            let miss = last.and_then(|call| call.sight.miss);
            Decision { plan, floor, estimate: fold.estimate(), arithmetic: None, miss }
        })
    }
}

/// The layers recomputed at each call of a conversation that was `past` before.
fn recompute(policy: &Policy, limits: &Limits, past: Past) -> EveryCall {
    let mut calibration = Calibration::new(policy.calibrate, limits.context_window);
    calibration.start_from(past);
    EveryCall::new(limits.clone(), calibration, policy.fixed_ttl())
}
