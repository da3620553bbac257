//! pi-strata keeps an LLM agent's context small.
//!
//! `tokens` counts exact cl100k and knows nobody.

pub mod tokens;
