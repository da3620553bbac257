//! The providers' rules: a provider refuses a request that breaks one, and the conversation is stuck.
//! [`check`] finds the messages that break a rule, [`repair`] the fewest losses that fix them. One transcript cannot show a
//! rule about two requests (thinking is kept byte for byte, a reasoning item stays beside its call). The layers keep such
//! rules by construction, and [`strip_unbound`] strips thinking whose prefix changed.

mod binding;
mod check;
mod repair;

pub use binding::{binds_thinking, holds_turn, strip_among, strip_bound, strip_unbound, strip_within};
pub use check::{Mend, Problem, check};
pub use repair::{Repair, repair};

pub use crate::contract::{Family, Rule};
