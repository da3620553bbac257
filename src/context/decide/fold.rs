//! The memory of a schedule, whichever the host asked for.

use super::Mode;
use super::conversation::Rewrite;
use super::economy::Policy;
use super::every_call::EveryCall;
use super::play::Schedule;
use super::sticky::Sticky;
use crate::context::facts::transcript::Transcript;
use crate::context::request::account::Account;
use crate::context::request::layers::Limits;

/// The host's word at a call.
#[derive(Clone, Debug)]
pub struct Terms {
    /// The prices and shares that are weighed.
    pub policy: Policy,
    /// The limits of the layers.
    pub limits: Limits,
    /// Tokens of its prompt and tools; `None` where it says nothing.
    pub overhead_tokens: Option<f64>,
}

/// The memory of a schedule.
#[derive(Clone, Debug)]
pub enum Fold {
    /// That of [`Mode::Sticky`].
    Sticky(Box<Sticky>),
    /// That of [`Mode::EveryCall`].
    EveryCall(Box<EveryCall>),
}

impl Fold {
    /// The one before any message.
    #[must_use]
    pub fn new(mode: Mode, Terms { policy, limits, .. }: &Terms) -> Self {
        match mode {
            Mode::Sticky => Self::Sticky(Box::new(Sticky::new(*policy, limits.clone()))),
            Mode::EveryCall => Self::EveryCall(Box::new(EveryCall::new(*policy, limits.clone()))),
        }
    }

    /// The account of the messages it took in.
    #[must_use]
    pub fn account(&self) -> &Account {
        match self {
            Self::Sticky(fold) => &fold.account,
            Self::EveryCall(fold) => &fold.account,
        }
    }

    /// True if the schedule froze an edit, or would in the call that was planned last.
    #[must_use]
    pub fn has_frozen(&self) -> bool {
        let Self::Sticky(fold) = self else { return false };
        fold.account.sent() != fold.account.raw()
    }

    /// The fold of a list that its host rewrote.
    #[must_use]
    pub fn continued(&self, transcript: &Transcript, rewrite: &Rewrite) -> Self {
        match self {
            Self::Sticky(fold) => Self::Sticky(Box::new(fold.continued(transcript, rewrite))),
            Self::EveryCall(fold) => Self::EveryCall(Box::new(fold.continued(transcript, rewrite))),
        }
    }

    /// Its schedule.
    pub fn schedule(&mut self) -> &mut dyn Schedule {
        match self {
            Self::Sticky(fold) => &mut **fold,
            Self::EveryCall(fold) => &mut **fold,
        }
    }
}
