//! What a session remembers of messages it no longer keeps, by rules alone. Pure: messages flow in, a digest and its
//! readable form flow out. It does not decide when a session is compressed and stores nothing.

pub mod digest;
mod names;
