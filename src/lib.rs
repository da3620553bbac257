//! pi-strata keeps an LLM agent's context small.
//!
//! `tokens` counts exact cl100k and knows nobody. `session_file` reads recorded sessions and knows nobody.

pub mod session_file;
pub mod tokens;
